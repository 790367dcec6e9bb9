"""https hosts served by the gateway in a real browser: a secure context with all requests recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page
from websockets.asyncio.server import ServerConnection, serve

from pytest_webarena.gateway.authority import Authority
from pytest_webarena.gateway.egress import CHROMIUM_EGRESS_ARGS, PROXY_BYPASS, trust_arguments
from pytest_webarena.gateway.session import GatewaySession
from tests.browser.gateway_lab import Lab, Site, with_page

HOME = "https://homepage.test"
WORKER = """async () => {
    const registration = await navigator.serviceWorker.register('/worker.js');
    await new Promise(done => {
        const worker = registration.installing || registration.waiting || registration.active;
        const look = () => worker.state == 'activated' && done();
        worker.onstatechange = look; look();
    });
    return [isSecureContext, typeof crypto.subtle];
}"""


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def lab(browser_executable: str | None, authority: Authority) -> Iterator[Lab]:
    lab = Lab(browser_executable, authority)
    lab.run(lab.start(*trust_arguments(authority.spki)))
    yield lab
    lab.close()


def test_https_page_is_secure_and_its_requests_are_recorded(lab: Lab) -> None:
    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            await connection.send(message)

    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        session.route("homepage.test", "127.0.0.1", site.port, port=443, read=True)
        await page.goto(f"{HOME}/page")
        assert await page.evaluate("n") == 20
        assert await page.evaluate(WORKER) == [True, "object"]
        assert await page.evaluate("fetch('/upload', {method: 'POST', body: 'x=1'}).then(r => r.text())") == "3"
        async with serve(echo, "127.0.0.1", 0) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            session.route("live.test", "127.0.0.1", port, port=443, read=True)
            assert (
                await page.evaluate("""() => new Promise((resolve, reject) => {
                const socket = new WebSocket('wss://live.test/chat');
                socket.onopen = () => socket.send('hello');
                socket.onmessage = event => resolve(event.data);
                socket.onerror = reject;
            })""")
                == "hello"
            )
        seen = {record.url: record for record in session.requests()}
        assert {f"{HOME}/page", f"{HOME}/19.js", f"{HOME}/worker.js", "https://live.test/chat"} < set(seen)
        assert seen[f"{HOME}/upload"].request_body == "x=1"
        assert session.unsafe_hosts == {
            "homepage.test": f"POST {HOME}/upload",
            "live.test": "WebSocket https://live.test/chat",
        }
        # Over UDP, browsers could bypass the gateway.
        assert not any("quic" in str(record.request_headers).lower() for record in session.requests())

    with_page(lab, test)


def test_browser_without_trust_argument_rejects_the_certificate(lab: Lab) -> None:
    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        session.route("homepage.test", "127.0.0.1", site.port, port=443, read=True)
        with pytest.raises(PlaywrightError, match="ERR_CERT_AUTHORITY_INVALID"):
            await page.goto(HOME)
        assert site.heads == []

    async def run() -> None:
        browser = await lab.launch()
        async with lab.world(browser) as (page, session, site):
            await test(page, session, site)
        await browser.close()

    lab.run(run())


def test_persistent_context_trusts_the_certificate(lab: Lab, authority: Authority, tmp_path: Path) -> None:
    async def run() -> None:
        async with lab.world() as (_, session, site):
            session.route("homepage.test", "127.0.0.1", site.port, port=443, read=True)
            context = await lab.playwright.chromium.launch_persistent_context(
                tmp_path,
                executable_path=lab.choice.executable,
                chromium_sandbox=False,
                proxy={"server": f"http://127.0.0.1:{session.port}", "bypass": PROXY_BYPASS},
                args=[*CHROMIUM_EGRESS_ARGS, *trust_arguments(authority.spki)],
            )
            page = await context.new_page()
            await page.goto(HOME)
            assert await page.evaluate(WORKER) == [True, "object"]
            await context.close()

    lab.run(run())
