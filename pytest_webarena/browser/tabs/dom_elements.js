// Identity of an element, its value, its surroundings, and its document's maker; the first part of `dom_events.js`.
const ELEMENTS = 40, ATTRIBUTES = 40, LONGEST_ATTRIBUTE = 300, LONGEST_TAG = 100, LONGEST_TEXT = 200, LONGEST_VALUE = 10000;
const ATTRIBUTE_CHARACTERS = 40000;  // maximum in one chain
const SIBLINGS = 20000;  // maximum that are counted for one chain
const QUERIES = 20;  // maximum for one selector
const NODES = 300, CHARACTERS = 10000;  // maximum of a text that is read by its layout; longer ones are read in part
const OPTIONS = 1000;

const send = globalThis['BINDING'];
// Resolved at the first call, because each prototype has to be created for each document's world, and most are never
// used.
const getter = (kind, name) => {
  let get = null;
  return node => (get ||= Object.getOwnPropertyDescriptor(globalThis[kind].prototype, name).get).call(node);
};
const method = (kind, name) => {
  let call = null;
  return (node, argument) => (call ||= globalThis[kind].prototype[name]).call(node, argument);
};
const typeOf = getter('Node', 'nodeType');
const parentOf = getter('Node', 'parentNode');
const firstOf = getter('Node', 'firstChild');
const nextOf = getter('Node', 'nextSibling');
const dataOf = getter('CharacterData', 'data');
const ownerOf = getter('Node', 'ownerDocument');
const rootOf = method('Node', 'getRootNode');
const tagOf = getter('Element', 'localName');
const attributesOf = getter('Element', 'attributes');
const previousElement = getter('Element', 'previousElementSibling');
const nextElement = getter('Element', 'nextElementSibling');
const getAttribute = method('Element', 'getAttribute');
const rectsOf = method('Element', 'getClientRects');
const isConnected = getter('Node', 'isConnected');
const rectOf = method('Element', 'getBoundingClientRect');
const hostOf = getter('ShadowRoot', 'host');
const viewOf = getter('Document', 'defaultView');
const urlOf = getter('Document', 'URL');
const designMode = getter('Document', 'designMode');
const rootElementOf = getter('Document', 'documentElement');
const innerTextOf = getter('HTMLElement', 'innerText');
const isContentEditable = getter('HTMLElement', 'isContentEditable');
const inputType = getter('HTMLInputElement', 'type');
const inputValue = getter('HTMLInputElement', 'value');
const inputChecked = getter('HTMLInputElement', 'checked');
const inputDefault = getter('HTMLInputElement', 'defaultValue');
const inputDefaultChecked = getter('HTMLInputElement', 'defaultChecked');
const inputFiles = getter('HTMLInputElement', 'files');
const areaValue = getter('HTMLTextAreaElement', 'value');
const areaDefault = getter('HTMLTextAreaElement', 'defaultValue');
const selectOptions = getter('HTMLSelectElement', 'options');
const isMultiple = getter('HTMLSelectElement', 'multiple');
const selectSize = getter('HTMLSelectElement', 'size');
const optionLabel = getter('HTMLOptionElement', 'label');
const optionSelected = getter('HTMLOptionElement', 'selected');
const optionDefault = getter('HTMLOptionElement', 'defaultSelected');
const optionDisabled = getter('HTMLOptionElement', 'disabled');
const labelControl = getter('HTMLLabelElement', 'control');
const optionItem = method('HTMLOptionsCollection', 'item');
const attributeItem = method('NamedNodeMap', 'item');

const namespaceOf = getter('Element', 'namespaceURI');

