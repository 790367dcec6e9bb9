"""Implementation of a session on the event loop; `Session` offers it to synchronous callers."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from playwright.async_api import Browser, BrowserContext, Request
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.actions import (
    Action,
    CloseTab,
    FocusTab,
    Invalid,
    NewTab,
    Noop,
    Note,
    Point,
    Scroll,
    Selector,
    Stop,
    Wait,
)
from pytest_webarena.browser.acting import element_probes
from pytest_webarena.browser.acting.execute import perform
from pytest_webarena.browser.acting.performed import Performed
from pytest_webarena.browser.acting.targets import OBJECT_GROUP, find_target
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.context import open_context
from pytest_webarena.browser.faults import (
    ActionFailed,
    DialogBlocks,
    PageCrashed,
    ScriptFailed,
    TabClosed,
    Unresponsive,
)
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import first_line
from pytest_webarena.browser.observation import Observation
from pytest_webarena.browser.pending_writes import started_before, wait_for_idle, wait_for_reads, wait_for_writes
from pytest_webarena.browser.reading.check_reader import CheckReader
from pytest_webarena.browser.refused_requests import record_refused
from pytest_webarena.browser.reports import Outcome, PageEvent, PageReading, SelectorMatch
from pytest_webarena.browser.selector_matches import find_matches
from pytest_webarena.browser.signal_log import SignalLog
from pytest_webarena.browser.snapshotting import (
    html_of,
    observe_tab,
    observe_without_page,
    screenshot_of,
    unread_observation,
)
from pytest_webarena.browser.tabs.brief_texts import BriefTexts
from pytest_webarena.browser.tabs.downloads import Downloads
from pytest_webarena.browser.tabs.first_page import open_first_page
from pytest_webarena.browser.tabs.navigation_lock import keeps_navigating, navigation_locked
from pytest_webarena.browser.tabs.recovery import recover
from pytest_webarena.browser.tabs.settle import settle
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.browser.tabs.tabs import Tabs
from pytest_webarena.browser.tabs.timers import KEEP_NOTE
from pytest_webarena.errors import BrowserError, PageUnusable
from pytest_webarena.evidence import TabState, TargetRecord
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine

__all__ = ["SessionWork"]

T = TypeVar("T")

_OBSERVE_ATTEMPTS = 3  # at a page that navigates, hangs, or closes itself
_OPENING_SECONDS = 5.0
"""Maximum wait for a window or file dialog that a page opens. A slower window becomes a tab when it arrives."""
_NEW_TAB_SECONDS = 2.0
"""Maximum wait for a tab on which a self-driving agent acts before the harness knows the tab."""
_TYPING_BUFFER = 0.7
"""Share of the settling time for which typed letters may be buffered."""
_MINIMUM_TYPING_BUFFER = 0.03  # seconds; for sessions without settling
_RESERVE = 0.25
"""Share of a step's time that is reserved for recovering a page that has stopped answering."""


