"""Measures the gateway against direct connections: small requests, a page with 20 subresources, 100 MB each way.

    python benchmarks/gateway.py [--requests 5000] [--rounds 5] [--parsers | --browser] [--json]

Three processes (site, gateway, client), raw sockets, loopback. Columns: milliseconds direct, through a bare relay, and
through the gateway, and the gateway's ratio to both. The bare relay is an asyncio program that copies bytes both ways
without reading them: the lower bound for any proxy in pure Python on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import selectors
import socket
import statistics
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

MB = 1_000_000
BROWSER_FIELDS = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "HeadlessChrome/140.0.0.0 Safari/537.36\r\n"
    "Accept: text/css,*/*;q=0.1\r\n"
    "Referer: http://homepage.test/notes\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
    "Accept-Language: en-US\r\n"
    "Cookie: sessionid=abcdef0123456789abcdef0123456789; csrftoken=abcdef0123456789\r\n"
)
SMALL = (
    b"HTTP/1.1 200 OK\r\nServer: site\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\n"
    b"Content-Type: text/javascript; charset=utf-8\r\nContent-Length: 512\r\nCache-Control: no-store\r\n"
    b'ETag: "0123456789"\r\nVary: Cookie\r\nX-Frame-Options: DENY\r\n\r\n' + b" " * 512
)
BLOCK = b"x" * 262_144


class Site(asyncio.Protocol):
    """The simplest possible server: its answers depend on nothing but the path."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.upload = 0
        self.download = 0

    def data_received(self, data: bytes) -> None:
        if not self.upload:
            head, _, data = data.partition(b"\r\n\r\n")
            line = head.split(b"\r\n", 1)[0]
            if b"/down/" in line:
                self.download = int(line.split(b"/down/")[1].split(b" ")[0])
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self.download)
                self.resume_writing()
                return
            if b"/page" in line:
                scripts = b"".join(b"<script src='/%d.js'></script>" % index for index in range(20))
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ")
                self.transport.write(b"%d\r\n\r\n%s" % (len(scripts), scripts))
                return
            if b"/up/" not in line:
                self.transport.write(SMALL)
                return
            self.upload = int(line.split(b"/up/")[1].split(b" ")[0])
        self.upload -= len(data)
        if not self.upload:
            self.transport.write(SMALL)

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        while self.download and not self.paused:
            part = BLOCK[: self.download]
            self.download -= len(part)
            self.transport.write(part)


class Relay(asyncio.Protocol):
    """Copies bytes both ways; bytes that arrive before it has connected to the target are sent afterwards."""

    def __init__(self, target: int | None, peer: Relay | None = None) -> None:
        self.target, self.peer = target, peer
        self.early = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if self.target is not None:
            self.task = asyncio.ensure_future(self.connect(self.target))

    async def connect(self, target: int) -> None:
        loop = asyncio.get_running_loop()
        _, self.peer = await loop.create_connection(lambda: Relay(None, self), "127.0.0.1", target)
        self.peer.transport.write(self.early)

    def data_received(self, data: bytes) -> None:
        if self.peer is None:
            self.early += data
        else:
            self.peer.transport.write(data)

    def pause_writing(self) -> None:
        if self.peer is not None:
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.peer is not None:
            self.peer.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.peer is not None:
            self.peer.transport.close()


def serve(kind: str, site: int, pipe: Connection) -> None:
    """Runs in the child processes: sends its port, then serves until it is terminated."""

    async def main() -> None:
        if kind == "gateway":
            from pytest_webarena.gateway.session import Gateway

            session = await Gateway().open()
            session.route("homepage.test", "127.0.0.1", site)
            pipe.send(session.port)
        else:
            make: Callable[[], asyncio.Protocol] = Site if kind == "site" else lambda: Relay(site)
            server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
            pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(main())


def request(path: str, extra: str = "", method: str = "GET") -> bytes:
    """Returns a request as a browser sends it to a proxy; the site accepts the absolute form too."""
    head = f"{method} http://homepage.test{path} HTTP/1.1\r\nHost: homepage.test\r\n{BROWSER_FIELDS}{extra}\r\n"
    return head.encode()


