"""The key ``live`` of tasks: what a trial may do on live sites in addition to visiting its start domains."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.model import LiveTerms
from pytest_webarena.tasks.record_shapes import Field, ListOf, Record
from pytest_webarena.tasks.shapes import Choice, Fault, Text

__all__ = ["LIVE", "NamedRequest", "named_fault", "parse_named"]

_NAMED = re.compile(r"(?:(POST|PUT|PATCH|DELETE|WEBSOCKET) +)?((?:https?://[^/\s?#]+)?/[^\s?#]*)")
_DOMAIN = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)+[a-z0-9-]{2,}\.?|[0-9.]+|\[[0-9a-f:.]+\]", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRequest:
    """Requests by method and address; without an origin, on any of the task's domains."""

    method: str
    origin: str
    """Origin such as ``https://www.example.com``; empty for the task's domains."""
    path: str
    """Path pattern: ``*`` matches anything but ``/``, ``**`` matches anything."""

    def path_matches(self, path: str) -> bool:
        """Whether the path of an address matches the pattern."""
        return _pattern(self.path).fullmatch(path) is not None

    def __str__(self) -> str:
        return f"{self.method} {self.origin}{self.path}"


@lru_cache(maxsize=256)
def _pattern(path: str) -> re.Pattern[str]:
    wildcards = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(wildcards.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", path)))


def parse_named(text: str) -> NamedRequest:
    """Parse a request such as ``POST https://www.example.com/search*``; the default method is POST.

    Raises `ValueError` for other text.

    >>> str(parse_named("/search"))
    'POST /search'
    """
    match = _NAMED.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    parts = urlsplit(match[2])
    origin = f"{parts.scheme}://{parts.netloc.lower()}" if parts.netloc else ""
    return NamedRequest(method=match[1] or "POST", origin=origin, path=parts.path)


def named_fault(text: str) -> str:
    """Returns the form that ``text`` should have; empty when it has it."""
    is_valid = _NAMED.fullmatch(text.strip()) is not None and "@" not in text
    return "" if is_valid else "requests such as 'POST /search' or 'POST https://www.example.com/api/find*'"


def _domain_fault(text: str) -> str:
    return "" if _DOMAIN.fullmatch(text) else "a domain such as example.com, without scheme and path"


def _check_named(text: str, _: Reading) -> Fault | None:
    return Fault(expected, repr(text)) if (expected := named_fault(text)) else None


def _check_domain(text: str, _: Reading) -> Fault | None:
    return Fault(expected, repr(text)) if (expected := _domain_fault(text)) else None


LIVE: Record[LiveTerms] = Record(
    "live",
    LiveTerms,
    [
        Field(
            key="domains",
            shape=ListOf(Text("a domain", strip=True, check=_check_domain), or_one=True),
            default=(),
            default_text="none",
            doc=(
                "Domains that tabs may visit, in addition to the registrable domains of the task's sites and "
                "start addresses."
            ),
            example="live: {domains: [booking.example]}",
        ),
        Field(
            key="reads",
            shape=ListOf(Text("a request", strip=True, check=_check_named), or_one=True),
            default=(),
            default_text="none",
            doc=(
                "Requests that only read although their method may write, such as a search by `POST`. Each "
                "is a method (default: `POST`; `WEBSOCKET` for a WebSocket) and a path on the task's "
                "domains, or a full address. `*` matches anything but `/`; `**` matches anything."
            ),
            example="live: {reads: [POST /search, 'POST https://api.example.com/graphql']}",
        ),
        Field(
            key="writes",
            shape=ListOf(Text("a request", strip=True, check=_check_named), or_one=True),
            default=(),
            default_text="none",
            doc=(
                "Requests that may change something on the live site, in the same form as `reads`. All other "
                "writing requests are intercepted."
            ),
            example="live: {writes: [POST /basket/add/*]}",
        ),
        Field(
            key="robots",
            shape=Choice("obey", "ignore"),
            default="",
            default_text="the catalogue's setting, else `obey`",
            doc="Whether to obey robots.txt. Use `ignore` only with the site's permission.",
            example="live: {robots: ignore}",
        ),
    ],
    doc="What a trial may do on [live sites](live.md).",
    owner="'live'",
)
