"""A driven browser that is watched, and clients that drive it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, sync_playwright
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from pytest_webarena.browser.config import Geolocation, SessionConfig
from pytest_webarena.browser.driven import Driven, Ended, Navigated, StartedStep, open_driven
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session
from tests.browser.conftest import QUICK, Web
from tests.processes import Process, descendants, of_command, wait_until

if TYPE_CHECKING:
    pass

__all__ = ["START", "Raw", "Watched", "client", "driven_processes", "page", "playwright", "raw", "watched", "web"]


START = """<title>start</title><h1>Shop</h1><a href="/cart">Cart</a> <input aria-label="Name">
<button onclick="document.title = prompt('who?', 'x')">Ask</button>"""


class Watched:
    """A driven browser whose steps are recorded without being delayed."""

    def __init__(self, session: Session, driven: Driven) -> None:
        self.session = session
        self.driven = driven
        self.steps: list[StartedStep] = []
        self.navigations: list[str] = []
        self.navigation_events: list[Navigated] = []
        self._thread = threading.Thread(target=self._attend, daemon=True)
        self._thread.start()

    def _attend(self) -> None:
        while not isinstance(event := self.driven.events.get(), Ended):
            if isinstance(event, StartedStep):
                self.steps.append(event)
                event.go()
            elif isinstance(event, Navigated):
                self.navigations.append(event.url)
                self.navigation_events.append(event)

    @property
    def actions(self) -> list[str]:
        return [step.action["kind"] for step in self.steps]

    def close(self) -> None:
        self.driven.events.put(Ended())
        self._thread.join(5)


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    web = Web()
    web.put("/", START)
    web.put("/cart", "<title>cart</title>3 items")
    yield web
    web.close()


@pytest.fixture(scope="module")
def watched(engine: BrowserEngine, web: Web) -> Iterator[Watched]:
    """One browser for all tests of a file; each test starts at the start page."""
    config = SessionConfig(
        proxy=web.proxy, deadlines=QUICK, dialogs="hold", geolocation=Geolocation(latitude=50.5, longitude=8.25)
    )
    with open_driven(engine, config, rooted=True) as (session, driven):
        watched = Watched(session, driven)
        yield watched
        watched.close()


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture
def client(watched: Watched, playwright: Playwright) -> Iterator[Browser]:
    """Playwright connected to the running browser, as most tools do."""
    watched.navigations.clear()
    watched.session.open_tabs(["http://a.test/"])
    wait_until(lambda: "http://a.test/" in watched.navigations)  # reported by another thread, maybe later
    watched.steps.clear()
    watched.navigations.clear()
    watched.navigation_events.clear()
    browser = playwright.chromium.connect_over_cdp(watched.driven.cdp_url)
    yield browser
    browser.close()


@pytest.fixture
def page(client: Browser) -> Page:
    page = client.contexts[0].pages[0]
    page.set_default_timeout(10_000)
    return page


class Raw:
    """A client that uses the bare protocol."""

    def __init__(self, socket: Connection) -> None:
        self._socket = socket
        self._id = 0

    def __call__(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        self._id += 1
        message = {"id": self._id, "method": method, "params": params} | ({"sessionId": session} if session else {})
        self._socket.send(json.dumps(message))
        while True:
            answer: dict[str, Any] = json.loads(self._socket.recv(10))
            if answer.get("id") == self._id:
                return answer


@pytest.fixture
def raw(client: Browser, watched: Watched) -> Iterator[Raw]:
    with connect(watched.driven.cdp_url, max_size=None) as socket:
        yield Raw(socket)


def driven_processes() -> list[Process]:
    """Return the processes of all running driven browsers."""
    found = of_command("driven-", descendants())
    assert found
    return found
