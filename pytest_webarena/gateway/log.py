"""The request log of one session: bounded, and cheap to write."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from pytest_webarena.evidence import RequestRecord, Unrecorded
from pytest_webarena.gateway.framing import Capture
from pytest_webarena.gateway.log_entry import SAFE_METHODS, Entry

__all__ = ["RequestLog", "Totals", "as_tunnel"]

# Bodies of such responses are kept: the only ones that checks look into.
_JSON = re.compile(r"^content-type:[ \t]*application/json\b", re.IGNORECASE | re.MULTILINE)
_LONG = 1.0
"""Seconds after which a site that has not answered in full is worth a question."""
_RESERVED = 4
"""One part in so many of the log's room is kept for requests that may change something, whatever others there are."""
_KNOWN_METHODS = SAFE_METHODS | {"CONNECT", "DELETE", "PATCH", "POST", "PUT"}
_UNRECORDED = 1000
"""Methods and addresses by which unrecorded requests are told apart."""
_LONGEST = 2000
"""Characters of such an address."""
_ANSWERED = 10_000
"""Methods and addresses of which it is known that they were asked for, and what came of it."""
_OWN_ANSWERS = 1000
"""Addresses of which it is known that the gateway itself answered last."""
_WHOLE = 256 << 20
"""Bytes of a body that are handed to who keeps all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a session has carried, whether or not the log had room for it."""

    requests: int
    refused: int
    unrecorded: int
    """Requests that the log had no room for; 0 means that the log is complete."""
    request_bytes: int
    response_bytes: int


