"""Puts the parts together: a browser on a pipe, the hub, the endpoint, and a session that sees the same pages."""

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
    """One trial's own browser. `session` is the harness's view of it, `cdp_url` the agent's way in."""

    def __init__(self, engine: BrowserEngine, config: SessionConfig, *, rooted: bool = False) -> None:
        self._engine = engine
        self._config = config
        self._rooted = rooted
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        """What the agent does, step by step, and where its pages go."""
        self._trajectory = Trajectory(self.events)
        self._pipe = ChromiumPipe(self._received, self._gone)
        headed = engine.config.launch_args.get("headless") is False
        self._hub = Hub(self._pipe, self._before, answered=self._trajectory.answered, headed=headed)
        self._windows: dict[int, dict[str, Any]] = {}
        """How windows were that the agent has resized."""
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
        """The same for clients that want an ``http://`` address, below which they ask for ``/json/version``. If the
        browser is ``rooted``, that has a port of its own and no path: clients that know host and port alone find it."""
        assert self._endpoints is not None
        return self._endpoints.http

    @property
    def refused(self) -> tuple[str, ...]:
        """Why commands of the agent were refused."""
        return tuple(self._hub.refused)

    def ran_script(self, at: float, values: bool) -> bool:
        """Whether a script of the agent's may have run at ``at``, in milliseconds of Unix time; ``values``: one that
        may have set a field, as clients do it in worlds of their own."""
        return self._trajectory.ran_script(at, in_page=not values)

    def hold(self) -> None:
        """Make the agent's commands wait, and hide pages that open from it, while the harness looks at things."""
        self._engine.run(_call(self._hub.hold), timeout=5.0, what="holding the agent")

    def release(self) -> None:
        """Let the agent go on."""
        self._engine.run(_call(self._hub.release), timeout=5.0, what="letting the agent go on")

    def shut(self, reason: str) -> None:
        """End the agent's access: what it had changed of the pages' settings is undone."""
        self._engine.run(self._shut(reason), timeout=15.0, what="ending the agent's access")

    # --- on the loop

    async def start(self) -> BrowserContext:
        """Start the browser and connect to it."""
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
        """End everything."""
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
        for sandbox in sandboxes:  # a machine without a usable sandbox ends the browser at once
            arguments = driven_arguments(config, self._config, executable, sandbox=sandbox)
            await self._pipe.start(executable, arguments, temp_dir=config.temp_dir, env=env)
            found = await self._hub.call("Browser.getVersion")
            if found:
                return {
                    "Browser": found.get("product", ""),
                    "Protocol-Version": found.get("protocolVersion", ""),
                    "User-Agent": found.get("userAgent", ""),
                    "V8-Version": found.get("jsVersion", ""),
                    "WebKit-Version": f"537.36 ({found.get('revision', '')})",  # of all Chromiums; Selenium wants it
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
        asked, shown = False, urlsplit(page.url)

        def requested(request: Request) -> None:
            nonlocal asked
            asked = asked or is_document(request)

        def navigated(frame: Frame) -> None:
            nonlocal asked, shown
            if frame != page.main_frame:
                return
            before, shown = shown, urlsplit(frame.url)
            # Scripts that change the address alone ask for no document, and stay on the site.
            within = not asked and shown.scheme in ("http", "https") and before[:2] == shown[:2]
            asked = False
            self._trajectory.navigated(frame.url, within=within, elsewhere=before[:3] != shown[:3])

        page.on("request", requested)
        page.on("framenavigated", navigated)

    async def _before(self, command: Command) -> str:
        """Before a command of the agent's is handed on: the reason for refusing it, or ``""``."""
        window = command.params.get("windowId")
        if command.method in _RESIZING and isinstance(window, int) and window not in self._windows:
            bounds = (await self._hub.call("Browser.getWindowBounds", {"windowId": window})).get("bounds", {})
            self._windows.setdefault(window, {key: bounds[key] for key in ("width", "height") if key in bounds})
        return await self._trajectory.before(command)

    async def _settle(self) -> None:
        """Undo what outlives an agent's sessions, or ends with them though it was the run's: checks come next."""
        for window, bounds in self._windows.items():
            await self._hub.call("Browser.setWindowBounds", {"windowId": window, "bounds": bounds})
        if self._config.geolocation is not None and self.context is not None:  # all permissions end with such a session
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
        await self._hub.dismiss()  # not left to the ends of connections, which may take their time
        await self._settle()
        if self._endpoints is not None:
            await self._endpoints.shut()

    def _received(self, message: dict[str, Any]) -> None:
        self._hub.received(message)

    def _gone(self) -> None:
        self._hub.gone()


class _DrivenSession(Session):
    """The harness's view of a browser that somebody else drives: it looks, and changes nothing."""

    _tends = _rests = False

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
    """A browser of its own for one trial, and the session that observes it; both end with the block.

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
    """Playwright's own build: where it says, or the headless one beside it."""
    if Path(path).exists():
        return path
    for root in (parent for parent in Path(path).parents if parent.name.startswith("chromium-")):
        for found in sorted(root.parent.glob("chromium_headless_shell-*/*/*headless*shell*")):
            if os.access(found, os.X_OK):
                return str(found)
    raise BrowserError(f"expected Playwright's browser at {path}, found none; run: playwright install chromium")
