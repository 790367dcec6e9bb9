// The `html` form: the DOM without invisible and meaningless parts, one element a line. The rules for tags and
// attributes are from `observation/markup.py`; the lines are those of its `MarkupWriter`.

const LONGEST = 200;

// options: viewport, maxOptions, first, rules.
const markup = options => {
  nextNumber = Math.max(nextNumber, options.first);
  forgetInserted();
  const {viewport, maxOptions, rules} = options;
  const skipped = new Set(rules.skipped), empty = new Set(rules.void), transparent = new Set(rules.transparent);
  const interactive = new Set(rules.interactive), controlRoles = new Set(rules.roles);
  const lines = [], range = document.createRange();
  let open = -1, shown = 0;

  const element = (depth, line) => { lines.push(indent(depth) + line); open = lines.length - 1; return open; };
  const text = (depth, raw) => {
    const plainText = raw.replace(/\s+/g, ' ').trim();
    if (!plainText) {
      if (open >= 0 && raw && !/[ >]$/.test(lines[open])) lines[open] += ' ';
      return;
    }
    if (open < 0) { lines.push(indent(depth)); open = lines.length - 1; }
    const line = lines[open];
    const glue = line.endsWith('>') || (/^\s/.test(raw) && line.trim() && !line.endsWith(' ')) ? ' ' : '';
    lines[open] = line + glue + plainText + (/\s$/.test(raw) ? ' ' : '');
  };
  const block = () => { if (open >= 0 && !lines[open].endsWith('>')) open = -1; };

  const isControl = (el, tag) => {
    if (tag === 'a') return has(el, 'href');
    if (tag === 'input') return el.type !== 'hidden';
    return interactive.has(tag) || controlRoles.has(attr(el, 'role') || '') || has(el, 'onclick')
      || isDraggable(el) || /^\d*$/.test(attr(el, 'tabindex') ?? '-')
      || ['', 'true', 'plaintext-only'].includes((attr(el, 'contenteditable') ?? 'false').toLowerCase());
  };
  const valueNow = (el, tag, name, style) => {
    if (name === 'scroll') return style ? scrollStateOf(el, tag, style) : '';
    if (name !== 'value') return attr(el, name);
    if (tag === 'option') return null;  // the agent chooses by label
    if (tag !== 'input' || ['checkbox', 'radio', 'submit', 'button', 'reset'].includes(el.type)) return attr(el, name);
    return el.type === 'password' ? '•'.repeat(el.value.length) : el.value;
  };
  const flagNow = (el, tag, name) => {
    if (name === 'checked' && tag === 'input') return el.checked;
    if (name === 'selected' && tag === 'option') return el.selected;
    return has(el, name);
  };
  const opening = (el, tag, number, style) => {
    const parts = [tag];
    for (const name of rules.attributes) {
      const value = valueNow(el, tag, name, style);
      if (value === null || (!value && name !== 'alt' && name !== 'contenteditable')) continue;
      let short = value.replace(/\s+/g, ' ').trim();
      if (short.length > LONGEST) short = short.slice(0, LONGEST - 1) + '…';
      parts.push(`${name}="${short.replaceAll('"', '&quot;')}"`);
    }
    for (const name of rules.flags) if (flagNow(el, tag, name)) parts.push(name);
    if (!number && transparent.has(tag) && parts.length === 1) return '';
    return `${number ? `[${number}] ` : ''}<${parts.join(' ')}>`;
  };
  const inView = (box, view) => box.width > 0 && box.height > 0
    && box.left < view[2] && view[0] < box.right && box.top < view[3] && view[1] < box.bottom;

  const visitText = (node, depth, view, hidden) => {
    const data = dataOf(node);
    if (hidden) return;
    if (BLANK.test(data)) { text(depth, data); return; }
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (viewport ? !inView(box, view) : box.width === 0 && box.height === 0) return;
    shown++;
    text(depth, data);
  };
  const visitSelect = (select, depth, number) => {
    let listed = 0, leftOut = 0;
    const list = (node, level) => {
      const tag = tagOf(node);
      if (tag === 'optgroup') {
        element(level, opening(node, tag, 0));
        for (const inner of node.children) list(inner, level + 1);
      } else if (tag === 'option') {
        if (listed++ >= maxOptions && !node.selected) { leftOut++; return; }
        element(level, opening(node, tag, numberOf(node, `option ${quoted(trimmed(node.text))}`)));
        text(level + 1, ' ' + node.text);
      }
    };
    for (const child of select.children) list(child, depth);
    if (leftOut) element(depth, `… ${leftOut} more options; to choose one of them, type its text into [${number}]`);
    open = -1;
  };
  const stack = [], ALL = [-Infinity, -Infinity, Infinity, Infinity];
  const visitElement = (el, depth, view) => {
    const tag = tagOf(el);
    if (skipped.has(tag) || tag.includes(':')) return;
    const style = styleOf(el);
    if (style.display === 'none' || style.contentVisibility === 'hidden') return;
    const box = rectOf(el), bare = style.display === 'contents', inline = style.display === 'inline';
    const visible = style.visibility === 'visible' && !bare && (!viewport || inView(box, view));
    const control = (visible || bare) && isControl(el, tag);
    const number = control ? numberOf(el, `${tag} ${quoted(trimmed(textContentOf(el)).slice(0, 80))}`) : 0;
    const line = visible || bare ? opening(el, tag, number, style) : '';
    const before = shown;
    const end = {ends: true, line: -1, before};
    let inner = depth;
    if (line) {
      end.line = element(depth, line);
      inner++;
      if (visible) shown++;
      stack.push(end);
    } else if (!inline && !bare) {
      block();
      stack.push(end);
    }
    if (tag === 'br') { text(inner, ' '); return; }
    if (tag === 'textarea') { if (visible) text(inner, el.value); return; }
    if (tag === 'select') { if (visible) visitSelect(el, inner, number); return; }
    if (empty.has(tag)) return;
    const hidden = style.visibility !== 'visible';
    if (number) view = ALL;  // a control's text is its name, so it is printed even outside of the viewport
    if (tag === 'iframe') {
      const doc = frameDocument(el);
      if (!doc || !doc.documentElement) return;
      const left = box.left + el.clientLeft, top = box.top + el.clientTop;
      const seen = [Math.max(0, view[0] - left), Math.max(0, view[1] - top),
        Math.min(el.clientWidth, view[2] - left), Math.min(el.clientHeight, view[3] - top)];
      stack.push({node: doc.documentElement, depth: inner, view: seen, hidden});
      return;
    }
    if (tag === 'details' && !has(el, 'open')) {
      const summary = firstSummary(el);
      if (summary) stack.push({node: summary, depth: inner, view, hidden});
      return;
    }
    const children = [];
    for (const pseudo of hidden || (!visible && !bare) ? [] : ['::after', '::before']) {
      const found = insertedText(el, pseudo);
      if (!found || !isReadable(found.text) || (viewport && !number && !showsInserted(box, style, pseudo, view))) continue;
      const content = laidOutText(found.text, found.style);
      const raw = found.style.display === 'inline' ? content : ` ${content} `;
      if (pseudo === '::before') text(inner, raw);
      else stack.push({inserted: raw, depth: inner});
      shown++;
    }
    const shadow = shadowOf(el);
    if (shadow) for (let node = firstOf(shadow); node; node = nextOf(node)) children.push(node);
    for (let node = firstOf(el); node; node = nextOf(node)) children.push(node);
    for (const node of children.reverse()) stack.push({node, depth: inner, view, hidden});
  };
  if (document.documentElement) {
    stack.push({node: document.documentElement, depth: 0, view: [0, 0, innerWidth, innerHeight], hidden: false});
  }
  while (stack.length) {
    const work = stack.pop();
    if (work.inserted) text(work.depth, work.inserted);
    else if (!work.ends) {
      const type = typeOf(work.node);
      if (type === TEXT) visitText(work.node, work.depth, work.view, work.hidden);
      else if (type === ELEMENT) visitElement(work.node, work.depth, work.view);
    } else if (work.line < 0) block();
    else {
      if (work.before === shown) lines.length = work.line;
      open = -1;
    }
  }
  const page = document.scrollingElement || document.documentElement;
  return {
    text: lines.filter(line => line.trim()).map(line => line.replace(/ +$/, '')).join('\n'),
    title: document.title, next: nextNumber,
    scroll: [scrollX, scrollY, innerHeight, page ? page.scrollHeight : 0, innerWidth],
  };
};

