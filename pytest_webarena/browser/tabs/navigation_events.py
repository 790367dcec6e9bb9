"""Detects navigations of a page by Playwright's events, for browsers without a protocol session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from playwright.async_api import Frame, Page, Request, Response

from pytest_webarena.browser.tabs.aborted_requests import is_document

__all__ = ["EMPTY", "Navigations"]

_GRACE = 1.0
"""Seconds for a document to appear after its answer has arrived; after that, there is none."""
EMPTY = (204, 205)
"""Statuses that leave the page unchanged."""


class Navigations:
    """Reports when a navigation of the page itself begins, when it is over, and when another document is shown.

    ``started`` receives the address. ``over`` is also called for navigations without a document (an empty answer, a
    download, an aborted one). ``shown`` receives the address, and whether it is another document instead of another
    place in the same one.
    """

    def __init__(
        self,
        page: Page,
        *,
        on_start: Callable[[str], None],
        on_end: Callable[[], None],
        on_shown: Callable[[str, bool], None],
    ) -> None:
        self._page = page
        self._on_start, self._on_end, self._on_shown = on_start, on_end, on_shown
        self._request: Request | None = None
        self._url = page.url
        page.on("request", self._on_request)
        page.on("response", self._on_response)
        page.on("requestfinished", self._on_finished)
        page.on("requestfailed", self._on_failed)
        page.on("download", lambda _: self._end())
        page.on("framenavigated", self._on_navigated)

    # Handlers must not raise.

    def _on_request(self, request: Request) -> None:
        if is_document(request):
            self._request = request
            self._on_start(request.url)

    def _on_response(self, response: Response) -> None:
        if response.request is self._request and response.status in EMPTY:
            self._end()

    def _on_finished(self, request: Request) -> None:
        if request is self._request:
            asyncio.get_running_loop().call_later(_GRACE, self._on_failed, request)

    def _on_failed(self, request: Request) -> None:
        if request is self._request:
            self._end()

    def _on_navigated(self, frame: Frame) -> None:
        if frame != self._page.main_frame:
            return
        before, self._url = self._url, frame.url
        # Scripts that only change the address request no document and stay on the site.
        another = self._request is not None or not (_is_web(before) and _is_web(frame.url))
        self._request = None
        self._on_shown(frame.url, another)

    def _end(self) -> None:
        self._request = None
        self._on_end()


def _is_web(url: str) -> bool:
    return url.startswith(("http://", "https://"))
