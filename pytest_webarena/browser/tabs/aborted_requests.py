"""Requests that were aborted by a change of the machine's network, and whether a reload repairs the page.

Chromium fails all pending requests with ``net::ERR_NETWORK_CHANGED`` whenever an address of the machine is added or
removed: a container starts, a virtual private network connects. A page can lose its scripts by that and look intact.
"""

from __future__ import annotations

from playwright.async_api import Request

__all__ = ["ABORTED", "AbortedRequests"]

ABORTED = "ERR_NETWORK_CHANGED"
"""Chromium's name of the error."""


class AbortedRequests:
    """Aborted requests of the document in a tab."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        """Addresses of the aborted requests."""
        self.was_acted_on = False
        """Whether the document was acted on, which a reload would undo."""
        self._method = "GET"
        self._has_writes = False
        self._lost_document = False

    @property
    def can_reload(self) -> bool:
        """Whether a reload restores the document and repeats only reads."""
        return not self.was_acted_on and not self._has_writes and self._method in ("GET", "HEAD")

    def on_document(self) -> None:
        """Note that another document is shown, which is the browser's own error page if a document was lost."""
        self.was_acted_on = self._has_writes = False
        if not self._lost_document:
            self.urls.clear()
        self._lost_document = False

    def on_request(self, request: Request) -> None:
        """Note that a request begins."""
        if is_document(request):
            self._method = request.method

    def on_failed(self, request: Request, *, awaited: bool) -> None:
        """Record a failed request if it was aborted. ``awaited``: it may have changed what the page shows.

        An image that a page in use did not receive, or one of its polls, is ignored, because it should not fail a
        trial.
        """
        if ABORTED not in (request.failure or "") or (self.was_acted_on and not awaited):
            return
        self.urls.append(request.url)
        self._lost_document = is_document(request)
        self._has_writes = self._has_writes or request.method not in ("GET", "HEAD", "OPTIONS")


def is_document(request: Request) -> bool:
    """Return whether the request is for the document of the tab itself."""
    try:
        return request.is_navigation_request() and request.frame.parent_frame is None
    except Exception:  # requests of service workers and of new frames have no frame
        return request.is_navigation_request()
