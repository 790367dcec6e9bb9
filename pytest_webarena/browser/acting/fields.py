"""JavaScript that finds the field for an element that text is typed into, and its kind."""

from __future__ import annotations

__all__ = ["FIELD"]

FIELD = r"""
const isField = el => el.isContentEditable || ['input', 'textarea', 'select'].includes(el.localName);
// Whether an editor has no content. Editors may mark the cursor by characters without a width.
const MEDIA = 'img, hr, table, video';
const isEmpty = el => !el.textContent.replace(/[\u200b\ufeff]/g, '') && !el.querySelector(MEDIA);
// Whether an element is in an empty editor that has the focus. A click would drop the format chosen for its text.
const isReadyForText = el => {
  if (!el.isContentEditable) return false;
  let host = el;
  while (host.parentElement && host.parentElement.isContentEditable) host = host.parentElement;
  return isEmpty(host) && host.getRootNode().activeElement === host && host.ownerDocument.hasFocus();
};
// Whether a text has only white space and characters without a width.
const isBlank = text => !/[^\s\u200b-\u200d\u2060]/.test(text);
// The field that is meant by an element: itself, or the control that its label is for.
const fieldOf = el => {
  if (isField(el) || el.localName === 'option') return el;
  const label = el.closest('label');
  return label && label.control && isField(label.control) ? label.control : el;
};
const untyped = ['checkbox', 'color', 'date', 'datetime-local', 'file', 'month', 'radio', 'range', 'time', 'week'];
// The kind of a field that is not typed into; else empty.
const kindOfField = el => el.localName === 'select' ? 'select'
  : el.localName === 'input' && untyped.includes(el.type) ? el.type : '';
"""
"""JavaScript `MEDIA`, a selector of content without text, and functions: `isField`, `isEmpty`,
`isReadyForText`, `isBlank`, `fieldOf`, `kindOfField`."""
