"""Retries of navigations that the browser or the page interrupts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.faults import ActionFailed
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.tabs import navigation
from pytest_webarena.browser.tabs.navigation import go_to, load

CHANGED = "Page.goto: net::ERR_NETWORK_CHANGED at http://a.test/"


class FakeTab:
    """A tab whose navigations fail with the given messages."""

    url, document = "http://a.test/", "1"

    def __init__(self, *failures: str) -> None:
        self.page = self
        self.failures = list(failures)
        self.tries = 0

    async def goto(self, url: str, **options: Any) -> str:
        self.tries += 1
        if self.failures:
            raise PlaywrightError(self.failures.pop(0))
        return "answer"

    async def run(self, navigation: Awaitable[Any], seconds: float, what: str) -> Any:
        return await navigation

    def is_navigating(self) -> bool:
        return False

    async def wait_for_activity(self, seconds: float) -> None:
        pass

    def on(self, event: str, listener: object) -> None:
        pass

    remove_listener = on


def answer(tab: Any) -> Any:
    return asyncio.run(load(tab, "http://a.test/", 1.0))


@pytest.mark.parametrize("times", [1, 2])
def test_navigation_is_retried_after_a_network_change(times: int) -> None:
    tab = FakeTab(*[CHANGED] * times)
    assert answer(tab) == "answer"
    assert tab.tries == times + 1


@pytest.mark.parametrize(("failures", "tries"), [([CHANGED] * 3, 3), (["net::ERR_CONNECTION_REFUSED"], 1)])
def test_navigation_retries_are_limited_to_network_changes(failures: list[str], tries: int) -> None:
    tab = FakeTab(*failures)
    with pytest.raises(PlaywrightError):
        answer(tab)
    assert tab.tries == tries


def go_to_next(tab: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(navigation, "navigation_locked", lambda tab, but: contextlib.nullcontext())
    return asyncio.run(go_to(tab, "http://a.test/next", Deadlines(), Deadline(60.0)))


def interrupted_by(url: str) -> str:
    return f'Page.goto: Navigation to "http://a.test/next" is interrupted by another navigation to "{url}"\nCall log:'


def test_interruption_by_the_same_url_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    tab = FakeTab(*[interrupted_by("http://a.test/next")] * 9)
    assert go_to_next(tab, monkeypatch) == "http://a.test/next"
    assert tab.tries == 10


@pytest.mark.parametrize(
    ("failure", "tries", "expected"),
    [
        (interrupted_by("http://a.test/elsewhere"), 3, "was not opened: the page itself keeps navigating."),
        (interrupted_by("http://a.test/next"), 10, "was not opened: it was broken off again and again."),
    ],
)
def test_interrupted_navigation_fails_after_the_last_retry(
    failure: str, tries: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = FakeTab(*[failure] * 20)
    with pytest.raises(ActionFailed, match=expected):
        go_to_next(tab, monkeypatch)
    assert tab.tries == tries
