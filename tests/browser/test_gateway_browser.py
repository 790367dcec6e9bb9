"""The gateway with a real browser: sites by their names, and no other network access."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page
from playwright.async_api import Error as PlaywrightError
from websockets.asyncio.server import ServerConnection, serve

from pytest_webarena.gateway.egress import CHROMIUM_EGRESS_ARGS, DENY_ALL_PROXY
from pytest_webarena.gateway.session import GatewaySession
from tests.browser.gateway_lab import Lab, Site, Udp, with_page

HOME = "http://homepage.test"
SOON = 12.0
"""Seconds within which a request is rejected at once, also on a busy machine. Connection attempts take 20 or more."""


@pytest.fixture(scope="module")
def lab(browser_executable: str | None) -> Iterator[Lab]:
    with running(Lab(browser_executable)) as lab:
        yield lab


@pytest.fixture(scope="module")
def open_lab(browser_executable: str | None) -> Iterator[Lab]:
    """A lab whose browsers see the machine's interfaces; network changes interrupt their requests."""
    with running(Lab(browser_executable, steady=False)) as lab:
        yield lab


@contextmanager
def running(lab: Lab) -> Iterator[Lab]:
    lab.run(lab.start())
    yield lab
    lab.close()


def test_page_with_many_parts_loads_over_six_connections(lab: Lab) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        response = await page.goto(f"{HOME}/page")
        assert response is not None
        assert (response.status, await page.title(), await page.evaluate("n")) == (200, "Page", 20)
        assert page.url == f"{HOME}/page"
        assert all("\r\nHost: homepage.test\r\n" in head for head in site.heads)
        assert not any("proxy" in head.lower() for head in site.heads)
        # The browser never opens more than six connections to a host, and the pool needs no more than that.
        assert site.connections <= 6
        logged = {record.url: record.status for record in session.requests()}
        assert {f"{HOME}/{index}.js" for index in range(20)} < set(logged)
        assert set(logged.values()) == {200}
        assert session.unsafe == ""

    with_page(lab, test)


def test_cookies_are_sent_only_to_their_host(lab: Lab) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        session.route("wikipedia.test", "127.0.0.1", site.port)
        await page.goto(f"{HOME}/cookie")
        await page.goto("http://wikipedia.test/")
        await page.goto(f"{HOME}/again")
        sent = {head.split(" ")[1]: "Cookie: who=me" in head for head in site.heads if "favicon" not in head}
        assert sent == {"/cookie": False, "/": False, "/again": True}

    with_page(lab, test)


def test_new_replica_serves_the_same_host_name(lab: Lab) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        await page.goto(f"{HOME}/cookie")
        async with lab.site() as other:
            session.route("homepage.test", "127.0.0.1", other.port)
            await page.reload()
            assert "Cookie: who=me" in other.heads[0]

    with_page(lab, test)


def test_websocket_messages_are_forwarded(lab: Lab) -> None:
    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            await connection.send(message)

    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        async with serve(echo, "127.0.0.1", 0, max_size=None, compression=None) as server:
            session.route("live.test", "127.0.0.1", next(iter(server.sockets)).getsockname()[1], port=8080)
            await page.goto(HOME)
            script = """() => new Promise((resolve, reject) => {
                const socket = new WebSocket('ws://live.test:8080/chat?room=1'), got = [];
                socket.binaryType = 'arraybuffer';
                socket.onopen = () => { socket.send('hello'); socket.send(new Uint8Array(1 << 20)) };
                socket.onmessage = event => {
                    got.push(event.data.byteLength || event.data);
                    if (got.length == 2) socket.close();
                };
                socket.onclose = event => resolve([...got, event.wasClean]);
            })"""
            assert await page.evaluate(script) == ["hello", 1 << 20, True]
        assert session.unsafe_hosts == {"live.test": "WebSocket http://live.test:8080/chat?room=1"}
        handshake = session.requests()[-1]
        assert (handshake.url, handshake.status) == ("http://live.test:8080/chat?room=1", 101)
        assert handshake.response_bytes > 1 << 20

    with_page(lab, test)


ATTEMPTS = {
    "fetch": "url => fetch(url, {mode: 'no-cors'}).then(response => response.text())",
    "image": """url => new Promise((resolve, reject) => {
        const image = new Image(); image.onload = resolve; image.onerror = reject; image.src = url })""",
    "frame": """url => new Promise(resolve => {
        const frame = document.createElement('iframe'); frame.onload = resolve; frame.src = url;
        document.body.append(frame) })""",
    "socket": """url => new Promise((resolve, reject) => {
        const socket = new WebSocket(url.replace('http', 'ws')); socket.onopen = resolve; socket.onerror = reject })""",
}


