"""Gateways and their sessions. Each lease has a session with its own loopback ports, routes, log and connections."""

from __future__ import annotations

import asyncio
import math
import re
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType

from pytest_webarena.evidence import RequestRecord, Unfinished, Unrecorded
from pytest_webarena.gateway.authority import Authority
from pytest_webarena.gateway.client import BrowserConnection, Owner
from pytest_webarena.gateway.hosted import HostedRoute
from pytest_webarena.gateway.log import RequestLog, Totals
from pytest_webarena.gateway.log_entry import SAFE_METHODS, Entry
from pytest_webarena.gateway.routes import Guarded, OtherHosts, RouteTable
from pytest_webarena.gateway.settings import GatewaySettings
from pytest_webarena.gateway.upstream import Arrival, Route

__all__ = ["Gateway", "GatewaySession"]

_FIELD = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+: [\x20-\x7e]*")


class Gateway:
    """Opens sessions on the running event loop, and closes those that are still open.

    Sizes are in bytes, times in seconds; `GatewaySettings` explains each.
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
        hold: float = 5.0,
        linger: float = 5.0,
        authority: Callable[[], Authority] | None = None,
        keep: Callable[[Entry], None] | None = None,
        own_addresses: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """``keep`` receives each finished exchange, with bodies of any kind and size that are dropped afterwards.
        ``authority`` returns the certificate authority when it is first needed; None: this gateway makes its own.
        ``own_addresses`` are base URLs by the own addresses of hosted sites."""
        self._authority = authority or cache(Authority)
        self._settings = GatewaySettings(
            body_limit=body_limit,
            head_limit=head_limit,
            max_entries=max_entries,
            max_log_bytes=max_log_bytes,
            connect_timeout=connect_timeout,
            response_timeout=response_timeout,
            hold=hold,
            linger=linger,
            keep=keep,
            own_addresses=own_addresses,
            certificates=lambda host: self._authority().context(host),
        )
        self._sessions: set[GatewaySession] = set()

    async def open(self) -> GatewaySession:
        """Open a session on free ports of 127.0.0.1. It serves nothing until `GatewaySession.route` is called."""
        session = GatewaySession(self._settings)
        await session.listen()
        self._sessions = {known for known in self._sessions if not known.closed}
        self._sessions.add(session)
        return session

    async def close(self) -> None:
        """Close all sessions."""
        for session in list(self._sessions):
            await session.close()
        self._sessions.clear()


class _HarnessPort:
    """A session as its harness port presents it: only the log and the visited hosts are separate (`client.Owner`)."""

    def __init__(self, session: GatewaySession, log: RequestLog, writes: dict[str, str] | None = None) -> None:
        """``writes`` receives, by host, what may have changed it; None: those of the session."""
        self.settings = session.settings
        self.routes = session.routes
        self.connections = session.connections
        self.pipes = session.pipes
        self.unsafe_hosts = session.unsafe_hosts if writes is None else writes
        self.unfinished_hosts = session.unfinished_hosts if writes is None else writes
        self.visits = False
        self.visited_hosts: set[str] = set()
        self.log = log
        self._session = session

    @property
    def upstream_error(self) -> str:
        return self._session.upstream_error

    @upstream_error.setter
    def upstream_error(self, error: str) -> None:
        self._session.upstream_error = error


class GatewaySession:
    """The network exit of one trial's browser: its proxy is ``http://127.0.0.1:<port>``. Made by `Gateway.open`.

    A second port for the harness serves the same sites with a log of its own: the port identifies who made a request.
    """

    port: int
    """The proxy's port on 127.0.0.1."""
    harness_port: int
    """Port for requests of the harness: login, set-up, pages that checks open. They are not in `requests`."""
    sign_in_port: int
    """Port for sign-ins of the harness, which change less than other requests: see `sign_in_hosts`."""
    sign_in_hosts: dict[str, str]
    """The same as `unsafe_hosts` and `unfinished_hosts`, for requests at `sign_in_port` only."""
    unsafe_hosts: dict[str, str]
    """Host to the first request on it that may have changed state, e.g. ``POST http://homepage.test/notes``,
    ``WebSocket http://homepage.test/live``. It is complete even if the log is not, and set before a byte is forwarded.

    It relies on HTTP's definition of methods: only a fingerprint reveals a site that changes state on GET."""
    unfinished_hosts: dict[str, str]
    """Host to the first request that the browser or `close` cut off before its answer was complete, e.g.
    ``GET http://homepage.test/report was not over``: whatever its method, the replica may still work on it."""
    visited_hosts: set[str]
    """Served hosts that the browser has sent requests to. Requests of the harness do not count."""
    visits = True
    """Whether requests may start sites that are leased on their first visit. Those of the harness may not."""
    upstream_error: str
    """The first fault of a replica (refused, died, not HTTP), e.g. ``homepage.test (served by …): no connection: …``;
    empty while all work. A trial with a fault was not judged on a working site."""
    own_address_fault: str
    """The first use of a hosted site's own address that fails under its name; empty if there was none."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.routes = RouteTable(settings.own_addresses)
        self.log, self._harness_log = (
            RequestLog(
                body_limit=settings.body_limit,
                max_entries=settings.max_entries,
                max_bytes=settings.max_log_bytes,
                on_finish=self._wake_waiting,
                keep=settings.keep,
            )
            for _ in range(2)
        )
        self.connections: set[BrowserConnection] = set()
        self.pipes: set[asyncio.Transport] = set()
        self.unsafe_hosts = {}
        self.unfinished_hosts = {}
        self.visited_hosts = set()
        self.upstream_error = self.own_address_fault = ""
        self.sign_in_hosts = {}
        self.port = self.harness_port = self.sign_in_port = 0
        self.closed = False
        self._servers: list[asyncio.Server] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self._retired: list[Route] = []
        self._headers: dict[str, tuple[str, ...]] = {}
        self._environment_headers: dict[str, dict[str, str]] = {}

    async def listen(self) -> None:
        """Bind all ports."""
        self.port = await self._bind(self)
        self.harness_port = await self._bind(_HarnessPort(self, self._harness_log))
        self.sign_in_port = await self._bind(_HarnessPort(self, self._harness_log, self.sign_in_hosts))

    async def _bind(self, owner: Owner) -> int:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: BrowserConnection(owner), "127.0.0.1", 0, backlog=128)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    def route(
        self,
        host: str,
        upstream_host: str,
        upstream_port: int,
        *,
        port: int = 80,
        tls: bool | None = None,
        read: bool = False,
        secure: ssl.SSLContext | None = None,
        archived: bool = False,
        unneeded: bool = False,
        arrival: Arrival | None = None,
        reads: Sequence[str] | None = None,
        address: str | None = None,
    ) -> None:
        """Serve ``http://<host>[:port]`` by the replica at ``upstream_host:upstream_port`` from now on.

        An existing route is replaced and its connections are reset. With ``tls`` (the default on port 443), the address
        is ``https://<host>[:port]``. TLS is ended here if requests are to be ``read``. Otherwise it is an external site
        in a tunnel whose content is unknown, so any use of it counts as unsafe. ``secure``, ``archived``, ``unneeded``,
        ``arrival`` and ``reads``: see `Route`. ``address`` is the own one of a site that runs elsewhere and has the
        name ``host`` here: see `hosted`.
        """
        tls = port == 443 if tls is None else tls
        kind: Callable[..., Route] = Route
        if address is not None:
            kind = partial(HostedRoute, address=address, book=self.routes.addresses, report=self._report_fault)
        route = kind(
            host.lower(), port, upstream_host, upstream_port, tls=tls, read=read, secure=secure, archived=archived,
            unneeded=unneeded, arrival=arrival, reads=reads,
        )  # fmt: skip
        route.sent_on = self.routes.sent_on if archived else None
        route.allowed = self.routes.allowed
        route.headers = self._added(route.host)
        before = self.routes.put(route)
        if before is not None:
            self._retire(before)
        if isinstance(route, HostedRoute):
            self.routes.put_own_address(route)

    def settle(self, host: str, address: str) -> None:
        """Set the own address of a hosted site that was leased on its first visit."""
        for route in list(self.routes):
            if route.host == host.lower() and isinstance(route, HostedRoute):
                route.settle(address)
                self.routes.put_own_address(route)

    def _report_fault(self, reason: str) -> None:
        self.own_address_fault = self.own_address_fault or reason

    def enter(self, world: Guarded) -> None:
        """Ask ``world`` from now on for routes to hosts that are not in the table."""
        self.routes.world = world

    def admit_hosts(self, hosts: OtherHosts) -> None:
        """Ask ``hosts`` from now on for routes to hosts that no site serves, before what `enter` opens."""
        self.routes.other_hosts = hosts

    def serves(self, host: str, port: int) -> bool:
        """Return whether a route exists for this host and port."""
        return self.routes.has(host.lower(), port)

    def set_headers(self, host: str, headers: Mapping[str, str]) -> None:
        """Add ``headers`` to every request to ``host`` from now on, and to no other; an empty mapping ends that.

        They replace the browser's headers of the same name and are never logged, because they may contain credentials.
        `ValueError` for one that HTTP can't carry. They are not added in tunnels that are forwarded unread.
        """
        lines = tuple(f"{name}: {value}" for name, value in headers.items())
        for line in lines:
            if not _FIELD.fullmatch(line):
                raise ValueError(f"expected a header of printable text, found {line.partition(':')[0]!r}")
        self._headers[host.lower()] = lines
        self._add(host.lower())

    def add_environment_header(self, host: str, name: str, value: str) -> None:
        """Add a header of the environment to every request to ``host``, independent of `set_headers`."""
        self._environment_headers.setdefault(host.lower(), {})[name.lower()] = f"{name}: {value}"
        self._add(host.lower())

    def _added(self, host: str) -> tuple[str, ...]:
        return (*self._environment_headers.get(host, {}).values(), *self._headers.get(host, ()))

    def _add(self, host: str) -> None:
        for route in self.routes:
            if route.host == host:
                route.headers = self._added(host)

    def unroute(self, host: str) -> None:
        """Refuse ``host`` on all ports from now on and reset its connections. Unknown hosts are ignored."""
        for route in self.routes.drop(host.lower()):
            self._retire(route)

    def requests(self) -> list[RequestRecord]:
        """Return the log in order of arrival, without requests that only the gateway's own translation of addresses
        caused. Requests in flight have the status known so far, or None."""
        return self.log.records()

    @property
    def unsafe(self) -> str:
        """Why the traffic so far may have changed state: the first of `unsafe_hosts`; empty if it can't have."""
        return next(iter(self.unsafe_hosts.values()), "")

    @property
    def logs(self) -> tuple[RequestLog, ...]:
        """The logs of both ports: the browser's first, the harness's last."""
        return (self.log, self._harness_log)

    def unrecorded(self) -> list[Unrecorded]:
        """Return counts of the browser's requests that `requests` lacks."""
        return self.log.unrecorded()

    def own_answer(self, url: str, *, harness: bool = False) -> str:
        """Return the gateway's own answer to the latest request for ``url`` by the browser, or by the ``harness``.

        Empty if a site answered; see `RequestLog.own_answer`.
        """
        return self.logs[-1 if harness else 0].own_answer(url)

    @property
    def doubtful(self) -> bool:
        """Whether the traffic is a reason to check that the sites work."""
        return any(log.doubtful for log in self.logs)

    @property
    def totals(self) -> Totals:
        """Counts of everything carried. `requests` is incomplete if ``unrecorded`` > 0."""
        return self.log.totals()

    @property
    def in_flight(self) -> int:
        """Number of unfinished exchanges and tunnels. Requests that a replica has read can't be recalled."""
        return self.log.in_flight + self._harness_log.in_flight

    @property
    def unfinished(self) -> list[Unfinished]:
        """Requests in flight that may change state, including the harness's. WebSockets are excluded."""
        return self._unfinished(0.0)

    def _unfinished(self, reads: float, first: float = 0.0) -> list[Unfinished]:
        now = time.monotonic()
        writes = [
            entry for entry in self.log.writes_in_flight() if not (first and self.log.is_page_write(entry, first))
        ]
        entries = [*writes, *self._harness_log.writes_in_flight()]
        return [
            Unfinished(
                method=entry.method,
                url=entry.url,
                seconds=round(now - entry.started, 3),
                waits_for="browser" if not entry.sent else "site" if entry.status is None else "rest",
                repeated=bool(reads) and self.log.is_repeated(entry, now - reads),
            )
            for entry in (*entries, *(self.log.reads_unanswered(now - reads) if reads else ()))
        ]

    async def wait_for_writes(
        self, seconds: float, *, quiet: float = 0.0, reads: float = 0.0, acted: float = 0.0
    ) -> list[Unfinished]:
        """Wait up to ``seconds`` until no request is `unfinished`; return those that still are.

        Args:
            seconds: Maximum time to wait.
            quiet: Also wait until so many seconds have passed since the end of a request that pages may react to.
            reads: Also wait for other requests that began within the last ``reads`` seconds, until a site answers.
                Sites continue with them even if the browser has broken them off.
            acted: Seconds since the agent's first action. Writes that a page itself repeats since before then are
                ignored.
        """
        began = time.monotonic()
        deadline, waited = began + seconds, -math.inf
        while not self.closed:
            now = time.monotonic()
            unfinished = self._unfinished(reads and reads + now - began, acted and began - acted)
            pause = max(self.log.last_relevant_answer, waited) + quiet - now if quiet and not unfinished else 0.0
            if now >= deadline or not (unfinished or pause > 0):
                return unfinished
            change = asyncio.get_running_loop().create_future()
            self._waiting.add(change)
            try:
                async with asyncio.timeout(min(deadline - now, pause or math.inf)):
                    await change
            except TimeoutError:
                continue
            finally:
                self._waiting.discard(change)
            if any(each.method not in SAFE_METHODS for each in unfinished):  # `last_relevant_answer` is for reads
                waited = time.monotonic()
        return self._unfinished(0.0)

    def _wake_waiting(self) -> None:
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def close(self) -> None:
        """Close the ports and reset all connections on both sides. The log stays readable."""
        if self.closed:
            return
        self.closed = True
        # asyncio loses connections that it is just accepting when a server closes, so accepting stops first.
        for server in self._servers:
            for sock in server.sockets:
                asyncio.get_running_loop().remove_reader(sock.fileno())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.abort()
        for transport in list(self.pipes):
            transport.abort()
        routes = [*self.routes, *self.routes.live_routes.values(), *self._retired]
        for route in routes:
            route.cut()
        # The event loop reports the end of each connection in its next iterations.
        while self.connections or self.pipes or any(route.transports for route in routes):
            await asyncio.sleep(0)
        for server in self._servers:
            await server.wait_closed()

    def _retire(self, route: Route) -> None:
        route.cut()
        self._retired = [known for known in self._retired if known.transports]
        self._retired.append(route)
