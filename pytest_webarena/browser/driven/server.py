"""Endpoint for protocol clients, on loopback only and behind an unguessable path."""

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
"""Maximum size in bytes of one message of a client."""
_BEHIND = 512 * 1024 * 1024
"""Maximum number of bytes that may wait for a client that does not read."""
_NOT_SERVED = {
    "json/protocol": "the protocol's description is not served: use the client's own copy "
    "(chrome-remote-interface: local: true)\n",
    "json/new": "tabs are opened with Target.createTarget\n",
}
_CLIENTS = 32
"""Maximum number of simultaneous connections of an agent."""


class Endpoints:
    """Serves the harness and the agent from one port, with a path for each.

    Agents get what Chromium's own port offers: ``…/json/version`` and ``…/json/list`` over HTTP, and WebSockets at
    ``…/devtools/browser`` and ``…/devtools/page/<id>``. With ``rooted``, they also get that on a second port without a
    path, for clients that only know host and port: anyone on this machine who finds that port can drive the browser as
    the agent can.
    """

    def __init__(
        self,
        hub: Hub,
        pages: Callable[[], Awaitable[list[dict[str, Any]]]],
        version: dict[str, Any],
        *,
        rooted: bool = False,
    ) -> None:
        self._hub = hub
        self._pages = pages
        self._version = version
        self._rooted = rooted
        self._server: Server | None = None
        self._plain: Server | None = None
        self._own, self._agents = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._shut = False
        self._connections: set[ServerConnection] = set()

    async def start(self) -> None:
        """Listen on a free port, or on two if ``rooted``."""
        self._server = await self._listen(self._answer_http)
        if self._rooted:
            self._plain = await self._listen(self._answer_http_without_path)

    async def _listen(self, answer_http: Callable[[ServerConnection, Request], Awaitable[Response | None]]) -> Server:
        return await serve(
            self._serve,
            "127.0.0.1",
            0,
            process_request=answer_http,
            max_size=_LARGEST,
            compression=None,
            ping_interval=None,
            close_timeout=1,
            server_header=None,
        )

    @property
    def _port(self) -> int:
        assert self._server is not None
        return _port_of(self._server)

    @property
    def own(self) -> str:
        """WebSocket address for the harness, without a filter."""
        return f"ws://127.0.0.1:{self._port}/{self._own}/devtools/browser"

    @property
    def agents(self) -> str:
        """WebSocket address for an agent. With ``http://`` instead of ``ws://``, ``/json/version`` describes more."""
        return f"ws://127.0.0.1:{self._port}/{self._agents}/devtools/browser"

    @property
    def http(self) -> str:
        """``http://`` address for clients that request ``/json/version`` first; without a path if ``rooted``."""
        if self._plain is not None:
            return f"http://127.0.0.1:{_port_of(self._plain)}"
        return f"http://127.0.0.1:{self._port}/{self._agents}"

    async def shut(self) -> None:
        """Disconnect the agent's clients for good."""
        self._shut = True
        for connection in list(self._connections):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2.0):
                    await connection.close(1001, "the trial is over")

    async def close(self) -> None:
        """Stop listening."""
        for server in (self._server, self._plain):
            if server is not None:
                server.close()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(2.0):
                        await server.wait_closed()

    async def _answer_http(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer plain HTTP requests; return None for WebSockets."""
        token, rest = _parts(request)
        trusted = secrets.compare_digest(token, self._own)
        if not trusted and not secrets.compare_digest(token, self._agents):
            return connection.respond(HTTPStatus.NOT_FOUND, "not found\n")
        return await self._answer(connection, request, rest, self.agents.removesuffix("/browser"), trusted=trusted)

    async def _answer_http_without_path(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer requests on the port without a path.

        Host names other than loopback are refused, because a web page may have made its name resolve to this address.
        """
        hosts = [host.partition(":")[0] for host in request.headers.get_all("Host")]  # chromedriver sends no port
        if hosts not in (["127.0.0.1"], ["localhost"]):
            return connection.respond(HTTPStatus.FORBIDDEN, "expected the host 127.0.0.1 or localhost\n")
        rest = request.path.split("?")[0].strip("/")
        sockets = self.http.replace("http:", "ws:", 1) + "/devtools"
        return await self._answer(connection, request, rest, sockets, trusted=False)

    async def _answer(
        self, connection: ServerConnection, request: Request, rest: str, sockets: str, *, trusted: bool
    ) -> Response | None:
        if request.headers.get("Origin", "").startswith(("http:", "https:")):  # web pages may not connect
            return connection.respond(HTTPStatus.FORBIDDEN, "not for web pages\n")
        if not trusted and (self._shut or len(self._connections) >= _CLIENTS):
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "the trial is over, or too many connections\n")
        answer: Any = None
        if rest == "json/version":
            answer = {**self._version, "webSocketDebuggerUrl": f"{sockets}/browser"}
        elif rest in ("json", "json/list"):
            answer = [{**page, "webSocketDebuggerUrl": f"{sockets}/page/{page['id']}"} for page in await self._pages()]
        elif f"{rest}/".startswith(("devtools/browser/", "devtools/page/")):
            return None
        if answer is None:
            return connection.respond(HTTPStatus.NOT_FOUND, _NOT_SERVED.get(rest, "not found\n"))
        response = connection.respond(HTTPStatus.OK, json.dumps(answer))
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = "application/json; charset=UTF-8"
        return response

    async def _serve(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        token, _ = _parts(connection.request)
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
        target = connection.request.path.split("?")[0].rstrip("/").partition("devtools/page/")[2]
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


def _parts(request: Request) -> tuple[str, str]:
    """Return the first part of the path, and the rest."""
    token, _, rest = request.path.split("?")[0].lstrip("/").partition("/")
    return token, rest.rstrip("/")


def _port_of(server: Server) -> int:
    port: int = next(iter(server.sockets)).getsockname()[1]
    return port
