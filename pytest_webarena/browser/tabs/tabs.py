"""Tabs of a session: the list, the current tab, and tabs that pages open and close."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from playwright.async_api import BrowserContext, Dialog, Download, FileChooser, Page
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.acting.uploads import list_uploads
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.faults import PageCrashed, TabClosed, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import first_line
from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.browser.signal_log import SignalLog
from pytest_webarena.browser.tabs.dialogs import Dialogs
from pytest_webarena.browser.tabs.document_status import DocumentStatus, FirstStatuses
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.errors import BrowserError
from pytest_webarena.signals import AddressCause
from pytest_webarena.text import shorten

__all__ = ["Tabs"]


class Tabs:
    """Tabs in the order in which they were opened. A pop-up becomes current; if a tab closes, the last one does."""

    def __init__(
        self,
        context: BrowserContext,
        config: SessionConfig,
        report: Callable[[PageEvent], None],
        on_download: Callable[[Download], None],
        signals: SignalLog | None = None,
        *,
        recovers_pages: bool = True,
    ) -> None:
        self._context = context
        self._config = config
        self._report = report
        self._on_download = on_download
        self._signals = signals if signals is not None else SignalLog()  # for pages whose signals are not used
        self.recovers_pages = recovers_pages
        """Whether pages that do not answer are closed. Pages on which another program acts stay unchanged."""
        self._tabs: list[Tab] = []
        self._popups: list[Tab] = []
        self._current: Tab | None = None
        self._first_statuses = FirstStatuses(context)
        context.on("page", self._on_page)
        context.on("dialog", self._on_dialog)

    def __iter__(self) -> Iterator[Tab]:
        return iter(self._tabs)

    def __len__(self) -> int:
        return len(self._tabs)

    @property
    def current(self) -> Tab:
        """The tab on which actions are performed. Call `sync` first."""
        assert self._current is not None
        return self._current

    @property
    def uploads(self) -> Mapping[str, Path]:
        """Files that may be uploaded, by the names that an agent uses."""
        return self._config.uploads

    def index(self, tab: Tab) -> int:
        """Return its number, from 0; 0 for a closed tab."""
        return self._tabs.index(tab) if tab in self._tabs else 0

    async def sync(self) -> None:
        """Process tabs that have opened and closed since; afterwards the current tab is ready for use."""
        popups, self._popups = self._popups, []
        for popup in popups:
            if popup in self._tabs and not popup.closed:
                self._report(
                    PageEvent(kind="popup", text=f"The page opened a new tab: {shorten(popup.url)}.", url=popup.url)
                )
                self._current = popup
        closed = self._current is not None and self._current.closed
        if closed and self._current in self._tabs:
            self._report(PageEvent(kind="tab_closed", text="The current tab was closed by its page."))
        self._tabs = [tab for tab in self._tabs if not tab.closed]
        if self._current is None or closed:
            self._current = self._tabs[-1] if self._tabs else await self.open()
        try:
            await self._current.attach(self._config.deadlines.context)
        except TabClosed:
            await self.sync()
        except Unresponsive:
            if not self.recovers_pages:
                return
            self._report(PageEvent(kind="tab_closed", text="A new tab did not respond and was closed."))
            await self._close_page(self._current)
            self._tabs.remove(self._current)
            await self.sync()

    async def wait_until_ready(self, target: str, seconds: float) -> None:
        """Wait until the tab with this protocol id exists with its listeners: another program will act on it."""
        limit = Deadline(seconds)
        while not limit.over and not any(tab.is_observable and tab.frame_id == target for tab in self._tabs):
            for tab in self._tabs:
                if not tab.closed and not tab.is_observable:
                    with contextlib.suppress(BrowserError, PageCrashed, TabClosed, Unresponsive):
                        await tab.run(tab.attach(seconds), limit.left(), "opening a tab", despite_dialog=True)
            if self._current is None or self._current.closed:
                return
            await self._current.wait_for_activity(limit.left(0.05))

    async def open(self, *, current: bool = True) -> Tab:
        """Open an empty tab."""
        tab = await self._new_page()
        if current:
            self._current = tab
        return tab

    def focus(self, index: int) -> None:
        """Make the tab with that number current."""
        self._current = self._tabs[index]

    async def close(self, tab: Tab) -> None:
        """Close a tab; if it was current, the last one or a new empty one becomes current."""
        await self._close_page(tab, logged=True)
        self._tabs = [each for each in self._tabs if each is not tab]
        if self._current is tab:
            self._current = self._tabs[-1] if self._tabs else await self.open()

    async def close_all_but(self, keep: list[Tab]) -> None:
        """Close every tab that is not in ``keep``; the first of those becomes current."""
        for tab in [each for each in self._tabs if each not in keep]:
            await self._close_page(tab)
        self._tabs, self._current = list(keep), keep[0]

    def suppress_close_events(self) -> None:
        """Note that the tabs are closed with the session, so that their end is not logged."""
        for tab in self._tabs:
            tab.signals.is_closed_by_harness = True

    async def close_all(self) -> None:
        """Close every tab; there is none until the next one is opened."""
        tabs, self._tabs, self._popups, self._current = self._tabs, [], [], None
        for tab in tabs:
            await self._close_page(tab)

    async def replace(self, tab: Tab) -> None:
        """Replace a tab that can't be recovered by an empty one."""
        fresh = await self._new_page()
        self._tabs.remove(fresh)
        place = self.index(tab)
        self._tabs = [each for each in self._tabs if each is not tab]
        self._tabs.insert(place, fresh)
        if self._current is tab:
            self._current = fresh
        await self._close_page(tab)

    async def wait_for_opened(self, tab: Tab, seconds: float) -> None:
        """Wait for windows and file dialogs that ``tab`` has opened.

        Playwright reports a window when its page begins to arrive, and a file dialog when it has a handle of the field.
        """
        limit = Deadline(seconds)
        while (tab.popups_expected or tab.file_dialogs_expected) and not limit.over and not tab.closed:
            await tab.wait_for_activity(limit.left())
        tab.popups_expected = tab.file_dialogs_expected = 0

    async def _new_page(self) -> Tab:
        seconds = self._config.deadlines.context
        limit = Deadline(seconds)
        try:
            async with asyncio.timeout(seconds):
                page = await self._context.new_page()
        except TimeoutError as error:
            raise BrowserError(f"no new tab could be opened within {seconds:g} s") from error
        except PlaywrightError as error:
            if "closed" in str(error):  # only the harness closes contexts
                raise BrowserError("the browser crashed or was killed") from error
            raise BrowserError(f"no new tab could be opened: {first_line(error)}") from error
        tab = next((each for each in self._tabs if each.page is page or each.page == page), None)
        if tab is None:
            tab = self._register(page)
        self._popups = [each for each in self._popups if each is not tab]
        await tab.attach(limit.left())
        return tab

    async def _close_page(self, tab: Tab, *, logged: bool = False) -> None:
        """Close a page. ``logged``: whether to log it, because the agent wanted it."""
        tab.signals.is_closed_by_harness, tab.signals.by_page = not logged, False
        try:
            await tab.run(tab.page.close(), self._config.deadlines.close, "closing a tab", despite_dialog=True)
        except (TabClosed, PageCrashed, PlaywrightError):
            pass  # it is already closed
        except Unresponsive as error:
            raise BrowserError("a tab could not be closed: the browser no longer answers") from error

    def _register(self, page: Page, cause: AddressCause = "") -> Tab:
        signals = self._signals.of_tab(cause)
        dialogs = Dialogs(self._config.dialogs, self._report, signals)
        tab = Tab(page, dialogs, self._report, signals)
        tab.extras[DocumentStatus] = DocumentStatus(page, self._first_statuses.take(page.url))
        page.on("download", self._on_download)
        # With a listener, the system's own file dialog, which nothing could answer, does not open.
        page.on("filechooser", lambda chooser: self._on_file_dialog(tab, chooser))
        self._tabs.append(tab)
        tab.start_attaching(self._config.deadlines.context)
        return tab

    # Handlers of Playwright events must not raise.

    def _on_page(self, page: Page) -> None:
        cause: AddressCause = "page" if any(tab.popups_expected for tab in self._tabs) else "browser"
        for tab in self._tabs:
            tab.popups_expected = max(0, tab.popups_expected - 1)
        if len(self._tabs) >= self._config.max_tabs:
            text = f"The page tried to open more than {self._config.max_tabs} tabs; the last one was closed."
            self._report(PageEvent(kind="refused", text=text, url=page.url))
            self._tabs[0].in_background(page.close())
        else:
            popup = self._register(page, cause)
            self._popups.append(popup)
        for tab in self._tabs:
            tab.notify_change()

    def _on_file_dialog(self, tab: Tab, chooser: FileChooser) -> None:
        tab.file_dialog = chooser
        tab.file_dialogs_expected = max(0, tab.file_dialogs_expected - 1)
        text = f"The page opened a dialog to choose a file. {list_uploads(self._config.uploads)}"
        self._report(PageEvent(kind="file_dialog", text=text, url=tab.url))
        tab.notify_change()

    def _on_dialog(self, dialog: Dialog) -> None:
        page = dialog.page
        for tab in self._tabs:
            if tab.page == page:
                tab.dialogs.on_dialog(dialog)
                return
        # The page is still being opened, or is being closed, so that nothing can read it.
        Dialogs("accept", lambda event: None, SignalLog().of_tab()).on_dialog(dialog)
