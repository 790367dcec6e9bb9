// Boxes of the elements that can be used.

// Returns [id, left, top, width, height] in this document's viewport for ids of visible elements that can be used; others
// are omitted, including covered ones. The first id in an element that only scripts make usable has the element's box.
const boxes = ids => {
  forgetDelegates();
  const found = [], represented = new Set();
  for (const id of ids) {
    const node = find(id);
    if (!node || typeOf(node) === DOCUMENT) continue;
    const el = typeOf(node) === ELEMENT ? node : elementAbove(node);
    if (!el || tagOf(el) === 'iframe') continue;
    const control = el === node && !known.get(id).inserted && isMarkedControl(el, tagOf(el));
    const shown = control ? el : isMarker(id) ? null : usableAround(el, styleOf(el).cursor);
    if (!shown || represented.has(shown)) continue;
    const place = placeOf(shown);
    if (!place) continue;
    represented.add(shown);
    found.push([id, ...place]);
  }
  return found;
};
const isMarker = id => descriptionOf(id).startsWith('ListMarker ');  // it has the id of its list item, and says nothing of it
const isMarkedControl = (el, tag) => {
  if (!isControl(el) || (tag === 'option' && isDropDown(closest(el, 'select') || {multiple: true}))) return false;
  return attr(el, 'tabindex') !== '-1' || isEditingHost(el) || matches(el, 'a[href], button, input, select, textarea, [role]');
};

// Returns left, top, width and height of the visible part of an element, in the viewport of the outermost document that
// can be read; null if it can't be reached there.
const placeOf = el => {
  const doc = ownerOf(el), seen = seenFor(el, tagOf(el)), box = rectOf(seen), view = viewOf(doc);
  let left = Math.max(0, box.left), top = Math.max(0, box.top);
  let right = Math.min(view.innerWidth, box.right), bottom = Math.min(view.innerHeight, box.bottom);
  if (right - left > 1 && bottom - top > 1 && !isReached(seen, doc, left, top, right, bottom)) return null;
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
  return right - left > 1 && bottom - top > 1 ? [left, top, right - left, bottom - top] : null;
};
// What lies within a text field, such as a drawn placeholder, does not keep anybody from writing into it.
const isWithin = (el, field) => {
  const inner = rectOf(el), outer = rectOf(field);
  return inner.left >= outer.left - 1 && inner.top >= outer.top - 1 && inner.right <= outer.right + 1 && inner.bottom <= outer.bottom + 1;
};
const isReached = (node, doc, left, top, right, bottom) => {
  for (const [x, y] of [[.5, .5], [.2, .5], [.8, .5], [.5, .2], [.5, .8]]) {
    let hit = doc.elementFromPoint(left + x * (right - left), top + y * (bottom - top));
    for (let shadow = hit && shadowOf(hit); shadow; shadow = hit && shadowOf(hit)) {
      const inner = shadow.elementFromPoint(left + x * (right - left), top + y * (bottom - top));
      if (!inner || inner === hit) break;
      hit = inner;
    }
    if (!hit) continue;
    if (hit === node || contains(node, hit) || contains(hit, node) || (isTextField(node, tagOf(node)) && isWithin(hit, node))) return true;
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
