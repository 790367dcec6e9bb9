"""A minimal HTTP client for one small document that the harness requests itself: robots.txt."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from pytest_webarena.gateway.framing import Capture, response_body
from pytest_webarena.gateway.heads import BadMessage, ResponseHead, parse_response

__all__ = ["fetch"]

_LIMIT = 512 * 1024
"""Bytes that are read at most; a reader must accept a robots.txt of at least 500 KiB (RFC 9309 §2.5)."""
_HEAD = 65536


class _FetchProtocol(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self) -> None:
        self.data = b""
        self.head: ResponseHead | None = None
        self.body = Capture(_LIMIT)
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
        if self._body is None or self._body.done or len(self.body.data) >= _LIMIT:
            self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        is_complete = self.head is not None and (self._body is None or self._body.end())
        self._end(None if is_complete else OSError("the connection ended without an answer"))

    def _end(self, error: OSError | None) -> None:
        if not self.over.done():
            if error is None:
                self.over.set_result(None)
            else:
                self.over.set_exception(error)
        self.transport.abort()


async def fetch(
    url: str, connect: Callable[[Callable[[], _FetchProtocol]], Awaitable[_FetchProtocol]], user_agent: str
) -> tuple[int, str, str]:
    """Status, ``Location`` and text of the document at ``url``. `OSError` when it cannot be fetched."""
    parts = urlsplit(url)
    asker = await connect(_FetchProtocol)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [
        f"GET {path} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}", f"User-Agent: {user_agent}",
        "Accept: text/plain,*/*", "Accept-Encoding: identity", "Connection: close", "", "",
    ]  # fmt: skip
    try:
        asker.transport.write("\r\n".join(lines).encode("latin-1", "replace"))
        await asker.over
    finally:
        asker.transport.abort()
    head = asker.head
    assert head is not None
    known = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in head.fields)}
    data = bytes(asker.body.data)
    if known.get("content-encoding", "").lower() == "gzip":  # some servers ignore Accept-Encoding
        try:
            data = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(
                data, _LIMIT
            )  # limits what a small body can expand to
        except zlib.error as error:
            raise OSError(f"its coding can't be read: {error}") from error
    return head.status, known.get("location", ""), data.decode("utf-8", "replace")