// Compared by name instead of `instanceof`, because an element may come from another document.
const isHtml = el => namespaceOf(el) === 'http://www.w3.org/1999/xhtml';
const is = (el, tag) => tagOf(el) === tag && isHtml(el);
const kindOf = node => {
  try { return typeOf(node); } catch { return 0; }  // a window
};
const hostAround = fragment => {
  try { return hostOf(fragment); } catch { return null; }  // a fragment that is not a shadow tree
};
const attr = (el, name) => getAttribute(el, name);
const clip = (text, length) => {
  const whole = `${text}`;
  return (whole.length > length ? whole.slice(0, length - 1) + '…' : whole).toWellFormed();
};
const squeeze = (text, length) => `${text || ''}`.slice(0, CHARACTERS).replace(/\s+/g, ' ').trim().slice(0, length).toWellFormed();
const isElement = node => kindOf(node) === 1;
// Returns whether the browser must be asked, which recomputes the styles of the page.
const mayBeEditable = el => {
  for (let n = el; n; n = parentOf(n) || hostAround(n)) {
    const kind = kindOf(n);
    if (kind === 9) return designMode(n) === 'on';
    if (kind === 1 && attr(n, 'contenteditable') !== null) return true;
  }
  return false;
};
const isEditable = el => mayBeEditable(el) && isContentEditable(el);

// --- value of a field

const TEXTS = new Set(['text', 'search', 'email', 'url', 'tel', 'number', 'password']);
const BUTTONS = new Set(['button', 'submit', 'reset', 'image', 'hidden']);
const secrets = new WeakSet();  // fields that were of type password, because a page may reveal them later
const isSecret = el => {
  if (inputType(el) === 'password' || /\b(SECRET_FIELDS)\b/i.test(attr(el, 'autocomplete') || '')) secrets.add(el);
  return secrets.has(el);
};
const isBox = el => is(el, 'input') && (inputType(el) === 'checkbox' || inputType(el) === 'radio');
const isText = el => is(el, 'textarea') || (is(el, 'input') && TEXTS.has(inputType(el)));
const textSaid = (el, raw) => is(el, 'input') && isSecret(el) ? null : clip(raw, LONGEST_VALUE);
const valueOf = el => {
  if (is(el, 'input')) {
    const type = inputType(el);
    if (isSecret(el) || BUTTONS.has(type)) return null;
    if (type === 'checkbox' || type === 'radio') return inputChecked(el) ? 'on' : 'off';
    if (type === 'file') return clip([...inputFiles(el) || []].slice(0, 100).map(file => file.name).join('\n'), LONGEST_VALUE);
    return clip(inputValue(el), LONGEST_VALUE);
  }
  if (is(el, 'textarea')) return clip(areaValue(el), LONGEST_VALUE);
  if (is(el, 'select')) {
    const options = selectOptions(el), found = [], count = Math.min(options.length, OPTIONS);
    for (let n = 0; n < count; n++) {
      const option = optionItem(options, n);
      if (option && optionSelected(option)) found.push(optionLabel(option).replace(/\s+/g, ' ').trim());
    }
    return clip(found.join('\n'), LONGEST_VALUE);
  }
  if (isHtml(el) && isEditable(el)) return clip(contentOf(el).text, LONGEST_VALUE);
  return null;
};

// --- identity of an element, as in `element_probes.DESCRIBE`