// Returns [id, left, top, width, height] in this document's viewport for ids of visible elements that can be acted on;
// others are omitted, including covered ones.
const boxes = ids => {
  const found = [];
  for (const id of ids) {
    const node = find(id);
    if (!node || typeOf(node) !== ELEMENT || known.get(id).inserted) continue;
    const tag = tagOf(node);
    if (tag === 'iframe') continue;
    const control = isFocusable(node) || isEditingHost(node) || isDraggable(node) || has(node, 'onclick') || CONTROL_ROLE.test(attr(node, 'role') || '');
    if (!control || (tag === 'option' && isDropDown(closest(node, 'select') || {multiple: true}))) continue;
    if (attr(node, 'tabindex') === '-1' && !matches(node, 'a[href], button, input, select, textarea, [role]')) continue;
    const doc = ownerOf(node);
    const seen = seenFor(node, tag), box = rectOf(seen), view = viewOf(doc);
    let left = Math.max(0, box.left), top = Math.max(0, box.top);
    let right = Math.min(view.innerWidth, box.right), bottom = Math.min(view.innerHeight, box.bottom);
    if (right - left > 1 && bottom - top > 1 && !isReached(seen, doc, left, top, right, bottom)) continue;
    if (right - left <= 1 || bottom - top <= 1) { left = box.left; top = box.top; right = box.right; bottom = box.bottom; }
    for (let w = view; w !== w.parent;) {
      let frame = null;
      try { frame = w.frameElement; } catch { frame = null; }
      if (!frame) break;
      const around = rectOf(frame), style = styleOf(frame);
      const x = around.left + frame.clientLeft + parseFloat(style.paddingLeft);
      const y = around.top + frame.clientTop + parseFloat(style.paddingTop);
      left += x; right += x; top += y; bottom += y;
      w = w.parent;
    }
    if (right - left > 1 && bottom - top > 1) found.push([id, left, top, right - left, bottom - top]);
  }
  return found;
};
const CONTROL_ROLE = /^(button|checkbox|combobox|link|listbox|menuitem|menuitemcheckbox|menuitemradio|option|radio|searchbox|slider|spinbutton|switch|tab|textbox|treeitem)$/;
const isReached = (node, doc, left, top, right, bottom) => {
  for (const [x, y] of [[.5, .5], [.2, .5], [.8, .5], [.5, .2], [.5, .8]]) {
    let hit = doc.elementFromPoint(left + x * (right - left), top + y * (bottom - top));
    for (let shadow = hit && shadowOf(hit); shadow; shadow = hit && shadowOf(hit)) {
      const inner = shadow.elementFromPoint(left + x * (right - left), top + y * (bottom - top));
      if (!inner || inner === hit) break;
      hit = inner;
    }
    if (!hit) continue;
    if (hit === node || contains(node, hit) || contains(hit, node)) return true;
    const label = closest(hit, 'label');
    if (label && label.control === node) return true;
  }
  return false;
};

// Returns the origin of the document in a frame, in the viewport of its parent document.
const cornerOf = id => {
  const frame = find(id);
  if (!frame) return null;
  const box = rectOf(frame), style = styleOf(frame);
  return [box.left + frame.clientLeft + parseFloat(style.paddingLeft), box.top + frame.clientTop + parseFloat(style.paddingTop)];
};
