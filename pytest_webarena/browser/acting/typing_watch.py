"""Puts the cursor where text is typed, and watches whether a field or a script of the page takes the text."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame

from pytest_webarena.browser.acting.editor_cursor import CURSOR_TO_END
from pytest_webarena.browser.acting.element_probes import AT_POINT, RECORD
from pytest_webarena.browser.acting.fields import FIELD
from pytest_webarena.browser.acting.filling import FOCUSED, NO_FIELD
from pytest_webarena.browser.acting.keyboard import Keyboard
from pytest_webarena.browser.acting.targets import HitPoint
from pytest_webarena.browser.faults import ActionFailed, ScriptFailed
from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.text import shorten

__all__ = ["TypingWatch"]

_FOCUS = 1.0
"""Seconds to wait until a click has focused something, if it has not at once."""
_LATE = 0.3
"""Seconds to wait until a script has drawn what it does with the keys."""
_END_KEY = "Meta+ArrowDown" if sys.platform == "darwin" else "Control+End"
"""Key that moves the cursor to the end of a text."""

_START = (
    "async (ms, meant, x, y) => {"
    + AT_POINT
    + FIELD
    + CURSOR_TO_END
    + "\n  const focused = "
    + FOCUSED
    + r""";
  const nothing = () => { const el = focused(); return !el || el === el.ownerDocument.body || el.localName === 'html' };
  if (nothing() && ms) {
    await new Promise(done => {
      const kinds = ['focusin', 'blur'];
      const end = () => {
        clearTimeout(late);  // else it would be taken for a timer of the page's
        for (const kind of kinds) removeEventListener(kind, end);
        done();
      };
      const late = setTimeout(end, ms);
      for (const kind of kinds) addEventListener(kind, end);
    });
  }
  const el = focused(), views = [], events = [], kinds = ['keydown', 'keypress', 'beforeinput', 'input'];
  if (el && ['iframe', 'frame'].includes(el.localName)) return 'frame';
  const add = view => {
    views.push(view);
    for (let i = 0; i < Math.min(view.frames.length, 20); i++) {
      try { if (view.frames[i].document) add(view.frames[i]); } catch { /* of another site */ }
    }
  };
  add(window);
  const note = event => { if (event.isTrusted && !event.ctrlKey && !event.metaKey) events.push(event) };
  for (const view of views) for (const kind of kinds) view.addEventListener(kind, note, true);
  const context = el && el.editContext;
  if (context) context.addEventListener('textupdate', note);
  const isText = !!el && el.isContentEditable && !onlyReceives(el), value = el && el.value;
  let changed = false;
  const observer = new MutationObserver(() => { changed = true });
  const changes = {subtree: true, childList: true, characterData: true, attributes: !isText};
  observer.observe(isText ? el : el ? el.getRootNode() : document, changes);
  const hasChanged = () => changed || !el || !isField(el) || !el.isConnected || el.value !== value;
  window[Symbol.for('pytest-webarena')].typing = async ms => {
    for (const view of views) for (const kind of kinds) view.removeEventListener(kind, note, true);
    if (context) context.removeEventListener('textupdate', note);
    const entered = events.some(({type}) => ['input', 'textupdate'].includes(type));
    const handled = !entered && events.some(event => event.defaultPrevented);
    const end = performance.now() + ms;
    while (handled && !hasChanged() && performance.now() < end) await new Promise(requestAnimationFrame);
    observer.disconnect();
    return entered || (handled && hasChanged()) ? 'taken' : !handled ? '' : isText ? 'lost' : 'unchanged';
  };
  if (nothing()) return 'nothing';
  if (meant === null) return 'element';
  const hit = window === window.parent ? atPoint(x, y)[0] : null;
  return cursorToEnd(el, meant, hit, x, y) ? 'editor' : 'element';
}"""
)
"""Function that watches typed text from now on, in a document and its frames of the same site.

