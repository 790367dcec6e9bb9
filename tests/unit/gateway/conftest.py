"""A gateway and scripted sites on a loop thread, driven by the tests with plain blocking sockets."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.log import Totals
from pytest_webarena.gateway.session import Gateway, GatewaySession

T = TypeVar("T")

DEADLINE = 30.0
"""Seconds after which a test gives up waiting; no test needs a noticeable part of it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as the site got it."""

    line: str
    head: str
    body: bytes
    connection: int
    """Number of the connection, from 1."""

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]

    @property
    def fields(self) -> list[str]:
        return self.head.split("\r\n")[1:-2]


Answer = Callable[[Seen], bytes | None]
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def ok(seen: Seen) -> bytes:
    """The default answer: the body, or the path when there is none."""
    content = seen.body or seen.path.encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)


@dataclass
class Site:
    """A scripted site. ``answer`` gives raw bytes; None closes the connection without an answer."""

    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    ended: threading.Event = field(default_factory=threading.Event)
    """Set when a connection to the site has ended."""


class Browser:
    """One raw connection to the gateway."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
        self._buffer = b""

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def get(self, url: str, *fields: str) -> tuple[int, str, bytes]:
        """Send a GET and read its answer."""
        host = url.split("/")[2]
        self.send("\r\n".join([f"GET {url} HTTP/1.1", f"Host: {host}", *fields, "", ""]).encode())
        return self.response()

    def head(self) -> str:
        """Read up to the end of a response head."""
        while b"\r\n\r\n" not in self._buffer:
            self._buffer += self._receive()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        return head.decode("latin-1")

    def exactly(self, count: int) -> bytes:
        parts, left = [self._buffer], count - len(self._buffer)
        while left > 0:
            parts.append(self._receive())
            left -= len(parts[-1])
        data = b"".join(parts)
        self._buffer = data[count:]
        return data[:count]

    def response(self, *, body: bool = True) -> tuple[int, str, bytes]:
        """Status, head and body of a response with a Content-Length or until the end."""
        head = self.head()
        status = int(head.split(" ")[1])
        length = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
        if not body:
            return status, head, b""
        return status, head, self.exactly(int(length[0].split(":")[1])) if length else self.rest()

    def rest(self) -> bytes:
        """Everything until the gateway ends the connection."""
        parts = [self._buffer]
        self._buffer = b""
        while data := self.sock.recv(1 << 18):
            parts.append(data)
        return b"".join(parts)

    def closed(self) -> bool:
        """Whether the gateway ends the connection, with nothing more to read."""
        return self.rest() == b""

    def close(self) -> None:
        self.sock.close()

    def _receive(self) -> bytes:
        data = self.sock.recv(1 << 18)
        if not data:
            raise ConnectionError(f"the connection ended after {self._buffer[:200]!r}")
        return data


class World:
    """Everything a test needs; closed by the fixture."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda _, context: self.faults.append(context))
        self.faults: list[dict[str, Any]] = []
        """What nobody caught on the loop; the fixture fails the test on any."""
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._gateways: list[Gateway] = []
        self._browsers: list[Browser | http.client.HTTPConnection] = []
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run on the loop, from the test's thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(DEADLINE)

    def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Call on the loop's thread."""

        async def work() -> T:
            return function(*args, **options)

        return self.run(work())

    def session(self, **options: Any) -> GatewaySession:
        """A session of a gateway of its own."""

        async def work() -> GatewaySession:
            gateway = Gateway(**options)
            self._gateways.append(gateway)
            return await gateway.open()

        return self.run(work())

    def serve(self, answer: Answer = ok, **options: Any) -> tuple[GatewaySession, Site]:
        """A session whose http://homepage.test is a site that gives ``answer``."""
        session, site = self.session(**options), self.site(answer)
        self.route(session, site.port)
        return session, site

    def serve_raw(self, handler: Handler, **options: Any) -> tuple[GatewaySession, Site]:
        """The same for a site that reads and writes bytes itself."""
        session, site = self.session(**options), self.raw_site(handler)
        self.route(session, site.port)
        return session, site

    def route(self, session: GatewaySession, site_port: int, host: str = "homepage.test", **options: Any) -> None:
        self.call(session.route, host, "127.0.0.1", site_port, **options)

    def site(self, answer: Answer = ok, *, at: str = "127.0.0.1", port: int = 0) -> Site:
        async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = site.connections
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:-2])
                if fields.get("expect") == "100-continue":
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = b""
                if "content-length" in fields:
                    body = await reader.readexactly(int(fields["content-length"]))
                elif "transfer-encoding" in fields:
                    while size := int((await reader.readline()).split(b";")[0], 16):
                        body += (await reader.readexactly(size + 2))[:-2]
                    while await reader.readline() != b"\r\n":
                        pass
                seen = Seen(head.split("\r\n")[0], head, body, connection)
                site.seen.append(seen)
                data = answer(seen)
                if data is None:
                    return
                writer.write(data)
                await writer.drain()
                version_1_0 = data.startswith(b"HTTP/1.0") or head.split("\r\n")[0].endswith("1.0")
                if version_1_0 or b"connection: close" in data.lower():
                    return

        site = self.raw_site(handler, at=at, port=port)
        return site

    def raw_site(self, handler: Handler, *, at: str = "127.0.0.1", port: int = 0) -> Site:
        site = Site()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            site.connections += 1
            try:
                await handler(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError):
                pass  # the gateway ended it
            except ValueError:
                pass  # a malformed chunk, as sent by the test
            finally:
                site.ended.set()
                writer.close()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self.loop.create_task(connected(reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        async def work() -> asyncio.Server:
            return await asyncio.start_server(accept, at, port)

        server = self.run(work())
        self._servers.append(server)
        site.port = server.sockets[0].getsockname()[1]
        return site

    def browser(self, session: GatewaySession) -> Browser:
        browser = Browser(session.port)
        self._browsers.append(browser)
        return browser

    def http(self, session: GatewaySession) -> http.client.HTTPConnection:
        """The standard library's client; give it absolute URLs."""
        client = http.client.HTTPConnection("127.0.0.1", session.port, timeout=DEADLINE)
        self._browsers.append(client)
        return client

    def requests(self, session: GatewaySession) -> list[RequestRecord]:
        """The session's log, read where it is written."""
        return self.call(session.requests)

    def totals(self, session: GatewaySession) -> Totals:
        return self.call(lambda: session.totals)

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that happens on the loop without a signal of its own."""
        end = time.monotonic() + DEADLINE
        while not self.call(condition):
            assert time.monotonic() < end, "the condition did not come true"

    def close(self) -> None:
        for browser in self._browsers:
            browser.close()

        async def work() -> None:
            for gateway in self._gateways:
                await gateway.close()
            for server in self._servers:
                server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            assert not left, f"tasks left behind: {left}"

        try:
            self.run(work())
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(DEADLINE)
            self.loop.close()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()
    assert not world.faults
