"""One event loop with a browser, a gateway and sites, for tests of the gateway with a real browser."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from playwright.async_api import Browser, BrowserContext, Page, Playwright, async_playwright

from pytest_webarena.browser.launching.discovery import BrowserChoice, launch_options
from pytest_webarena.gateway.authority import Authority
from pytest_webarena.gateway.egress import DENY_ALL_PROXY, PROXY_BYPASS
from pytest_webarena.gateway.session import Gateway, GatewaySession
from tests.browser.steady import SteadyLoop

T = TypeVar("T")

DEADLINE = 60.0
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


class Site:
    """Responds by path; counts connections and records request heads."""

    def __init__(self) -> None:
        self.port = 0
        self.heads: list[str] = []
        self.connections = 0
        self.go_on = asyncio.Event()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                self.heads.append(head)
                length = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
                size = 0
                while length and size < int(length[0].split(":")[1]):
                    size += len(await reader.read(1 << 18))
                await self.answer(head.split(" ")[1], size, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, path: str, size: int, writer: asyncio.StreamWriter) -> None:
        if path == "/upload":
            _send(writer, str(size).encode())
        elif path == "/cookie":
            writer.write(HTML + b"Set-Cookie: who=me\r\nContent-Length: 2\r\n\r\nok")
        elif path == "/page":
            parts = "".join(f"<script src='/{index}.js'></script>" for index in range(20))
            _send(writer, f"<title>Page</title><script>n = 0</script>{parts}".encode())
        elif path == "/worker.js":
            writer.write(HTML.replace(b"html", b"javascript") + b"Content-Length: 0\r\n\r\n")
        elif path.endswith(".js"):
            _send(writer, b"n += 1")
        elif path == "/large":
            writer.write(HTML + b"Content-Length: 33554432\r\n\r\n")
            for _ in range(128):
                writer.write(bytes(1 << 18))
                await writer.drain()
        elif path == "/stream":
            writer.write(HTML + b"Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            await self.go_on.wait()
            writer.write(b"4\r\nlast\r\n0\r\n\r\n")
        else:
            _send(writer, b"<title>Home</title><h1>Hello</h1>")
        await writer.drain()


class Udp(asyncio.DatagramProtocol):
    """Counts packets."""

    def __init__(self) -> None:
        self.packets = 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.packets += 1


class Lab:
    """One event loop with a browser, a gateway and sites."""

    def __init__(self, executable: str | None, authority: Authority | None = None, *, steady: bool = True) -> None:
        """``steady``: other tests change the machine's network; False to see what browsers do with its interfaces."""
        self.choice = BrowserChoice(executable=executable, name="chromium")
        self.loop = SteadyLoop() if steady else asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.gateway = Gateway(authority=(lambda: authority) if authority is not None else None)
        self.playwright: Playwright
        self.browser: Browser

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(DEADLINE)

    async def start(self, *more: str) -> None:
        self._manager = async_playwright()
        self.playwright = await self._manager.start()
        self.browser = await self.launch(*more)

    async def launch(self, *more: str, without: str = "\0") -> Browser:
        """A browser as the plugin starts it; ``more`` flags, and none that begins with ``without``."""
        options = launch_options(self.choice, {"args": more}, proxy=DENY_ALL_PROXY)
        options["args"] = [arg for arg in options["args"] if without not in arg]
        return await self.playwright.chromium.launch(**options)

    @asynccontextmanager
    async def site(self) -> AsyncIterator[Site]:
        site = Site()
        server = await asyncio.start_server(site.handle, "127.0.0.1", 0)
        site.port = server.sockets[0].getsockname()[1]
        try:
            yield site
        finally:
            server.close()

    @asynccontextmanager
    async def world(self, browser: Browser | None = None) -> AsyncIterator[tuple[Page, GatewaySession, Site]]:
        """A page whose context reaches http://homepage.test, and nothing else."""
        async with self.site() as site:
            session = await self.gateway.open()
            session.route("homepage.test", "127.0.0.1", site.port)
            context = await self.context(session, browser)
            try:
                yield await context.new_page(), session, site
            finally:
                await context.close()
                await session.close()

    async def context(self, session: GatewaySession, browser: Browser | None = None) -> BrowserContext:
        proxy: Any = {"server": f"http://127.0.0.1:{session.port}", "bypass": PROXY_BYPASS}
        return await (browser or self.browser).new_context(proxy=proxy)

    async def stop(self) -> None:
        await self.browser.close()
        await self._manager.__aexit__()
        await self.gateway.close()

    def close(self) -> None:
        try:
            self.run(self.stop())
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(10)
            self.loop.close()


Test = Callable[[Page, GatewaySession, Site], Awaitable[None]]


def with_page(lab: Lab, test: Test) -> None:
    async def work() -> None:
        async with lab.world() as (page, session, site):
            await test(page, session, site)

    lab.run(work())


def _send(writer: asyncio.StreamWriter, content: bytes) -> None:
    writer.write(HTML + b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