// Returns the text in it up to a limit, and whether that is all. `enter` is called with an element in it and returns
// the text to use in its place, or else whether it is separated by spaces.
const textsIn = (el, enter) => {
  let nodes = 0, characters = 0, depth = 0, text = '';
  const add = more => {
    characters += more.length;
    text += more;
  };
  const walk = node => {
    for (let child = firstOf(node); child; child = nextOf(child)) {
      if (++nodes > NODES || characters > CHARACTERS) return;
      const type = typeOf(child), said = type === 3 ? dataOf(child).slice(0, CHARACTERS) : type === 1 ? enter(child) : '';
      if (typeof said === 'string') add(said);
      else {
        if (said) text += ' ';
        depth++ < 200 && walk(child);
        depth--;
        if (said) text += ' ';
      }
    }
  };
  walk(el);
  return {text: text, all: nodes <= NODES && characters <= CHARACTERS};
};
const within = () => false;
const textOf = (el, length) => {
  const found = textsIn(el, within);
  return squeeze(found.all && isHtml(el) ? innerTextOf(el) : found.text, length);
};
const ROLES = {
  button: 'button', textarea: 'textbox', img: 'img', option: 'option', li: 'listitem', td: 'cell', th: 'columnheader',
  p: 'paragraph', form: 'form', nav: 'navigation', main: 'main', table: 'table', tr: 'row', ul: 'list', ol: 'list',
  iframe: 'Iframe', summary: 'DisclosureTriangle', dialog: 'dialog', label: 'LabelText',
};
const INPUTS = {
  button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio',
  range: 'slider', number: 'spinbutton', search: 'searchbox',
};
const roleOf = (el, tag) => {
  const given = (attr(el, 'role') || '').slice(0, LONGEST_TAG).trim().split(/\s+/)[0];
  if (given) return given.toWellFormed();
  if (tag === 'a') return attr(el, 'href') !== null ? 'link' : 'generic';
  if (is(el, 'input')) return INPUTS[inputType(el)] || 'textbox';
  if (is(el, 'select')) return isMultiple(el) || selectSize(el) > 1 ? 'listbox' : 'combobox';
  if (/^h[1-6]$/.test(tag)) return 'heading';
  return Object.hasOwn(ROLES, tag) ? ROLES[tag] : 'generic';
};
// Properties that several kinds of fields have in common.
const FIELDS = {input: 'HTMLInputElement', select: 'HTMLSelectElement', textarea: 'HTMLTextAreaElement', button: 'HTMLButtonElement'};
const ofField = name => {
  const getters = Object.fromEntries(Object.entries(FIELDS).map(([tag, kind]) => [tag, getter(kind, name)]));
  return el => isHtml(el) && Object.hasOwn(getters, tagOf(el)) ? getters[tagOf(el)](el) : null;
};
const labelsOf = ofField('labels'), formOf = ofField('form');
// Returns the text of an element in a label of `el`: by the rules of accessible names nothing for `el` itself, and the
// chosen option for another list. The rules include other fields' values, too, but these may be passwords.
const labelReaderFor = (el, label) => {
  const view = viewOf(ownerOf(label)) || globalThis, shown = view.getComputedStyle(label).visibility === 'visible';
  return child => {
    if (child === el || is(child, 'input') || is(child, 'textarea')) return ' ';
    const {display, visibility} = view.getComputedStyle(child);
    if (display === 'none' || (shown && visibility !== 'visible') || attr(child, 'aria-hidden') === 'true') return '';
    const apart = display !== 'inline' || is(child, 'br');
    const text = is(child, 'select') ? valueOf(child) : attr(child, 'aria-label') || (is(child, 'img') && attr(child, 'alt'));
    return text ? apart ? ` ${text} ` : text : apart;
  };
};
const nameOf = (el, tag, text) => {
  const root = rootOf(el);
  const find = typeOf(root) === 9 ? Document.prototype.getElementById : DocumentFragment.prototype.getElementById;
  const ids = (attr(el, 'aria-labelledby') || '').slice(0, 1000).split(/\s+/).filter(Boolean).slice(0, 10);
  const labelled = all => all.map(label => squeeze(textsIn(label, labelReaderFor(el, label)).text, LONGEST_TEXT)).join(' ');
  const by = typeOf(root) === 9 || typeOf(root) === 11 ? labelled(ids.map(id => find.call(root, id)).filter(Boolean)) : '';
  if (by || attr(el, 'aria-label')) return squeeze(by || attr(el, 'aria-label'), LONGEST_TEXT);
  const labels = labelsOf(el);
  const label = labels && labels.length ? labelled([...labels].slice(0, 5)) : '';
  const button = is(el, 'input') && ['submit', 'button', 'reset'].includes(inputType(el)) ? inputValue(el) : '';
  return squeeze(label || button || attr(el, 'alt') || text || attr(el, 'title') || attr(el, 'placeholder'), LONGEST_TEXT);
};
// Pattern of ids and the like that may count elements, so that their surroundings have to identify them.
const COUNTING = /\d|(^|[^a-z])[a-z]([^a-z]|$)/i;
const isOneOfSeveral = el => placeOf(el, {left: SIBLINGS})[3] > 1;
const selectorOf = (el, counted) => {  // `counted` receives elements that only their number identifies, or may
  const root = rootOf(el), kind = typeOf(root);
  if (kind !== 9 && kind !== 11) return '';
  const query = kind === 9 ? Document.prototype.querySelectorAll : DocumentFragment.prototype.querySelectorAll;
  let left = QUERIES;
  const unique = selector => {
    try { return left-- > 0 && query.call(root, selector).length === 1; } catch { return false; }
  };
  const short = (n, name) => {
    const value = attr(n, name);
    return value && value.length < 100 ? value : '';
  };
  const path = [];
  for (let n = el; isElement(n) && path.length < ELEMENTS; n = parentOf(n)) {
    const tag = CSS.escape(tagOf(n).slice(0, LONGEST_TAG)), id = short(n, 'id');
    const isId = id && unique('#' + CSS.escape(id)), saying = name => `${tag}[${name}=${JSON.stringify(short(n, name))}]`;
    const named = isId ? 'id' : ['data-testid', 'name', 'aria-label', 'placeholder', 'href']
      .find(name => short(n, name) && unique(saying(name)));
    if (named) {
      path.unshift(isId ? '#' + CSS.escape(id) : saying(named));
      for (let m = n, left = ELEMENTS; counted && COUNTING.test(short(n, named)) && isElement(m) && left-- > 0; m = parentOf(m)) {
        if (isOneOfSeveral(m)) counted.push(m);
      }
      break;
    }
    const place = placeOf(n, {left: SIBLINGS});
    if (counted && place[3] > 1) counted.push(n);
    path.unshift(place[3] > 1 ? `${tag}:nth-of-type(${place[2]})` : tag);
  }
  return path.join(' > ').toWellFormed();
};
const centreOf = el => {
  const box = rectOf(el);
  let x = box.left + box.width / 2, y = box.top + box.height / 2;
  for (let view = viewOf(ownerOf(el)); view && view !== view.parent; view = view.parent) {
    const frame = view.frameElement;
    if (!frame) return [null, null];
    const around = rectOf(frame), style = viewOf(ownerOf(frame)).getComputedStyle(frame);
    x += around.left + frame.clientLeft + parseFloat(style.paddingLeft);
    y += around.top + frame.clientTop + parseFloat(style.paddingTop);
  }
  return Number.isFinite(x) && Number.isFinite(y) ? [Math.round(x * 100) / 100, Math.round(y * 100) / 100] : [null, null];
};
const targetOf = el => {
  const tag = tagOf(el), field = ['input', 'textarea', 'select', 'iframe'].includes(tag);
  const text = field ? '' : textOf(el, LONGEST_TEXT), [x, y] = centreOf(el);
  return {
    selector: selectorOf(el), role: roleOf(el, tag), name: nameOf(el, tag, text), tag: clip(tag, LONGEST_TAG),
    text: text, x: x, y: y,
  };
};

