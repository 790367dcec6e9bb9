"""One trial's browser context for synchronous callers: open, observe, act, read. Every call has a timeout."""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pytest_webarena.actions import Action
from pytest_webarena.browser.config import Deadlines, ObservationConfig, SessionConfig
from pytest_webarena.browser.faults import DialogBlocks, TabClosed, Unresponsive
from pytest_webarena.browser.loop import closing_unstarted
from pytest_webarena.browser.neighbours import find_neighbour
from pytest_webarena.browser.observation import Observation
from pytest_webarena.browser.remote_input import RemoteInput
from pytest_webarena.browser.reports import (
    AdjacentControl,
    DownloadRecord,
    Outcome,
    PageEvent,
    PageReading,
    SelectorMatch,
)
from pytest_webarena.browser.session_work import SessionWork
from pytest_webarena.errors import BrowserError
from pytest_webarena.evidence import TabState, TargetRecord

__all__ = [
    "Deadlines",
    "DownloadRecord",
    "ObservationConfig",
    "Outcome",
    "PageEvent",
    "PageReading",
    "Session",
    "SessionConfig",
]

T = TypeVar("T")


class Session(SessionWork):
    """One trial's browser context, made by `BrowserEngine.session`. Thread-safe: concurrent calls wait for each other.

    Raises `BrowserError` if the browser or the page's process crashed or stopped answering for good. Events that a page
    causes (dialogs, pop-ups, downloads, endless scripts, closing itself) are handled and reported to the agent instead.
    """

    @property
    def config(self) -> SessionConfig:
        """The configuration of the session."""
        return self._config

    @property
    def records_screenshots(self) -> bool:
        """Whether the trial's record contains screenshots."""
        return self._config.record_screenshots

    @property
    def environment(self) -> dict[str, Any]:
        """Environment of the trial's pages for its record: operating system, browser, and all settings that matter."""
        return {"os": platform.platform(), "browser": self.browser_version, **self._config.to_plain()}

    @property
    def browser_version(self) -> str:
        """Name and version of the browser."""
        return self._engine.version

    @property
    def address(self) -> str:
        """Address of the current tab, as far as known without asking the page."""
        return self._tabs.current.url

    def open_tabs(self, urls: Sequence[str]) -> None:
        """Load ``urls``, one tab each, as the only tabs; the first is current. `SiteError` if one can't be loaded."""
        self._call(self._open_tabs(urls), self._limits.step * max(1, len(urls)), "opening the first pages")

    def observe(self) -> Observation:
        """Return what the agent sees now, without changing pages; `Observation.notes` has the events since the last."""
        return self._call(self._observe(), self._limits.step, "observing the page")

    def observe_without_page(self) -> Observation:
        """Return what is known of the current tab without asking its page, which is blocked while a dialog is open.

        These are the tabs, the address and the dialog. Events stay for the next `observe`.
        """
        return self._call(self._observe_without_page(), self._limits.step, "looking at a dialog")

    def execute(self, action: Action) -> Outcome:
        """Perform ``action`` and wait until the page has processed it. ``Outcome.error`` says what failed."""
        return self._call(self._execute(action), self._limits.step, f"executing {action.kind}")

    def note_error(self, text: str) -> None:
        """Set the error of the next observation, for actions that never reached the session."""
        self._error = text

    def follow(self, target: str) -> str:
        """Make the tab with this protocol id current, because an agent that drives the browser acts on it.

        An empty id leaves the current tab, which is only looked at. Returns the address of the current tab.
        """
        return self._call(self._follow(target), self._limits.step, "looking for a tab")

    def element_at(self, x: float, y: float) -> TargetRecord | None:
        """Return the element at a point of the current tab's viewport, in CSS pixels; None if there is none."""
        return self._call(self._element_at(x, y), self._limits.step, "looking at a point of the page")

    def focused_element(self) -> TargetRecord | None:
        """Return the element with the keyboard focus in the current tab's main document; None if there is none."""
        return self._call(self._focused(), self._limits.step, "looking for the focused element")

    def sweep_fields(self) -> None:
        """Search the current tab's fields for values that no event has reported, which become signals
        (`DomEvent.by_script`)."""
        self._call(self._sweep_fields(), self._limits.step, "looking at fields")

    def element_of(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        """Return the first match of a Playwright selector in the current tab, without touching it; None if there is
        none within ``patience`` seconds."""
        return self._call(self._element_of(selector, patience), self._limits.step, "looking for an element")

    def find_matches(self, selectors: Sequence[str]) -> tuple[SelectorMatch, ...]:
        """Return the current matches of each Playwright selector in the current tab, without waiting or touching them;
        no matches if the page does not answer."""
        return self._call(self._find_matches(selectors), self._limits.step, "looking for elements")

    def find_neighbour(self, selector: str) -> AdjacentControl | None:
        """Return the neighbours of the first match of a Playwright selector in the current tab; None if there is no
        match in time. Nothing is touched."""
        return self._call(self._find_neighbour(selector), self._limits.step, "looking at neighbours")

    def screenshot(self) -> bytes:
        """Return the current viewport as JPEG; empty while a native dialog is open, which blocks painting."""
        return self._call(self._screenshot(), self._limits.step, "taking a screenshot")

    def html(self) -> str:
        """Return the current page's serialised DOM; empty if it does not answer, or a native dialog blocks it."""
        return self._call(self._html(), self._limits.step, "reading the page")

    def tabs(self) -> tuple[TabState, ...]:
        """Return all tabs with their serialised DOM, which is empty if a page does not answer.

        This is for the end of an episode: dialogs are dismissed from then on. A current page with endless dialogs or an
        endless script is stopped, because it can't be read otherwise.
        """
        return self._call(self._states(), self._limits.step, "reading the tabs")

    def read_page(
        self, *, open: str | None, locate: str | None, prepare: Sequence[str] = (), late: bool = False
    ) -> PageReading:
        """Read the current tab, or an address in a page of the harness's own, as the same visitor.

        The agent's tabs and their content are not changed.

        Args:
            open: The address; None: the current tab.
            locate: A Playwright selector, ``js=`` and an expression, or None for the whole page.
            prepare: JavaScript sources that run before.
            late: Whether the content is forbidden; a page that may still show it gets a moment more.

        Raises:
            TaskError: The selector is invalid.
            SiteError: The address can't be loaded.
        """
        reading = self._read(open, locate, tuple(prepare), late)
        limits = self._limits
        seconds = 2 * (limits.step + limits.navigation)
        if open is not None:  # its context, and for that another browser, may have to be opened first
            seconds += 3 * (limits.context + limits.hang) + 2 * self._engine.config.deadlines.launch
        return self._call(reading, seconds, "reading a page")

    @contextmanager
    def own_pages(
        self,
        *,
        keep: bool = False,
        state: Mapping[str, Any] | None = None,
        cookies: Sequence[Mapping[str, Any]] | None = None,
    ) -> Iterator[None]:
        """Share one context among the pages that `read_page` opens within the block.

        The context is made with the first page. It has one copy of the agent's cookies and storage, and is one visitor.
        Outside of a block, each page has a context of its own. After a nested block, the outer one continues with the
        cookies that it had.

        Args:
            keep: Whether a page stays open until the next one, the block's end, or `storage_state`, which then reads
                the site's storage there; else it needs one more page.
            state: Storage state to use instead of that of the agent's context.
            cookies: Cookies to use instead of those of the agent's context.
        """
        reader = self._reader
        before = reader.shares_context, reader.keeps_page, reader.storage_override
        jar = self.own_cookies() if reader.shares_context else None
        if state is not None:
            reader.storage_override, cookies = state, state.get("cookies", ())
        if reader.shares_context or cookies is not None:
            self._close_own()
        reader.shares_context, reader.keeps_page = True, keep
        reader.cookies_override = list(cookies) if cookies is not None else jar
        try:
            yield
        finally:
            reader.shares_context, reader.keeps_page, reader.storage_override = before
            reader.cookies_override = jar
            self._close_own()

    def _close_own(self) -> None:
        with contextlib.suppress(BrowserError):
            self._call(self._reader.close_own(), 2 * self._limits.close, "closing the pages of checks")

    @property
    def seconds_since_action(self) -> float:
        """Seconds since the start of the last action that may have had an effect; 0 if there was none."""
        return time.monotonic() - self._last_action_start if self._last_action_start is not None else 0.0

    @property
    def seconds_since_first_action(self) -> float:
        """Seconds since the start of the first such action; 0 also if it is unknown because another program acts."""
        return time.monotonic() - self._first_action_start if self._first_action_start else 0.0

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses of the open tabs as last reported, without asking the pages; the current one comes last."""
        tabs = self._tabs_or_none
        if tabs is None or not len(tabs):
            return ()
        current = tabs.current
        return (*(tab.url for tab in tabs if tab is not current), current.url)

    def note_external_action(self) -> None:
        """Note that another program has acted until now."""
        self._last_action_start = self._last_action_start or 0.0
        self._last_action_end, self._trusted = time.monotonic(), False

    def remote_input(self) -> RemoteInput:
        """Return a relay for a person without a window to use the pages. `BrowserError` unless it is Chromium."""
        if not self._tabs.current.is_observable:
            raise BrowserError("expected Chromium to be shown on a page, found another browser; use --browser chromium")
        return RemoteInput(self)

    def call_concurrently(self, coroutine: Coroutine[Any, Any, T], seconds: float, what: str) -> T:
        """Run a coroutine on the session's loop without waiting for the session's other calls; return its result."""
        return self._engine.run(coroutine, timeout=seconds + 1.0, what=what)

    def wait_for_idle(self, seconds: float, *, quiet: float = 0.0) -> bool:
        """Wait at most ``seconds`` until pages have done delayed work, and until ``quiet`` seconds have passed since
        the last action or the last awaited answer. Return False if pages can't do anything themselves."""
        return self._call(self._wait_for_idle(seconds, quiet), seconds + self._limits.step, "waiting for pages")

    def wait_for_writes(self, seconds: float) -> bool:
        """Wait at most ``seconds`` until no page has a request in flight that may write; return whether one has."""
        return self._call(self._wait_for_writes(seconds), seconds + self._limits.step, "waiting for requests")

    def wait_for_reads(self, seconds: float) -> tuple[bool, tuple[str, ...]]:
        """Wait at most ``seconds`` until pages have answers to all their reads since the last action, which writes may
        follow. Return whether there was anything to wait for, and the unanswered requests."""
        return self._call(self._wait_for_reads(seconds), seconds + self._limits.step, "waiting for requests")

    def storage_state(self, *, own: bool = False) -> dict[str, Any]:
        """Return cookies and local storage, for `SessionConfig.storage_state` of another session.

        ``own``: those of the pages that `read_page` opened in the present block of `own_pages`, if any. Those pages are
        closed.
        """
        limits = self._limits
        seconds = limits.context + (limits.hang + limits.close if own else 0.0)
        return self._call(self._storage_state(own), seconds, "reading the storage state")

    def own_cookies(self) -> list[Mapping[str, Any]]:
        """Return the cookies with which the harness itself visits sites: the agent's, updated by visits in the present
        block of `own_pages`."""
        return self._call(self._reader.cookies(), self._limits.context, "reading cookies")

    def keep_own_cookies(self, cookies: Sequence[Mapping[str, Any]]) -> None:
        """Keep cookies of the harness's own request for the rest of the `own_pages` block; drop them without one."""
        self._call(self._reader.keep_cookies(cookies), self._limits.context, "setting cookies")

    def keep_own_received(self) -> None:
        """Keep what visits of the harness receive from now on, for `own_received` and `own_bodies`."""
        self._reader.keeps_received = True

    def own_received(self) -> list[str]:
        """Return the values of ``Set-Cookie`` that visits of the harness have received, once their pages are closed."""
        return list(self._reader.received)

    def own_bodies(self) -> list[str]:
        """Return the texts that closed pages of the harness have received."""
        return list(self._reader.bodies)

    def note_received(self, values: Sequence[str]) -> None:
        """Add values of ``Set-Cookie`` that the harness's plain requests have received to `own_received`."""
        self._reader.received += values

    def sign_in(self, state: Mapping[str, Any]) -> None:
        """Add the cookies of a storage state; open pages send them with their next request."""
        self._call(self._add_cookies(state), self._limits.context, "setting cookies")

    def downloads(self) -> tuple[DownloadRecord, ...]:
        """Return the files that pages have sent to be saved, in order. They are deleted with the session."""
        return tuple(self._downloads.records)

    def close(self) -> None:
        """Close the context. Never raises: if it is stuck, the browser is abandoned and replaced."""
        with contextlib.suppress(BrowserError):
            limit = 5 * self._limits.close + (60.0 if self._config.trace else 0.0)
            self._engine.run(self._close(), timeout=limit, what="closing a browser context")

    async def _find_neighbour(self, selector: str) -> AdjacentControl | None:
        try:
            return await find_neighbour(self._tabs.current, selector, self._limits.hang)
        except (DialogBlocks, TabClosed, Unresponsive):
            return None

    def _call(self, coroutine: Coroutine[Any, Any, T], seconds: float, what: str) -> T:
        with closing_unstarted(coroutine):
            return self._engine.run(self._in_turn(coroutine), timeout=seconds + 1.0, what=what)
