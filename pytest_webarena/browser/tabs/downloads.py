"""Downloads of a session's pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from playwright.async_api import Download
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.messages import first_line
from pytest_webarena.browser.reports import DownloadRecord, PageEvent

__all__ = ["Downloads"]


class Downloads:
    """Receives downloads in the background, on the event loop."""

    def __init__(self, report: Callable[[PageEvent], None]) -> None:
        self._report = report
        self._receiving: set[asyncio.Task[None]] = set()
        self.records: list[DownloadRecord] = []
        """Downloads in the order in which they began."""

    def begin(self, download: Download) -> None:
        """Handle a new download of a page."""
        number = len(self.records)
        name = download.suggested_filename
        self.records.append(DownloadRecord(url=download.url, name=name, path=""))
        self._report(PageEvent(kind="download", text=f"The file {name!r} was downloaded.", url=download.url))

        async def receive() -> None:
            try:
                path, error = str(await download.path()), ""
            except PlaywrightError as failure:
                path, error = "", first_line(failure)
            self.records[number] = DownloadRecord(url=download.url, name=name, path=path, error=error)

        task = asyncio.ensure_future(receive())
        self._receiving.add(task)
        task.add_done_callback(self._receiving.discard)

    def stop(self) -> None:
        """Stop receiving, because the context is about to be closed."""
        for task in self._receiving:
            task.cancel()
