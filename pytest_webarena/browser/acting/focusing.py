"""JavaScript that gives an element the keyboard focus for a key without a click, like Playwright's `locator.press`."""

from __future__ import annotations

__all__ = ["TAKE_FOCUS"]

TAKE_FOCUS = r"""
// Controls that include their content: a key for a part is for the control, and a click on the part would activate it.
const wholes = ['button', 'checkbox', 'link', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'radio',
                'slider', 'switch', 'tab'];
const controls = ['a[href]', 'button', 'summary', 'select', ...wholes.map(role => `[role=${role}]`)].join();
const items = `${controls}, [role=gridcell], [role=treeitem]`;
const frames = 'iframe, frame, embed, object';  // their focus belongs to an element in them
const focusable = `a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex],
  [contenteditable]:not([contenteditable=false])`;
const holds = (outer, node) => {
  for (let n = node; n; n = n.parentNode || n.host) if (n === outer) return true;
  return false;
};
const nearest = (el, selector) => {
  for (let n = el; n; n = n.getRootNode().host) if (n.closest(selector)) return n.closest(selector);
  return null;
};
const shadowOf = el => {
  const notes = el.localName.includes('-') && el.ownerDocument.defaultView[Symbol.for('pytest-webarena')];
  const closed = notes && notes.roots.map(root => root.deref()).find(root => root && root.host === el);
  return el.shadowRoot || closed || null;
};
// The controls in an element. A control with parts counts once; an element that only groups controls does not count.
const controlsIn = el => {
  const all = [], style = node => node.ownerDocument.defaultView.getComputedStyle(node);
  const collect = root => {
    for (const node of root.querySelectorAll('*')) {
      const seen = node.matches(focusable) && node.getClientRects().length && style(node).visibility === 'visible';
      if (seen && !node.matches(':disabled') && !node.closest('[inert]')) all.push(node);
      if (shadowOf(node)) collect(shadowOf(node));
    }
  };
  collect(el);
  if (shadowOf(el)) collect(shadowOf(el));
  const parts = all.filter(one => !all.some(other => other !== one && other.matches(controls) && holds(other, one)));
  return parts.filter(one => !parts.some(other => other !== one && holds(one, other)));
};
const takesFocus = async el => {
  const doc = el.ownerDocument, root = el.getRootNode(), isCustom = el.localName.includes('-');
  const has = () => root.activeElement === el || (isCustom && holds(el, root.activeElement));
  const had = has() && doc.hasFocus();
  let hadFocus = false;  // a page may pass the focus on at once, for example to the search field of a list
  const onFocus = event => { hadFocus = hadFocus || event.composedPath().includes(el); };
  root.addEventListener('focus', onFocus, true);  // on the root, because a listener makes an SVG shape focusable
  if (!had) el.focus();
  if (!has() && !hadFocus) el.focus();  // Firefox may need it twice
  root.removeEventListener('focus', onFocus, true);
  if (!has()) return hadFocus;
  // A frame of another site has its own process, which learns late that it has the focus.
  for (let i = 0; i < 30 && !doc.hasFocus(); i++) await new Promise(done => setTimeout(done, 10));
  if (!had && el.localName === 'input') try { el.setSelectionRange(0, 0); } catch { /* it has no cursor */ }
  return doc.hasFocus();
};
// Returns 'focused', 'disabled', 'unfocusable' (only a click may have the intended effect), or, if several controls in
// the element may be intended, a list of them.
const giveFocus = async (el, descend) => {
  if (el.matches(frames)) return 'unfocusable';
  if (el.isContentEditable) {
    let host = el;
    while (host.parentElement && host.parentElement.isContentEditable) host = host.parentElement;
    const selection = el.ownerDocument.getSelection();
    const inside = selection.rangeCount > 0 && el.contains(selection.anchorNode);
    if (el !== host && !inside) return 'unfocusable';  // a click sets the cursor there
    return await takesFocus(host) ? 'focused' : 'unfocusable';
  }
  const doc = el.ownerDocument;
  if (el === doc.body || el === doc.documentElement) {  // it receives keys wherever the focus is
    if (!doc.hasFocus()) doc.defaultView.focus();
    return 'focused';
  }
  const label = el.closest('label');
  const all = [el, nearest(el, controls), label && label.control].filter(Boolean);
  if (all.some(each => each.matches(':disabled'))) return 'disabled';
  for (const each of all) if (await takesFocus(each)) return 'focused';
  const inner = descend ? controlsIn(el) : [];
  if (inner.length > 1) return inner;
  // A click would focus the surrounding element, but also choose the item in it that takes no focus itself.
  const part = nearest(el, items), around = nearest(el, '[tabindex]');
  const last = inner[0] || (around && part && part !== around && holds(around, part) ? null : around);
  return last && await takesFocus(last) ? 'focused' : 'unfocusable';
};
// Give a field the focus; returns whether that was possible.
const focusForText = async el =>
  el.isContentEditable ? await giveFocus(el, false) === 'focused' : await takesFocus(el);
// The control that a click at a point would act on in place of `el`; also in frames of the same site.
const otherControl = (el, hit, x, y) => {
  while (hit && hit.matches('iframe, frame') && hit.contentDocument) {
    const box = hit.getBoundingClientRect();
    [x, y] = [x - box.left - hit.clientLeft, y - box.top - hit.clientTop];
    hit = hit.contentDocument.elementFromPoint(x, y);
  }
  const control = hit && nearest(hit, `${controls}, input`);
  return control && control !== el && !holds(control, el) ? control : null;
};
"""
"""JavaScript functions: `giveFocus` gives an element the focus (with `descend`, also the only control in it) and
returns the result; `focusForText` does so for a field; `otherControl` returns the control that a click would act on
instead."""
