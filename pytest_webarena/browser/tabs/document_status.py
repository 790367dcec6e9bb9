"""HTTP status of the document that a tab shows."""

from __future__ import annotations

from playwright.async_api import BrowserContext, Frame, Page, Response
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.tabs.navigation_events import EMPTY
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["DocumentStatus", "FirstStatuses", "status_of"]

_KEPT = 100
"""Maximum number of kept answers for windows that Playwright has not reported yet."""


class FirstStatuses:
    """Statuses of the first documents of new windows, which Playwright reports only after their first answer."""

    def __init__(self, context: BrowserContext) -> None:
        self._found: dict[str, int] = {}
        context.on("response", self._on_response)

    def take(self, url: str) -> int | None:
        """Return and remove the status of the last such answer from this address."""
        return self._found.pop(_bare(url), None)

    def _on_response(self, response: Response) -> None:
        try:
            request = response.request
            if not request.is_navigation_request():
                return
        except PlaywrightError:
            return
        try:
            request.frame  # noqa: B018 - raises where there is no page yet
        except PlaywrightError:
            self._found[_bare(response.url)] = response.status
            while len(self._found) > _KEPT:
                del self._found[next(iter(self._found))]


def status_of(tab: Tab) -> int | None:
    """Return the HTTP status of the document that ``tab`` shows; None if unknown."""
    status: DocumentStatus = tab.extras[DocumentStatus]
    return status.value


class DocumentStatus:
    """The HTTP status of the document that a page shows; None without an answer, or if the answer was missed."""

    def __init__(self, page: Page, first: int | None = None) -> None:
        """``first``: status of the present document."""
        self._page = page
        self._shown, self._status = _bare(page.url), first
        self._answer: tuple[str, int] | None = None
        """Address and status of the answer whose document has not been reported as shown."""
        page.on("response", self._on_response)
        page.on("framenavigated", self._on_navigated)

    @property
    def value(self) -> int | None:
        """The status, or None."""
        if self._status is None and self._answer is not None and self._answer[0] == self._shown:
            return self._answer[1]
        return self._status

    # Handlers must not raise.

    def _on_response(self, response: Response) -> None:
        try:
            request = response.request
            main = request.is_navigation_request() and request.frame == self._page.main_frame
        except PlaywrightError:
            return
        if main and response.status not in EMPTY and not 300 <= response.status < 400:
            self._answer = _bare(response.url), response.status

    def _on_navigated(self, frame: Frame) -> None:
        if frame != self._page.main_frame:
            return
        url = _bare(frame.url)
        if self._answer is not None and self._answer[0] == url:
            self._status, self._answer = self._answer[1], None
        elif not url.startswith(("http://", "https://")):
            self._status = None
        self._shown = url  # otherwise it is another place in the same document


def _bare(url: str) -> str:
    return url.partition("#")[0]
