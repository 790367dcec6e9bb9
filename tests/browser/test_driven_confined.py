"""A client that drives the browser cannot bypass the filter."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Error, Page
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.browser.conftest import Web
from tests.processes import listening

if TYPE_CHECKING:
    from pathlib import Path
from tests.browser.watched import Raw, Watched, client, driven_processes, page, playwright, raw, watched, web

__all__ = ["client", "page", "playwright", "raw", "watched", "web"]


def test_client_cannot_create_contexts(client: Browser, raw: Raw) -> None:
    with pytest.raises(Error, match="there is one context"):
        client.new_context()
    assert "error" in raw("Target.createBrowserContext", proxyServer="http://127.0.0.1:1")
    (context,) = {info["browserContextId"] for info in raw("Target.getTargets")["result"]["targetInfos"]}
    assert "error" in raw("Target.createTarget", url="about:blank", browserContextId=context)


def test_client_cannot_use_foreign_cdp_sessions(client: Browser, raw: Raw) -> None:
    target = raw("Target.getTargets")["result"]["targetInfos"][0]["targetId"]
    attached = raw("Target.attachToTarget", targetId=target, flatten=True)["result"]["sessionId"]
    assert raw("Runtime.evaluate", attached, expression="1+1")["result"]["result"]["value"] == 2
    assert raw("Target.detachFromTarget", sessionId=attached)["result"] == {}
    assert "not found" in raw("Runtime.evaluate", attached, expression="1")["error"]["message"]
    assert "not found" in raw("Browser.getVersion", "0" * 32)["error"]["message"]


@pytest.mark.matrix(1)
@pytest.mark.parametrize("url", ["file:///etc/passwd", "chrome://version", "view-source:http://a.test/"])
def test_client_cannot_open_other_schemes_than_http(
    page: Page, watched: Watched, web: Web, tmp_path: Path, url: str
) -> None:
    with pytest.raises(Error, match="only http and https"):
        page.goto(url)
    ways = [
        "u => { location.href = u }",
        "u => { window.open(u) }",
        "u => { const f = document.createElement('iframe'); f.src = u; document.body.append(f) }",
        "u => { const a = document.createElement('a'); a.href = u; a.target = 'x'; document.body.append(a);a.click() }",
        "u => fetch(u).then(() => 'read', () => 'refused')",
    ]
    session = page.context.new_cdp_session(page)
    frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
    world = session.send("Page.createIsolatedWorld", {"frameId": frame, "grantUniveralAccess": True})
    for way in ways:
        page.evaluate(way, url)
        # A world with universal access, which clients use for scripts of their own, is no way out either.
        call = {
            "functionDeclaration": way,
            "arguments": [{"value": url}],
            "executionContextId": world["executionContextId"],
        }
        session.send("Runtime.callFunctionOn", call)
    shown = [frame.url for each in page.context.pages for frame in each.frames]
    shown += [tab.html for tab in watched.session.tabs()]
    assert not [text for text in shown if text.startswith(url) or "root:" in text]


def test_loopback_requests_go_through_the_proxy(page: Page, web: Web) -> None:
    page.goto(f"{web.proxy}/direct")  # the same server; as a proxy, it receives the full address
    assert any(request.url == f"{web.proxy}/direct" for request in web.requests)


def test_endpoint_rejects_unknown_paths_and_origins(watched: Watched) -> None:
    base = "http://" + watched.driven.cdp_url.split("/")[2]
    for path in ("/json/version", "/devtools/browser", "/x/json/version"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(base + path, timeout=10)
    with pytest.raises(InvalidStatus, match="403"):
        connect(watched.driven.cdp_url, additional_headers={"Origin": "http://a.test"})


def test_browser_listens_on_no_port(watched: Watched) -> None:
    ports = [found for process in driven_processes() if (found := listening(process)) is not None]
    assert ports
    assert not [port for of_one in ports for port in of_one]


def test_pages_opened_by_harness_are_hidden_from_client(page: Page, raw: Raw, watched: Watched) -> None:
    seen: list[str] = []
    page.context.on("page", lambda opened: seen.append(opened.url))
    watched.driven.hold()
    assert watched.session.read_page(open="http://a.test/cart", locate=None).texts == ("3 items",)
    watched.driven.release()
    assert len(raw("Target.getTargets")["result"]["targetInfos"]) == 1
    assert page.title() == "start"
    assert seen == []
