"""One trial's browser context, for synchronous callers: open, look, act, read. Every call ends by its deadline."""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from pytest_webarena.actions import Action
from pytest_webarena.browser.config import Deadlines, ObservationConfig, SessionConfig
from pytest_webarena.browser.faults import DialogBlocks, TabGone, Unresponsive
from pytest_webarena.browser.loop import closed_unbegun
from pytest_webarena.browser.neighbours import beside
from pytest_webarena.browser.observation import Observation
from pytest_webarena.browser.remote_input import RemoteInput
from pytest_webarena.browser.reports import Beside, DownloadRecord, Outcome, PageEvent, PageReading, SelectorMatch
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
    """Made by `BrowserEngine.session`. Thread-safe: calls from several threads take turns.

    Raises `BrowserError` when the browser or the page's process crashed or stopped answering for good. What a page does
    (dialogs, pop-ups, downloads, scripts without end, closing itself) is dealt with and told to the agent instead.
    """

    @property
    def config(self) -> SessionConfig:
        """What it was made with."""
        return self._config

    @property
    def environment(self) -> dict[str, Any]:
        """What the trial's pages met, for its record: operating system, browser, and every setting that shows."""
        return {"os": platform.platform(), "browser": self.browser_version, **self._config.to_plain()}

    @property
    def browser_version(self) -> str:
        """Name and version of the browser that shows its pages."""
        return self._engine.version

    @property
    def address(self) -> str:
        """Of the current tab, as far as it is known without asking the page."""
        return self._tabs.current.url

    def open_tabs(self, urls: Sequence[str]) -> None:
        """Load ``urls``, one tab each, as the only tabs; the first is current. `SiteError` if one can't be loaded."""
        self._call(self._open_tabs(urls), self._limits.step * max(1, len(urls)), "opening the first pages")

    def observe(self) -> Observation:
        """What the agent sees now. Changes nothing; `Observation.notes` tells what happened since the last call."""
        return self._call(self._observe(), self._limits.step, "observing the page")

    def glance(self) -> Observation:
        """What can be told of the current tab without asking its page, which stands still while a dialog is open: the
        tabs, the address and the dialog. What `observe` has to tell is left for it."""
        return self._call(self._glance(), self._limits.step, "looking at a dialog")

    def execute(self, action: Action) -> Outcome:
        """Carry out ``action`` and wait until the page has dealt with it. What failed is in ``Outcome.error``."""
        return self._call(self._execute(action), self._limits.step, f"executing {action.kind}")

    def note_error(self, text: str) -> None:
        """Have the next observation say why the last action had no effect: for those that never got here."""
        self._error = text

    def follow(self, target: str) -> str:
        """Make the tab with this protocol id current, if there is one, for somebody else acts on it; its address.

        Empty: nobody acts, but the current tab is looked at.
        """
        return self._call(self._follow(target), self._limits.step, "looking for a tab")

    def element_at(self, x: float, y: float) -> TargetRecord | None:
        """The element at a point of the current tab's viewport, in CSS pixels; None where there is none to be had."""
        return self._call(self._element_at(x, y), self._limits.step, "looking at a point of the page")

    def focused_element(self) -> TargetRecord | None:
        """What the keyboard writes in, in the current tab's main document; None where there is nothing to be had."""
        return self._call(self._focused(), self._limits.step, "looking at what has the focus")

    def sweep(self) -> None:
        """Have the current tab's fields looked through for values of which no event has told: those become signals
        (`DomEvent.by_script`)."""
        self._call(self._sweep(), self._limits.step, "looking at fields")

    def element_of(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        """The first match of a Playwright selector in the current tab, which nobody touches; None where there is none,
        or none within ``patience`` seconds."""
        return self._call(self._element_of(selector, patience), self._limits.step, "looking for an element")

    def sightings(self, selectors: Sequence[str]) -> tuple[SelectorMatch, ...]:
        """What each Playwright selector finds in the current tab, without waiting and touching nothing; nothing where a
        page does not answer."""
        return self._call(self._sightings(selectors), self._limits.step, "looking for elements")

    def beside(self, selector: str) -> Beside | None:
        """What is next to the first match of a Playwright selector in the current tab, which is waited for; None
        where there is none. Nothing is touched."""
        return self._call(self._beside(selector), self._limits.step, "looking at neighbours")

    def screenshot(self) -> bytes:
        """The current viewport as JPEG; empty while a native dialog is open, for then nothing can be painted."""
        return self._call(self._screenshot(), self._limits.step, "taking a screenshot")

    def html(self) -> str:
        """The current page's serialised DOM; empty when it doesn't answer, or a native dialog holds it."""
        return self._call(self._html(), self._limits.step, "reading the page")

    def tabs(self) -> tuple[TabState, ...]:
        """All tabs with their serialised DOM. A page that doesn't answer has an empty one.

        For the end of an episode: dialogs are dismissed from then on, and a current page that opens them without end,
        or runs a script without end, is stopped, for it can't be read otherwise.
        """
        return self._call(self._states(), self._limits.step, "reading the tabs")

    def read_page(
        self, *, open: str | None, locate: str | None, prepare: Sequence[str] = (), late: bool = False
    ) -> PageReading:
        """Read the current tab (``open=None``) or an address in a page of the harness's own, as the same visitor.

        ``locate`` is a Playwright selector, ``js=`` and an expression, or None for the whole page; ``prepare`` are
        JavaScript sources run before. ``late`` is for what must not be there: a page that may still come to show it is
        given a moment more. The agent's tabs and what they hold are left alone. `TaskError` for a selector
        that is none, `SiteError` for an address that can't be loaded.
        """
        reading = self._read(open, locate, tuple(prepare), late)
        limits = self._limits
        seconds = 2 * (limits.step + limits.navigation)
        if open is not None:  # its context, and for that another browser, may have to be opened
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
        """What `read_page` opens within the block shares one context, made with the first of them: one copy of what
        the agent's context remembers, and one visitor. Outside of a block each page has one of its own.

        With ``keep`` a page stays open until the next one, the block's end, or `storage_state`: what its site has
        stored is then read there, else in one more page. ``state``: what they know in place of what the agent's context
        remembers; ``cookies``: the same of cookies alone. After a block within another one, that one continues with
        the cookies that it had.
        """
        reader = self._reader
        before = reader.sharing, reader.keeping, reader.given
        jar = self.own_cookies() if reader.sharing else None
        if state is not None:
            reader.given, cookies = state, state.get("cookies", ())
        if reader.sharing or cookies is not None:
            self._close_own()
        reader.sharing, reader.keeping = True, keep
        reader.jar = list(cookies) if cookies is not None else jar
        try:
            yield
        finally:
            reader.sharing, reader.keeping, reader.given = before
            reader.jar = jar
            self._close_own()

    def _close_own(self) -> None:
        with contextlib.suppress(BrowserError):
            self._call(self._reader.close_own(), 2 * self._limits.close, "closing the pages of checks")

    @property
    def acting_since(self) -> float:
        """Seconds since the last action began that may have done something; 0 when there was none."""
        return time.monotonic() - self._acting if self._acting is not None else 0.0

    @property
    def acting_first(self) -> float:
        """The same of the first such action; 0 also where somebody else acts, and nobody knows since when."""
        return time.monotonic() - self._first if self._first else 0.0

    def has_acted(self) -> None:
        """Somebody else did, until now."""
        self._acting = self._acting or 0.0
        self._acted, self._trusted = time.monotonic(), False

    def by_hand(self) -> RemoteInput:
        """The means for somebody without a window to see its pages and to act in them. `BrowserError` on other browsers
        than Chromium."""
        if not self._tabs.current.is_observable:
            raise BrowserError("expected Chromium to be shown on a page, found another browser; use --browser chromium")
        return RemoteInput(self)

    def call_concurrently(self, coroutine: Coroutine[Any, Any, T], seconds: float, what: str) -> T:
        """The result of a coroutine on the session's loop, which takes no turn."""
        return self._engine.run(coroutine, timeout=seconds + 1.0, what=what)

    def come_to_rest(self, seconds: float, *, quiet: float = 0.0) -> bool:
        """Wait at most ``seconds`` until pages have done what they had put off, and until ``quiet`` seconds have passed
        since the last action, or since what was waited for. False where pages can do nothing by themselves."""
        return self._call(self._come_to_rest(seconds, quiet), seconds + self._limits.step, "waiting for pages")

    def holds_writes(self, seconds: float) -> bool:
        """Wait until no page has a request under way that may change a site; whether one still has, after that time."""
        return self._call(self._holds_writes(seconds), seconds + self._limits.step, "waiting for requests")

    def reads_left(self, seconds: float) -> tuple[bool, tuple[str, ...]]:
        """Wait until pages have an answer to all that they asked for since the last action, at most ``seconds``: writes
        may follow it. Whether there was anything to wait for, and what is still without an answer."""
        return self._call(self._reads_left(seconds), seconds + self._limits.step, "waiting for requests")

    def storage_state(self, *, own: bool = False) -> dict[str, Any]:
        """Cookies and local storage, for `SessionConfig.storage_state` of another session.

        ``own``: those of the pages that `read_page` opened in the present block of `own_pages`, if it has; they are
        closed by it.
        """
        limits = self._limits
        seconds = limits.context + (limits.hang + limits.close if own else 0.0)
        return self._call(self._storage_state(own), seconds, "reading the storage state")

    def own_cookies(self) -> list[Mapping[str, Any]]:
        """Those with which the harness itself visits sites: the agent's, as what was visited since in the present
        block of `own_pages` has left them."""
        return self._call(self._reader.cookies(), self._limits.context, "reading cookies")

    def keep_own_cookies(self, cookies: Sequence[Mapping[str, Any]]) -> None:
        """What a request of the harness's own has left, for the rest of the block of `own_pages`; else for nobody."""
        self._call(self._reader.keep_cookies(cookies), self._limits.context, "setting cookies")

    def sign_in(self, state: Mapping[str, Any]) -> None:
        """Take over the cookies of a storage state; pages that are open see them with their next request."""
        self._call(self._add_cookies(state), self._limits.context, "setting cookies")

    def downloads(self) -> tuple[DownloadRecord, ...]:
        """Files that pages have sent to be saved, in order. Their files vanish with the session."""
        return tuple(self._downloads.records)

    def close(self) -> None:
        """End the context. Never raises: what is stuck is left behind with the browser, which is then replaced."""
        with contextlib.suppress(BrowserError):
            limit = 5 * self._limits.close + (60.0 if self._config.trace else 0.0)
            self._engine.run(self._close(), timeout=limit, what="closing a browser context")

    async def _beside(self, selector: str) -> Beside | None:
        try:
            return await beside(self._tabs.current, selector, self._limits.hang)
        except (DialogBlocks, TabGone, Unresponsive):
            return None

    def _call(self, coroutine: Coroutine[Any, Any, T], seconds: float, what: str) -> T:
        with closed_unbegun(coroutine):
            return self._engine.run(self._in_turn(coroutine), timeout=seconds + 1.0, what=what)
