"""JavaScript that runs on one element: each takes a node and an argument, changes nothing it is not asked to change."""

from __future__ import annotations

__all__ = [
    "CHOOSE",
    "DESCRIBE",
    "ELEMENT_OF",
    "FOCUS",
    "FOCUSED",
    "IS_CHECKED",
    "IS_HIDDEN_FILE_FIELD",
    "POINT_TARGET",
    "PREPARE",
    "RECORD",
    "SCROLL",
    "SELECT_BETWEEN",
    "SELECT_CONTENT",
    "SET_VALUE",
    "THROUGH_FRAME",
    "TWO_FRAMES",
]

ELEMENT_OF = """
const elementOf = node =>
  node.nodeType === 1 ? node : node.nodeType === 9 ? node.documentElement
    : node.parentElement || node.getRootNode().host;
"""

# Who an element is, so that another run can find it again. Never the value of a field: it may be a password.
RECORD = (
    ELEMENT_OF
    + r"""
const squeeze = (text, length) => (text || '').replace(/\s+/g, ' ').trim().slice(0, length);
const selectorOf = el => {
  const root = el.getRootNode();
  const unique = selector => { try { return root.querySelectorAll(selector).length === 1; } catch { return false; } };
  const path = [];
  for (let n = el; n && n.nodeType === 1; n = n.parentElement) {
    const tag = CSS.escape(n.localName);
    if (n.id && unique('#' + CSS.escape(n.id))) { path.unshift('#' + CSS.escape(n.id)); break; }
    const named = ['data-testid', 'name', 'aria-label', 'placeholder', 'href']
      .filter(a => n.getAttribute(a) && n.getAttribute(a).length < 100)
      .map(a => `${tag}[${a}=${JSON.stringify(n.getAttribute(a))}]`).find(unique);
    if (named) { path.unshift(named); break; }
    const twins = n.parentElement ? [...n.parentElement.children].filter(c => c.localName === n.localName) : [n];
    path.unshift(twins.length > 1 ? `${tag}:nth-of-type(${twins.indexOf(n) + 1})` : tag);
  }
  return path.join(' > ');
};
const roleOf = el => {
  const given = (el.getAttribute('role') || '').trim().split(/\s+/)[0];
  if (given) return given;
  const tag = el.localName, type = (el.type || '').toLowerCase();
  if (tag === 'a') return el.hasAttribute('href') ? 'link' : 'generic';
  if (tag === 'input') {
    return {button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox', radio: 'radio',
            range: 'slider', number: 'spinbutton', search: 'searchbox'}[type] || 'textbox';
  }
  if (tag === 'select') return el.multiple || el.size > 1 ? 'listbox' : 'combobox';
  if (/^h[1-6]$/.test(tag)) return 'heading';
  return {button: 'button', textarea: 'textbox', img: 'img', option: 'option', li: 'listitem', td: 'cell',
          th: 'columnheader', p: 'paragraph', form: 'form', nav: 'navigation', main: 'main', table: 'table', tr: 'row',
          ul: 'list', ol: 'list', iframe: 'Iframe', summary: 'DisclosureTriangle', dialog: 'dialog',
          label: 'LabelText'}[tag] || 'generic';
};
// What a label says of `el`, as `dom_elements.js` reads it.
const styleOf = node => (node.ownerDocument.defaultView || window).getComputedStyle(node);
const saidFor = (el, label, shown) => [...label.childNodes].map(child => {
  if (child.nodeType === 3) return child.data;
  if (child.nodeType !== 1) return '';
  if (child === el || ['input', 'textarea'].includes(child.localName)) return ' ';
  const {display, visibility} = styleOf(child), tag = child.localName;
  if (display === 'none' || (shown && visibility !== 'visible')) return '';
  if (child.getAttribute('aria-hidden') === 'true') return '';
  const said = tag === 'select' ? [...child.selectedOptions].map(option => option.label).join(' ')
    : child.getAttribute('aria-label') || (tag === 'img' && child.getAttribute('alt')) || saidFor(el, child, shown);
  return display !== 'inline' || tag === 'br' ? ` ${said} ` : said;
}).join('');
const nameOf = el => {
  const root = el.getRootNode();
  const whole = label => saidFor(el, label, styleOf(label).visibility === 'visible');
  const labelled = all => all.map(label => squeeze(whole(label), 200)).join(' ');
  const by = labelled((el.getAttribute('aria-labelledby') || '').split(/\s+/).filter(Boolean)
    .map(id => root.getElementById ? root.getElementById(id) : null).filter(Boolean));
  const label = el.labels && el.labels.length ? labelled([...el.labels]) : '';
  const button = el.localName === 'input' && ['submit', 'button', 'reset'].includes(el.type) ? el.value : '';
  const inner = ['input', 'select', 'textarea', 'iframe'].includes(el.localName) ? '' : el.innerText || el.textContent;
  return squeeze(by || el.getAttribute('aria-label') || label || button || el.getAttribute('alt') || inner
                 || el.getAttribute('title') || el.getAttribute('placeholder'), 200);
};
const recordOf = el => ({
  selector: selectorOf(el), role: roleOf(el), name: nameOf(el), tag: el.localName,
  text: ['input', 'textarea', 'select'].includes(el.localName) ? '' : squeeze(el.innerText, 200),
});
// What it and the rows around it read, all that is in them: whether that can be seen may be another matter by then.
const own = (of, name) => Object.getOwnPropertyDescriptor(of.prototype, name).get;
const readsOf = el => {
  if (el.getRootNode() !== el.ownerDocument) return [];
  // Not as properties: in their place may be fields of a form that are called so.
  const [above, textIn] = [own(Node, 'parentElement'), own(Node, 'textContent')];
  const [inside, tagIs] = [own(Element, 'children'), own(Element, 'localName')];
  const found = [], read = n => squeeze(textIn.call(n), 201), short = text => text.length > 200 ? '' : text;
  for (let n = el; n; n = above.call(n)) {
    const tag = tagIs.call(n), parent = above.call(n);
    const kin = parent ? [...inside.call(parent)].filter(c => tagIs.call(c) === tag) : [n];
    if (n !== el && kin.length < 2) continue;
    const text = short(read(n)), unlike = said => said.replace(/\d+/g, '#');
    const numbered = /\d/.test(text) && kin.slice(0, 100).some(c => c !== n && unlike(read(c)) === unlike(text));
    found.push([tag, text, ...(numbered ? ['numbers'] : [])]);
  }
  return found;
};
"""
)

