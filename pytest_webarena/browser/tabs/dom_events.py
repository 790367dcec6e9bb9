"""Listens to what input does in a tab's documents, from a world of its own in each frame, and has it signalled.

Whoever drives the page, input comes to it as trusted events, which its scripts can't make. The listener is beside those
scripts, and what it says comes through a function that exists in its world alone, so nobody else can say anything here.
Frames of other sites have processes and protocol sessions of their own: they wait until the listener is in them. Those
sessions are nested into the tab's, for Playwright would open them only once a document is there.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.messages import writable
from pytest_webarena.browser.observation.fast.worlds import WORLD
from pytest_webarena.browser.signal_log import Happening, TabSignals
from pytest_webarena.signals import ControlRecord, ElementRecord, TargetRecord

__all__ = ["BINDING", "DomEvents"]

BINDING = f"webarena{secrets.token_hex(8)}"
"""The function, in the listener's world, through which it speaks."""
_SIGN = f"webarena{secrets.token_hex(8)}"
"""The event with which the harness announces what it changes by script."""
_LONGEST = 1_000_000
"""Characters of what is told of one event; the listener says far less."""
_SIGNS = 100
_DOCUMENTS = 100
"""Of a tab, of which the last field that was written in is known."""


@cache
def script() -> str:
    """The listener, which puts itself into place."""
    source = (files("pytest_webarena.browser.tabs") / "dom_events.js").read_text("utf-8")
    for name, value in {"BINDING": BINDING, "SIGN": _SIGN, "DOM_EVENTS": BINDING}.items():
        source = source.replace(f"'{name}'", f"'{value}'")
    return source


class _Channel(Protocol):
    """A protocol session, or one nested into it."""

    async def send(self, method: str, params: dict[str, Any]) -> object:
        """One command."""
        ...


