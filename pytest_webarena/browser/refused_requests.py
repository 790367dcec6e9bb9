"""Requests for which a browser got no connection: the gateway knows no more of them than host and port."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.async_api import BrowserContext, Request

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.log_entry import SAFE_METHODS, body_text

__all__ = ["record_refused"]

_NO_TUNNEL = re.compile(r"ERR_TUNNEL_CONNECTION_FAILED|NS_ERROR_PROXY_")
"""How browsers say that their proxy did not connect them."""
_LONGEST = 65_536
"""Bytes of a body, and characters of an address, that are kept: as much as the gateway keeps of a body."""


def record_refused(context: BrowserContext, now: Callable[[], float], add: Callable[[RequestRecord], None]) -> None:
    """Call ``add`` with each request of the pages in ``context`` that failed because the proxy refused the connection.

    ``now`` gives the Unix time in seconds. The record's time is when the failure became known, and it has no status.
    Not among them are requests of service workers, WebSockets, and what a page sends while it is left.
    """

    def failed(request: Request) -> None:
        if request.url.startswith("https:") and _NO_TUNNEL.search(request.failure or ""):
            add(_record(request, now()))

    context.on("requestfailed", failed)


def _record(request: Request, time: float) -> RequestRecord:
    body = request.post_data_buffer
    # The browser does not tell all bodies. One byte that is not kept says that there may be one.
    size = len(body) if body is not None else int(request.method not in SAFE_METHODS)
    return RequestRecord(
        time=time,
        method=request.method,
        url=request.url.partition("#")[0][:_LONGEST],
        status=None,
        request_headers=tuple(request.headers.items()),
        request_body=body_text((body or b"")[:_LONGEST], cut=size > _LONGEST),
        request_bytes=size,
    )
