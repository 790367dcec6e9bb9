// Accessible names of printed elements, by accname-1.2 and HTML-AAM.

const NAMED_BY_CONTENT = new Set(('button cell checkbox columnheader DisclosureTriangle gridcell heading LayoutTableCell link'
  + ' math menuitem menuitemcheckbox menuitemradio option radio rowheader switch tab term tooltip treeitem').split(' '));
// Roles whose text is not printed again below them. The text of terms and layout cells is, as in `exact`.
const SAYS_CONTENT = role => NAMED_BY_CONTENT.has(role) && role !== 'math';
const NAME_DEPTH = 100;  // maximum depth inside a named element; below that, plain text is used

let names = new Map();

const nameOf = (el, tag, role) => {
  let name = names.get(el);
  if (name === undefined) names.set(el, name = computeName(el, tag, role));
  return name;
};

// Roles for which a title is a description and not a name.
const NOT_TITLED = new Set(['article', 'blockquote', 'caption', 'code', 'deletion', 'emphasis', 'figure', 'generic', 'insertion',
  'LabelText', 'mark', 'paragraph', 'strong', 'subscript', 'superscript', 'time']);
// Roles whose text changes automatically. It is printed, but is not part of another element's name.
const LIVE_REGIONS = new Set(['alert', 'log', 'marquee', 'status', 'timer']);

const computeName = (el, tag, role) =>
  labelledBy(el) || ariaLabel(el) || nativeName(el, tag, role)
  || (namedByContent(el, role) ? trimmed(contentText(el, tag, 0, el)) : '')
  || (NOT_TITLED.has(role) ? '' : trimmed(attr(el, 'title') || '')) || placeholder(el, tag)
  || (isEditingHost(el) ? editorPlaceholder(el) : isDraggable(el) ? trimmed(contentText(el, tag, 0, el)) : '');

const namedByContent = (el, role) =>
  NAMED_BY_CONTENT.has(role) || (role === 'row' && !!closest(el, '[role=grid], [role=treegrid]'));

const ariaLabel = el => has(el, 'aria-label') ? trimmed(attr(el, 'aria-label')) : '';

const labelledBy = el => has(el, 'aria-labelledby')
  ? trimmed(referenced(el, 'aria-labelledby').map(other => alternative(other, 0, el, true)).join(' ')) : '';

const placeholder = (el, tag) => tag === 'input' || tag === 'textarea'
  ? trimmed(attr(el, 'placeholder') || '') || trimmed(attr(el, 'aria-placeholder') || '')
  : trimmed(attr(el, 'aria-placeholder') || '');

const LABELABLE = new Set(['button', 'input', 'meter', 'output', 'progress', 'select', 'textarea']);

// `el.labels` searches the whole document each time, so it is used only where a label is possible.
const labelText = el => {
  const labels = has(el, 'id') || closest(el, 'label') ? el.labels : null;
  return labels && labels.length
    ? trimmed([...labels].map(label => ariaLabel(label) || contentText(label, 'label', 0, el)).join(' ')) : '';
};

const nativeName = (el, tag) => {
  if (LABELABLE.has(tag)) {
    const label = labelText(el);
    if (tag === 'input') {
      const type = el.type;
      if (label) return label;
      if (type === 'file') return el.multiple ? 'Choose Files' : 'Choose File';
      if (type === 'submit') return has(el, 'value') ? trimmed(el.value) : 'Submit';
      if (type === 'reset') return has(el, 'value') ? trimmed(el.value) : 'Reset';
      if (type === 'button') return trimmed(el.value);
      if (type === 'image') {
        return trimmed(attr(el, 'alt') || '') || trimmed(attr(el, 'title') || '') || trimmed(attr(el, 'value') || '') || 'Submit';
      }
      return '';
    }
    return label;
  }
  switch (tag) {
    case 'img': case 'area': return trimmed(attr(el, 'alt') || '');
    case 'svg': return svgTitle(el);
    case 'option': return trimmed(attr(el, 'label') || '') || trimmed(el.text);
    case 'optgroup': return trimmed(attr(el, 'label') || '');
    case 'fieldset': return childText(el, 'legend');
    case 'table': return el.caption ? trimmed(contentText(el.caption, 'caption', 0, el)) : '';
    default: return '';
  }
};

