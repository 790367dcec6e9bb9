"""Which requests a capture answers: the same address, or one that differs in what is known to make no difference."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

__all__ = ["body_digest", "canonical", "keys", "same_page", "spot"]

_PORTS = {"http": 80, "https": 443}
_CLOCKS = frozenset(
    (
        "_",
        "_t",
        "_ts",
        "cachebust",
        "cachebuster",
        "cache_bust",
        "cb",
        "nocache",
        "rand",
        "random",
        "rnd",
        "timestamp",
        "ts",
    )
)
"""Parameters by which pages keep caches away, where their value is a number of such a kind."""
_CAMPAIGNS = re.compile(r"utm_[a-z]+|fbclid|gclid|gbraid|wbraid|msclkid|mc_eid|mc_cid|_ga|_gl")
"""Parameters that tell a site where its visitor came from."""
_NUMBER = re.compile(r"[0-9]{10,}|0?\.[0-9]+")
"""A clock's or a die's. A year, a date or a page may decide what is shown."""
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_SPELLED = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~:/?#@!$&()*+,;= %-]")
_BOUNDARY = re.compile(rb"(?:multipart/form-data;\s*boundary=)\"?([^\";\s]+)")


def canonical(url: str) -> str:
    """An address as captures are known by: scheme and host in lower case, no default port, no fragment, a path.

    >>> canonical("HTTP://Shop.test:80?a=1#top")
    'http://shop.test/?a=1'
    """
    parts = urlsplit(url.partition("#")[0])
    scheme = parts.scheme.lower()
    try:
        port = parts.port
    except ValueError:
        port = None
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    at = host if port in (None, _PORTS.get(scheme)) else f"{host}:{port}"
    return f"{scheme}://{at}{parts.path or '/'}" + (f"?{parts.query}" if parts.query else "")


def spot(url: str) -> str:
    """Where a canonical address is, whatever is asked there.

    >>> spot("https://shop.test/track?n=1")
    '//shop.test/track'
    """
    return url.partition("?")[0][url.index(":") + 1 :]


def keys(url: str) -> Sequence[str]:
    """What a canonical address is looked for by, the surest first. Two addresses are one if they share a key.

    1. The address itself. 2. The same by the other scheme, on the default port. 3. Its parameters in any order, without
    numbers that keep caches away and without marks of campaigns, and with escapes written as RFC 3986 has them. No
    parameter that may decide what a page shows is ever passed over: another search is another page. Of pages themselves
    numbers decide, too (`same_page`).

    >>> keys("http://shop.test/find?q=a&_=1700000000&utm_source=x")[1:]
    ['scheme //shop.test/find?q=a&_=1700000000&utm_source=x', 'query //shop.test/find?q=a']
    """
    _, _, rest = url.partition("//")
    path, mark, query = rest.partition("?")
    found = [url, f"scheme //{rest}"]
    kept = sorted(part for part in query.split("&") if part and not _passes(part)) if mark else []
    found.append(spelled(f"query //{path}" + (f"?{'&'.join(kept)}" if kept else "")))
    return found


def same_page(url: str, other: str) -> bool:
    """Whether two addresses that share their last key are one page's: a page may well be about a moment, where what
    pages load has a clock to keep caches away.

    >>> same_page("http://shop.test/?at=1&utm_source=x", "http://shop.test/?at=1")
    True
    >>> same_page("http://shop.test/prices?ts=1700000000", "http://shop.test/prices?ts=1600000000")
    False
    """
    return _told(url) == _told(other)


def _told(url: str) -> list[str]:
    return sorted(
        spelled(part)
        for part in url.partition("?")[2].split("&")
        if part and not _CAMPAIGNS.fullmatch(part.partition("=")[0].lower())
    )


def spelled(text: str) -> str:
    """A part of an address with escapes as RFC 3986 has them: of all that needs one, in capitals, and of nothing else.
    Browsers leave some characters as they are that other programs escape.

    >>> spelled("/a%7eb?q=x|y%c3%bc&z=[ü]")
    '/a~b?q=x%7Cy%C3%BC&z=%5B%C3%BC%5D'
    """
    return _SPELLED.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    if len(found) == 3:
        byte = chr(int(found[1:], 16))
        return byte if _UNRESERVED.fullmatch(byte) else found.upper()
    return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", "surrogatepass"))


def _passes(part: str) -> bool:
    name, _, value = part.partition("=")
    if name.lower() in _CLOCKS:
        return not value or bool(_NUMBER.fullmatch(value))
    return bool(_CAMPAIGNS.fullmatch(name.lower()))


def body_digest(body: bytes, content_type: str = "") -> str:
    """By which the bodies of requests are compared; empty for none. Of a form with parts, its random boundary counts as
    any other.

    >>> body_digest(b"")
    ''
    """
    if not body:
        return ""
    if (match := _BOUNDARY.search(content_type.encode("latin-1", "replace"))) is not None:
        body = body.replace(match[1], b"boundary")
    return hashlib.sha256(body).hexdigest()
