"""A person's own Chromium with the recorder's extension, and a small site that it visits. Headless shells have no
extensions, so tests skip where there is no other Chromium."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.agents.builtin import describe_step
from pytest_webarena.browser.launching.discovery import find_browser
from pytest_webarena.errors import BrowserError
from pytest_webarena.recorder.extension.packing import ORIGIN
from pytest_webarena.recorder.extension.serving import ExtensionOptions, ExtensionServer, open_server
from pytest_webarena.recorder.page.panel import Panel
from pytest_webarena.recorder.steps import steps_of

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Worker

__all__ = ["Chrome", "chrome_with", "in_chrome", "serve_pages", "serve_recording"]

PATIENCE = 30.0


@contextmanager
def serve_pages(pages: Callable[[str], str]) -> Iterator[str]:
    """Serve what ``pages`` returns for a path, on 127.0.0.1 and localhost; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<!doctype html>{pages(self.path)}".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serve_recording(
    folder: Path, base: str, *, origins: tuple[str, ...] = (), pictures: bool = False
) -> Iterator[ExtensionServer]:
    """Serve a recording of the site at ``base``, without a flow behind it."""
    options = ExtensionOptions(
        folder=folder, sites={"site": base}, start=f"{base}/", origins=(base, *origins), named=lambda text: text
    )
    with open_server(Panel("", "", ["site"]), options, port=0, pictures=pictures) as server:
        assert isinstance(server, ExtensionServer)
        yield server
        server.extension_token = secrets.token_urlsafe(24)  # open connections outlive a server in the same process


def recorded_steps(server: ExtensionServer) -> list[str]:
    """Return the recorded steps in words, once the extension has sent everything."""
    assert server.extension.wait_until_complete(PATIENCE)
    assert server.extension.signals_lost == 0
    steps = steps_of(server.extension.signals(), before=server.extension.signals_before)
    return [describe_step(step.action) for step in steps]


@dataclass
class Chrome:
    """The browser, with the extension's popup in a window that is not recorded."""

    context: BrowserContext
    popup: Page
    worker: Worker

    async def record(self, url: str) -> Page:
        """Press the popup's button; return the recorded window's page when it shows ``url``."""
        async with self.context.expect_page() as opened:
            await self.popup.click("#record")
        page = await opened.value
        await page.wait_for_url(url)
        return page

    async def badge(self, text: str) -> None:
        """Wait until the extension's badge has this text."""
        async with asyncio.timeout(PATIENCE):
            while await self.popup.evaluate("chrome.action.getBadgeText({})") != text:
                await asyncio.sleep(0.1)


@asynccontextmanager
async def chrome_with(folder: Path, profile: Path) -> AsyncIterator[Chrome]:
    """Start a browser with the extension in ``folder``."""
    from playwright.async_api import async_playwright

    try:
        choice = find_browser(headed=True)
    except BrowserError:
        pytest.skip("there is no Chromium with extensions: install the package chromium")
    loading = [f"--disable-extensions-except={folder}", f"--load-extension={folder}"]
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            profile, headless=False, executable_path=choice.executable,
            args=["--headless=new", "--no-sandbox", *loading],
        )  # fmt: skip
        context.set_default_timeout(PATIENCE * 1000)
        try:
            workers = context.service_workers
            worker = workers[0] if workers else await context.wait_for_event("serviceworker")
            popup = await context.new_page()
            await popup.goto(f"{ORIGIN}/popup.html")
            yield Chrome(context, popup, worker)
        finally:
            await context.close()


def in_chrome(folder: Path, profile: Path, act: Callable[[Chrome], Awaitable[None]]) -> None:
    """Run ``act`` with such a browser."""

    async def run() -> None:
        async with chrome_with(folder, profile) as chrome:
            await act(chrome)

    failures: list[BaseException] = []

    def in_thread() -> None:  # another loop may be running in this one
        try:
            asyncio.run(run())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
