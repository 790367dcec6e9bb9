"""Compares addresses: a normal form, patterns with ``*``, and addresses that servers may treat as the same."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_webarena.checks.hosts import ascii_host, unicode_host

__all__ = [
    "ParsedUrl",
    "equivalent_origin",
    "equivalent_path",
    "equivalent_urls",
    "parse_url",
    "prohibited_origin",
    "same_path",
    "same_place",
]

_BYTES = "surrogateescape"
_PORTS = {"http": 80, "https": 443}
_SLASH = "\udc2f"
"""Represents a slash within a path segment (``%2F``): decoded paths never contain this character."""
_STAR = "\udc2a"
"""Represents a literal star (``%2A``) in a pattern."""


@dataclass(frozen=True, slots=True)
class ParsedUrl:
    """An address in parts: the host as browsers send it, default ports filled in, the path decoded and without a final
    slash."""

    scheme: str
    host: str
    port: int | None
    path: str
    query: tuple[tuple[str, str], ...]
    fragment: str
    segments: str
    """The path with `_SLASH` for slashes within segments, and with its final slash."""
    pattern: str
    """The path as a pattern, with `_STAR` for literal stars, and with its final slash."""
    port_named: bool
    """Whether the address itself names its port."""

    @property
    def origin(self) -> tuple[str, int | None]:
        """Host and port; the scheme depends on the site's settings, not on the page."""
        return self.host, self.port

    @property
    def parameters(self) -> Mapping[str, tuple[str, ...]]:
        """Values by parameter name, in order."""
        values: dict[str, tuple[str, ...]] = {}
        for name, value in self.query:
            values[name] = (*values.get(name, ()), value)
        return values


@functools.lru_cache(maxsize=4096)
def parse_url(url: str) -> ParsedUrl | None:
    """Returns ``url`` in parts; None when it is not an absolute address."""
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
        host=ascii_host(parts.hostname or ""),
        port=port or _PORTS.get(parts.scheme),
        path=_decoded(parts.path).rstrip("/") or "/",
        query=tuple(parse_qsl(parts.query, keep_blank_values=True, errors=_BYTES)),
        fragment=_decoded(parts.fragment),
        segments=segments or "/",
        pattern=_decoded(re.sub("%2[Aa]", _STAR, parts.path)) or "/",
        port_named=port is not None,
    )


def _decoded(text: str) -> str:
    """Decode escapes; bytes that are not UTF-8 remain distinct, and only equal themselves."""
    return unquote(text, errors=_BYTES)


def _shown(pairs: Iterable[tuple[str, str]]) -> str:
    text = ", ".join(f"{name}={value}" for name, value in pairs)
    return re.sub("[\udc80-\udcff]", lambda found: f"%{ord(found.group()) - 0xDC00:02X}", text)


def same_place(
    actual: ParsedUrl, wanted: ParsedUrl, *, exact: bool, equivalent: bool = False, served: Iterable[str] = ()
) -> str:
    """Returns why ``actual`` is not the same place as ``wanted``; empty when it is.

    Host, port and path must be equal; with ``equivalent``, also accepted are forms that servers may treat as the same
    and that a prohibition covers, given the ``served`` base addresses. The query parameters of ``wanted`` must be
    present; with ``exact`` there must be no others. The fragment counts only if ``wanted`` has one.
    """
    if actual.origin != wanted.origin and not (equivalent and prohibited_origin(actual, wanted, served)):
        return "it is on another host"
    if actual.path != wanted.path and not (equivalent and _normalised(wanted.path) in _readings(actual.segments)):
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
    """Whether the path of ``actual`` matches ``pattern``: ``*`` matches anything but ``/``, ``**`` anything.

    A slash written as ``%2F`` is part of a name, so ``*`` matches it, too. It also equals ``/`` itself, because some
    sites distinguish the two and others don't. ``%2A`` is a literal star. A final slash counts, unless the pattern ends
    with a star.
    """
    wanted, path = pattern.pattern, actual.segments
    if wanted.endswith("*"):
        path = path.rstrip("/" + _SLASH) or "/"
    return _compiled(wanted).fullmatch(path) is not None


