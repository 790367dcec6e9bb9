"""Credentials that sites make while a trial runs: session cookies and tokens in traffic, storage and pages.

They are found by their place. A place counts if the protocol reserves it for credentials (cookies, ``Authorization``)
or if its name says so (a field or header named token, password, csrf, session, …).
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.secrets import MASK, SHORTEST, scrub_bytes, scrub_cut

__all__ = ["CREDENTIAL_HEADERS", "in_bodies", "in_cookies", "in_pages", "in_requests", "in_storage", "masked_request"]

CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "set-cookie"})
"""Headers whose values are credentials, in small letters."""

_LONG = 16
"""Minimum length in characters of values of cookies and storage: shorter ones may be settings."""
_NAMED = re.compile(
    r"token|secret|passw(or)?d|passphrase|api[-_]?key|form[-_]?key|csrf|xsrf|jwt|nonce|ticket|assertion|credential"
    r"|session[-_]?(id|key)|sess(ion)?id|^(code|otp|totp|pin|sid|auth|session)$",
    re.IGNORECASE,
)
"""Names of fields, headers and cookies that hold credentials."""
_FIELD = re.compile(r"<(?:input|meta)\b[^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_ASSIGNED = re.compile(r"""([\w-]{2,40})["']?\s*[:=]\s*["']([^"'<>\s]+)["']""")
"""A name and its value, in scripts and in JSON within pages."""
_PLAIN_WORD = re.compile(rf"[a-z]{{1,12}}|.{{1,{SHORTEST - 1}}}", re.DOTALL)
"""Values that are too common to be credentials of sites."""


def in_requests(requests: Iterable[RequestRecord]) -> set[str]:
    """Return the credentials in headers, addresses and bodies."""
    found: set[str] = set()
    for request in requests:
        for name, value in (*request.request_headers, *request.response_headers):
            found.update(_in_header(name.lower(), value))
        for name, value in parse_qsl(urlsplit(request.url).query) + parse_qsl(urlsplit(request.url).fragment):
            found.update(_in_field(name, value))
        for body in (request.request_body, request.response_body):
            found.update(_in_body(body or ""))
    return {value for value in found if not _PLAIN_WORD.fullmatch(value)}


def in_bodies(bodies: Sequence[str]) -> set[str]:
    """Return the credentials in bodies of responses: pages, forms and JSON."""
    found = in_pages(bodies).union(*map(_in_body, bodies))
    return {value for value in found if not _PLAIN_WORD.fullmatch(value)}


def in_cookies(received: Iterable[str]) -> set[str]:
    """Return the credentials in values of ``Set-Cookie``."""
    found = {each for value in received for each in _in_header("set-cookie", value)}
    return {value for value in found if not _PLAIN_WORD.fullmatch(value)}


def in_storage(state: Mapping[str, Any]) -> set[str]:
    """Return the credentials of a storage state of Playwright: cookies, local storage and databases."""
    found: set[str] = set()
    for cookie in state.get("cookies", ()):
        pair = f"{cookie.get('name')}={cookie.get('value')}"
        found.update(_in_cookie(pair, is_hidden=bool(cookie.get("httpOnly"))))
    for origin in state.get("origins", ()):
        for item in origin.get("localStorage", ()):
            name, value = str(item.get("name", "")), str(item.get("value", ""))
            data = _parsed(value)
            if isinstance(data, dict | list):
                found.update(_in_data(data))
            elif len(value) >= _LONG or _NAMED.search(name):
                found.add(data if isinstance(data, str) else value)
        found.update(_in_data(origin.get("indexedDB", ())))
    return {value for value in found if not _PLAIN_WORD.fullmatch(value)}


def in_pages(pages: Iterable[str]) -> set[str]:
    """Return the credentials in fields, meta elements and scripts of pages: hidden tokens, filled-in passwords."""
    found = set()
    for page in pages:
        for field in _FIELD.finditer(page):
            said = {name.lower(): unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(field[0])}
            value = said.get("value") or said.get("content") or ""
            if said.get("type", "").lower() == "password" or _NAMED.search(said.get("name", "") or said.get("id", "")):
                found.add(value)
        found.update(value for name, value in _ASSIGNED.findall(page) if _NAMED.search(name))
    return {value for value in found if not _PLAIN_WORD.fullmatch(value)}


