// Elements that only scripts make usable. Two signs show them: the pointer changes over them, as it does for people, or
// scripts listen to it. Such an element has no id of its own unless it has a name, so its first text represents it.

const POINTED = /^(pointer|grab|grabbing|move)$/;
const CONTROL_ROLES = ('button checkbox combobox link listbox menuitem menuitemcheckbox menuitemradio option radio'
  + ' searchbox slider spinbutton switch tab textbox treeitem').split(' ');
const CONTROL_ROLE = new RegExp(`^(${CONTROL_ROLES.join('|')})$`);
const NATIVE_CONTROLS = 'a[href], button, input, select, textarea, summary, option, label, [contenteditable]';
const CONTROL_ELEMENTS = NATIVE_CONTROLS + CONTROL_ROLES.map(role => `, [role=${role}]`).join('');
const ITEMS = 'li, tr, [role=listitem], [role=row]';

// Whether the markup says that an element can be used.
const isControl = el => isFocusable(el) || isEditingHost(el) || isDraggable(el) || has(el, 'onclick') || CONTROL_ROLE.test(attr(el, 'role') || '');

// Elements to which scripts listen, as far as the browser has reported them: `noteListeners`.
const listeners = new WeakSet();
let listen = false;
const noteListeners = (...nodes) => {
  for (const node of nodes) if (typeOf(node) === ELEMENT) listeners.add(node);
  listen = true;
};

// Returns the trees within the page: documents of frames of the same site, and open shadow trees. Those in the viewport
// come first. Null if there are none.
const innerRoots = most => {
  const shown = [], others = [], trees = [document];
  for (let tree; (tree = trees.shift());) {
    const {innerWidth: width, innerHeight: height} = viewOf(ownerOf(tree) || tree);
    for (const el of tree.querySelectorAll('*')) {
      const inner = shadowOf(el) || (tagOf(el) === 'iframe' ? frameDocument(el) : null);
      if (!inner) continue;
      const box = rectOf(el);
      (box.bottom > 0 && box.right > 0 && box.top < height && box.left < width ? shown : others).push(inner);
      trees.push(inner);
    }
  }
  return shown.length + others.length ? [...shown, ...others].slice(0, most) : null;
};

const isPage = el => /^(html|body)$/.test(tagOf(el));
const elementAbove = node => {
  const parent = flatParent(node);
  return parent && typeOf(parent) === ELEMENT && !isPage(parent) ? parent : null;
};

// Returns the outermost element over which the pointer is the same as over this one; null if that is of no use, or if
// it is the same over the whole page.
const pointedAround = (el, cursor) => {
  if (!POINTED.test(cursor) || isPage(el)) return null;
  for (let above; (above = elementAbove(el)) && styleOf(above).cursor === cursor;) el = above;
  const parent = flatParent(el);
  return parent && typeOf(parent) === ELEMENT && styleOf(parent).cursor === cursor ? null : el;
};

// Whether an element listens for the controls and pointed elements in it. Kept for one observation.
let delegates = new Map();
const forgetDelegates = () => { delegates = new Map(); };
const isDelegate = el => {
  let found = delegates.get(el);
  if (found === undefined) {
    found = !!queryWithin(el, CONTROL_ELEMENTS) || [...queryAllWithin(el, '*')].some(each => POINTED.test(styleOf(each).cursor));
    delegates.set(el, found);
  }
  return found;
};

// Returns the nearest element to which scripts listen; null if it listens for others.
const listeningAround = el => {
  for (let around = listen ? el : null; around; around = elementAbove(around)) {
    if (listeners.has(around)) return isDelegate(around) ? null : around;
  }
  return null;
};

// Returns the element around this one that only scripts make usable; null if there is none, or if a control is nearer.
// Of a list, that is the item. A control made of other elements may have an icon over which the pointer changes.
const usableAround = (el, cursor) => {
  const pointed = pointedAround(el, cursor), owner = pointed || listeningAround(el);
  if (!owner) return null;
  const control = closest(el, CONTROL_ELEMENTS);
  if (control) {
    const isPart = pointed && control !== owner && contains(control, owner) && !closest(owner, NATIVE_CONTROLS);
    return isPart && isTextless(owner, rectOf(owner)) ? owner : null;
  }
  const item = closest(el, ITEMS);
  return item && item !== owner && contains(owner, item) ? item : owner;
};

// Returns such an element around the node of an id; null if the node is usable itself.
const usableOf = id => {
  forgetDelegates();
  const node = find(id), el = node && (typeOf(node) === ELEMENT ? node : elementAbove(node));
  const found = el && !isControl(el) ? usableAround(el, styleOf(el).cursor) : null;
  return found === node ? null : found;
};

// Whether an element is such: by its pointer alone, or by listeners, too.
const isPointed = (el, style) => POINTED.test(style.cursor) && usableAround(el, style.cursor) === el;
const isUsable = (el, style) => (listen || POINTED.test(style.cursor)) && usableAround(el, style.cursor) === el;

// Whether a usable element shows nothing that has a line of its own.
const isBare = el => BLANK.test(textContentOf(el)) && !queryWithin(el, CONTROL_ELEMENTS);

// Whether none of its text is where the element is: pages move a text away to draw an icon in its place.
const isTextless = (el, box) => {
  if (queryWithin(el, CONTROL_ELEMENTS)) return false;
  const doc = ownerOf(el), walker = doc.createTreeWalker(el, NodeFilter.SHOW_TEXT), range = doc.createRange();
  for (let node; (node = walker.nextNode());) {
    if (BLANK.test(dataOf(node))) continue;
    range.selectNodeContents(node);
    const at = range.getBoundingClientRect();
    if (at.width > 0 && at.left < box.right && box.left < at.right && at.top < box.bottom && box.top < at.bottom) return false;
  }
  return true;
};

// Returns the classes of such an element: the only words about it, e.g. `icon-close`.
const classHint = el => {
  const words = trimmed(attr(el, 'class') || '');
  return words.length > 80 ? words.slice(0, 79) + '…' : words;
};
