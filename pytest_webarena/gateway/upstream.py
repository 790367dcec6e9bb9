"""Connections to replicas. Each served address has one `Route` with its own pool of idle connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pytest_webarena.gateway.heads import RequestHead, ResponseHead
    from pytest_webarena.gateway.log_entry import Entry
    from pytest_webarena.gateway.redirect_sources import RedirectSources

__all__ = [
    "Allowed",
    "Arrival",
    "NotAvailable",
    "ResponseSink",
    "Route",
    "UpstreamConnection",
    "end_writing",
    "nothing_allowed",
    "reset",
    "tls_fault",
]

_RESTART = 5.0
"""Seconds in which a replica may reopen a closed port: apps restart themselves, e.g. to apply settings. Nothing has
been sent at that point, so a retry is safe."""
_PAUSE = 0.05
_LINGER_NONE = struct.pack("ii", 1, 0)


class NotAvailable(OSError):
    """The server for an address is not available; the text says why."""


Arrival = Callable[[], Awaitable[tuple[str, int]]]
"""Waits until a replica serves a route and returns its host and port. `NotAvailable` if none will."""


class ResponseSink(Protocol):
    """Receiver of the answer on a connection."""

    def response_data(self, data: bytes) -> None:
        """Handle bytes from the replica."""

    def response_end(self, error: Exception | None) -> None:
        """Handle the end of the connection: ``error`` is None if the replica closed it."""

    def pause_upload(self) -> None:
        """Pause sending: the replica does not read."""

    def resume_upload(self) -> None:
        """Resume sending: the replica reads again."""


Allowed = Callable[[str, str], str]
"""Returns for a method and an address whether a request that may write is permitted: ``write``, ``read``, or empty."""


def nothing_allowed(method: str, url: str) -> str:
    """Permit nothing: the default `Allowed`."""
    return ""


class Route:
    """One address that browsers can request, and the replica that serves it."""

    is_live = False
    """Whether it is a guarded live site. Its failures are noted with the request, not as faults of a replica."""
    own_address: str | None = None
    """For a site that runs elsewhere and has a name here: its own address, empty until it is leased."""
    answer_within: float | None = None
    """Seconds until the head of a response, if different from the gateway's settings."""

    def __init__(
        self,
        host: str,
        port: int,
        upstream_host: str,
        upstream_port: int,
        *,
        tls: bool = False,
        read: bool = False,
        secure: ssl.SSLContext | None = None,
        archived: bool = False,
        unneeded: bool = False,
        arrival: Arrival | None = None,
        reads: Sequence[str] | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self.tls = tls
        """Whether browsers use TLS for it."""
        self.read = read
        """Whether TLS is ended here, so that requests are read; otherwise bytes are forwarded unread."""
        self.secure = secure
        """TLS context for the connection to the server; None: no TLS, or the browser's own."""
        self.upstream_host = upstream_host
        self.upstream_port = upstream_port
        self.archived = archived
        """Whether an archive serves it: nothing can be changed there, and it reports what it lacks
        (`archive_misses`)."""
        self.unneeded = unneeded
        """For an archived host: whether missing resources do not matter."""
        self.sent_on: RedirectSources | None = None
        """For an archived host: the record of its pages' redirects."""
        self.allowed: Allowed = nothing_allowed
        """For an archived host: the permission that the trial would have on the live site."""
        self.authority = host if port == (443 if tls else 80) else f"{host}:{port}"
        """The stable name, with its port if that is not the default."""
        self.url = f"https://{self.authority}" if tls else f"http://{self.authority}"
        self.host_field = self.authority
        """Value of the Host field that the server receives."""
        self.server_name = host.strip("[]")
        """Name on the server's certificate."""
        self.arrival = arrival
        """For a site that is leased on its first request: waits for the lease, and is None afterwards."""
        self.reads = tuple(reads) if reads is not None else None
        """For a site that all trials share, so that nothing may be written to it: paths below which every method only
        reads. None: the trial has the site to itself."""
        self.headers: tuple[str, ...] = ()
        """Field lines that are added to every request and replace those of the same name."""
        self.open = True
        self.transports: set[asyncio.Transport] = set()
        self._down = False
        """Whether its port stayed closed for too long; then connecting does not wait again until it has opened."""
        self._idle: list[UpstreamConnection] = []

    def __str__(self) -> str:
        by = f"served by {self.upstream_host}:{self.upstream_port}" if self.arrival is None else "not there yet"
        return f"{self.authority} ({by})"

    def forbids(self, path: str) -> bool:
        """Return whether a request for ``path`` must not be one that may change something."""
        return self.reads is not None and not only_reads(path, self.reads)

    def admit(self, request: RequestHead, path: str, unsafe: str) -> None:
        """Raise `routes.Refused` for a request that must not be passed on. ``unsafe``: why it may change something."""

    def answer_itself(self, request: RequestHead, path: str, *, close: bool) -> tuple[int, str, bytes] | None:
        """Return status, head (for the log) and bytes of an answer in the server's place; None: the server answers."""
        return None

    def examines(self, request: RequestHead, path: str) -> bool:
        """Return whether the complete body must be known (`examine`) before anything is sent."""
        return False

    def examine(self, request: RequestHead, path: str, body: bytes) -> None:
        """Raise `routes.Refused` for a request whose body shows that it must not be passed on."""

    def receive_response_head(self, request: RequestHead, head: ResponseHead, entry: Entry) -> None:
        """Handle the head of an answer."""

    async def stored_answer(self, request: RequestHead, path: str, timeout: float) -> bytes | None:
        """Return a complete answer that a route keeps for all trials; None: the request is forwarded.

        `OSError` if the answer can't be fetched, `routes.Refused` if it must not be.
        """
        return None

    async def open_for(self, request: RequestHead, path: str, timeout: float) -> UpstreamConnection:
        """Return the connection for one request, as `connect` does; `routes.Refused` if it must not be sent."""
        return await self.connect(timeout)

    def fields(self, sent: Sequence[str]) -> Sequence[str]:
        """Return a request's field lines as the replica receives them."""
        headers = self.headers
        if self.archived:  # one server serves both schemes
            headers = (*headers, f"X-Forwarded-Proto: {'https' if self.tls else 'http'}")
        if not headers:
            return sent
        own = {line.partition(":")[0].lower() for line in headers}
        return [*(line for line in sent if line.partition(":")[0].lower() not in own), *headers]

    def take(self) -> UpstreamConnection | None:
        """Take the most recently used idle connection from the pool, if any."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.transport.is_closing():
                return connection
        return None

    def give_back(self, connection: UpstreamConnection) -> None:
        """Return a connection to the pool after an exchange."""
        if self.open:
            connection.reused = True
            connection.transport.resume_reading()
            self._idle.append(connection)
        else:
            connection.transport.abort()

    def forget(self, connection: UpstreamConnection) -> None:
        """Remove an idle connection that ended from the pool."""
        with contextlib.suppress(ValueError):
            self._idle.remove(connection)

    def mark_down(self) -> None:
        """Note that the replica has died, so that connecting does not wait."""
        self._down = True

    async def connect(self, timeout: float, *, raw: bool = False) -> UpstreamConnection:
        """Open a new connection. `OSError` or `TimeoutError` (after ``timeout`` seconds) if that is not possible.

        A site that is leased on its first request is awaited first, however long that takes. A port that was open and
        is closed now is retried for some seconds. ``raw``: without TLS, because the browser negotiates it.
        """
        if self.arrival is not None:
            self.upstream_host, self.upstream_port = await self.arrival()
            self.arrival = None
        loop = asyncio.get_running_loop()
        secure = None if raw else self.secure
        ends = loop.time() + min(_RESTART, timeout / 2)
        async with asyncio.timeout(timeout):
            while True:
                try:
                    _, connection = await loop.create_connection(
                        lambda: UpstreamConnection(self),
                        self.upstream_host,
                        self.upstream_port,
                        ssl=secure,
                        server_hostname=self.server_name if secure is not None else None,
                    )
                except ssl.SSLError as error:
                    raise OSError(tls_fault(error)) from error
                except ConnectionRefusedError:
                    if self._down or not self.open or loop.time() >= ends:
                        self._down = True
                        raise
                    await asyncio.sleep(_PAUSE)
                else:
                    self._down = False
                    return connection

    def cut(self) -> None:
        """Stop serving and reset every connection, so that nothing still unsent reaches the replica."""
        self.open = False
        idle = {connection.transport for connection in self._idle}
        self._idle.clear()
        for transport in list(self.transports):
            if transport in idle:
                transport.abort()
            else:
                reset(transport)


class UpstreamConnection(asyncio.Protocol):
    """One connection to a replica. It passes data to the exchange that uses it."""

    transport: asyncio.Transport

    def __init__(self, route: Route) -> None:
        self._route = route
        self.sink: ResponseSink | None = None
        self.reused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._route.transports.add(transport)
        if not self._route.open:
            # The route was cut while the connection was being made.
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.sink is not None:
            self.sink.response_data(data)
        else:
            # Unsolicited data must not become the answer to the next request.
            self._route.forget(self)
            self.transport.abort()

    def eof_received(self) -> None:
        sink, self.sink = self.sink, None
        self._route.forget(self)
        if sink is not None:
            sink.response_end(None)
        # asyncio would first wait until the rest of an upload is sent.
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._route.transports.discard(self.transport)
        self._route.forget(self)
        sink, self.sink = self.sink, None
        if sink is not None:
            sink.response_end(exc or ConnectionAbortedError("the connection was cut"))

    def pause_writing(self) -> None:
        if self.sink is not None:
            self.sink.pause_upload()

    def resume_writing(self) -> None:
        if self.sink is not None:
            self.sink.resume_upload()


def only_reads(path: str, reads: Sequence[str]) -> bool:
    """Return whether every method only reads at ``path``, because it is below one of ``reads``."""
    plain = path.partition("?")[0]
    # Servers that interpret dots and escapes differently could be made to leave the permitted paths.
    is_ambiguous = (
        "%" in plain or "//" in plain or "\\" in plain or any(part in (".", "..") for part in plain.split("/"))
    )
    return not is_ambiguous and plain.startswith(tuple(reads))


def reset(transport: asyncio.Transport) -> None:
    """Drop a connection with RST: unsent bytes are discarded, and the peer sees an error instead of an end."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
    transport.abort()


def tls_fault(error: ssl.SSLError) -> str:
    """Describe a TLS failure for a message.

    >>> tls_fault(ssl.SSLError(1, "[SSL: TLSV1_ALERT_NO_APPLICATION_PROTOCOL] no application protocol (_ssl.c:1006)"))
    'it does not speak HTTP/1.1 (HTTP/2 alone is not enough here)'
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {error.verify_message}"
    text = str(error)
    if "NO_APPLICATION_PROTOCOL" in text:
        return "it does not speak HTTP/1.1 (HTTP/2 alone is not enough here)"
    return f"its TLS failed: {error.reason or text}"


def end_writing(transport: asyncio.Transport) -> None:
    """Half-close after flushing; close where TLS does not support that, and drop a connection that the peer has
    reset."""
    if not transport.can_write_eof():
        transport.close()
        return
    try:
        transport.write_eof()
    except OSError:
        transport.abort()
