"""Recorded requests as an HTTP Archive (HAR 1.2, http://www.softwareishard.com/blog/har-12-spec/)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from http.cookiejar import http2time  # type: ignore[attr-defined]  # documented nowhere, there since 2.4
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from pytest_webarena.evidence import RequestRecord

__all__ = ["NO_RESPONSE", "Entry", "archive", "entries"]

Entry = dict[str, Any]
"""One exchange in HAR's form."""

NO_RESPONSE = -1
"""Status of exchanges without a response, as browsers write it. Requests that the gateway refused have it, too: without
a gateway they would have reached no server."""

Pairs = Sequence[tuple[str, str]]

_PHRASES = {int(status): status.phrase for status in HTTPStatus}


def archive(requests: Iterable[RequestRecord], *, version: str = "", missing: int = 0) -> dict[str, Any]:
    """Returns a whole archive. ``version`` is the writing package's; ``missing`` is the number of requests not
    recorded."""
    creator = {"name": "pytest-webarena", "version": version}
    log: dict[str, Any] = {"version": "1.2", "creator": creator, "pages": [], "entries": entries(requests)}
    if missing:
        log["comment"] = (
            f"incomplete: {missing} more requests were passed on, for which there was no room in the record"
        )
    return {"log": log}


def entries(requests: Iterable[RequestRecord]) -> list[Entry]:
    """Returns the exchanges in the order of their requests. Tunnels are left out: what went through them is recorded
    separately or unknown."""
    return [_entry(request) for request in requests if request.method != "CONNECT"]


def _entry(request: RequestRecord) -> Entry:
    milliseconds = round(request.seconds * 1000, 3)
    entry: Entry = {
        "startedDateTime": datetime.fromtimestamp(request.time, UTC).isoformat(timespec="milliseconds"),
        "time": milliseconds,
        "request": _request(request),
        "response": _response(request),
        "cache": {},
        "timings": {"send": 0, "wait": milliseconds, "receive": 0},
    }
    if request.refused:
        entry["comment"] = f"refused by the gateway: {request.refused}"
    return entry


def _request(request: RequestRecord) -> dict[str, Any]:
    headers = request.request_headers
    data: dict[str, Any] = {
        "method": request.method,
        "url": request.url,
        "httpVersion": "HTTP/1.1",
        "cookies": [
            {"name": name, "value": value}
            for cookie in _values(headers, "cookie")
            for name, _, value in (part.strip().partition("=") for part in cookie.split(";") if part.strip())
        ],
        "headers": _named(headers),
        "queryString": _named(parse_qsl(urlsplit(request.url).query, keep_blank_values=True)),
        "headersSize": -1,
        "bodySize": request.request_bytes,
    }
    if request.request_body is not None:
        kind = next(iter(_values(headers, "content-type")), "application/octet-stream")
        text = _plain(request.request_body)
        data["postData"] = {"mimeType": kind, "params": _fields(kind, text), "text": text}
        if request.body_cut:
            data["postData"]["comment"] = f"only the beginning of {request.request_bytes} bytes was kept"
    return data


def _response(request: RequestRecord) -> dict[str, Any]:
    headers: Pairs = () if request.refused else request.response_headers
    status = NO_RESPONSE if request.refused or request.status is None else request.status
    content: dict[str, Any] = {
        "size": request.response_bytes,
        "mimeType": next(iter(_values(headers, "content-type")), "x-unknown"),
    }
    if request.response_body is not None:
        content["text"] = request.response_body
    moved = next(iter(_values(headers, "location")), "") if 300 <= status < 400 else ""
    return {
        "status": status,
        "statusText": _PHRASES.get(status, ""),
        "httpVersion": "HTTP/1.1",
        "cookies": [_cookie(value) for value in _values(headers, "set-cookie")],
        "headers": _named(headers),
        "content": content,
        "redirectURL": urljoin(request.url, moved) if moved else "",
        "headersSize": -1,
        "bodySize": request.response_bytes,
    }


def _values(pairs: Pairs, wanted: str) -> list[str]:
    return [value for name, value in pairs if name.lower() == wanted]


def _named(pairs: Pairs) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _cookie(text: str) -> dict[str, Any]:
    """Parse a Set-Cookie field; unknown attributes are dropped."""
    first, *attributes = text.split(";")
    name, _, value = first.strip().partition("=")
    cookie: dict[str, Any] = {"name": name.strip(), "value": value.strip()}
    for attribute in attributes:
        key, _, value = attribute.strip().partition("=")
        match key.lower():
            case "path" | "domain" as key:
                cookie[key] = value
            case "expires" if (seconds := http2time(value)) is not None:
                cookie["expires"] = datetime.fromtimestamp(seconds, UTC).isoformat()
            case "httponly":
                cookie["httpOnly"] = True
            case "secure":
                cookie["secure"] = True
    return cookie


def _plain(body: str) -> str:
    """Returns the body as text; bytes that are not UTF-8 become replacement characters."""
    if not body.startswith("base64:"):
        return body
    try:
        return base64.b64decode(body.removeprefix("base64:")).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return body


def _fields(kind: str, text: str) -> list[dict[str, str]]:
    if not kind.lower().startswith("application/x-www-form-urlencoded"):
        return []
    return _named(parse_qsl(text, keep_blank_values=True))
