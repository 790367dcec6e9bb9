"""Records requests for which a browser got no connection. The gateway only knows their host and port."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress

from playwright.async_api import BrowserContext, Error, Request

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.log_entry import SAFE_METHODS, body_text

__all__ = ["record_refused"]

_NO_TUNNEL = re.compile(r"ERR_TUNNEL_CONNECTION_FAILED|NS_ERROR_PROXY_")
"""Errors of browsers for a refused proxy connection."""
_DESTINATIONS = {"stylesheet": "style", "image": "image", "media": "video", "font": "font", "script": "script"}
"""Values of ``Sec-Fetch-Dest`` by Playwright's type of resource."""
_LONGEST = 65_536
"""Maximum number of bytes of a body, and of characters of an address; the gateway keeps as much of a body."""


def record_refused(context: BrowserContext, now: Callable[[], float], add: Callable[[RequestRecord], None]) -> None:
    """Call ``add`` with each request of the pages in ``context`` that failed because the proxy refused the connection.

    ``now`` returns the Unix time in seconds. The record's time is that of the failure, and it has no status. Requests
    of service workers, WebSockets, and requests that a page sends while it is unloaded are not included.
    """

    def failed(request: Request) -> None:
        if request.url.startswith("https:") and _NO_TUNNEL.search(request.failure or ""):
            add(_record(request, now()))

    context.on("requestfailed", failed)


def _record(request: Request, time: float) -> RequestRecord:
    body = request.post_data_buffer
    # The browser does not report all bodies. A size of one byte without content says that there may be one.
    size = len(body) if body is not None else int(request.method not in SAFE_METHODS)
    return RequestRecord(
        time=time,
        method=request.method,
        url=request.url.partition("#")[0][:_LONGEST],
        status=None,
        request_headers=_fields(request),
        request_body=body_text((body or b"")[:_LONGEST], cut=size > _LONGEST),
        request_bytes=size,
    )


def _fields(request: Request) -> tuple[tuple[str, str], ...]:
    """Return the request's fields, with the purpose that the browser states only once it is connected."""
    fields = {name.lower(): value for name, value in request.headers.items()}
    if request.resource_type == "document":
        purpose = "document"
        with suppress(Error):  # a tab's first page has no frame yet
            purpose = "document" if request.frame.parent_frame is None else "iframe"
    else:
        purpose = _DESTINATIONS.get(request.resource_type, "empty")
    return tuple(({"sec-fetch-dest": purpose} | fields).items())
