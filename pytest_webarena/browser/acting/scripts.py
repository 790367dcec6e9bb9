"""JavaScript that acts on one element. Each script takes a node and arguments, and changes only what it is asked to."""

from __future__ import annotations

from pytest_webarena.browser.acting.element_probes import ELEMENT_OF, PLACE, RECORD
from pytest_webarena.browser.acting.fields import FIELD

__all__ = [
    "CHOOSE",
    "CURSOR_TO_END",
    "DOUBLE",
    "DROP",
    "FOCUS",
    "INSERT",
    "IS_CHECKED",
    "IS_DRAGGABLE",
    "IS_HIDDEN_FILE_FIELD",
    "SCROLL",
    "SELECT_BETWEEN",
    "SELECT_CONTENT",
    "SET_VALUE",
    "STOPS_MOVING",
]

DOUBLE = (
    "(x, y) => {"
    + PLACE
    + """
  const el = hitAt(document, x, y);
  const event = {bubbles: true, cancelable: true, composed: true, detail: 2, clientX: x, clientY: y};
  if (el) el.dispatchEvent(new el.ownerDocument.defaultView.MouseEvent('dblclick', event));
}"""
)
"""Sends a double click to the element at a point; called without a node."""

# Changes by script are not trusted events. `sign` is from `DomEvents.new_token` and makes the listener accept this one.
_ANNOUNCE = """
const announce = (el, sign) => {
  const detail = sign && {detail: sign[1], bubbles: true, composed: true};
  if (sign) el.dispatchEvent(new CustomEvent(sign[0], detail));
};
"""

CHOOSE = (
    "(node, wanted, sign) => {"
    + ELEMENT_OF
    + FIELD
    + _ANNOUNCE
    + r"""
  const el = fieldOf(elementOf(node)), select = el.localName === 'select' ? el : el.closest('select');
  if (!select) return {state: 'no-select'};
  const plain = text => text.replace(/\s+/g, ' ').trim();
  const options = [...select.options];
  const chosen = wanted === null ? [el.closest('option')] : wanted.map(w =>
    options.find(o => plain(o.label) === plain(w)) || options.find(o => o.value === w)
    || options.find(o => plain(o.label).toLowerCase() === plain(w).toLowerCase()));
  if (chosen.includes(undefined)) {
    return {state: 'no-option', missing: wanted[chosen.indexOf(undefined)], options: options.map(o => plain(o.label))};
  }
  if (select.matches(':disabled') || chosen.some(o => o.matches(':disabled'))) return {state: 'disabled'};
  if (chosen.length > 1 && !select.multiple) return {state: 'single'};
  const before = options.map(o => o.selected).join();
  select.focus();
  for (const o of options) o.selected = chosen.includes(o);
  if (options.map(o => o.selected).join() !== before) {
    announce(select, sign);
    select.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
    select.dispatchEvent(new Event('change', {bubbles: true}));
  }
  return {state: 'ok', chosen: chosen.map(o => plain(o.label))};
}"""
)
"""Chooses options of a ``<select>`` by label or value; ``null``: the option that the node is."""

SET_VALUE = (
    "(node, value, sign) => {"
    + ELEMENT_OF
    + FIELD
    + _ANNOUNCE
    + r"""
  const field = fieldOf(elementOf(node)), view = field.ownerDocument.defaultView;
  const old = field.value, text = value.trim();
  const set = Object.getOwnPropertyDescriptor(view.HTMLInputElement.prototype, 'value').set;
  field.focus();
  set.call(field, field.type === 'color' ? text.toLowerCase() : text);
  if (field.value.toLowerCase() !== text.toLowerCase()) { set.call(field, old); return false; }
  if (field.value !== old) {
    announce(field, sign);
    field.dispatchEvent(new view.Event('input', {bubbles: true, composed: true}));
    field.dispatchEvent(new view.Event('change', {bubbles: true}));
  }
  return true;
}"""
)
"""Sets the date, colour or range field that the node is or labels; returns false if it does not accept the value."""

SELECT_CONTENT = (
    "node => {"
    + FIELD
    + """
  let active = node.ownerDocument.activeElement;
  while (active && active.shadowRoot && active.shadowRoot.activeElement) active = active.shadowRoot.activeElement;
  if (!active) return false;
  if (typeof active.select === 'function') { active.select(); return active.value !== ''; }
  if (active.isContentEditable) {
    if (isEmpty(active)) return false;
    active.ownerDocument.getSelection().selectAllChildren(active);
    return true;
  }
  return false;
}"""
)
"""Selects everything in the focused field; returns whether there is anything."""