def masked_request(request: RequestRecord, *, headers: bool) -> RequestRecord:
    """Return the record without bodies that hide a secret and, with ``headers``, without values of credential
    headers."""
    body = request.request_body
    if body is not None and body.startswith("base64:"):
        body = _masked_binary(body)
    elif body is not None and request.body_cut:
        body = scrub_cut(body)
    request = request if body == request.request_body else replace(request, request_body=body)
    if not headers:
        return request
    return replace(
        request,
        request_headers=_masked_headers(request.request_headers),
        response_headers=_masked_headers(request.response_headers),
    )


def _masked_headers(headers: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _masked_header(name.lower(), value)) for name, value in headers)


def _masked_header(name: str, value: str) -> str:
    match name:
        case "cookie":
            return "; ".join(f"{part.partition('=')[0].strip()}={MASK}" for part in value.split(";"))
        case "set-cookie":
            first, *attributes = value.split(";")
            return ";".join((f"{first.partition('=')[0].strip()}={MASK}", *attributes))
        case "authorization" | "proxy-authorization":
            return f"{value.partition(' ')[0]} {MASK}" if " " in value else MASK
    return value


def _masked_binary(body: str) -> str:
    """Return a body in base64, with a mask in place of all of it if a secret is in it, compressed or not."""
    try:
        data = base64.b64decode(body.removeprefix("base64:"))
    except (binascii.Error, ValueError):
        return body
    return body if all(scrub_bytes(each) == each for each in _decompressed(data)) else MASK


def _decompressed(data: bytes) -> Iterator[bytes]:
    yield data
    for wbits in (47, -zlib.MAX_WBITS):  # gzip or zlib by their headers; deflate without one
        try:
            yield zlib.decompressobj(wbits=wbits).decompress(data, 10_000_000)
        except zlib.error:
            continue


def _in_header(name: str, value: str) -> Iterator[str]:
    match name:
        case "cookie":
            for part in value.split(";"):
                yield from _in_cookie(part, is_hidden=False)
        case "set-cookie":
            first, _, attributes = value.partition(";")
            yield from _in_cookie(first, is_hidden="httponly" in attributes.lower())
        case "authorization" | "proxy-authorization":
            scheme, _, rest = value.partition(" ")
            yield rest or scheme
            if scheme.lower() == "basic":
                yield from _password_of(rest)
        case _ if _NAMED.search(name) and not name.startswith(("sec-", "access-control-")):
            yield value


def _password_of(basic: str) -> Iterator[str]:
    try:
        yield base64.b64decode(basic).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return


def _in_cookie(pair: str, *, is_hidden: bool) -> Iterator[str]:
    name, value = (part.strip().strip('"') for part in pair.partition("=")[::2])
    if len(value) >= _LONG or ((is_hidden or _NAMED.search(name)) and len(value) > SHORTEST):
        yield value
        yield unquote(value)


def _in_body(body: str) -> Iterator[str]:
    if body.startswith("base64:"):
        try:
            data = base64.b64decode(body.removeprefix("base64:"))
            body = gzip.decompress(data).decode()
        except (OSError, EOFError, zlib.error, ValueError):
            return
    if (data := _parsed(body)) is not None:
        yield from _in_data(data)
    elif "=" in body:
        for name, value in parse_qsl(body):
            yield from _in_field(name, value)


def _in_data(data: Any, name: str = "") -> Iterator[str]:
    """Yield the texts of plain data whose names say that they are credentials."""
    match data:
        case str():
            yield from _in_field(name, data)
        case dict():
            for key, value in data.items():
                yield from _in_data(value, str(key))
        case list() | tuple():
            for value in data:
                yield from _in_data(value, name)


def _in_field(name: str, value: str) -> Iterator[str]:
    if _NAMED.search(name.rpartition("[")[2].rstrip("]") if name.endswith("]") else name):
        yield value
    elif isinstance(data := _parsed(value), dict | list):
        yield from _in_data(data)


def _parsed(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
