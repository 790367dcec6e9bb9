import {EditorView, basicSetup} from 'codemirror';
const view = new EditorView({doc: 'first line\nsecond line', extensions: [basicSetup], parent: document.querySelector('#editor')});
window.state = () => view.state.doc.toString();
