"""Carries out one action in the browser. What fails is told to the agent; only browser faults are raised."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.actions import (
    Action,
    Back,
    Check,
    Click,
    CloseTab,
    FocusTab,
    Forward,
    Goto,
    Hover,
    Invalid,
    NewTab,
    Noop,
    Press,
    Scroll,
    Select,
    Stop,
    Target,
    Type,
)
from pytest_webarena.browser import scripts
from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.faults import ActionFailed, ScriptFailed, Unresponsive
from pytest_webarena.browser.guards import RefusedAddress, resolve_address
from pytest_webarena.browser.keys import UnknownKey, playwright_keys
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import first_line, net_error, shorten
from pytest_webarena.browser.tab import Tab
from pytest_webarena.browser.tabs import Tabs
from pytest_webarena.browser.targets import Place, TargetOnPage, find_target
from pytest_webarena.evidence import TargetRecord

__all__ = ["Performed", "perform"]

_TYPED_KEY_BY_KEY = 200
"""Longer texts are inserted at once, but for the last character: key by key they would take seconds."""
_OVERTAKEN = 3
"""How often an address is tried while the page itself keeps going elsewhere."""
_FORMATS = {
    "date": "2026-01-31",
    "time": "13:45",
    "datetime-local": "2026-01-31T13:45",
    "month": "2026-01",
    "week": "2026-W05",
    "color": "#ff8800",
    "range": "a number in its range",
}
_DIRECTIONS = {
    "up": (0, -1, "at the top"),
    "down": (0, 1, "at the bottom"),
    "left": (-1, 0, "at the left end"),
    "right": (1, 0, "at the right end"),
}
"""Screens across, screens down, and where it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
    """What an action did."""

    target: TargetRecord | None = None
    value: str | None = None
    error: str = ""


async def perform(tabs: Tabs, action: Action, limits: Deadlines, deadline: Deadline) -> Performed:
    """Carry out ``action`` on the current tab. Waiting for its effects is the caller's.

    Whatever the agent can be told is in ``error``. Raises `Unresponsive`, `DialogOpened`, `TabClosed`, `BrowserError`.
    """
    hand = _Hand(tabs, limits, deadline)
    try:
        return await hand.do(action)
    except (ActionFailed, RefusedAddress, UnknownKey) as refused:
        return Performed(error=str(refused))
    except ScriptFailed as error:
        return Performed(error=f"The page got in the way: {error}")
    except PlaywrightError as error:
        return Performed(error=f"The browser could not do that: {shorten(first_line(error))}")


