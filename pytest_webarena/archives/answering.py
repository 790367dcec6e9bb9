"""The HTTP response of an archive to one request: conditional and range requests, content codings, missing captures."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from pytest_webarena.archives.archive import Archive, Found
from pytest_webarena.archives.bodies import codings_of, decoded, looks_uncoded
from pytest_webarena.archives.reading import Stored
from pytest_webarena.errors import UsageError
from pytest_webarena.gateway.archive_misses import KEPT_BACK, LACKING, WRITES, is_navigation, resource_kind
from pytest_webarena.gateway.method_override import hidden_method, is_unreadable, mutates, names_address, names_method
from pytest_webarena.gateway.pages import not_sent, preflight_allowed

__all__ = ["Answer", "answer"]

MATCHED = "Webarena-Archive-Match"
"""Response field with the address that answered, when it differs from the requested one."""

_LEFT_OUT = frozenset(
    (
        "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "content-length", "accept-ranges",
        "proxy-authenticate", "proxy-connection",
        # These would lead browsers away from the archive, or make them send reports.
        "alt-svc", "strict-transport-security", "public-key-pins", "expect-ct", "nel", "report-to",
        "reporting-endpoints",
        KEPT_BACK.lower(), LACKING.lower(), MATCHED.lower(),
    )
)  # fmt: skip
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_LATER = frozenset((429, *range(500, 600)))
"""Statuses of a site that cannot or will not answer at the moment. Such a capture is not a page; a subresource may be
permanently broken."""
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_FIELD = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Not archived</title></head>
<body><h1>Not archived</h1><p>{text}</p></body></html>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response to the browser."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    data: bytes


def answer(archive: Archive, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
    """The archive's response to a request. ``headers`` has lower-case names."""
    if headers.get("upgrade", "").lower() == "websocket":
        if archive.kept_back("WEBSOCKET", url):
            return _kept_back("WebSocket", url, headers, b"")
        return _lacking("WebSocket", url, "none is archived")
    page = resource_kind(method, _lines(headers)) == "page"
    found = archive.find(method, url, body, headers.get("content-type", ""), page=page)
    if found is None and method == "OPTIONS" and headers.get("access-control-request-method"):
        return Answer(status=204, reason="No Content", headers=preflight_allowed(headers), data=b"")
    if found is None and archive.kept_back(method, url):
        return _kept_back(method, url, headers, body)
    if found is None:
        return _lacking(method, url, "the archive has no capture of it")
    if page and found.capture.status in _LATER:
        return _lacking(method, url, f"the archive has a failure of the moment, status {found.capture.status}")
    if found.capture.is_truncated:
        return _lacking(method, url, "the archive has only the beginning of it")
    if found.capture.status in _REDIRECTS and method in ("GET", "HEAD") and archive.is_redirect_loop(url):
        return _lacking(method, url, "its redirects lead back to it: where they led in the end, the archive has not")
    return _captured(archive, found, method, url, headers)


def _captured(archive: Archive, found: Found, method: str, url: str, headers: Mapping[str, str]) -> Answer:
    """The response made from a capture, in the form that the browser accepts."""
    try:
        stored = archive.read(found.capture)
    except UsageError as error:
        return _lacking(method, url, str(error))
    fields = [
        (name, value)
        for name, value in stored.headers
        if name.lower() not in _LEFT_OUT and _FIELD.fullmatch(name) and _printable(value)
    ]
    if found.how != "exact" and found.capture.url != url:
        fields.append((MATCHED, f"{found.how} {found.capture.url}"))
    encoded = _encode_body(stored, fields, headers.get("accept-encoding", ""))
    if encoded is None:
        return _lacking(method, url, "its content is coded in a way that can't be read here")
    fields, data = encoded
    if stored.status == 200 and method in ("GET", "HEAD"):
        if _is_fresh(fields, headers):
            headers_kept = [
                (name, value) for name, value in fields if name.lower() not in ("content-type", "content-encoding")
            ]
            return Answer(status=304, reason="Not Modified", headers=tuple(headers_kept), data=b"")
        fields.append(("Accept-Ranges", "bytes"))
        if (part := headers.get("range")) and "if-range" not in headers:
            return _partial_answer(part, stored, fields, data)
    return Answer(status=stored.status, reason=stored.reason, headers=tuple(fields), data=data)


