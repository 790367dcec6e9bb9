"""Answers of hosts from which pages load parts, kept for one run so that all trials get the same bytes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from pytest_webarena.gateway.heads import ResponseHead

__all__ = ["LoadCache", "StoredAnswer", "fields_to_send"]

_TOTAL_LIMIT = 512 << 20
"""Maximum size in bytes of all kept answers."""
_NOT_SENT = frozenset(
    (
        "authorization", "connection", "cookie", "host", "if-match", "if-modified-since", "if-none-match", "if-range",
        "if-unmodified-since", "keep-alive", "range", "te", "upgrade",
    )
)  # fmt: skip
"""Fields that would make the answer depend on the trial, or ask for a part of it."""
_NOT_KEPT = frozenset(
    ("alt-svc", "connection", "content-length", "keep-alive", "set-cookie", "transfer-encoding", "trailer", "vary")
)
"""Fields of answers that concern one connection or one visitor; ``Vary`` is replaced."""
_TRANSIENT = frozenset((408, 425, 429))


def fields_to_send(fields: Iterable[str]) -> list[str]:
    """Return the field lines of a request without those that depend on the visitor.

    >>> fields_to_send(["Accept: */*", "Cookie: id=7", "Range: bytes=0-"])
    ['Accept: */*']
    """
    return [field for field in fields if field.partition(":")[0].lower() not in _NOT_SENT]


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A complete answer, and the requests that it suits."""

    status: int
    data: bytes
    """Head and content as sent to browsers."""
    selecting: tuple[tuple[str, str], ...]
    """Names and values of the request's fields on which the answer depends."""

    @classmethod
    def of(cls, head: ResponseHead, content: bytes, request_fields: Sequence[str]) -> StoredAnswer:
        """Make the answer from a response to a request with these fields."""
        sent = _values(request_fields)
        listed = (name.strip().lower() for name in _values(head.fields).get("vary", "").split(","))
        named = ["origin", *(name for name in listed if name not in ("", "*"))]
        # Some servers repeat the origin in CORS fields without a Vary field.
        selecting = tuple((name, sent.get(name, "")) for name in dict.fromkeys(named))
        kept = [field for field in head.fields if field.partition(":")[0].lower() not in _NOT_KEPT]
        lines = [
            f"HTTP/1.1 {head.status} {head.reason}",
            *kept,
            # Otherwise the browser could show in a tab what a page has loaded, without another request.
            f"Vary: {', '.join(dict.fromkeys([*named, 'accept', 'sec-fetch-dest']))}",
        ]
        if head.status not in (204, 304) and head.status >= 200:
            lines.append(f"Content-Length: {len(content)}")
        data = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + content
        return cls(head.status, data, selecting)

    @property
    def is_final(self) -> bool:
        """Whether another request would presumably have the same answer, so that it is kept."""
        return self.status < 500 and self.status not in _TRANSIENT

    def suits(self, fields: Sequence[str]) -> bool:
        """Return whether it is the answer to a request with these fields."""
        sent = _values(fields)
        return all(sent.get(name, "") == value for name, value in self.selecting)


def _values(fields: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, _, value in (field.partition(":") for field in fields):
        name, value = name.lower(), value.strip()
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


class LoadCache:
    """Answers by address. Each address is requested once at a time, so that no two trials see different answers."""

    def __init__(self, limit: int = _TOTAL_LIMIT) -> None:
        self._answers: defaultdict[str, list[StoredAnswer]] = defaultdict(list)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._left = limit

    async def answer(
        self, url: str, fields: Sequence[str], fetch: Callable[[], Awaitable[StoredAnswer]]
    ) -> StoredAnswer:
        """Return the kept answer to a request for ``url`` with ``fields``, or keep the one that ``fetch`` returns.

        Answers that are not final are returned and not kept. `OSError` when no more can be kept.
        """
        async with self._locks[url]:
            for known in self._answers[url]:
                if known.suits(fields):
                    return known
            found = await fetch()
            if found.is_final:
                if len(found.data) > self._left:
                    raise OSError("the parts of pages that are kept for this run exceed 512 MiB")
                self._left -= len(found.data)
                self._answers[url].append(found)
            return found
