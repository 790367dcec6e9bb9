// The `html` form: the DOM without invisible and meaningless parts, one element a line. The rules for tags and
// attributes are from `observation/markup.py`; the lines are those of its `MarkupWriter`.

const LONGEST = 200;

// Returns the text of an element's labels if they are hidden, so that nothing else has it.
const hiddenLabel = el => {
  const labels = referenced(el, 'aria-labelledby');
  return labels.some(each => rectsOf(each).length) ? '' : labels.map(textContentOf).join(' ');
};

// options: viewport, maxOptions, first, rules; depth and view as in `look`.
const markup = options => {
  nextNumber = Math.max(nextNumber, options.first);
  forgetInserted();
  forgetDelegates();
  const {viewport, maxOptions, rules} = options;
  const skipped = new Set(rules.skipped), empty = new Set(rules.void), transparent = new Set(rules.transparent);
  const interactive = new Set(rules.interactive), controlRoles = new Set(rules.roles);
  const lines = [], frames = [], range = document.createRange();
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

  const isUsual = (el, tag) => {
    if (tag === 'a') return has(el, 'href');
    if (tag === 'input') return el.type !== 'hidden';
    return interactive.has(tag) || controlRoles.has(attr(el, 'role') || '') || has(el, 'onclick')
      || isDraggable(el) || /^\d*$/.test(attr(el, 'tabindex') ?? '-')
      || ['', 'true', 'plaintext-only'].includes((attr(el, 'contenteditable') ?? 'false').toLowerCase());
  };
  const valueNow = (el, tag, name, style, hint) => {
    if (name === 'class') return hint;
    if (name === 'aria-label') return hiddenLabel(el) || attr(el, name);
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
  const opening = (el, tag, number, style, hint = null) => {
    const parts = [tag];
    for (const name of rules.attributes) {
      const value = valueNow(el, tag, name, style, hint);
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
    if (style.display === 'none' || style.contentVisibility === 'hidden' || isSpare(el, tag)) return;
    const box = rectOf(el), bare = style.display === 'contents', inline = style.display === 'inline';
    const visible = style.visibility === 'visible' && !bare && (!viewport || inView(box, view));
    const usual = (visible || bare) && isUsual(el, tag), scripted = visible && !usual && isUsable(el, style);
    const control = usual || scripted;
    const number = control ? numberOf(el, `${tag} ${quoted(trimmed(textContentOf(el)).slice(0, 80))}`) : 0;
    const line = visible || bare ? opening(el, tag, number, style, scripted && isBare(el) ? classHint(el) : null) : '';
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
      const left = box.left + el.clientLeft, top = box.top + el.clientTop;
      const seen = [Math.max(0, view[0] - left), Math.max(0, view[1] - top),
        Math.min(el.clientWidth, view[2] - left), Math.min(el.clientHeight, view[3] - top)];
      const doc = frameDocument(el);
      if (!doc && visible) {
        lines.push('\u0001' + frames.length);
        frames.push({id: numberOf(el), depth: inner, view: seen, focus: false});
        open = -1;
      }
      if (doc && doc.documentElement) stack.push({node: doc.documentElement, depth: inner, view: seen, hidden});
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
    stack.push({node: document.documentElement, depth: options.depth, view: options.view || [0, 0, innerWidth, innerHeight], hidden: false});
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
    title: document.title, focused: '', frames, next: nextNumber, pageScroll: page ? scrollOf(page, styleOf(page)) : '',
    scroll: [scrollX, scrollY, innerHeight, page ? page.scrollHeight : 0, innerWidth],
  };
};