class _Hand:
    """Mouse and keyboard on the current tab."""

    def __init__(self, tabs: Tabs, limits: Deadlines, deadline: Deadline) -> None:
        self._tabs = tabs
        self._tab: Tab = tabs.current
        self._limits = limits
        self._deadline = deadline

    async def do(self, action: Action) -> Performed:
        dialog = self._tab.dialogs.open
        if dialog is not None and not isinstance(action, NewTab | CloseTab | FocusTab | Noop | Stop | Invalid):
            return await self._answer_dialog(action)
        match action:
            case Click() | Hover():
                return await self._point(action)
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
            case Goto():
                return await self._goto(action)
            case Back() | Forward():
                return await self._history(-1 if isinstance(action, Back) else 1)
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
            case Noop() | Stop():
                return Performed()

    def _find(self, target: Target) -> TargetOnPage:
        patience = self._deadline.left(self._limits.selector)
        return find_target(self._tab, target, hang=self._hang, patience=patience)

    @property
    def _hang(self) -> float:
        return self._deadline.left(self._limits.hang)

    async def _answer_dialog(self, action: Action) -> Performed:
        keys = playwright_keys(action.keys) if isinstance(action, Press) else ""
        if keys in ("Enter", "Escape"):
            await self._tab.dialogs.answer(accept=keys == "Enter")
            return Performed(value=keys)
        open_dialog = self._tab.dialogs.describe()
        raise ActionFailed(f"A dialog is open: {open_dialog}. Press Enter to accept it or Escape to dismiss it first.")

    async def _point(self, action: Click | Hover) -> Performed:
        target = self._find(action.target)
        if isinstance(action, Hover):
            place = await target.place("hover")
            await self._tab.run(self._tab.page.mouse.move(place.x, place.y), self._hang, "moving the mouse")
            return Performed(target=place.record)
        modifiers = [playwright_keys(key) for key in action.modifiers]
        place = await target.place("click")
        if place.option:
            chosen = await self._choose(target, None)
            return Performed(target=place.record, value=chosen.value)
        await self._click(place, action.button, action.count, modifiers)
        return Performed(target=place.record)

    async def _click(
        self, place: Place, button: str = "left", count: int = 1, modifiers: list[str] | None = None
    ) -> None:
        page = self._tab.page
        held: list[str] = []
        try:
            for key in modifiers or ():
                await self._tab.run(page.keyboard.down(key), self._hang, "holding a key")
                held.append(key)
            click = page.mouse.click(place.x, place.y, button=button, click_count=max(1, min(count, 3)))  # type: ignore[arg-type]
            await self._tab.run(click, self._hang, "clicking")
        finally:
            for key in reversed(held):
                self._tab.in_background(page.keyboard.up(key))

    async def _type(self, action: Type) -> Performed:
        target = self._find(action.target)
        place = await target.place("type")
        if place.option or place.kind == "select":
            chosen = await self._choose(target, (action.text,))
            return Performed(target=place.record, value=chosen.value)
        if place.kind == "file":
            raise ActionFailed("Files can't be chosen by typing.")
        if place.kind:
            if not await target.call(scripts.SET_VALUE, action.text):
                wanted = _FORMATS[place.kind]
                raise ActionFailed(
                    f"This is a {place.kind} field: it takes a value such as {wanted}, not {action.text!r}."
                )
        else:
            await self._click(place)
            if action.clear and await target.call(scripts.SELECT_CONTENT):
                await self._key("Delete")
            await self._text(action.text)
        if action.enter:
            await self._key("Enter")
        return Performed(target=place.record, value=action.text)

    async def _text(self, text: str) -> None:
        """Type any text. Keys that exist are pressed, other characters inserted; a line break presses Enter."""
        text = text.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")
        if not text:
            return
        keyboard = self._tab.page.keyboard
        if len(text) > _TYPED_KEY_BY_KEY:
            await self._tab.run(keyboard.insert_text(text[:-1]), self._hang, "inserting text")
            text = text[-1]
        await self._tab.run(keyboard.type(text), self._hang, "typing")

    async def _key(self, keys: str) -> None:
        await self._tab.run(self._tab.page.keyboard.press(keys), self._hang, "pressing a key")

    async def _press(self, action: Press) -> Performed:
        keys = playwright_keys(action.keys)
        record = None
        if action.target is not None:
            place = await self._find(action.target).place("type")
            await self._click(place)
            record = place.record
        await self._key(keys)
        return Performed(target=record, value=keys)

    async def _scroll(self, action: Scroll) -> Performed:
        if action.direction not in _DIRECTIONS:
            raise ActionFailed(f"There is no direction {action.direction!r}: scroll {', '.join(_DIRECTIONS)}.")
        across, down, end = _DIRECTIONS[action.direction]
        record = None
        if action.target is not None:
            target = self._find(action.target)
            found = await target.call(scripts.DESCRIBE)
            record = TargetRecord(**found)
            moved = await target.call(scripts.SCROLL, across, down)
        else:
            moved = await self._tab.evaluate(
                f"(...args) => ({scripts.SCROLL})(null, ...args)", across, down, seconds=self._hang, what="scrolling"
            )
        error = "" if moved else f"Nothing moved: this is already {end}."
        return Performed(target=record, value=action.direction, error=error)

    async def _choose(self, target: TargetOnPage, options: tuple[str, ...] | None) -> Performed:
        found = await target.call(scripts.CHOOSE, list(options) if options is not None else None)
        match found["state"]:
            case "no-select":
                raise ActionFailed("This is no list to choose from; click it instead.")
            case "no-option":
                listed = ", ".join(repr(option) for option in found["options"][:30])
                raise ActionFailed(f"The list has no option {found['missing']!r}. It has: {listed}.")
            case "disabled":
                raise ActionFailed("The list or its option is disabled.")
            case "single":
                raise ActionFailed("Only one option of this list can be chosen.")
        record = TargetRecord(**await target.call(scripts.DESCRIBE))
        return Performed(target=record, value=", ".join(found["chosen"]))

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
            await self._click(place)
            after = await target.call(scripts.IS_CHECKED)
            if after is not None and after[1] != action.checked:
                raise ActionFailed("It was clicked but did not change.")
        return Performed(target=place.record, value=str(action.checked).lower())

    async def _goto(self, action: Goto) -> Performed:
        url = resolve_address(action.url, self._tab.url)
        for _ in range(_OVERTAKEN):
            if not await self._overtaken(url):
                return Performed(value=url)
        raise ActionFailed(f"{shorten(url, 100)} was not opened: the page itself keeps going elsewhere.")

    async def _overtaken(self, url: str) -> bool:
        """Open ``url``; whether the page went somewhere else by itself before it arrived."""
        tab = self._tab
        document, seconds = tab.document, self._deadline.left(self._limits.navigation)
        going = tab.page.goto(url, wait_until="commit", timeout=seconds * 1000)
        try:
            await tab.run(going, seconds + 1.0, f"opening {shorten(url, 100)}")
        except Unresponsive as error:
            raise self._unanswered(url, seconds) from error
        except PlaywrightError as error:
            text = str(error)
            if "Timeout" in text:
                raise self._unanswered(url, seconds) from error
            if "interrupted by another navigation" in text:
                return True
            if "Download is starting" in text:
                return False
            if "ERR_ABORTED" in text:  # an empty answer, which leaves the page as it was, or another navigation
                await tab.changed(0.1)
                return tab.is_navigating() or tab.document != document
            reason = net_error(error) or shorten(first_line(error), 100)
            raise ActionFailed(f"{shorten(url, 100)} could not be opened: {reason}.") from error
        return False

    def _unanswered(self, url: str, seconds: float) -> ActionFailed:
        self._tab.stop_loading()
        return ActionFailed(f"{shorten(url, 100)} did not answer within {seconds:.3g} s.")

    async def _history(self, step: int) -> Performed:
        history = await self._tab.send("Page.getNavigationHistory", seconds=self._hang)
        index = history["currentIndex"] + step
        entries = history["entries"]
        # The first entry of every tab is the empty page it was opened with.
        if not 0 <= index < len(entries) or (index == 0 and entries[0]["url"] == "about:blank"):
            raise ActionFailed(f"There is no {'earlier' if step < 0 else 'later'} page in this tab.")
        entry = entries[index]
        await self._tab.send("Page.navigateToHistoryEntry", {"entryId": entry["id"]}, seconds=self._hang)
        return Performed(value=entry["url"])

    def _focus(self, index: int) -> Performed:
        count = len(self._tabs)
        if not 0 <= index < count:
            tabs = "there is only tab 0" if count == 1 else f"the tabs are 0 to {count - 1}"
            raise ActionFailed(f"There is no tab {index}: {tabs}.")
        self._tabs.focus(index)
        return Performed(value=str(index))