class DomEvents:
    """The listeners of one tab."""

    def __init__(self, signals: TabSignals, in_background: Callable[[Awaitable[Any]], None]) -> None:
        self._signals = signals
        self._in_background = in_background
        self._ids = itertools.count(1)
        self._signs: set[str] = set()
        self._written: dict[tuple[str, ...], Happening] = {}
        """By document: its last input. Of further letters only the value is told."""
        self._listening = False

    async def listen(self, session: CDPSession) -> None:
        """Put the listener into the tab's frames, those that are there and those that come."""
        self._listening = True
        receive = self._receiver(session, ())
        for name in (
            "Page.frameNavigated",
            "Runtime.bindingCalled",
            "Runtime.executionContextCreated",
            "Target.attachedToTarget",
        ):
            session.on(name, lambda params, method=name: receive(method, params))
        session.on(
            "Target.receivedMessageFromTarget", lambda params: receive("Target.receivedMessageFromTarget", params)
        )
        await _set_up(session)

    def sign(self) -> tuple[str, str] | None:
        """The name of an event, and what it must hold, once, to be believed that it is the harness's; None where nobody
        listens."""
        if not self._listening:
            return None
        if len(self._signs) >= _SIGNS:
            self._signs.clear()
        sign = secrets.token_hex(8)
        self._signs.add(sign)
        return _SIGN, sign

    def _receiver(self, channel: _Channel, where: tuple[str, ...]) -> Callable[[str, dict[str, Any]], None]:
        """What deals with the events of one session. Must not raise."""
        worlds: dict[object, str] = {}
        """The listener's contexts, and of which frame each is."""
        inner: dict[str, Callable[[str, dict[str, Any]], None]] = {}

        def receive(method: str, params: dict[str, Any]) -> None:
            if method == "Runtime.bindingCalled":
                frame = worlds.get(params.get("executionContextId"))
                if params.get("name") == BINDING and frame is not None:
                    self._told(str(params.get("payload", "")), (*where, str(params["executionContextId"])), frame)
            elif method == "Runtime.executionContextCreated":
                context = params.get("context", {})
                if context.get("name") == WORLD:
                    worlds[context.get("id")] = str(context.get("auxData", {}).get("frameId", ""))
            elif method == "Page.frameNavigated":
                frame = params.get("frame", {})
                # What comes back has its listener still; in a browser's own page about an error there is nothing to do.
                if params.get("type") != "BackForwardCacheRestore" and not frame.get("unreachableUrl"):
                    self._signals.document(str(frame.get("id", "")), listening=False)
            elif method == "Target.attachedToTarget":
                child = str(params.get("sessionId", ""))
                nested = _Nested(channel, child, self._ids)
                inner[child] = self._receiver(nested, (*where, child))
                self._in_background(_set_up(nested, waiting=True))
            elif method == "Target.receivedMessageFromTarget" and params.get("sessionId") in inner:
                message = json.loads(params.get("message", "{}"))
                if "method" in message:
                    inner[params["sessionId"]](message["method"], message.get("params", {}))

        return receive

    def _told(self, payload: str, document: tuple[str, ...], frame: str) -> None:
        try:
            said = json.loads(writable(payload[:_LONGEST]))
            if "listening" in said:
                self._signals.document(frame, listening=True)
                return
            sign = said.get("sign")
            if sign is not None and sign not in self._signs:
                raise ValueError("not announced by the harness")
            self._signs.discard(sign)
            if "again" in said:
                happening = self._written[document]
                if happening.field != (*document, said["again"]):
                    raise ValueError("another field")
                happening = replace(happening, value=said["value"])
            else:
                happening = Happening(
                    event=said["event"],
                    target=TargetRecord(**said["target"]),
                    value=said["value"],
                    chain=tuple(map(_element, said["chain"])),
                    whole=said["whole"],
                    frame=said["frame"],
                    control=ControlRecord(**said["control"]) if said["control"] else None,
                    field=(*document, said["field"]),
                    size=len(payload),
                )
            if happening.event == "input":
                self._written.pop(document, None)
                self._written[document] = happening
                if len(self._written) > _DOCUMENTS:
                    self._written.pop(next(iter(self._written)))
            self._signals.dom_event(happening)
        except (KeyError, TypeError, ValueError):  # too long, not announced, or the listener could not read the element
            self._signals.lost()


class _Nested:
    """A protocol session inside another one."""

    def __init__(self, around: _Channel, id: str, ids: itertools.count[int]) -> None:
        self._around, self._id, self._ids = around, id, ids

    async def send(self, method: str, params: dict[str, Any]) -> object:
        """One command, whose answer nobody waits for."""
        message = json.dumps({"id": next(self._ids), "method": method, "params": params})
        return await self._around.send("Target.sendMessageToTarget", {"sessionId": self._id, "message": message})


async def _set_up(channel: _Channel, *, waiting: bool = False) -> None:
    commands: list[tuple[str, dict[str, Any]]] = [
        ("Runtime.enable", {}),  # else it tells nothing of what is called
        ("Runtime.addBinding", {"name": BINDING, "executionContextName": WORLD}),
        (
            "Page.addScriptToEvaluateOnNewDocument",
            {"source": script(), "worldName": WORLD, "runImmediately": True},
        ),
        (
            "Target.setAutoAttach",
            {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": False, "filter": [{"type": "iframe"}]},
        ),
    ]
    if waiting:
        commands = [("Page.enable", {}), *commands, ("Runtime.runIfWaitingForDebugger", {})]
    # All on their way at once, in this order: a tab is waited for until they are done.
    answers = await asyncio.gather(*(channel.send(*command) for command in commands), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not (waiting and isinstance(answer, PlaywrightError)):
            raise answer  # a frame may be gone again


def _element(said: list[Any]) -> ElementRecord:
    tag, attributes, nth, children, nth_of_type, of_type, within = said
    return ElementRecord(
        tag=tag,
        attributes=attributes,
        nth=nth,
        children=children,
        nth_of_type=nth_of_type,
        of_type=of_type,
        within=within,
    )