def _lacking(method: str, url: str, reason: str) -> Answer:
    text = f"Not archived: {method} {url} ({reason})."
    page = _PAGE.format(text=html.escape(text)).encode()
    fields = (
        (LACKING, "1"), ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"),
        ("Access-Control-Allow-Origin", "*"),
    )  # fmt: skip
    return Answer(status=404, reason="Not archived", headers=fields, data=page)


def _kept_back(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """The response that the guard gave when the archive was made."""
    text = (
        f"{method} {url} was not sent when the archive was made, for it might have changed something on a live site; "
        "nothing is changed here"
    )
    refusal = not_sent(f"{text}.", page=is_navigation(method, _lines(headers)))
    reason = WRITES if _writes(method, url, headers, body) else "1"
    fields = [(KEPT_BACK, reason), *refusal[0], ("Access-Control-Allow-Origin", headers.get("origin", "*"))]
    return Answer(
        status=403,
        reason="Forbidden",
        headers=(*fields, ("Access-Control-Allow-Credentials", "true"), ("Vary", "Origin")),
        data=refusal[1],
    )


def _writes(method: str, url: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether the guard would withhold the request even if requests like it were declared read-only."""
    lines, query = _lines(headers), url.partition("?")[2]
    return (
        names_method(lines)
        or names_address(lines)
        or is_unreadable(lines, body)
        or hidden_method(method, query, body)
        or mutates(query, body)
    )


def _lines(headers: Mapping[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items()]


def _printable(value: str) -> bool:
    return all((" " <= each <= "\xff" and each != "\x7f") or each == "\t" for each in value)


def _encode_body(
    stored: Stored, fields: list[tuple[str, str]], accepted: str
) -> tuple[list[tuple[str, str]], bytes] | None:
    """The fields and body in a coding that the browser accepts: the stored one, or none. None if the body cannot be
    decoded."""
    codings = codings_of(fields)
    bare = [(name, value) for name, value in fields if name.lower() != "content-encoding"]
    if not codings or not stored.data or looks_uncoded(stored.data, codings[-1]):
        return bare, stored.data
    takes = {each.partition(";")[0].strip().lower() for each in accepted.split(",")}
    if set(codings) <= takes:
        return fields, stored.data
    try:
        return bare, decoded(stored.data, codings)
    except (ValueError, EOFError):
        return None


def _is_fresh(fields: list[tuple[str, str]], headers: Mapping[str, str]) -> bool:
    """Whether the browser's cached copy is current (RFC 9110 §13.2.2)."""
    own = {name.lower(): value for name, value in fields}
    if (known := headers.get("if-none-match")) is not None:
        tags = {each.strip().removeprefix("W/") for each in known.split(",")}
        return "etag" in own and (own["etag"].removeprefix("W/") in tags or known.strip() == "*")
    if (since := headers.get("if-modified-since")) is not None and "last-modified" in own:
        try:
            return parsedate_to_datetime(own["last-modified"]) <= parsedate_to_datetime(since)
        except (TypeError, ValueError):
            return False
    return False


def _partial_answer(range_header: str, stored: Stored, fields: list[tuple[str, str]], data: bytes) -> Answer:
    match = _RANGE.fullmatch(range_header.replace(" ", ""))
    size = len(data)
    if match is None or not (match[1] or match[2]):  # a server may ignore a request for several ranges
        return Answer(status=stored.status, reason=stored.reason, headers=tuple(fields), data=data)
    first = int(match[1]) if match[1] else max(0, size - int(match[2]))
    last = min(int(match[2]), size - 1) if match[1] and match[2] else size - 1
    if first >= size or first > last:
        headers = (("Content-Range", f"bytes */{size}"),)
        return Answer(status=416, reason="Range Not Satisfiable", headers=headers, data=b"")
    fields.append(("Content-Range", f"bytes {first}-{last}/{size}"))
    return Answer(status=206, reason="Partial Content", headers=tuple(fields), data=data[first : last + 1])
