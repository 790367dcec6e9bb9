"""Request log of one session. It is bounded in size and cheap to write."""

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

# Checks read only JSON responses, so only their bodies are kept.
_JSON = re.compile(r"^content-type:[ \t]*application/json\b", re.IGNORECASE | re.MULTILINE)
_SLOW = 1.0
"""Seconds without a complete answer after which the site's health should be checked."""
_RESERVED = 4
"""Reciprocal of the share of the log that is reserved for requests that may change state."""
_KNOWN_METHODS = SAFE_METHODS | {"CONNECT", "DELETE", "PATCH", "POST", "PUT"}
_UNRECORDED = 1000
"""Maximum number of combinations of method and address by which unrecorded requests are counted."""
_LONGEST = 2000
"""Maximum number of characters of such an address."""
_ANSWERED = 10_000
"""Maximum number of combinations of method and address whose latest result is remembered."""
_OWN_ANSWERS = 1000
"""Maximum number of addresses whose latest answer came from the gateway and is remembered."""
_MAX_KEPT_BODY = 256 << 20
"""Maximum size in bytes of a body that ``keep`` receives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Counts of everything that a session has carried, whether or not the log had space for it."""

    requests: int
    refused: int
    unrecorded: int
    """Number of requests for which the log had no space; 0 if the log is complete."""
    request_bytes: int
    response_bytes: int


