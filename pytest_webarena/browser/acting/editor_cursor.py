"""JavaScript that puts the cursor of the focused field or editor after its content."""

from __future__ import annotations

__all__ = ["CURSOR_TO_END", "ONLY_RECEIVES"]

ONLY_RECEIVES = """
// Whether a field only receives keys: the page draws the text elsewhere, so that the field can't be seen.
const onlyReceives = el => {
  const doc = el.ownerDocument, view = doc.defaultView, box = el.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const inView = x >= 0 && y >= 0 && x < view.innerWidth && y < view.innerHeight;
  const hit = inView && hitAt(doc, x, y), label = hit && hit.closest('label');
  const seen = inView ? within(el, hit) || (label && label.control === el)
    : x + view.scrollX >= 0 && y + view.scrollY >= 0;
  let drawn = 1;
  for (let n = el; n; n = n.parentElement || n.getRootNode().host) drawn *= view.getComputedStyle(n).opacity;
  return !(seen && drawn > .1);
};
"""
"""JavaScript function `onlyReceives`; it needs `PLACE`."""

CURSOR_TO_END = (
    ONLY_RECEIVES
    + r"""
// Put the cursor of `el`, which has the focus, after its content; return whether the key for that has to be pressed.
// `hit` is what was clicked, `x` and `y` where; `meant` says whether `el` is the field that was named.
const cursorToEnd = (el, meant, hit, x, y) => {
  const doc = el.ownerDocument, isInput = el.localName === 'input', isForm = isInput || el.localName === 'textarea';
  const named = meant || (hit && within(el, hit));
  if (el.isContentEditable) {
    const hasText = parent => [...parent.childNodes].some(n =>
      n.nodeType === 3 ? !isBlank(n.data) : n.nodeType === 1 && n.isContentEditable && hasText(n));
    const selection = doc.getSelection();
    const isEmpty = el.contains(selection.anchorNode) && !el.querySelector(MEDIA) && !hasText(el);
    // The script of an empty one may have put the cursor into a chosen format, or another one has selected something.
    return named && !isEmpty && selection.isCollapsed;
  }
  const hides = !isForm || onlyReceives(el);
  if (isForm && named && (!hides || el.value)) {
    if (el.selectionStart !== el.selectionEnd) return false;  // its script has selected something
    const isTop = doc.defaultView === doc.defaultView.parent;
    const clicked = isTop && doc.caretPositionFromPoint && doc.caretPositionFromPoint(x, y);
    const isMoved = clicked && clicked.offsetNode === el && clicked.offset !== el.selectionStart;  // as masks do
    if (!isMoved) try { el.setSelectionRange(el.value.length, el.value.length); } catch { /* it has no cursor */ }
  }
  if (isInput || !hides || !(isForm || el.editContext)) return false;
  if (el.ariaMultiLine === 'false') return false;  // a terminal: its text ends where the cursor is
  // It receives the keys for a text or for something else, such as the cells of a table; the pointer shows which.
  const {left, top, width, height} = el.getBoundingClientRect(), isDrawn = each => each && !within(el, each);
  const under = doc.elementsFromPoint(left + width / 2, top + height / 2).find(isDrawn);
  return [hit, under].some(each => isDrawn(each) && doc.defaultView.getComputedStyle(each).cursor === 'text');
};
"""
)
"""JavaScript function `cursorToEnd`; it needs `PLACE` and `FIELD`. A field whose script has put its cursor elsewhere
than the click, and an editor without content, keep their cursors."""
