"""Readers that find the end of a message body in bytes that are forwarded unchanged."""

from __future__ import annotations

import re
from typing import Protocol

from pytest_webarena.gateway.heads import BadMessage, RequestHead, ResponseHead, check_fields

__all__ = ["BodyReader", "Capture", "ChunkedBody", "LengthBody", "OpenBody", "request_body", "response_body"]

# No space around the size and no bare CR in the extension: parsers disagree about those.
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")
_LINE_LIMIT = 4096
_TRAILER_LIMIT = 16384


class Capture:
    """The first bytes of a body, for the log."""

    __slots__ = ("data", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.data = bytearray()

    def add(self, data: bytes, start: int, end: int) -> None:
        room = self.limit - len(self.data)
        if room > 0:
            self.data += data[start : min(end, start + room)]


class BodyReader(Protocol):
    """Reader that follows one body through the bytes of a connection."""

    done: bool
    payload: int
    """Number of content bytes so far, without chunk framing."""

    def feed(self, data: bytes, start: int) -> int:
        """Read bytes from index ``start``; return the index after the body's last byte. `BadMessage` if malformed."""

    def end(self) -> bool:
        """Handle the end of the connection; return whether the body is complete."""


class LengthBody:
    """A body of known length."""

    __slots__ = ("_capture", "_left", "done", "payload")

    def __init__(self, length: int, capture: Capture | None = None) -> None:
        self._left = length
        self._capture = capture
        self.payload = 0
        self.done = length == 0

    def feed(self, data: bytes, start: int) -> int:
        count = min(self._left, len(data) - start)
        end = start + count
        if self._capture is not None:
            self._capture.add(data, start, end)
        self.payload += count
        self._left -= count
        self.done = self._left == 0
        return end

    def end(self) -> bool:
        return self.done


class OpenBody:
    """A body that lasts until the connection ends."""

    __slots__ = ("_capture", "done", "payload")

    def __init__(self, capture: Capture | None = None) -> None:
        self._capture = capture
        self.payload = 0
        self.done = False

    def feed(self, data: bytes, start: int) -> int:
        if self._capture is not None:
            self._capture.add(data, start, len(data))
        self.payload += len(data) - start
        return len(data)

    def end(self) -> bool:
        self.done = True
        return True


class ChunkedBody:
    """A chunked body (RFC 9112 §7.1), extensions and trailer fields included."""

    __slots__ = ("_capture", "_left", "_partial", "_state", "_trailer", "done", "payload")

    def __init__(self, capture: Capture | None = None) -> None:
        self._capture = capture
        self._left = 0
        self._state = "size"
        self._partial = b""
        self._trailer = 0
        self.payload = 0
        self.done = False

    def feed(self, data: bytes, start: int) -> int:
        total = len(data)
        while start < total and not self.done:
            if self._left:
                count = min(self._left, total - start)
                if self._capture is not None:
                    self._capture.add(data, start, start + count)
                self.payload += count
                self._left -= count
                start += count
                continue
            newline = data.find(b"\n", start)
            if newline < 0:
                self._partial += data[start:]
                if len(self._partial) > (1 if self._state == "data-end" else _LINE_LIMIT):
                    raise BadMessage("expected a line end in the chunk framing, found none")
                return total
            line = self._partial + data[start : newline + 1]
            self._partial = b""
            start = newline + 1
            self._line(line)
        return start

    def end(self) -> bool:
        return self.done

    def _line(self, line: bytes) -> None:
        if self._state == "size":
            match = _CHUNK_LINE.fullmatch(line)
            if match is None or len(line) > _LINE_LIMIT:
                raise BadMessage(f"expected a chunk size, found {line[:40]!r}")
            self._left = int(match[1], 16)
            self._state = "data-end" if self._left else "trailer"
        elif self._state == "data-end":
            if line != b"\r\n":
                raise BadMessage(f"expected the end of a chunk, found {line[:40]!r}")
            self._state = "size"
        elif line == b"\r\n":
            self.done = True
        else:
            self._trailer += len(line)
            if self._trailer > _TRAILER_LIMIT:
                raise BadMessage(f"expected at most {_TRAILER_LIMIT} bytes of trailer fields", 431)
            check_fields(line.decode("latin-1"))


def request_body(head: RequestHead, capture: Capture | None) -> BodyReader | None:
    """Return the reader for a request's body; None without a body."""
    if head.chunked:
        return ChunkedBody(capture)
    return LengthBody(head.length, capture) if head.length else None


def response_body(head: ResponseHead, method: str, capture: Capture | None = None) -> BodyReader | None:
    """Return the reader for the body of a response to ``method``; None without a body (RFC 9112 §6.3)."""
    if method == "HEAD" or head.status in (204, 304) or head.status < 200:
        return None
    if head.chunked:
        return ChunkedBody(capture)
    if head.length is None:
        return OpenBody(capture)
    return LengthBody(head.length, capture) if head.length else None
