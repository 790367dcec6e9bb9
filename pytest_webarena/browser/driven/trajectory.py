"""Derives steps from the commands of a self-driving agent: what it did, not how its client implements it."""

from __future__ import annotations

import asyncio
import queue
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from pytest_webarena.actions import AcceptDialog, DismissDialog, as_record
from pytest_webarena.browser.driven.hub import Command

__all__ = ["Ended", "Event", "Move", "Navigated", "StartedStep", "Trajectory", "read_move"]

_MODIFIERS = ((1, "Alt"), (2, "Control"), (4, "Meta"), (8, "Shift"))
_MAY_FOCUS = frozenset({"DOM.focus", "Runtime.callFunctionOn", "Runtime.evaluate"})
"""Commands that may move the keyboard focus without a click, so that text after one is a new step."""
_MAY_LEAD = frozenset(
    {"Debugger.evaluateOnCallFrame", "Runtime.callFunctionOn", "Runtime.evaluate", "Runtime.runScript"}
)
"""Commands that are no steps, but may change a page's address."""
_COARSE = 0.005
"""Tolerance of pages' clocks in seconds, because pages receive whole milliseconds."""
_REMEMBERED = 1000
"""Number of past commands that are kept. Questions about a script come soon after it ran."""
_BARE = frozenset({"Alt", "AltGraph", "CapsLock", "Control", "Meta", "Shift"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Effect of one command on a page, in the form of a step."""

    action: Mapping[str, Any]
    """The action as in `actions.as_record`."""
    value: str | None = None
    point: tuple[float, float] | None = None
    """Point in the viewport that it hits, in CSS pixels."""
    may_continue: bool = False
    """Whether it may continue a step of the same kind on the same page: typed text, wheel turns, a second click."""
    distance: float = 0.0
    """Scrolled distance in CSS pixels."""
    focused: bool = False
    """Whether it acts on the element with the keyboard focus."""
    at_once: bool = False
    """Whether it inserts a text at once, without keys."""

    @property
    def answers_dialog(self) -> bool:
        """Whether it answers a native dialog, which hides the page until then."""
        return self.action["kind"] in (AcceptDialog.kind, DismissDialog.kind)


def read_move(command: Command) -> Move | None:
    """Return the effect of ``command``; None if it only reads, or is part of another (mouse moves, key releases)."""
    params = command.params
    match command.method:
        case "Page.navigate":
            return _move("goto", url=str(params.get("url", "")), value=str(params.get("url", "")))
        case "Page.reload":
            return _move("press", keys="F5", target=None, value="F5")
        case "Target.createTarget":
            url = str(params.get("url", ""))
            return _move("new_tab", value=None if url == "about:blank" else url)
        case "Target.closeTarget" | "Page.close":
            return _move("close_tab")
        case "Page.handleJavaScriptDialog":
            return _answered(params)
        case "Input.insertText" | "Input.imeSetComposition":
            return _typed(str(params.get("text", "")), at_once=True)
        case "Input.dispatchKeyEvent":
            return _key(params)
        case "Input.dispatchMouseEvent":
            return _mouse(params)
        case "Input.synthesizeTapGesture":
            return _click(params, "left", 1)
        case "Input.dispatchTouchEvent" if params.get("type") == "touchStart" and params.get("touchPoints"):
            return _click(params["touchPoints"][0], "left", 1)
        case "Input.synthesizeScrollGesture":
            x, y = _number(params, "xDistance"), _number(params, "yDistance")
            return _scroll(-x, -y)
        case "Page.navigateToHistoryEntry":
            return _move("go_back")  # the event listener knows whether it was forward instead
    return None


def _move(kind: str, *, value: str | None = None, **fields: Any) -> Move:
    return Move(action={"kind": kind, **fields}, value=value)


def _answered(params: Mapping[str, Any]) -> Move:
    if not params.get("accept"):
        return Move(action=as_record(DismissDialog()))
    text = params.get("promptText")
    answer = None if text is None else str(text)
    return Move(action=as_record(AcceptDialog(answer)), value=answer)


def _typed(text: str, *, at_once: bool = False) -> Move:
    action = {"kind": "type", "target": None, "text": text, "clear": False, "enter": False}
    return Move(action=action, value=text, may_continue=True, focused=True, at_once=at_once)


def _key(params: Mapping[str, Any]) -> Move | None:
    if params.get("type") not in ("keyDown", "rawKeyDown", "char"):
        return None
    key, text = str(params.get("key", "")), _written(params)
    modifiers = [name for bit, name in _MODIFIERS if int(params.get("modifiers") or 0) & bit]
    if text and text.isprintable() and not {"Alt", "Control", "Meta"} & set(modifiers):
        return _typed(text)
    if params.get("type") == "char" or not key or key in _BARE or _letter(params):
        return None
    return _pressed(params)


def _pressed(params: Mapping[str, Any]) -> Move:
    modifiers = [name for bit, name in _MODIFIERS if int(params.get("modifiers") or 0) & bit]
    keys = "+".join([*modifiers, str(params.get("key", ""))])
    return Move(action={"kind": "press", "keys": keys, "target": None}, value=keys, focused=True)


def _written(params: Mapping[str, Any]) -> str:
    """Return the text that a key command writes. A raw key writes none, even if a client sends text with it."""
    return "" if params.get("type") == "rawKeyDown" else str(params.get("text", ""))


def _letter(params: Mapping[str, Any]) -> str:
    """Return the key if it is a character that this command does not write: a ``char`` command may follow."""
    key, modifiers = str(params.get("key", "")), int(params.get("modifiers") or 0)
    return key if len(key) == 1 and key.isprintable() and not _written(params) and not modifiers & 7 else ""


def _mouse(params: Mapping[str, Any]) -> Move | None:
    if params.get("type") == "mousePressed":
        return _click(params, str(params.get("button") or "left"), int(params.get("clickCount") or 1))
    if params.get("type") == "mouseWheel":
        return _scroll(_number(params, "deltaX"), _number(params, "deltaY"))
    return None


def _click(params: Mapping[str, Any], button: str, count: int) -> Move:
    x, y = _number(params, "x"), _number(params, "y")
    modifiers = [name for bit, name in _MODIFIERS if int(params.get("modifiers") or 0) & bit]
    action = {"kind": "click", "target": {"x": x, "y": y}, "button": button, "count": count, "modifiers": modifiers}
    return Move(action=action, point=(x, y), may_continue=count > 1)


def _scroll(x: float, y: float) -> Move | None:
    if not x and not y:
        return None
    direction = ("down" if y > 0 else "up") if abs(y) >= abs(x) else ("right" if x > 0 else "left")
    action = {"kind": "scroll", "direction": direction, "target": None}
    return Move(action=action, may_continue=True, distance=max(abs(x), abs(y)))


def _number(params: Mapping[str, Any], name: str) -> float:
    value = params.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


# --- events for recorders


@dataclass(slots=True, kw_only=True)
class StartedStep:
    """Start of a step. Its command waits until `go` or `refuse` is called, from any thread."""

    move: Move
    target: str
    raw: str
    texts: list[str] = field(default_factory=list)
    """Text typed since, in pieces."""
    inserted: list[bool] = field(default_factory=list)
    """Whether each piece was inserted at once."""
    clicks: int = 1
    distance: float = 0.0
    """Distance scrolled so far, in CSS pixels."""
    _loop: asyncio.AbstractEventLoop = field(kw_only=True)
    _answer: asyncio.Future[str] = field(kw_only=True)

    def go(self) -> None:
        """Let the command pass."""
        self.refuse("")

    def refuse(self, reason: str) -> None:
        """Answer the command with an error."""
        self._loop.call_soon_threadsafe(lambda: None if self._answer.done() else self._answer.set_result(reason))

    @property
    def action(self) -> dict[str, Any]:
        """The step's action, including continuations so far."""
        action = dict(self.move.action)
        if action["kind"] == "type":
            action["text"] = "".join(self.texts)
        if action["kind"] == "scroll":
            action["pixels"] = self.distance
        if action["kind"] == "click":
            action["count"] = max(self.clicks, action["count"])
        return action

    @property
    def value(self) -> str | None:
        """Typed text, pressed keys, or the opened address."""
        return "".join(self.texts) if self.move.action["kind"] == "type" else self.move.value

    @property
    def at_once(self) -> tuple[tuple[int, int], ...]:
        """Ranges of the typed text that were inserted by one command each instead of by keys."""
        ends = list(accumulate(map(len, self.texts)))
        found = zip(self.texts, self.inserted, ends, strict=True)
        return tuple((end - len(text), end) for text, inserted, end in found if inserted and text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigated:
    """A page shows another document or address."""

    url: str
    within: bool = False
    """Whether it is another place in the same document."""
    elsewhere: bool = True
    """Whether the path differs, not only query or fragment."""
    scripted: bool = True
    """Whether the agent has run a script since the last address, which may be the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """End of the agent: it returned or raised."""

    result: Any = None
    error: BaseException | None = None


Event = StartedStep | Navigated | Ended


class ScriptTimes:
    """Times at which commands that may run scripts of the agent were running. Pages use this machine's clock."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._open: dict[int, tuple[float, bool]] = {}
        self._past: deque[tuple[float, float, bool]] = deque(maxlen=_REMEMBERED)

    def began(self, command: Command) -> None:
        """Note that a command is about to be forwarded."""
        self._open[id(command)] = self._now(), command.in_page

    def ended(self, command: Command) -> None:
        """Note that a command was answered."""
        began = self._open.pop(id(command), None)
        if began is not None:
            self._past.append((began[0], self._now(), began[1]))

    def cover(self, at: float, *, in_page: bool = False) -> bool:
        """Return whether a command was running at ``at``, in milliseconds of Unix time.

        ``in_page``: only commands in the page's own world count.
        """
        latest_start, earliest_end = at / 1000 + _COARSE, at / 1000 - _COARSE
        if any(began <= latest_start and own >= in_page for began, own in self._open.values()):
            return True
        return any(
            began <= latest_start and earliest_end <= ended and own >= in_page for began, ended, own in self._past
        )


class Trajectory:
    """Listener of the hub, which announces each step and waits for permission."""

    def __init__(self, events: queue.SimpleQueue[Event]) -> None:
        self._events = events
        self._last: StartedStep | None = None
        self._interrupted = False
        self._stopped = ""
        self._scripted = False
        self._scripts = ScriptTimes()
        self._pressed_character = ""
        """Character key that went down without its text. Its release is a step, because pages receive it, unless the
        text came in between. Clients that type letter by letter send all three."""

    def stop(self, reason: str) -> None:
        """Refuse everything that would be a step from now on."""
        self._stopped = reason
        if self._last is not None:
            self._last.refuse(reason)

    def navigated(self, url: str, *, within: bool, elsewhere: bool) -> None:
        """Report that a page has another address."""
        scripted, self._scripted = self._scripted, False
        self._events.put(Navigated(url=url, within=within, elsewhere=elsewhere, scripted=scripted))

    def ran_script(self, at: float, *, in_page: bool = False) -> bool:
        """Return whether a script of the agent may have run at ``at``, in milliseconds of Unix time.

        ``in_page``: only scripts in the page's own world count, such as the author's. Clients run many scripts of their
        own in other worlds, with which they also set fields.
        """
        return self._scripts.cover(at, in_page=in_page)

    def answered(self, command: Command) -> None:
        """Note that a command was answered."""
        if command.method in _MAY_LEAD:
            self._scripts.ended(command)

    async def before(self, command: Command) -> str:
        """Return the reason for refusing ``command``; ``""`` lets it pass."""
        self._scripted = self._scripted or command.method in _MAY_LEAD
        if self._stopped:
            return self._stopped
        if command.method in _MAY_LEAD:
            self._scripts.began(command)
        unwritten = self._without_text(command)
        move = read_move(command) or unwritten
        if move is None:
            self._interrupted = self._interrupted or command.method in _MAY_FOCUS
            return ""
        last, interrupted, self._interrupted = self._last, self._interrupted, False
        if interrupted and move.action["kind"] == "type":
            last = None
        if move.may_continue and last is not None and self._continues(move, command.target, last):
            last.texts.append(move.value or "")
            last.inserted.append(move.at_once)
            last.distance += move.distance
            last.clicks = max(last.clicks, int(move.action.get("count", 1)))
            return ""
        loop = asyncio.get_running_loop()
        started = StartedStep(
            move=move, target=command.target, raw=_raw(command), _loop=loop, _answer=loop.create_future(),
            texts=[move.value or ""], inserted=[move.at_once], distance=move.distance,
        )  # fmt: skip
        self._last = started
        self._events.put(started)
        return await started._answer

    def _without_text(self, command: Command) -> Move | None:
        if command.method != "Input.dispatchKeyEvent":
            return None
        down, kind, self._pressed_character = self._pressed_character, command.params.get("type"), ""
        if kind in ("keyDown", "rawKeyDown"):
            self._pressed_character = _letter(command.params)
        return _pressed(command.params) if kind == "keyUp" and down and down == command.params.get("key") else None

    @staticmethod
    def _continues(move: Move, target: str, last: StartedStep) -> bool:
        action, last_action = move.action, last.move.action
        if action["kind"] != last_action["kind"] or target != last.target:
            return False
        return bool(
            action["kind"] == "type" or all(action.get(key) == last_action.get(key) for key in ("direction", "target"))
        )


def _raw(command: Command) -> str:
    parameters = ", ".join(f"{key}={value!r}"[:200] for key, value in command.params.items())
    return f"{command.method}({parameters})"[:1000]
