// Reports what scripts do, for agents that run scripts; a part of `dom_events.js`.
//
// Clients of agents that drive the browser choose from lists and set dates by script, and many run scripts of their
// own. `scripted` is the time of an action, so that the harness can determine whether a command of the agent ran then.
// It is 0 if another event was being dispatched, which caused the action: repeating that event repeats the action, too.
//
// A change is reported once for each value, and not while a person writes in the field, because masks change it with
// each letter. If a page keeps changing a field, only its value at intervals is reported, so that it does not hide
// other changes.
const FEW = 20;  // maximum number of values of a field that are reported at once
const SCRIPTED = 1000;  // maximum number of changes of a document
const ACTS = 500;  // maximum number of other actions of a document; no check needs more
const POINTED = new Set(['click', 'dblclick', 'auxclick', 'contextmenu', 'pointerdown', 'pointerup', 'mousedown', 'mouseup']);
let scriptedLeft = SCRIPTED;
let actsLeft = ACTS;
const scriptedFields = new WeakMap();
const scriptedIn = el => {
  let found = scriptedFields.get(el);
  if (!found) scriptedFields.set(el, found = {value: null, told: 0, waits: false});
  return found;
};
const under = [];  // the events that are being dispatched, the innermost last
const isInside = event => {
  while (under.length && under[under.length - 1].eventPhase === 0) under.pop();
  const inside = under.length > 0;
  under.push(event);
  return inside;
};
// Text of the rows, cells and the like that its selector counts, because their number may change. In addition, marks
// that distinguish rows with the same text: the values in their fields, as reported so far, and the names of pictures
// and the like (`acting/script_actions.py` reads the same).
const LONGEST_ROW = 200;
const MARKS = 'input, textarea, select, [alt], [title], [aria-label]', MOST_MARKS = 50;
const marksOf = (row, el) => {
  const all = Element.prototype.querySelectorAll.call(row, MARKS), found = [];
  for (let n = 0; n < Math.min(all.length, MOST_MARKS); n++) {
    const each = all[n], now = isField(each) && !isBox(each) && each !== el ? valueOf(each) : null;
    if (now !== null) found.push(held.has(each) ? held.get(each) : cameWith(each));
    else if (isBox(each)) found.push(attr(each, 'value'));
    for (const name of ['alt', 'title', 'aria-label']) found.push(attr(each, name));
  }
  return squeeze(found.filter(Boolean).map(each => clip(each, LONGEST_TAG)).join(' | '), LONGEST_ROW);
};
// Returns whether a sibling has the same text except for numbers, which distinguish the two then.
const isNumbered = (row, text) => {
  const unlike = said => said.replace(/\d+/g, '#'), tag = tagOf(row);
  if (!/\d/.test(text)) return false;
  for (const step of [previousElement, nextElement]) {
    for (let other = step(row), left = MOST_MARKS; other && left-- > 0; other = step(other)) {
      if (tagOf(other) === tag && unlike(textOf(other, LONGEST_ROW + 1)) === unlike(text)) return true;
    }
  }
  return false;
};
const rowsOf = el => {
  const counted = [], found = [];
  selectorOf(el, counted);
  for (const each of counted) {
    const text = textOf(each, LONGEST_ROW + 1), marks = text.length <= LONGEST_ROW && each !== el ? marksOf(each, el) : '';
    if (text.length > LONGEST_ROW || !(text || marks)) continue;
    const numbered = isNumbered(each, text);
    found.push([clip(tagOf(each), LONGEST_TAG), text, ...(marks || numbered ? [marks] : []), ...(numbered ? ['numbers'] : [])]);
  }
  return found;
};
const sendScripted = (el, event, value, at) => {
  catchUp();
  writing = null;
  send(JSON.stringify({...sayingOf(el, event, value), scripted: at, rows: rowsOf(el)}));
};
const isField = el => is(el, 'input') || is(el, 'textarea') || is(el, 'select');
const announced = new WeakSet();  // fields whose change has yet to be found by a sweep
const tellScripted = (el, at) => {
  const value = isField(el) ? valueOf(el) : null;
  if (value === null) return;
  if (isBox(el) || struck === el || writings.get(el)?.edited) {
    announced.add(el);
    return;
  }
  if (scriptedLeft < 0) return;
  const field = scriptedIn(el);
  if (field.value === value || field.waits) return;
  if (field.told >= FEW) {
    field.waits = true;
    field.told--;  // permits one more afterwards
    setTimeout(() => { field.waits = false; tellScripted(el, 0); }, STILL);
    return;
  }
  if (scriptedLeft-- === 0) throw new Error('more changes by script than are told');  // counted as lost, once
  field.value = value;
  field.told++;
  held.set(el, value);
  sendScripted(el, 'change', value, at);
};
const tellAct = (el, event, value, at = Date.now()) => {
  if (actsLeft <= 0) return;
  actsLeft--;
  sendScripted(el, event, value, at);
};

