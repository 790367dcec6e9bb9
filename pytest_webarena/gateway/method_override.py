"""Detects fields, parameters and bodies by which servers replace the method or address of a request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl

from pytest_webarena.gateway.heads import RequestHead
from pytest_webarena.gateway.log_entry import SAFE_METHODS

__all__ = ["hidden_method", "is_unreadable", "mutates", "names_address", "names_method", "why_unsafe"]

_NAMES = frozenset(
    (
        "_method", "_http_method", "_httpmethod", "http_method_override", "x_http_method", "x_http_method_override",
        "x_method", "x_method_override",
    )
)  # fmt: skip
"""Names that Rack, Rails, Laravel, Symfony, Express, OData and similar frameworks use."""
_ADDRESSES = frozenset(("x_original_url", "x_rewrite_url", "x_http_url_override", "x_override_url"))
"""Names that IIS, Symfony, Zend and similar servers use."""
_LETTERS = frozenset(("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252"))
"""Charsets in which all characters that matter here are the same bytes."""
_CHARSET = re.compile(r"charset\s*=\s*\"?([^\s\";]+)", re.IGNORECASE)
_HELD = re.compile(r"\r?\n\r?\n(.*?)(?=\r?\n--|\Z)", re.DOTALL)
"""Content of multipart parts, after their heads."""
_SAFE = frozenset(("", "GET", "HEAD", "OPTIONS"))
_PART = re.compile(rb"\bname\*?=(?:\"([^\"]*)\"|([^;\r\n]*))", re.IGNORECASE)
_ASIDE = re.compile(r'#[^\n\r]*|"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"')
"""Comments and strings in GraphQL."""
_MUTATION = re.compile(r"\bmutation\b[^{}]*\{")


def _plain(name: str) -> str:
    """Normalise a name as servers do: WSGI, CGI and PHP read dashes, dots and spaces as underscores."""
    return re.sub(r"[-. \[]", "_", name.strip().lower())


def names_method(fields: Sequence[str]) -> bool:
    """Return whether a field line of a request names a method that replaces its own.

    >>> names_method(["Accept: */*"]), names_method(["X_HTTP_METHOD_OVERRIDE: DELETE"])
    (False, True)
    """
    return any(_plain(field.partition(":")[0]) in _NAMES for field in fields)


def hidden_method(method: str, query: str, body: bytes = b"") -> bool:
    """Return whether a parameter of the address or a field of the body names another method that may write.

    Bodies are forms of either kind, or JSON. "Another" means different from the request's own.

    >>> hidden_method("POST", "q=tea", b"_method=DELETE"), hidden_method("POST", "q=tea", b"q=_method")
    (True, False)
    """
    pairs = [*parse_qsl(query, keep_blank_values=True), *_fields(body)]
    return any(_plain(name) in _NAMES and value.strip().upper() not in _SAFE | {method} for name, value in pairs)


def _fields(body: bytes) -> Iterator[tuple[str, str]]:
    """Yield everything that a server might read as a field, whatever the body's content type.

    For multipart parts, these are their names and the fields that their content may have.
    """
    if not body:
        return
    text = body.decode("utf-8", "replace")
    yield from parse_qsl(text, keep_blank_values=True)
    for quoted, bare in _PART.findall(body):
        yield (quoted or bare).decode("latin-1"), "PART"
    for part in (text, *(found[1] for found in _HELD.finditer(text))):
        try:
            yield from _members(json.loads(part))
        except (ValueError, RecursionError):
            if part is not text:
                yield "", part


def _members(known: object) -> Iterator[tuple[str, str]]:
    """Yield keys and values of JSON data at any depth."""
    if isinstance(known, list):
        for each in known:
            yield from _members(each)
    elif isinstance(known, dict):
        for name, value in known.items():
            yield str(name), value if isinstance(value, str) else ""
            if not isinstance(value, str):
                yield from _members(value)
    elif isinstance(known, str):
        yield "", known


def is_unreadable(fields: Sequence[str], body: bytes) -> bool:
    """Return whether a server may read a body differently from this module: compressed, or in another charset.

    >>> is_unreadable(["Content-Type: application/json; charset=utf-16"], b"{}"), is_unreadable([], b"{\\0}\\0")
    (True, True)
    """
    known = {name.strip().lower(): value for name, _, value in (field.partition(":") for field in fields)}
    charset = _CHARSET.search(known.get("content-type", ""))
    return (
        "content-encoding" in known
        or (charset is not None and charset[1].lower() not in _LETTERS)
        or body.startswith((b"\xff\xfe", b"\xfe\xff"))
        or b"\0" in body[:4]
    )


def names_address(fields: Sequence[str]) -> bool:
    """Return whether a field line of a request names an address that replaces its own.

    >>> names_address(["X-Original-URL: /buy"]), names_address(["Referer: /buy"])
    (True, False)
    """
    return any(_plain(field.partition(":")[0]) in _ADDRESSES for field in fields)


def mutates(query: str, body: bytes = b"") -> bool:
    """Return whether a parameter or a body is a GraphQL operation that writes, which some servers allow even for GET.

    >>> mutates("query=mutation%7Bbuy%7D"), mutates("query=%7Bteas%7D"), mutates("q=mutation")
    (True, False, False)
    """
    if not body and "mutation" not in query and "%" not in query:
        return False
    values = [value for _, value in (*parse_qsl(query), *_fields(body))]
    for value in [*values, body.decode("utf-8", "replace")]:
        text, depth = _ASIDE.sub(" ", value), 0
        match = _MUTATION.search(text)
        while match is not None:
            depth = text.count("{", 0, match.start()) - text.count("}", 0, match.start())
            if depth == 0 and "}" in text[match.end() :]:
                return True
            match = _MUTATION.search(text, match.end())
    return False


def why_unsafe(request: RequestHead, has_body: bool) -> str:
    """Return why a request may change state; empty if by its form it only reads."""
    if request.websocket:
        return "WebSocket"
    if request.method not in SAFE_METHODS:
        return request.method
    if has_body:  # a body has no defined meaning in these methods (RFC 9110 §9.3.1), so a server may act on it
        return f"{request.method} with a body"
    if names_method(request.fields):
        return f"{request.method} as another method"
    return ""
