// Reading the DOM so that the page can't be in the way, and ids that stay with their nodes.
//
// Everything goes through the prototypes' own getters: in a form, `form.parentNode` is whatever field is named
// "parentNode". Nothing here writes to the page; ids live in a WeakMap of the world this script runs in.

const getter = (prototype, name) => {
  const get = Object.getOwnPropertyDescriptor(prototype, name).get;
  return node => get.call(node);
};
const method = (prototype, name) => {
  const call = prototype[name];
  return call.length ? (node, argument) => call.call(node, argument) : node => call.call(node);
};

const typeOf = getter(Node.prototype, 'nodeType');
const parentOf = getter(Node.prototype, 'parentNode');
const firstOf = getter(Node.prototype, 'firstChild');
const nextOf = getter(Node.prototype, 'nextSibling');
const isConnected = getter(Node.prototype, 'isConnected');
const ownerOf = getter(Node.prototype, 'ownerDocument');
const rootOf = method(Node.prototype, 'getRootNode');
const contains = method(Node.prototype, 'contains');
const textContentOf = getter(Node.prototype, 'textContent');
const dataOf = getter(CharacterData.prototype, 'data');
const tagOf = getter(Element.prototype, 'localName');
const shadowOf = getter(Element.prototype, 'shadowRoot');
const rectOf = method(Element.prototype, 'getBoundingClientRect');
const rectsOf = method(Element.prototype, 'getClientRects');
const matches = method(Element.prototype, 'matches');
const closest = method(Element.prototype, 'closest');
const assignedTo = method(HTMLSlotElement.prototype, 'assignedNodes');
const hostOf = getter(ShadowRoot.prototype, 'host');
const viewOf = getter(Document.prototype, 'defaultView');
const activeIn = getter(Document.prototype, 'activeElement');
const activeInShadow = getter(ShadowRoot.prototype, 'activeElement');
const queryDocument = method(Document.prototype, 'querySelector');
const queryAllOfDocument = method(Document.prototype, 'querySelectorAll');
const getAttribute = Element.prototype.getAttribute;
const hasAttribute = Element.prototype.hasAttribute;
const attr = (el, name) => getAttribute.call(el, name);
const has = (el, name) => hasAttribute.call(el, name);

const ELEMENT = 1, TEXT = 3, DOCUMENT = 9, FRAGMENT = 11;

// The computed style; of a pseudo element with its name.
const styleOf = (el, pseudo) => getComputedStyle(el, pseudo);

// The document in a frame, or null when it belongs to another site and can't be read from here.
const frameDocument = el => {
  try {
    return el.contentDocument;
  } catch {
    return null;
  }
};

// The elements that a list of ids in an attribute names, in the tree the element is in.
const referenced = (el, name) => {
  const value = attr(el, name);
  if (!value) return [];
  const root = rootOf(el);
  if (!root.getElementById) return [];
  return value.split(/\s+/).filter(Boolean)
    .map(id => typeOf(root) === DOCUMENT ? Document.prototype.getElementById.call(root, id) : root.getElementById(id))
    .filter(Boolean);
};

// The element around a node as it is laid out: out of slots and shadow roots.
const flatParent = node => {
  const slot = node.assignedSlot;
  if (slot) return slot;
  const parent = parentOf(node);
  return parent && typeOf(parent) === FRAGMENT ? hostOf(parent) : parent;
};

// Children as they are laid out: of the shadow root if there is one, of a slot what was put into it. The first one,
// whose siblings are the others, or, where they aren't, a list. `owned` are elements that aria-owns moves elsewhere.
const laidOutChildren = (el, tag, owned) => {
  const shadow = shadowOf(el);
  const first = firstOf(shadow || el);
  if ((tag !== 'slot' || shadow) && !(owned && has(el, 'aria-owns'))) return first;
  let list = tag === 'slot' && !shadow ? assignedTo(el) : [];
  if (!list.length) for (let child = first; child; child = nextOf(child)) list.push(child);
  if (owned && has(el, 'aria-owns')) {
    list = list.filter(node => !owned.has(node));
    list.push(...referenced(el, 'aria-owns').filter(node => owned.get(node) === el));
  }
  return list;
};

// Ids. A node keeps its number as long as it lives; no number is ever given twice.
const numbers = new WeakMap();
const known = new Map();
let nextNumber = 1;
let tidyAt = 4096;

const numberOf = (node, said) => {
  let number = numbers.get(node);
  if (number === undefined) {
    number = nextNumber++;
    numbers.set(node, number);
    known.set(number, {node: new WeakRef(node), said});
    if (known.size > tidyAt) {
      for (const [key, entry] of known) if (!entry.node.deref()) known.delete(key);
      tidyAt = Math.max(4096, 2 * known.size);
    }
  } else if (said !== undefined) {
    known.get(number).said = said;
  }
  return number;
};

// The node with that id, if it is still on the page: in its document, and that document still shown.
const find = number => {
  const entry = known.get(number);
  const node = entry && entry.node.deref();
  if (!node) return null;
  if (typeOf(node) === DOCUMENT) return viewOf(node) ? node : null;
  return isConnected(node) && viewOf(ownerOf(node)) ? node : null;
};

// What an id was shown as the last time, e.g. "button 'Save'"; empty for ids that were never given here.
const saidOf = number => {
  const entry = known.get(number);
  return entry ? entry.said || '' : '';
};