class SessionWork:
    """One trial's browser context on its browser's event loop. Its coroutines run one at a time."""

    _recovers_pages = True
    """Whether pages that do not answer are stopped or emptied, so that the session can continue."""

    _waits_for_quiet = True
    """Whether a step waits until its page has been unchanged for ``quiet`` seconds."""

    def __init__(self, engine: BrowserEngine, config: SessionConfig) -> None:
        self._engine = engine
        self._config = config
        self._limits = config.deadlines
        self._context: BrowserContext | None = None
        self.browser: Browser | None = None
        """The browser of the context, also after it was closed; None before."""
        self._tabs_or_none: Tabs | None = None
        self._lock: asyncio.Lock | None = None
        self._calls = 0
        """Number of calls so far, including the running one."""
        self._events: list[PageEvent] = []
        self._reported = 0
        """Number of events that observations have reported."""
        self._error = ""
        """Error of the last action."""
        self._downloads = Downloads(self._events.append, config.observation.max_file_chars)
        letters = _TYPING_BUFFER * config.deadlines.quiet if self._waits_for_quiet else _MINIMUM_TYPING_BUFFER
        if config.dialogs == "hold":  # an open dialog blocks the page's reports, and the trial may end then
            letters = 0.0
        self.signals = SignalLog(dom_events=engine.config.browser_name == "chromium", letters=letters)
        """Events in its tabs since the first pages were requested."""
        if config.observes_scripts:
            self.signals.commanded = lambda at, values: False
        self._reader_or_none: CheckReader | None = None
        self._last_action_start: float | None = None
        """Monotonic time of the start of the last action that may have had an effect."""
        self._first_action_start: float | None = None
        """Monotonic time of the start of the first such action."""
        self._last_action_end = -math.inf
        """Monotonic time of the end of the last such action, or of its late effects."""
        self._trusted = True
        """Whether no other program acts in the pages."""
        self._reads_before_action: tuple[frozenset[Request], frozenset[str]] = frozenset(), frozenset()
        """Requests of pages that were unanswered at the start of the last action that may have had an effect."""

    async def start(self, *, tab: bool = True) -> None:
        """Open the context (on the loop), with or without a ``tab``; `BrowserEngine.session` calls it."""
        self._lock = asyncio.Lock()
        self._context = await self._open()
        self.browser = self._context.browser
        record_refused(self._context, self.signals.now, self.signals.add_refused)
        await self._context.add_init_script(KEEP_NOTE)
        self._tabs_or_none = Tabs(
            self._context,
            self._config,
            self._events.append,
            self._downloads.begin,
            self.signals,
            recovers_pages=self._recovers_pages,
        )
        if tab:
            await self._tabs.sync()
        self._reader_or_none = CheckReader(self._engine, self._config, self._context, self._tabs)

    async def _open(self) -> BrowserContext:
        """Open the context. Subclasses for other browsers than the engine's return their own."""
        return await open_context(self._engine, self._config)

    async def tabs_for_person(self, *, acts: bool) -> Tabs:
        """Return the tabs for input (``acts``) or reading by a person, even while another call is running."""
        if self._context is None or self._lock is None:
            raise BrowserError("the session is closed")
        if not self._lock.locked():
            async with self._lock:
                await self._tabs.sync()
        if acts:
            self._reads_before_action, now = started_before(self._tabs), time.monotonic()
            self._last_action_start = self._last_action_end = now
            self._first_action_start = self._first_action_start or now
            self._tabs.current.dialogs.new_action()
            self._tabs.current.aborted_requests.was_acted_on = True
        return self._tabs

    async def _in_turn(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Await ``coroutine`` once earlier calls have ended; return its result. Page faults become `BrowserError`."""
        if self._context is None or self._lock is None:
            coroutine.close()
            raise BrowserError("the session is closed")
        async with self._lock:
            self._calls += 1
            try:
                return await coroutine
            except (Unresponsive, DialogBlocks, TabClosed) as error:
                raise PageUnusable(f"the page can't be used: {error or 'a dialog is open'}") from error
            except PlaywrightError as error:
                raise BrowserError(shorten(first_line(error), 300)) from error

    @property
    def _tabs(self) -> Tabs:
        assert self._tabs_or_none is not None
        return self._tabs_or_none

    @property
    def _reader(self) -> CheckReader:
        assert self._reader_or_none is not None
        return self._reader_or_none

    def _budget(self) -> Deadline:
        """Return a step's time limit without the reserve for recovering a stuck page."""
        return Deadline(self._limits.step * (1 - _RESERVE))

    async def _open_tabs(self, urls: Sequence[str]) -> None:
        self.signals.restart()
        # The session's first tab is used if nothing has used it before, because another tab is another process.
        unused = [self._tabs.current] if self._calls == 1 and len(self._tabs) == 1 else []
        fresh = []
        for url in urls or ("about:blank",):
            tab = unused.pop() if unused and not unused[0].closed else await self._tabs.open(current=False)
            fresh.append(tab)
            await open_first_page(tab, url, self._limits, self._budget())
        await self._tabs.close_all_but(fresh)
        self._error = ""
        self._reported = len(self._events)

    async def _observe(self) -> Observation:
        budget = self._budget()
        await self._tabs.sync()
        unstable = False
        for attempt in range(1, _OBSERVE_ATTEMPTS + 1):
            tab = self._tabs.current
            document = tab.document
            try:
                if tab.dialogs.is_stuck():
                    raise Unresponsive("observing the page", 0)
                lock = unstable and self._recovers_pages
                async with navigation_locked(tab) if lock else contextlib.nullcontext():
                    observation = await observe_tab(self._tabs, self._config, budget)
                if keeps_navigating(tab, document) and self._recovers_pages and not unstable:
                    unstable = True  # the page navigated, so the document may have been read partially
                    continue
                if not tab.dialogs.is_stuck() or attempt == _OBSERVE_ATTEMPTS:
                    break
            except TabClosed:
                await self._tabs.sync()
            except (PlaywrightError, Unresponsive) as error:
                navigated = not isinstance(error, Unresponsive) or keeps_navigating(tab, document)
                unstable = unstable or navigated
                if unstable and (attempt == _OBSERVE_ATTEMPTS or budget.over):
                    observation = await unread_observation(self._tabs, "it keeps navigating")
                    break
                if navigated:
                    continue
                if attempt == _OBSERVE_ATTEMPTS or not self._recovers_pages:
                    raise
                await self._recover(tab, 0.5, stop=attempt < _OBSERVE_ATTEMPTS - 1)
                budget = Deadline(self._limits.step * _RESERVE / 2)
        else:
            raise BrowserError("the pages kept closing while they were observed")
        await self._downloads.report(budget.left(self._limits.settle))
        notes = [event.text for event in self._events[self._reported :] if event.text != self._error]
        self._reported = len(self._events)
        BriefTexts.of(self._tabs.current.extras).observed = observation.text
        return observation.with_events(error=self._error, notes=notes)

    async def _observe_without_page(self) -> Observation:
        await self._tabs.sync()
        return await observe_without_page(self._tabs)

    async def _execute(self, action: Action) -> Outcome:
        budget = self._budget()
        await self._tabs.sync()
        if self._tabs.current.dialogs.is_stuck():
            await self._recover(self._tabs.current, 0.5)
        tab = self._tabs.current
        tab.dialogs.new_action()
        number, url_before, document = self._tabs.index(tab), tab.url, tab.document
        first_event = len(self._events)
        requests = () if isinstance(action, Wait) else tuple(tab.inflight)
        if not isinstance(action, Scroll | Wait | Noop | Note | Stop | Invalid | FocusTab):
            self._reads_before_action = started_before(self._tabs)
        began = time.monotonic()
        if not isinstance(action, Wait | Noop | Note | Stop | Invalid):
            self._last_action_start = self._last_action_end = began
            self._first_action_start = self._first_action_start or began
        performed = Performed()
        acted: float | None = None
        stuck_reason = ""
        try:
            with contextlib.suppress(TabClosed):  # a click may close the page
                tab.aborted_requests.was_acted_on = True
                performed = await perform(self._tabs, action, self._limits, budget, self._config.search)
            acted = time.monotonic()
            if not isinstance(action, Noop | Note | Stop | Invalid):
                await self._settle(action, tab, requests, budget, began)
        except DialogBlocks:
            if tab.dialogs.looping:
                stuck_reason = await self._recover(tab)
        except Unresponsive:
            if not keeps_navigating(tab, document):
                stuck_reason = await self._recover(tab)
        await self._downloads.report(budget.left(self._limits.settle))
        self._events += performed.events
        ended = time.monotonic()
        if self._last_action_start == began:
            self._last_action_end = ended
        await self._tabs.sync()
        if performed.target is not None:
            self._release_objects(tab)
        self._error = stuck_reason or performed.error
        return Outcome(
            error=self._error,
            url_before=url_before,
            url_after=self._tabs.current.url,
            target=performed.target,
            value=performed.value,
            tab=number,
            events=tuple(self._events[first_event:]),
            seconds={"act": round((acted or ended) - began, 4), "settle": round(ended - (acted or ended), 4)},
        )

    async def _settle(
        self, action: Action, tab: Tab, requests: Sequence[Request], budget: Deadline, began: float
    ) -> None:
        """Wait for effects of the action in its tab, and in the tab that is current afterwards."""
        of_tabs = isinstance(action, NewTab | FocusTab | CloseTab)
        if not of_tabs:
            with contextlib.suppress(TabClosed):
                since = None if (is_wait := isinstance(action, Wait)) else began
                self._events += await settle(tab, self._limits, budget, before=requests, brief=is_wait, since=since)
                await self._tabs.wait_for_opened(tab, budget.left(_OPENING_SECONDS))
        await self._tabs.sync()
        current = self._tabs.current
        if current is not tab:
            try:
                self._events += await settle(current, self._limits, budget, brief=of_tabs)
            except Unresponsive:
                await self._recover(current, 0.5)

    async def _recover(self, tab: Tab, share: float = 1.0, *, stop: bool = True) -> str:
        event = await recover(self._tabs, tab, seconds=self._limits.step * _RESERVE * share, stop=stop)
        self._events.append(event)
        return event.text

    def _release_objects(self, tab: Tab) -> None:
        if not tab.closed and tab.is_observable:
            tab.in_background(
                tab.send("Runtime.releaseObjectGroup", {"objectGroup": OBJECT_GROUP}, seconds=self._limits.hang)
            )

    async def _follow(self, target: str) -> str:
        """Make the tab with this protocol id current, once it exists; return the address of the current tab."""
        await self._tabs.sync()
        if target:
            await self._tabs.wait_until_ready(target, min(_NEW_TAB_SECONDS, self._limits.hang))
            self._reads_before_action, self._last_action_start = started_before(self._tabs), time.monotonic()
        for number, tab in enumerate(self._tabs):
            if target and tab.frame_id == target:
                self._tabs.focus(number)
        return self._tabs.current.url

    async def _element_at(self, x: float, y: float) -> TargetRecord | None:
        try:
            place = find_target(self._tabs.current, Point(x, y), hang=self._limits.hang, patience=0)
            return (await place.place("click")).record
        except (ActionFailed, DialogBlocks, TabClosed, Unresponsive, PlaywrightError):
            return None

    async def _focused(self) -> TargetRecord | None:
        try:
            what = "looking for the focused element"
            found = await self._tabs.current.evaluate(element_probes.FOCUSED, seconds=self._limits.hang, what=what)
            return TargetRecord(**found) if found else None
        except (ScriptFailed, DialogBlocks, TabClosed, Unresponsive, PlaywrightError, TypeError):
            return None

    async def _sweep_fields(self) -> None:
        """Report values of fields that no event has reported."""
        tab, seconds = self._tabs.current, self._limits.hang
        if tab.dialogs.open is not None:  # its documents report once it is answered
            return
        with contextlib.suppress(DialogBlocks, TabClosed, PageCrashed, Unresponsive, PlaywrightError):
            await tab.run(tab.dom_events.sweep_fields(seconds), seconds, "looking at fields")

    async def _element_of(self, selector: str, patience: float) -> TargetRecord | None:
        try:
            found = find_target(self._tabs.current, Selector(selector), hang=self._limits.hang, patience=patience)
            return TargetRecord(**await found.call(element_probes.DESCRIBE))
        except (ActionFailed, DialogBlocks, TabClosed, Unresponsive, PlaywrightError):
            return None

    async def _find_matches(self, selectors: Sequence[str]) -> tuple[SelectorMatch, ...]:
        try:
            return await find_matches(self._tabs.current, selectors, self._limits.hang)
        except (ActionFailed, DialogBlocks, TabClosed, Unresponsive, PlaywrightError):
            return tuple(SelectorMatch() for _ in selectors)

    async def _screenshot(self) -> bytes:
        await self._tabs.sync()
        return await screenshot_of(self._tabs.current, seconds=self._budget().left())

    async def _html(self) -> str:
        await self._tabs.sync()
        return await html_of(self._tabs.current, seconds=self._budget().left(self._limits.hang))

    async def _states(self) -> tuple[TabState, ...]:
        await self._tabs.sync()
        return await self._reader.states()

    async def _read(self, open: str | None, locate: str | None, prepare: tuple[str, ...], late: bool) -> PageReading:
        if open is None or len(self._tabs):
            await self._tabs.sync()
        return await self._reader.read(open, locate, prepare, late=late)

    async def _wait_for_idle(self, seconds: float, quiet: float) -> bool:
        await self._tabs.sync()
        pause = quiet - (time.monotonic() - self._last_action_end)
        return await wait_for_idle(
            self._tabs, self._reads_before_action, self._limits, seconds, pause=pause, trusted=self._trusted
        )

    async def _wait_for_writes(self, seconds: float) -> bool:
        return await wait_for_writes(self._tabs, seconds)

    async def _wait_for_reads(self, seconds: float) -> tuple[bool, tuple[str, ...]]:
        await self._tabs.sync()
        waited, unanswered = await wait_for_reads(self._tabs, self._reads_before_action, self._limits, seconds)
        if waited:
            self._last_action_end = time.monotonic()
        return waited, unanswered

    async def _storage_state(self, own: bool) -> dict[str, Any]:
        if own:
            return await self._reader.close_own_with_state()
        assert self._context is not None
        return {**await self._context.storage_state()}

    async def _add_cookies(self, state: Mapping[str, Any]) -> None:
        assert self._context is not None
        await self._context.add_cookies(list(state.get("cookies", ())))

    async def _close(self) -> None:
        context, self._context = self._context, None
        if context is None:
            return
        if self._reader_or_none is not None:
            await self._reader_or_none.close_own()
        self._downloads.stop()
        if self._config.trace is not None:
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(60.0):
                    await context.tracing.stop(path=self._config.trace)
        discard = self._config.own_browser
        try:
            self._tabs.suppress_close_events()
            async with asyncio.timeout(self._limits.close):
                await context.close()
        except (PlaywrightError, TimeoutError):
            discard = True
        if discard and context.browser is not None:
            await self._engine.discard(context.browser)