const childText = (el, tag) => {
  for (let child = firstOf(el); child; child = nextOf(child)) {
    if (typeOf(child) === ELEMENT && tagOf(child) === tag) return trimmed(contentText(child, tag, 0, el));
  }
  return '';
};

// Returns the text of an element as part of another one's name.
const alternative = (el, depth, named, direct, omits) => {
  const tag = tagOf(el);
  if (!direct) {
    const by = labelledBy(el);
    if (by) return by;
  }
  const role = roleOf(el, tag);
  if (!direct && LIVE_REGIONS.has(role)) return '';
  switch (role) {  // inside a name, a control contributes its value
    case 'textbox': case 'searchbox': case 'spinbutton': case 'slider': case 'Date': case 'DateTime': case 'InputTime':
      if (el !== named && (tag === 'input' || tag === 'textarea')) return el.type === 'password' ? '' : el.value;
      if (has(el, 'aria-valuetext')) return attr(el, 'aria-valuetext');
      if (has(el, 'aria-valuenow')) return attr(el, 'aria-valuenow');
      break;
    case 'combobox': case 'listbox':
      if (el !== named && tag === 'select') return [...el.selectedOptions].map(option => option.text).join(' ');
      break;
  }
  const label = ariaLabel(el);
  if (label) return label;
  if (el === named && tag === 'input') return '';
  const content = () => role === 'image' ? '' : contentText(el, tag, depth + 1, named, direct, omits);
  return nativeName(el, tag, role) || content() || trimmed(attr(el, 'title') || '');
};

// Returns the text inside an element, with spaces where the layout separates. `hidden`: include hidden text, because a
// name refers to it. `omits`: whether to omit an element.
const contentText = (el, tag, depth, named, hidden, omits) => {
  if (depth > NAME_DEPTH) return textContentOf(el);
  if (tag === 'svg') return svgTitle(el);
  const style = styleOf(el);
  let text = generated(el, '::before');
  const children = laidOutChildren(el, tag, null);
  const list = Array.isArray(children) ? children : null;
  const inTree = attr(el, 'role') === 'treeitem';
  const visible = hidden || style.visibility === 'visible';
  let at = 0;
  for (let child = list ? list[0] : children; child; child = list ? list[++at] : nextOf(child)) {
    const type = typeOf(child);
    if (type === TEXT) {
      if (visible) text += laidOutText(dataOf(child), style);
      continue;
    }
    if (type !== ELEMENT || child === named) continue;
    const childTag = tagOf(child);
    if (SKIPPED.has(childTag)) continue;
    if (childTag === 'br') { text += '\n'; continue; }
    if (!hidden && attr(child, 'aria-hidden') === 'true') continue;
    if (omits && omits(child)) continue;
    const display = styleOf(child).display;
    if (display === 'none' && !hidden) continue;
    if (inTree && attr(child, 'role') === 'group') continue;  // nested items are not part of an item's name
    const part = hiddenByStyle(child, hidden)
      ? contentText(child, childTag, depth + 1, named, hidden, omits) : alternative(child, depth, named, false, omits);
    const apart = !(display === 'inline' || display === 'contents') || has(child, 'aria-label')
      || CONTROLS.has(childTag);
    text += apart ? ` ${part} ` : part;
  }
  return text + generated(el, '::after');
};

const hiddenByStyle = (el, hidden) => !hidden && styleOf(el).visibility !== 'visible';
const CONTROLS = new Set(['input', 'select', 'textarea', 'button']);
