"""Input of a person into a session's pages, and pictures of them, without a window. Chromium only.

Input is sent by the protocol, so pages receive it like that of a mouse and a keyboard: as trusted events. It does not
wait for the session's other calls, so a person can type while a page loads. Pictures do not include what a browser
shows outside of its pages (lists to choose from, calendars); `RemoteInput.point` returns what to show instead.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar
from weakref import WeakKeyDictionary

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.actions import Action, Point, Select, Selector, Type
from pytest_webarena.browser.acting.keys import UnknownKey, playwright_keys
from pytest_webarena.browser.acting.targets import find_target
from pytest_webarena.browser.acting.uploads import grant_lease
from pytest_webarena.browser.faults import (
    ActionFailed,
    DialogBlocks,
    PageCrashed,
    ScriptFailed,
    TabClosed,
    Unresponsive,
)
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.reports import Outcome
from pytest_webarena.browser.tabs.tab import Tab

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from pytest_webarena.browser.tabs.tabs import Tabs

__all__ = ["BrowserState", "Frame", "Key", "Offer", "Pointer", "RemoteInput", "ShownTab"]

T = TypeVar("T")

_HANG = 5.0
"""Seconds that a page may take to receive input or to answer."""
_PAUSE = 0.06
"""Minimum seconds between two pictures, so that pages with animations do not use up the machine."""
_QUALITY = 75
_FRAMES = 8
"""Maximum number of a page's frames in which selected text is searched for."""

_MODIFIERS = {1: "Alt", 2: "Control", 4: "Meta", 8: "Shift"}

_OFFER = """(x, y) => {
  const el = document.elementFromPoint(x, y);
  if (!el) return null;
  const kinds = ['date', 'time', 'datetime-local', 'month', 'week', 'color'];
  const label = el.labels && el.labels.length ? 
    [...el.labels[0].childNodes].map(node => node.nodeType === 3 ? node.data : '').join(' ').trim().slice(0, 200) : '';
  if (el instanceof HTMLSelectElement && !el.multiple && el.size <= 1 && !el.disabled) {
    const options = [...el.options].slice(0, 2000);
    return {kind: 'select', label, value: el.selectedOptions.length ? el.selectedOptions[0].label : '',
            options: options.filter(each => !each.disabled).map(each => each.label)};
  }
  if (el instanceof HTMLInputElement && kinds.includes(el.type) && !el.disabled && !el.readOnly) {
    return {kind: el.type, label, value: el.value, options: []};
  }
  return null;
}"""
_SELECTED = """() => {
  const el = document.activeElement;
  if (el && typeof el.value === 'string' && typeof el.selectionStart === 'number' && el.type !== 'password') {
    const text = el.value.slice(el.selectionStart, el.selectionEnd);
    if (text) return text;
  }
  return `${getSelection() || ''}`;
}"""


class _Session(Protocol):
    """The part of a session that remote input needs."""

    async def tabs_for_person(self, *, acts: bool) -> Tabs: ...

    def call_concurrently(self, coroutine: Coroutine[Any, Any, T], seconds: float, what: str) -> T: ...

    def execute(self, action: Action) -> Outcome: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A picture of the current tab."""

    number: int
    """Consecutive number of the picture."""
    data: bytes
    """Image as JPEG."""
    width: float
    height: float
    """Size of the viewport in CSS pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTab:
    """One of the tabs. Their order is that of the browser."""

    title: str
    url: str
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserState:
    """State of the browser that is not in the picture."""

    tabs: tuple[ShownTab, ...]
    loading: bool
    dialog: tuple[str, str, str] | None
    """Kind, message and proposed answer of the open dialog."""
    file_dialog: Literal["", "one", "many"] = ""
    """Whether the page waits for a file, or for several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A control that a browser would show outside of its page for a pressed field. `RemoteInput.take` sets a value."""

    kind: str
    """``select`` or the type of a field: ``date``, ``time``, ``color``, …"""
    label: str
    value: str
    options: tuple[str, ...]
    at: Selector | Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """A mouse event, in CSS pixels of the viewport."""

    kind: Literal["move", "down", "up", "wheel"]
    x: float
    y: float
    button: Literal["left", "middle", "right"] = "left"
    clicks: int = 1
    modifiers: int = 0
    """Bit mask of modifiers: 1 Alt, 2 Control, 4 Meta, 8 Shift."""
    across: float = 0.0
    down: float = 0.0
    """Distance that the wheel scrolls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A keyboard event."""

    kind: Literal["down", "up"]
    key: str
    """The key as in ``KeyboardEvent.key``."""
    modifiers: int = 0
    """Bit mask of modifiers, as in `Pointer`."""


