"""Gateways and their sessions: one loopback port per lease, with its own routes, log and connections."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.sites.gateway.client import BrowserConnection
from pytest_webarena.sites.gateway.log import RequestLog, Totals
from pytest_webarena.sites.gateway.routes import RouteTable
from pytest_webarena.sites.gateway.settings import Settings
from pytest_webarena.sites.gateway.upstream import Route

__all__ = ["Gateway", "GatewaySession"]

_FIELD = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+: [\x20-\x7e]*")


class Gateway:
    """Opens sessions on the running event loop and closes what is left of them.

    Sizes are in bytes, times in seconds; `Settings` explains each.
    """

    def __init__(
        self,
        *,
        body_limit: int = 65536,
        head_limit: int = 131072,
        max_entries: int = 20_000,
        max_log_bytes: int = 64 * 1024 * 1024,
        connect_timeout: float = 10.0,
        response_timeout: float | None = None,
        linger: float = 5.0,
    ) -> None:
        self._settings = Settings(
            body_limit=body_limit,
            head_limit=head_limit,
            max_entries=max_entries,
            max_log_bytes=max_log_bytes,
            connect_timeout=connect_timeout,
            response_timeout=response_timeout,
            linger=linger,
        )
        self._sessions: set[GatewaySession] = set()

    async def open(self) -> GatewaySession:
        """A new session on a free port of 127.0.0.1; it serves nothing until `GatewaySession.route` is called."""
        session = GatewaySession(self._settings)
        await session.listen()
        self._sessions = {known for known in self._sessions if not known.closed}
        self._sessions.add(session)
        return session

    async def close(self) -> None:
        """Close every session."""
        for session in list(self._sessions):
            await session.close()
        self._sessions.clear()


class GatewaySession:
    """The way out of one task's browser: ``http://127.0.0.1:<port>`` as its proxy. Made by `Gateway.open`."""

    port: int
    """The proxy's port on 127.0.0.1."""
    unsafe_hosts: dict[str, str]
    """Host to the first request on it that may have changed state, e.g. ``POST http://homepage.test/notes``,
    ``WebSocket http://homepage.test/live``. Complete even where the log is not; marked before a byte is passed on.

    True to HTTP's meaning of methods: a site that changes state on GET needs a fingerprint to be found out."""
    unfinished_hosts: dict[str, str]
    """Host to the first request that was cut off before its answer was complete, by the browser or by `close`, e.g.
    ``GET http://homepage.test/report was not over``: whatever its method, the replica may still be at work on it."""
    upstream_error: str
    """The first fault of a replica (refused, died, spoke no HTTP), e.g. ``homepage.test (served by …): no
    connection: …``; empty while all work. A trial that met one was not judged on a working site."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.routes = RouteTable()
        self.log = RequestLog(
            body_limit=settings.body_limit, max_entries=settings.max_entries, max_bytes=settings.max_log_bytes
        )
        self.connections: set[BrowserConnection] = set()
        self.pipes: set[asyncio.Transport] = set()
        self.unsafe_hosts = {}
        self.unfinished_hosts = {}
        self.upstream_error = ""
        self.port = 0
        self.closed = False
        self._server: asyncio.Server | None = None
        self._retired: list[Route] = []
        self._headers: dict[str, tuple[str, ...]] = {}

    async def listen(self) -> None:
        """Bind the port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: BrowserConnection(self), "127.0.0.1", 0, backlog=128)
        self.port = self._server.sockets[0].getsockname()[1]

    def route(
        self, host: str, upstream_host: str, upstream_port: int, *, port: int = 80, tls: bool | None = None
    ) -> None:
        """Serve ``http://<host>[:port]`` by the replica at ``upstream_host:upstream_port`` from now on.

        A route already there is replaced, its connections are reset. With ``tls`` (the default on port 443) it
        is ``https://<host>[:port]`` instead: an external site, reached through a tunnel that can't be read, so
        any use of it counts as unsafe.
        """
        tls = port == 443 if tls is None else tls
        route = Route(host.lower(), port, upstream_host, upstream_port, tls=tls)
        route.headers = self._headers.get(route.host, ())
        before = self.routes.put(route)
        if before is not None:
            self._retire(before)

    def set_headers(self, host: str, headers: Mapping[str, str]) -> None:
        """Add ``headers`` to every request to ``host`` from now on, and to no other; an empty mapping ends that.

        They replace those of the same name that a browser sends, and are never in the log: they may sign a visitor in.
        `ValueError` for one that HTTP can't carry. Tunnels to ``https`` sites can't be added to.
        """
        lines = tuple(f"{name}: {value}" for name, value in headers.items())
        for line in lines:
            if not _FIELD.fullmatch(line):
                raise ValueError(f"expected a header of printable text, found {line.partition(':')[0]!r}")
        self._headers[host.lower()] = lines
        for route in self.routes:
            if route.host == host.lower():
                route.headers = lines

    def unroute(self, host: str) -> None:
        """Refuse ``host`` on all ports from now on and reset its connections. Unknown hosts are fine."""
        for route in self.routes.drop(host.lower()):
            self._retire(route)

    def requests(self) -> list[RequestRecord]:
        """The log, in order of arrival. What is still in flight has the status known so far, or None."""
        return self.log.records()

    @property
    def unsafe(self) -> str:
        """Why the traffic so far may have changed state, the first of `unsafe_hosts`; empty if it can't have."""
        return next(iter(self.unsafe_hosts.values()), "")

    @property
    def totals(self) -> Totals:
        """Counts of everything carried. ``unrecorded`` > 0 says that `requests` is incomplete."""
        return self.log.totals()

    @property
    def in_flight(self) -> int:
        """Exchanges and tunnels not yet over. What a replica has already read can't be called back from it."""
        return self.log.in_flight

    async def close(self) -> None:
        """Close the port and reset all connections on both sides. The log stays readable."""
        if self.closed:
            return
        self.closed = True
        if self._server is not None:
            # asyncio loses connections that it is just accepting when a server closes: stop, let them come, close.
            for sock in self._server.sockets:
                asyncio.get_running_loop().remove_reader(sock.fileno())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            self._server.close()
        for connection in list(self.connections):
            connection.abort()
        for transport in list(self.pipes):
            transport.abort()
        routes = [*self.routes, *self._retired]
        for route in routes:
            route.cut()
        # The loop reports each end in its next rounds.
        while self.connections or self.pipes or any(route.transports for route in routes):
            await asyncio.sleep(0)
        if self._server is not None:
            await self._server.wait_closed()

    def _retire(self, route: Route) -> None:
        route.cut()
        self._retired = [known for known in self._retired if known.transports]
        self._retired.append(route)
