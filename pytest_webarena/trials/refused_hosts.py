"""Finds the hosts that pages of a trial's sites needed and the gateway refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin, urlsplit

from pytest_webarena.gateway.archive_misses import is_browser_service, resource_kind
from pytest_webarena.results.refused_hosts import Key, RefusedHost
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.evidence import RequestRecord

__all__ = ["refused_hosts"]

_LISTED = 50
"""Maximum number of hosts of one trial, because pages can invent any number."""


def refused_hosts(requests: Sequence[RequestRecord]) -> dict[str, RefusedHost]:
    """Return what pages needed of other hosts and did not get, by host, with the port if that is not the default.

    Addresses that the agent opened itself, links that it followed and requests of the browser's own services are left
    out: no page is incomplete without them.
    """
    found: dict[str, RefusedHost] = {}
    senders: set[str] = set()
    for request in requests:
        senders.update(_targets(request))
        key = _key_for(request, sent_on=urldefrag(request.url).url in senders)
        if key is None:
            continue
        parts = urlsplit(request.url)
        host = parts.netloc.rpartition("@")[2]
        if host not in found and len(found) >= _LISTED:
            continue
        example = shorten(f"{request.method} {parts.scheme}://{host}{parts.path}", 150)
        known = found.setdefault(host, RefusedHost(keys=[], example=example, why=request.refused))
        if key not in known["keys"]:
            known["keys"].append(key)
    return found


def _key_for(request: RequestRecord, *, sent_on: bool) -> Key | None:
    """Return what would allow a refused request; None if it was not refused, or if no page needs its answer.

    ``sent_on``: whether a page redirected to its address.
    """
    fields = [f"{name}: {value}" for name, value in request.request_headers]
    if not request.refused or request.intercepted or request.method in ("", "CONNECT", "OPTIONS"):
        return None
    if is_browser_service(fields):
        return None
    if resource_kind(request.method, fields) == "page":
        return "sign_in_hosts" if sent_on or request.method == "POST" else None
    return "loads" if request.method == "GET" and not _is_websocket(request) else "site"


def _is_websocket(request: RequestRecord) -> bool:
    return any(name.lower() == "upgrade" and "websocket" in value.lower() for name, value in request.request_headers)


def _targets(request: RequestRecord) -> Iterator[str]:
    """Yield the address to which the answer to a request redirects."""
    if request.status is not None and 300 <= request.status < 400:
        for name, value in request.response_headers:
            if name.lower() == "location":
                yield urldefrag(urljoin(request.url, value)).url
