"""Requests interrupted by a network change of the machine. A server that hangs up simulates it; tests/docker has the
real one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import Click, Goto, Selector
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserError

if TYPE_CHECKING:
    from tests.browser.conftest import Request, Web

OpenSession = Callable[..., Session]
SCRIPTED = "<title>T</title><p>poor</p><script src=/a.js></script>"


@pytest.fixture(autouse=True)
def hang_up_as_network_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat Chromium's error for a connection closed by the server as a network change."""
    for module in ("aborted_requests", "navigation", "settle"):
        monkeypatch.setattr(f"pytest_webarena.browser.tabs.{module}.ABORTED", "ERR_EMPTY_RESPONSE")


class Line:
    """A connection that is interrupted while ``down``; it recovers at the ``heals``-th request for the page."""

    def __init__(self, web: Web, heals: int) -> None:
        self.web, self.heals, self.pages = web, heals, 0

    def page(self, request: Request) -> str:
        self.pages += 1
        return SCRIPTED

    def script(self, request: Request) -> object:
        if self.pages < self.heals:
            raise ConnectionAbortedError
        return self.web.reply("document.querySelector('p').textContent = 'rich'", Content_Type="text/javascript")


def shown(session: Session) -> str:
    return session.read_page(open=None, locate="css=p").texts[0]


def test_first_page_with_interrupted_script_is_reloaded(open_session: OpenSession, web: Web) -> None:
    line = Line(web, heals=2)
    web.put("/a.js", line.script)  # type: ignore[arg-type]
    session = open_session()
    session.open_tabs([web.put("/", line.page)])
    assert (shown(session), line.pages) == ("rich", 2)


def test_page_reached_by_action_is_reloaded_after_interruption(open_session: OpenSession, web: Web) -> None:
    line = Line(web, heals=3)
    web.put("/a.js", line.script)  # type: ignore[arg-type]
    web.put("/next", line.page)
    session = open_session()
    session.open_tabs([web.put("/", "<a href=/next>on</a>")])
    assert session.execute(Click(Selector("css=a"))).error == ""
    assert (shown(session), line.pages) == ("rich", 3)


def test_interrupted_navigation_is_repeated(open_session: OpenSession, web: Web) -> None:
    tries: list[str] = []

    def page(request: Request) -> str:
        tries.append(request.url)
        if len(tries) < 3:  # a browser may retry on its own
            raise ConnectionAbortedError
        return "<p>rich</p>"

    web.put("/next", page)
    session = open_session()
    session.open_tabs([web.put("/", "<p>poor</p>")])
    assert session.execute(Goto("/next")).error == ""
    assert shown(session) == "rich"


def test_page_interrupted_repeatedly_is_a_browser_error(open_session: OpenSession, web: Web) -> None:
    line = Line(web, heals=99)
    web.put("/a.js", line.script)  # type: ignore[arg-type]
    session = open_session()
    with pytest.raises(BrowserError, match=r"a\.js.*network of this machine changed"):
        session.open_tabs([web.put("/", line.page)])


@pytest.mark.parametrize("request_", ["fetch('/data')", "fetch('/data', {method: 'POST'})"])
def test_interrupted_request_of_an_action_is_not_repeated(open_session: OpenSession, web: Web, request_: str) -> None:
    def data(request: Request) -> str:
        raise ConnectionAbortedError

    web.put("/data", data)
    pages: list[str] = []

    def page(request: Request) -> str:
        pages.append(request.url)
        return f'<button onclick="{request_}">go</button>'

    session = open_session()
    session.open_tabs([web.put("/", page)])
    with pytest.raises(BrowserError, match="network of this machine changed"):
        session.execute(Click(Selector("css=button")))
    assert len(pages) == 1


def test_interrupted_form_is_not_submitted_twice(open_session: OpenSession, web: Web) -> None:
    sent: list[str] = []

    def send(request: Request) -> str:
        sent.append(request.method)
        return SCRIPTED

    web.put("/send", send)
    web.put("/a.js", Line(web, heals=99).script)  # type: ignore[arg-type]
    session = open_session()
    session.open_tabs([web.put("/", "<form action=/send method=post><button>go</button></form>")])
    with pytest.raises(BrowserError, match="network of this machine changed"):
        session.execute(Click(Selector("css=button")))
    assert sent == ["POST"]