// Roles of the control that a click on its content is meant for.
const CONTROLS = new Set([
  'button', 'link', 'checkbox', 'radio', 'switch', 'tab', 'option', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'treeitem',
  'LabelText', 'DisclosureTriangle',
]);
const controlAround = el => {
  for (let n = el, place = 0; n && place < ELEMENTS; n = parentOf(n) || hostAround(n)) {
    if (typeOf(n) === 11) continue;
    if (!isElement(n)) return null;
    const tag = tagOf(n);
    if (CONTROLS.has(roleOf(n, tag))) {
      if (n === el) return null;
      const text = textOf(n, LONGEST_TEXT);
      return {place: place, name: nameOf(n, tag, text), text: text};
    }
    place++;
  }
  return null;
};

// --- surroundings

// Returns its position among its siblings, their number, and the same for those with its tag; zeros if there are too
// many.
const placeOf = (el, budget) => {
  const tag = tagOf(el);
  let nth = 1, children = 1, nthOfType = 1, ofType = 1;
  for (let other = previousElement(el); other; other = previousElement(other)) {
    if (budget.left-- <= 0) return [0, 0, 0, 0];
    nth++; children++;
    if (tagOf(other) === tag) { nthOfType++; ofType++; }
  }
  for (let other = nextElement(el); other; other = nextElement(other)) {
    if (budget.left-- <= 0) return [0, 0, 0, 0];
    children++;
    if (tagOf(other) === tag) ofType++;
  }
  return [nth, children, nthOfType, ofType];
};
const attributesFor = (el, budget) => {
  const found = {}, all = attributesOf(el), secret = is(el, 'input') && isSecret(el);
  let count = 0;
  const take = (name, value) => {
    if (count >= ATTRIBUTES || name.length > LONGEST_TAG || Object.hasOwn(found, name) || (secret && name === 'value')) return;
    const kept = clip(value, Math.max(1, Math.min(LONGEST_ATTRIBUTE, budget.left)));
    budget.left -= name.length + kept.length;
    Object.defineProperty(found, name.toWellFormed(), {value: kept, enumerable: true});
    count++;
  };
  for (const name of ['id', 'class']) {
    const value = attr(el, name);
    if (value !== null) take(name, value);
  }
  for (let n = 0; n < Math.min(all.length, 2 * ATTRIBUTES) && count < ATTRIBUTES; n++) {
    const each = attributeItem(all, n);
    take(each.name, each.value);
  }
  return found;
};
const chainOf = el => {
  const found = [], siblings = {left: SIBLINGS}, attributes = {left: ATTRIBUTE_CHARACTERS};
  let n = el, whole = true;
  while (n) {
    if (found.length === ELEMENTS) { whole = false; break; }
    const parent = parentOf(n);
    let within = 'element', next = parent;
    if (!parent) {
      within = 'root'; next = null; whole = false;  // it is no longer in a document
    } else if (typeOf(parent) === 11) {
      next = hostAround(parent);
      within = next ? 'shadow' : 'root';
      whole = whole && !!next;
    } else if (typeOf(parent) === 9) {
      const view = viewOf(parent);
      const inside = !!view && view !== view.parent;
      next = inside ? view.frameElement : null;
      within = inside ? 'frame' : 'root';
      if (inside && !next) whole = false;  // the page around it is in another process
    }
    found.push([clip(tagOf(n).toLowerCase(), LONGEST_TAG), attributesFor(n, attributes), ...placeOf(n, siblings), within]);
    n = next;
  }
  return [found, whole];
};

