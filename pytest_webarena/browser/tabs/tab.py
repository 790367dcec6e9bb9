"""One page of a session: its protocol session, its activity, and calls to it that always end in time."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from playwright.async_api import CDPSession, FileChooser, Page, Request, Response
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.faults import DialogBlocks, PageCrashed, ScriptFailed, TabClosed, Unresponsive
from pytest_webarena.browser.messages import first_line, is_navigation_error, writable
from pytest_webarena.browser.observation.extraction import ElementInfo
from pytest_webarena.browser.observation.fast.element_ids import IdCounter
from pytest_webarena.browser.observation.fast.inpage import InPage
from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.browser.signal_log import TabSignals
from pytest_webarena.browser.tabs.aborted_requests import AbortedRequests
from pytest_webarena.browser.tabs.address_guard import allowed_in_tab, failed_address
from pytest_webarena.browser.tabs.dialogs import Dialogs
from pytest_webarena.browser.tabs.dom_events import DomEvents
from pytest_webarena.browser.tabs.navigation_events import Navigations
from pytest_webarena.errors import BrowserError
from pytest_webarena.signals import AddressCause
from pytest_webarena.text import shorten

__all__ = ["Tab"]

T = TypeVar("T")

_WAITED_FOR = frozenset({"document", "script", "stylesheet", "xhr", "fetch"})
"""Types of requests that may still change the page. Images and media do not; streams and sockets never end."""


class Tab:
    """One page. All calls to it go through `run`, which ends in time whatever the page does."""

    def __init__(self, page: Page, dialogs: Dialogs, report: Callable[[PageEvent], None], signals: TabSignals) -> None:
        self.page = page
        self.signals = signals
        self.dialogs = dialogs
        self.document = 0
        """Number of documents shown, so that ids of an earlier one are never used on a later one."""
        self.arrivals = 0
        """Number of addresses shown, including those of the same document; not on Chromium."""
        self.elements: dict[str, ElementInfo] = {}
        """Everything that observations of this document have shown, by id."""
        self.extras: dict[type, Any] = {}
        """Further objects that belong to the tab, by their type."""
        self.in_page = InPage(self, IdCounter.of(page.context))
        """Data of the ``fast`` extractor about the tab's elements."""
        self.inflight: dict[Request, str] = {}
        """Requests without an answer, each with the key that identifies endless ones."""
        self.answering: set[Request] = set()
        """Those of them whose answer's head has arrived. If nobody reads the body, its end is never reported."""
        self.pending_images: dict[Request, str] = {}
        """Images that have not begun to arrive. They change nothing yet, but notify their page."""
        self.endless_requests: set[str] = set()
        """Keys of requests of this document that outlasted the waiting, such as polling. They are not awaited again."""
        self.keeps_changing = False
        """Whether this document kept changing until the time limit."""
        self.never_loads = False
        """Whether this document was still loading something at the time limit."""
        self.keeps_setting_timers = False
        """Whether this document kept setting timers until the time limit."""
        self.unpaintable = False
        """Whether taking a picture of this document timed out."""
        self.flooded = False
        """Whether this document was stopped once from opening dialogs; the next time, it is closed."""
        self.aborted_requests = AbortedRequests()
        """Requests of this document that the machine aborted."""
        self.popups_expected = 0
        self.file_dialogs_expected = 0
        """Dialogs that the browser has announced and Playwright has not reported yet."""
        self.last_title = ""
        """Title at the last observation."""
        self.file_dialog: FileChooser | None = None
        """The file dialog that the page opened and that is unanswered."""
        self.dom_events = DomEvents(signals, self.in_background)
        """Listeners for input in it."""
        self._cdp: CDPSession | None = None
        self._attached: asyncio.Task[None] | None = None
        self._report = report
        self._frame_id = ""
        self._unreachable = ""
        self._reported_url = self._actual_url = ""
        self._leaving: asyncio.Future[Any] | None = None
        self._requested = False
        self._navigating = False
        self._cause: AddressCause = ""
        """Cause of the pending navigation."""
        self.destination = ""
        """Address of the latest navigation."""
        self._pulses: set[asyncio.Future[None]] = set()
        self._background: set[asyncio.Future[Any]] = set()
        self._ended: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        page.on("crash", lambda _: self._end(PageCrashed(f"the process that rendered {shorten(page.url)} crashed")))
        page.on("close", lambda _: self._end(TabClosed("the tab is closed")))
        page.on("framenavigated", lambda frame: self._on_address(frame.url) if frame == page.main_frame else None)
        signals.record_address(page.url)  # a window may have an address before its listener is installed
        page.on("request", self._on_request)
        page.on("response", self._on_response)
        page.on("requestfinished", self._on_request_over)
        page.on("requestfailed", self._on_request_failed)
        self._is_chromium = page.context.browser is not None and page.context.browser.browser_type.name == "chromium"
        if not self._is_chromium:
            Navigations(
                page, on_start=self._on_plain_start, on_end=self._on_plain_end, on_shown=self._on_plain_document
            )

    @property
    def url(self) -> str:
        """Address of the page as last reported, without asking it. If the page failed to load, that address."""
        url = self.page.url
        if url == self._reported_url:
            return self._actual_url
        return self._unreachable or url if url.startswith("chrome-error:") else failed_address(url)

    @property
    def closed(self) -> bool:
        """Whether the page is closed for good."""
        return self.page.is_closed()

    @property
    def frame_id(self) -> str:
        """Protocol id of the main frame, which is also that of the page; empty before there is a session."""
        return self._frame_id

    def is_navigating(self) -> bool:
        """Return whether another document was requested and has not begun to arrive."""
        return self._requested or self._navigating

    @property
    def is_observable(self) -> bool:
        """Whether there is a protocol session, which only Chromium has."""
        return self._cdp is not None

    @property
    def session(self) -> CDPSession | None:
        """The protocol session; None on other browsers than Chromium. Wrap calls to it in `run`."""
        return self._cdp

    def note_address(self, url: str) -> None:
        """Note the address that the page itself reports, because Firefox does not report navigations in the history."""
        if not self._is_chromium and url != self.page.url:
            self.arrivals += url != self.url
            self._reported_url, self._actual_url = self.page.url, url
            self.signals.record_address(url)

    async def ask_address(self, seconds: float) -> None:
        """Ask the page for its address."""
        self.note_address(await self.evaluate("() => document.URL", seconds=seconds, what="asking for an address"))

    async def title(self) -> str:
        """Return the page's title. Asks the browser, because the page may be busy."""
        if self._cdp is None and self.dialogs.open is not None:
            return self.last_title  # without a session, only the page can be asked
        try:
            if self._cdp is None:
                return writable(await self.run(self.page.title(), 2.0, "reading a title", despite_dialog=True))
            call = self._cdp.send("Page.getNavigationHistory")
            history = await self.run(call, 2.0, "reading a title", despite_dialog=True)
        except (PlaywrightError, PageCrashed, TabClosed, Unresponsive):
            return ""
        return writable(history["entries"][history["currentIndex"]]["title"])

    def start_attaching(self, seconds: float) -> None:
        """Begin to open the protocol session in the background; `attach` waits for it."""
        if self._attached is None:
            self._attached = asyncio.ensure_future(self._attach(seconds))

    async def attach(self, seconds: float) -> None:
        """Open the protocol session, once."""
        self.start_attaching(seconds)
        assert self._attached is not None
        await asyncio.shield(self._attached)

    async def run(self, awaitable: Awaitable[T], seconds: float, what: str, *, despite_dialog: bool = False) -> T:
        """Return the result of ``awaitable`` within ``seconds``.

        Raises:
            Unresponsive: There is no result in time.
            DialogBlocks: A dialog is open; the call continues in the background.
            TabGone: The tab is closed.
            PageCrashed: The page's process died.
            BrowserError: The browser died.
            PlaywrightError: The call itself failed.
        """
        task = asyncio.ensure_future(awaitable)
        if self._ended.done():
            self._drop(task)
            raise self._ended.result()
        opened = asyncio.ensure_future(self.dialogs.opened.wait())
        watched: set[asyncio.Future[Any]] = {task, self._ended}
        if not despite_dialog:
            watched.add(opened)
        try:
            await asyncio.wait(watched, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._drop(task)
            raise
        finally:
            opened.cancel()
        if task.done():
            return self._result(task)
        if self._ended.done():
            self._drop(task)
            raise self._ended.result()
        if self.dialogs.open is not None and not despite_dialog:
            self._background.add(task)
            task.add_done_callback(self._forget)
            raise DialogBlocks
        self._drop(task)
        raise Unresponsive(what, seconds)

    async def send(self, method: str, params: dict[str, Any] | None = None, *, seconds: float) -> Any:
        """Send one protocol command; Chromium only."""
        if self._cdp is None:
            raise BrowserError(f"{method} needs Chromium; this browser is another one (use --browser chromium)")
        return await self.run(self._cdp.send(method, params or {}), seconds, method)

    async def evaluate(self, function: str, *args: Any, seconds: float, what: str, world: int | None = None) -> Any:
        """Call a JavaScript function in the page's main frame, in its ``world`` if given; return the result.

        Raises `ScriptFailed` if it throws, or its result can't be sent.
        """
        call = f"({function})({', '.join(json.dumps(arg) for arg in args)})"
        if self._cdp is None:
            try:
                return await self.run(self.page.evaluate(f"() => {call}"), seconds, what)
            except PlaywrightError as error:
                raise ScriptFailed(first_line(error)) from error
        parameters = {"expression": call, "awaitPromise": True, "returnByValue": True, "userGesture": False}
        parameters |= {"contextId": world} if world is not None else {}
        try:
            answer = await self.run(self._cdp.send("Runtime.evaluate", parameters), seconds, what)
        except PlaywrightError as error:
            if is_navigation_error(error):
                raise
            # The browser refuses to send circular objects, symbols and getters that throw, with various messages.
            raise ScriptFailed(f"the browser can't return its result: {first_line(error)}") from error
        return script_value(answer)

    async def wait_for_activity(self, seconds: float) -> None:
        """Wait until a navigation or request begins or ends, at most ``seconds``. Raises if the tab is closed."""
        if self._ended.done():
            raise self._ended.result()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pulses.add(future)
        try:
            watched: set[asyncio.Future[Any]] = {future, self._ended}
            await asyncio.wait(watched, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._pulses.discard(future)

    def notify_change(self) -> None:
        """Wake all callers of `wait_for_activity`."""
        for future in self._pulses:
            if not future.done():
                future.set_result(None)

    def stop_loading(self) -> None:
        """Abort the pending navigation."""
        self._requested = self._navigating = False
        if self._cdp is not None:
            self.in_background(self.send("Page.stopLoading", seconds=5.0))
        else:
            self.in_background(self.evaluate("() => window.stop()", seconds=5.0, what="stopping a page"))

    async def leave_refused(self, seconds: float) -> None:
        """Wait until the tab has left a forbidden address."""
        if not allowed_in_tab(self.page.url):
            self._guard(self.page.url)
        if self._leaving is not None and not self._leaving.done():
            with contextlib.suppress(PlaywrightError):
                await self.run(asyncio.shield(self._leaving), seconds, "leaving a refused address")

    def in_background(self, awaitable: Awaitable[Any]) -> None:
        """Run something in the background whose result is not needed."""
        task = asyncio.ensure_future(awaitable)
        self._background.add(task)
        task.add_done_callback(self._forget)

    async def _attach(self, seconds: float) -> None:
        if not self._is_chromium:
            return
        try:
            cdp = await self.run(
                self.page.context.new_cdp_session(self.page), seconds, "opening a tab", despite_dialog=True
            )
            for name, handler in {
                "Page.frameRequestedNavigation": self._on_requested,
                "Page.frameClearedScheduledNavigation": self._on_cleared,
                "Page.frameStartedNavigating": self._on_started,
                "Page.frameNavigated": self._on_navigated,
                "Page.frameStoppedLoading": self._on_stopped,
                "Page.windowOpen": self._on_window_open,
                "Page.fileChooserOpened": self._on_file_chooser,
                "Page.javascriptDialogClosed": self.dialogs.on_closed,
            }.items():
                cdp.on(name, handler)
            await self.run(cdp.send("Page.enable"), seconds, "opening a tab", despite_dialog=True)
            intercept = cdp.send("Page.setInterceptFileChooserDialog", {"enabled": True})  # else no event comes here
            await self.run(intercept, seconds, "opening a tab", despite_dialog=True)
            if self.signals.dom_events:
                await self.run(self.dom_events.listen(cdp), seconds, "opening a tab", despite_dialog=True)
            tree = await self.run(cdp.send("Page.getFrameTree"), seconds, "opening a tab", despite_dialog=True)
        except PlaywrightError as error:
            raise BrowserError(f"no protocol session for {shorten(self.url)}: {first_line(error)}") from error
        self._frame_id = tree["frameTree"]["frame"]["id"]
        self._cdp = cdp
        self._guard(tree["frameTree"]["frame"]["url"])

    def _result(self, task: asyncio.Future[T]) -> T:
        try:
            return task.result()
        except PlaywrightError as error:
            text = str(error)
            if "Target crashed" in text or "Page crashed" in text:
                raise PageCrashed(f"the process that rendered {shorten(self.url)} crashed") from error
            browser = self.page.context.browser
            if "Connection closed" in text or (browser is not None and not browser.is_connected()):
                raise BrowserError("the browser crashed or was killed") from error
            if "has been closed" in text or self.page.is_closed():
                raise TabClosed("the tab is closed") from error
            raise

    def _drop(self, task: asyncio.Future[Any]) -> None:
        task.cancel()
        task.add_done_callback(_consume)

    def _forget(self, task: asyncio.Future[Any]) -> None:
        self._background.discard(task)
        _consume(task)

    def _end(self, reason: Exception) -> None:
        if not self._ended.done():
            self._ended.set_result(reason)
        if isinstance(reason, TabClosed):
            self.signals.record_closed()
        self.notify_change()

    def _new_document(self) -> None:
        self.document += 1
        self.elements.clear()
        self.endless_requests.clear()
        self.keeps_changing = self.never_loads = self.keeps_setting_timers = self.flooded = self.unpaintable = False
        self.aborted_requests.on_document()

    def _guard(self, url: str) -> None:
        """Navigate the tab away from a forbidden address, however it got there."""
        if not allowed_in_tab(url) and (self._leaving is None or self._leaving.done()):
            text = f"The page led to {shorten(url, 100)}, which can't be opened here; the tab was emptied."
            self._report(PageEvent(kind="refused", text=text, url=url))
            self._leaving = asyncio.ensure_future(self.page.goto("about:blank", timeout=5000))
            self._leaving.add_done_callback(_consume)

    # Event handlers must not raise: Playwright would make the next call fail.

    def _is_main(self, event: dict[str, Any]) -> bool:
        return event.get("frameId") == self._frame_id

    def _on_requested(self, event: dict[str, Any]) -> None:
        url = str(event.get("url", ""))
        if self._is_main(event) and event.get("disposition") == "currentTab" and not url.startswith("javascript:"):
            self._requested, self.destination = True, url

    def _on_cleared(self, event: dict[str, Any]) -> None:
        if self._is_main(event):
            self._requested = False
            self.notify_change()

    def _on_address(self, url: str) -> None:
        # Links and scripts may lead to another place in the same document without an event at the start.
        cause: AddressCause = self._cause or "page"
        self._cause = ""
        self.signals.record_address(url, cause if self._is_chromium else "")

    def _on_started(self, event: dict[str, Any]) -> None:
        if self._is_main(event):
            by_history = str(event.get("navigationType", "")).startswith("history")
            self._cause = "page" if self._requested else "history" if by_history else "browser"
        if self._is_main(event) and not str(event.get("navigationType", "")).lower().endswith("samedocument"):
            self._requested, self._navigating = False, True
            self.destination = str(event.get("url", ""))
            self.notify_change()

    def _on_navigated(self, event: dict[str, Any]) -> None:
        frame = event.get("frame", {})
        if "parentId" in frame:
            return
        self._frame_id = str(frame.get("id", self._frame_id))
        self._unreachable = str(frame.get("unreachableUrl", ""))
        self._requested = self._navigating = False
        self._new_document()
        self._guard(str(frame.get("url", "")))
        self.notify_change()

    def _on_stopped(self, event: dict[str, Any]) -> None:
        if self._is_main(event):  # also the end of a download, an empty answer or an aborted navigation
            self._requested = self._navigating = False
            self._cause = ""
            self.notify_change()

    def _on_window_open(self, event: dict[str, Any]) -> None:
        if allowed_in_tab(str(event.get("url", ""))):  # no window opens for other addresses
            self.popups_expected += 1

    def _on_file_chooser(self, _event: dict[str, Any]) -> None:
        self.file_dialogs_expected += 1

    def _on_plain_start(self, url: str) -> None:
        self._navigating, self.destination = True, url
        self.notify_change()

    def _on_plain_end(self) -> None:
        self._navigating = False
        self.notify_change()

    def _on_plain_document(self, url: str, another: bool) -> None:
        self.arrivals += 1
        self._navigating = False
        self._reported_url = self._actual_url = ""
        if another:
            self._new_document()
            self.never_loads = failed_address(url) != url  # Firefox's own error page never reports that it has loaded
        self._guard(url)
        self.notify_change()

    def _on_request(self, request: Request) -> None:
        self.aborted_requests.on_request(request)
        if request.redirected_from is not None:
            self.inflight.pop(request.redirected_from, None)
            self.answering.discard(request.redirected_from)
        if (kind := request.resource_type) in _WAITED_FOR or kind == "image":
            found = self.inflight if kind in _WAITED_FOR else self.pending_images
            found[request] = f"{request.method} {request.url.partition('?')[0]}"
        self.notify_change()

    def _on_response(self, response: Response) -> None:
        self.pending_images.pop(response.request, None)
        if response.request in self.inflight:
            self.answering.add(response.request)

    def _on_request_over(self, request: Request) -> None:
        self.inflight.pop(request, None)
        self.answering.discard(request)
        self.pending_images.pop(request, None)
        self.notify_change()

    def _on_request_failed(self, request: Request) -> None:
        key = self.inflight.get(request)
        self.aborted_requests.on_failed(request, awaited=key is not None and key not in self.endless_requests)
        self._on_request_over(request)


def script_value(answer: dict[str, Any]) -> Any:
    """Return the value in an answer of ``Runtime.evaluate`` or ``Runtime.callFunctionOn``; `ScriptFailed` if it
    threw."""
    details = answer.get("exceptionDetails")
    if details is not None:
        thrown = details.get("exception", {})
        text = str(thrown.get("description") or thrown.get("value") or details.get("text") or "an error")
        raise ScriptFailed(shorten(text.split("\n    at ")[0], 300))
    return answer["result"].get("value")


def _consume(task: asyncio.Future[Any]) -> None:
    """Retrieve the result, so that asyncio does not warn about an exception that was never retrieved."""
    with contextlib.suppress(asyncio.CancelledError):
        task.exception()
