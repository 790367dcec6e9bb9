"""JavaScript that examines one element: identity, text, position. It may scroll the element into view."""

from __future__ import annotations

from pytest_webarena.browser.acting.fields import FIELD
from pytest_webarena.browser.acting.focusing import TAKE_FOCUS

__all__ = [
    "AT_POINT",
    "DESCRIBE",
    "ELEMENT_OF",
    "FOCUSED",
    "FOCUS_FOR_KEYS",
    "PLACE",
    "POINT_TARGET",
    "PREPARE",
    "RECORD",
    "THROUGH_FRAME",
]

ELEMENT_OF = """
const elementOf = node =>
  node.nodeType === 1 ? node : node.nodeType === 9 ? node.documentElement
    : node.parentElement || node.getRootNode().host;
"""

# Identifies an element, so that another run can find it again. It never contains a field's value, which may be secret.
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
const labelText = (el, label, shown) => [...label.childNodes].map(child => {
  if (child.nodeType === 3) return child.data;
  if (child.nodeType !== 1) return '';
  if (child === el || ['input', 'textarea'].includes(child.localName)) return ' ';
  const {display, visibility} = styleOf(child), tag = child.localName;
  if (display === 'none' || (shown && visibility !== 'visible')) return '';
  if (child.getAttribute('aria-hidden') === 'true') return '';
  const text = tag === 'select' ? [...child.selectedOptions].map(option => option.label).join(' ')
    : child.getAttribute('aria-label') || (tag === 'img' && child.getAttribute('alt')) || labelText(el, child, shown);
  return display !== 'inline' || tag === 'br' ? ` ${text} ` : text;
}).join('');
const nameOf = el => {
  const root = el.getRootNode();
  const whole = label => labelText(el, label, styleOf(label).visibility === 'visible');
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
    const text = short(read(n)), unlike = value => value.replace(/\d+/g, '#');
    const numbered = /\d/.test(text) && kin.slice(0, 100).some(c => c !== n && unlike(read(c)) === unlike(text));
    found.push([tag, text, ...(numbered ? ['numbers'] : [])]);
  }
  return found;
};
"""
)

# Geometry: where an element can be hit, and which element would be hit there.
PLACE = r"""
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
  const inside = real(range.getClientRects());
  return inside.length || !node.shadowRoot ? inside : [...node.shadowRoot.children].flatMap(rectsOf);
};
const middleOf = el => {
  const box = el.getBoundingClientRect();
  let [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  for (let w = el.ownerDocument.defaultView; w !== w.parent; w = w.parent) {
    const frame = w.frameElement;
    if (!frame) return {};  // inside a frame of another site
    const around = frame.getBoundingClientRect();
    [x, y] = [x + around.left + frame.clientLeft, y + around.top + frame.clientTop];
  }
  return {x, y};
};
// Whether an element between `el` and the element that is hit around it hides this point of `el`.
const clips = (el, hit, x, y) => {
  for (let n = el; n && n !== hit; n = n.parentElement || n.getRootNode().host) {
    const box = n.getBoundingClientRect(), style = n.ownerDocument.defaultView.getComputedStyle(n);
    if (style.overflow === 'visible' || ['contents', 'inline'].includes(style.display)) continue;
    if (x < box.left || x > box.right || y < box.top || y > box.bottom) return true;
  }
  return false;
};
const reaches = (el, hit) => {
  if (!hit) return false;
  if (within(el, hit)) return true;
  if (within(hit, el)) return hit !== hit.ownerDocument.body && hit !== hit.ownerDocument.documentElement;
  const label = hit.closest ? hit.closest('label') : null;
  return !!label && (label.control === el || within(label, el));
};
"""

FOCUS_FOR_KEYS = "node => {" + ELEMENT_OF + TAKE_FOCUS + "return giveFocus(elementOf(node), false); }"
"""Gives an element the focus; returns ``focused``, ``disabled``, or ``unfocusable`` if it needs a click."""

PREPARE = (
    "async (node, purpose) => {"
    + RECORD
    + PLACE
    + TAKE_FOCUS
    + FIELD
    + r"""
  if (!node.isConnected) return {state: 'detached'};
  const given = elementOf(node), typing = purpose === 'type', el = typing ? fieldOf(given) : given;
  const doc = el.ownerDocument, view = doc.defaultView;
  const record = {...recordOf(given), reads: readsOf(given)};
  const kind = kindOfField(el), field = isField(el);
  const seen = middleOf(el);
  // Where the agent saw the element, if scrolling or focusing has moved it since. A place in the view is left out:
  // something else, such as the edge of a scrolled box, may have been drawn there.
  const placeSeen = () => {
    const now = middleOf(el);
    if (now.x === undefined) return {};
    if (Math.abs(now.x - seen.x) < 2 && Math.abs(now.y - seen.y) < 2) return null;
    const {innerWidth, innerHeight} = view.top;
    return seen.x < 0 || seen.y < 0 || seen.x > innerWidth || seen.y > innerHeight ? seen : {};
  };
  const answer = (state, more) => ({state, kind, field, record, seen: placeSeen(), ...more});
  // A field that no click reaches takes text all the same, if it takes the focus or its value is set.
  const unreached = async (state, more) => {
    if (typing && kind) return answer('ready', middleOf(el));
    return typing && await focusForText(el) ? answer('focused', middleOf(el)) : answer(state, more);
  };
  const brief = el => el && {role: roleOf(el), name: nameOf(el).slice(0, 60), tag: el.localName};
  if (purpose !== 'hover' && el.matches(':disabled')) return answer('disabled');
  if (purpose === 'press') {
    const given = await giveFocus(el, true);
    if (given === 'disabled') return answer('disabled');
    if (given === 'focused') return answer('focused', middleOf(el));
    if (given !== 'unfocusable') return answer('several', {controls: given.slice(0, 6).map(brief)});
  }
  if (typing && el.readOnly) return answer('readonly');
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
  let shown = node.nodeType === 9 || el !== given ? el : node;
  if (!rectsOf(shown).length && el.labels) shown = [...el.labels].find(l => rectsOf(l).length) || shown;
  if (!rectsOf(shown).length) {
    return typing && !kind && await focusForText(el) ? answer('focused', middleOf(el)) : answer('hidden');
  }
  if (typing && isReadyForText(el)) return answer('focused', middleOf(el));
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
  // A click on something around a field does not give it the focus.
  const around = hit => typing && field && hit && !within(el, hit) && within(hit, el) && !hit.isContentEditable;
  const pick = all => all.find(([x, y]) => {
    const hit = hitAt(doc, x, y);
    if (!(reaches(whole, hit) || reaches(el, hit)) || around(hit)) return false;
    return within(el, hit) || !within(hit, el) || !clips(el, hit, x, y);
  });
  const centred = () => {
    const all = points();
    return all.length && pick(all.slice(0, 1));
  };
  let point = centred();
  if (!point) {
    whole.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    if (!points().length) shown = whole;  // the page has moved a text away to draw an icon in its place
    const all = points();
    if (!all.length) return unreached('outside');
    point = pick(all);
    if (!point) {
      const cover = hitAt(doc, ...all[0]), isBare = [doc.body, doc.documentElement].includes(cover);
      return unreached(isBare ? 'undrawn' : 'covered', {cover: brief(cover)});
    }
  }
  const other = purpose === 'press' && otherControl(el, hitAt(doc, ...point), ...point);
  if (other) return answer('acts', {controls: [brief(other)]});
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
      if (cover !== frame) return unreached('covered', {cover: brief(cover)});
    }
  }
  return answer('ready', {x, y});
}"""
)
"""Prepares to hit an element: scrolls it into view if necessary, finds a point where it would be hit, and returns its
record. For the purpose ``press``, it gives the element the focus and looks for a point only if that fails. For
``type``, it is about the field that the element is or labels, which gets the focus if no point of it can be hit."""

THROUGH_FRAME = (
    "(frame, inside) => {"
    + RECORD
    + PLACE
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
"""Converts a point inside an iframe to the same point of the page around it, and scrolls it into view if necessary."""

DESCRIBE = (
    "node => {"
    + RECORD
    + """
  const el = elementOf(node), box = el.getBoundingClientRect();
  return {...recordOf(el), x: box.left + box.width / 2, y: box.top + box.height / 2};
}"""
)
"""Returns the record of an element."""

AT_POINT = (
    PLACE
    + r"""
