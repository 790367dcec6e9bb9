// Observes the page: walks over the layout tree without recursion, reads one rectangle per element and text, and
// computes role, name and states only for visible ones. Returns everything as one string.

const SKIPPED = new Set(['head', 'script', 'style', 'template', 'noscript', 'title', 'desc', 'defs', 'symbol', 'link', 'meta',
  'param', 'source', 'track', 'datalist', 'metadata', 'clippath', 'clipPath', 'mask', 'pattern', 'linearGradient',
  'radialGradient', 'filter']);
const LEAVES = new Set(['input', 'textarea', 'img', 'video', 'audio', 'canvas', 'progress', 'meter', 'embed']);
const INLINE = new Set(['a', 'abbr', 'b', 'bdi', 'bdo', 'cite', 'code', 'em', 'font', 'i', 'kbd', 'label', 'mark', 'q', 's',
  'samp', 'small', 'span', 'strong', 'sub', 'sup', 'time', 'u', 'var', 'wbr']);
const PLAIN_ROLES = new Set(['generic', 'img', 'list', 'strong', 'paragraph', 'banner', 'navigation', 'Section', 'LabelText',
  'Legend', 'listitem']);  // not printed without a name and properties

const tabs = [];
const indent = depth => tabs[depth] ?? (tabs[depth] = '\t'.repeat(depth));

// Returns the focused element, including frames of this site and shadow roots.
const focusedElement = doc => {
  let active = activeIn(doc);
  for (;;) {
    const shadow = active && shadowOf(active);
    const inner = shadow ? activeInShadow(shadow)
      : active && tagOf(active) === 'iframe' ? activeIn(frameDocument(active) || doc) : null;
    if (!inner || inner === active) return active;
    active = inner;
  }
};

// Returns the elements that aria-owns moves into another one, each with that owner.
const movedElements = doc => {
  if (!queryDocument(doc, '[aria-owns]')) return null;
  const owned = new Map();
  for (const owner of queryAllOfDocument(doc, '[aria-owns]')) {
    for (const el of referenced(owner, 'aria-owns')) if (!owned.has(el) && !contains(el, owner)) owned.set(el, owner);
  }
  return owned;
};

// Returns whether a label's text need not be printed, because its checkbox or radio button has the same name.
const isRedundantLabel = label => {
  const control = label.control;
  if (!control || tagOf(control) !== 'input' || !(control.type === 'checkbox' || control.type === 'radio')) return false;
  if (ariaLabel(control) || labelledBy(control)) return false;
  const style = styleOf(control);
  if (style.display === 'none' || style.visibility !== 'visible') return false;
  const first = label.firstElementChild;
  return !first || (first === control && !first.nextElementSibling);
};

