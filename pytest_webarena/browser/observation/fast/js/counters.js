// Numbers that CSS counts, and the markers of list items.

const SYMBOLS = {disc: '•', circle: '◦', square: '■', 'disclosure-open': '▾', 'disclosure-closed': '▸'};
const letters = (value, first) => {
  let text = '';
  for (let n = value; n > 0; n = Math.floor((n - 1) / 26)) text = String.fromCharCode(first + (n - 1) % 26) + text;
  return text || String(value);
};
const ROMAN = [[1000, 'm'], [900, 'cm'], [500, 'd'], [400, 'cd'], [100, 'c'], [90, 'xc'], [50, 'l'], [40, 'xl'], [10, 'x'],
               [9, 'ix'], [5, 'v'], [4, 'iv'], [1, 'i']];
const roman = value => {
  if (value < 1 || value > 3999) return String(value);
  let text = '';
  for (const [worth, sign] of ROMAN) while (value >= worth) { text += sign; value -= worth; }
  return text;
};
const numeral = (kind, value) => {
  switch (kind) {
    case 'lower-alpha': case 'lower-latin': return letters(value, 97);
    case 'upper-alpha': case 'upper-latin': return letters(value, 65);
    case 'lower-roman': return roman(value);
    case 'upper-roman': return roman(value).toUpperCase();
    case 'decimal-leading-zero': return String(value).padStart(2, '0');
    default: return String(value);
  }
};

// Returns the bullet or number of a list item, with the space after it.
const marker = (kind, ordinal) => {
  if (kind === 'none') return '';
  if (SYMBOLS[kind]) return SYMBOLS[kind] + ' ';
  if (/^["']/.test(kind)) return kind.slice(1, -1);
  return numeral(kind, ordinal) + '. ';
};

// CSS counters. No script can ask the browser for their values, so a document that prints some is counted once for each
// observation. A counter exists in the parent of the element that created it, from that element on.
let counted = new Map();
const forgetCounters = () => { counted = new Map(); };
const CHANGES = [['counterReset', 0], ['counterIncrement', 1], ['counterSet', 0]];

const countersIn = doc => {
  const found = new WeakMap();
  let state = new Map();
  const instancesOf = name => state.get(name) || [];
  const put = (name, instances) => { state = new Map(state).set(name, instances); };
  const change = (style, parent, tag) => {
    const listed = style.display === 'list-item';
    for (const [property, usual] of CHANGES) {
      const value = style[property];
      const given = value === 'none' ? [] : [...value.matchAll(/([^\s()]+)(?:\s+(-?\d+))?/g)].map(each => [each[1], +(each[2] ?? usual)]);
      if (property === 'counterReset' && (tag === 'ol' || tag === 'ul')) given.push(['list-item', 0]);
      if (property === 'counterIncrement' && listed && !given.some(each => each[0] === 'list-item')) given.push(['list-item', 1]);
      for (const [name, number] of given) {
        const instances = instancesOf(name), last = instances[instances.length - 1];
        if (property === 'counterReset') {
          put(name, [...(last && last.parent === parent ? instances.slice(0, -1) : instances), {value: number, parent}]);
        } else {
          const start = property === 'counterSet' || !last ? 0 : last.value;
          put(name, [...instances.slice(0, -1), {value: start + number, parent: last ? last.parent : parent}]);
        }
      }
    }
  };
  const enter = el => {
    const style = styleOf(el);
    if (style.display === 'none') return false;
    change(style, parentOf(el), tagOf(el));
    const before = styleOf(el, '::before');
    if (isInserted(before)) change(before, el, '');
    found.set(el, {'::before': state, '::after': state});
    return true;
  };
  const exit = el => {
    const after = styleOf(el, '::after');
    if (isInserted(after)) change(after, el, '');
    found.get(el)['::after'] = state;
    for (const [name, instances] of state) {
      const kept = instances.filter(each => each.parent !== el);
      if (kept.length < instances.length) put(name, kept);
    }
  };
  for (let el = doc.documentElement, next; el; el = next) {
    next = enter(el) ? el.firstElementChild : null;
    if (!next && found.has(el)) exit(el);
    while (!next && el) {
      next = el.nextElementSibling;
      if (!next && (el = el.parentElement)) exit(el);
    }
  }
  return found;
};

// Returns the value of `counter(…)` or `counters(…)`; empty where it is unknown, as in shadow trees.
const counterText = (el, pseudo, call, given) => {
  const doc = ownerOf(el);
  if (!counted.has(doc)) counted.set(doc, countersIn(doc));
  const states = counted.get(doc).get(el);
  if (!states) return '';
  const [, name, separator, kind] = given.match(/^\s*([^\s,]+)(?:\s*,\s*"((?:[^"\\]|\\.)*)")?(?:\s*,\s*([\w-]+))?/) || [];
  const values = (states[pseudo].get(name) || [{value: 0}]).map(each => SYMBOLS[kind] || numeral(kind, each.value));
  return call === 'counters' ? values.join(unescaped(separator || '')) : values[values.length - 1];
};