// Values that scripts set without an event are found by a sweep: before other actions of scripts, and when the harness
// asks.
const SWEPT = 1000;  // maximum number of fields in a sweep
const held = new WeakMap();  // the known value of a field, if it is not the initial one
const touched = new Set();  // fields of a recent trusted event, to which changes by the page belong
const trees = new Set();  // open shadow trees from which events have come
const touch = el => {
  if (!isElement(el) || !isField(el)) return;
  if (!touched.size) {
    setTimeout(() => {
      for (const each of touched) held.set(each, valueOf(each));
      touched.clear();
    });
  }
  touched.add(el);
};
const probed = (el, type) => {  // the value that the field makes of its initial attribute
  const probe = Document.prototype.createElement.call(ownerOf(el), 'input');
  const set = (name, said) => said !== null && Element.prototype.setAttribute.call(probe, name, said);
  for (const name of ['min', 'max', 'step', 'value']) set(name, attr(el, name));
  set('type', type);
  return inputValue(probe);
};
const cameWith = el => {
  if (is(el, 'textarea')) return clip(areaDefault(el), LONGEST_VALUE);
  if (is(el, 'select')) {
    const options = selectOptions(el), count = Math.min(options.length, OPTIONS), own = [], free = [];
    for (let n = 0; n < count; n++) {
      const option = optionItem(options, n);
      if (option && optionDefault(option)) own.push(option);
      else if (option && !optionDisabled(option)) free.push(option);
    }
    const several = isMultiple(el) || selectSize(el) > 1;
    const first = isMultiple(el) ? own : own.length ? own.slice(-1) : several ? [] : free.slice(0, 1);
    return clip(first.map(option => optionLabel(option).replace(/\s+/g, ' ').trim()).join('\n'), LONGEST_VALUE);
  }
  const type = inputType(el);
  if (type === 'checkbox' || type === 'radio') return inputDefaultChecked(el) ? 'on' : 'off';
  return type === 'file' ? '' : clip(TEXTS.has(type) && type !== 'number' ? inputDefault(el) : probed(el, type), LONGEST_VALUE);
};
const sweepField = el => {
  const value = valueOf(el), written = writings.get(el);
  if (written?.edited && value !== null && written.value !== value && held.get(el) === value) {
    written.value = value;  // the page has changed the input at once
    tell(el, 'change', value);
    return;
  }
  if (value === null || value === (held.has(el) ? held.get(el) : cameWith(el))) return;
  held.set(el, value);
  const event = announced.delete(el) ? 'put' : 'set';
  if (touched.has(el) || struck === el) return;
  if (value === 'off' && is(el, 'input') && inputType(el) === 'radio') return;  // another one of its group was chosen
  const field = scriptedIn(el);
  if (field.told >= FEW) return;
  field.told++;
  tellAct(el, event, value);
};
const sweep = () => {
  let left = SWEPT;
  for (const root of [document, ...trees]) {
    const query = root === document ? Document.prototype.querySelectorAll : DocumentFragment.prototype.querySelectorAll;
    const found = query.call(root, 'select, textarea, input');
    for (let n = 0; n < found.length && left-- > 0; n++) sweepField(found[n]);
  }
};

// Effects of a click by script: its label's field is clicked, its form is submitted.
let through = null;  // the path of the latest click by script
let asked = null;  // a form that an event has reported as being submitted
let formed = null;  // a form whose values were collected without such an event; it is submitted if the page navigates
let formedAt = 0;
let skipped = null;  // a form that was submitted as an effect of a reported event
let skippedAt = 0;
const AGAIN = 2000;  // milliseconds until a page navigates, when the browser collects the values again
const isLabelled = el => through !== null && through[0] !== el && through.some(node => isElement(node) && is(node, 'label') && labelControl(node) === el);
const onScript = (event, el, path, inside) => {
  const type = event.type;
  if (type === 'change' || type === 'input') {
    tellScripted(el, inside ? 0 : Date.now());
    return;
  }
  if (inside) return;
  if (type === 'click' && isLabelled(el)) {
    through = null;  // only once
    touch(el);
    return;
  }
  if (POINTED.has(type)) {
    touch(el);  // a box is already ticked when its click event arrives
    sweep();
    through = type === 'click' ? path : null;
    asked = null;
    tellAct(el, type, isBox(el) ? null : valueOf(el));
  } else if (type === 'keydown' && typeof event.key === 'string' && event.key) {
    sweep();
    asked = null;
    const keys = (event.ctrlKey ? 'Control+' : '') + (event.altKey ? 'Alt+' : '') + (event.metaKey ? 'Meta+' : '');
    tellAct(el, 'keydown', clip(keys + (event.shiftKey && event.key.length > 1 ? 'Shift+' : '') + event.key, LONGEST_TAG));
  }
};
const onSent = (form, button, inside, meant) => {  // a submit by a script only, or `meant` by a person
  asked = form;
  formed = null;
  const clicked = button && through !== null && through.includes(button);
  through = null;
  if (meant || inside || clicked) return;
  sweep();
  tellAct(button || form, 'submit', null);
};
const onFormed = (form, inside) => {
  if (inside || asked === form) {
    skipped = form;
    skippedAt = performance.now();
  }
  if (inside || asked === form || formed === form || (skipped === form && performance.now() - skippedAt < AGAIN)) return;
  sweep();
  formed = form;
  formedAt = Date.now();
};
const tellFormed = () => {
  if (formed !== null) tellAct(formed, 'sent', null, formedAt);
  formed = null;
};