class RemoteInput:
    """Sends input and receives pictures. Made by `Session.remote_input`; thread-safe.

    Calls end in time whatever a page does. `BrowserError` if the browser has died. Input that a page does not receive,
    because it is closed or hangs, is lost, as with a window.
    """

    def __init__(self, session: _Session) -> None:
        self._session = session
        self._cast_of: Tab | None = None
        self._cast: tuple[CDPSession, Any] | None = None
        self._frame: Frame | None = None
        self._numbers = 0
        self._held: WeakKeyDictionary[Tab, set[str]] = WeakKeyDictionary()
        """Modifier keys that are held down, by tab."""
        self._new_frame: asyncio.Event | None = None

    def frame(self, after: int, seconds: float) -> Frame | None:
        """Return the latest picture after number ``after``; wait at most ``seconds``; None if nothing changed."""
        return self._session.call_concurrently(
            self._next_frame(after, seconds), seconds + 3 * _HANG, "showing the page"
        )

    def state(self) -> BrowserState:
        """Return tabs, dialogs and loading state."""
        return self._session.call_concurrently(self._state(), 3 * _HANG, "looking at the tabs")

    def point(self, pointer: Pointer) -> Offer | None:
        """Move, press, release or turn the mouse.

        A press on a field whose control opens outside of the page is not sent; the control is returned instead.
        """
        return self._session.call_concurrently(self._point(pointer), 3 * _HANG, "moving the mouse")

    def key(self, key: Key) -> None:
        """Press or release a key."""
        self._session.call_concurrently(self._key(key), 2 * _HANG, "pressing a key")

    def insert(self, text: str) -> None:
        """Insert text at the cursor, for pasted text and text composed of several keys."""
        self._session.call_concurrently(self._insert(text), 2 * _HANG, "inserting text")

    def selected(self) -> str:
        """Return the text that is selected in the current tab, or else in another one."""
        return self._session.call_concurrently(self._selected(), 6 * _HANG, "reading what is selected")

    def take(self, offer: Offer, value: str) -> str:
        """Set the field of an offered control to a value; return why that failed, or an empty string."""
        if offer.kind == "select":
            return self._session.execute(Select(offer.at, (value,))).error
        return self._session.execute(Type(offer.at, value, clear=True)).error

    def choose_files(self, paths: Sequence[Path]) -> str:
        """Upload files to the page that waits for them; return why that failed, or an empty string."""
        return self._session.call_concurrently(self._choose_files(paths), 3 * _HANG, "choosing files")

    def act(self, action: Action) -> str:
        """Perform a browser action, e.g. a navigation or a dialog's answer; return why it had no effect, or empty."""
        return self._session.execute(action).error

    # --- pictures

    async def _next_frame(self, after: int, seconds: float) -> Frame | None:
        limit = Deadline(seconds)
        if self._new_frame is None:
            self._new_frame = asyncio.Event()
        while True:
            tab = (await self._session.tabs_for_person(acts=False)).current
            async with _ignoring_lost_input():
                await self._show(tab)
            if self._frame is not None and self._frame.number > after:
                return self._frame
            if limit.over:
                return None
            self._new_frame.clear()
            with contextlib.suppress(TimeoutError):  # wake up regularly, because another tab may have become current
                await asyncio.wait_for(self._new_frame.wait(), limit.left(0.25))

    async def _show(self, tab: Tab) -> None:
        """Make the browser send pictures of ``tab`` only."""
        if tab is self._cast_of and self._cast is not None and self._cast[0] is tab.session:
            return
        before, self._cast_of, self._cast = (self._cast_of, self._cast), tab, None
        if before[0] is not None and before[1] is not None:
            old, (session, receive) = before[0], before[1]
            session.remove_listener("Page.screencastFrame", receive)
            old.in_background(session.send("Page.stopScreencast"))
        if tab.session is None:
            self._cast_of = None
            return
        session, loop = tab.session, asyncio.get_running_loop()

        def received(params: Mapping[str, Any]) -> None:
            acknowledge = {"sessionId": params.get("sessionId")}
            loop.call_later(_PAUSE, lambda: tab.in_background(session.send("Page.screencastFrameAck", acknowledge)))
            self._keep(params)

        session.on("Page.screencastFrame", received)
        self._cast = (session, received)
        settings = {"format": "jpeg", "quality": _QUALITY}
        try:
            if tab.dialogs.open is None:
                await tab.send("Page.bringToFront", seconds=_HANG)
            await tab.run(session.send("Page.startScreencast", settings), _HANG, "showing a tab", despite_dialog=True)
        except BaseException:
            # After a timeout on a busy machine, the next call starts again; otherwise no picture would ever arrive.
            if self._cast == (session, received):
                session.remove_listener("Page.screencastFrame", received)
                self._cast_of = self._cast = None
            raise

    def _keep(self, params: Mapping[str, Any]) -> None:
        size = params.get("metadata", {})
        self._numbers += 1
        self._frame = Frame(
            number=self._numbers,
            data=base64.b64decode(params.get("data", "")),
            width=float(size.get("deviceWidth", 0)),
            height=float(size.get("deviceHeight", 0)),
        )
        if self._new_frame is not None:
            self._new_frame.set()

    async def _state(self) -> BrowserState:
        tabs = await self._session.tabs_for_person(acts=False)
        current = tabs.current
        titles = [await tab.title() for tab in tabs]
        opened, chooser = current.dialogs.open, current.file_dialog
        return BrowserState(
            tabs=tuple(
                ShownTab(title=title, url=tab.url, active=tab is current)
                for title, tab in zip(titles, tabs, strict=False)
            ),
            loading=current.is_navigating(),
            dialog=None if opened is None else (opened.type, opened.message, opened.default_value),
            file_dialog="" if chooser is None else "many" if chooser.is_multiple() else "one",
        )

    async def _selected(self) -> str:
        tabs = await self._session.tabs_for_person(acts=False)
        for tab in sorted(tabs, key=lambda tab: tab is not tabs.current):  # a window may show another tab
            for frame in tab.page.frames[:_FRAMES]:
                async with _ignoring_lost_input():
                    text = await tab.run(frame.evaluate(_SELECTED), _HANG / 4, "reading what is selected")
                    if str(text).strip():
                        return " ".join(str(text).split())[:10_000]
        return ""

    # --- input

    async def _point(self, pointer: Pointer) -> Offer | None:
        tab = (await self._session.tabs_for_person(acts=pointer.kind == "down")).current
        if pointer.kind == "down" and pointer.button == "left":
            offer = await self._offer(tab, pointer)
            if offer is not None:
                return offer
        async with _ignoring_lost_input():
            await self._hold(tab, pointer.modifiers)
            await tab.run(self._moved(tab, pointer), _HANG, "moving the mouse")
        return None

    async def _moved(self, tab: Tab, pointer: Pointer) -> None:
        mouse = tab.page.mouse
        await mouse.move(pointer.x, pointer.y)
        if pointer.kind == "down":
            await mouse.down(button=pointer.button, click_count=pointer.clicks)
        elif pointer.kind == "up":
            await mouse.up(button=pointer.button, click_count=pointer.clicks)
        elif pointer.kind == "wheel":
            await mouse.wheel(pointer.across, pointer.down)

    async def _hold(self, tab: Tab, modifiers: int) -> None:
        """Hold exactly these modifier keys down for the next event in ``tab``."""
        pressed = self._held.setdefault(tab, set())
        requested = {name for bit, name in _MODIFIERS.items() if modifiers & bit}
        for name in pressed - requested:
            pressed.discard(name)
            await tab.run(tab.page.keyboard.up(name), _HANG, "releasing a key")
        for name in requested - pressed:
            pressed.add(name)
            await tab.run(tab.page.keyboard.down(name), _HANG, "pressing a key")

    async def _offer(self, tab: Tab, pointer: Pointer) -> Offer | None:
        async with _ignoring_lost_input():
            point = Point(pointer.x, pointer.y)
            found = await tab.evaluate(_OFFER, point.x, point.y, seconds=_HANG, what="looking at a point of the page")
            if found:
                place = await find_target(tab, point, hang=_HANG, patience=0.0).place("click")
                path = place.record.selector
                return Offer(
                    kind=found["kind"],
                    label=found["label"],
                    value=found["value"],
                    options=tuple(found["options"]),
                    at=Selector(f"css={path}") if path else point,
                )
        return None

    async def _key(self, key: Key) -> None:
        tab = (await self._session.tabs_for_person(acts=key.kind == "down")).current
        if key.key in _MODIFIERS.values():
            return  # modifiers are sent with the next event
        with contextlib.suppress(UnknownKey):
            name = playwright_keys(key.key) if len(key.key) > 1 else key.key
            async with _ignoring_lost_input():
                await self._hold(tab, key.modifiers)
                if len(name) == 1 and not (name.isascii() and name.isprintable()):
                    if key.kind == "down":
                        await tab.run(tab.page.keyboard.insert_text(name), _HANG, "inserting text")
                elif key.kind == "down":
                    await tab.run(tab.page.keyboard.down(name), _HANG, "pressing a key")
                else:
                    await tab.run(tab.page.keyboard.up(name), _HANG, "releasing a key")

    async def _insert(self, text: str) -> None:
        tab = (await self._session.tabs_for_person(acts=True)).current
        async with _ignoring_lost_input():
            await tab.run(tab.page.keyboard.insert_text(text), _HANG, "inserting text")

    async def _choose_files(self, paths: Sequence[Path]) -> str:
        tab = (await self._session.tabs_for_person(acts=True)).current
        if (dialog := tab.file_dialog) is None:
            return "The page does not wait for a file any more."
        tab.file_dialog = None
        if not paths:
            return ""
        try:
            await grant_lease(tab, dialog, paths, _HANG)
        except (ActionFailed, DialogBlocks, PlaywrightError, TabClosed, Unresponsive) as error:
            return str(error) or "The page could not take the file."
        return ""


@contextlib.asynccontextmanager
async def _ignoring_lost_input() -> AsyncIterator[None]:
    """Ignore input that a page does not receive. Dialogs that it opens are reported elsewhere."""
    errors = (ActionFailed, DialogBlocks, PageCrashed, PlaywrightError, ScriptFailed, TabClosed, Unresponsive)
    with contextlib.suppress(*errors):
        yield
