"""The endpoint for protocol clients: loopback only, behind an unguessable path."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from pytest_webarena.browser.driven.hub import Client, Hub

__all__ = ["Endpoints"]

_LARGEST = 64 * 1024 * 1024
"""Bytes of one message of a client."""
_BEHIND = 512 * 1024 * 1024
"""Bytes that may wait for a client that does not read."""
_CLIENTS = 32
"""Connections of an agent at the same time."""


class Endpoints:
    """Serves the harness and the agent from one port; each has a path of its own.

    Agents get what Chromium's own port offers: ``…/json/version`` and ``…/json/list`` over HTTP, and WebSockets at
    ``…/devtools/browser`` and ``…/devtools/page/<id>``.
    """

    def __init__(self, hub: Hub, pages: Callable[[], Awaitable[list[dict[str, Any]]]], version: dict[str, Any]) -> None:
        self._hub = hub
        self._pages = pages
        self._version = version
        self._server: Server | None = None
        self._own, self._agents = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._shut = False
        self._connections: set[ServerConnection] = set()

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await serve(
            self._serve,
            "127.0.0.1",
            0,
            process_request=self._look,
            max_size=_LARGEST,
            compression=None,
            ping_interval=None,
            close_timeout=1,
            server_header=None,
        )

    @property
    def _port(self) -> int:
        assert self._server is not None
        port: int = next(iter(self._server.sockets)).getsockname()[1]
        return port

    @property
    def own(self) -> str:
        """Where the harness connects: nothing is filtered."""
        return f"ws://127.0.0.1:{self._port}/{self._own}/devtools/browser"

    @property
    def agents(self) -> str:
        """Where an agent connects; with ``http://`` in place of ``ws://`` it is told more at ``/json/version``."""
        return f"ws://127.0.0.1:{self._port}/{self._agents}/devtools/browser"

    @property
    def http(self) -> str:
        """The same for clients that ask for ``/json/version`` first."""
        return f"http://127.0.0.1:{self._port}/{self._agents}"

    async def shut(self) -> None:
        """Send the agent's clients away, for good."""
        self._shut = True
        for connection in list(self._connections):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2.0):
                    await connection.close(1001, "the trial is over")

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2.0):
                    await self._server.wait_closed()

    async def _look(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer plain HTTP; None goes on to the WebSocket."""
        token, _, rest = request.path.split("?")[0].lstrip("/").partition("/")
        rest = rest.rstrip("/")
        trusted = secrets.compare_digest(token, self._own)
        if not trusted and not secrets.compare_digest(token, self._agents):
            return connection.respond(HTTPStatus.NOT_FOUND, "not found\n")
        if request.headers.get("Origin", "").startswith(("http:", "https:")):  # a web page, which has no business here
            return connection.respond(HTTPStatus.FORBIDDEN, "not for web pages\n")
        if not trusted and (self._shut or len(self._connections) >= _CLIENTS):
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "the trial is over, or too many connections\n")
        answer: Any = None
        if rest == "json/version":
            answer = {**self._version, "webSocketDebuggerUrl": self.agents}
        elif rest in ("json", "json/list"):
            answer = [
                {**page, "webSocketDebuggerUrl": self.agents.removesuffix("browser") + f"page/{page['id']}"}
                for page in await self._pages()
            ]
        elif rest == "devtools/browser" or rest.startswith("devtools/page/"):
            return None
        if answer is None:
            return connection.respond(HTTPStatus.NOT_FOUND, "not found\n")
        response = connection.respond(HTTPStatus.OK, json.dumps(answer))
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = "application/json; charset=UTF-8"
        return response

    async def _serve(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        token, _, rest = connection.request.path.split("?")[0].lstrip("/").partition("/")
        outbox: asyncio.Queue[str | None] = asyncio.Queue()
        waiting = 0

        def deliver(message: dict[str, Any]) -> None:
            nonlocal waiting
            text = json.dumps(message)
            waiting += len(text)
            outbox.put_nowait(text if waiting < _BEHIND else None)

        async def write() -> None:
            nonlocal waiting
            with contextlib.suppress(ConnectionClosed):
                while (text := await outbox.get()) is not None:
                    await connection.send(text)
                    waiting -= len(text)
            await connection.close(1008, "too far behind")

        client = Client(deliver=deliver, trusted=token == self._own)
        target = rest.rstrip("/").removeprefix("devtools/page/") if "devtools/page/" in rest else ""
        if not client.trusted:
            self._connections.add(connection)
        writing = asyncio.ensure_future(write())
        try:
            if not await self._hub.join(client, target):
                await connection.close(1008, "no such page")
                return
            async for data in connection:
                message = json.loads(data)
                if isinstance(message, dict):
                    await self._hub.command(client, message)
                    if message.get("method") == "Browser.close":
                        break
        except (ConnectionClosed, ValueError):
            pass
        finally:
            writing.cancel()
            self._connections.discard(connection)
            await self._hub.leave(client)
