// Text as the layout shows it, and as it is printed.

const ODD = /[\\\p{C}\p{Z}]/gu;
const PLAIN = /^[\x20-\x5b\x5d-\x7e]*$/;
const ESCAPES = {'\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t'};

// Quotes a text like Python's repr, so that names are the same with both extractors.
const quoted = text => {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  if (!PLAIN.test(text)) {
    text = text.replace(ODD, char => {
      if (char === ' ') return char;
      if (ESCAPES[char]) return ESCAPES[char];
      const code = char.codePointAt(0);
      if (code >= 0xd800 && code <= 0xdfff) return '?';  // a lone surrogate can't be written to a file
      if (code < 0x100) return '\\x' + code.toString(16).padStart(2, '0');
      if (code < 0x10000) return '\\u' + code.toString(16).padStart(4, '0');
      return '\\U' + code.toString(16).padStart(8, '0');
    });
  } else if (text.includes('\\')) {
    text = text.replaceAll('\\', '\\\\');
  }
  return quote + (quote === "'" ? text.replaceAll("'", "\\'") : text) + quote;
};

// White space of layouts, without no-break spaces and the like.
const SPACES = /[ \t\n\r\f]+/g;
const BLANK = /^[ \t\n\r\f]*$/;

const collapsed = text => text.replace(SPACES, ' ');
const trimmed = text => text.replace(SPACES, ' ').replace(/^ | $/g, '');

// Applies the style's text transform and white space. `keepsSpaces`: whether spaces are kept as in the source.
const keepsSpaces = style => /^(pre|pre-wrap|break-spaces)$/.test(style.whiteSpace);
const transformed = (text, style) => {
  switch (style.textTransform) {
    case 'uppercase': return text.toUpperCase();
    case 'lowercase': return text.toLowerCase();
    case 'capitalize': return text.replace(/(^|[\s\p{P}])(\p{L})/gu, (_, before, letter) => before + letter.toUpperCase());
    default: return text;
  }
};
const laidOutText = (text, style) => {
  if (keepsSpaces(style)) return transformed(text, style);
  if (style.whiteSpace === 'pre-line') return transformed(text.replace(/[ \t]*\n[ \t]*/g, '\n').replace(/[ \t]+/g, ' '), style);
  return transformed(collapsed(text), style);
};

// Returns the text that CSS inserts before or after an element, without pictures and counters.
const generated = (el, pseudo) => {
  const content = styleOf(el, pseudo).content;
  if (!content || content === 'none' || content === 'normal') return '';
  const alternative = content.split(' / ');
  const words = alternative[1] ? ' ' : '';  // alternative text replaces what is drawn
  const strings = (alternative[1] ?? alternative[0]).match(/"(?:[^"\\]|\\.)*"|attr\([\w-]+\)/g);  // Firefox keeps attr()
  const contentOf = text => text[0] === '"' ? text.slice(1, -1).replace(/\\(.)/g, '$1') : attr(el, text.slice(5, -1)) ?? '';
  return strings ? words + strings.map(contentOf).join('') + words : '';
};

// Returns the bullet or number of a list item, with the space after it.
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
const marker = (kind, ordinal) => {
  if (kind === 'none') return '';
  if (SYMBOLS[kind]) return SYMBOLS[kind] + ' ';
  if (/^["']/.test(kind)) return kind.slice(1, -1);
  switch (kind) {
    case 'lower-alpha': case 'lower-latin': return letters(ordinal, 97) + '. ';
    case 'upper-alpha': case 'upper-latin': return letters(ordinal, 65) + '. ';
    case 'lower-roman': return roman(ordinal) + '. ';
    case 'upper-roman': return roman(ordinal).toUpperCase() + '. ';
    case 'decimal-leading-zero': return String(ordinal).padStart(2, '0') + '. ';
    default: return ordinal + '. ';
  }
};
