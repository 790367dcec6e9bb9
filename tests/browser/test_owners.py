"""Owners of errors of browser and pages: real trials, and visits without the agent on fresh replicas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_webarena.actions import Click, Goto, Selector
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserError
from pytest_webarena.results.wording import why_undecided

from .drivers import Driver, script
from .test_broken_sites import SITE, Try, attempt, attempts_of, client
from .test_misbehaving_pages import crash_renderer

__all__ = ["attempt", "client"]

ANSWERED = "[{answer: {exact: done}}]"
UNCHANGED = "[{network: {url: /never, none: true}}]"


@pytest.fixture
def bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Crash the process of each page that is marked as too large, when it is observed or read."""

    def crashing(read: Callable[[Session], Any]) -> Callable[[Session], Any]:
        def crash_and_read(session: Session) -> Any:
            if "data-bomb" in session.html():
                crash_renderer(session)
            return read(session)

        return crash_and_read

    for name in ("observe", "tabs"):
        monkeypatch.setattr(Session, name, crashing(getattr(Session, name)))


def press(name: str) -> Click:
    return Click(Selector(f"text={name}"))


def test_agent_whose_script_crashes_its_page_fails(attempt: Try, bombs: None) -> None:
    record = attempt(ANSWERED, Goto(f"{SITE}/scripts"), press("Bomb"), retries=0)
    assert (record.outcome, record.stop_reason, record.score) == ("failed", "broke_browser", 0.0), record.message
    assert "crashed" in record.stop_detail
    assert (record.event, record.control) == ("renderer", "recurs")


def test_page_that_crashes_every_visitor_is_undecided(attempt: Try, bombs: None) -> None:
    record = attempt(ANSWERED, Goto(f"{SITE}/bomb"), retries=0)
    assert (record.undecided, record.event, record.control) == (True, "renderer", "address"), record.message
    assert "opening the agent's last pages causes it without its other actions" in why_undecided(record)


@pytest.mark.parametrize(
    ("command", "undecided", "control"),
    [
        pytest.param(script("document.documentElement.dataset.bomb = 1"), False, "recurs", id="script"),
        pytest.param(
            ("Page.navigate", {"url": f"{SITE}/bomb"}), True, "address", id="page", marks=pytest.mark.exhaustive
        ),
    ],
)
def test_driven_browser_is_visited_without_its_agent(
    attempt: Try, bombs: None, command: tuple[str, dict[str, Any]], undecided: bool, control: str
) -> None:
    record = attempt("[{page: {includes: Large}}]", retries=0, driver=Driver(command))
    assert (record.outcome, record.undecided) == ("failed", undecided), record.message
    assert (record.event, record.control) == ("renderer", control)


def test_agent_whose_script_never_stops_writing_fails(attempt: Try) -> None:
    record = attempt(UNCHANGED, Goto(f"{SITE}/scripts"), press("Beat"), write_timeout=1.0)
    assert (record.outcome, record.stop_reason) == ("failed", "endless_writes"), record.message
    assert len(record.attempts) == 1


@pytest.mark.exhaustive  # the unit tests have the same event and result of its control
def test_page_that_never_stops_writing_for_any_visitor_is_undecided(attempt: Try) -> None:
    record = attempt(UNCHANGED, Goto(f"{SITE}/restless"), write_timeout=1.0)
    assert attempts_of(record) == [("failed", None)], record.message
    assert (record.undecided, record.event, record.control) == (True, "endless_writes", "address")


@pytest.mark.exhaustive  # the unit tests have the same event and result of its control
def test_browser_that_is_killed_once_is_undecided(attempt: Try, monkeypatch: pytest.MonkeyPatch) -> None:
    observe, seen = Session.observe, 0

    def killed(session: Session) -> Any:
        nonlocal seen
        seen += 1
        if seen == 2:
            raise BrowserError("the browser crashed or was killed")
        return observe(session)

    monkeypatch.setattr(Session, "observe", killed)
    record = attempt(ANSWERED, Goto(f"{SITE}/"), retries=1)
    assert attempts_of(record) == [("failed", None), ("passed", None)], record.message
    assert (record.undecided, record.control) == (True, "works")


@pytest.mark.exhaustive  # so has test_owners_rates.py, with doubles of the browser
def test_crash_buys_no_second_attempt(attempt: Try, bombs: None) -> None:
    record = attempt(ANSWERED, Goto(f"{SITE}/scripts"), press("Bomb"), retries=1, once=True)
    assert attempts_of(record) == [("failed", None), ("passed", None)], record.message
    assert (record.outcome, record.attempt) == ("failed", 1)
    assert record.message.endswith(
        "attempt 2 passed, which does not count: only an error of the environment is retried"
    )
