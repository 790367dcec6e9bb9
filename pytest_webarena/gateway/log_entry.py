"""One exchange or tunnel in a session's request log. It becomes a `RequestRecord` only when read."""

from __future__ import annotations

import base64
import codecs
import time
import zlib

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.archive_misses import ResourceKind
from pytest_webarena.gateway.framing import Capture
from pytest_webarena.gateway.heads import header_pairs
from pytest_webarena.gateway.obstacles import Obstacle

__all__ = ["SAFE_METHODS", "Entry", "body_text"]

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
"""Methods that are defined to change nothing (RFC 9110 §9.2.1)."""

_DECODED_LIMIT = 1 << 20
_STANDSTILL = 2.0
"""Seconds without more of an answer after which an agent may have continued with the incomplete page."""
_LONGER = 5
"""Factor by which this time is longer for data, which may arrive at intervals."""
_FAILURES = frozenset((408, 425, 429))
"""Statuses, in addition to server errors, after which a page would try again."""


class Entry:
    """One exchange or tunnel, updated while it runs."""

    __slots__ = (
        "abandoned",
        "body",
        "by_body",
        "intercepted",
        "internal",
        "kept",
        "lacks",
        "last_data_at",
        "method",
        "obstacle",
        "obstacle_why",
        "own",
        "refused",
        "reply",
        "request_bytes",
        "request_head",
        "response_bytes",
        "response_head",
        "seconds",
        "sent",
        "stall_limit",
        "started",
        "status",
        "time",
        "unread",
        "unsafe",
        "url",
        "whole",
    )

    def __init__(self, method: str, url: str, head: str) -> None:
        self.method = method
        self.url = url
        self.request_head = head
        self.response_head = ""
        self.kept = False
        self.body: Capture | None = None
        self.reply: Capture | None = None
        self.status: int | None = None
        self.refused = ""
        self.own = ""
        """Answer of the gateway itself; empty if the site answered."""
        self.lacks: ResourceKind = ""
        """Kind of resource that an archive did not have."""
        self.intercepted = False
        """Whether the gateway answered in place of a live site, because the request was to change something there."""
        self.internal = False
        """Whether no site received it because the gateway translated a hosted site's address: it redirected the request
        to the site's name, or answered the preflight."""
        self.by_body = False
        """Whether it was refused only for its body: others of the same method and address may be sent."""
        self.obstacle: Obstacle = ""
        """Kind of obstacle that kept a live site from answering as it does to people."""
        self.obstacle_why = ""
        self.abandoned = False
        """Whether the browser closed the connection before the complete answer had arrived."""
        self.request_bytes = 0
        self.response_bytes = 0
        self.unsafe = ""
        """Why a site that received it may be changed, such as its method; empty if by its form it only reads."""
        self.sent = False
        """Whether the replica has received the complete request, so that it is the replica's turn to answer."""
        self.whole = False
        """Whether the replica's complete answer was forwarded."""
        self.unread = False
        """Whether the answer waits because the browser does not read."""
        self.stall_limit = 0.0
        self.last_data_at: float | None = None
        """Monotonic time of the latest data of a live site's answer; None if no page depends on it."""
        self.seconds: float | None = None
        self.time = time.time()
        self.started = time.monotonic()

    def note_obstacle(self, obstacle: Obstacle, reason: str) -> None:
        """Note what kept a live site from answering. The first obstacle stays."""
        if not self.obstacle:
            self.obstacle, self.obstacle_why = obstacle, reason

    def expect_rest(self, *, data: bool) -> None:
        """Note that a page depends on the rest of an answer. ``data``: whether the rest may arrive at intervals."""
        self.last_data_at, self.stall_limit = time.monotonic(), _STANDSTILL * (_LONGER if data else 1)

    def note_progress(self, size: int) -> None:
        """Note that ``size`` bytes of the answer have arrived."""
        self.response_bytes = size
        if self.last_data_at is not None:
            self.last_data_at = time.monotonic()

    def note_stall(self) -> None:
        """Note an obstacle if the answer has stalled for too long, and is incomplete."""
        if self.last_data_at is None or self.whole or self.unread:
            return
        if (seconds := time.monotonic() - self.last_data_at) >= self.stall_limit:
            self.note_obstacle("site", f"nothing of the rest of its answer came for {seconds:.0f} s")

    @property
    def writes(self) -> bool:
        """Whether the request may change state. Tunnels are excluded: their content is unknown, and they never end."""
        return self.method not in SAFE_METHODS and self.method != "CONNECT" and not self.refused

    @property
    def state(self) -> str:
        """State of the exchange: ``own`` (the gateway answered itself), ``whole`` (the site's complete answer was
        forwarded), ``cut`` (it was not), ``unread`` (it waits because the browser does not read), ``open``."""
        if self.own or self.whole:
            return "own" if self.own else "whole"
        return "cut" if self.abandoned or self.seconds is not None else "unread" if self.unread else "open"

    @property
    def failed(self) -> bool:
        """Whether a page that needs the answer would ask again."""
        return self.status is None or self.status in _FAILURES or self.status >= 500

    def record(self) -> RequestRecord:
        body = self.body
        if self.seconds is None:
            self.note_stall()
        return RequestRecord(
            time=self.time,
            method=self.method,
            url=self.url,
            status=self.status,
            refused=self.refused,
            lacks=self.lacks,
            intercepted=self.intercepted,
            obstacle=self.obstacle,
            obstacle_why=self.obstacle_why,
            request_headers=header_pairs(self.request_head),
            request_body=body_text(bytes(body.data), cut=self.request_bytes > len(body.data))
            if body is not None
            else None,
            response_headers=header_pairs(self.response_head),
            request_bytes=self.request_bytes,
            response_bytes=self.response_bytes,
            seconds=time.monotonic() - self.started if self.seconds is None else self.seconds,
            response_body=self._response_body(),
        )

    def _response_body(self) -> str | None:
        """Return the response body if it was kept completely: an incomplete JSON document is of no use."""
        if self.reply is None or not self.reply.data or self.response_bytes != len(self.reply.data):
            return None
        coding = next((v for n, v in header_pairs(self.response_head) if n.lower() == "content-encoding"), "")
        return _decoded(bytes(self.reply.data), coding.lower())


def _decoded(data: bytes, coding: str) -> str | None:
    """Return a response's body as text; None if it is not text, or in a coding that only browsers read."""
    try:
        if coding in ("gzip", "x-gzip", "deflate"):
            data = zlib.decompressobj(wbits=47 if "gzip" in coding else zlib.MAX_WBITS).decompress(data, _DECODED_LIMIT)
        elif coding not in ("", "identity"):
            return None
        return data.decode("utf-8")
    except (zlib.error, UnicodeDecodeError):
        return None


def body_text(data: bytes, *, cut: bool) -> str | None:
    """Return text if it is UTF-8, else base64. ``cut``: omit a character that is incomplete at the end."""
    if not data:
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut)
    except UnicodeDecodeError:
        text = "\0"
    # Text that begins with the base64 marker would be misread.
    if "\0" in text or text.startswith("base64:"):
        return "base64:" + base64.b64encode(data).decode("ascii")
    return text