It waits at most ``ms`` until something has the focus, and puts the cursor after the content, unless ``meant`` is null.
The result is ``nothing`` if nothing has the focus, ``frame`` if a frame of another site has, ``editor`` if the cursor
needs a key, else ``element``. A script that prevents a key's default has handled the key. If the element is a field, it
should have changed the text of an editor, or else anything on the page.
"""

_END = (
    "async ms => {"
    + RECORD
    + FIELD
    + "\n  const focused = "
    + FOCUSED
    + r""";
  const notes = window[Symbol.for('pytest-webarena')], end = notes && notes.typing, el = focused();
  if (!end) return null;
  delete notes.typing;
  const takes = el && (isField(el) || el.matches('a[href], button, summary'));
  return {taken: await end(ms), takes, ...(el ? {role: roleOf(el), name: nameOf(el)} : {})};
}"""
)
"""Function that ends the watch and returns whether the text was ``taken``, and a description of the focused element.

``taken`` is ``lost`` or ``unchanged`` if a script handled the keys but nothing changed; empty if no script did.
"""


class TypingWatch:
    """Watch of one text. ``hang`` returns the seconds that the page has to answer."""

    def __init__(self, tab: Tab, keyboard: Keyboard, hang: Callable[[], float]) -> None:
        self._tab, self._keyboard, self._hang = tab, keyboard, hang
        self._frame: Frame | None = None
        self._focus = ""

    async def start(self, place: HitPoint | None, *, patient: bool) -> bool:
        """Start; return whether something has the focus.

        Args:
            place: What was clicked or focused to type after its content; None leaves the cursor where it is.
            patient: Whether to wait for a click to move the focus.
        """
        self._frame = None
        cursor = (None, 0, 0) if place is None else (place.field, place.x, place.y)
        self._focus = await self._ask(_START, _FOCUS * 1000 if patient else 0, *cursor) or ""
        while self._focus == "frame":
            frame = self._frame or self._tab.page.main_frame
            with contextlib.suppress(PlaywrightError):
                handle = await self._tab.run(frame.evaluate_handle(FOCUSED), self._hang(), "looking for the focus")
                element = handle.as_element()
                inner = await self._tab.run(element.content_frame(), self._hang(), "") if element else None
                if inner is not None:
                    self._frame = inner
                    self._focus = await self._ask(_START, 0, *cursor) or ""
                    continue
            self._focus = ""
        if self._focus == "editor":
            await self._keyboard.press(_END_KEY)
        return self._focus != "nothing"

    async def end(self, *, targeted: bool) -> tuple[PageEvent, ...]:
        """End; return events for the agent. `ActionFailed` if nothing took the text. ``targeted``: it had a target."""
        found = await self._ask(_END, _LATE * 1000) if self._focus else None
        if not found or found["taken"] == "taken":  # a page that has navigated shows the effect itself
            return ()
        if self._focus == "nothing":
            if targeted:
                raise ActionFailed(NO_FIELD)
            return (_event("Nothing on the page has the keyboard focus, and nothing took the text."),)
        label = f"{found['role']} {shorten(found['name'], 60)!r}"
        if found["taken"] == "unchanged":
            return (_event(f"{label} received the keys, but nothing on the page changed."),)
        if found["takes"] and not found["taken"]:
            raise ActionFailed(f"Nothing was typed: {label} has the keyboard focus and did not take the text.")
        return (_event(f"{label} received the keys, but no text was entered."),)

    async def _ask(self, function: str, *args: Any) -> Any:
        what = "watching what is typed"
        with contextlib.suppress(PlaywrightError, ScriptFailed):
            if self._frame is None:
                return await self._tab.evaluate(function, *args, seconds=self._hang() + _FOCUS, what=what)
            call = self._frame.evaluate(f"args => ({function})(...args)", list(args))
            return await self._tab.run(call, self._hang() + _FOCUS, what)
        return None


def _event(text: str) -> PageEvent:
    return PageEvent(kind="field", text=text)