def equivalent_origin(one: ParsedUrl, other: ParsedUrl) -> bool:
    """Whether both are on the same host and port, where the default ports of http and https are equal."""
    defaults = _PORTS.values()
    return one.host == other.host and (one.port == other.port or (one.port in defaults and other.port in defaults))


def prohibited_origin(actual: ParsedUrl, wanted: ParsedUrl, served: Iterable[str]) -> bool:
    """Whether a prohibition of ``wanted`` covers the host and port of ``actual``.

    A prohibition without a port covers all ports of its host, except those at which ``served`` base addresses are other
    sites.

    >>> shop, other = parse_url("http://shop.test/"), parse_url("http://shop.test:8080/")
    >>> [prohibited_origin(other, shop, served) for served in (["http://shop.test"], ["http://shop.test:8080"])]
    [True, False]
    """
    if equivalent_origin(actual, wanted):
        return True
    if actual.host != wanted.host or wanted.port_named:
        return False
    return not any((site := parse_url(base)) and equivalent_origin(site, actual) for base in served)


def equivalent_path(actual: ParsedUrl, pattern: ParsedUrl) -> bool:
    """Whether some server may treat the path of ``actual`` as one that ``pattern`` matches.

    >>> save = parse_url("http://shop.test/save")
    >>> paths = ("//save", "/./save", "/x/%2e%2e/save", "/%2Fsave", "/save/", "/save;v=1", "/saved")
    >>> [equivalent_path(parse_url(f"http://shop.test{path}"), save) for path in paths]
    [True, True, True, True, True, True, False]
    """
    if same_path(actual, pattern):
        return True
    wanted = _compiled(_normalised(pattern.pattern))
    return any(wanted.fullmatch(path) is not None for path in _readings(actual.segments))


def equivalent_urls(url: str) -> tuple[str, ...]:
    """Returns ``url``, and the normal forms of what servers may take it for, with and without a final slash and its
    query. An international host occurs in both of its forms.

    >>> equivalent_urls("http://Shop.test:80//notes/./7/")
    ('http://Shop.test:80//notes/./7/', 'http://shop.test/notes/7', 'http://shop.test/notes/7/')
    >>> equivalent_urls("http://shop.test/a?b=1")[1:]
    ('http://shop.test/a', 'http://shop.test/a/?b=1', 'http://shop.test/a/')
    """
    parsed = parse_url(url)
    if parsed is None or not parsed.host:
        return (url,)
    port = "" if parsed.port in (None, _PORTS.get(parsed.scheme)) else f":{parsed.port}"
    hosts = dict.fromkeys((parsed.host, unicode_host(parsed.host)))
    bases = [f"{parsed.scheme}://{f'[{host}]' if ':' in host else host}{port}" for host in hosts]
    query = f"?{_decoded(parts)}" if (parts := urlsplit(url.strip()).query) else ""
    paths = [f"{path.rstrip('/')}{end}" for path in _readings(parsed.segments) for end in ("", "/")]
    found = (f"{base}{path}{end}" for base in bases for path in paths for end in (query, ""))
    return tuple(dict.fromkeys((url, *found)))


def _readings(path: str) -> Iterator[str]:
    """Yields what servers may make of a path, given as `ParsedUrl.segments`: some decode ``%2F``, some drop what
    follows a semicolon."""
    for each in dict.fromkeys((path, path.replace(_SLASH, "/"))):
        yield _normalised(each)
        yield _normalised(re.sub(";[^/]*", "", each))


def _normalised(path: str) -> str:
    """Returns a decoded path with slashes merged, dot segments resolved, and without a final slash."""
    kept: list[str] = []
    for segment in path.replace("\\", "/").split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    return "/" + "/".join(kept)


@functools.lru_cache(maxsize=4096)
def _compiled(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*)", path)
    plain = {"*": "[^/]*", "**": ".*"}
    pattern = "".join(
        plain.get(part, re.escape(part.replace(_STAR, "*")).replace("/", f"[/{_SLASH}]")) for part in parts
    )
    return re.compile(pattern, re.DOTALL)