SELECT_BETWEEN = """(node, before, after) => {
  const active = node.getRootNode().activeElement, value = active && active.value;
  if (typeof value !== 'string' || typeof active.selectionStart !== 'number') return false;
  if (value.length < before.length + after.length || !value.startsWith(before) || !value.endsWith(after)) return false;
  active.setSelectionRange(before.length, value.length - after.length);
  return true;
}"""
"""Selects the text between two texts in the focused field; returns whether the field has both."""

CURSOR_TO_END = (
    "(node, x, y) => {"
    + ELEMENT_OF
    + FIELD
    + r"""
  let el = fieldOf(elementOf(node));
  while (el.parentElement && el.parentElement.isContentEditable) el = el.parentElement;
  if (!el.isContentEditable) {
    const doc = el.ownerDocument, isTop = doc.defaultView === doc.defaultView.parent;
    const clicked = isTop && doc.caretPositionFromPoint && doc.caretPositionFromPoint(x, y);
    if (clicked && clicked.offsetNode === el && clicked.offset !== el.selectionStart) return;  // as masks do
    try { el.setSelectionRange(el.value.length, el.value.length); } catch { /* it has no cursor */ }
    return;
  }
  const last = parent => [...parent.childNodes].reverse().find(n =>
    n.nodeType === 3 ? !isBlank(n.data) : n.nodeType === 1 && n.isContentEditable);
  const hasText = parent => [...parent.childNodes].some(n =>
    n.nodeType === 3 ? !isBlank(n.data) : n.nodeType === 1 && n.isContentEditable && hasText(n));
  const selection = el.ownerDocument.getSelection();
  const isEmptyFor = anchor => el.contains(anchor) && !el.querySelector(MEDIA) && !hasText(el);
  if (isEmptyFor(selection.anchorNode)) return;  // its script may have put the cursor into a chosen format
  let end = el;
  while (last(end)) end = last(end);
  const style = () => end.ownerDocument.defaultView.getComputedStyle(end.parentNode);
  const kept = () => /^(pre|break-spaces)/.test(style().whiteSpace);
  if (end.nodeType === 3) selection.collapse(end, (kept() ? end.data : end.data.replace(/[ \t\r\n\f]+$/, '')).length);
  else if (end.matches(`br, ${MEDIA}`)) {
    const index = [...end.parentNode.childNodes].indexOf(end);
    selection.collapse(end.parentNode, end.localName === 'br' ? index : index + 1);
  }
  else selection.selectAllChildren(end), selection.collapseToEnd();
}"""
)
"""Puts the cursor of the focused field that the node is or labels after the field's content; of an editor if the node
is in one. An editor without content keeps its cursor, and so does a field whose script has put it elsewhere than the
click at ``x`` and ``y``."""

INSERT = """text => {
  let active = document.activeElement;
  for (let inner = active; inner;) {
    active = inner;
    inner = active.shadowRoot ? active.shadowRoot.activeElement : null;
    if (active.localName === 'iframe') {
      try { inner = active.contentDocument.activeElement; } catch { return false; }
    }
  }
  return !!active && active.ownerDocument.execCommand('insertText', false, text);
}"""
"""Inserts text at the cursor like typed text; returns false if that is not possible. Called without a node."""

IS_CHECKED = (
    "node => {"
    + ELEMENT_OF
    + """
  let el = elementOf(node);
  const label = el.closest('label');
  if (el.localName !== 'input' && label && label.control) el = label.control;
  if (el.localName === 'input' && ['checkbox', 'radio'].includes(el.type)) return [el.type, el.checked];
  const role = el.getAttribute('role') || '';
  if (['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio'].includes(role)) {
    return [role.includes('radio') ? 'radio' : 'checkbox', el.getAttribute('aria-checked') === 'true'];
  }
  return null;
}"""
)
"""Returns kind and state of a checkbox or radio button; null for anything else."""

