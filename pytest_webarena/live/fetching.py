"""A minimal HTTP client for single documents that the harness requests itself."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from pytest_webarena.gateway.framing import Capture, response_body
from pytest_webarena.gateway.heads import BadMessage, ResponseHead, parse_response

__all__ = ["FetchProtocol", "fetch", "retrieve"]

_LIMIT = 512 * 1024
"""Bytes that are read at most; a reader must accept a robots.txt of at least 500 KiB (RFC 9309 §2.5)."""
_HEAD = 65536


class FetchProtocol(asyncio.Protocol):
    """One request on a connection of its own, and its response."""

    transport: asyncio.Transport

    def __init__(self, limit: int) -> None:
        self.data = b""
        self.head: ResponseHead | None = None
        self.body = Capture(limit)
        self.is_complete = False
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reader: object = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            self._take(data)
        except BadMessage as error:
            self._end(OSError(f"it speaks no HTTP/1.1: {error}"))

    def _take(self, data: bytes) -> None:
        self.data += data
        while self.head is None:
            text, found, rest = self.data.partition(b"\r\n\r\n")
            if not found:
                if len(self.data) > _HEAD:
                    raise BadMessage("a head without end")
                return
            head = parse_response(text.decode("latin-1") + "\r\n")
            self.data = rest
            if head.status >= 200:
                self.head = head
                self._body = response_body(head, "GET", self.body)
        if self._body is not None and self.data:
            self._body.feed(self.data, 0)
            self.data = b""
        if self._body is None or self._body.done or len(self.body.data) >= self.body.limit:
            self.is_complete = self._body is None or (self._body.done and self._body.payload <= self.body.limit)
            self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.is_complete = self.head is not None and (self._body is None or self._body.end())
        self._end(None if self.is_complete else OSError("the connection ended in the middle of the answer"))

    def eof_received(self) -> None:
        """Close the connection, which `connection_lost` handles."""

    def _end(self, error: OSError | None) -> None:
        if not self.over.done():
            if error is None:
                self.over.set_result(None)
            else:
                self.over.set_exception(error)
        self.transport.abort()


Connect = Callable[[Callable[[], FetchProtocol]], Awaitable[FetchProtocol]]
"""Function that connects a protocol to the server."""


async def retrieve(request: bytes, connect: Connect, *, limit: int) -> tuple[ResponseHead, bytes, bool]:
    """Send ``request`` and return the response's head, its content as encoded, and whether the content is complete.

    At most ``limit`` bytes of content are read. `OSError` when there is no response.
    """
    protocol = await connect(lambda: FetchProtocol(limit))
    try:
        protocol.transport.write(request)
        await protocol.over
    finally:
        protocol.transport.abort()
    assert protocol.head is not None
    return protocol.head, bytes(protocol.body.data), protocol.is_complete


async def fetch(url: str, connect: Connect, user_agent: str) -> tuple[int, str, str]:
    """Status, ``Location`` and text of the document at ``url``. `OSError` when it cannot be fetched."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [
        f"GET {path} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}", f"User-Agent: {user_agent}",
        "Accept: text/plain,*/*", "Accept-Encoding: identity", "Connection: close", "", "",
    ]  # fmt: skip
    head, data, _ = await retrieve("\r\n".join(lines).encode("latin-1", "replace"), connect, limit=_LIMIT)
    known = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in head.fields)}
    if known.get("content-encoding", "").lower() == "gzip":  # some servers ignore Accept-Encoding
        try:
            data = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(
                data, _LIMIT
            )  # limits what a small body can expand to
        except zlib.error as error:
            raise OSError(f"its coding can't be read: {error}") from error
    return head.status, known.get("location", ""), data.decode("utf-8", "replace")
