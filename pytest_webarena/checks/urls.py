"""Comparing addresses: one normal form, and patterns with ``*``."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

__all__ = ["ParsedUrl", "parse_url", "same_path", "same_place"]

_BYTES = "surrogateescape"
_PORTS = {"http": 80, "https": 443}
_SLASH = "\udc2f"
"""Stands for a slash within a segment of a path (``%2F``): no decoded path has such a character."""
_STAR = "\udc2a"
"""Stands for a star that is none of a pattern's (``%2A``)."""


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
    """The path with `_SLASH` where a slash is part of a name, and with its last slash."""
    pattern: str
    """The path as a pattern, with `_STAR` where a star stands for itself, and with its last slash."""

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
    segments = "/".join(_decoded(segment).replace("/", _SLASH) for segment in parts.path.split("/"))
    return ParsedUrl(
        scheme=parts.scheme,
        host=(parts.hostname or "").rstrip("."),
        port=port or _PORTS.get(parts.scheme),
        path=_decoded(parts.path).rstrip("/") or "/",
        query=tuple(parse_qsl(parts.query, keep_blank_values=True, errors=_BYTES)),
        fragment=_decoded(parts.fragment),
        segments=segments or "/",
        pattern=_decoded(re.sub("%2[Aa]", _STAR, parts.path)) or "/",
    )


def _decoded(text: str) -> str:
    """With its escapes as characters; bytes that are no UTF-8 stay apart, and equal to themselves alone."""
    return unquote(text, errors=_BYTES)


def _shown(pairs: Iterable[tuple[str, str]]) -> str:
    text = ", ".join(f"{name}={value}" for name, value in pairs)
    return re.sub("[\udc80-\udcff]", lambda found: f"%{ord(found.group()) - 0xDC00:02X}", text)


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
        return "the query lacks " + _shown(missing)
    further = Counter(actual.query) - Counter(wanted.query)
    if exact and further:
        return "the query has more: " + _shown(further)
    if wanted.fragment and actual.fragment != wanted.fragment:
        return "the fragments differ"
    return ""


def same_path(actual: ParsedUrl, pattern: ParsedUrl) -> bool:
    """Whether the path of ``actual`` is as ``pattern`` says: ``*`` stands for anything but ``/``, ``**`` for anything.

    A slash that is written ``%2F`` is part of a name, so ``*`` stands for it, too. To ``/`` itself it is equal, for
    some sites tell the two apart and others don't. ``%2A`` is a star itself. A last slash counts, unless the pattern
    ends with a star.
    """
    wanted, path = pattern.pattern, actual.segments
    if wanted.endswith("*"):
        path = path.rstrip("/" + _SLASH) or "/"
    return _compiled(wanted).fullmatch(path) is not None


@functools.lru_cache(maxsize=4096)
def _compiled(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*)", path)
    plain = {"*": "[^/]*", "**": ".*"}
    pattern = "".join(
        plain.get(part, re.escape(part.replace(_STAR, "*")).replace("/", f"[/{_SLASH}]")) for part in parts
    )
    return re.compile(pattern, re.DOTALL)