// Returns the maker of a document without an address of its own: the address of the page that made it, else that page's
// origin; empty if unknown. A page that writes into a window gives it its own address. The page around a frame still
// has its address, while the opener of a window may have navigated.
const FILLED = /^about:(blank|srcdoc)\b/;
const makerOf = view => {
  for (let at = view, n = 0; n < ELEMENTS; at = at.parent, n++) {
    let url;
    try { url = urlOf(at.document); } catch { break; }  // another origin
    if (!FILLED.test(url)) return clip(url, 2000);
    if (at === at.parent) break;
  }
  return view.origin === 'null' ? '' : clip(view.origin, 2000);
};

// A document of another origin can't see its surroundings. So its parent document reports the frame's element with its
// ancestors, again whenever anything in that chain has changed.
const frames = new Map();  // by the harness's key: the element, and the last report about it
let telling = false;
const aroundFrames = () => {
  telling = false;
  changes.disconnect();
  for (const [frame, known] of frames) {
    const [chain, whole] = chainOf(known.element);
    const view = viewOf(ownerOf(known.element)) || globalThis;
    const said = JSON.stringify({around: frame, chain: chain, whole: whole, maker: makerOf(view)});
    if (said !== known.said) send(said);
    known.said = said;
    if (chain[chain.length - 1][6] === 'root' && !whole) {  // the frame was removed
      frames.delete(frame);
      continue;
    }
    for (let n = known.element, count = 0; n && count < 2 * ELEMENTS; n = outwards(n), count++) {
      changes.observe(n, typeOf(n) === 1 ? {attributes: true, childList: true} : {childList: true});
    }
  }
};
const changes = new MutationObserver(() => {
  if (!telling) {
    telling = true;
    setTimeout(aroundFrames, 30);
  }
});
const outwards = node => {
  const view = typeOf(node) === 9 ? viewOf(node) : null;
  return view ? (view === view.parent ? null : view.frameElement) : parentOf(node) || hostAround(node);
};
const followFrame = (element, frame) => {
  frames.set(frame, {element: element, said: ''});
  aroundFrames();
};
