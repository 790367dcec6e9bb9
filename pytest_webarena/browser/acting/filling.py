"""Fills the focused field: empties it by keys, types, and compares its content afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from playwright.async_api import ElementHandle, Frame
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.acting.editor_cursor import ONLY_RECEIVES
from pytest_webarena.browser.acting.element_probes import PLACE
from pytest_webarena.browser.acting.fields import FIELD
from pytest_webarena.browser.acting.filled_text import is_shown, keeps_old, without_spaces
from pytest_webarena.browser.acting.keyboard import Keyboard, sendable_text
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.browser.tabs.settle import wait_for_change
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.text import shorten

__all__ = ["FOCUSED", "NO_FIELD", "fill"]

T = TypeVar("T")

_LATE = 0.3
"""Seconds to wait until a field shows the typed text, if it does not at once."""
_FOCUS = 1.0
"""Seconds to wait until a click has focused a text field, if it has not at once."""
NO_FIELD = (
    "Nothing was typed: after a click on it, nothing that takes text has the keyboard focus. Type into the field "
    "itself, or open it with a click first."
)

FOCUSED = """() => {
  let el = document.activeElement;
  for (let inner = el; inner;) {
    el = inner;
    inner = el.shadowRoot ? el.shadowRoot.activeElement : el.contentDocument ? el.contentDocument.activeElement : null;
  }
  return el;
}"""
"""Function that returns the element that receives keys; a frame element if a document of another site does."""

_FOCUS_COMES = """ms => new Promise(done => {
  const views = [];
  const add = view => {
    views.push(view);
    for (let i = 0; i < Math.min(view.frames.length, 20); i++) {
      try { if (view.frames[i].document) add(view.frames[i]); } catch { /* of another site */ }
    }
  };
  add(window);
  const each = does => { for (const view of views) for (const kind of ['focusin', 'blur']) view[does](kind, end); };
  const end = () => {
    clearTimeout(late);  // else it would be taken for a timer of the page's
    each('removeEventListener');
    done();
  };
  const late = setTimeout(end, ms);
  each('addEventListener');
})"""
"""Function that waits at most so many milliseconds until something gets the focus; called without a node.

A frame that gets it blurs the window around it.
"""

_LOOK = (
    "(el, known) => {"
    + PLACE
    + FIELD
    + ONLY_RECEIVES
    + r"""
  const doc = el.ownerDocument, view = doc.defaultView, typed = ['input', 'textarea'].includes(el.localName);
  const noText = ['button', 'checkbox', 'color', 'file', 'image', 'radio', 'range', 'reset', 'submit'];
  const style = node => view.getComputedStyle(node);
  const kindOf = () => {
    if (el.isContentEditable) return 'text';
    if (!typed) return el.editContext ? 'widget' : '';
    if (noText.includes(el.type) || el.readOnly || el.disabled) return '';
    return onlyReceives(el) ? 'widget' : 'value';
  };
  const isSeen = around => {
    const box = around.getBoundingClientRect();
    const hit = hitAt(doc, box.left + box.width / 2, box.top + box.height / 2);
    return box.width * box.height > 100 && !!hit && within(around, hit);
  };
  const shown = () => {
    let widget = el;
    do widget = widget.parentElement || widget.getRootNode().host; while (widget && !isSeen(widget));
    if (!widget || widget === doc.body || widget === doc.documentElement) return null;
    const read = (node, all) => {
      if (node.nodeType === 3) return node.data;
      if (node.nodeType !== 1 || ['input', 'textarea', 'script', 'style'].includes(node.localName)) return '';
      const {display, visibility, userSelect} = style(node);
      if (display === 'none' || visibility !== 'visible') return '';
      if (!all && (userSelect === 'none' || node.getAttribute('aria-hidden') === 'true')) return '';
      const text = [...(node.shadowRoot || node).childNodes].map(child => read(child, all)).join('');
      return display === 'inline' ? text : `\n${text}\n`;
    };
    return [read(widget, false), read(widget, true)];
  };
  const kind = known || kindOf();
  const held = {value: () => [el.value], text: () => [el.innerText], widget: shown, '': () => null}[kind];
  const frame = ['iframe', 'frame'].includes(el.localName);
  const around = kind === 'value' && el.value === '' ? shown() : null;
  const own = typed ? el.value : null;
  const empty = kind === 'text' && isEmpty(el);
  return {kind, texts: el.isConnected ? held() : null, around, own, empty, secret: el.type === 'password', frame};
}"""
)
"""Function that returns where an edited element keeps its content, and the content: in its ``value``, in its ``text``,
or in the ``widget`` around it if the field that receives the keys is invisible. Kind empty: it can't be edited.

An empty field may only receive the keys of a widget; ``around`` is what the widget shows then. ``own`` is the field's
value, which counts if the widget never shows what is typed, for example because it covers the field. A widget has two
``texts``: without parts that the page marks as no content, such as line numbers, and with them.
"""

_MARK = r"""(el, kind) => {
  if (kind === 'widget') return !!el.value;
  if (kind === 'value') {
    el.select();
    return el.value !== '' || el.validity.badInput;
  }
  const selection = el.ownerDocument.getSelection();
  if (selection.isCollapsed && el.textContent) selection.selectAllChildren(el);
  return !!el.textContent || !!el.querySelector('img, hr, table, video');
}"""
"""Function that selects all content, in case the page's scripts intercept keys; returns whether there is any."""


