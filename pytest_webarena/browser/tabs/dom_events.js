// Tells of the events that input of the outside made in a document. Runs in a world of its own: the page's scripts
// neither see it nor can change what it calls. They can fill the DOM with whatever they like, though, so everything is
// read through the prototypes' own getters (in a form, `form.id` is whatever field is named "id") and within bounds.
//
// That an event is trusted is not enough. The browser makes some that only a script asked for: `box.click()` makes an
// untrusted click and a trusted change of the box, `form.requestSubmit()` a trusted submit, `execCommand` a trusted input.
// So a change of a box needs its trusted click, a submit its button's or Enter, and input of text its `beforeinput`,
// which no script's command makes.
(() => {
'use strict';
const KEY = Symbol.for('DOM_EVENTS');
if (globalThis[KEY]) {
  globalThis[KEY]();  // another document in the same window, without the listeners of the one before
  return;
}

// ELEMENTS

// --- telling

const PAUSE = LETTERS_MS;
const CLICKS = new Set(['click', 'dblclick', 'auxclick', 'contextmenu']);

const numbers = new WeakMap();
let last = 0;
const numberOf = el => {
  let number = numbers.get(el);
  if (number === undefined) numbers.set(el, number = ++last);
  return number;
};
let writing = null;  // the field of the last event, if it was input
let unsaid = null;  // and what is to be said of it, of which nobody has been told yet
let clickedInto = null;  // a field of text that was clicked, of which nobody has been told yet either, and what is said of that
let latest = 0;  // when the last letter came, or that click
let waiting = false;
let leaving = false;
// Each letter told by itself would cost as much as typing it. So letters are told together: a moment later (sooner than
// anybody finds the page at rest), before the next event, before the address changes, before the document goes.
const catchUp = () => {
  if (unsaid === null && clickedInto === null) return;
  const all = clickedInto === null ? [] : [clickedInto.said];
  clickedInto = null;
  if (unsaid !== null) {
    const {said, field, text} = unsaid;
    unsaid = null;
    if (field !== null) said.value = textSaid(field, text);
    all.push(said);
  }
  send(JSON.stringify(all.length === 1 ? all[0] : all));
};
const look = () => {
  const left = unsaid === null && clickedInto === null ? 0 : latest + PAUSE - performance.now();
  waiting = left > 0;
  if (waiting) setTimeout(look, left);
  else catchUp();
};
const later = () => {
  if (PAUSE === 0) {
    catchUp();
    return;
  }
  latest = performance.now();
  if (!waiting) {
    waiting = true;
    setTimeout(look, PAUSE);
  }
  if (!leaving) {
    leaving = true;  // for good: to come and go with each burst costs more than to stay
    for (const type of ['beforeunload', 'pagehide', 'blur']) window.addEventListener(type, catchUp, true);
  }
};
const sayingOf = (el, event, value, sign, known) => {
  const [chain, whole] = chainOf(el);
  const view = viewOf(ownerOf(el)) || globalThis;
  return {
    event: event, target: known ? null : targetOf(el), value: value, chain: chain, whole: whole, field: numberOf(el), sign: sign,
    control: CLICKS.has(event) ? controlAround(el) : null,
    frame: view === view.top ? '' : clip(view.location.href, 2000), maker: makerOf(view),
  };
};
const tell = (el, event, value, sign, letter, ready) => {
  if (event === 'input' && writing === el) {  // who it is was said with the first letter
    if (unsaid === null) unsaid = {said: {again: numberOf(el)}, field: null, text: ''};
    unsaid.said.value = value;
    unsaid.field = null;
    later();
    return;
  }
  // Who clicks into a field most often writes at once, and the field is who it was when it was clicked.
  const known = letter && clickedInto !== null && clickedInto.el === el && unsaid === null;
  if (!known) catchUp();
  writing = event === 'input' ? el : null;
  const said = ready || sayingOf(el, event, value, sign, known);
  if (event === 'click' && isText(el)) {
    clickedInto = {el: el, said: said};
    later();
    return;
  }
  if (!letter) {
    send(JSON.stringify(said));
    return;
  }
  unsaid = {said: said, field: null, text: ''};
  later();
};

// --- listening

const LISTENED = [
  'click', 'dblclick', 'auxclick', 'contextmenu', 'beforeinput', 'input', 'change', 'submit', 'keydown', 'pointerdown',
  'pointerup', 'dragstart', 'drop', 'focusout', 'SIGN', ...(BY_SCRIPT ? ['formdata', 'mousedown', 'mouseup'] : []),
];
const LETTERS = new Set(['keydown', 'beforeinput', 'input']);
const seen = new WeakSet();  // events: those of shadow trees come by more than once
const adopted = new WeakSet();
const clicked = new WeakSet();  // boxes whose next change is a trusted click's
// Of a field: which change of its text was announced, whether its next change is that of text that somebody wrote, and what it
// held then.
const writings = new WeakMap();
const writingIn = el => {
  let found = writings.get(el);
  if (!found) writings.set(el, found = {announced: null, edited: false, value: null});
  return found;
};
const isAnnounced = (writing, event) => {
  if (writing.announced !== event.inputType) return false;
  writing.announced = null;
  return writing.edited = true;
};
let press = null;  // where the pointer went down, and what is to be said if the page takes that away before it is clicked
let told = null;  // what was said to be clicked then; a click may still come
let swept = null;  // such a press that went on elsewhere: it may have selected something
let pressed = null;  // what the latest trusted click went through
let entered = null;  // the field in which Enter was pressed last

const elementOf = node => {
  const kind = kindOf(node);
  if (kind === 1) return node;
  const near = kind === 9 ? rootElementOf(node) : kind ? parentOf(node) : null;
  return isElement(near) ? near : null;
};

// Lists of suggestions go when one is pressed, and the click that follows is somewhere else or nowhere. Whoever pressed
// there and let go there, or led elsewhere by pressing, has clicked it all the same.
const NEAR = 5;  // CSS pixels
const isGone = el => !isConnected(el) || rectsOf(el).length === 0;
const tellGone = () => {
  if (!press || !isGone(press.el)) return;
  const said = press.said;
  told = press.el;
  press = null;
  catchUp();
  writing = null;
  send(JSON.stringify(said));
};
// Both ends of what is selected in the page; null for nothing. Of what is in a field the page's own tells nothing.
const selectionOf = method('Document', 'getSelection');
const selectedNow = () => {
  const all = selectionOf(document);
  return all && !all.isCollapsed ? [all.anchorNode, all.anchorOffset, all.focusNode, all.focusOffset] : null;
};
const hasSelected = by => {
  const now = selectedNow();
  return now !== null && !(by.selected && by.selected.every((each, n) => each === now[n]));
};
const onPointer = (event, el) => {
  if (event.type === 'pointerdown') {
    const said = event.button === 0 && !isText(el) ? sayingOf(el, 'click', isBox(el) ? null : valueOf(el)) : null;
    told = swept = null;
    press = said && {el: el, x: event.clientX, y: event.clientY, said: said, selected: selectedNow()};
  } else if (press && Math.hypot(event.clientX - press.x, event.clientY - press.y) <= NEAR) {
    const done = press;
    setTimeout(() => {  // after the click, if there is one
      if (press !== done) return;
      tellGone();
      press = null;
    });
  } else {
    swept = press;
    press = null;
  }
};

// Masked fields take the keys themselves and write what they like. No event tells of that; it is told when the field is
// left, or when nothing has come for a while.
const STILL = 1000;  // milliseconds
let struck = null;  // a field in which keys were struck that wrote nothing yet
let struckValue = '';  // what was in it
let struckAt = 0;
let struckWaits = false;
const tellStruck = () => {
  const el = struck;
  if (el === null) return;
  const value = isConnected(el) ? valueOf(el) : null;
  if (value === null || value === struckValue) return;
  struckValue = value;
  tell(el, 'change', value);
};
const lookStruck = () => {
  const left = struck === null ? 0 : struckAt + STILL - performance.now();
  struckWaits = left > 0;
  if (struckWaits) setTimeout(lookStruck, left);
  else tellStruck();
};
const strike = el => {
  struckAt = performance.now();
  if (struck === el) return;
  tellStruck();
  struck = el;
  struckValue = valueOf(el);
  if (struckWaits) return;
  struckWaits = true;
  setTimeout(lookStruck, STILL);
};

// More may follow at once.
const isSmall = ({data, inputType}) => data ? data.length === 1 : `${inputType}`.startsWith('delete');
let plain = null;  // such a field, as long as the same one is written in
let plainWriting = null;  // what `writingIn` has of it
let plainText = null;  // reads its text
const isPlainText = el => plainText === areaValue || TEXTS.has(inputType(el));  // scripts may make another kind of it
const onLetter = (event, type, el) => {
  if (type === 'keydown' && event.isTrusted) strike(el);
  if (type === 'keydown') return event.key !== 'Enter' && !LEFT.has(event.key);
  if (!event.isTrusted) return false;
  if (type === 'beforeinput') {
    struck = null;
    plainWriting.announced = event.inputType;
    return true;
  }
  if (type !== 'input' || writing !== el || unsaid === null || !isPlainText(el)) return false;
  if (typeof event.inputType !== 'string') return false;
  if (!isAnnounced(plainWriting, event)) return true;
  unsaid.field = el;
  unsaid.text = plainText(el);  // the rest of it can wait
  plainWriting.value = unsaid.text;
  later();
  return true;
};

// SCRIPTS

// Keys that write nothing. What a field does with its own is told by what becomes of its value.
const LEFT = new Set(['Escape', 'ArrowUp', 'ArrowDown']);  // to the page, by a field for a line of text
const HELD = new Set(['Alt', 'AltGraph', 'CapsLock', 'Control', 'Dead', 'Fn', 'Meta', 'NumLock', 'Process', 'Shift', 'Tab', 'Unidentified']);
const isEdited = node => {
  const kind = kindOf(node);
  return kind === 9 ? designMode(node) === 'on' : kind === 1 && (attr(node, 'contenteditable') ?? 'false') !== 'false';
};
// A closed shadow tree shows nothing but the element it is in, and there may be a field in it, for a password too.
const HOSTS = new Set([
  'article', 'aside', 'blockquote', 'div', 'footer', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'main', 'nav', 'p', 'section', 'span',
]);
const mayHideField = el => {
  const tag = tagOf(el);
  // What can't have the focus itself has it inside, and what has such a tree most often has nothing else.
  return tag.includes('-') || (HOSTS.has(tag) && (attr(el, 'tabindex') === null || firstOf(el) === null));
};
// AltGr, which makes letters, is Control and Alt on some systems.
const isLetter = event => [...event.key].length === 1 && !event.metaKey && event.ctrlKey === event.altKey;
const keysOf = (event, el, path) => {
  const key = event.key, held = (event.ctrlKey ? 'Control+' : '') + (event.altKey ? 'Alt+' : '') + (event.metaKey ? 'Meta+' : '');
  if (event.isComposing || !key || HELD.has(key)) return '';
  const field = is(el, 'input') || is(el, 'textarea') || is(el, 'select') || path.some(isEdited);
  if (key === 'Enter') return held && `${held}Enter`;  // alone it is an event of its own
  if (field) {
    const line = isText(el) && is(el, 'input') && inputType(el) !== 'number';
    if (held || event.shiftKey || (key === 'Escape' ? !isText(el) && !path.some(isEdited) : !line || !LEFT.has(key))) return '';
  }
  if (isLetter(event) && mayHideField(el)) return '';
  if (key === ' ' && !held && (is(el, 'button') || is(el, 'summary'))) return '';  // it is clicked
  const named = key === ' ' ? 'Space' : key;
  return held + (event.shiftKey && (key.length > 1 || held) ? 'Shift+' : '') + named;
};

const onEvent = event => {
  const type = event.type, at = event.target;
  const inside = BY_SCRIPT && !seen.has(event) && isInside(event);
  if (BY_SCRIPT && event.isTrusted) touch(at);
  // Letters are many, and a field of text that the window is told of is in no shadow tree and has none to be found.
  if (at === plain && event.currentTarget === window && onLetter(event, type, at)) return;
  const letter = event.currentTarget === window && LETTERS.has(type) && isElement(at) && isText(at);
  if (letter && at !== plain) {
    plain = at;
    plainWriting = writingIn(at);
    plainText = is(at, 'input') ? inputValue : areaValue;
  }
  if (letter && type === 'keydown' && event.isTrusted && event.key !== 'Enter') strike(at);
  if (letter && type === 'keydown' && event.key !== 'Enter' && !LEFT.has(event.key)) return;
  if (seen.has(event)) return;
  seen.add(event);
  const path = letter ? [at] : event.composedPath();
  // Changes and submits stay within their shadow tree. Something else has come out of it before: a click, a key.
  for (const node of path) {
    if (kindOf(node) === 11 && !adopted.has(node)) {
      adopted.add(node);
      if (BY_SCRIPT && trees.size < ELEMENTS) trees.add(node);
      listenTo(node);
    }
  }
  const el = elementOf(path[0]), trusted = event.isTrusted;
  if (!el) return;
  if (BY_SCRIPT && (trusted || type === 'SIGN')) touch(el);
  if (type === 'SIGN') {
    tell(el, 'change', valueOf(el), `${event.detail}`.slice(0, 100));
    return;
  }
  if (type === 'click') {
    let ready = null;  // it was read when it was pressed; to do so again costs as much
    if (trusted && press && path.includes(press.el)) {
      if (press.el === el) ready = press.said;
      press = null;
    }
    if (trusted) pressed = path;
    else if (pressed && pressed.includes(el)) pressed = null;
    if (isBox(el)) trusted ? clicked.add(el) : clicked.delete(el);
    const value = isBox(el) ? null : valueOf(el);  // a box may yet be what it was
    if (ready) ready.value = value;
    if (trusted && swept && event.detail && hasSelected(swept)) (ready = sayingOf(el, type, value)).selects = true;
    if (trusted) swept = null;
    if (trusted && el !== told) tell(el, type, value, undefined, false, ready);
    if (BY_SCRIPT && trusted) through = asked = null;
    if (BY_SCRIPT && !trusted) onScript(event, el, path, inside);
    return;
  }
  if (!trusted && BY_SCRIPT) onScript(event, el, path, inside);
  if (type === 'formdata') onFormed(el, inside);
  if (type === 'formdata' || type === 'mousedown' || type === 'mouseup') return;
  if (!trusted || (type === 'auxclick' && event.button !== 1)) return;
  if (type === 'beforeinput' || type === 'input') struck = null;
  if (type === 'focusout' || type === 'pointerdown' || type === 'submit' || (type === 'keydown' && event.key === 'Enter')) tellStruck();
  if (type === 'focusout') {
    struck = null;
    return;
  }
  if (type === 'pointerdown' || type === 'pointerup') {
    onPointer(event, el);
  } else if (type === 'beforeinput') {
    writingIn(el).announced = event.inputType;
  } else if (type === 'input') {
    if (isBox(el)) {
      if (!clicked.has(el)) return;
    } else if (typeof event.inputType === 'string') {
      if (!isAnnounced(writingIn(el), event)) return;
    } else if (isText(el)) {
      writingIn(el).edited = true;  // the arrows of a number's field
    }
    const value = valueOf(el);
    if (isText(el)) writingIn(el).value = value;
    tell(el, type, value, undefined, isText(el) && isSmall(event));
  } else if (type === 'change') {
    if (isBox(el) && !clicked.delete(el)) return;
    if (isText(el)) {
      const written = writingIn(el);
      if (!written.edited) return;
      written.edited = false;
    }
    tell(el, type, valueOf(el));
  } else if (type === 'submit') {
    const button = event.submitter;
    const meant = button ? !!pressed && pressed.includes(button) : !!entered && formOf(entered) === el;
    pressed = entered = null;
    if (meant) tell(el, type, null);
    if (BY_SCRIPT) onSent(el, button, inside, meant);
  } else if (type === 'keydown') {
    entered = event.key === 'Enter' ? el : entered;
    if (event.key === 'Enter') tell(el, type, valueOf(el));
    const keys = keysOf(event, el, path);
    if (keys) tell(el, 'key', keys);
  } else if (CLICKS.has(type)) {
    tell(el, type, isBox(el) ? null : valueOf(el));
  } else {
    tell(el, type, null);  // dragged, dropped on
  }
};
const guarded = event => {
  try {
    onEvent(event);
  } catch (error) {
    send(JSON.stringify({lost: clip(error, LONGEST_TEXT)}));
  }
};
const listenTo = node => {
  for (const type of LISTENED) node.addEventListener(type, guarded, true);
};

// `document.open` takes all listeners away.
const observer = new MutationObserver(() => {
  leaving = false;
  listenTo(window);
});
let watched = null;
const beforeAddress = () => {  // scripts change it, too, and then nothing else tells
  tellGone();
  if (BY_SCRIPT) tellFormed();
  catchUp();
};
const again = () => {
  if (watched === document) return;
  watched = document;
  observer.observe(document, {childList: true});
  // What listens in a window is not called for input to a second document in it until something is added.
  for (const type of LISTENED) window.removeEventListener(type, guarded, true);
  listenTo(window);
  let enclosed = false;  // in a page of another origin
  try { enclosed = window !== window.parent && !window.frameElement; } catch { enclosed = true; }
  send(JSON.stringify({listening: true, enclosed: enclosed}));
  if (!globalThis.navigation) return;
  navigation.removeEventListener('navigate', beforeAddress);
  navigation.addEventListener('navigate', beforeAddress);
};
again.followFrame = followFrame;
again.sweep = BY_SCRIPT ? sweep : () => {};
Object.defineProperty(globalThis, KEY, {value: again});
again();
// The first, empty document of a frame leaves its window to the one that is loaded, if that is of the same origin. Nothing
// tells of it but that the empty one goes: the next task finds the other in its place, with nothing in it yet.
if (location.href === 'about:blank') {
  window.addEventListener('pagehide', () => {
    const {port1, port2} = new MessageChannel();
    port1.onmessage = () => { again(); port1.close(); };
    port2.postMessage(null);
  }, true);
}
})()
