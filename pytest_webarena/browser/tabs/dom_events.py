"""Records what input does in a tab's documents, by a listener in an isolated world of each frame.

Whoever drives the page, input reaches it as trusted events, which its scripts can't create. The listener is isolated
from those scripts and reports through a function that only exists in its world, so nothing else can forge a report.
Frames of other sites have processes and protocol sessions of their own; they are paused until the listener is
installed. Those sessions are nested in the tab's, because Playwright would open them only after a document is loaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.observation.fast.worlds import WORLD
from pytest_webarena.browser.signal_log import TabSignals
from pytest_webarena.browser.tabs.dom_reports import DomReports
from pytest_webarena.browser.tabs.frame_chains import Channel, FrameChains

__all__ = ["BINDING", "DomEvents", "listener_source"]

BINDING = f"webarena{secrets.token_hex(8)}"
"""Name of the function in the listener's world by which it reports."""
_SIGN = f"webarena{secrets.token_hex(8)}"
"""Name of the event with which the harness announces its own changes by script."""
_FOLLOW = f"function(frame) {{ globalThis[Symbol.for('{BINDING}')].followFrame(this, frame); }}"
"""Function to call in the listener's world on the element that contains a frame."""
_SWEEP = f"globalThis[Symbol.for('{BINDING}')].sweep()"
"""Makes a listener search for fields with values that no event has reported."""
_ANSWER = 10.0
"""Seconds to wait for answers of a frame's session."""


@cache
def listener_source(
    letters: float = 0.03,
    by_script: bool = False,
    before: str = "",
    secret_fields: tuple[str, ...] = ("current-password", "new-password"),
) -> str:
    """Return the script that installs the listener.

    Args:
        letters: Seconds for which it may buffer typed letters; 0: it buffers none.
        by_script: Whether it also reports what scripts do.
        before: Script that defines the function by which it reports, where the browser's protocol does not.
        secret_fields: Values of ``autocomplete`` of fields whose content it never reports, in addition to passwords.
    """
    folder = files("pytest_webarena.browser.tabs")
    names = ("dom_elements.js", "dom_editors.js", "dom_scripts.js", "dom_events.js")
    elements, editors, scripts, source = ((folder / name).read_text("utf-8") for name in names)
    source = source.replace("// ELEMENTS\n", elements + editors).replace("// SCRIPTS\n", scripts if by_script else "")
    source = before + source.replace("SECRET_FIELDS", "|".join(secret_fields))
    source = source.replace("BY_SCRIPT", "true" if by_script else "false")
    source = source.replace("LETTERS_MS", str(max(1, round(letters * 1000)) if letters else 0))
    for name, value in {"BINDING": BINDING, "SIGN": _SIGN, "DOM_EVENTS": BINDING}.items():
        source = source.replace(f"'{name}'", f"'{value}'")
    return source


