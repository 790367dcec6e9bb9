"""A session for tests of DOM events: it shows pages and returns the recorded events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.signals import DomEvent
from tests.browser.conftest import CALM, Web

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session


SITE = "http://a.test"


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    web = Web()
    web.put("/over", "<title>Over</title>there")
    yield web
    web.close()


@pytest.fixture(scope="module")
def shared(engine: BrowserEngine, web: Web) -> Iterator[Session]:
    with engine.session(SessionConfig(proxy=web.proxy, deadlines=CALM)) as session:
        yield session


Show = Callable[[str], "Session"]


@pytest.fixture
def show(shared: Session, web: Web) -> Show:
    """Show a page in the one session that the tests of a file share."""

    def show(html: str) -> Session:
        shared.open_tabs([web.put("/", html)])
        return shared

    return show


def events(session: Session) -> list[DomEvent]:
    return [each for each in session.signals.since() if isinstance(each, DomEvent)]


def recorded_input(session: Session) -> list[tuple[str, str, str | None]]:
    """Event, target and value of all."""
    return [(each.event, each.target.selector, each.value) for each in events(session)]


def has_more_events(session: Session, before: int) -> bool:
    return len(events(session)) > before


def places(event: DomEvent) -> list[tuple[str, str]]:
    return [(element.tag, element.within) for element in event.chain]
