// Access to the DOM that the page can't interfere with, and ids that stay with their nodes.
//
// All properties are read by the prototypes' own getters, because in a form, `form.parentNode` is any field named
// "parentNode". Nothing here writes to the page; ids are kept in a WeakMap of the world in which this script runs.

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
const queryWithin = method(Element.prototype, 'querySelector');
const queryAllWithin = method(Element.prototype, 'querySelectorAll');
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

// Returns the computed style of an element, or of its pseudo element.
const styleOf = (el, pseudo) => getComputedStyle(el, pseudo);

// Returns the document in a frame; null if it belongs to another site and can't be read.
const frameDocument = el => {
  try {
    return el.contentDocument;
  } catch {
    return null;
  }
};

// Returns the elements named by a list of ids in an attribute, in the element's own tree.
const referenced = (el, name) => {
  const value = attr(el, name);
  if (!value) return [];
  const root = rootOf(el);
  if (!root.getElementById) return [];
  return value.split(/\s+/).filter(Boolean)
    .map(id => typeOf(root) === DOCUMENT ? Document.prototype.getElementById.call(root, id) : root.getElementById(id))
    .filter(Boolean);
};

// Returns the parent of a node in the layout, across slots and shadow roots.
const flatParent = node => {
  const slot = node.assignedSlot;
  if (slot) return slot;
  const parent = parentOf(node);
  return parent && typeOf(parent) === FRAGMENT ? hostOf(parent) : parent;
};

// Returns children in the layout: those of the shadow root if there is one; for a slot, its assigned nodes. The result
// is the first child if its siblings are the others, else a list. `owned` are elements that aria-owns moves elsewhere.
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

// Ids. A node keeps its number as long as it exists, and numbers are never reused. Texts that CSS inserts into an element
// have numbers of their own, which lead to the element.
const numbers = new WeakMap();
const insertedNumbers = {'::before': new WeakMap(), '::after': new WeakMap()};
const known = new Map();
let nextNumber = 1;
let tidyAt = 4096;

const numberOf = (node, description, of = numbers) => {
  let number = of.get(node);
  if (number === undefined) {
    number = nextNumber++;
    of.set(node, number);
    known.set(number, {node: new WeakRef(node), description, inserted: of !== numbers});
    if (known.size > tidyAt) {
      for (const [key, entry] of known) if (!entry.node.deref()) known.delete(key);
      tidyAt = Math.max(4096, 2 * known.size);
    }
  } else if (description !== undefined) {
    known.get(number).description = description;
  }
  return number;
};

// Returns the node with that id if it is connected to a document that is still shown.
const find = number => {
  const entry = known.get(number);
  const node = entry && entry.node.deref();
  if (!node) return null;
  if (typeOf(node) === DOCUMENT) return viewOf(node) ? node : null;
  return isConnected(node) && viewOf(ownerOf(node)) ? node : null;
};

// Returns the last description of an id, e.g. "button 'Save'"; empty for ids that were not assigned here.
const descriptionOf = number => {
  const entry = known.get(number);
  return entry ? entry.description || '' : '';
};