def connect(port: int) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def read_response(sock: socket.socket) -> int:
    """Reads one response that has a Content-Length; returns the size of its body."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        part = sock.recv(65536)
        if not part:
            raise ConnectionError("the connection ended")
        data += part
    assert data.startswith(b"HTTP/1.1 200"), data[:200]
    length = int(data[:end].lower().split(b"content-length:")[1].split(b"\r\n")[0])
    left = length - (len(data) - end - 4)
    buffer = memoryview(bytearray(1 << 20))
    while left > 0:
        count = sock.recv_into(buffer)
        if not count:
            raise ConnectionError("the connection ended")
        left -= count
    return length


def small_requests(port: int, count: int) -> list[float]:
    """Returns the seconds each of ``count`` requests took on one kept-alive connection."""
    message = request("/static/app.css?v=12")
    times = []
    with connect(port) as sock:
        for index in range(count + 50):
            start = time.perf_counter()
            sock.sendall(message)
            read_response(sock)
            if index >= 50:
                times.append(time.perf_counter() - start)
    return times


def page_load(port: int, sockets: list[socket.socket]) -> float:
    """Returns the seconds for a document and its 20 subresources on six kept-alive connections, as a browser loads
    them."""
    start = time.perf_counter()
    sockets[0].sendall(request("/"))
    read_response(sockets[0])
    left = [request(f"/static/{index}.js") for index in range(20)]
    with selectors.DefaultSelector() as selector:
        busy = 0
        for sock in sockets:
            sock.sendall(left.pop())
            selector.register(sock, selectors.EVENT_READ)
            busy += 1
        while busy:
            for key, _ in selector.select():
                ready = key.fileobj
                assert isinstance(ready, socket.socket)
                read_response(ready)
                if left:
                    ready.sendall(left.pop())
                else:
                    busy -= 1
                    selector.unregister(ready)
    return time.perf_counter() - start


def page_loads(port: int, count: int) -> list[float]:
    sockets = [connect(port) for _ in range(6)]
    try:
        return [page_load(port, sockets) for _ in range(count + 5)][5:]
    finally:
        for sock in sockets:
            sock.close()


def download(port: int, size: int) -> float:
    with connect(port) as sock:
        start = time.perf_counter()
        sock.sendall(request(f"/down/{size}"))
        assert read_response(sock) == size
        return time.perf_counter() - start


def upload(port: int, size: int) -> float:
    with connect(port) as sock:
        start = time.perf_counter()
        sock.sendall(request(f"/up/{size}", f"Content-Length: {size}\r\n", "PUT"))
        block = bytes(MB)
        for _ in range(size // MB):
            sock.sendall(block)
        read_response(sock)
        return time.perf_counter() - start


def parsers() -> dict[str, float]:
    """Returns the µs for the four heads of one exchange (parsed and written, both sides), with h11 and with our
    parser."""
    from pytest_webarena.gateway.exchange import _serialise
    from pytest_webarena.gateway.heads import parse_request, parse_response

    head_in = request("/static/app.css?v=12").decode().removesuffix("\r\n")
    head_out = SMALL.partition(b"\r\n\r\n")[0].decode() + "\r\n"

    def ours() -> None:
        parsed = parse_request(head_in)
        ("\r\n".join((f"{parsed.method} / HTTP/1.1", "Host: x", *parsed.fields)) + "\r\n\r\n").encode("latin-1")
        _serialise(parse_response(head_out), ())

    result = {"ours": _each(ours)}
    try:
        import h11
    except ImportError:
        return result
    down, up = h11.Connection(h11.SERVER), h11.Connection(h11.CLIENT)
    raw_in, raw_out = head_in.encode() + b"\r\n", SMALL

    def theirs() -> None:
        down.receive_data(raw_in)
        got = down.next_event()
        assert isinstance(got, h11.Request)
        down.next_event()
        up.send(h11.Request(method=got.method, target=b"/", headers=got.headers))
        up.send(h11.EndOfMessage())
        up.receive_data(raw_out)
        response, data = up.next_event(), up.next_event()
        assert isinstance(response, h11.Response)
        assert isinstance(data, h11.Data)
        up.next_event()
        down.send(h11.Response(status_code=response.status_code, headers=response.headers))
        down.send(data)
        down.send(h11.EndOfMessage())
        down.start_next_cycle()
        up.start_next_cycle()

    return {**result, "h11": _each(theirs)}


async def browser_page(site: int, gateway: int, loads: int) -> dict[str, float]:
    """Returns the median ms to load a page with 20 scripts in Chromium without a cache, directly and by the gateway."""
    from playwright.async_api import async_playwright

    from pytest_webarena.browser.launching.discovery import find_browser, launch_options
    from pytest_webarena.gateway.egress import DENY_ALL_PROXY, PROXY_BYPASS

    times: dict[str, list[float]] = {"direct": [], "gateway": []}
    async with async_playwright() as playwright:
        options = launch_options(find_browser(), {}, proxy=DENY_ALL_PROXY)
        through = await playwright.chromium.launch(**options)
        del options["proxy"]
        options["args"] = [f"--host-resolver-rules=MAP homepage.test 127.0.0.1:{site}"]
        straight = await playwright.chromium.launch(**options)
        pages = {
            "direct": await (await straight.new_context()).new_page(),
            "gateway": await (
                await through.new_context(proxy={"server": f"http://127.0.0.1:{gateway}", "bypass": PROXY_BYPASS})
            ).new_page(),
        }
        for index in range(loads + 5):
            for way, page in pages.items():
                start = time.perf_counter()
                await page.goto(f"http://homepage.test/page?{index}")
                if index >= 5:
                    times[way].append((time.perf_counter() - start) * 1e3)
        await through.close()
        await straight.close()
    return {way: statistics.median(values) for way, values in times.items()}


def _each(call: Callable[[], None], count: int = 3000) -> float:
    best = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            call()
        best.append((time.perf_counter() - start) / count * 1e6)
    return min(best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=5000, help="small requests per round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each way (default: %(default)s)")
    parser.add_argument("--megabytes", type=int, default=100, help="size of download and upload (default: %(default)s)")
    parser.add_argument("--parsers", action="store_true", help="only compare the head parser with h11")
    parser.add_argument("--browser", action="store_true", help="only load a page in Chromium")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    if options.parsers:
        print(json.dumps({name: round(value, 1) for name, value in parsers().items()}))
        return

    context = multiprocessing.get_context("spawn")
    children = []

    def start(kind: str, site: int = 0) -> int:
        near, far = context.Pipe()
        child = context.Process(target=serve, args=(kind, site, far), daemon=True)
        child.start()
        children.append(child)
        port = near.recv()
        assert isinstance(port, int)
        return port

    try:
        site = start("site")
        ways = {"direct": site, "bare relay": start("relay", site), "gateway": start("gateway", site)}
        if options.browser:
            medians = asyncio.run(browser_page(site, ways["gateway"], 60))
            print(json.dumps({f"{way}, ms": round(value, 1) for way, value in medians.items()}))
            return
        results: dict[str, dict[str, list[float]]] = {way: {} for way in ways}
        size = options.megabytes * MB
        for _ in range(options.rounds):
            for way, port in ways.items():
                got = results[way]
                times = small_requests(port, options.requests)
                got.setdefault("small request, median µs", []).append(statistics.median(times) * 1e6)
                got.setdefault("small request, p95 µs", []).append(statistics.quantiles(times, n=20)[18] * 1e6)
                pages = page_loads(port, 100)
                got.setdefault("page of 1 + 20, median ms", []).append(statistics.median(pages) * 1e3)
                got.setdefault("download, MB/s", []).append(options.megabytes / download(port, size))
                got.setdefault("upload, MB/s", []).append(options.megabytes / upload(port, size))
    finally:
        for child in children:
            child.terminate()
            child.join()

    table = {way: {name: statistics.median(values) for name, values in got.items()} for way, got in results.items()}
    if options.json:
        print(json.dumps(table, indent=2))
        return
    print(f"{'':28}{'direct':>10}{'bare relay':>12}{'gateway':>10}{'gateway/direct':>16}{'gateway/relay':>15}")
    for name in table["direct"]:
        direct, relay, gateway = (table[way][name] for way in ways)
        print(f"{name:28}{direct:10.1f}{relay:12.1f}{gateway:10.1f}{gateway / direct:16.2f}{gateway / relay:15.2f}")


if __name__ == "__main__":
    main()