SCROLL = (
    "(node, across, down, pixels) => {"
    + ELEMENT_OF
    + r"""
  const own = node && elementOf(node), doc = own ? own.ownerDocument : document, view = doc.defaultView;
  const page = doc.scrollingElement || doc.documentElement;
  const scrolls = el => {
    if (el === page) return true;
    const style = view.getComputedStyle(el);
    const axis = down ? style.overflowY : style.overflowX;
    const more = down ? el.scrollHeight > el.clientHeight : el.scrollWidth > el.clientWidth;
    return more && /auto|scroll|overlay/.test(axis);
  };
  const move = el => {
    const before = [el.scrollLeft, el.scrollTop].join();
    const [width, height] = el === page ? [view.innerWidth, view.innerHeight] : [el.clientWidth, el.clientHeight];
    el.scrollBy({left: across * (pixels || width), top: down * (pixels || height), behavior: 'instant'});
    return [el.scrollLeft, el.scrollTop].join() !== before;
  };
  const chain = start => {
    const list = [];
    for (let el = start; el; el = el.parentElement || (el.getRootNode().host ?? null)) if (scrolls(el)) list.push(el);
    return list;
  };
  if (own) return chain(own).some(move);
  if (move(page)) return true;
  // The page itself does not move: many applications scroll a part of it. The one in the middle, else the largest.
  const middle = doc.elementFromPoint(view.innerWidth / 2, view.innerHeight / 2);
  const inside = middle ? chain(middle).filter(el => el !== page) : [];
  if (inside.length) return inside.some(move);
  const area = el => el.clientWidth * el.clientHeight;
  const parts = [...doc.querySelectorAll('div, main, section, article, ul, ol, pre, nav, aside')].filter(scrolls);
  return parts.sort((a, b) => area(b) - area(a)).some(move);
}"""
)
"""Scrolls the nearest scrollable part around the node, or the page, by pixels or screens; returns whether it moved."""

IS_HIDDEN_FILE_FIELD = """node => node.localName === 'input' && node.type === 'file' && !node.getClientRects().length"""
"""Returns whether the node is a file field without a box on the page."""

IS_DRAGGABLE = """node => (node.nodeType === 1 ? node : node.parentElement).closest('[draggable="true"]') !== null"""
"""Returns whether the browser drags the node, with drag events, instead of a script that follows the mouse."""

STOPS_MOVING = """() => new Promise(done => {
  let frame = 0, moved = 0;
  const move = () => { moved = frame; };
  const end = () => {
    clearTimeout(late);  // else it would be taken for a timer of the page's
    document.removeEventListener('scroll', move, true);
    done();
  };
  let late = setTimeout(end, 2000);  // a page that is not painted has no frames
  const look = () => {
    if (!frame++) {
      clearTimeout(late);
      late = setTimeout(end, 1000);  // a page may scroll without end
    }
    if (frame - moved > 2) end(); else requestAnimationFrame(look);
  };
  document.addEventListener('scroll', move, true);
  requestAnimationFrame(look);
})"""
"""Waits until nothing has scrolled for two frames, at most a second from the first one; called without a node."""

FOCUS = (
    "node => {"
    + RECORD
    + """
  let el = elementOf(node);
  while (el.isContentEditable && el.parentElement && el.parentElement.isContentEditable) el = el.parentElement;
  const has = () => el.getRootNode().activeElement === el;
  if (!has() || !el.ownerDocument.hasFocus()) el.focus();
  const kind = el.localName === 'select' ? 'select' : el.localName === 'input' ? el.type : '';
  return {record: recordOf(el), kind, has: has()};
}"""
)
"""Gives an element the focus without a click; returns its record, kind, and whether it has the focus."""

DROP = (
    "(node, files) => {"
    + ELEMENT_OF
    + PLACE
    + r"""
  const el = elementOf(node), doc = el.ownerDocument, view = doc.defaultView;
  const box = el.getBoundingClientRect();
  const [clientX, clientY] = [box.left + box.width / 2, box.top + box.height / 2];
  const hit = hitAt(doc, clientX, clientY), zone = hit && within(el, hit) ? hit : el;
  const dataTransfer = new view.DataTransfer();
  for (const {name, type, content} of files) {
    const bytes = Uint8Array.from(atob(content), letter => letter.charCodeAt(0));
    dataTransfer.items.add(new view.File([bytes], name, {type}));
  }
  const send = kind => !zone.dispatchEvent(new view.DragEvent(kind, {
    bubbles: true, cancelable: true, composed: true, clientX, clientY, dataTransfer,
  }));
  send('dragenter');
  const accepts = send('dragover');
  send(accepts ? 'drop' : 'dragleave');
  return accepts;
}"""
)
"""Drops files onto an element, if the page accepts files there as a browser requires it; returns whether it does."""
