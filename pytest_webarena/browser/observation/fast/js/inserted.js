// Text that CSS inserts before and after elements.

// Asking for the style of a pseudo element is slow, so only elements are asked that a rule with `content` may match: by
// a class, id or tag at the end of its selector. `any`: by something else, or the rules can't be read.
const keysOfSheets = new WeakMap();
const keysOfRules = (rules, keys) => {
  for (const rule of rules) {
    const selector = rule.selectorText;
    if (selector && /:(?:before|after)/.test(selector) && !/^(none|normal|""|)$/.test(rule.style.content)) addKeys(selector, keys);
    try {
      const inner = rule.cssRules || (rule.styleSheet && rule.styleSheet.cssRules);
      if (inner && inner.length) keysOfRules(inner, keys);
    } catch {
      keys.any = true;  // an imported sheet of another site
    }
  }
};
const addKeys = (selector, keys) => {
  for (const [, last] of selector.replace(/\[[^\]]*\]/g, '').matchAll(/([^\s>+~,]*?)::?(?:before|after)/g)) {
    const [, kind, name] = last.match(/([.#])((?:[^\s.#:()\\]|\\[^0-9a-f])+)/i) || [];
    const tag = /^[a-z][\w-]*/i.exec(last);
    if (/[()&]|\\[0-9a-f]/i.test(last) || !(kind || tag)) keys.any = true;
    else if (kind === '.') keys.classes.add(name.replace(/\\(.)/g, '$1'));
    else if (kind) keys.ids.add(name.replace(/\\(.)/g, '$1'));
    else keys.tags.add(tag[0].toLowerCase());
  }
};
const keysOf = sheet => {
  let rules;
  try { rules = sheet.cssRules; } catch { return {any: true}; }
  let found = keysOfSheets.get(sheet);
  if (!found || found.count !== rules.length) {
    found = {count: rules.length, any: false, classes: new Set(), ids: new Set(), tags: new Set()};
    keysOfRules(rules, found);
    keysOfSheets.set(sheet, found);
  }
  return found;
};

// Sheets by root, for one observation: those with rules that insert something.
let insertingSheets = new Map();
const forgetInserted = () => { insertingSheets = new Map(); forgetCounters(); };
const sheetsOf = root => {
  let found = insertingSheets.get(root);
  if (!found) {
    const sheets = [...root.styleSheets || [], ...root.adoptedStyleSheets || []];
    found = sheets.map(keysOf).filter(keys => keys.any || keys.classes.size || keys.ids.size || keys.tags.size);
    insertingSheets.set(root, found);
  }
  return found;
};
const mayInsert = el => {
  const tag = tagOf(el);
  if (tag === 'q' || shadowOf(el) || el.assignedSlot || has(el, 'part')) return true;  // by rules of other roots
  const sheets = sheetsOf(rootOf(el));
  if (!sheets.length) return false;
  const names = (attr(el, 'class') || '').split(/\s+/), id = attr(el, 'id');
  return sheets.some(keys => keys.any || keys.tags.has(tag) || (id && keys.ids.has(id)) || names.some(name => keys.classes.has(name)));
};

const quoteMark = (el, side) => {
  let depth = 0;
  for (let around = closest(el, 'q'); (around = around && around.parentElement && closest(around.parentElement, 'q'));) depth++;
  const marks = [...styleOf(el).quotes.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(each => unescaped(each[1]));
  const pairs = marks.length ? marks : ['“', '”', '‘', '’'];
  return pairs[Math.min(2 * depth, pairs.length - 2) + (side === 'open' ? 0 : 1)];
};

// Pieces of `content`. Other functions than those named draw pictures.
const PIECES = /"((?:[^"\\]|\\.)*)"|attr\(([\w-]+)\)|(counters?)\(([^)]*)\)|[\w-]+\((?:"(?:[^"\\]|\\.)*"|[^"()]|\([^()]*\))*\)|(open|close)-quote|(\/)/g;
const unescaped = text => text.replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gi, (_, code, char) => code ? String.fromCodePoint(parseInt(code, 16)) : char);
const isInserted = style => !/^(none|normal|)$/.test(style.content) && style.display !== 'none';

// Returns the text that CSS inserts before or after an element, in its style; null for none. Pictures have no text.
const insertedText = (el, pseudo, counts = true) => {
  if (!mayInsert(el)) return null;
  const style = styleOf(el, pseudo), content = style.content;
  if (!isInserted(style) || style.visibility !== 'visible') return null;
  let text = '', described = false;
  for (const [, string, attribute, call, given, side, slash] of content.matchAll(PIECES)) {
    if (slash) { text = ''; described = true; }  // the text after it replaces what is drawn
    else if (string !== undefined) text += unescaped(string);
    else if (attribute) text += attr(el, attribute) ?? '';  // only Firefox keeps attr()
    else if (call) text += counts ? counterText(el, pseudo, call, given) : '';
    else if (side) text += quoteMark(el, side);
  }
  return text ? {text, style, described} : null;
};

// The same for names, in which browsers omit counters.
const generated = (el, pseudo) => {
  const found = insertedText(el, pseudo, false);
  return !found ? '' : found.described ? ` ${found.text} ` : found.text;
};

// Whether a text has a character that can be read; fonts draw icons for those of private use.
const isReadable = text => /[^\p{C}\p{Z}\s]/u.test(text);

// Whether what CSS inserts into an element is in the view: it is at the start or at the end of the element.
const showsInserted = (box, style, pseudo, view) => {
  if (style.display === 'contents') return true;
  const height = Math.min(box.height, parseFloat(style.lineHeight) || 1.2 * parseFloat(style.fontSize));
  const [top, bottom] = pseudo === '::before' ? [box.top, box.top + height] : [box.bottom - height, box.bottom];
  return top <= view[3] && view[1] <= bottom && box.left <= view[2] && view[0] <= box.right;
};