# Geometry: where an element can be hit, and what would be hit there.
_PLACE = r"""
const within = (outer, node) => {
  for (let n = node; n; n = n.parentNode || n.host) if (n === outer) return true;
  return false;
};
const hitAt = (doc, x, y) => {
  let hit = doc.elementFromPoint(x, y);
  while (hit && hit.shadowRoot) {
    const inner = hit.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
};
const rectsOf = node => {
  const real = list => [...list].filter(r => r.width > 0 && r.height > 0);
  if (node.nodeType === 1) {
    const rects = real(node.getClientRects());
    if (rects.length) return rects;
  }
  const range = node.ownerDocument.createRange();
  range.selectNodeContents(node);
  return real(range.getClientRects());
};
const reaches = (el, hit) => {
  if (!hit) return false;
  if (within(el, hit)) return true;
  if (within(hit, el)) return hit !== hit.ownerDocument.body && hit !== hit.ownerDocument.documentElement;
  const label = hit.closest ? hit.closest('label') : null;
  return !!label && (label.control === el || within(label, el));
};
"""

PREPARE = (
    "async (node, purpose) => {"
    + RECORD
    + _PLACE
    + r"""
  if (!node.isConnected) return {state: 'gone'};
  const el = elementOf(node), doc = el.ownerDocument, view = doc.defaultView;
  const record = {...recordOf(el), reads: readsOf(el)};
  const special = ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range', 'file'];
  const kind = el.localName === 'select' ? 'select'
    : el.localName === 'input' && special.includes(el.type) ? el.type : '';
  const answer = (state, more) => ({state, kind, record, ...more});
  const brief = el => el && {role: roleOf(el), name: nameOf(el).slice(0, 60), tag: el.localName};
  if (purpose !== 'hover' && el.matches(':disabled')) return answer('disabled');
  if (purpose === 'type' && el.readOnly) return answer('readonly');
  if (el.localName === 'option') {
    const select = el.closest('select');
    if (select && !select.multiple && select.size < 2) return answer('option');
  }
  const running = doc.getAnimations ? doc.getAnimations().filter(a => {
    const target = a.effect && a.effect.target;
    return a.playState === 'running' && target && within(target, el)
      && Number.isFinite(a.effect.getComputedTiming().endTime);
  }) : [];
  if (running.length) {
    await Promise.race([Promise.allSettled(running.map(a => a.finished)), new Promise(done => setTimeout(done, 500))]);
  }
  // A control that is drawn by its label (hidden checkbox, styled label) is operated through it.
  let shown = node.nodeType === 9 ? el : node;
  if (!rectsOf(shown).length && el.labels) shown = [...el.labels].find(l => rectsOf(l).length) || shown;
  if (!rectsOf(shown).length) return answer('hidden');
  const whole = shown.nodeType === 1 ? shown : el;
  const points = () => {
    const found = [];
    for (const r of rectsOf(shown)) {
      const left = Math.max(r.left, 0), top = Math.max(r.top, 0);
      const right = Math.min(r.right, view.innerWidth), bottom = Math.min(r.bottom, view.innerHeight);
      if (right - left < 0.5 || bottom - top < 0.5) continue;
      for (const [fx, fy] of [[.5, .5], [.25, .5], [.75, .5], [.5, .25], [.5, .75]]) {
        found.push([left + (right - left) * fx, top + (bottom - top) * fy]);
      }
    }
    return found;
  };
  const pick = all => all.find(([x, y]) => reaches(whole, hitAt(doc, x, y)) || reaches(el, hitAt(doc, x, y)));
  const centred = () => {
    const all = points();
    return all.length && pick(all.slice(0, 1));
  };
  let point = centred();
  if (!point) {
    whole.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    const all = points();
    if (!all.length) return answer('outside');
    point = pick(all);
    if (!point) {
      return answer('covered', {cover: brief(hitAt(doc, ...all[0]))});
    }
  }
  let [x, y] = point;
  for (let w = view; w !== w.parent; w = w.parent) {
    const frame = w.frameElement;
    if (!frame) return answer('foreign', {x, y});
    const box = frame.getBoundingClientRect(), style = frame.ownerDocument.defaultView.getComputedStyle(frame);
    x += box.left + frame.clientLeft + parseFloat(style.paddingLeft);
    y += box.top + frame.clientTop + parseFloat(style.paddingTop);
    if (hitAt(frame.ownerDocument, x, y) !== frame) {
      frame.scrollIntoView({block: 'nearest', behavior: 'instant'});
      const cover = hitAt(frame.ownerDocument, x, y);
      if (cover !== frame) return answer('covered', {cover: brief(cover)});
    }
  }
  return answer('ready', {x, y});
}"""
)
"""How to hit an element: scrolls it into view if it must, finds a point where it would be hit, says who it is."""

