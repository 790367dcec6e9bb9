"""Performs one action in the browser. Failures are reported to the agent; only browser faults are raised."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Back,
    ByScript,
    Check,
    Click,
    CloseTab,
    DismissDialog,
    Drag,
    FocusTab,
    Forward,
    Goto,
    Hover,
    Invalid,
    NewTab,
    Noop,
    Note,
    Point,
    Press,
    PressFocused,
    Reload,
    Scroll,
    Search,
    Select,
    Stop,
    Target,
    Type,
    TypeFocused,
    Upload,
    Wait,
)
from pytest_webarena.browser.acting import element_probes, scripts
from pytest_webarena.browser.acting.filling import fill
from pytest_webarena.browser.acting.keyboard import Keyboard, sendable_text
from pytest_webarena.browser.acting.keys import UnknownKey, playwright_keys
from pytest_webarena.browser.acting.mouse import Mouse
from pytest_webarena.browser.acting.performed import Performed
from pytest_webarena.browser.acting.script_actions import BY_SCRIPT, failure_text
from pytest_webarena.browser.acting.scrolling import scroll
from pytest_webarena.browser.acting.targets import HitPoint, TargetOnPage, find_target
from pytest_webarena.browser.acting.typing_watch import TypingWatch
from pytest_webarena.browser.acting.uploads import allowed_files, choose_in_field, drop_files, file_dialog, grant_lease
from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.faults import ActionFailed, ScriptFailed
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import first_line
from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.browser.search import NO_SEARCH, SearchKeys
from pytest_webarena.browser.tabs.address_guard import RefusedAddress
from pytest_webarena.browser.tabs.navigation import go_through_history, go_to, reload
from pytest_webarena.browser.tabs.settle import settle, wait_for_change
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.browser.tabs.tabs import Tabs
from pytest_webarena.evidence import TargetRecord
from pytest_webarena.text import shorten

__all__ = ["perform"]

_FILE_DIALOG = 2.0
"""Seconds to wait for a file dialog after the click that should open it."""
_LONGEST_WAIT = 20.0
"""Maximum duration of one `Wait` in seconds."""
_FORMATS = {
    "date": "2026-01-31",
    "time": "13:45",
    "datetime-local": "2026-01-31T13:45",
    "month": "2026-01",
    "week": "2026-W05",
    "color": "#ff8800",
    "range": "a number in its range",
}
_DURING_DIALOGS = NewTab | CloseTab | FocusTab | Noop | Note | Stop | Invalid
"""Actions that are possible while a dialog is open."""
_DURING_FILE_DIALOGS = _DURING_DIALOGS | Hover | Scroll | Upload | Wait
"""Actions that leave a file dialog open; others act on the page below it, as if it had been cancelled."""


async def perform(
    tabs: Tabs, action: Action, limits: Deadlines, deadline: Deadline, search: SearchKeys | None = None
) -> Performed:
    """Perform ``action`` on the current tab. The caller waits for its effects.

    Failures for the agent are in ``error``. Raises `Unresponsive`, `DialogBlocks`, `TabClosed`, `BrowserError`, and the
    `SiteError` of a search.
    """
    performer = _Performer(tabs, limits, deadline, search)
    try:
        return await performer.do(action)
    except (ActionFailed, RefusedAddress, UnknownKey) as refused:
        return Performed(error=str(refused))
    except ScriptFailed as error:
        return Performed(error=f"The page got in the way: {error}")
    except PlaywrightError as error:
        return Performed(error=f"The browser could not do that: {shorten(first_line(error))}")


class _Performer:
    """Performs one action on the current tab."""

    def __init__(self, tabs: Tabs, limits: Deadlines, deadline: Deadline, search: SearchKeys | None) -> None:
        self._tabs = tabs
        self._engine = search
        self._tab: Tab = tabs.current
        self._limits = limits
        self._deadline = deadline
        self._mouse = Mouse(tabs.current, lambda: self._hang)
        self._keyboard = Keyboard(tabs.current, lambda: self._hang)
        self._began, self._requests = time.monotonic(), tuple(self._tab.inflight)

    async def _rest(self) -> None:
        """Wait until the page has reacted to the first part of the action."""
        await settle(self._tab, self._limits, self._deadline, before=self._requests, brief=True, since=self._began)

    async def do(self, action: Action) -> Performed:
        dialog = self._tab.dialogs.open
        if not isinstance(action, _DURING_FILE_DIALOGS):
            self._tab.file_dialog = None
        if dialog is not None and not isinstance(action, _DURING_DIALOGS):
            return await self._answer_dialog(action)
        match action:
            case Click() | Hover():
                return await self._point(action)
            case TypeFocused():
                return await self._write(action)
            case Type():
                return await self._type(action)
            case Press():
                return await self._press(action)
            case Scroll():
                return await self._scroll(action)
            case Select():
                if not action.options:
                    raise ActionFailed("Say which option to choose.")
                return await self._choose(self._find(action.target), action.options)
            case Check():
                return await self._check(action)
            case Drag():
                return await self._drag(action)
            case Upload():
                return await self._upload(action)
            case AcceptDialog() | DismissDialog():
                raise ActionFailed("No dialog is open.")
            case Goto():
                return Performed(value=await go_to(self._tab, action.url, self._limits, self._deadline))
            case Reload():
                return Performed(value=await reload(self._tab, self._limits, self._deadline))
            case Back() | Forward():
                step = -1 if isinstance(action, Back) else 1
                return Performed(value=await go_through_history(self._tab, step, seconds=self._hang))
            case NewTab():
                await self._tabs.open()
                return Performed()
            case CloseTab():
                await self._tabs.close(self._tab)
                return Performed()
            case FocusTab():
                return self._focus(action.index)
            case Invalid():
                return Performed(error=action.reason)
            case ByScript():
                return await self._by_script(action)
            case Wait():
                return await self._wait(action.seconds)
            case Note():
                return Performed(value=action.text)
            case Search():
                return await self._search(action.query)
            case Noop() | Stop():
                return Performed()

    async def _search(self, query: str) -> Performed:
        if (engine := self._engine) is None:
            raise ActionFailed(NO_SEARCH)
        if engine.page:
            return Performed(value=await go_to(self._tab, engine.address(query), self._limits, self._deadline))
        results = await engine.find(query, seconds=self._deadline.left())
        about = f"the search for {shorten(query, 80)!r}"
        found = [f"Result {number} of {about}: {result}" for number, result in enumerate(results, start=1)]
        found = found or [f"Nothing was found by {about}."]
        return Performed(value=query, events=tuple(PageEvent(kind="search", text=text) for text in found))

    async def _wait(self, seconds: float) -> Performed:
        if not 0 <= seconds < math.inf:
            raise ActionFailed(f"Say for how many seconds to wait, at most {_LONGEST_WAIT:g}.")
        seconds = self._deadline.left(min(seconds, _LONGEST_WAIT))
        await wait_for_change(self._tab, seconds, hang=self._hang)
        return Performed(value=f"{seconds:g}")

    def _in_pixels(self, point: Point) -> Point:
        size = self._tab.page.viewport_size or {"width": 0, "height": 0}
        return Point(point.x * size["width"], point.y * size["height"]) if point.relative else point

    def _find(self, target: Target) -> TargetOnPage:
        if isinstance(target, Point):
            target = self._in_pixels(target)
        patience = self._deadline.left(self._limits.selector)
        return find_target(self._tab, target, hang=self._hang, patience=patience)

    @property
    def _hang(self) -> float:
        return self._deadline.left(self._limits.hang)

    async def _answer_dialog(self, action: Action) -> Performed:
        keys = playwright_keys(action.keys) if isinstance(action, Press) else ""
        if isinstance(action, AcceptDialog | DismissDialog) or keys in ("Enter", "Escape"):
            accept = isinstance(action, AcceptDialog) or keys == "Enter"
            text = action.text if isinstance(action, AcceptDialog) else None
            await self._tab.dialogs.answer(accept=accept, text=None if text is None else sendable_text(text))
            return Performed(value=keys or text)
        open_dialog = self._tab.dialogs.describe()
        raise ActionFailed(f"A dialog is open: {open_dialog}. Press Enter to accept it or Escape to dismiss it first.")

    async def _point(self, action: Click | Hover) -> Performed:
        target = self._find(action.target)
        if isinstance(action, Hover):
            place = await target.place("hover")
            await self._mouse.move(place)
            return Performed(target=place.record)
        modifiers = [playwright_keys(key) for key in action.modifiers]
        place = await target.place("click")
        if place.option:
            chosen = await self._choose(target, None)
            return Performed(target=place.record, value=chosen.value)
        await self._mouse.click(place, action.button, action.count, modifiers)
        return Performed(target=place.record)

    async def _type(self, action: Type) -> Performed:
        record, place, focus = None, None, None
        if action.target is not None:
            target = self._find(action.target)
            place = await target.place("type")
            record = place.record
            if place.option or place.kind == "select":
                chosen = await self._choose(target, (action.text,))
                return Performed(target=record, value=chosen.value)
            if await self._set(target, place.kind, action.text):
                return await self._typed(action, record)
            if not place.focused:
                await self._mouse.click(place)
            focus = functools.partial(target.call, scripts.FOCUS) if place.field else None
        if not action.clear:
            events = await self._append(action.text, place, focus)
            return await self._typed(action, record, events)
        clicked = place is not None
        error, events = await fill(
            self._tab, self._keyboard, action.text, lambda: self._hang, clicked=clicked, focus=focus
        )
        if error:  # Enter is not pressed either, because it may submit the content
            return Performed(target=record, value=action.text, error=error, events=events)
        return await self._typed(action, record, events)

    async def _typed(self, action: Type, record: TargetRecord | None, events: tuple[PageEvent, ...] = ()) -> Performed:
        if action.enter:
            if record is not None and record.role == "combobox":  # its list of options may be filtered by a timer
                await self._rest()
            await self._keyboard.press("Enter")
        return Performed(target=record, value=action.text, events=events)

    async def _append(
        self, text: str, place: HitPoint | None, focus: Callable[[], Awaitable[Any]] | None
    ) -> tuple[PageEvent, ...]:
        """Type at the focus, after the content of a ``place``, and see what takes the text; return events."""
        if not text:
            return ()
        watch = TypingWatch(self._tab, self._keyboard, lambda: self._hang)
        if not await watch.start(place, patient=place is not None and focus is None) and focus is not None:
            await focus()
            await watch.start(place, patient=False)
        await self._keyboard.type(text)
        return await watch.end(targeted=place is not None)

    async def _set(self, target: TargetOnPage, kind: str, text: str) -> bool:
        """Set a field that is not typed in, such as a date field; return whether it is one."""
        if kind == "file":
            raise ActionFailed("Files can't be chosen by typing; upload one.")
        if kind in ("checkbox", "radio"):
            raise ActionFailed(f"A {kind} takes no text; check it, or click it.")
        if kind not in _FORMATS:
            return False
        if not await target.call(scripts.SET_VALUE, text, self._tab.dom_events.new_token()):
            raise ActionFailed(f"This is a {kind} field: it takes a value such as {_FORMATS[kind]}, not {text!r}.")
        return True

    async def _focus_on(self, target: Target) -> tuple[TargetOnPage, TargetRecord, str]:
        """Give the target the keyboard focus without a click; return it with its record and the kind of its field."""
        element = self._find(target)
        found = await element.call(scripts.FOCUS)
        record = TargetRecord(**found["record"])
        if not found["has"]:
            raise ActionFailed(f"{record.role} {shorten(record.name, 60)!r} can't have the keyboard focus.")
        return element, record, found["kind"]

    async def _write(self, action: TypeFocused) -> Performed:
        """Type at the focus, replacing selected text."""
        record, done, there = None, False, False
        if action.target is not None:
            target, record, kind = await self._focus_on(action.target)
            if kind == "select":
                return Performed(target=record, value=(await self._choose(target, (action.text,))).value)
            done = await self._set(target, kind, action.text)
            if not done and action.clear:
                held = [
                    sendable_text(text) if at_once is None else "" for text, at_once in (action.pieces or (("", None),))
                ]
                there = any(held) and bool(await target.call(scripts.SELECT_BETWEEN, held[0], held[-1]))
                if not there and await target.call(scripts.SELECT_CONTENT) and not action.text:
                    await self._keyboard.press("Delete")
        for text, at_once in () if done else action.pieces or ((action.text, False),):
            if at_once is None and there:
                continue
            await (self._keyboard.type(text) if at_once is False else self._keyboard.insert(sendable_text(text)))
        if action.enter:
            await self._keyboard.press("Enter")
        return Performed(target=record, value=action.text)

    async def _press(self, action: Press) -> Performed:
        keys = playwright_keys(action.keys)
        record = None
        if isinstance(action, PressFocused) and action.target is not None:
            _, record, _ = await self._focus_on(action.target)
        elif action.target is not None:
            place = await self._find(action.target).place("press")
            if not place.focused:  # a click on an element that takes the focus by script would also act
                await self._mouse.click(place)
            record = place.record
        if len(keys) == 1 and not keys.isascii():
            await self._keyboard.type(keys)  # a character without a key on this keyboard
        else:
            await self._keyboard.press(keys)
        return Performed(target=record, value=keys)

    async def _scroll(self, action: Scroll) -> Performed:
        target = None if action.target is None else self._find(action.target)
        return await scroll(self._tab, self._mouse, action, target, self._limits, self._deadline)

    async def _drag(self, action: Drag) -> Performed:
        path = [(point.x, point.y) for point in map(self._in_pixels, action.path)]
        ends = self._find(action.target), self._find(action.to)
        place, destination = await self._mouse.drag(*ends, self._rest, path)
        return Performed(target=place.record, value=f"to {destination.record.role} {destination.record.name!r}")

    async def _upload(self, action: Upload) -> Performed:
        paths = allowed_files(self._tabs.uploads, action.files)
        chooser, self._tab.file_dialog = self._tab.file_dialog, None
        record = None
        if action.target is None and chooser is None:
            raise ActionFailed("No file dialog is open: name the file field, or the button that opens one.")
        if action.target is not None:
            target = self._find(action.target)
            record = await choose_in_field(self._tab, target, paths)
            if record is not None:
                return Performed(target=record, value=", ".join(action.files))
            if chooser is None:
                place = await target.place("click")
                record = place.record
                await self._mouse.click(place)
                chooser = await file_dialog(self._tab, self._deadline.left(_FILE_DIALOG))
            if chooser is None:
                await drop_files(target, paths)
        if chooser is not None:
            await grant_lease(self._tab, chooser, paths, self._hang)
        return Performed(target=record, value=", ".join(action.files))

    async def _choose(self, target: TargetOnPage, options: tuple[str, ...] | None) -> Performed:
        wanted = list(options) if options is not None else None
        found = await target.call(scripts.CHOOSE, wanted, self._tab.dom_events.new_token())
        match found["state"]:
            case "no-select":
                raise ActionFailed("This is no list to choose from. Click it, then what it opens.")
            case "no-option":
                listed = ", ".join(repr(option) for option in found["options"][:30])
                raise ActionFailed(f"The list has no option {found['missing']!r}. It has: {listed}.")
            case "disabled":
                raise ActionFailed("The list or its option is disabled.")
            case "single":
                raise ActionFailed("Only one option of this list can be chosen.")
            case "removed":
                raise ActionFailed(
                    "Nothing was chosen: the page removed the list when it got the keyboard focus. Choose the option "
                    "by clicks or keys instead."
                )
        if not found["drawn"]:  # the control that the page draws in its place may choose again
            await self._rest()
            now = found["chosen"]
            with contextlib.suppress(ActionFailed):  # it is no longer there
                now = await target.call(scripts.CHOSEN)
            if now != found["chosen"]:
                held = ", ".join(map(repr, now)) or "nothing"
                raise ActionFailed(
                    f"The page does not draw this list, and chose {held} again. Use the control that it shows instead."
                )
        return Performed(target=TargetRecord(**found["record"]), value=", ".join(found["chosen"]))

    async def _by_script(self, action: ByScript) -> Performed:
        """Perform a script's action, whether or not the element is visible."""
        target = self._find(action.target)
        record = TargetRecord(**await target.call(element_probes.DESCRIBE))
        options = action.unless_held, action.alone, [list(row) for row in action.rows], list(action.names)
        found = await target.call(BY_SCRIPT, action.event, action.value, *options)
        if isinstance(found, dict):
            raise ActionFailed(failure_text(action, found))
        return Performed(target=record, value=action.value)

    async def _check(self, action: Check) -> Performed:
        target = self._find(action.target)
        state = await target.call(scripts.IS_CHECKED)
        if state is None:
            raise ActionFailed("This is no checkbox or radio button; click it instead.")
        kind, checked = state
        if kind == "radio" and not action.checked:
            raise ActionFailed("A radio button can't be cleared; choose another one of its group.")
        place = await target.place("click")
        if checked != action.checked:
            await self._mouse.click(place)
            after = await target.call(scripts.IS_CHECKED)
            if after is not None and after[1] != action.checked:
                raise ActionFailed("The element was clicked, but its state did not change.")
        return Performed(target=place.record, value=str(action.checked).lower())

    def _focus(self, index: int) -> Performed:
        count = len(self._tabs)
        if not 0 <= index < count:
            tabs = "there is only tab 0" if count == 1 else f"the tabs are 0 to {count - 1}"
            raise ActionFailed(f"There is no tab {index}: {tabs}.")
        self._tabs.focus(index)
        return Performed(value=str(index))