@pytest.mark.matrix(2)
@pytest.mark.parametrize("how", ATTEMPTS)
def test_foreign_references_fail_at_once_without_a_connection(lab: Lab, how: str) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        await page.goto(HOME)
        async with lab.site() as outside:
            for url in (
                "http://example.com/",
                "https://example.com/",
                "http://homepage.test:8080/",
                "https://homepage.test/",
                # The rule that loopback bypasses every proxy is off.
                f"http://127.0.0.1:{outside.port}/",
                f"http://localhost:{outside.port}/",
                f"http://app.localhost:{outside.port}/",
                f"http://[::1]:{outside.port}/",
                f"http://169.254.169.254:{outside.port}/",
            ):
                started = time.monotonic()
                try:
                    await page.evaluate(ATTEMPTS[how], url)
                except PlaywrightError:
                    pass
                else:
                    # The page does not learn whether these succeeded.
                    assert how in ("fetch", "frame"), url
                assert time.monotonic() - started < SOON, url
            assert outside.connections == 0
        refused = [record for record in session.requests() if record.refused]
        assert len(refused) >= 9
        assert {record.status for record in refused} == {403}

    with_page(lab, test)


def test_cross_origin_fetch_to_a_foreign_host_is_an_error_for_the_page(lab: Lab) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        await page.goto(HOME)
        for options in ("{}", "{method: 'POST', body: 'x'}", "{method: 'PUT', headers: {'X-A': 'b'}}"):
            with pytest.raises(PlaywrightError, match="Failed to fetch"):
                await page.evaluate(f"fetch('http://example.com/', {options})")
        assert session.unsafe == ""
        refused = [(each.method, each.request_body) for each in session.requests() if each.refused]
        assert refused == [("GET", None), ("POST", "x"), ("OPTIONS", None), ("PUT", None)]

    with_page(lab, test)


def test_error_page_for_foreign_host_lists_reachable_sites(lab: Lab) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        response = await page.goto("http://example.com/shop?x=1")
        assert response is not None
        assert response.status == 403
        assert await page.title() == "example.com can't be reached"
        assert "not one of this task's sites" in await page.inner_text("p")
        await page.click("text=http://homepage.test/")
        await page.wait_for_url(f"{HOME}/")

    with_page(lab, test)


def test_https_navigation_fails_at_once(lab: Lab) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        started = time.monotonic()
        with pytest.raises(PlaywrightError, match="ERR_TUNNEL_CONNECTION_FAILED"):
            await page.goto("https://example.com/")
        assert time.monotonic() - started < SOON

    with_page(lab, test)


def test_dead_site_shows_an_error_page(lab: Lab) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        session.route("gone.test", "127.0.0.1", 1)
        response = await page.goto("http://gone.test/")
        assert response is not None
        assert response.status == 502
        assert await page.inner_text("h1") == "gone.test does not work"
        assert "gone.test" in session.upstream_error

    with_page(lab, test)


def test_context_without_a_session_reaches_nothing(lab: Lab) -> None:
    async def work() -> None:
        async with lab.site() as outside:
            context = await lab.browser.new_context()
            try:
                page = await context.new_page()
                for url in (HOME, "https://example.com/", f"http://127.0.0.1:{outside.port}/"):
                    started = time.monotonic()
                    with pytest.raises(PlaywrightError, match="ERR_PROXY_CONNECTION_FAILED"):
                        await page.goto(url)
                    assert time.monotonic() - started < SOON
                    await page.close()
                    page = await context.new_page()
            finally:
                await context.close()
            assert outside.connections == 0

    lab.run(work())


STUN = """async url => {
    const peer = new RTCPeerConnection({iceServers: [{urls: url}]});
    peer.createDataChannel('x');
    const complete = new Promise(resolve => {
        peer.onicegatheringstatechange = () => { if (peer.iceGatheringState == 'complete') resolve() } });
    await peer.setLocalDescription(await peer.createOffer());
    await Promise.race([complete, new Promise(resolve => setTimeout(resolve, 1000))]);
    peer.close();
}"""


def test_webrtc_sends_nothing_past_the_proxy(open_lab: Lab) -> None:
    async def packets(browser: Browser) -> int:
        transport, udp = await asyncio.get_running_loop().create_datagram_endpoint(Udp, local_addr=("127.0.0.1", 0))
        try:
            async with open_lab.world(browser) as (page, _, _):
                await page.goto(HOME)
                await page.evaluate(STUN, f"stun:127.0.0.1:{transport.get_extra_info('sockname')[1]}")
        finally:
            transport.close()
        return udp.packets

    async def work() -> None:
        assert await packets(open_lab.browser) == 0
        # The counter-check: without the flags the packets do come, so the listener would have seen them.
        unprotected = await open_lab.launch(without="webrtc-ip-handling-policy")
        try:
            assert await packets(unprotected) > 0
        finally:
            await unprotected.close()

    open_lab.run(work())


