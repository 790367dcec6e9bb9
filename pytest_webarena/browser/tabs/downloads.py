"""Downloads of a session's pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from playwright.async_api import Download
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.file_texts import FileText, read_file
from pytest_webarena.browser.messages import first_line
from pytest_webarena.browser.reports import DownloadRecord, PageEvent

__all__ = ["Downloads"]

_NOTICE = 60
"""Characters of the notice after a text that is cut at the limit."""


class Downloads:
    """Receives downloads in the background, on the event loop, and reports them in order with their text.

    ``most``: maximum number of characters of the files of one report.
    """

    def __init__(self, report: Callable[[PageEvent], None], most: int) -> None:
        self._report, self._most = report, most
        self._receiving: list[asyncio.Task[FileText]] = []
        self._reported: set[int] = set()
        self._awaited: set[int] = set()
        self.records: list[DownloadRecord] = []
        """Downloads in the order in which they began."""

    def begin(self, download: Download) -> None:
        """Handle a new download of a page."""
        number = len(self.records)
        name = download.suggested_filename
        self.records.append(DownloadRecord(url=download.url, name=name, path=""))

        async def receive() -> FileText:
            try:
                path, error = str(await download.path()), ""
            except PlaywrightError as failure:
                path, error = "", first_line(failure)
            self.records[number] = DownloadRecord(url=download.url, name=name, path=path, error=error)
            try:
                return await read_file(Path(path), self._most) if path and self._most else FileText()
            except OSError as failure:
                return FileText(missing=f"It can't be read: {failure.strerror}.")

        self._receiving.append(asyncio.ensure_future(receive()))

    async def report(self, seconds: float) -> None:
        """Report downloads since the last call. Each is awaited once, all together for at most ``seconds``."""
        new = [task for number, task in enumerate(self._receiving) if number not in self._awaited]
        if new and any(not task.done() for task in new):
            await asyncio.wait(new, timeout=seconds)
        left = self._most
        for number, task in enumerate(self._receiving):
            if number in self._reported:
                continue
            record = self.records[number]
            if task.done():
                self._reported.add(number)
                text = FileText() if task.cancelled() else task.result()
                note = _note(record, text, left)
                left = max(0, left - len(text.text))
            elif number not in self._awaited:
                note = f"The file {record.name!r} is still being downloaded."
            else:
                continue
            self._report(PageEvent(kind="download", text=note, url=record.url))
        self._awaited.update(range(len(self._receiving)))

    def stop(self) -> None:
        """Stop receiving, because the context is about to be closed."""
        for task in self._receiving:
            task.cancel()


def _note(record: DownloadRecord, file: FileText, left: int) -> str:
    if record.error:
        return f"The file {record.name!r} was not downloaded: {record.error}."
    note = f"The file {record.name!r} was downloaded"
    if record.url.startswith("http"):
        note += f" from {record.url}"
    if not file.text:
        return f"{note}. {file.missing}".rstrip()
    if len(file.text) > left + _NOTICE:
        return f"{note} ({file.about}). It is not printed, because other files took up the limit."
    return f"{note} ({file.about}). Its text:\n{file.text}"
