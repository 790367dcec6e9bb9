"""Comparing addresses: one normal form, and patterns with ``*``."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

__all__ = ["ParsedUrl", "parse_url", "same_path", "same_place"]

_PORTS = {"http": 80, "https": 443}
_SLASH = "\udc2f"
"""Stands for a slash within a segment of a path (``%2F``): no decoded path has such a character."""


@dataclass(frozen=True, slots=True)
class ParsedUrl:
    """An address in parts: host in lower case, default ports filled in, path decoded and without a last slash."""

    scheme: str
    host: str
    port: int | None
    path: str
    query: tuple[tuple[str, str], ...]
    fragment: str
    segments: str
    """The path with `_SLASH` where a slash is part of a name."""

    @property
    def origin(self) -> tuple[str, int | None]:
        """Host and port; the scheme follows from the site's settings, not from what is on the page."""
        return self.host, self.port

    @property
    def parameters(self) -> Mapping[str, tuple[str, ...]]:
        """Values by name, in order."""
        values: dict[str, tuple[str, ...]] = {}
        for name, value in self.query:
            values[name] = (*values.get(name, ()), value)
        return values


@functools.lru_cache(maxsize=4096)
def parse_url(url: str) -> ParsedUrl | None:
    """``url`` in parts; None when it is no absolute address."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return None
    if not parts.scheme:
        return None
    segments = "/".join(unquote(segment).replace("/", _SLASH) for segment in parts.path.split("/"))
    return ParsedUrl(
        scheme=parts.scheme,
        host=(parts.hostname or "").rstrip("."),
        port=port or _PORTS.get(parts.scheme),
        path=unquote(parts.path).rstrip("/") or "/",
        query=tuple(parse_qsl(parts.query, keep_blank_values=True)),
        fragment=unquote(parts.fragment),
        segments=segments.rstrip("/" + _SLASH) or "/",
    )


def same_place(actual: ParsedUrl, wanted: ParsedUrl, *, exact: bool) -> str:
    """Why ``actual`` is not where ``wanted`` is; empty when it is.

    Host, port and path must be equal. The query parameters of ``wanted`` must be there; with ``exact``
    there must be no others. The fragment counts only where ``wanted`` has one.
    """
    if actual.origin != wanted.origin:
        return "it is on another host"
    if actual.path != wanted.path:
        return "the paths differ"
    missing = Counter(wanted.query) - Counter(actual.query)
    if missing:
        return "the query lacks " + ", ".join(f"{name}={value}" for name, value in missing)
    further = Counter(actual.query) - Counter(wanted.query)
    if exact and further:
        return "the query has more: " + ", ".join(f"{name}={value}" for name, value in further)
    if wanted.fragment and actual.fragment != wanted.fragment:
        return "the fragments differ"
    return ""


def same_path(actual: ParsedUrl, pattern: ParsedUrl) -> bool:
    """Whether the path of ``actual`` is as ``pattern`` says: ``*`` stands for anything but ``/``, ``**`` for anything.

    A slash that is written ``%2F`` is part of a name, so ``*`` stands for it, too. To ``/`` itself it is equal, for
    some sites tell the two apart and others don't.
    """
    return _compiled(pattern.path).fullmatch(actual.segments) is not None


@functools.lru_cache(maxsize=4096)
def _compiled(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*)", path)
    plain = {"*": "[^/]*", "**": ".*"}
    pattern = "".join(plain.get(part, re.escape(part).replace("/", f"[/{_SLASH}]")) for part in parts)
    return re.compile(pattern, re.DOTALL)