def test_browser_opens_no_other_socket_and_resolves_no_name(open_lab: Lab, tmp_path: Path) -> None:
    """Read from the browser's own network log, which includes what never leaves the machine."""
    log = tmp_path / "net.json"

    async def work() -> int:
        browser = await open_lab.launch(f"--log-net-log={log}")
        try:
            async with open_lab.world(browser) as (page, session, _):
                await page.goto(f"{HOME}/page")
                await page.evaluate("""() => {
                    for (const [rel, href] of [['dns-prefetch', '//prefetch.example'], ['preconnect', 'https://pre.example'],
                        ['prefetch', 'http://prefetch.example/x'], ['stylesheet', 'https://cdn.example/a.css']]) {
                        const link = document.createElement('link'); link.rel = rel; link.href = href;
                        document.head.append(link);
                    }
                    navigator.sendBeacon('https://beacon.example/', 'x');
                }""")
                await page.evaluate("fetch('https://last.example/').catch(() => 0)")
                await page.evaluate(STUN, "stun:stun.example:3478")
                return session.port
        finally:
            await browser.close()

    port = open_lab.run(work())
    record = json.loads(log.read_text("utf-8"))
    names = {number: name for name, number in record["constants"]["logEventTypes"].items()}
    events = [(names[event["type"]], event.get("params", {})) for event in record["events"]]
    addresses = {params["address"] for name, params in events if name.startswith("TCP_CONNECT") and "address" in params}
    assert f"127.0.0.1:{port}" in addresses
    assert addresses <= {f"127.0.0.1:{port}", DENY_ALL_PROXY.removeprefix("http://")}
    # Not UDP_CONNECT: Chromium "connects" a UDP socket to see whether there is a route for IPv6; that sends nothing.
    forbidden = {
        "UDP_BYTES_SENT",
        "HOST_RESOLVER_MANAGER_CREATE_JOB",
        "HOST_RESOLVER_MANAGER_JOB",
        "HOST_RESOLVER_SYSTEM_TASK",
        "HOST_RESOLVER_DNS_TASK",
    }
    assert forbidden <= set(names.values()), "this Chromium names its events differently"
    assert not forbidden & {name for name, _ in events}


def test_large_upload_and_download_are_forwarded(lab: Lab) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        await page.goto(HOME)
        size = 32 * 1024 * 1024
        up = "size => fetch('/upload', {method: 'POST', body: new Blob([new Uint8Array(size)])}).then(r => r.text())"
        assert await page.evaluate(up, size) == str(size)
        assert await page.evaluate("fetch('/large').then(r => r.arrayBuffer()).then(b => b.byteLength)") == size
        assert session.unsafe == f"POST {HOME}/upload"
        upload = next(record for record in session.requests() if record.method == "POST")
        assert upload.request_bytes == size
        assert upload.request_body == "base64:" + base64.b64encode(bytes(65536)).decode()

    with_page(lab, test)


def test_streamed_response_is_forwarded_without_buffering(lab: Lab) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        await page.goto(HOME)
        first = """async () => {
            reader = (await fetch('/stream')).body.getReader();
            return new TextDecoder().decode((await reader.read()).value);
        }"""
        assert await page.evaluate(first) == "first"
        site.go_on.set()
        assert await page.evaluate("reader.read().then(part => new TextDecoder().decode(part.value))") == "last"

    with_page(lab, test)


def test_playwright_api_requests_are_logged(lab: Lab) -> None:
    """They use a tunnel even for plain HTTP; they are still logged and judged by their method."""

    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        await page.goto(f"{HOME}/cookie")
        response = await page.context.request.get(f"{HOME}/api")
        assert response.status == 200
        assert "cookie: who=me" in site.heads[-1]
        assert session.requests()[-1].url == f"{HOME}/api"
        assert session.unsafe == ""
        await page.context.request.post(f"{HOME}/api", data="x")
        assert session.unsafe == f"POST {HOME}/api"
        for url in ("http://example.com/", "https://example.com/"):
            assert (await page.context.request.get(url)).status == 403

    with_page(lab, test)


def test_no_egress_flag_sets_browser_features() -> None:
    """Chromium uses only the last --disable-features, so another one would override Playwright's."""
    assert not [arg for arg in CHROMIUM_EGRESS_ARGS if arg.startswith(("--disable-features", "--enable-features"))]
