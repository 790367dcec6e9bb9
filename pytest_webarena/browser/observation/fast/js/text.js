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
