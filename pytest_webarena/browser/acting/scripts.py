"""JavaScript that acts on one element. Each script takes a node and arguments, and changes only what it is asked to."""

from __future__ import annotations

from pytest_webarena.browser.acting.element_probes import AT_POINT, ELEMENT_OF, PLACE, RECORD
from pytest_webarena.browser.acting.fields import FIELD

__all__ = [
    "CHOOSE",
    "CHOOSE_FILES",
    "CHOSEN",
    "DOUBLE",
    "DRAW",
    "DROP",
    "FILE_FIELD",
    "FOCUS",
    "INSERT",
    "IS_CHECKED",
    "IS_DRAGGABLE",
    "SCROLL",
    "SELECT_BETWEEN",
    "SELECT_CONTENT",
    "SET_VALUE",
    "STOPS_MOVING",
    "WATCH_WHEEL",
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
const changed = (el, sign) => {
  announce(el, sign);
  for (const [kind, composed] of [['input', true], ['change', false]]) {
    el.dispatchEvent(new el.ownerDocument.defaultView.Event(kind, {bubbles: true, composed}));
  }
};
"""

# A browser presses the mouse button on a field before it gives it the focus. From that, pages know that the focus stays
# in what they have opened, or they open their own list instead.
_PRESS = (
    PLACE
    + """
const press = el => {
  const doc = el.ownerDocument, spots = [[.5, .5], [.25, .5], [.75, .5], [.5, .25], [.5, .75]];
  const find = () => {
    const {left, top, width, height} = el.getBoundingClientRect();
    const points = spots.map(([across, down]) => [left + width * across, top + height * down]);
    return points.find(([x, y]) => within(el, hitAt(doc, x, y)));
  };
  if (!find()) el.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const point = find();
  const [clientX, clientY] = point || [], options = {bubbles: true, cancelable: true, composed: true, clientX, clientY};
  const send = kind => !point || el.dispatchEvent(new doc.defaultView.MouseEvent(kind, options));
  if (el.getRootNode().activeElement === el) return !!point;
  if (send('mousedown')) el.focus();
  send('mouseup');
  return !!point;
};
"""
)

CHOOSE = (
    "(node, wanted, sign) => {"
    + RECORD
    + FIELD
    + _ANNOUNCE
    + _PRESS
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
  const record = {...recordOf(elementOf(node)), ...middleOf(elementOf(node))};
  const before = options.map(o => o.selected).join();
  const drawn = press(select);
  if (!select.isConnected) return {state: 'removed'};
  for (const o of options) o.selected = chosen.includes(o);
  if (options.map(o => o.selected).join() !== before) changed(select, sign);
  return {state: 'ok', record, drawn, chosen: chosen.map(o => plain(o.label))};
}"""
)
"""Chooses options of a ``<select>`` by label or value; ``null``: the option that the node is. Returns its record,
and whether the page draws the list itself."""

CHOSEN = (
    "node => {"
    + ELEMENT_OF
    + FIELD
    + r"""
  const el = fieldOf(elementOf(node)), select = el.localName === 'select' ? el : el.closest('select');
  return [...select.selectedOptions].map(o => o.label.replace(/\s+/g, ' ').trim());
}"""
)
"""Returns the labels of the options that are chosen in the list of `CHOOSE`."""

SET_VALUE = (
    "(node, value, sign) => {"
    + ELEMENT_OF
    + FIELD
    + _ANNOUNCE
    + _PRESS
    + r"""
  const field = fieldOf(elementOf(node)), view = field.ownerDocument.defaultView;
  const old = field.value, text = value.trim();
  const set = Object.getOwnPropertyDescriptor(view.HTMLInputElement.prototype, 'value').set;
  press(field);
  set.call(field, field.type === 'color' ? text.toLowerCase() : text);
  if (field.value.toLowerCase() !== text.toLowerCase()) { set.call(field, old); return false; }
  if (field.value !== old) changed(field, sign);
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
  const hasMore = el => down ? el.scrollHeight > el.clientHeight : el.scrollWidth > el.clientWidth;
  const scrolls = el => {
    const style = view.getComputedStyle(el);
    return hasMore(el) && /auto|scroll|overlay/.test(down ? style.overflowY : style.overflowX);
  };
  const move = el => {
    const before = [el.scrollLeft, el.scrollTop].join();
    const [width, height] = el === page ? [view.innerWidth, view.innerHeight] : [el.clientWidth, el.clientHeight];
    el.scrollBy({left: across * (pixels || width), top: down * (pixels || height), behavior: 'instant'});
    return [el.scrollLeft, el.scrollTop].join() !== before;
  };
  const chain = start => {
    const list = [];
    for (let el = start; el; el = el.parentElement || (el.getRootNode().host ?? null)) {
      if (el !== page && scrolls(el)) list.push(el);
    }
    return list;
  };
  const result = parts => parts.some(move) ? 'part' : parts.length || hasMore(page) ? 'end' : 'none';
  if (own) {
    const parts = chain(own);
    return parts.some(move) ? 'part' : move(page) ? 'page' : result(parts);
  }
  if (move(page)) return 'page';
  // The page itself does not move: many applications scroll a part of it. The one in the middle, else the largest.
  const middle = doc.elementFromPoint(view.innerWidth / 2, view.innerHeight / 2);
  const inside = middle ? chain(middle) : [];
  if (inside.length) return result(inside);
  const area = el => el.clientWidth * el.clientHeight;
  const parts = [...doc.querySelectorAll('div, main, section, article, ul, ol, pre, nav, aside')].filter(scrolls);
  return result(parts.sort((a, b) => area(b) - area(a)));
}"""
)
"""Scrolls the nearest scrollable part around the node, or the page, by pixels or screens.

Returns what moved, ``part`` or ``page``; ``end`` if it is at its end already, ``none`` if nothing scrolls.
"""

