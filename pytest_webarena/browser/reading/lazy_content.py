"""Content that a page shows only when it is scrolled into view: text without layout, and frames that load lazily."""

from __future__ import annotations

from typing import Any

from pytest_webarena.browser.faults import ScriptFailed
from pytest_webarena.browser.reading.isolated import evaluate_isolated
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["DRAWN", "load_frames", "unloaded_frame"]

# `roots`: every document and shadow root that scripts can reach; `framed`: the document in an element, if any.
_ROOTS = r"""
const framed = el => {
  try {
    if (['iframe', 'frame', 'object'].includes(el.localName)) return el.contentDocument;
    const around = el.localName === 'embed' ? el.ownerDocument.defaultView : [];
    for (let i = 0; i < around.length; i++) {
      try { if (around[i].frameElement === el) return around[i].document; } catch { /* of another site */ }
    }
  } catch { /* of another site */ }
  return null;
};
const roots = root => {
  const found = [root];
  for (const el of root.querySelectorAll('*')) {
    if (el.shadowRoot) found.push(...roots(el.shadowRoot));
    const inside = framed(el);
    if (inside) found.push(...roots(inside));
  }
  return found;
};
"""

DRAWN = (
    _ROOTS
    + r"""
const drawn = read => {
  const name = 'content-visibility';
  const late = roots(document).flatMap(root => [...root.querySelectorAll('*')])
    .filter(el => el.style && getComputedStyle(el).contentVisibility === 'auto')
    .map(el => [el, el.hasAttribute('style'), el.style.getPropertyValue(name), el.style.getPropertyPriority(name)]);
  for (const [el] of late) el.style.setProperty(name, 'visible', 'important');
  try {
    return read();
  } finally {
    for (const [el, styled, value, priority] of late) {
      el.style.removeProperty(name);
      if (value) el.style.setProperty(name, value, priority);
      if (!styled && !el.getAttribute('style')) el.removeAttribute('style');
    }
  }
};
"""
)
"""JavaScript function ``drawn(read)`` that returns ``read()`` while elements outside of the view have a layout, too
(``content-visibility: auto``), because their texts are empty without one. The page is restored afterwards."""

_LOAD = (
    "() => {"
    + _ROOTS
    + r"""
  const late = roots(document).flatMap(root => [...root.querySelectorAll('iframe[loading=lazy i]')]);
  for (const frame of late) frame.loading = 'eager';
  return late.length;
}"""
)


# Frames of other sites can't be read in any case.
_UNLOADED = (
    "() => {"
    + _ROOTS
    + r"""
  for (const frame of roots(document).flatMap(root => [...root.querySelectorAll('iframe[loading=lazy i]')])) {
    const inside = framed(frame);
    if (!inside || inside.URL !== 'about:blank' || !frame.getAttribute('src') || frame.hasAttribute('srcdoc')) continue;
    try {
      const address = new URL(frame.src);
      if (address.origin === frame.ownerDocument.defaultView.location.origin) return address.href;
    } catch { /* no address */ }
  }
  return '';
}"""
)


async def load_frames(tab: Tab, *, seconds: float) -> bool:
    """Load frames that would wait until they are scrolled into view; return whether there were any."""
    try:
        found: Any = await evaluate_isolated(tab, _LOAD, seconds=seconds, what="loading frames")
    except ScriptFailed:
        return False
    return bool(found)


async def unloaded_frame(tab: Tab, *, seconds: float) -> str:
    """Return the address of a frame of the same site that waits to be scrolled into view; empty for none."""
    try:
        return str(await evaluate_isolated(tab, _UNLOADED, seconds=seconds, what="looking for frames"))
    except ScriptFailed:
        return ""