class DomEvents:
    """Listeners of one tab."""

    def __init__(self, signals: TabSignals, in_background: Callable[[Awaitable[Any]], None]) -> None:
        self._signals = signals
        self._in_background = in_background
        self._ids = itertools.count(1)
        self._frames = FrameChains(_FOLLOW)
        self._reports = DomReports(signals, self._frames, self._follow_again)
        self._listening = False

    async def listen(self, session: CDPSession) -> None:
        """Install the listener in the tab's present and future frames."""
        self._listening = True
        receive = self._receiver(_Session(session), ())
        for name in (
            "Page.frameAttached",
            "Page.frameDetached",
            "Page.frameNavigated",
            "Runtime.bindingCalled",
            "Runtime.executionContextCreated",
            "Target.attachedToTarget",
        ):
            session.on(name, lambda params, method=name: receive(method, params))
        session.on(
            "Target.receivedMessageFromTarget", lambda params: receive("Target.receivedMessageFromTarget", params)
        )
        await _set_up(_Session(session), self._script())

    async def sweep_fields(self, seconds: float) -> None:
        """Make the listeners report fields with values that no event has reported. A document that does not answer
        within ``seconds`` reports them later."""
        query = {"expression": _SWEEP, "returnByValue": True}
        queries = [
            channel.ask("Runtime.evaluate", {**query, "contextId": id}) for channel, id in self._frames.contexts()
        ]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*queries, return_exceptions=True), seconds)

    def _script(self) -> str:
        return listener_source(self._signals.letters, self._signals.by_script)

    def new_token(self) -> tuple[str, str] | None:
        """Return the name of an event and a one-time token that prove that the harness makes a change; None if nothing
        listens."""
        if not self._listening:
            return None
        return _SIGN, self._reports.new_token()

    def _follow_again(self, frame: str) -> None:
        self._in_background(self._frames.follow_again(frame))

    def _receiver(self, channel: Channel, sessions: tuple[str, ...]) -> Callable[[str, dict[str, Any]], None]:
        """Return the handler of the events of one session, which must not raise."""
        worlds: dict[object, str] = {}
        """Frame of each of the listener's contexts."""
        inner: dict[str, tuple[_Nested, Callable[[str, dict[str, Any]], None]]] = {}

        def receive(method: str, params: dict[str, Any]) -> None:
            if method == "Runtime.bindingCalled":
                frame = worlds.get(params.get("executionContextId"))
                if params.get("name") == BINDING and frame is not None:
                    context = (*sessions, str(params["executionContextId"]))
                    if self._reports.read(str(params.get("payload", "")), context, frame):
                        self._in_background(self._frames.follow(frame, channel))
            elif method == "Runtime.executionContextCreated":
                context = params.get("context", {})
                if context.get("name") == WORLD:
                    frame = worlds[context.get("id")] = str(context.get("auxData", {}).get("frameId", ""))
                    for earlier_frame, its_channel in self._frames.note_listener(frame, channel, context.get("id")):
                        self._in_background(self._frames.follow(earlier_frame, its_channel))
            elif method == "Page.frameAttached":
                self._frames.note_attached(str(params.get("frameId", "")), str(params.get("parentFrameId", "")))
            elif method == "Page.frameDetached" and params.get("reason") != "swap":  # a swap moves it
                self._frames.note_detached(str(params.get("frameId", "")))
            elif method == "Page.frameNavigated":
                frame_info = params.get("frame", {})
                # Restored documents still have their listener; the browser's own error pages need none.
                if params.get("type") != "BackForwardCacheRestore" and not frame_info.get("unreachableUrl"):
                    self._signals.note_document(str(frame_info.get("id", "")), listening=False)
            elif method == "Target.attachedToTarget":
                child, info = str(params.get("sessionId", "")), params.get("targetInfo", {})
                if parent := info.get("parentFrameId"):
                    self._frames.note_attached(str(info.get("targetId", "")), str(parent))
                nested = _Nested(channel, child, self._ids)
                inner[child] = (nested, self._receiver(nested, (*sessions, child)))
                self._in_background(_set_up(nested, self._script(), waiting=True))
            elif method == "Target.receivedMessageFromTarget" and params.get("sessionId") in inner:
                message = json.loads(params.get("message", "{}"))
                nested, further = inner[params["sessionId"]]
                if "method" in message:
                    further(message["method"], message.get("params", {}))
                else:
                    nested.answered(message)

        return receive


class _Session:
    """Protocol session of a tab."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session

    async def send(self, method: str, params: dict[str, Any]) -> object:
        """Send one command; return its answer."""
        return await self._session.send(method, params)

    async def ask(self, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        """Send one command; return its answer."""
        answer: dict[str, Any] = await self._session.send(method, params)
        return answer


class _Nested:
    """Protocol session nested in another one."""

    def __init__(self, parent: Channel, id: str, ids: itertools.count[int]) -> None:
        self._parent, self._id, self._ids = parent, id, ids
        self._pending: dict[int, asyncio.Future[Mapping[str, Any]]] = {}

    async def send(self, method: str, params: dict[str, Any]) -> object:
        """Send one command without waiting for its answer."""
        return await self._send_command(next(self._ids), method, params)

    async def ask(self, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        """Send one command; return its answer, which is empty if it failed. `TimeoutError` if the frame was removed."""
        id = next(self._ids)
        answer = self._pending[id] = asyncio.get_running_loop().create_future()
        try:
            await self._send_command(id, method, params)
            return await asyncio.wait_for(answer, _ANSWER)
        finally:
            self._pending.pop(id, None)

    def answered(self, message: Mapping[str, Any]) -> None:
        """Handle an answer."""
        pending = self._pending.get(message.get("id", 0))
        if pending is not None and not pending.done():
            pending.set_result(message.get("result", {}))

    async def _send_command(self, id: int, method: str, params: dict[str, Any]) -> object:
        message = json.dumps({"id": id, "method": method, "params": params})
        return await self._parent.send("Target.sendMessageToTarget", {"sessionId": self._id, "message": message})


async def _set_up(channel: Channel, source: str, *, waiting: bool = False) -> None:
    commands: list[tuple[str, dict[str, Any]]] = [
        ("Runtime.enable", {}),  # needed to receive binding calls
        ("Runtime.addBinding", {"name": BINDING, "executionContextName": WORLD}),
        (
            "Page.addScriptToEvaluateOnNewDocument",
            {"source": source, "worldName": WORLD, "runImmediately": True},
        ),
        (
            "Target.setAutoAttach",
            {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": False, "filter": [{"type": "iframe"}]},
        ),
    ]
    if waiting:
        commands = [("Page.enable", {}), *commands, ("Runtime.runIfWaitingForDebugger", {})]
    # All are sent at once, in this order, because the tab waits until they are done.
    answers = await asyncio.gather(*(channel.send(*command) for command in commands), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not (waiting and isinstance(answer, PlaywrightError)):
            raise answer  # errors of a frame are ignored, because it may be removed already
