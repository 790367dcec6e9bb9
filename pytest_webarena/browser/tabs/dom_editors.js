// Content of editors, and of fields whose changes no input event reports; the second part of `dom_events.js`.

const PLAIN = new Set(['br', 'div', 'p', 'span']);  // elements that only make lines, unless they have a style

// Returns the text of an editor with its line breaks, and what the text omits, as in `DomEvent.omits`. `innerText` has
// additional breaks around paragraphs.
const contentOf = editor => {
  const view = viewOf(ownerOf(editor)) || globalThis, lines = [];
  let line = null, nodes = 0, characters = 0, formats = '', isWritten = false, isFormatted = false, isFixed = false, isLong = false;
  const end = () => {
    lines.push(line ?? '');
    line = null;
  };
  const add = (text, keepsSpaces) => {
    const all = keepsSpaces ? text : text.replace(/[ \t\r\n\f]+/g, ' ');
    all.replace(/[\u200b\u2060\ufeff]/g, '').split('\n').forEach((part, n) => {
      if (n) end();
      const more = !keepsSpaces && (line === null || line.endsWith(' ')) ? part.replace(/^ /, '') : part;
      if (more) line = (line ?? '') + more;
    });
  };
  const walk = (parent, style, isOwn) => {
    const keepsSpaces = /^(pre|break-spaces)/.test(style.whiteSpace);
    for (let child = firstOf(parent); child; child = nextOf(child)) {
      if (++nodes > NODES || characters > CHARACTERS) {
        isLong = true;
        return;
      }
      if (typeOf(child) === 3) {
        const text = dataOf(child).slice(0, CHARACTERS);
        characters += text.length;
        isWritten = isWritten || (isOwn && /[^\s\u200b\u2060]/.test(text));
        add(text, keepsSpaces);
      } else if (typeOf(child) === 1) {
        const own = view.getComputedStyle(child), tag = tagOf(child);
        if (own.display === 'none') continue;
        if (tag === 'br') {
          end();
          continue;
        }
        const isBlock = !/^(inline|contents)/.test(own.display), isFixedChild = attr(child, 'contenteditable') === 'false';
        isFixed = isFixed || isFixedChild;
        if (!PLAIN.has(tag) || (tag === 'span' && attr(child, 'style') !== null)) {
          isFormatted = true;
          formats += `${tag}${characters} `;
        }
        if (isBlock && line !== null) end();
        walk(child, own, isOwn && !isFixedChild);
        if (isBlock && line !== null) end();
      }
    }
  };
  walk(editor, view.getComputedStyle(editor), true);
  if (line !== null) end();
  // Without written text, the rest is a placeholder.
  const text = isWritten ? lines.join('\n').replace(/\xa0/g, ' ') : '';
  return {text: text, formats: formats, omits: isLong ? 'rest' : isWritten && (isFormatted || isFixed) ? 'formats' : ''};
};

// Whether a field is invisible: it only receives the keys of an editor that shows the content elsewhere.
const isVisible = method('Element', 'checkVisibility');
const onlyTakesKeys = el => {
  const box = rectOf(el), x = box.left + box.width / 2, y = box.top + box.height / 2, view = viewOf(ownerOf(el)) || globalThis;
  if (!isVisible(el, {opacityProperty: true, visibilityProperty: true})) return true;
  if (x < 0 || y < 0 || x >= view.innerWidth || y >= view.innerHeight) return false;
  const root = rootOf(el), kind = typeOf(root) === 9 ? Document : ShadowRoot;
  return typeOf(root) !== 1 && !kind.prototype.elementsFromPoint.call(root, x, y).includes(el);
};
const omitsOf = el => isText(el) ? (onlyTakesKeys(el) ? 'lines' : '')
  : isHtml(el) && isEditable(el) ? contentOf(el).omits : '';

// Masked fields intercept the keys and write their own text, and editors have shortcuts. No event reports that, so it is
// reported when the field loses the focus, or after a pause.
const STILL = 1000;  // milliseconds
let struck = null;  // a field in which keys were pressed that have written nothing yet
let struckValue = '';  // its value at that time, with what the value omits
let struckAt = 0;
let struckWaits = false;
const struckState = el => {
  if (isText(el) || !isHtml(el) || !isEditable(el)) return JSON.stringify(valueOf(el));
  const {text, omits, formats} = contentOf(el);
  return JSON.stringify([text, omits, formats]);
};
let struckSelection = false;  // whether a press outside may have used what is selected in it
const tellStruck = () => {
  const el = struck;
  if (el === null || !isConnected(el) || valueOf(el) === null) return;
  const state = struckState(el);
  if (state === struckValue) return;
  struckValue = state;
  tell(el, 'change', valueOf(el));
};
const lookStruck = () => {
  const left = struck === null ? 0 : struckAt + STILL - performance.now();
  struckWaits = left > 0;
  if (struckWaits) setTimeout(lookStruck, left);
  else tellStruck();
};
const strike = el => {
  struckAt = performance.now();
  struckSelection = false;
  if (struck === el) return;
  tellStruck();
  struck = el;
  struckValue = struckState(el);
  if (struckWaits) return;
  struckWaits = true;
  setTimeout(lookStruck, STILL);
};

// Returns the field or editor in which something is selected. Buttons of a toolbar act on that, and no event reports it.
const activeIn = getter('Document', 'activeElement');
const selectedIn = () => {
  const active = activeIn(document);
  if (active && isText(active)) return active.selectionStart === active.selectionEnd ? null : active;
  const all = selectionOf(document);
  let near = all && !all.isCollapsed ? elementOf(all.anchorNode) : null;
  if (!near || !isHtml(near) || !isEditable(near)) return null;
  for (let above; (above = parentOf(near)) && kindOf(above) === 1 && isEditable(above);) near = above;
  return near;
};
const strikeSelected = el => {
  const editor = selectedIn();
  if (!editor || editor.contains(el)) return;
  strike(editor);
  struckSelection = true;
};

// Whether a key does something in the editor of an invisible field, which shows no trace of that.
const isShortcut = event => event.isTrusted && !HELD.has(event.key)
  && ((event.metaKey || event.ctrlKey !== event.altKey) || event.key === 'Delete' || event.key === 'Backspace');
const isShortcutInto = (event, el) => isShortcut(event) && isText(el) && onlyTakesKeys(el);
