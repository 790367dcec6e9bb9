"""Requests that the machine broke off, not the site: what they spoil, and when loading the page anew mends it.

Chromium fails all requests under way with ``net::ERR_NETWORK_CHANGED`` whenever an address of the machine comes or
goes: a container starts, a virtual private network connects. A page can lose its scripts by that and look fine.
"""

from __future__ import annotations

from playwright.async_api import Request

__all__ = ["CUT", "AbortedRequests"]

CUT = "ERR_NETWORK_CHANGED"
"""How Chromium names it."""


class AbortedRequests:
    """What was broken off of the document that a tab shows."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        """Addresses of the requests that were broken off."""
        self.touched = False
        """Whether something was done on the document, which loading it anew would undo."""
        self._method = "GET"
        self._unsafe = False
        self._lost_document = False

    @property
    def mendable(self) -> bool:
        """Whether loading the document anew gives what it would have been, and repeats nothing but reading."""
        return not self.touched and not self._unsafe and self._method in ("GET", "HEAD")

    def on_document(self) -> None:
        """Another document is shown: the browser's own page about a lost one, if one was lost."""
        self.touched = self._unsafe = False
        if not self._lost_document:
            self.urls.clear()
        self._lost_document = False

    def on_request(self, request: Request) -> None:
        """A request begins."""
        if is_document(request):
            self._method = request.method

    def on_failed(self, request: Request, *, awaited: bool) -> None:
        """A request failed; why, is looked at here. ``awaited``: it may have changed what the page shows.

        A picture that a page in use did not get, or one of its polls, is not worth a trial.
        """
        if CUT not in (request.failure or "") or (self.touched and not awaited):
            return
        self.urls.append(request.url)
        self._lost_document = is_document(request)
        self._unsafe = self._unsafe or request.method not in ("GET", "HEAD", "OPTIONS")


def is_document(request: Request) -> bool:
    """Whether it asks for the document of the tab itself."""
    try:
        return request.is_navigation_request() and request.frame.parent_frame is None
    except Exception:  # a request of a service worker, or of a frame that is not there yet, has none
        return request.is_navigation_request()
