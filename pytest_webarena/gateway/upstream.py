"""Connections to replicas: one `Route` per address served, each with its own pool of idle connections."""

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
    "NotThere",
    "ResponseSink",
    "Route",
    "UpstreamConnection",
    "end_writing",
    "nothing_allowed",
    "reset",
    "tls_fault",
]

_RESTART = 5.0
"""Seconds that a replica whose port is closed is given to open it again: apps restart themselves, e.g. for settings to
take effect. Nothing has been sent then, so asking again is safe."""
_PAUSE = 0.05
_LINGER_NONE = struct.pack("ii", 1, 0)


class NotThere(OSError):
    """What is to serve an address can't be had; the text says why."""


Arrival = Callable[[], Awaitable[tuple[str, int]]]
"""Waits until a replica serves a route; its host and port. `NotThere` when none will."""


class ResponseSink(Protocol):
    """Whoever waits for the answer on a connection."""

    def response_data(self, data: bytes) -> None:
        """Bytes came from the replica."""

    def response_end(self, error: Exception | None) -> None:
        """The replica ended the connection (None), or it broke."""

    def pause_upload(self) -> None:
        """The replica takes no more for now."""

    def resume_upload(self) -> None:
        """The replica takes more again."""


Allowed = Callable[[str, str], str]
"""Tells of a method and an address whether a request that may write is let through: ``write``, ``read``, or empty."""


def nothing_allowed(method: str, url: str) -> str:
    """What is let through where nobody has said."""
    return ""


class Route:
    """One address of the browser's world and the replica that serves it."""

    abroad = False
    """Whether it is the world's, asked under guard: what fails there is noted with the request; no replica broke."""
    answer_within: float | None = None
    """Seconds until the head of a response, if not as the gateway's settings say."""

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
        """Whether browsers speak TLS with it."""
        self.read = read
        """Whether TLS is ended here, so that requests are seen; otherwise bytes are passed on unread."""
        self.secure = secure
        """How TLS is spoken with what serves it; None: not at all, or by the browser itself."""
        self.upstream_host = upstream_host
        self.upstream_port = upstream_port
        self.archived = archived
        """Whether an archive serves it: nothing can be changed there, and what it lacks it says (`lacking`)."""
        self.unneeded = unneeded
        """Of an archived host: whether what it lacks decides nothing."""
        self.sent_on: RedirectSources | None = None
        """Of an archived host: where it is noted whom its pages send on."""
        self.allowed: Allowed = nothing_allowed
        """Of an archived host: what the trial might send to the live site."""
        self.authority = host if port == (443 if tls else 80) else f"{host}:{port}"
        """Value of the Host field: the stable name, whatever the browser wrote."""
        self.url = f"https://{self.authority}" if tls else f"http://{self.authority}"
        self.arrival = arrival
        """Of a site that is leased with the first request for it, until it is there."""
        self.reads = tuple(reads) if reads is not None else None
        """Of a site that all trials share, so that nothing may write into it: paths below which any method only reads.
        None: whoever visits the site has it alone."""
        self.headers: tuple[str, ...] = ()
        """Field lines that every request gets, in place of those of the same name."""
        self.open = True
        self.transports: set[asyncio.Transport] = set()
        self._down = False
        """Whether its port stayed closed for too long; then nobody waits again until it has opened."""
        self._idle: list[UpstreamConnection] = []

    def __str__(self) -> str:
        by = f"served by {self.upstream_host}:{self.upstream_port}" if self.arrival is None else "not there yet"
        return f"{self.authority} ({by})"

    def forbids(self, path: str) -> bool:
        """Whether a request for ``path`` must not be one that may change something."""
        if self.reads is None:
            return False
        plain = path.partition("?")[0]
        # Whoever reads dots and escapes otherwise than this would be led past it.
        odd = "%" in plain or "//" in plain or "\\" in plain or any(part in (".", "..") for part in plain.split("/"))
        return odd or not plain.startswith(self.reads)

    def admit(self, request: RequestHead, path: str, unsafe: str) -> None:
        """Raise `routes.Refused` for a request that must not be passed on. ``unsafe``: why it may change something."""

    def examines(self, request: RequestHead, path: str) -> bool:
        """Whether the whole body has to be known (`examine`) before anything is sent."""
        return False

    def examine(self, request: RequestHead, path: str, body: bytes) -> None:
        """Raise `routes.Refused` for a request whose body shows that it must not be passed on."""

    def heard(self, request: RequestHead, head: ResponseHead, entry: Entry) -> None:
        """The head of an answer has come."""

    async def open_for(self, request: RequestHead, path: str, timeout: float) -> UpstreamConnection:
        """What one request is sent on; as `connect`, and `routes.Refused` for one that must not be sent."""
        return await self.connect(timeout)

    def fields(self, sent: Sequence[str]) -> Sequence[str]:
        """A request's field lines as the replica gets them."""
        headers = self.headers
        if self.archived:  # one server for both schemes
            headers = (*headers, f"X-Forwarded-Proto: {'https' if self.tls else 'http'}")
        if not headers:
            return sent
        own = {line.partition(":")[0].lower() for line in headers}
        return [*(line for line in sent if line.partition(":")[0].lower() not in own), *headers]

    def take(self) -> UpstreamConnection | None:
        """The idle connection used last, if any."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.transport.is_closing():
                return connection
        return None

    def give_back(self, connection: UpstreamConnection) -> None:
        """Keep a connection that is between two exchanges."""
        if self.open:
            connection.reused = True
            connection.transport.resume_reading()
            self._idle.append(connection)
        else:
            connection.transport.abort()

    def forget(self, connection: UpstreamConnection) -> None:
        """An idle connection ended."""
        with contextlib.suppress(ValueError):
            self._idle.remove(connection)

    def gone(self) -> None:
        """Its replica has died: there is nothing to wait for."""
        self._down = True

    async def connect(self, timeout: float, *, raw: bool = False) -> UpstreamConnection:
        """A new connection. `OSError` or `TimeoutError` (after ``timeout`` seconds) when there is none to be had.

        Of a site that is not there yet: after its arrival, however long that takes.
        A port that was open and is closed now is tried for some seconds. ``raw``: without TLS, which others will speak.
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
                        server_hostname=self.host.strip("[]") if secure is not None else None,
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
        """Serve no more and reset every connection, so that nothing still unsent reaches the replica."""
        self.open = False
        idle = {connection.transport for connection in self._idle}
        self._idle.clear()
        for transport in list(self.transports):
            if transport in idle:
                transport.abort()
            else:
                reset(transport)


