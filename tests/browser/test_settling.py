"""When an action counts as finished: as soon as the page is at rest, never later than the cap."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import Click, Noop, Selector
from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.session import Session

if TYPE_CHECKING:
    from tests.browser.conftest import Web

Show = Callable[[str], Session]


@pytest.fixture
def session(open_session: Callable[..., Session], quick: Deadlines) -> Session:
    """With the real measure of rest: that is what these tests are about."""
    return open_session(deadlines=replace(quick, quiet=Deadlines().quiet))


BUTTON = Click(Selector("css=button"))


def text(session: Session) -> str:
    return session.read_page(open=None, locate="css=p").texts[0]


@pytest.mark.parametrize(
    "reaction",
    [
        "p.textContent = 'done'",
        "fetch('/slow').then(() => p.textContent = 'done')",
        "setTimeout(() => p.textContent = 'done', 20)",
        "fetch('/slow').then(() => setTimeout(() => fetch('/slow?2').then(() => p.textContent = 'done'), 50))",
        "let n = 0; const t = setInterval(() => { p.textContent = ++n < 6 ? n : (clearInterval(t), 'done') }, 60)",
        "location = '/done'",
        "fetch('/slow').then(() => location = '/done')",
        "const s = document.createElement('script'); s.src = '/script'; document.head.append(s)",
        "f.submit()",
    ],
)
def test_what_the_action_set_in_motion_is_waited_for(show: Show, web: Web, reaction: str) -> None:
    web.slow("/slow", 0.3, "x")
    web.slow("/done", 0.3, "<p>done</p>")
    web.file("/script", "p.textContent = 'done'", "text/javascript")
    session = show(
        "<p id=p>-</p><button>B</button><form id=f method=post action=/done></form>"
        f"<script>document.querySelector('button').onclick = () => {{ {reaction} }}</script>"
    )
    assert session.execute(BUTTON).error == ""
    assert text(session) == "done"


def test_a_page_that_arrives_slowly_is_waited_for(show: Show, web: Web) -> None:
    web.slow("/next", 1.8, "<p>done</p>")  # longer than the cap for a page that has arrived
    session = show("<a href=/next>Go</a>")
    session.execute(Click(Selector("text=Go")))
    assert text(session) == "done"


def test_nothing_is_waited_for_when_nothing_happens(show: Show) -> None:
    session = show("<button>B</button>")
    session.execute(BUTTON)
    waits = [session.execute(BUTTON).seconds["settle"] for _ in range(5)]
    assert min(waits) < 0.2
    assert session.execute(Noop()).seconds["settle"] < 0.02


@pytest.mark.parametrize(
    "unrest",
    [
        "setInterval(() => { p.style.left = Math.random() + 'px' }, 10)",
        "setInterval(() => fetch('/poll?' + Date.now()), 30)",
        "(async () => { while (true) await fetch('/long') })()",
        "new EventSource('/events')",
        "new WebSocket('ws://a.test/socket')",
        "document.body.append(Object.assign(new Image(), {src: '/image'}))",
    ],
)
def test_live_pages_hold_nothing_up(show: Show, web: Web, unrest: str) -> None:
    web.slow("/long", 1.2, "x")
    web.slow("/image", 30.0, "x")
    web.slow("/events", 30.0, "x")
    session = show(f"<p id=p>-</p><button>B</button><script>{unrest}</script>")
    session.execute(BUTTON)  # once, to get to know it
    began = time.monotonic()
    for _ in range(3):
        assert session.execute(BUTTON).error == ""
    assert time.monotonic() - began < 3 * 1.2
