"""Requests that are others than they say: fields, parameters and bodies by which servers take a method for another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl

__all__ = ["hidden_method", "mutates", "names_method"]

_NAMES = frozenset(
    (
        "_method", "_http_method", "_httpmethod", "http_method_override", "x_http_method", "x_http_method_override",
        "x_method", "x_method_override",
    )
)  # fmt: skip
"""Rack, Rails, Laravel, Symfony, Express, OData and their like."""
_SAFE = frozenset(("", "GET", "HEAD", "OPTIONS"))
_PART = re.compile(rb"\bname\*?=(?:\"([^\"]*)\"|([^;\r\n]*))", re.IGNORECASE)
_ASIDE = re.compile(r'#[^\n\r]*|"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"')
"""In GraphQL: comments and texts."""
_MUTATION = re.compile(r"\bmutation\b[^{}]*\{")


def _plain(name: str) -> str:
    """As servers see a name: WSGI, CGI and PHP read dashes, dots and spaces as underscores."""
    return re.sub(r"[-. \[]", "_", name.strip().lower())


def names_method(fields: Sequence[str]) -> bool:
    """Whether a field line of a request names a method in place of its own.

    >>> names_method(["Accept: */*"]), names_method(["X_HTTP_METHOD_OVERRIDE: DELETE"])
    (False, True)
    """
    return any(_plain(field.partition(":")[0]) in _NAMES for field in fields)


def hidden_method(method: str, query: str, body: bytes = b"") -> bool:
    """Whether a parameter of the address, or a field of the body (a form's, of either kind, or JSON's), names a method
    that may write and is not the request's own.

    >>> hidden_method("POST", "q=tea", b"_method=DELETE"), hidden_method("POST", "q=tea", b"q=_method")
    (True, False)
    """
    pairs = [*parse_qsl(query, keep_blank_values=True), *_fields(body)]
    return any(_plain(name) in _NAMES and value.strip().upper() not in _SAFE | {method} for name, value in pairs)


def _fields(body: bytes) -> Iterator[tuple[str, str]]:
    """What any server might take for a field, whatever the body says it is; of parts only the names."""
    if not body:
        return
    text = body.decode("utf-8", "replace")
    yield from parse_qsl(text, keep_blank_values=True)
    for quoted, bare in _PART.findall(body):
        yield (quoted or bare).decode("latin-1"), "PART"
    try:
        known = json.loads(text)
    except (ValueError, RecursionError):
        return
    for each in known if isinstance(known, list) else [known]:
        if isinstance(each, dict):
            yield from ((name, str(value)) for name, value in each.items())


def mutates(query: str, body: bytes = b"") -> bool:
    """Whether a parameter or a body is a GraphQL operation that writes. Servers should not do that for GET; some do.

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