THROUGH_FRAME = (
    "(frame, inside) => {"
    + RECORD
    + _PLACE
    + r"""
  const brief = el => el && {role: roleOf(el), name: nameOf(el).slice(0, 60), tag: el.localName};
  const covered = (doc, x, y, wanted) => {
    const hit = hitAt(doc, x, y);
    return hit === wanted ? null : {state: 'covered', cover: brief(hit)};
  };
  const inner = el => {
    const style = el.ownerDocument.defaultView.getComputedStyle(el);
    return [el.clientLeft + parseFloat(style.paddingLeft), el.clientTop + parseFloat(style.paddingTop)];
  };
  let {x, y} = inside;
  for (let el = frame; el; el = el.ownerDocument.defaultView.frameElement) {
    let box = el.getBoundingClientRect();
    const [left, top] = inner(el), view = el.ownerDocument.defaultView;
    if (box.left + left + x < 0 || box.top + top + y < 0
        || box.left + left + x >= view.innerWidth || box.top + top + y >= view.innerHeight) {
      view.scrollBy({left: box.left + left + x - view.innerWidth / 2, top: box.top + top + y - view.innerHeight / 2,
                     behavior: 'instant'});
      box = el.getBoundingClientRect();
    }
    x += box.left + left;
    y += box.top + top;
    const bad = covered(el.ownerDocument, x, y, el);
    if (bad) return bad;
    if (view !== view.parent && !view.frameElement) return {state: 'foreign', x, y};
  }
  return {state: 'ready', x, y};
}"""
)
"""From a point inside an iframe to the same point of the page around it, which it scrolls there if it must."""

DESCRIBE = (
    "node => {"
    + RECORD
    + """
  const el = elementOf(node), box = el.getBoundingClientRect();
  return {...recordOf(el), x: box.left + box.width / 2, y: box.top + box.height / 2};
}"""
)
"""The record of an element."""

POINT_TARGET = (
    "(x, y) => {"
    + RECORD
    + _PLACE
    + """
  let el = hitAt(document, x, y), left = 0, top = 0, way = '';
  while (el && ['iframe', 'frame'].includes(el.localName) && el.contentDocument) {
    const box = el.getBoundingClientRect();
    const [inX, inY] = [left + box.left + el.clientLeft, top + box.top + el.clientTop];
    const inner = hitAt(el.contentDocument, x - inX, y - inY);
    if (!inner || inner === el.contentDocument.documentElement) break;
    way += `${selectorOf(el)} >> internal:control=enter-frame >> css=`;
    [el, left, top] = [inner, inX, inY];
  }
  if (!el) return null;
  const record = recordOf(el);
  return {...record, selector: way + record.selector, reads: readsOf(el), x, y};
}"""
)
"""The record of what is at a point, in frames of the same site as well: its selector leads into them; no node to call
it on."""

