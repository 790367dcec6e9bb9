// What stands for fields on the screen: editors, labels, and areas that scroll.

// Whether an element makes its content editable. Those have no role of their own.
const isEditingHost = el => has(el, 'contenteditable') && /^(true|plaintext-only|)$/i.test(attr(el, 'contenteditable'));

// Whether an element can be dragged although nothing else makes it a control.
const isDraggable = el => (attr(el, 'draggable') || '').toLowerCase() === 'true';

// Returns the text that an empty editor shows instead of its content.
const editorPlaceholder = el => {
  const given = trimmed(attr(el, 'placeholder') || attr(el, 'data-placeholder') || '');
  if (given || !BLANK.test(textContentOf(el))) return given;
  for (let inner = el; inner; inner = inner.firstElementChild) {
    const text = trimmed(generated(inner, '::before'));
    if (isReadable(text)) return text;
  }
  return '';
};

// Editors that draw text themselves keep the focus in a field that nobody sees. Their surface, the nearest box of some
// size around the field, is what people see and click.
const LEAST = 6, SURFACE = [24, 12];
const isTextField = (el, tag) => tag === 'textarea' || (tag === 'input' && /^(text|search|email|tel|url|password|number)$/.test(el.type))
  || attr(el, 'role') === 'textbox' || isEditingHost(el);
const hasSize = el => {
  let {width, height} = rectOf(el);
  for (let around = parentOf(el); around && typeOf(around) === ELEMENT && width >= LEAST && height >= LEAST; around = parentOf(around)) {
    if (around.clientWidth >= LEAST && around.clientHeight >= LEAST) continue;
    const style = styleOf(around);
    if (style.display === 'contents' || style.display === 'inline') continue;
    if (style.overflowX !== 'visible') width = Math.min(width, around.clientWidth);
    if (style.overflowY !== 'visible') height = Math.min(height, around.clientHeight);
  }
  return width >= LEAST && height >= LEAST;
};
const isDrawn = el => hasSize(el) && el.checkVisibility({checkOpacity: true});
// Whether a field is only there for scripts: neither the pointer nor the keyboard reaches it, nor does its label use it.
// Widgets keep the field that they replace so.
const isSpare = (el, tag) => (tag === 'input' || tag === 'select' || tag === 'textarea') && attr(el, 'tabindex') === '-1'
  && (!hasSize(el) || (styleOf(el).pointerEvents === 'none' && !isDrawn(el)))
  && !(tag === 'input' && /^(checkbox|file|radio)$/.test(el.type) && [...el.labels || []].some(isDrawn));
const surfaceOf = el => {
  for (let around = flatParent(el); around && typeOf(around) === ELEMENT && tagOf(around) !== 'body'; around = flatParent(around)) {
    const box = rectOf(around);
    if (box.width >= SURFACE[0] && box.height >= SURFACE[1]) return around;
  }
  return null;
};

// Returns the element whose box people see for a control: itself, the surface of its editor, or its label.
const seenFor = (el, tag) => {
  if (isTextField(el, tag)) return isDrawn(el) ? el : surfaceOf(el) || el;
  if (tag !== 'input' || isDrawn(el)) return el;
  return [...el.labels || []].find(isDrawn) || el;
};

// Surfaces whose whole text is hidden from accessibility, for one observation. People read that text in the editor.
let mutedSurfaces = new Map();
const forgetSurfaces = () => { mutedSurfaces = new Map(); };
const mutedIn = doc => {
  let found = mutedSurfaces.get(doc);
  if (!found) {
    found = [...queryAllOfDocument(doc, 'textarea, [role=textbox]')].filter(el => !isDrawn(el)).map(surfaceOf)
      .filter(surface => surface && !hasOpenText(surface));
    mutedSurfaces.set(doc, found);
  }
  return found;
};
const hasOpenText = surface => {
  const walker = ownerOf(surface).createTreeWalker(surface, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, node => typeOf(node) === TEXT
    ? (BLANK.test(dataOf(node)) ? NodeFilter.FILTER_SKIP : NodeFilter.FILTER_ACCEPT)
    : attr(node, 'aria-hidden') === 'true' || SKIPPED.has(tagOf(node)) || tagOf(node) === 'textarea' || rectOf(node).width === 0
      ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP);
  return walker.nextNode() !== null;
};

// Whether content that is hidden from accessibility is the text of an editor. The pointer shows that it can be edited,
// which distinguishes it from line numbers.
const isEditorText = el => mutedIn(ownerOf(el)).some(surface => contains(surface, el)) && styleOf(el).cursor === 'text';

// Describes how far an area can be scrolled, in heights of its own; empty if it can't.
const scrollOf = (el, style) => {
  const height = el.clientHeight, all = el.scrollHeight;
  if (!height || all <= height) return '';
  const reversed = style.flexDirection === 'column-reverse' && style.display.endsWith('flex');
  const above = reversed ? all - height + el.scrollTop : el.scrollTop;
  return [[above / height, 'above'], [(all - height - above) / height, 'below']].filter(([screens]) => screens >= 0.05)
    .map(([screens, where]) => `${screens.toFixed(1).replace(/\.0$/, '')} ${screens.toFixed(1) === '1.0' ? 'screen' : 'screens'} ${where}`).join(', ');
};
const scrollStateOf = (el, tag, style) => {
  if (tag === 'iframe') {
    const doc = frameDocument(el), page = doc && (doc.scrollingElement || doc.documentElement);
    return page ? scrollOf(page, styleOf(page)) : '';
  }
  if (!/^(auto|scroll)$/.test(style.overflowY) || /^(html|input|select|textarea)$/.test(tag)) return '';
  if (tag === 'body' && styleOf(parentOf(el)).overflowY === 'visible') return '';  // the page scrolls
  return scrollOf(el, style);
};
