"""A driven browser: the browser on a pipe, the hub, the endpoint, and a session that observes the same pages."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, Frame, Page, Request
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import EngineConfig, SessionConfig
from pytest_webarena.browser.driven.hub import Command, Hub
from pytest_webarena.browser.driven.pipe import ChromiumPipe
from pytest_webarena.browser.driven.server import Endpoints
from pytest_webarena.browser.driven.trajectory import Event, Trajectory
from pytest_webarena.browser.launching.discovery import driven_arguments, find_browser
from pytest_webarena.browser.messages import first_line
from pytest_webarena.browser.reading.matches import register_reader
from pytest_webarena.browser.session import Session
from pytest_webarena.browser.tabs.aborted_requests import is_document
from pytest_webarena.errors import BrowserError

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine

__all__ = ["Driven", "open_driven"]

_RESIZING = frozenset({"Browser.setContentsSize", "Browser.setWindowBounds"})


class Driven:
    """One trial's own browser. `session` is the harness's view of it, `cdp_url` the agent's address."""

    def __init__(self, engine: BrowserEngine, config: SessionConfig, *, rooted: bool = False) -> None:
        self._engine = engine
        self._config = config
        self._rooted = rooted
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        """The agent's steps, and navigations of its pages."""
        self._trajectory = Trajectory(self.events)
        self._pipe = ChromiumPipe(self._received, self._on_browser_exit)
        headed = engine.config.launch_args.get("headless") is False
        self._hub = Hub(self._pipe, self._before, answered=self._trajectory.answered, headed=headed)
        self._windows: dict[int, dict[str, Any]] = {}
        """Original sizes of windows that the agent has resized, by window id."""
        self._endpoints: Endpoints | None = None
        self._browser: Browser | None = None
        self.context: BrowserContext | None = None
        self.version = ""
        """Name and version of the browser."""

    @property
    def cdp_url(self) -> str:
        """WebSocket address for the agent; whoever knows it can drive the browser."""
        assert self._endpoints is not None
        return self._endpoints.agents

    @property
    def http_url(self) -> str:
        """``http://`` address for clients that request ``/json/version`` below it.

        If the browser is ``rooted``, it has a port of its own and no path, for clients that only know host and port."""
        assert self._endpoints is not None
        return self._endpoints.http

    @property
    def refused(self) -> tuple[str, ...]:
        """Reasons for which commands of the agent were refused."""
        return tuple(self._hub.refused)

    def ran_script(self, at: float, values: bool) -> bool:
        """Return whether a script of the agent may have run at ``at``, in milliseconds of Unix time.

        ``values``: include scripts that may have set a field in a world of the client's own.
        """
        return self._trajectory.ran_script(at, in_page=not values)

    def hold(self) -> None:
        """Delay the agent's commands, and hide new pages from it, while the harness reads pages."""
        self._engine.run(_call(self._hub.hold), timeout=5.0, what="holding the agent")

    def release(self) -> None:
        """Let the agent continue."""
        self._engine.run(_call(self._hub.release), timeout=5.0, what="letting the agent go on")

    def shut(self, reason: str) -> None:
        """End the agent's access and undo its changes of the pages' settings."""
        self._engine.run(self._shut(reason), timeout=15.0, what="ending the agent's access")

    # --- on the loop

    async def start(self) -> BrowserContext:
        """Start the browser, connect to it, and return its context."""
        config = self._engine.config
        if config.browser_name != "chromium" or (config.launch_args.get("channel") and not config.executable):
            raise BrowserError(
                "self-driving agents need a Chromium given by --browser-executable or found automatically"
            )
        choice = find_browser(
            config.executable or config.launch_args.get("executable_path"),
            browser_name=config.browser_name,
            headed=config.launch_args.get("headless") is False,
        )
        playwright = await self._engine.playwright()
        executable = choice.executable or _of_playwright(playwright.chromium.executable_path)
        seconds = config.deadlines.launch
        try:
            async with asyncio.timeout(seconds):
                version = await self._launch(executable, config)
                self.version = f"{choice.name} {version.get('Browser', '').rpartition('/')[2]}"
                self._endpoints = Endpoints(self._hub, self._pages, version, rooted=self._rooted)
                await self._endpoints.start()
                self._browser = await playwright.chromium.connect_over_cdp(self._endpoints.own)
                self.context = self._browser.contexts[0]
                await register_reader(playwright, self.context)
                await self._prepare(self.context)
        except (TimeoutError, PlaywrightError, IndexError, OSError) as error:
            detail = first_line(error) if str(error) else f"no answer within {seconds:g} s"
            raise BrowserError(f"{executable} can't be driven: {detail}") from error
        return self.context

    async def close(self) -> None:
        """Close the connection, the endpoints and the browser."""
        seconds = self._config.deadlines.close
        if self._browser is not None:
            with contextlib.suppress(PlaywrightError, TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._browser.close()  # the connection
        if self._endpoints is not None:
            await self._endpoints.close()
        await self._pipe.close(seconds)

    async def _launch(self, executable: str, config: EngineConfig) -> dict[str, Any]:
        env = {"TZ": self._config.timezone}
        sandboxes = (False,) if hasattr(os, "geteuid") and os.geteuid() == 0 else (True, False)
        if (wanted := config.launch_args.get("chromium_sandbox")) is not None:
            sandboxes = (bool(wanted),)
        for sandbox in sandboxes:  # without a usable sandbox, the browser exits at once
            arguments = driven_arguments(config, self._config, executable, sandbox=sandbox)
            await self._pipe.start(executable, arguments, temp_dir=config.temp_dir, env=env)
            found = await self._hub.call("Browser.getVersion")
            if found:
                return {
                    "Browser": found.get("product", ""),
                    "Protocol-Version": found.get("protocolVersion", ""),
                    "User-Agent": found.get("userAgent", ""),
                    "V8-Version": found.get("jsVersion", ""),
                    "WebKit-Version": f"537.36 ({found.get('revision', '')})",  # needed by Selenium
                }
            await self._pipe.close(1.0)
        raise BrowserError(f"{executable} ended as soon as it was started")

    async def _prepare(self, context: BrowserContext) -> None:
        context.on("page", self._on_page)
        state = self._config.storage_state
        if state:
            await context.set_storage_state(dict(state))  # type: ignore[arg-type]
        if self._config.geolocation is not None:
            await context.set_geolocation(asdict(self._config.geolocation))  # type: ignore[arg-type]
            await context.grant_permissions(["geolocation"])

    def _on_page(self, page: Page) -> None:
        was_requested, url = False, urlsplit(page.url)

        def requested(request: Request) -> None:
            nonlocal was_requested
            was_requested = was_requested or is_document(request)

        def navigated(frame: Frame) -> None:
            nonlocal was_requested, url
            if frame != page.main_frame:
                return
            before, url = url, urlsplit(frame.url)
            # Scripts that only change the address request no document and stay on the site.
            within = not was_requested and url.scheme in ("http", "https") and before[:2] == url[:2]
            was_requested = False
            self._trajectory.navigated(frame.url, within=within, elsewhere=before[:3] != url[:3])

        page.on("request", requested)
        page.on("framenavigated", navigated)

    async def _before(self, command: Command) -> str:
        """Record a command before it is forwarded; return the reason for refusing it, or ``""``."""
        window = command.params.get("windowId")
        if command.method in _RESIZING and isinstance(window, int) and window not in self._windows:
            bounds = (await self._hub.call("Browser.getWindowBounds", {"windowId": window})).get("bounds", {})
            self._windows.setdefault(window, {key: bounds[key] for key in ("width", "height") if key in bounds})
        return await self._trajectory.before(command)

    async def _settle(self) -> None:
        """Undo changes that outlive the agent's sessions, and restore settings that ended with them, for the checks."""
        for window, bounds in self._windows.items():
            await self._hub.call("Browser.setWindowBounds", {"windowId": window, "bounds": bounds})
        if self._config.geolocation is not None and self.context is not None:  # all permissions end with a session
            with contextlib.suppress(PlaywrightError):
                await self.context.grant_permissions(["geolocation"])

    async def _pages(self) -> list[dict[str, Any]]:
        found = (await self._hub.call("Target.getTargets")).get("targetInfos", [])
        return [
            {"id": info["targetId"], "type": "page", "title": info.get("title", ""), "url": info.get("url", "")}
            for info in found
            if info.get("type") == "page"
        ]

    async def _shut(self, reason: str) -> None:
        self._trajectory.stop(reason)
        self._hub.release()
        await self._hub.dismiss()  # connections may take long to close
        await self._settle()
        if self._endpoints is not None:
            await self._endpoints.shut()

    def _received(self, message: dict[str, Any]) -> None:
        self._hub.handle_message(message)

    def _on_browser_exit(self) -> None:
        self._hub.handle_browser_exit()


class _DrivenSession(Session):
    """The harness's session in a browser that an agent drives; it observes and changes nothing."""

    _recovers_pages = _settles = False

    def __init__(self, engine: BrowserEngine, config: SessionConfig, driven: Driven) -> None:
        super().__init__(engine, config)
        self._driven = driven
        self.signals.commanded = driven.ran_script

    @property
    def browser_version(self) -> str:
        return self._driven.version

    async def _open(self) -> BrowserContext:
        return await self._driven.start()


@contextmanager
def open_driven(
    engine: BrowserEngine, config: SessionConfig, *, rooted: bool = False
) -> Iterator[tuple[Session, Driven]]:
    """Open a separate browser for one trial, and the session that observes it; both end with the block.

    ``rooted``: its ``http_url`` has no path (`Endpoints`).
    """
    driven = Driven(engine, config, rooted=rooted)
    session = _DrivenSession(engine, config, driven)
    launch = engine.config.deadlines.launch
    try:
        engine.run(session.start(), timeout=2 * launch + config.deadlines.context, what="opening a driven browser")
        yield session, driven
    finally:
        session.close()
        with contextlib.suppress(BrowserError):
            engine.run(driven.close(), timeout=4 * config.deadlines.close, what="closing a driven browser")


async def _call(function: Any) -> None:
    function()


def _of_playwright(path: str) -> str:
    """Return the path of Playwright's own build, or of the headless build next to it."""
    if Path(path).exists():
        return path
    for root in (parent for parent in Path(path).parents if parent.name.startswith("chromium-")):
        for found in sorted(root.parent.glob("chromium_headless_shell-*/*/*headless*shell*")):
            if os.access(found, os.X_OK):
                return str(found)
    raise BrowserError(f"expected Playwright's browser at {path}, found none; run: playwright install chromium")
