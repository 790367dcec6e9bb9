"""Raw tunnels (CONNECT, upgraded WebSockets): two connections joined both ways, with backpressure and half-close."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from pytest_webarena.gateway.heads import BadMessage, RequestHead
from pytest_webarena.gateway.log_entry import Entry
from pytest_webarena.gateway.settings import GatewaySettings
from pytest_webarena.gateway.upstream import Route, end_writing

__all__ = ["ESTABLISHED", "BrowserSide", "Pipe", "TunnelOpening", "open_tunnel"]

ESTABLISHED = "HTTP/1.1 200 Connection established\r\n"


class BrowserSide(Protocol):
    """The part of a browser's connection that an exchange uses."""

    transport: asyncio.Transport

    def reply(self, entry: Entry, status: int, title: str, reason: str, *, close: bool) -> None:
        """Answer with a page of the gateway."""

    def refuse(self, entry: Entry, error: BadMessage, *, close: bool, request: RequestHead | None = None) -> None:
        """Answer with the reason why the request is not forwarded."""

    def reply_starting(self, route: Route, entry: Entry) -> None:
        """Answer with a page that says that the site is still starting, and that reloads itself."""

    def exchange_done(self, *, close: bool) -> None:
        """Note that the response is complete and written."""

    def cut(self, *, hard: bool) -> None:
        """End the connection so that the browser sees a broken response: ``hard`` with RST, else after flushing."""

    def become_pipe(self, entry: Entry) -> tuple[Pipe, bytes]:
        """Give up the connection to a tunnel; the bytes are those already read from it."""

    def upstream_failed(self, route: Route, reason: str) -> None:
        """Note a fault of the replica."""

    def cut_off(self, route: Route, entry: Entry) -> None:
        """Note that nobody has read the complete answer to a request, so the replica may still work on it."""


class Pipe(asyncio.Protocol):
    """One end of a tunnel."""

    _peer: Pipe

    def __init__(self, transport: asyncio.Transport, count: Callable[[int], None], on_lost: Callable[[], None]) -> None:
        self.transport = transport
        self._count = count
        self._on_lost = on_lost
        self._ended = False

    def join(self, peer: Pipe) -> None:
        """Forward all incoming data to ``peer``."""
        self._peer = peer
        self.transport.set_protocol(self)
        self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._count(len(data))
        self._peer.transport.write(data)

    def eof_received(self) -> bool:
        self._ended = True
        if self._peer._ended:
            self.transport.close()
            self._peer.transport.close()
        else:
            end_writing(self._peer.transport)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost()
        if exc is None:
            self._peer.transport.close()
        else:
            self._peer.transport.abort()

    def pause_writing(self) -> None:
        self._peer.transport.pause_reading()

    def resume_writing(self) -> None:
        self._peer.transport.resume_reading()


def open_tunnel(browser: BrowserSide, route: Route, upstream: asyncio.Transport, entry: Entry, buffered: bytes) -> None:
    """Join the browser's connection with ``upstream``, from which ``buffered`` has already been read."""

    def count(size: int) -> None:
        entry.response_bytes += size

    near, pending = browser.become_pipe(entry)
    far = Pipe(upstream, count, lambda: route.transports.discard(upstream))
    near.join(far)
    far.join(near)
    if pending:
        near.data_received(pending)
    if buffered:
        far.data_received(buffered)


class TunnelOpening:
    """A CONNECT to a TLS site whose connection is still being made."""

    wants_body = False

    def __init__(self, browser: BrowserSide, settings: GatewaySettings, route: Route, entry: Entry) -> None:
        self._browser = browser
        self._settings = settings
        self._route = route
        self._entry = entry
        self._task = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        try:
            connection = await self._route.connect(self._settings.connect_timeout, raw=True)
        except OSError as error:  # TimeoutError is one too
            reason = f"no connection: {error.strerror or error or 'timed out'}"
            self._browser.upstream_failed(self._route, reason)
            self._browser.reply(
                self._entry,
                502,
                f"{self._route.host} does not work",
                f"The site {self._route} failed: {reason}.",
                close=True,
            )
            return
        self._entry.status = 200
        self._entry.response_head = ESTABLISHED
        self._browser.transport.write(ESTABLISHED.encode() + b"\r\n")
        open_tunnel(self._browser, self._route, connection.transport, self._entry, b"")

    def request_data(self, data: bytes) -> int:
        raise AssertionError("a tunnel that is being opened takes no data")

    def pause_download(self) -> None:
        """Nothing to pause yet."""

    def resume_download(self) -> None:
        """Nothing to resume yet."""

    def browser_lost(self) -> bool:
        self._task.cancel()
        return False

    def abort(self) -> None:
        self._task.cancel()
