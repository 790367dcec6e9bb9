"""Texts that a page shows after an input and removes again before it is observed, such as messages of half a second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.text import shorten

__all__ = ["BRIEF_TEXTS", "BriefTexts"]

_LONGEST = 200
"""Maximum length of a text; longer ones are parts of the page, and no messages."""
_ELEMENTS = 40
"""Maximum number of changed elements that are examined after an input."""
_MOST = 3
"""Maximum number of texts that are reported."""

# Only what follows the latest input counts: while a text is typed, lists of suggestions come and go. Elements are
# examined when a frame is drawn, so that the page is not laid out more often. Functions of the page may be replaced
# later, so its own are kept.
BRIEF_TEXTS = r"""
  const frame = window.requestAnimationFrame.bind(window), seen = new Map(), waiting = new Set();
  let left = 0, until = 0, drawing = false;
  const isShown = el => {
    if (!el.isConnected || !el.checkVisibility({opacityProperty: true, visibilityProperty: true})) return false;
    const {width, height, top, bottom, left, right} = el.getBoundingClientRect();
    return width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  };
  const linesOf = el => (el.innerText || '').split(/\n+/).map(line => line.replace(/\s+/g, ' ').trim()).filter(Boolean);
  const examine = () => {
    for (const el of waiting) {
      if (el.isConnected && !isShown(el)) continue;
      waiting.delete(el);
      const lines = el.isConnected ? linesOf(el) : [], text = lines.join(' ');
      if (text.length > 1 && text.length <= LONGEST) seen.set(text, {el, lines});
    }
  };
  const draw = () => {
    examine();
    drawing = waiting.size > 0 && performance.now() < until;
    if (drawing) frame(draw);
  };
  const changes = new MutationObserver(records => {
    for (const {type, target, addedNodes} of records) {
      for (const node of type === 'childList' ? addedNodes : [target]) {
        const el = node.nodeType === 3 ? node.parentElement : node.nodeType === 1 ? node : null;
        if (!el || waiting.has(el) || el.isContentEditable) continue;
        if (el.matches('html, body, script, style, input, textarea')) continue;
        if (left-- <= 0) { changes.disconnect(); return; }
        waiting.add(el);
      }
    }
    if (waiting.size && !drawing) { drawing = true; frame(draw); }
  });
  const begin = event => {
    if (!event.isTrusted) return;
    seen.clear();
    waiting.clear();
    [left, until] = [ELEMENTS, performance.now() + 5000];
    const attributeFilter = ['class', 'style', 'hidden', 'open'];
    const all = {subtree: true, childList: true, characterData: true, attributes: true, attributeFilter};
    changes.disconnect();
    changes.observe(document, all);
    for (const root of roots) {
      const alive = root.deref();
      if (alive && alive.isConnected) changes.observe(alive, all);
    }
  };
  if (window === top) for (const kind of ['pointerdown', 'keydown']) addEventListener(kind, begin, true);
  const brief = () => {
    if (!left && !seen.size) return [];
    examine();
    const gone = [...seen].filter(([text, {el}]) => !isShown(el) || !linesOf(el).join(' ').includes(text));
    if (!gone.length) return [];
    const page = linesOf(document.body).join(' ');
    return gone.filter(([text, {el}]) => el.isConnected || !page.includes(text)).map(([, {lines}]) => lines);
  };
""".replace("LONGEST", str(_LONGEST)).replace("ELEMENTS", str(_ELEMENTS))
"""JavaScript of a page's notes: ``brief`` returns the lines of each text that was shown since the latest input and is
not now."""


@dataclass(slots=True)
class BriefTexts:
    """Brief texts of a tab."""

    lines: Sequence[Sequence[str]] = ()
    """Lines of each text that had vanished when the tab was last settled."""
    observed: str = ""
    """Text of the tab's latest observation."""

    @classmethod
    def of(cls, extras: dict[type, Any]) -> BriefTexts:
        """Return those of the tab with these ``extras``."""
        found: BriefTexts = extras.setdefault(cls, cls())
        return found

    def take(self) -> tuple[PageEvent, ...]:
        """Return the event about texts that the latest observation did not show, and forget them."""
        lines, self.lines = self.lines, ()
        new = [" ".join(text) for text in lines if any(line not in self.observed for line in text)]
        if not new:
            return ()
        listed = ", ".join(repr(shorten(text, _LONGEST)) for text in new[:_MOST])
        return (PageEvent(kind="brief_text", text=f"Shown for a moment: {listed}."),)