// options: viewport (only what overlaps it), urls, maxOptions, first (smallest id to assign), depth, view (visible area
// of this document, [left, top, right, bottom]; null for its whole window), root (print the page's own line), focus
// (whether the focus may be in this document).
const look = options => {
  names = new Map();
  tableRoles = new WeakMap();
  forgetInserted();
  forgetSurfaces();
  nextNumber = Math.max(nextNumber, options.first);
  const {viewport, urls, maxOptions} = options;
  const lines = [], frames = [], stack = [];
  const active = options.focus ? focusedElement(document) : null;
  const range = document.createRange();
  let focused = '', seen = 0, current = null;

  // State of white space collapsing across texts: whether the next text follows a space, and the last printed line if
  // it ends with a space that the end of the line would remove.
  let spaced = true, tail = null;
  const breakLine = () => {
    if (tail) lines[tail.index] = textLine(tail.node, tail.depth, tail.text.slice(0, -1), tail.of);
    tail = null;
    spaced = true;
  };
  const textLine = (node, depth, text, of) => {
    const description = 'StaticText ' + quoted(text);
    return `${indent(depth)}[${numberOf(node, description, of)}] ${description}`;
  };

  const emit = (node, depth, role, name, rest) => {
    const description = `${role} ${quoted(name)}`;
    const id = numberOf(node, description);
    lines.push(`${indent(depth)}[${id}] ${description}${rest}`);
    if (node === active) focused = `[${id}] ${description}`;
    return id;
  };

  const overlaps = (box, view) => box.width > 0 && box.height > 0
    && box.left < view[2] && view[0] < box.right && box.top < view[3] && view[1] < box.bottom;

  // Returns the entry of an element whose children are visited next. `page` has what is common to the document.
  const entryBelow = (top, el, style) => ({
    el, list: null, at: 0, next: null, page: top.page, depth: top.depth, outerNames: top.outerNames, style, blocked: top.blocked,
    mute: top.mute, block: false, atomic: false, mark: null, ordinal: null,
    after: null, editor: top.editor,
  });

  const push = (entry, tag) => {
    const children = laidOutChildren(entry.el, tag, entry.page.owned);
    if (!children && !entry.mark && !entry.block && !entry.after) return false;
    if (Array.isArray(children)) entry.list = children;
    else entry.next = children;
    stack.push(current);
    current = entry;
    return true;
  };

  const enterDocument = (doc, depth, view, blocked) => {
    const root = doc.documentElement;
    if (!root) return;
    const dialogs = queryAllOfDocument(doc, 'dialog:modal');
    const page = {view, owned: movedElements(doc), modal: dialogs.length ? dialogs[dialogs.length - 1] : null};
    stack.push(current);
    current = entryBelow({page, depth, outerNames: '', blocked: blocked || dialogs.length > 0, mute: false, editor: false}, root, null);
    current.list = [root];
    current.block = true;
    breakLine();
  };

  const enterFrame = (el, box, depth, top) => {
    const style = styleOf(el);
    const scale = el.offsetWidth ? box.width / el.offsetWidth : 1;
    const left = box.left + (el.clientLeft + parseFloat(style.paddingLeft)) * scale;
    const above = box.top + (el.clientTop + parseFloat(style.paddingTop)) * scale;
    const width = el.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const height = el.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    const view = [
      Math.max(0, (top.page.view[0] - left) / scale), Math.max(0, (top.page.view[1] - above) / scale),
      Math.min(width, (top.page.view[2] - left) / scale), Math.min(height, (top.page.view[3] - above) / scale),
    ];
    if (viewport && (view[0] >= view[2] || view[1] >= view[3])) return;
    const doc = frameDocument(el);
    if (doc) enterDocument(doc, depth, view, top.blocked);
    else if (!top.blocked) {
      lines.push('\u0001' + frames.length);
      frames.push({id: numberOf(el), depth, view, focus: el === active});
    }
  };

  const listOptions = (select, id, depth, top) => {
    const inList = !isDropDown(select);
    let listed = 0, leftOut = 0;
    const list = (option, level) => {
      const style = styleOf(option);
      if (style.display === 'none' || (inList && viewport && !overlaps(rectOf(option), top.page.view))) return;
      if (listed >= maxOptions && !option.selected) { leftOut++; return; }
      listed++;
      const states = statesOf(option, 'option', 'option', active, urls);
      emit(option, level, 'option', nameOf(option, 'option', 'option'), states.map(state => ' ' + state).join(''));
    };
    for (let child = firstOf(select); child; child = nextOf(child)) {
      if (typeOf(child) !== ELEMENT) continue;
      if (tagOf(child) === 'option') list(child, depth);
      else if (tagOf(child) === 'optgroup') {
        if (styleOf(child).display === 'none') continue;
        emit(child, depth, 'group', nameOf(child, 'optgroup', 'group'), child.disabled ? ' disabled: True' : '');
        for (let inner = firstOf(child); inner; inner = nextOf(inner)) {
          if (typeOf(inner) === ELEMENT && tagOf(inner) === 'option') list(inner, depth + 1);
        }
      }
    }
    if (leftOut) lines.push(`${indent(depth)}… ${leftOut} more options; to choose one of them, type its text into [${id}]`);
  };

  const ordinalOf = (el, list) => {
    if (!list) return 1;
    const given = attr(el, 'value');
    if (list.ordinal === null) {
      const start = parseInt(attr(list.el, 'start'), 10);
      list.ordinal = (Number.isFinite(start) ? start : 1) - 1;
    }
    list.ordinal = given !== null && /^-?\d+$/.test(given.trim()) ? parseInt(given, 10) : list.ordinal + 1;
    return list.ordinal;
  };

  // Whether a text is left of the page while its element is not: pages draw an icon in its place.
  const isMovedAway = (box, top) => box.right < Math.min(0, top.page.view[0]) && overlaps(rectOf(top.el), top.page.view);

  const visitText = (node, top) => {
    const data = dataOf(node);
    if (BLANK.test(data)) {
      if (!top.style || !keepsSpaces(top.style)) spaced = true;
      return;
    }
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (viewport ? box.top >= top.page.view[3] || !(overlaps(box, top.page.view) || isMovedAway(box, top))
      : box.width === 0 && box.height === 0) {
      spaced = /[ \t\n\r\f]$/.test(data);
      tail = null;
      return;
    }
    if (!top.style) top.style = styleOf(top.el);
    const style = top.style;
    if (style.visibility !== 'visible') return;
    seen++;
    printText(node, top.editor ? data.replaceAll('\u00a0', ' ') : data, style, top, numbers);
  };

  // `of`: the ids by which the text is known.
  const printText = (node, data, style, top, of) => {
    let text = laidOutText(data, style);
    const keeps = keepsSpaces(style);
    if (!keeps && spaced && text[0] === ' ') text = text.slice(1);
    tail = null;
    spaced = !keeps && text.endsWith(' ');
    const bare = text.trim();
    if (top.blocked || top.mute || !bare || top.outerNames.includes(bare)) return;
    lines.push(textLine(node, top.depth, text, of));
    if (spaced) tail = {index: lines.length - 1, node, depth: top.depth, text, of};
  };

  const printInserted = (el, pseudo, {text, style}, top) => {
    seen++;
    const apart = style.display !== 'inline' || style.position === 'absolute' || style.position === 'fixed';
    if (apart) breakLine();
    if (isReadable(text)) printText(el, text, style, top, insertedNumbers[pseudo]);
    else { spaced = false; tail = null; }
    if (apart) breakLine();
  };

  const visitElement = (el, top) => {
    const tag = tagOf(el);
    if (SKIPPED.has(tag)) return;
    if (tag === 'br') { breakLine(); return; }
    if (top.page.owned && top.page.owned.has(el) && top.page.owned.get(el) !== top.el) return;
    const muted = attr(el, 'aria-hidden') === 'true' && tag !== 'body' && tag !== 'html'
      && !(active && active !== document.body && contains(el, active));
    const editor = muted && isEditorText(el);
    if (muted && !editor) return;
    if (has(el, 'inert') || isSpare(el, tag)) return;
    const ordinal = tag === 'li' ? ordinalOf(el, top) : 0;
    const box = rectOf(el);
    const view = top.page.view;
    if (viewport && box.top >= view[3]) { passBy(el, tag, top); return; }  // true for most elements of a large page
    const area = box.width > 0 && box.height > 0;
    let style = null;
    if (box.width === 0 && box.height === 0) {
      style = styleOf(el);
      if (style.display === 'none') return;
    }
    const shows = !viewport || overlaps(area || tag !== 'textarea' ? box : rectOf(seenFor(el, tag)), view);
    if (!shows && (area || LEAVES.has(tag) || tag === 'iframe' || tag === 'select')) { passBy(el, tag, top); return; }
    const context = entryBelow(top, el, style);
    context.editor ||= editor;
    const blocked = context.blocked = top.blocked && el !== top.page.modal;
    if (shows && area) seen++;
    style = context.style = style || styleOf(el);
    const display = style.display;
    const atomic = display.startsWith('inline-') || (display === 'inline' && (LEAVES.has(tag) || tag === 'iframe' || tag === 'svg'));
    if (atomic) { context.atomic = true; tail = null; spaced = true; }
    else if (display !== 'inline' && display !== 'contents') { breakLine(); context.block = true; }

    const visible = style.visibility === 'visible' && !blocked;
    let printed = false, id = 0;
    let role = visible ? roleOf(el, tag) : 'none';
    const scroll = visible && shows ? scrollStateOf(el, tag, style) : '';
    if (role === 'none' && (scroll || (visible && area && shows && isPointed(el, style) && isTextless(el, box)))) role = 'generic';
    if (role === 'generic' && isDraggable(el)) role = 'group';  // as in Chromium
    if (role !== 'none') {
      const states = statesOf(el, tag, role, active, urls);
      if (scroll) states.push(`scroll: ${scroll}`);
      const own = isEditingHost(el) || isDraggable(el);  // named although it has no role
      const name = role === 'generic' && !nameGiven(el) && !own && tag !== 'svg' ? '' : role === 'generic' && !own ? labelledBy(el) || ariaLabel(el) : nameOf(el, tag, role);
      const value = valueOf(el, tag, role, name);
      if (value !== null) states.push(`value: ${value}`);
      if (name || !(role === 'listitem' || (PLAIN_ROLES.has(role) && !states.length))) {
        id = emit(el, top.depth, role, name, states.map(state => ' ' + state).join(''));
        printed = true;
        context.depth++;
        if (name && (SAYS_CONTENT(role) || role === 'row' || own)) context.outerNames += '\n' + name;
        if (viewport && !area) context.mark = {line: lines.length - 1, seen};
      } else if (area && shows && isPointed(el, style) && isTextless(el, box)) {
        const moved = trimmed(contentText(el, tag, 0, el)) || trimmed(attr(el, 'title') || ''), hint = moved ? '' : classHint(el);
        emit(el, top.depth, role, moved, ` clickable: True${hint ? ' class: ' + quoted(hint) : ''}`);
        context.depth++;
        if (moved) context.outerNames += '\n' + moved;
      }
      if (tag === 'label' && isRedundantLabel(el)) context.mute = true;
    }
    if (visible && shows && display === 'list-item' && hasMarker(el, tag, role, style)) {
      const text = generated(el, '::marker') || marker(style.listStyleType, ordinal);
      if (text && showsMarker(box, style, top.page.view)) emit(el, context.depth, 'ListMarker', text, '');
    }
    if (tag === 'select') { if (printed) listOptions(el, id, context.depth, top); spaced = false; return; }
    if (tag === 'iframe') { if (visible) enterFrame(el, box, context.depth, {...top, blocked}); spaced = false; return; }
    if (LEAVES.has(tag)) { spaced = !context.atomic; return; }
    if (tag === 'svg' && role === 'image') { spaced = false; return; }
    if (style.contentVisibility === 'hidden') return;
    if (visible && tag !== 'svg') {
      const before = insertedText(el, '::before'), after = insertedText(el, '::after');
      if (before && (!viewport || showsInserted(box, style, '::before', view))) printInserted(el, '::before', before, context);
      if (after && (!viewport || showsInserted(box, style, '::after', view))) context.after = after;
    }
    if (tag === 'details' && !has(el, 'open')) { pushSummary(context); return; }
    if (!push(context, tag) && context.atomic) spaced = false;
  };

  // Handles an invisible element, whose children may still be in the viewport.
  const passBy = (el, tag, top) => {
    if (tag === 'iframe' || tag === 'select' || LEAVES.has(tag)) { breakLine(); return; }
    const entry = entryBelow(top, el, null);
    entry.blocked = top.blocked && el !== top.page.modal;
    if (!INLINE.has(tag)) { breakLine(); entry.block = true; }
    if (tag === 'details' && !has(el, 'open')) pushSummary(entry);
    else push(entry, tag);
  };

  // A closed <details> only shows its summary.
  const pushSummary = entry => {
    const summary = firstSummary(entry.el);
    entry.list = summary ? [summary] : [];
    stack.push(current);
    current = entry;
  };

  const hasMarker = (el, tag, role, style) => {
    if (tag === 'summary' || style.listStyleImage !== 'none') return false;
    return role === 'listitem' || !(has(el, 'role') || (tag === 'li' && has(flatParent(el), 'role')));
  };

  // A list item's marker is on its first line, to the left of it unless its position is inside.
  const showsMarker = (box, style, view) => {
    if (!viewport) return true;
    const height = parseFloat(style.lineHeight) || 1.2 * parseFloat(style.fontSize);
    const top = box.top + parseFloat(style.paddingTop);
    const outside = style.listStylePosition === 'outside' && style.direction === 'ltr';
    return top < view[3] && view[1] < top + height && (!outside || box.left - 8 > view[0]);
  };

  const leave = () => {
    const {mark, block, atomic, after} = current;
    if (after) printInserted(current.el, '::after', after, current);
    if (mark && seen === mark.seen) lines.length = mark.line;
    if (block) breakLine();
    else if (atomic) { breakLine(); spaced = false; }
    current = stack.pop();
  };

  const view = options.view || [0, 0, innerWidth, innerHeight];
  const title = document.title;
  if (options.root) {
    emit(document, 0, 'RootWebArea', title, ` focused: True${urls ? ` url: ${document.URL}` : ''}`);
  }
  enterDocument(document, options.depth, view, false);
  while (current) {
    let node;
    if (current.list) node = current.list[current.at++];
    else if ((node = current.next)) current.next = nextOf(node);
    if (!node) { leave(); continue; }
    const type = typeOf(node);
    if (type === TEXT) visitText(node, current);
    else if (type === ELEMENT) visitElement(node, current);
  }
  const page = document.scrollingElement || document.documentElement;
  return {
    pageScroll: page ? scrollOf(page, styleOf(page)) : '', text: lines.join('\n'), title, focused, frames, next: nextNumber,
    scroll: [scrollX, scrollY, innerHeight, page ? page.scrollHeight : 0, innerWidth],
  };
};

return {look, markup, boxes, noteListeners, innerRoots, usableOf, cornerOf, find, descriptionOf, known: node => numbers.get(node) ?? 0};
