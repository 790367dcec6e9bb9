import {Editor} from '@tiptap/core';
import StarterKit from '@tiptap/starter-kit';
import Placeholder from '@tiptap/extension-placeholder';
const editor = new Editor({
  element: document.querySelector('#editor'),
  extensions: [StarterKit, Placeholder.configure({placeholder: 'Write a poem'})],
});
window.state = () => ({text: editor.getText(), bold: editor.getHTML().includes('<strong>')});