DOUBLE = (
    "(x, y) => {"
    + _PLACE
    + """
  const el = hitAt(document, x, y);
  const event = {bubbles: true, cancelable: true, composed: true, detail: 2, clientX: x, clientY: y};
  if (el) el.dispatchEvent(new el.ownerDocument.defaultView.MouseEvent('dblclick', event));
}"""
)
"""Tell what is at a point of a double click; no node."""

# Changes by script are no trusted events. `sign` is what `DomEvents.sign` gave, for the listener to believe this one.
_ANNOUNCE = """
const announce = (el, sign) => {
  const detail = sign && {detail: sign[1], bubbles: true, composed: true};
  if (sign) el.dispatchEvent(new CustomEvent(sign[0], detail));
};
"""

CHOOSE = (
    "(node, wanted, sign) => {"
    + ELEMENT_OF
    + _ANNOUNCE
    + r"""
  const el = elementOf(node), select = el.localName === 'select' ? el : el.closest('select');
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
"""Choose options of a ``<select>`` by label or value; ``null``: the option that the node is."""

SET_VALUE = (
    "(node, value, sign) => {"
    + _ANNOUNCE
    + r"""
  const view = node.ownerDocument.defaultView, old = node.value, text = value.trim();
  const set = Object.getOwnPropertyDescriptor(view.HTMLInputElement.prototype, 'value').set;
  node.focus();
  set.call(node, node.type === 'color' ? text.toLowerCase() : text);
  if (node.value.toLowerCase() !== text.toLowerCase()) { set.call(node, old); return false; }
  if (node.value !== old) {
    announce(node, sign);
    node.dispatchEvent(new view.Event('input', {bubbles: true, composed: true}));
    node.dispatchEvent(new view.Event('change', {bubbles: true}));
  }
  return true;
}"""
)
"""Give a date, colour or range field a value; false when it does not take it."""

SELECT_CONTENT = """node => {
  let active = node.ownerDocument.activeElement;
  while (active && active.shadowRoot && active.shadowRoot.activeElement) active = active.shadowRoot.activeElement;
  if (!active) return false;
  if (typeof active.select === 'function') { active.select(); return active.value !== ''; }
  if (active.isContentEditable) {
    active.ownerDocument.getSelection().selectAllChildren(active);
    return active.textContent !== '';
  }
  return false;
}"""
"""Select everything in the field that has the focus; whether there is anything."""

SELECT_BETWEEN = """(node, before, after) => {
  const active = node.getRootNode().activeElement, value = active && active.value;
  if (typeof value !== 'string' || typeof active.selectionStart !== 'number') return false;
  if (value.length < before.length + after.length || !value.startsWith(before) || !value.endsWith(after)) return false;
  active.setSelectionRange(before.length, value.length - after.length);
  return true;
}"""
"""Select what the field with the focus holds between two texts; whether it does."""

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
"""Put text where the cursor is, as if typed; false where that can't be done from here. No node."""

IS_CHECKED = (
    "node => {"
    + ELEMENT_OF
    + """
  let el = elementOf(node);
  if (el.localName === 'label' && el.control) el = el.control;
  if (el.localName === 'input' && ['checkbox', 'radio'].includes(el.type)) return [el.type, el.checked];
  const role = el.getAttribute('role') || '';
  if (['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio'].includes(role)) {
    return [role.includes('radio') ? 'radio' : 'checkbox', el.getAttribute('aria-checked') === 'true'];
  }
  return null;
}"""
)
"""Kind and state of a checkbox or radio button; null for anything else."""

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
"""Scroll by pixels or screens: the nearest scrollable part around the node, or the page; whether anything moved."""

IS_HIDDEN_FILE_FIELD = """node => node.localName === 'input' && node.type === 'file' && !node.getClientRects().length"""
"""Whether it is a file field that takes no room on the page."""

IS_DRAGGABLE = """node => (node.nodeType === 1 ? node : node.parentElement).closest('[draggable="true"]') !== null"""
"""Whether it is dragged by the browser, with drag events, not by a script that follows the mouse."""

TWO_FRAMES = """() => new Promise(done => {
  requestAnimationFrame(() => requestAnimationFrame(done));
  setTimeout(done, 100);  // a page that is not painted has no frames
})"""
"""Wait until two frames were painted; no node."""

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
"""Give the focus to an element that has it not, without a click; whether it has it then."""

FOCUSED = (
    "() => {\n  const describe = "
    + DESCRIBE
    + """;
  let el = document.activeElement;
  while (el && el.shadowRoot && el.shadowRoot.activeElement) el = el.shadowRoot.activeElement;
  return el && el !== document.body && !['iframe', 'frame', 'html'].includes(el.localName) ? describe(el) : null;
}"""
)
"""The record of what the keyboard writes in; null where that is in another document, or nothing. No node."""