const atPoint = (x, y) => {
  let el = hitAt(document, x, y), left = 0, top = 0;
  const frames = [];
  while (el && ['iframe', 'frame'].includes(el.localName) && el.contentDocument) {
    const box = el.getBoundingClientRect();
    const [inX, inY] = [left + box.left + el.clientLeft, top + box.top + el.clientTop];
    const inner = hitAt(el.contentDocument, x - inX, y - inY);
    if (!inner || inner === el.contentDocument.documentElement) break;
    frames.push(el);
    [el, left, top] = [inner, inX, inY];
  }
  return [el, frames];
};
"""
)
"""`atPoint` returns the element at a point, including shadow trees and frames of the same site, and its frames."""

POINT_TARGET = (
    "(x, y) => {"
    + RECORD
    + AT_POINT
    + FIELD
    + """
  const [el, frames] = atPoint(x, y);
  if (!el) return null;
  const record = recordOf(el);
  const way = frames.map(frame => `${selectorOf(frame)} >> internal:control=enter-frame >> css=`).join('');
  const field = fieldOf(el), state = field.matches(':disabled') ? 'disabled'
    : field.readOnly ? 'readonly' : isReadyForText(field) ? 'focused' : '';
  const found = {...record, selector: way + record.selector, reads: readsOf(el), x, y};
  return {record: found, kind: kindOfField(field), field: isField(field), state};
}"""
)
"""Returns the record of the element at a point, whose selector leads into frames, and the kind and state of the field
that the element is or labels. It is called without a node."""

FOCUSED = (
    "() => {\n  const describe = "
    + DESCRIBE
    + """;
  let el = document.activeElement;
  while (el && el.shadowRoot && el.shadowRoot.activeElement) el = el.shadowRoot.activeElement;
  return el && el !== document.body && !['iframe', 'frame', 'html'].includes(el.localName) ? describe(el) : null;
}"""
)
"""Returns the focused element's record; null without one, or in another document. Called without a node."""
