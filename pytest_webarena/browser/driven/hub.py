"""Shares one browser connection among clients, each with sessions of its own and filtered commands."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_webarena.browser.driven.cdp_session_scope import CdpSessionScope
from pytest_webarena.browser.driven.policy import Answer, Refuse, decide
from pytest_webarena.browser.tabs.address_guard import allowed_in_tab

__all__ = ["Client", "Command", "Hub", "Transport"]

_REFUSED_CODE = -32000
_WORLDS = 100_000
_ATTACHABLE = frozenset({"browser", "iframe", "page", "service_worker", "shared_worker", "tab", "worker", "worklet"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of an agent that passed the filter."""

    method: str
    params: Mapping[str, Any]
    session: str
    target: str
    """Id of the page that it concerns; empty if there is none."""
    in_page: bool = True
    """For a command that runs a script: whether it runs in the page's own world, as far as known."""


Listener = Callable[[Command], Awaitable[str]]
"""Called before a command is forwarded, which waits for it; returns the reason for refusing it, or ``""``."""


Answered = Callable[[Command], None]
"""Called when the browser has answered a forwarded command, which may never happen."""


class Transport(Protocol):
    """Connection to the browser."""

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send one message."""


@dataclass(eq=False, slots=True)
class Client:
    """One connection of a protocol client. ``deliver`` sends messages to it."""

    deliver: Callable[[dict[str, Any]], None]
    trusted: bool
    """Whether it is the harness, whose commands are neither filtered nor reported to the listener."""
    root: str = ""
    """Session that represents the connection."""
    sessions: dict[str, str] = field(default_factory=dict)
    """Target id by session."""
    scopes: dict[str, CdpSessionScope] = field(default_factory=dict)
    """Scope by session, for clients that are not trusted."""

    def scope(self, session: str) -> CdpSessionScope:
        """Return the scope of one of its sessions."""
        return self.scopes.setdefault(session, CdpSessionScope())


@dataclass(frozen=True, slots=True)
class _Pending:
    client: Client | None
    id: Any
    session: str | None
    method: str
    future: asyncio.Future[dict[str, Any]] | None = None
    inner: str = ""
    """The session, even if the client did not name it."""
    request: str = ""
    """Id of the paused request in the command, if any."""
    command: Command | None = None
    """The command, if it is an agent's."""


