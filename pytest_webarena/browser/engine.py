"""Engine that starts a worker's browsers, opens sessions in them, and replaces crashed ones."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Browser, BrowserType, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.browser.launching.discovery import (
    BrowserChoice,
    find_browser,
    is_sandbox_failure,
    launch_options,
    make_temp_dir,
)
from pytest_webarena.browser.launching.firefox import named_executable
from pytest_webarena.browser.loop import LoopThread
from pytest_webarena.browser.messages import first_line
from pytest_webarena.browser.reading.matches import register_reader
from pytest_webarena.browser.session import Session
from pytest_webarena.browser.shared import SharedBrowsers
from pytest_webarena.errors import BrowserError, BrowserLost

__all__ = ["BrowserEngine", "EngineConfig", "chosen_browser"]

T = TypeVar("T")

logger = logging.getLogger("pytest_webarena.browser")

_GUARD = Path(__file__).parent / "launching" / "driver_guard.cjs"
_DRIVER_STARTS = 60.0
"""Time limit in seconds for the start of Playwright's driver; `Deadlines.launch` only limits the browser."""
_DRIVER_ANSWERS = 5.0
"""Time limit in seconds for the driver's answer to a trivial request, after which it counts as dead."""


def chosen_browser(config: EngineConfig) -> BrowserChoice:
    """Return the browser that an engine with this configuration would start; `BrowserError` if there is none."""
    channel = config.launch_args.get("channel")
    explicit = config.executable or named_executable(config.launch_args)
    if channel and not explicit:
        return BrowserChoice(executable=None, name=str(channel), kind=config.browser_name)
    headed = config.launch_args.get("headless") is False
    return find_browser(explicit, browser_name=config.browser_name, headed=headed)


