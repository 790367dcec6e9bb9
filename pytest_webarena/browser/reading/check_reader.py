"""Reader of a session for checks: its tabs as the agent left them, and addresses in pages of the harness's own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.faults import DialogBlocks, PageCrashed, ScriptFailed, TabClosed, Unreadable, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.reading.isolated import evaluate_isolated
from pytest_webarena.browser.reading.own_pages import OwnPages, open_own_pages, read_storage_state
from pytest_webarena.browser.reading.page_reading import UNREADABLE, read_address, read_tab
from pytest_webarena.browser.reports import PageReading
from pytest_webarena.browser.snapshotting import states_of
from pytest_webarena.browser.tabs.document_status import status_of
from pytest_webarena.browser.tabs.navigation_lock import keeps_navigating, navigation_locked
from pytest_webarena.browser.tabs.recovery import make_readable
from pytest_webarena.browser.tabs.settle import settle
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.browser.tabs.tabs import Tabs
from pytest_webarena.errors import PageUnusable
from pytest_webarena.evidence import TabState

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine

__all__ = ["CheckReader"]

_READINGS = 4
"""Maximum number of times that the current page is read until one reading is complete."""
_IS_PARSED = "() => document.readyState !== 'loading'"
_INCOMPLETE = "had not loaded completely"
_PARSED_SECONDS = 0.5
"""Seconds for a page to report whether it is parsed; one that does not is read as it is."""
_CALMING = 2.0
"""Seconds that an unreadable page may stay busy at the end before it is stopped."""


class CheckReader:
    """Reads pages for one session, on its loop and within its call order."""

    def __init__(self, engine: BrowserEngine, config: SessionConfig, context: BrowserContext, tabs: Tabs) -> None:
        self._engine = engine
        self._config = config
        self._limits = config.deadlines
        self._context = context
        self._tabs = tabs
        self.shares_context = False
        """Whether the harness's own context stays open from one address to the next."""
        self.keeps_page = False
        """Whether the last page that was read stays open in it."""
        self.cookies_override: Sequence[Mapping[str, Any]] | None = None
        """Cookies for the harness's own visits until they have a context; None: the agent's."""
        self.storage_override: Mapping[str, Any] | None = None
        """Storage state for the harness's own context; None: that of the agent's context."""
        self.keeps_received = False
        """Whether `received` and `bodies` are kept, which costs a request to the browser for each response."""
        self.received: list[str] = []
        """Values of ``Set-Cookie`` that the harness's own visits have received."""
        self.bodies: list[str] = []
        """Bodies of the pages that they opened, and of responses to scripts of these."""
        self._own: OwnPages | None = None
        self._over = False
        """Whether the final state of the tabs was read."""
        self._hidden: tuple[Tab, str] | None = None
        """The tab that could not be read in the final state, and why."""
        self._known: Mapping[str, Any] = config.storage_state or {}
        """Storage state of the agent's context when it was last read; used if it can't be read any more."""

    async def close_own_with_state(self) -> dict[str, Any]:
        """Close the harness's own pages and return their storage state; without any, return the agent's."""
        return await self._own.leave() if self._own is not None else {**await self._context.storage_state()}

    @property
    def own_context(self) -> BrowserContext | None:
        """The harness's own context, while it is open."""
        return self._own.context if self._own is not None else None

    async def states(self) -> tuple[TabState, ...]:
        """Return all tabs at the end of an episode; stop a current page that can't be read otherwise."""
        self._over = True
        for tab in self._tabs:
            await tab.dialogs.answer(accept=False)
            tab.dialogs.drain(accept=False)
        tab = self._tabs.current
        self._hidden = (tab, reason) if (reason := await make_readable(tab, seconds=self._limits.hang)) else None
        shown = [tab.document for tab in self._tabs]
        states = await states_of(self._tabs, seconds=self._limits.hang)
        changed = [
            tab
            for tab, document in zip(self._tabs, shown, strict=False)
            if tab.document != document or tab.is_navigating() or not await self._parsed(tab)
        ]
        if not changed:
            return states
        async with contextlib.AsyncExitStack() as locks:
            for tab in changed:
                await locks.enter_async_context(self._locked(tab))
            states = await states_of(self._tabs, seconds=self._limits.hang)
            if not all(state.html for state in states):  # a document that was still loading has arrived
                states = await states_of(self._tabs, seconds=self._limits.hang)
            return states

    async def _parsed(self, tab: Tab) -> bool:
        """Return whether the document is completely parsed; also True if the page does not answer."""
        try:
            seconds = min(self._limits.hang, _PARSED_SECONDS)  # a blocked page gets more time when it is read
            return bool(
                await evaluate_isolated(tab, _IS_PARSED, seconds=seconds, what="checking whether a document is loaded")
            )
        except (DialogBlocks, PageCrashed, TabClosed, Unresponsive):
            return True
        except (PlaywrightError, ScriptFailed):
            return False  # it has just navigated

    @contextlib.asynccontextmanager
    async def _locked(self, tab: Tab) -> AsyncIterator[None]:
        """Lock navigation in ``tab`` within the block, so that a page that keeps navigating stays at one document."""
        async with navigation_locked(tab):
            with contextlib.suppress(DialogBlocks, PageCrashed, PlaywrightError, TabClosed, Unresponsive):
                await settle(tab, self._limits, Deadline(self._limits.hang))
            yield

    async def read(self, open: str | None, locate: str | None, prepare: tuple[str, ...], *, late: bool) -> PageReading:
        """Read the current tab, or an address in a page of the harness's own; see `Session.read_page`."""
        if open is None:
            return await self._read_current(locate, prepare, late=late and self._over)
        base_url = self._tabs.current.url if len(self._tabs) else ""
        try:
            tabs = (self._own or await self._open_own()).tabs
            return await read_address(
                tabs, open, base_url, locate, prepare, self._limits, late=late, keep=self.keeps_page
            )
        finally:
            if not self.shares_context:
                await self.close_own()
            elif self._own is not None:
                await self._own.finish_reads()  # before its page is closed by the next reading

    async def _read_current(self, locate: str | None, prepare: tuple[str, ...], *, late: bool) -> PageReading:
        """Read the agent's page. If that fails, the reading contains the reason, because the page is the cause."""
        tab, reason = self._tabs.current, ""
        if self._hidden is not None and self._hidden[0] is tab:
            return PageReading(url=tab.url, status=None, texts=(), hidden=self._hidden[1])
        navigated, first = False, tab.document
        for attempt in range(_READINGS):
            document = tab.document
            try:
                async with self._locked(tab) if navigated else contextlib.nullcontext():
                    parsed = not self._over or await self._parsed(tab)
                    deadline = Deadline(self._limits.step)
                    reading = await read_tab(
                        tab, locate, prepare, self._limits, deadline, status=status_of(tab), late=late
                    )
                    parsed = parsed and (not self._over or await self._parsed(tab))  # it may be another document by now
                # If it is, parts of two documents were read, or one that had hardly arrived.
                navigated = self._over and (keeps_navigating(tab, document) if prepare else tab.document != document)
                if not navigated and parsed:
                    return reading
                if not navigated and attempt and tab.document == first:  # the document does not navigate, but is slow
                    return replace(reading, waiting=reading.waiting or _INCOMPLETE)
                reason, navigated = "it keeps navigating", True
                continue
            except DialogBlocks:
                reason = f"a dialog is open: {tab.dialogs.describe() or 'it has just been answered'}"
            except Unreadable as failure:
                reason = f"{UNREADABLE}: {failure}"
            except PlaywrightError:
                if not self._over or not (tab.document != document or tab.is_navigating()):
                    raise
                reason, navigated = "it keeps navigating", True
                continue
            except Unresponsive as failure:
                if not self._over and self._tabs.recovers_pages:
                    raise PageUnusable(f"a check reads {tab.url}: {failure}") from failure
                navigated = keeps_navigating(tab, document)
                reason = "it keeps navigating" if navigated else "it ran scripts without end"
            if attempt or not self._over:
                break
            if not navigated:
                await make_readable(tab, seconds=_CALMING)
        return PageReading(url=tab.url, status=None, texts=(), hidden=reason)

    async def _open_own(self) -> OwnPages:
        if self.storage_override is None:
            self._known = await read_storage_state(self._context, self._known, seconds=self._limits.hang)
        known = self._known if self.storage_override is None else self.storage_override
        jar = self.cookies_override if self.cookies_override is not None else known.get("cookies", ())
        self._own = await open_own_pages(self._engine, self._config, {**known, "cookies": jar})
        if self.keeps_received:
            self._own.keep_received()
        return self._own

    async def cookies(self) -> list[Mapping[str, Any]]:
        """Return the present cookies of the harness's own visits."""
        if self._own is None and self.cookies_override is not None:
            return list(self.cookies_override)
        context = self.own_context or self._context
        return [dict(cookie) for cookie in await context.cookies()]

    async def keep_cookies(self, cookies: Sequence[Mapping[str, Any]]) -> None:
        """Continue with these cookies while the harness's own context is shared."""
        if self._own is not None:
            await self._own.take(cookies)
        elif self.shares_context:
            self.cookies_override = cookies

    async def close_own(self) -> None:
        """Close the harness's own context, if it is open."""
        own, self._own = self._own, None
        if own is not None:
            await own.finish_reads()
            self.received += own.received
            self.bodies += own.bodies
            await own.close()
