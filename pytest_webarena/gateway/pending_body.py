"""Body of a request, kept until there is a connection to the replica and nothing has to be examined."""

from __future__ import annotations

import asyncio

from pytest_webarena.gateway.framing import BodyReader, Capture, request_body
from pytest_webarena.gateway.heads import RequestHead
from pytest_webarena.gateway.pages import NOT_SENT
from pytest_webarena.gateway.routes import Intercepted
from pytest_webarena.gateway.upstream import Route

__all__ = ["PendingBody"]

# Uploads wait in memory until the connection is made; beyond this the browser has to wait.
_PENDING_LIMIT = 65536
_EXAMINED_LIMIT = 4 << 20
"""Maximum size in bytes of a body that has to be examined before it is sent."""


class PendingBody:
    """Body of one request, as bytes that are forwarded unchanged."""

    __slots__ = ("_arrived", "_pending", "_reader", "wants_more")

    def __init__(self) -> None:
        self._reader: BodyReader | None = None
        self._pending = b""
        """Bytes that have not been sent yet."""
        self._arrived: asyncio.Event | None = None
        """Set when more bytes have arrived; None if the body need not be examined."""
        self.wants_more = False
        """Whether the body is incomplete."""

    @property
    def needs_examination(self) -> bool:
        """Whether the complete body has to be examined before any of it is sent."""
        return self._arrived is not None

    @property
    def payload(self) -> int:
        """Number of content bytes so far, without chunk framing."""
        return 0 if self._reader is None else self._reader.payload

    def start(self, reader: BodyReader, data: bytes, *, examined: bool) -> int:
        """Keep the body's part of ``data``, the bytes after the request's head; return the length of that part.

        Raises `BadMessage` for a malformed body.
        """
        self._reader = reader
        used = reader.feed(data, 0)
        self._pending = data[:used]
        self.wants_more = not reader.done
        if examined:
            self._arrived = asyncio.Event()
        return used

    def feed(self, data: bytes) -> bytes:
        """Return the body's part of further bytes of the connection. Raises `BadMessage` for a malformed body."""
        assert self._reader is not None
        used = self._reader.feed(data, 0)
        self.wants_more = not self._reader.done
        return data if used == len(data) else data[:used]

    def keep(self, part: bytes) -> bool:
        """Keep ``part`` until it can be sent; return whether the browser has to wait before it sends more."""
        self._pending += part
        if self._arrived is not None:
            self._arrived.set()
            return False
        return len(self._pending) > _PENDING_LIMIT

    def take(self) -> bytes:
        """Return the bytes to send, and forget them."""
        pending, self._pending = self._pending, b""
        return pending

    async def examine(self, route: Route, request: RequestHead, path: str, url: str) -> None:
        """Wait for the complete body and let the route examine it. `Refused` if it must not be sent."""
        content = await self._complete(request)
        if content is None:
            raise Intercepted(
                NOT_SENT,
                f"expected at most {_EXAMINED_LIMIT >> 20} MiB in a request that only reads, found more in {url}; "
                "nothing was sent, because larger bodies are not examined",
            )
        route.examine(request, path, content)

    async def _complete(self, request: RequestHead) -> bytes | None:
        """Wait for the complete body; return its content, or None if it is larger than `_EXAMINED_LIMIT`."""
        assert self._arrived is not None
        while self.wants_more and len(self._pending) <= _EXAMINED_LIMIT:
            self._arrived.clear()
            await self._arrived.wait()
        self._arrived = None
        if self.wants_more:
            return None
        content = Capture(_EXAMINED_LIMIT)
        if (reader := request_body(request, content)) is not None:
            reader.feed(self._pending, 0)
        return bytes(content.data)