class BrowserEngine:
    """A worker's browser. Nothing is started before the first session; `close` ends everything.

    It has one loop thread, one Playwright driver and one browser process. Each session is a new context in it. A
    browser that crashed or was killed is replaced when the next session begins. Thread-safe.

    With `EngineConfig.sessions`, further browsers are started on the same driver when those before are full. If a
    browser dies, its sessions raise `BrowserLost`, whatever they were doing.
    """

    def __init__(self, config: EngineConfig | None = None) -> None:
        self._config = config or EngineConfig()
        self._thread: LoopThread | None = None
        self._playwright: Playwright | None = None
        self._browsers = SharedBrowsers(self._config.sessions)
        self._choice: BrowserChoice | None = None
        self._launching: asyncio.Lock | None = None
        self._starting = threading.Lock()
        self._closed = False

    def __enter__(self) -> BrowserEngine:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def config(self) -> EngineConfig:
        """The configuration of the engine."""
        return self._config

    @property
    def _start_limit(self) -> float:
        """Maximum time in seconds until the driver runs and, at the second attempt, the browser."""
        return _DRIVER_STARTS + 2 * self._config.deadlines.launch

    @property
    def choice(self) -> BrowserChoice:
        """The running browser with its version; one of them if there are several. It is started if necessary."""
        if self._choice is None or self._config.sessions is None:
            self.run(self.browser(), timeout=self._start_limit, what="starting the browser")
        assert self._choice is not None
        return self._choice

    @property
    def version(self) -> str:
        """Name and version of the browser for records, e.g. ``chromium-headless-shell 156.0.8078.79``."""
        choice = self.choice
        return f"{choice.name} {choice.version}"

    @contextmanager
    def session(self, config: SessionConfig, *, tab: bool = True) -> Iterator[Session]:
        """Open a new context for one trial, which is closed at the end whatever happened in it.

        Without ``tab``, none is opened until it is needed. The harness's pages need none, and each tab is a process.
        """
        limits = config.deadlines
        session = Session(self, config)
        try:
            opening = session.start(tab=tab)
            try:
                self.run(
                    opening,
                    timeout=self._start_limit + limits.context,
                    what="opening a browser context",
                )
            except PlaywrightError as error:
                raise BrowserError(f"no browser context could be opened: {first_line(error)}") from error
            yield session
        except BrowserError as error:
            if not config.own_browser and self._browsers.has_lost(session.browser):
                raise BrowserLost(f"{error} (the browser that it shared with other trials went down)") from error
            raise
        finally:
            session.close()

    def close(self) -> None:
        """Close the browser, the driver and the thread. Processes that do not end in time are killed."""
        with self._starting:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is None:
            return
        seconds = self._config.deadlines.close
        try:
            thread.call(self._shut_down(), timeout=2 * seconds, what="closing the browser")
        except BrowserError as error:
            logger.warning("%s; its processes are killed", error)
        finally:
            thread.kill_children()
            thread.stop(seconds)

    async def browser(self) -> Browser:
        """Return a running browser (on the loop); start one if there is none, or none with free capacity."""
        if self._launching is None:
            self._launching = asyncio.Lock()
        async with self._launching:
            found = self._browsers.least_loaded()
            if found is None:
                found = self._browsers.add(await self._launch())
            return found

    @asynccontextmanager
    async def opening(self, *, own_browser: bool = False) -> AsyncIterator[Browser]:
        """Reserve a place in a browser (on the loop) in which a context is about to be opened.

        ``own_browser``: start a new browser that is closed with its session.
        """
        browser = self._browsers.use_exclusively(await self._launch()) if own_browser else await self.browser()
        with self._browsers.reserve(browser):
            yield browser

    async def playwright(self) -> Playwright:
        """Return Playwright's driver (on the loop). It is started on first use, and again after it has died."""
        if self._launching is None:
            self._launching = asyncio.Lock()
        async with self._launching:
            if self._playwright is not None and await self._is_driver_dead():
                self._playwright = None
            return await self._driver()

    async def discard(self, browser: Browser) -> None:
        """Abandon ``browser``, which stopped answering: the next session gets another one.

        Sessions of other trials in it continue; it is closed when they have ended.
        """
        for each in self._browsers.retire(browser):
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(self._config.deadlines.close):
                    await each.close()

    def run(self, coroutine: Coroutine[Any, Any, T], *, timeout: float, what: str) -> T:
        """Run ``coroutine`` on the engine's loop; `BrowserError` with ``what`` after ``timeout`` seconds."""
        try:
            thread = self._running_thread()
        except BrowserError:
            coroutine.close()
            raise
        return thread.call(coroutine, timeout=timeout, what=what)

    def _running_thread(self) -> LoopThread:
        with self._starting:
            if self._closed:
                raise BrowserError("the browser of this worker has been closed; make a new BrowserEngine")
            if self._thread is None:
                temp = self._config.temp_dir
                if temp is not None:
                    make_temp_dir(temp)
                env = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temp.resolve())) if temp is not None else {}
                self._thread = LoopThread("pytest-webarena-browser", {**env, "NODE_OPTIONS": _node_options()})
            return self._thread

    async def _launch(self) -> Browser:
        try:
            return await self._launch_with(await self._driver())
        except BrowserError:
            if self._playwright is None or not await self._is_driver_dead():
                raise
        self._playwright = None  # the driver has died, too, so both are started again
        return await self._launch_with(await self._driver())

    async def _driver(self) -> Playwright:
        if self._playwright is None:
            try:
                async with asyncio.timeout(_DRIVER_STARTS):
                    playwright = await async_playwright().start()
                    if self._config.browser_name == "chromium":
                        await register_reader(playwright)
                    self._playwright = playwright
            except TimeoutError as error:
                raise BrowserError(f"Playwright's driver did not start within {_DRIVER_STARTS:g} s") from error
            except (OSError, PlaywrightError) as error:
                raise BrowserError(f"Playwright's driver did not start: {first_line(error)}") from error
        return self._playwright

    async def _is_driver_dead(self) -> bool:
        """Return whether the driver no longer answers. One that has ended fails at once; a busy one gets some time."""
        assert self._playwright is not None
        try:
            async with asyncio.timeout(_DRIVER_ANSWERS):
                request = await self._playwright.request.new_context()
                await request.dispose()
        except (PlaywrightError, TimeoutError):
            return True
        return False

    async def _launch_with(self, playwright: Playwright) -> Browser:
        config = self._config
        choice = chosen_browser(config)
        options = launch_options(
            choice, config.launch_args, proxy=config.proxy, temp=config.temp_dir, trust=config.trust
        )
        kind: BrowserType = getattr(playwright, config.browser_name)
        try:
            browser = await self._start(kind, options, choice)
        except PlaywrightError as error:
            if not (options.get("chromium_sandbox") and is_sandbox_failure(str(error))):
                raise _launch_error(choice, error) from error
            logger.warning("%s: this machine has no usable sandbox for it; started without", choice.name)
            try:
                browser = await self._start(kind, {**options, "chromium_sandbox": False}, choice)
            except PlaywrightError as again:
                raise _launch_error(choice, again) from again
        self._choice = replace(choice, version=browser.version)
        return browser

    async def _start(self, kind: BrowserType, options: dict[str, Any], choice: BrowserChoice) -> Browser:
        seconds = self._config.deadlines.launch
        try:
            async with asyncio.timeout(seconds):
                return await kind.launch(**{"timeout": seconds * 1000, **options})
        except TimeoutError as error:
            raise BrowserError(f"{choice.name} did not start within {seconds:g} s") from error

    async def _shut_down(self) -> None:
        seconds = self._config.deadlines.close
        for browser in self._browsers.all():
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(seconds):
                    await browser.close()
        if self._playwright is not None:
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._playwright.stop()


def _node_options() -> str:
    """Return the environment's Node options with the driver guard: data that pages store must not crash the driver."""
    guard = str(_GUARD).replace("\\", "\\\\").replace('"', '\\"')
    return f'{os.environ.get("NODE_OPTIONS", "")} --require "{guard}"'.strip()


def _launch_error(choice: BrowserChoice, error: PlaywrightError) -> BrowserError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    logs = [line for line in lines if "ERROR" in line or "error while loading" in line or "Executable doesn't" in line]
    detail = "\n    ".join(dict.fromkeys([*lines[:1], *logs[-5:]]))
    where = f" ({choice.executable})" if choice.executable else ""
    return BrowserError(f"{choice.name}{where} did not start: {detail}")
