// Reports events that real input made in a document. It runs in an isolated world: the page's scripts can neither see
// it nor change the functions that it calls. They can fill the DOM with anything, though. So everything is read by the
// prototypes' own getters (in a form, `form.id` is any field named "id") and up to a limit.
//
// That an event is trusted is not sufficient. The browser makes some that a script caused: `box.click()` makes an
// untrusted click and a trusted change of the box, `form.requestSubmit()` a trusted submit, `execCommand` a trusted
// input. So a change of a box needs its trusted click, a submit its button's click or Enter, and input of text its
// `beforeinput`, which no script's command makes.
(() => {
'use strict';
const KEY = Symbol.for('DOM_EVENTS');
if (globalThis[KEY]) {
  globalThis[KEY]();  // another document in the same window, which has none of the old one's listeners
  return;
}

// ELEMENTS

// --- reporting

const PAUSE = LETTERS_MS;
const CLICKS = new Set(['click', 'dblclick', 'auxclick', 'contextmenu']);

const numbers = new WeakMap();
let last = 0;
const numberOf = el => {
  let number = numbers.get(el);
  if (number === undefined) numbers.set(el, number = ++last);
  return number;
};
let writing = null;  // the field of the last event, if that was input
let unsaid = null;  // the report about it that is not sent yet
let clickedInto = null;  // a clicked text field, with the report about it that is not sent yet
let latest = 0;  // time of the last letter, or of that click
let waiting = false;
let leaving = false;
// Reporting each letter separately would cost as much as typing it. So letters are reported together: a moment later
// (before the page counts as settled), before the next event, before the address changes, before the document is
// unloaded.
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
    leaving = true;  // permanently, because adding and removing listeners for each burst costs more
    for (const type of ['beforeunload', 'pagehide', 'blur']) window.addEventListener(type, catchUp, true);
  }
};
const sayingOf = (el, event, value, sign, known) => {
  const [chain, whole] = chainOf(el);
  const view = viewOf(ownerOf(el)) || globalThis;
  return {
    event: event, target: known ? null : targetOf(el), value: value, chain: chain, whole: whole, field: numberOf(el), sign: sign,
    omits: event === 'input' || event === 'change' ? omitsOf(el) : '',
    control: CLICKS.has(event) ? controlAround(el) : null,
    frame: view === view.top ? '' : clip(view.location.href, 2000), maker: makerOf(view),
  };
};
const tell = (el, event, value, sign, letter, ready) => {
  if (event === 'input' && writing === el) {  // the element was described with the first letter
    if (unsaid === null) unsaid = {said: {again: numberOf(el)}, field: null, text: ''};
    unsaid.said.value = value;
    if (!isText(el)) unsaid.said.omits = omitsOf(el);
    unsaid.field = null;
    later();
    return;
  }
  // A click into a field is mostly followed by input, and the field was described with the click.
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
const seen = new WeakSet();  // handled events, because those of shadow trees arrive more than once
const adopted = new WeakSet();
const clicked = new WeakSet();  // boxes whose next change belongs to a trusted click
// For a field: the announced change of its text, whether its next change event belongs to text that a person wrote, and
// its value at that time.
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
let down = null;  // the latest press of the pointer
let press = null;  // the pressed element, with the report to send if the page removes it before the click
let told = null;  // the element of that report; a click may still follow
let swept = null;  // a press that ended elsewhere, so that it may have selected something
let pressed = null;  // the path of the latest trusted click
let entered = null;  // the field in which Enter was pressed last

const elementOf = node => {
  const kind = kindOf(node);
  if (kind === 1) return node;
  const near = kind === 9 ? rootElementOf(node) : kind ? parentOf(node) : null;
  return isElement(near) ? near : null;
};

// Lists of suggestions disappear when one is pressed, and the following click hits another element or none. A press
// with a release at the same place, or one that navigates, counts as a click all the same.
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
// Returns both ends of the selection in the page; null for none. Selections in fields are not included.
const selectionOf = method('Document', 'getSelection');
const selectedNow = () => {
  const all = selectionOf(document);
  return all && !all.isCollapsed ? [all.anchorNode, all.anchorOffset, all.focusNode, all.focusOffset] : null;
};
const hasSelected = by => {
  const now = selectedNow();
  return now !== null && !(by.selected && by.selected.every((each, n) => each === now[n]));
};
// A press that is released on another element and selects nothing may be a drag by a script, which has no other event.
// The dragged element itself may follow the pointer.
const tellDragged = (from, event) => {
  if (hasSelected(from) || is(from.el, 'input') || is(from.el, 'select')) return;  // fields report their values
  const apart = each => !from.el.contains(each) && !each.contains(from.el);
  const to = Document.prototype.elementsFromPoint.call(document, event.clientX, event.clientY).find(apart);
  if (!to) return;
  catchUp();
  from.dragged = true;
  writing = null;
  send(JSON.stringify({...from.said, event: 'pointerdown', value: null}));
  tell(to, 'pointerup', null);
};
// If something appears under the pressed pointer, such as a calendar, the browser sends the click to what contains both.
const clickedElement = (event, el) => event.detail && el && down && el !== down.el && el.contains(down.el)
  && Math.hypot(event.clientX - down.x, event.clientY - down.y) <= NEAR ? down.el : el;
const onPointer = (event, el) => {
  if (event.type === 'pointerdown') {
    down = {el: el, x: event.clientX, y: event.clientY};
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
    [swept, press] = [press, null];
    if (swept) tellDragged(swept, event);
  }
};

// Returns whether more input may follow at once.
const isSmall = ({data, inputType}) => data ? data.length === 1 : `${inputType}`.startsWith('delete');
let plain = null;  // the text field, as long as the same one is written in
let plainWriting = null;  // its entry of `writingIn`
let plainText = null;  // the getter of its text
const isPlainText = el => plainText === areaValue || TEXTS.has(inputType(el));  // scripts may change its type
const onLetter = (event, type, el) => {
  if (type === 'keydown' && event.isTrusted) strike(el);
  if (type === 'keydown') return event.key !== 'Enter' && !LEFT.has(event.key) && !isShortcutInto(event, el);
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
  unsaid.text = plainText(el);  // clipped later
  plainWriting.value = unsaid.text;
  later();
  return true;
};

// SCRIPTS

// Keys that write nothing. What a field does with its own keys is reported by its value.
const LEFT = new Set(['Escape', 'ArrowUp', 'ArrowDown']);  // keys that single-line fields leave to the page
const HELD = new Set(['Alt', 'AltGraph', 'CapsLock', 'Control', 'Dead', 'Fn', 'Meta', 'NumLock', 'Process', 'Shift', 'Tab', 'Unidentified']);
const isEdited = node => {
  const kind = kindOf(node);
  return kind === 9 ? designMode(node) === 'on' : kind === 1 && (attr(node, 'contenteditable') ?? 'false') !== 'false';
};
// A closed shadow tree only shows its host, and may contain a field, even for a password.
const HOSTS = new Set([
  'article', 'aside', 'blockquote', 'div', 'footer', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'main', 'nav', 'p', 'section', 'span',
]);
const mayHideField = el => {
  const tag = tagOf(el);
  // Hosts that can't have the focus have it inside, and those with such a tree mostly have no other content.
  return tag.includes('-') || (HOSTS.has(tag) && (attr(el, 'tabindex') === null || firstOf(el) === null));
};
// AltGr, which produces letters, is Control and Alt on some systems.
const isLetter = event => [...event.key].length === 1 && !event.metaKey && event.ctrlKey === event.altKey;
const keysOf = (event, el, path) => {
  const key = event.key, held = (event.ctrlKey ? 'Control+' : '') + (event.altKey ? 'Alt+' : '') + (event.metaKey ? 'Meta+' : '');
  if (event.isComposing || !key || HELD.has(key)) return '';
  const field = is(el, 'input') || is(el, 'textarea') || is(el, 'select') || path.some(isEdited);
  if (key === 'Enter') return held && `${held}Enter`;  // plain Enter is an event of its own
  if (field && !isShortcutInto(event, el)) {
    const line = isText(el) && is(el, 'input') && inputType(el) !== 'number';
    if (held || event.shiftKey || (key === 'Escape' ? !isText(el) && !path.some(isEdited) : !line || !LEFT.has(key))) return '';
  }
  if (isLetter(event) && mayHideField(el)) return '';
  if (key === ' ' && !held && (is(el, 'button') || is(el, 'summary'))) return '';  // it makes a click
  const named = key === ' ' ? 'Space' : key;
  return held + (event.shiftKey && (key.length > 1 || held) ? 'Shift+' : '') + named;
};

const onEvent = event => {
  const type = event.type, at = event.target;
  const inside = BY_SCRIPT && !seen.has(event) && isInside(event);
  if (BY_SCRIPT && event.isTrusted) touch(at);
  // Letters are frequent, and a text field whose events target it in the window is in no shadow tree and has none.
  if (at === plain && event.currentTarget === window && onLetter(event, type, at)) return;
  const letter = event.currentTarget === window && LETTERS.has(type) && isElement(at) && isText(at);
  if (letter && at !== plain) {
    plain = at;
    plainWriting = writingIn(at);
    plainText = is(at, 'input') ? inputValue : areaValue;
  }
  if (letter && type === 'keydown' && event.isTrusted && event.key !== 'Enter') strike(at);
  if (letter && type === 'keydown' && event.key !== 'Enter' && !LEFT.has(event.key) && !isShortcutInto(event, at)) return;
  if (seen.has(event)) return;
  seen.add(event);
  const path = letter ? [at] : event.composedPath();
  // Change and submit events stay in their shadow tree, but another event has come out of it before: a click, a key.
  for (const node of path) {
    if (kindOf(node) === 11 && !adopted.has(node)) {
      adopted.add(node);
      if (BY_SCRIPT && trees.size < ELEMENTS) trees.add(node);
      listenTo(node);
    }
  }
  const trusted = event.isTrusted, hit = elementOf(path[0]), el = type === 'click' && trusted ? clickedElement(event, hit) : hit;
  if (!el) return;
  if (BY_SCRIPT && (trusted || type === 'SIGN')) touch(el);
  if (type === 'SIGN') {
    tell(el, 'change', valueOf(el), `${event.detail}`.slice(0, 100));
    return;
  }
  if (type === 'click' && trusted && swept && swept.dragged && event.detail) {
    swept = null;  // the browser's click on what contains both ends of a drag
    if (BY_SCRIPT) through = asked = null;
    return;
  }
  if (type === 'click') {
    let ready = null;  // the report from the press, because making it again costs as much
    if (trusted && press && path.includes(press.el)) {
      if (press.el === el) ready = press.said;
      press = null;
    }
    if (trusted) pressed = path;
    else if (pressed && pressed.includes(el)) pressed = null;
    if (isBox(el)) trusted ? clicked.add(el) : clicked.delete(el);
    const value = isBox(el) ? null : valueOf(el);  // the page may still cancel the change of a box
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
  if (type === 'beforeinput') struck = null;  // a script's command makes an input event, too
  if (type === 'focusout' || type === 'pointerdown' || type === 'submit' || (type === 'keydown' && event.key === 'Enter')) tellStruck();
  if (type === 'focusout') {
    if (!struckSelection) struck = null;
    return;
  }
  if (type === 'pointerdown' || type === 'pointerup') {
    if (type === 'pointerdown') strikeSelected(el);
    onPointer(event, el);
  } else if (type === 'beforeinput') {
    writingIn(el).announced = event.inputType;
  } else if (type === 'input') {
    if (isBox(el)) {
      if (!clicked.has(el)) return;
    } else if (typeof event.inputType === 'string') {
      if (!isAnnounced(writingIn(el), event)) return;
    } else if (isText(el)) {
      writingIn(el).edited = true;  // the arrows of a number field
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
    else if (!isLetter(event) && isHtml(el) && isEditable(el)) strike(el);
    const keys = keysOf(event, el, path);
    if (keys) tell(el, 'key', keys);
  } else if (CLICKS.has(type)) {
    tell(el, type, isBox(el) ? null : valueOf(el));
  } else {
    tell(el, type, null);  // drag or drop
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

// `document.open` removes all listeners.
const observer = new MutationObserver(() => {
  leaving = false;
  listenTo(window);
});
let watched = null;
const beforeAddress = () => {  // scripts change the address, too, without another event
  tellGone();
  if (BY_SCRIPT) tellFormed();
  catchUp();
};
const again = () => {
  if (watched === document) return;
  watched = document;
  observer.observe(document, {childList: true});
  // Listeners in a window do not receive input to a second document in it until one is added again.
  for (const type of LISTENED) window.removeEventListener(type, guarded, true);
  listenTo(window);
  let enclosed = false;  // whether it is in a page of another origin
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
// The first, empty document of a frame leaves its window to the loaded one if that has the same origin. The only sign
// is that the empty one is hidden: the next task finds the other one in its place, still empty.
if (location.href === 'about:blank') {
  window.addEventListener('pagehide', () => {
    const {port1, port2} = new MessageChannel();
    port1.onmessage = () => { again(); port1.close(); };
    port2.postMessage(null);
  }, true);
}
})()
