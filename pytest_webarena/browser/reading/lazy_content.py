"""What a page has, and shows when somebody scrolls to it: text that is not laid out yet, frames that are not loaded."""

from __future__ import annotations

from typing import Any

from pytest_webarena.browser.faults import ScriptFailed
from pytest_webarena.browser.reading.isolated import evaluate_isolated
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["DRAWN", "load_frames", "unloaded_frame"]

# Every document and shadow root that scripts can reach; `framed`: the document that an element shows, if any.
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
"""JavaScript: ``drawn(read)`` gives what ``read()`` gives while nothing is left out of the layout for being out of view
(``content-visibility: auto``). Texts of what is left out are empty. The page is left as it was."""

_LOAD = (
    "() => {"
    + _ROOTS
    + r"""
  const late = roots(document).flatMap(root => [...root.querySelectorAll('iframe[loading=lazy i]')]);
  for (const frame of late) frame.loading = 'eager';
  return late.length;
}"""
)


# Those of other sites can't be read in any case.
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
    """Have frames loaded that would wait until somebody scrolls to them; whether there were any."""
    try:
        found: Any = await evaluate_isolated(tab, _LOAD, seconds=seconds, what="loading frames")
    except ScriptFailed:
        return False
    return bool(found)


async def unloaded_frame(tab: Tab, *, seconds: float) -> str:
    """Address of a frame of the same site that waits until somebody scrolls to it; empty for none."""
    try:
        return str(await evaluate_isolated(tab, _UNLOADED, seconds=seconds, what="looking for frames"))
    except ScriptFailed:
        return ""