class RequestLog:
    """Entries in the order of arrival, at most ``max_entries`` of them and about ``max_bytes`` of heads and bodies."""

    def __init__(
        self,
        *,
        body_limit: int,
        max_entries: int,
        max_bytes: int,
        over: Callable[[], None] = lambda: None,
        keep: Callable[[Entry], None] | None = None,
    ) -> None:
        """``keep`` hears of each entry that is over, with all of its bodies, whatever the limits; then they are cut.
        ``over`` is called when somebody who waits for a request may go on: it has an answer, or is over."""
        self._body_limit = body_limit
        self._max_entries = max_entries
        self._room = max_bytes
        self._reserved = max_bytes // _RESERVED
        self._safe_entries, self._max_safe_entries = 0, max_entries - max_entries // _RESERVED
        self._entries: list[Entry] = []
        self._open: set[Entry] = set()
        self._over = over
        self._keep = keep
        self._own: dict[str, str] = {}
        self._failed: dict[tuple[str, str], bool] = {}
        self.news = -math.inf
        """The monotonic time when something was over that pages may act on: what they had not asked for before, or a
        write that had failed before. Polling and heartbeats are none."""
        self._doubtful = False
        self._missing: Counter[tuple[str, str, bool]] = Counter()
        self._requests = self._refused = self._unrecorded = 0
        self._request_bytes = self._response_bytes = 0

    def begin(self, method: str, url: str, head: str) -> Entry:
        """A new entry; kept if there is room."""
        entry = Entry(method, url, head)
        self._requests += 1
        self._open.add(entry)
        safe = method in SAFE_METHODS
        full = len(self._entries) >= self._max_entries or (safe and self._safe_entries >= self._max_safe_entries)
        if self._room_for(entry) > 0 and not full:
            self._room -= len(head)
            self._entries.append(entry)
            self._safe_entries += safe
            entry.kept = True
        else:
            self._unrecorded += 1
        return entry

    def _room_for(self, entry: Entry) -> int:
        """In bytes."""
        return self._room - (self._reserved if entry.method in SAFE_METHODS else 0)

    def capture(self, entry: Entry) -> Capture | None:
        """Where to keep the start of the entry's request body; None when it isn't to be kept."""
        if self._keep is not None:
            entry.body = Capture(_WHOLE)
            return entry.body
        limit = min(self._body_limit, self._room_for(entry))
        if limit <= 0 or not entry.kept:
            return None
        entry.body = Capture(limit)
        return entry.body

    def capture_response(self, entry: Entry, head: str) -> Capture | None:
        """Where to keep the entry's response body, given its head; None when it isn't to be kept."""
        if self._keep is not None:
            entry.reply = Capture(_WHOLE)
            return entry.reply
        limit = min(self._body_limit, self._room_for(entry))
        if limit <= 0 or not entry.kept or not _JSON.search(head):
            return None
        entry.reply = Capture(limit)
        return entry.reply

    def answered(self, entry: Entry, status: int) -> None:
        """A site, or the gateway itself, has begun to answer."""
        entry.status = status
        self._over()

    def finish(self, entry: Entry) -> None:
        """The exchange is over. Later calls change nothing."""
        if entry.seconds is None:
            entry.stood_still()
            entry.seconds = time.monotonic() - entry.started
            self._open.discard(entry)
            self._over()
            if self._keep is not None:
                self._keep(entry)
                self._cut(entry)
            if (entry.abandoned and entry.seconds >= _LONG) or (entry.status is not None and entry.status >= 500):
                self._doubtful = True
            self._note_author(entry)
            self._note_news(entry)
            self._refused += bool(entry.refused)
            self._request_bytes += entry.request_bytes
            self._response_bytes += entry.response_bytes
            if not entry.kept:
                _count(entry, self._missing)
            else:
                bodies = sum(len(each.data) for each in (entry.body, entry.reply) if each is not None)
                self._room -= len(entry.response_head) + bodies

    def _cut(self, entry: Entry) -> None:
        """Leave of its bodies what a log that keeps no more has of them."""
        limit = max(0, min(self._body_limit, self._room_for(entry)))
        if entry.body is not None:
            del entry.body.data[limit:]
        if entry.reply is not None and (len(entry.reply.data) > limit or not _JSON.search(entry.response_head)):
            entry.reply = None

    def own_answer(self, url: str) -> str:
        """What the gateway itself answered to the latest request for ``url``; empty when the site did, or nobody.

        ``url`` as it was requested; of https hosts, the tunnel to them counts as well. Apps and pages can neither
        forge this nor hide it.
        """
        return self._own.get(url) or self._own.get(as_tunnel(url), "")

    def answers(self, method: str, url: str, since: float) -> list[tuple[str, int | None]]:
        """`Entry.state` and status of each of these requests since a Unix time, in the order of arrival.

        None says that there was none; where that is not known, there is one of the state ``lost``.
        """
        found = [(e.state, e.status) for e in self._entries if e.url == url and e.method == method and e.time >= since]
        return found or ([("lost", None)] if self._unrecorded else [])

    @property
    def doubtful(self) -> bool:
        """Whether something gives reason to ask the sites whether they work: a server error, an answer that took so
        long that the browser gave up, one that is still awaited."""
        now = time.monotonic()
        return self._doubtful or any(now - entry.started >= _LONG for entry in self._open)

    def _note_author(self, entry: Entry) -> None:
        self._own.pop(entry.url, None)
        if entry.own:
            self._own[entry.url] = entry.own
            if len(self._own) > _OWN_ANSWERS:
                del self._own[next(iter(self._own))]

    def _note_news(self, entry: Entry) -> None:
        if entry.refused:
            return
        key = entry.method, _without_query(entry.url)
        known = self._failed.get(key)
        if known is None and len(self._failed) >= _ANSWERED:
            return
        if known is None or (known and entry.writes):
            self.news = time.monotonic()
        self._failed[key] = entry.failed

    def records(self) -> list[RequestRecord]:
        """All entries; those in flight carry what is known so far."""
        return [entry.record() for entry in self._entries]

    def unrecorded(self) -> list[Unrecorded]:
        """What is missing in `records`: by method and address, as far as these can be distinguished."""
        missing = Counter(self._missing)
        for entry in self._open:
            if not entry.kept:
                _count(entry, missing)
        return [
            Unrecorded(method=method, url=url, count=count, refused=refused)
            for (method, url, refused), count in missing.items()
        ]

    @property
    def in_flight(self) -> int:
        """Entries begun and not finished."""
        return len(self._open)

    def writes_in_flight(self) -> list[Entry]:
        """Those of them that may change something, the oldest first."""
        return sorted((entry for entry in self._open if entry.writes), key=lambda entry: entry.started)

    def reads_unanswered(self, since: float) -> list[Entry]:
        """Others, begun since a monotonic time, that a site has not begun to answer, whoever asked and whatever for: a
        page, a tab that is yet to come, a download, a worker. Or that the browser has broken off while a site was at
        them. Polling is none."""
        fresh = (
            entry
            for entry in self._open
            if entry.method in SAFE_METHODS and not entry.refused and entry.started >= since
            if entry.abandoned or (entry.status is None and not self._polled(entry, since))
        )
        return sorted(fresh, key=lambda entry: entry.started)

    def of_page(self, entry: Entry, first: float) -> bool:
        """Whether a page makes this write by itself, as it did before the agent first acted, at a monotonic time: that
        very one is open since then, or the same, to the last byte, was open then or had been made twice."""
        if entry.started < first:
            return True
        before = [
            other
            for other in self._entries
            if other.started < first and (other.method, other.url) == (entry.method, entry.url)
            if other.request_bytes == entry.request_bytes and _body(other) == _body(entry)
        ]
        return len(before) > 1 or any(each.seconds is None or each.started + each.seconds >= first for each in before)

    def repeated(self, entry: Entry, since: float) -> bool:
        """Whether the same address has answered such a request twice since a monotonic time, when the agent did
        nothing: that may be a page's heartbeat, or the rest of what the agent has set off."""
        same = (
            other
            for other in self._entries
            if other is not entry and other.started >= since and other.seconds is not None and not other.failed
            if other.method == entry.method and _without_query(other.url) == _without_query(entry.url)
        )
        return sum(1 for _ in same) > 1

    def _polled(self, entry: Entry, since: float) -> bool:
        """Whether the same was under way at ``since``, or has been answered meanwhile."""
        for other in self._entries:
            if other is entry or other.method != entry.method:
                continue
            ended = math.inf if other.seconds is None else other.started + other.seconds
            if other.started < since <= ended and _without_query(other.url) == _without_query(entry.url):
                return True
            if since <= other.started and ended <= entry.started and other.url == entry.url and not other.failed:
                return True
        return False

    def totals(self) -> Totals:
        return Totals(
            requests=self._requests,
            refused=self._refused,
            unrecorded=self._unrecorded,
            request_bytes=self._request_bytes + sum(entry.request_bytes for entry in self._open),
            response_bytes=self._response_bytes + sum(entry.response_bytes for entry in self._open),
        )


def _body(entry: Entry) -> bytes | None:
    """What was kept of what it sent."""
    return bytes(entry.body.data) if entry.body is not None else None


def _without_query(url: str) -> str:
    return re.split("[?#]", url, maxsplit=1)[0]


def _count(entry: Entry, missing: Counter[tuple[str, str, bool]]) -> None:
    """Count a request that was not kept; the more there are, the less exactly."""
    method, refused = entry.method if entry.method in _KNOWN_METHODS else "", bool(entry.refused)
    url = _without_query(entry.url)
    key = method, url if len(url) <= _LONGEST else "", refused
    missing[key if key in missing or len(missing) < _UNRECORDED else (method, "", refused)] += 1


def as_tunnel(url: str) -> str:
    """What a browser asks for first that wants an https address.

    >>> as_tunnel("https://shop.test/a"), as_tunnel("https://shop.test:8443/"), as_tunnel("http://shop.test/")
    ('shop.test:443', 'shop.test:8443', '')
    """
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0]
    return (host if host.rpartition(":")[2].isdigit() else f"{host}:443") if scheme == "https" else ""