async def fill(
    tab: Tab,
    keyboard: Keyboard,
    text: str,
    hang: Callable[[], float],
    *,
    clicked: bool,
    focus: Callable[[], Awaitable[object]] | None = None,
) -> tuple[str, tuple[PageEvent, ...]]:
    """Replace the content of the focused field by ``text``.

    ``clicked``: a click should have given it the focus. ``focus`` gives it to the field otherwise, if that is known.

    Returns:
        Why that failed: no text field has the focus, or the field also shows its old content. And the events to report
        if the field holds something else.
    """
    field = _Field(tab, hang)
    before = await field.find()
    if clicked and not field.kind and focus is not None:
        await focus()
        before = await field.find()
    if clicked and not field.kind:
        before = await field.wait()
        if not field.kind:
            return NO_FIELD, ()
    around = field.around
    had_content = before is not None and bool(without_spaces(before[-1]))
    if field.kind and not field.is_empty:
        await field.empty(keyboard, shows=had_content)
    await keyboard.type(text)
    typed_text = sendable_text(text)

    def is_right(content: tuple[str, ...] | None) -> bool:
        if content is None or field.kind == "value":
            return content == (typed_text,)
        if field.own == typed_text and content == before:
            return True
        if not typed_text and had_content and before is not None and not without_spaces(before[0]):
            content = content[-1:]  # all of the old content was in parts that the page marks as no content
        return any(is_shown(typed_text, text, numbered=field.kind == "widget") for text in content)

    if not is_right(after := await field.read()):
        await wait_for_change(tab, _LATE, hang=hang())
        after = await field.read()
    if field.lost or is_right(after):  # after a navigation, the next observation shows the result
        return "", ()
    if field.around and _shows(field.around, typed_text) and not _shows(around, typed_text):
        field.kind, before, after = "widget", around or None, field.around  # the field only receives the keys
        if is_right(after):
            return "", ()
    if after is None or (field.kind == "widget" and typed_text and not any(map(without_spaces, after))):
        return "", (_event("The text was typed, but what the field holds now can't be read."),)
    held = next((text for text in after if without_spaces(text)), "")
    holds = "a secret" if field.secret else repr(shorten(" ".join(held.split()), 200))
    expected = "the one that was typed" if field.secret else repr(shorten(typed_text, 80))
    if field.kind != "value" and before is not None and _keeps_old(before, typed_text, after, field.kind == "widget"):
        if not typed_text:
            return f"The field was not emptied: it shows {holds} now.", ()
        return f"The text was added to what the field held: it shows {holds} now, not {expected} alone.", ()
    return "", (_event(f"The field holds {holds} now, not {expected}."),)


def _keeps_old(before: tuple[str, ...], typed_text: str, after: tuple[str, ...], numbered: bool) -> bool:
    return any(keeps_old(old, typed_text, now, numbered=numbered) for old, now in zip(before, after, strict=True))


def _shows(texts: tuple[str, ...], expected: str) -> bool:
    return bool(without_spaces(expected)) and any(without_spaces(expected) in without_spaces(text) for text in texts)


def _event(text: str) -> PageEvent:
    return PageEvent(kind="field", text=text)


class _Field:
    """The element that had the focus when `find` was called."""

    def __init__(self, tab: Tab, hang: Callable[[], float]) -> None:
        self._tab, self._hang = tab, hang
        self._element: ElementHandle | None = None
        self.kind = ""
        """Kind as in `_LOOK`; empty if it can't be edited."""
        self.secret = False
        self.lost = False
        """Whether its document no longer exists."""
        self.is_empty = False
        """Whether it is an editor without any content, whose cursor and format must not be changed."""
        self.own: str | None = None
        """Value of a form's field, whatever its kind."""
        self.around: tuple[str, ...] = ()
        """Content of the widget for which it may only receive keys."""

    async def find(self) -> tuple[str, ...] | None:
        """Find the focused element; return its content as `read` does."""
        frame: Frame | None = self._tab.page.main_frame
        self.kind, self.lost = "", False
        while frame is not None:
            found = await self._run(frame.evaluate_handle(FOCUSED))
            self._element, frame = found.as_element() if found is not None else None, None
            content = await self._look()
            if content is not None and content["frame"] and self._element is not None:
                frame = await self._run(self._element.content_frame())
        if content is None:
            return None
        self.kind, self.secret, self.is_empty = content["kind"], content["secret"], content["empty"]
        return _texts(content)

    async def wait(self) -> tuple[str, ...] | None:
        """Call `find` whenever something gets the focus, until that is editable; return its content."""
        limit = Deadline(_FOCUS)
        while True:
            await self._run(self._tab.page.evaluate(_FOCUS_COMES, limit.left() * 1000))
            found = await self.find()
            if self.kind or limit.over:
                return found
            if self.lost:
                await self._tab.wait_for_activity(limit.left(0.05))

    async def read(self) -> tuple[str, ...] | None:
        """Return its content; None if it can't be read."""
        return _texts(await self._look()) if self.kind else None

    async def _look(self) -> dict[str, Any] | None:
        if self._element is None:
            return None
        content = await self._run(self._element.evaluate(_LOOK, self.kind))
        self.around, self.own = tuple((content or {}).get("around") or ()), (content or {}).get("own")
        return content

    async def empty(self, keyboard: Keyboard, *, shows: bool) -> None:
        """Delete its content by keys."""
        assert self._element is not None
        await keyboard.press("ControlOrMeta+a")
        marked = await self._run(self._element.evaluate(_MARK, self.kind))
        if marked or (shows and self.kind == "widget"):
            await keyboard.press("Delete")

    async def _run(self, call: Awaitable[T]) -> T | None:
        with contextlib.suppress(PlaywrightError):
            return await self._tab.run(call, self._hang(), "looking at a field")
        self.lost = True
        return None


def _texts(content: dict[str, Any] | None) -> tuple[str, ...] | None:
    return tuple(content["texts"]) if content is not None and content["texts"] is not None else None