class Hub:
    """All clients of one browser. It must be used on one event loop only."""

    def __init__(
        self, transport: Transport, listener: Listener, *, answered: Answered | None = None, headed: bool = False
    ) -> None:
        self._on_answered = answered or (lambda command: None)
        self._transport = transport
        self._headed = headed
        self._listener = listener
        self._ids = itertools.count(1)
        self._pending: dict[int, _Pending] = {}
        self._clients: set[Client] = set()
        self._owners: dict[str, Client] = {}
        self._hidden: set[str] = set()
        self._isolated_worlds: set[tuple[str, str]] = set()
        """Isolated worlds, in which clients run their own code: session and context number."""
        self._tasks: set[asyncio.Future[None]] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._dismissed = False
        self.refused: list[str] = []
        """Reasons for which commands were refused, in order, at most a hundred."""

    # --- for the harness

    def hold(self) -> None:
        """Delay agents' commands from now on, and hide new pages from agents."""
        self._open.clear()

    def release(self) -> None:
        """Let agents continue."""
        self._open.set()

    async def call(self, method: str, params: Mapping[str, Any] | None = None, session: str = "") -> dict[str, Any]:
        """Send a command of the harness; return its result, which is empty if it failed."""
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        number = next(self._ids)
        self._pending[number] = _Pending(None, None, None, method, future)
        await self._transport.send(
            {"id": number, "method": method, "params": dict(params or {})} | ({"sessionId": session} if session else {})
        )
        return await future

    async def dismiss(self) -> None:
        """End the sessions of all agents' clients for good; nothing is intercepted or paused for them any more."""
        self._dismissed = True
        for client in [each for each in self._clients if not each.trusted]:
            await self.leave(client)

    # --- clients

    async def join(self, client: Client, target: str = "") -> bool:
        """Give ``client`` a session of the browser, or of the page ``target``; return False if there is none."""
        if self._dismissed and not client.trusted:
            return False
        if target:
            found = await self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        else:
            found = await self.call("Target.attachToBrowserTarget")
        client.root = str(found.get("sessionId", ""))
        if not client.root:
            return False
        self._clients.add(client)
        self._owners[client.root] = client
        if self._dismissed and not client.trusted:  # agents were dismissed meanwhile
            await self.leave(client)
            return False
        client.sessions[client.root] = target
        return True

    async def leave(self, client: Client) -> None:
        """End the client's sessions, which undoes its changes of pages."""
        if client in self._clients:
            self._clients.discard(client)
            for session in list(client.sessions):
                self._owners.pop(session, None)
            client.sessions.clear()  # so that its further commands find no session
            await self.call("Target.detachFromTarget", {"sessionId": client.root})

    async def command(self, client: Client, message: Mapping[str, Any]) -> None:
        """Process one message of ``client``."""
        method, id = message.get("method"), message.get("id")
        params = message.get("params") or {}
        outer = message.get("sessionId")
        session = outer or client.root
        if not isinstance(method, str) or not isinstance(id, int) or not isinstance(params, Mapping):
            return
        if session not in client.sessions:
            self._refuse(client, id, outer, "Session with given id not found.", code=-32001)
            return
        agent_command: Command | None = None
        if not client.trusted:
            decision = decide(method, params, headed=self._headed)
            if isinstance(decision, Refuse):
                self._note(decision.reason)
                self._refuse(client, id, outer, decision.reason)
                return
            if isinstance(decision, Answer):
                self._reply(client, id, outer, {"result": dict(decision.result)})
                return
            params = client.scope(session).with_browser_accept(method, decision.params)
            if reason := client.scope(session).refuses(method, params):
                self._refuse(client, id, outer, reason)
                return
            if params.get("targetId") in self._hidden:
                self._refuse(client, id, outer, "No target with given id found")
                return
            target = str(params.get("targetId") or client.sessions[session])
            in_page = (session, _context_of(params)) not in self._isolated_worlds
            agent_command = Command(method=method, params=params, session=session, target=target, in_page=in_page)
            if reason := await self._listener(agent_command):
                self._refuse(client, id, outer, reason)
                return
            await self._open.wait()
        number = next(self._ids)
        request = str(params.get("requestId", ""))
        self._pending[number] = _Pending(
            client, id, outer, method, inner=session, request=request, command=agent_command
        )
        await self._transport.send({"id": number, "method": method, "params": params, "sessionId": session})

    # --- the browser

    def handle_message(self, message: dict[str, Any]) -> None:
        """Deliver a message of the browser to the client concerned."""
        if "id" in message:
            self._answered(message)
            return
        owner = self._owners.get(message.get("sessionId", ""))
        if owner is not None:
            self._receive_event(owner, message)

    def handle_browser_exit(self) -> None:
        """Handle the end of the browser."""
        for pending in self._pending.values():
            if pending.future is not None and not pending.future.done():
                pending.future.set_result({})
        self._pending.clear()

    def _answered(self, message: dict[str, Any]) -> None:
        pending = self._pending.pop(message["id"], None)
        if pending is None:
            return
        if pending.future is not None and not pending.future.done():
            pending.future.set_result(message.get("result", {}))
        if pending.client is None:
            return
        if pending.command is not None:
            self._on_answered(pending.command)
        if not pending.client.trusted:
            request = pending.request if "error" not in message else ""  # after an error, the request is still paused
            pending.client.scope(pending.inner).answered(pending.method, message.get("result", {}), request=request)
        part: dict[str, Any] = {key: message[key] for key in ("result", "error") if key in message}
        if not pending.client.trusted and pending.method == "Target.getTargets" and "result" in part:
            listed = part["result"].get("targetInfos", [])
            part["result"]["targetInfos"] = [each for each in listed if each.get("targetId") not in self._hidden]
        self._reply(pending.client, pending.id, pending.session, part)

    def _receive_event(self, owner: Client, message: dict[str, Any]) -> None:
        method, params, session = message.get("method"), message.get("params", {}), message["sessionId"]
        info = params.get("targetInfo", {})
        target = info.get("targetId") or params.get("targetId")
        if method == "Target.attachedToTarget":
            child = params["sessionId"]
            if not owner.trusted and self._is_private(info):
                self._hidden.add(target)
                self._background(self._detach(child, session))
                return
            self._owners[child] = owner
            owner.sessions[child] = target if info.get("type") == "page" else owner.sessions.get(session, "")
        elif method == "Target.detachedFromTarget":
            self._owners.pop(params.get("sessionId", ""), None)
            owner.sessions.pop(params.get("sessionId", ""), None)
            owner.scopes.pop(params.get("sessionId", ""), None)
        elif method == "Runtime.executionContextCreated" and not owner.trusted:
            context = params.get("context", {})
            if not context.get("auxData", {}).get("isDefault", True) and len(self._isolated_worlds) < _WORLDS:
                self._isolated_worlds.add((session, str(context.get("id"))))
        elif method == "Target.targetCreated" and not owner.trusted and self._is_private(info):
            self._hidden.add(target)
        if not owner.trusted:
            decision = owner.scope(session).filter_event(str(method), params)
            if decision == "resume":
                self._background(self._resume(session))
            if decision != "show" or target in self._hidden:
                return
        if session == owner.root:
            message = {key: value for key, value in message.items() if key != "sessionId"}
        owner.deliver(message)

    def _is_private(self, info: Mapping[str, Any]) -> bool:
        """Return whether a target is hidden from agents: the harness opened it, or it is not a web page."""
        if info.get("type") not in _ATTACHABLE or not allowed_in_tab(str(info.get("url", ""))):
            return True
        return info.get("targetId") in self._hidden or (not self._open.is_set() and not self._is_known(info))

    def _is_known(self, info: Mapping[str, Any]) -> bool:
        return any(info.get("targetId") in client.sessions.values() for client in self._clients if not client.trusted)

    async def _detach(self, child: str, parent: str) -> None:
        """Detach from a target that waits for its debuggers."""
        await self.call("Runtime.runIfWaitingForDebugger", session=child)
        await self.call("Target.detachFromTarget", {"sessionId": child}, parent)

    async def _resume(self, session: str) -> None:
        """Resume a page that was paused in the harness's own scripts."""
        await self.call("Debugger.resume", session=session)

    def _background(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _note(self, reason: str) -> None:
        if len(self.refused) < 100:
            self.refused.append(reason)

    def _refuse(self, client: Client, id: int, session: str | None, reason: str, code: int = _REFUSED_CODE) -> None:
        self._reply(client, id, session, {"error": {"code": code, "message": reason}})

    def _reply(self, client: Client, id: Any, session: str | None, part: dict[str, Any]) -> None:
        client.deliver({"id": id, **part} | ({"sessionId": session} if session else {}))


def _context_of(params: Mapping[str, Any]) -> str:
    """Return the context number in which a command runs its script; empty if it names none.

    >>> _context_of({"contextId": 3}), _context_of({"objectId": "-512.7.2"}), _context_of({"expression": "1"})
    ('3', '7', '')
    """
    context = params.get("contextId") or params.get("executionContextId")
    if context is None and "objectId" in params:
        return next(iter(str(params["objectId"]).split(".")[1:2]), "")
    return "" if context is None else str(context)
