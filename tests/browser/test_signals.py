"""What a session records automatically: the same for every kind of driver."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from pytest_webarena.actions import Back, Click, FocusTab, Goto, Press, Selector
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.driven import open_driven
from pytest_webarena.browser.session import Session
from pytest_webarena.signals import AddressChanged, DialogClosed, DialogOpened, DomEvent, Signal
from tests.browser.conftest import QUICK
from tests.browser.watched import Watched

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from tests.browser.conftest import Web

OpenSession = Callable[..., Session]

PAGE = """<title>Main</title><a href="/cart">Cart</a> <a href="/aside" target=_blank>Aside</a>
<button onclick="history.pushState({}, '', '/step-2')">Next</button>
<button onclick="document.title = prompt('Name?', 'Ada')">Ask</button>
<button onclick="document.title = confirm('Sure?')">Confirm</button>"""
SITE = "http://a.test"


@pytest.fixture
def pages(web: Web) -> None:
    web.put("/", PAGE)
    web.put("/cart", "<title>Cart</title>3 items")
    web.put("/aside", "<title>Aside</title><button onclick='close()'>Close</button>")


def without_times(signals: tuple[Signal, ...]) -> list[tuple[object, ...]]:
    """Return the signals' content, without times."""
    found: list[tuple[object, ...]] = []
    for signal in signals:
        match signal:
            case AddressChanged():
                found.append((signal.tab, signal.url))
            case DialogOpened():
                found.append((signal.tab, signal.url, signal.dialog, signal.message, signal.proposed))
            case DialogClosed():
                found.append((signal.tab, signal.url, signal.accepted, signal.text))
    return found


def signals_from(session: Session, number: int) -> list[tuple[object, ...]]:
    """Return the signals from ``number`` on, with tabs numbered from the first one's."""
    found = session.signals.since()
    return [(tab - found[0].tab, *rest) for tab, *rest in without_times(found[number:])]  # type: ignore[operator]


@pytest.mark.usefixtures("pages")
def test_address_changes_are_recorded_from_the_first_page_on(open_session: OpenSession) -> None:
    session, began = open_session(), time.time()
    session.open_tabs([f"{SITE}/"])
    session.execute(Click(Selector("text=Next")))  # the same document
    session.execute(Click(Selector("text=Ask")))  # dialogs in between: see below
    session.execute(Back())
    session.execute(Goto(f"{SITE}/cart"))
    session.execute(Goto(f"{SITE}/cart"))  # the address that it has already
    session.execute(Goto(f"{SITE}/"))
    session.execute(Click(Selector("text=Aside")))
    session.execute(FocusTab(0))
    session.execute(Click(Selector("text=Cart")))
    addresses = [each for each in signals_from(session, 0) if len(each) == 2]
    assert addresses == [
        (0, f"{SITE}/"),
        (0, f"{SITE}/step-2"),
        (0, f"{SITE}/"),
        (0, f"{SITE}/cart"),
        (0, f"{SITE}/"),
        (1, f"{SITE}/aside"),
        (0, f"{SITE}/cart"),
    ]
    times = [each.time for each in session.signals.since()]
    assert times == sorted(times)
    assert began - 1 < times[0] <= times[-1] < time.time() + 1  # on the clock of the record of requests
    session.open_tabs([f"{SITE}/"])
    assert signals_from(session, 0) == [(0, f"{SITE}/")]  # events before the first step are excluded


@pytest.mark.matrix(2)
@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(
    ("policy", "accepted", "text"), [("accept", True, "Ada"), ("dismiss", False, ""), ("hold", True, "Ada")]
)
def test_dialogs_are_recorded_with_their_answers(
    open_session: OpenSession, policy: str, accepted: bool, text: str
) -> None:
    session = open_session(dialogs=policy)
    session.open_tabs([f"{SITE}/"])
    session.execute(Click(Selector("text=Ask")))
    if policy == "hold":
        assert len(signals_from(session, 1)) == 1  # it is open
        session.execute(Press("Enter"))
    session.execute(Click(Selector("text=Confirm")))
    if policy == "hold":
        session.execute(Press("Escape"))
    assert signals_from(session, 1) == [
        (0, f"{SITE}/", "prompt", "Name?", "Ada"),
        (0, f"{SITE}/", accepted, text),
        (0, f"{SITE}/", "confirm", "Sure?", ""),
        (0, f"{SITE}/", policy == "accept", ""),
    ]


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    "write", ["history.replaceState(0, '', '/?' + i)", "history.pushState(0, '', '/' + i)", "location.hash = i"]
)
def test_address_changes_in_a_loop_are_limited(open_session: OpenSession, web: Web, write: str) -> None:
    web.put(
        "/loop",
        f"<button onclick='document.title = 1'>Go</button><script>for (let i = 0; i < 5000; i++) {write}</script>",
    )
    session = open_session()
    session.open_tabs([f"{SITE}/loop"])
    session.execute(Click(Selector("text=Go")))
    signals = session.signals.since()
    assert sum(isinstance(each, AddressChanged) for each in signals) < 1000
    assert session.signals.lost == 0
    assert any(isinstance(each, DomEvent) and each.event == "click" for each in signals)


@pytest.mark.usefixtures("pages")
def test_pages_of_checks_are_not_recorded(open_session: OpenSession) -> None:
    session = open_session()
    session.open_tabs([f"{SITE}/"])
    session.read_page(open=f"{SITE}/cart", locate=None)
    assert signals_from(session, 0) == [(0, f"{SITE}/")]


@pytest.mark.usefixtures("pages")
def test_cdp_client_leaves_the_same_signals(engine: BrowserEngine, web: Web) -> None:
    config = SessionConfig(proxy=web.proxy, deadlines=QUICK, dialogs="hold")
    with sync_playwright() as playwright, open_driven(engine, config) as (session, driven):
        session.open_tabs([f"{SITE}/"])
        watched = Watched(session, driven)
        client = playwright.chromium.connect_over_cdp(driven.cdp_url)
        page = client.contexts[0].pages[0]
        page.set_default_timeout(10_000)
        page.get_by_text("Next").click()
        page.once("dialog", lambda dialog: dialog.accept("Grace"))
        page.get_by_text("Ask").click()
        page.goto(f"{SITE}/cart")
        session.observe()  # earlier events of the browser have arrived by then
        assert signals_from(session, 0) == [
            (0, f"{SITE}/"),
            (0, f"{SITE}/step-2"),
            (0, f"{SITE}/step-2", "prompt", "Name?", "Ada"),
            (0, f"{SITE}/step-2", True, "Grace"),
            (0, f"{SITE}/cart"),
        ]
        client.close()
        watched.close()