IS_DRAGGABLE = """node => (node.nodeType === 1 ? node : node.parentElement).closest('[draggable="true"]') !== null"""
"""Returns whether the browser drags the node, with drag events, instead of a script that follows the mouse."""

WATCH_WHEEL = (
    "(x, y) => {"
    + AT_POINT
    + """
  const [el, frames] = atPoint(x, y), notes = window[Symbol.for('pytest-webarena')];
  if (!el || !notes || el.matches('iframe, frame, embed, object')) return;
  const views = [window, ...frames.map(frame => frame.contentWindow)], events = [], kinds = ['scroll', 'wheel'];
  const add = event => events.push(event);
  const each = change => { for (const view of views) for (const kind of kinds) view[change](kind, add, true); };
  each('addEventListener');
  notes.wheel = () => {
    each('removeEventListener');
    delete notes.wheel;
    if (events.some(event => event.defaultPrevented)) return 'handled';
    return events.some(event => event.type === 'scroll') ? 'scrolled' : 'nothing';
  };
}"""
)
"""Watches what the mouse wheel does at a point, for `STOPS_MOVING`; called without a node."""

STOPS_MOVING = """() => new Promise(done => {
  let frame = 0, moved = 0;
  const move = () => { moved = frame; };
  const end = () => {
    clearTimeout(late);  // else it would be taken for a timer of the page's
    document.removeEventListener('scroll', move, true);
    const notes = window[Symbol.for('pytest-webarena')];
    done(notes && notes.wheel ? notes.wheel() : '');
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
"""Waits until nothing has scrolled for two frames, at most a second from the first one; called without a node.

Returns what `WATCH_WHEEL` saw: ``nothing``, ``scrolled``, or ``handled`` by the page's script; empty without a watch.
"""

DRAW = """() => new Promise(done => {
  const end = () => {
    clearTimeout(late);  // else it would be taken for a timer of the page's
    done();
  };
  const late = setTimeout(end, 200);  // a page that is not painted has no frames
  requestAnimationFrame(() => requestAnimationFrame(end));
})"""
"""Waits until the page has drawn what it has changed; called without a node."""

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

_FILES = r"""
const transferOf = (view, files) => {
  const transfer = new view.DataTransfer();
  for (const {name, type, content} of files) {
    const bytes = Uint8Array.from(atob(content), letter => letter.charCodeAt(0));
    transfer.items.add(new view.File([bytes], name, {type}));
  }
  return transfer;
};
"""

_FILE_FIELD = (
    RECORD
    + PLACE
    + FIELD
    + r"""
const fileFieldOf = given => {
  const isOne = el => el.localName === 'input' && el.type === 'file', own = fieldOf(given), found = [];
  if (isOne(own)) return own;
  const collect = root => {
    for (const el of root.querySelectorAll('*')) {
      if (isOne(el)) found.push(el);
      if (el.shadowRoot) collect(el.shadowRoot);
    }
  };
  collect(given);
  if (given.shadowRoot) collect(given.shadowRoot);
  return found.length === 1 ? found[0] : null;
};
"""
)

FILE_FIELD = (
    "node => {"
    + _FILE_FIELD
    + """
  const given = elementOf(node), field = fileFieldOf(given);
  if (!field) return null;
  const state = field.matches(':disabled') ? 'disabled' : field.webkitdirectory ? 'folder' : 'ready';
  return {state, several: field.multiple, record: {...recordOf(given), ...middleOf(given)}};
}"""
)
"""Returns the state of the file field that the node is or labels, or of the only one in it, whether it takes several
files, and the node's record; null if there is none."""

CHOOSE_FILES = (
    "(node, files, sign) => {"
    + _FILE_FIELD
    + _ANNOUNCE
    + _FILES
    + """
  const field = fileFieldOf(elementOf(node));
  field.files = transferOf(field.ownerDocument.defaultView, files).files;
  changed(field, sign);
}"""
)
"""Chooses files in the field of `FILE_FIELD`."""

DROP = (
    "(node, files) => {"
    + ELEMENT_OF
    + PLACE
    + _FILES
    + r"""
  const el = elementOf(node), doc = el.ownerDocument, view = doc.defaultView;
  const box = el.getBoundingClientRect();
  const [clientX, clientY] = [box.left + box.width / 2, box.top + box.height / 2];
  const hit = hitAt(doc, clientX, clientY), zone = hit && within(el, hit) ? hit : el;
  const dataTransfer = transferOf(view, files);
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