class RequestLog:
    """Log entries in order of arrival: at most ``max_entries``, with about ``max_bytes`` of heads and bodies."""

    def __init__(
        self,
        *,
        body_limit: int,
        max_entries: int,
        max_bytes: int,
        on_finish: Callable[[], None] = lambda: None,
        keep: Callable[[Entry], None] | None = None,
    ) -> None:
        """``keep`` receives each finished entry with its complete bodies, which are then cut to the limits.

        ``on_finish`` is called when a request gets an answer or ends, so that waiting callers can check again.
        """
        self._body_limit = body_limit
        self._max_entries = max_entries
        self._room = max_bytes
        """Number of bytes that are left."""
        self._reserved = max_bytes // _RESERVED
        self._safe_entries, self._max_safe_entries = 0, max_entries - max_entries // _RESERVED
        self._entries: list[Entry] = []
        self._open: set[Entry] = set()
        self._on_finish = on_finish
        self._keep = keep
        self._own: dict[str, str] = {}
        """The gateway's own latest answer by address."""
        self._failed: dict[tuple[str, str], bool] = {}
        """Whether the latest request failed, by method and address without query."""
        self.last_relevant_answer = -math.inf
        """Monotonic time of the latest finished request that pages may react to: one to a new address, or a write whose
        last try failed. Polling and heartbeats do not count."""
        self._doubtful = False
        """Whether a finished request is a reason to check the sites."""
        self.unsafe: list[tuple[str, Entry]] = []
        """Hosts and requests that may have changed them: all that the log keeps, and the first of others by host."""
        self._missing: Counter[tuple[str, str, bool]] = Counter()
        self._requests = self._refused = self._unrecorded = 0
        self._request_bytes = self._response_bytes = 0

    def begin(self, method: str, url: str, head: str) -> Entry:
        """Create an entry, and keep it if there is space."""
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
        """Return the number of bytes available for the entry."""
        return self._room - (self._reserved if entry.method in SAFE_METHODS else 0)

    def capture(self, entry: Entry) -> Capture | None:
        """Return the buffer for the start of the entry's request body; None if the body is not kept."""
        if self._keep is not None:
            entry.body = Capture(_MAX_KEPT_BODY)
            return entry.body
        limit = min(self._body_limit, self._room_for(entry))
        if limit <= 0 or not entry.kept:
            return None
        entry.body = Capture(limit)
        return entry.body

    def capture_response(self, entry: Entry, head: str) -> Capture | None:
        """Return the buffer for the entry's response body, given the response head; None if the body is not kept."""
        if self._keep is not None:
            entry.reply = Capture(_MAX_KEPT_BODY)
            return entry.reply
        limit = min(self._body_limit, self._room_for(entry))
        if limit <= 0 or not entry.kept or not _JSON.search(head):
            return None
        entry.reply = Capture(limit)
        return entry.reply

    def answered(self, entry: Entry, status: int) -> None:
        """Note that the site, or the gateway itself, has begun to answer."""
        entry.status = status
        self._on_finish()

    def finish(self, entry: Entry) -> None:
        """Finish the entry. Later calls have no effect."""
        if entry.seconds is None:
            entry.note_stall()
            entry.seconds = time.monotonic() - entry.started
            self._open.discard(entry)
            self._on_finish()
            if self._keep is not None:
                self._keep(entry)
                self._cut(entry)
            if (entry.abandoned and entry.seconds >= _SLOW) or (entry.status is not None and entry.status >= 500):
                self._doubtful = True
            self._note_author(entry)
            self._note_relevant_answer(entry)
            self._refused += bool(entry.refused)
            self._request_bytes += entry.request_bytes
            self._response_bytes += entry.response_bytes
            if not entry.kept:
                _count(entry, self._missing)
            else:
                bodies = sum(len(each.data) for each in (entry.body, entry.reply) if each is not None)
                self._room -= len(entry.response_head) + bodies

    def note_unsafe(self, entry: Entry, host: str, what: str) -> str:
        """Note that a request to ``host`` may change it. Returns why, in words."""
        entry.unsafe = what
        if entry.kept or not any(known == host and not other.kept for known, other in self.unsafe):
            self.unsafe.append((host, entry))
        return f"{what} {entry.url}"

    def _cut(self, entry: Entry) -> None:
        """Cut the entry's bodies to the size that a log without ``keep`` has of them."""
        limit = max(0, min(self._body_limit, self._room_for(entry)))
        if entry.body is not None:
            del entry.body.data[limit:]
        if entry.reply is not None and (len(entry.reply.data) > limit or not _JSON.search(entry.response_head)):
            entry.reply = None

    def own_answer(self, url: str) -> str:
        """Return the gateway's own answer to the latest request for ``url``; empty if the gateway did not answer it.

        ``url`` is the address as requested. For https hosts, the tunnel to them counts, too. Apps and pages can neither
        forge nor hide this.
        """
        return self._own.get(url) or self._own.get(as_tunnel(url), "")

    def answers(self, method: str, url: str, since: float) -> list[tuple[str, int | None]]:
        """Return `Entry.state` and status of each such request since a Unix time, in order of arrival.

        An empty list says that there was none. If the log is incomplete and has none, the list is ``[("lost", None)]``.
        """
        found = [(e.state, e.status) for e in self._entries if e.url == url and e.method == method and e.time >= since]
        return found or ([("lost", None)] if self._unrecorded else [])

    @property
    def doubtful(self) -> bool:
        """Whether the traffic is a reason to check that the sites work: a server error, an answer so slow that the
        browser gave up, or one that has been awaited for too long."""
        now = time.monotonic()
        return self._doubtful or any(now - entry.started >= _SLOW for entry in self._open)

    def _note_author(self, entry: Entry) -> None:
        """Store whether the gateway itself answered the latest request for the entry's address."""
        self._own.pop(entry.url, None)
        if entry.own:
            self._own[entry.url] = entry.own
            if len(self._own) > _OWN_ANSWERS:
                del self._own[next(iter(self._own))]

    def _note_relevant_answer(self, entry: Entry) -> None:
        """Update `news` and the stored results with a finished entry."""
        if entry.refused:
            return
        key = entry.method, _without_query(entry.url)
        known = self._failed.get(key)
        if known is None and len(self._failed) >= _ANSWERED:
            return
        if known is None or (known and entry.writes):
            self.last_relevant_answer = time.monotonic()
        self._failed[key] = entry.failed

    def records(self) -> list[RequestRecord]:
        """Return all entries that were meant for sites; those in flight have the data known so far."""
        return [entry.record() for entry in self._entries if not entry.internal]

    def unrecorded(self) -> list[Unrecorded]:
        """Return counts of what `records` lacks, by method and address as far as these were kept."""
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
        """Number of entries that have begun and not finished."""
        return len(self._open)

    def writes_in_flight(self) -> list[Entry]:
        """Return the requests in flight that may change state, oldest first."""
        return sorted((entry for entry in self._open if entry.writes), key=lambda entry: entry.started)

    def reads_unanswered(self, since: float) -> list[Entry]:
        """Return reads in flight that began at monotonic time ``since`` or later and that no site has begun to answer.

        These can be of any origin: a page, a new tab, a download, a worker. Reads that the browser has broken off while
        a site worked on them are included. Polling is excluded.
        """
        fresh = (
            entry
            for entry in self._open
            if entry.method in SAFE_METHODS and not entry.refused and entry.started >= since
            if entry.abandoned or (entry.status is None and not self._is_polled(entry, since))
        )
        return sorted(fresh, key=lambda entry: entry.started)

    def is_page_write(self, entry: Entry, first: float) -> bool:
        """Return whether a page makes this write itself, as it did before the agent's first action.

        Args:
            entry: The write.
            first: Monotonic time of the agent's first action.

        Returns:
            True if the entry is open since then, or if an identical request was open then or had been made twice.
        """
        if entry.started < first:
            return True
        before = [
            other
            for other in self._entries
            if other.started < first and (other.method, other.url) == (entry.method, entry.url)
            if other.request_bytes == entry.request_bytes and _body(other) == _body(entry)
        ]
        return len(before) > 1 or any(each.seconds is None or each.started + each.seconds >= first for each in before)

    def is_repeated(self, entry: Entry, since: float) -> bool:
        """Return whether similar requests were answered at least twice since the monotonic time ``since``.

        The agent has done nothing since then. So it may be a page's heartbeat, or a late effect of the agent's action.
        """
        similar = (
            other
            for other in self._entries
            if other is not entry and other.started >= since and other.seconds is not None and not other.failed
            if other.method == entry.method and _without_query(other.url) == _without_query(entry.url)
        )
        return sum(1 for _ in similar) > 1

    def _is_polled(self, entry: Entry, since: float) -> bool:
        """Return whether the same request was in flight at ``since``, or has been answered since."""
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
        """Return counts of all requests so far."""
        return Totals(
            requests=self._requests,
            refused=self._refused,
            unrecorded=self._unrecorded,
            request_bytes=self._request_bytes + sum(entry.request_bytes for entry in self._open),
            response_bytes=self._response_bytes + sum(entry.response_bytes for entry in self._open),
        )


def _body(entry: Entry) -> bytes | None:
    """Return the part of the request body that was kept."""
    return bytes(entry.body.data) if entry.body is not None else None


def _without_query(url: str) -> str:
    return re.split("[?#]", url, maxsplit=1)[0]


def _count(entry: Entry, missing: Counter[tuple[str, str, bool]]) -> None:
    """Count a request that was not kept. The more there are, the less detail is stored."""
    if entry.internal:
        return
    method, refused = entry.method if entry.method in _KNOWN_METHODS else "", bool(entry.refused)
    url = _without_query(entry.url)
    key = method, url if len(url) <= _LONGEST else "", refused
    missing[key if key in missing or len(missing) < _UNRECORDED else (method, "", refused)] += 1


def as_tunnel(url: str) -> str:
    """Return the CONNECT target that a browser requests before an https address; empty for other schemes.

    >>> as_tunnel("https://shop.test/a"), as_tunnel("https://shop.test:8443/"), as_tunnel("http://shop.test/")
    ('shop.test:443', 'shop.test:8443', '')
    """
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0]
    return (host if host.rpartition(":")[2].isdigit() else f"{host}:443") if scheme == "https" else ""
