"""Matches requests with captures by their addresses, ignoring parts that do not affect the response."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

__all__ = ["body_digest", "canonical", "host_and_path", "keys", "same_page"]

_PORTS = {"http": 80, "https": 443}
_CACHE_BUSTERS = frozenset(
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
"""Names of parameters that pages add to bypass caches, when their value is a timestamp or random number."""
_CAMPAIGN = re.compile(r"utm_[a-z]+|fbclid|gclid|gbraid|wbraid|msclkid|mc_eid|mc_cid|_ga|_gl")
"""Names of parameters that tell a site where its visitor came from, such as a campaign."""
_VARYING_NUMBER = re.compile(r"[0-9]{10,}|0?\.[0-9]+")
"""A timestamp or a random fraction. Shorter numbers (years, dates, page numbers) may decide what is shown."""
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_ESCAPES = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~:/?#@!$&()*+,;= %-]")
_BOUNDARY = re.compile(rb"(?:multipart/form-data;\s*boundary=)\"?([^\";\s]+)")


def canonical(url: str) -> str:
    """Return an address in the form by which captures are indexed: scheme and host in lower case, no default port, no
    fragment, a path.

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
    authority = host if port in (None, _PORTS.get(scheme)) else f"{host}:{port}"
    return f"{scheme}://{authority}{parts.path or '/'}" + (f"?{parts.query}" if parts.query else "")


def host_and_path(url: str) -> str:
    """Return host and path of a canonical address, without scheme and query.

    >>> host_and_path("https://shop.test/track?n=1")
    '//shop.test/track'
    """
    return url.partition("?")[0][url.index(":") + 1 :]


def keys(url: str) -> Sequence[str]:
    """Return the keys under which a canonical address is looked up, from strict to lenient. Two addresses match if they
    share a key.

    1. The address itself. 2. The same address with the other scheme, on its default port. 3. Its parameters in any
    order, without cache-busting numbers and campaign parameters, and with escapes normalised as in RFC 3986. Parameters
    that may decide what a page shows are kept: another search is another page. For pages themselves, as opposed to
    their resources, cache-busting numbers count too (`same_page`).

    >>> keys("http://shop.test/find?q=a&_=1700000000&utm_source=x")[1:]
    ['scheme //shop.test/find?q=a&_=1700000000&utm_source=x', 'query //shop.test/find?q=a']
    """
    _, _, rest = url.partition("//")
    path, mark, query = rest.partition("?")
    found = [url, f"scheme //{rest}"]
    kept = sorted(part for part in query.split("&") if part and not _is_ignored(part)) if mark else []
    found.append(normalised_escapes(f"query //{path}" + (f"?{'&'.join(kept)}" if kept else "")))
    return found


def same_page(url: str, other: str) -> bool:
    """Return whether two addresses that share their last key are the same page. A number that only bypasses caches in a
    subresource's address may select a point in time in a page's address.

    >>> same_page("http://shop.test/?at=1&utm_source=x", "http://shop.test/?at=1")
    True
    >>> same_page("http://shop.test/prices?ts=1700000000", "http://shop.test/prices?ts=1600000000")
    False
    """
    return _page_parameters(url) == _page_parameters(other)


def _page_parameters(url: str) -> list[str]:
    """Return the sorted parameters of an address without campaign parameters."""
    return sorted(
        normalised_escapes(part)
        for part in url.partition("?")[2].split("&")
        if part and not _CAMPAIGN.fullmatch(part.partition("=")[0].lower())
    )


def normalised_escapes(text: str) -> str:
    """Return part of an address with escapes as in RFC 3986: in capitals, for all characters that need one, and for no
    others. Browsers leave some characters unescaped that other programs escape.

    >>> normalised_escapes("/a%7eb?q=x|y%c3%bc&z=[ü]")
    '/a~b?q=x%7Cy%C3%BC&z=%5B%C3%BC%5D'
    """
    return _ESCAPES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    if len(found) == 3:
        byte = chr(int(found[1:], 16))
        return byte if _UNRESERVED.fullmatch(byte) else found.upper()
    return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", "surrogatepass"))


def _is_ignored(part: str) -> bool:
    """Return whether a parameter only bypasses caches or names a campaign."""
    name, _, value = part.partition("=")
    if name.lower() in _CACHE_BUSTERS:
        return not value or bool(_VARYING_NUMBER.fullmatch(value))
    return bool(_CAMPAIGN.fullmatch(name.lower()))


def body_digest(body: bytes, content_type: str = "") -> str:
    """Return the digest by which request bodies are compared; empty for no body.

    The random boundary of a multipart form is replaced before.

    >>> body_digest(b"")
    ''
    """
    if not body:
        return ""
    if (match := _BOUNDARY.search(content_type.encode("latin-1", "replace"))) is not None:
        body = body.replace(match[1], b"boundary")
    return hashlib.sha256(body).hexdigest()
