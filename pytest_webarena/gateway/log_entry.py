"""One exchange or tunnel of a session as the request log has it, turned into `RequestRecord` only when read."""

from __future__ import annotations

import base64
import codecs
import time
import zlib

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.archive_misses import Lack
from pytest_webarena.gateway.framing import Capture
from pytest_webarena.gateway.heads import header_pairs
from pytest_webarena.gateway.obstacles import Obstacle

__all__ = ["SAFE_METHODS", "Entry", "body_text"]

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
"""Methods that by their definition change nothing (RFC 9110 §9.2.1)."""

_DECODED_LIMIT = 1 << 20
_STANDSTILL = 2.0
"""Seconds without any more of an answer after which whoever waits for it may have gone on with what there is: agents
look at a page that takes so long as it is."""
_LONGER = 5
"""How many times as long is data that comes now and then waited for."""
_FAILURES = frozenset((408, 425, 429))
"""What is asked for again after such a status, or one of a server error."""


class Entry:
    """One exchange or tunnel, filled in as it goes."""

    __slots__ = (
        "abandoned",
        "body",
        "by_body",
        "intercepted",
        "kept",
        "lacks",
        "method",
        "obstacle",
        "obstacle_why",
        "own",
        "patience",
        "refused",
        "reply",
        "request_bytes",
        "request_head",
        "response_bytes",
        "response_head",
        "rest_since",
        "seconds",
        "sent",
        "started",
        "status",
        "time",
        "unread",
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
        """What the gateway itself answered; empty when the site did."""
        self.lacks: Lack = ""
        """What an archive did not have."""
        self.intercepted = False
        """Whether it was to change something on a site of the world, and we answered it."""
        self.by_body = False
        """Whether it was let through until its body was seen: others of the same method and address may be sent."""
        self.obstacle: Obstacle = ""
        """What kept a site of the world from answering as it does to people."""
        self.obstacle_why = ""
        self.abandoned = False
        """Whether the browser went away before all of the answer had come."""
        self.request_bytes = 0
        self.response_bytes = 0
        self.sent = False
        """Whether the replica has been sent all of the request, so that an answer is its turn."""
        self.whole = False
        """Whether all of the replica's answer was passed on."""
        self.unread = False
        """Whether the answer waits for the browser to take more of it."""
        self.patience = 0.0
        self.rest_since: float | None = None
        """Monotonic time since when nothing more of an answer of the world's has come; None: nobody waits for it."""
        self.seconds: float | None = None
        self.time = time.time()
        self.started = time.monotonic()

    def hinder(self, obstacle: Obstacle, why: str) -> None:
        """Note what kept a site of the world from answering; the first that was found stays."""
        if not self.obstacle:
            self.obstacle, self.obstacle_why = obstacle, why

    def awaits_rest(self, *, data: bool) -> None:
        """The head of an answer has come, and a page depends on the rest. ``data``: which may come now and then."""
        self.rest_since, self.patience = time.monotonic(), _STANDSTILL * (_LONGER if data else 1)

    def progressed(self, size: int) -> None:
        """So much of the answer has come."""
        self.response_bytes = size
        if self.rest_since is not None:
            self.rest_since = time.monotonic()

    def stood_still(self) -> None:
        """Note it if the rest of the answer was waited for in vain until now."""
        if self.rest_since is None or self.whole or self.unread:
            return
        if (seconds := time.monotonic() - self.rest_since) >= self.patience:
            self.hinder("site", f"nothing of the rest of its answer came for {seconds:.0f} s")

    @property
    def writes(self) -> bool:
        """Whether it is a request that may change something. Of tunnels nobody knows; they never end."""
        return self.method not in SAFE_METHODS and self.method != "CONNECT" and not self.refused

    @property
    def state(self) -> str:
        """What became of it: ``own`` (the gateway answered itself), ``whole`` (the site's answer was passed on, all of
        it), ``cut`` (it was not), ``unread`` (it is held up because the browser takes no more of it), ``open``."""
        if self.own or self.whole:
            return "own" if self.own else "whole"
        return "cut" if self.abandoned or self.seconds is not None else "unread" if self.unread else "open"

    @property
    def failed(self) -> bool:
        """Whether a page that wants something would ask for it again."""
        return self.status is None or self.status in _FAILURES or self.status >= 500

    def record(self) -> RequestRecord:
        body = self.body
        if self.seconds is None:
            self.stood_still()
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
        """What was kept of the response, if that is all of it: half a JSON document says nothing."""
        if self.reply is None or not self.reply.data or self.response_bytes != len(self.reply.data):
            return None
        coding = next((v for n, v in header_pairs(self.response_head) if n.lower() == "content-encoding"), "")
        return _decoded(bytes(self.reply.data), coding.lower())


def _decoded(data: bytes, coding: str) -> str | None:
    """A response's body as text; None when it is none, or in a coding that only browsers read."""
    try:
        if coding in ("gzip", "x-gzip", "deflate"):
            data = zlib.decompressobj(wbits=47 if "gzip" in coding else zlib.MAX_WBITS).decompress(data, _DECODED_LIMIT)
        elif coding not in ("", "identity"):
            return None
        return data.decode("utf-8")
    except (zlib.error, UnicodeDecodeError):
        return None


def body_text(data: bytes, *, cut: bool) -> str | None:
    """Text if it is UTF-8, else base64. A character halved by the cut is left out."""
    if not data:
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut)
    except UnicodeDecodeError:
        text = "\0"
    # Text that looks like our marker would be read back wrongly.
    if "\0" in text or text.startswith("base64:"):
        return "base64:" + base64.b64encode(data).decode("ascii")
    return text