class UpstreamConnection(asyncio.Protocol):
    """One connection to a replica; hands what it gets to the exchange that uses it."""

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
            # Cut while it was being made.
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.sink is not None:
            self.sink.response_data(data)
        else:
            # Nobody asked: whatever it is, it must not become the answer to the next request.
            self._route.forget(self)
            self.transport.abort()

    def eof_received(self) -> None:
        sink, self.sink = self.sink, None
        self._route.forget(self)
        if sink is not None:
            sink.response_end(None)
        # Not left to asyncio, which would first wait until the rest of an upload is taken.
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


def reset(transport: asyncio.Transport) -> None:
    """Drop a connection with RST: unsent bytes are thrown away on this side and the peer sees an error, not an end."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
    transport.abort()


def tls_fault(error: ssl.SSLError) -> str:
    """What went wrong with TLS, for a message.

    >>> tls_fault(ssl.SSLError(1, "[SSL: TLSV1_ALERT_NO_APPLICATION_PROTOCOL] no application protocol (_ssl.c:1006)"))
    'it does not speak HTTP/1.1 (HTTP/2 alone is not enough here)'
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {error.verify_message}"
    told = str(error)
    if "NO_APPLICATION_PROTOCOL" in told:
        return "it does not speak HTTP/1.1 (HTTP/2 alone is not enough here)"
    return f"its TLS failed: {error.reason or told}"


def end_writing(transport: asyncio.Transport) -> None:
    """Half-close after flushing, or close where TLS knows no half; a connection that the peer has already reset is
    dropped."""
    if not transport.can_write_eof():
        transport.close()
        return
    try:
        transport.write_eof()
    except OSError:
        transport.abort()
