"""A navigation that the browser breaks off because the machine's network changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.tabs.navigation import load

CHANGED = "Page.goto: net::ERR_NETWORK_CHANGED at http://a.test/"


class FakeTab:
    """Fails as often as it has texts to fail with."""

    def __init__(self, *failures: str) -> None:
        self.page = self
        self.failures = list(failures)
        self.tries = 0

    async def goto(self, url: str, **options: Any) -> str:
        self.tries += 1
        if self.failures:
            raise PlaywrightError(self.failures.pop(0))
        return "answer"

    async def run(self, going: Awaitable[Any], seconds: float, what: str) -> Any:
        return await going


def answer(tab: Any) -> Any:
    return asyncio.run(load(tab, "http://a.test/", 1.0))


@pytest.mark.parametrize("times", [1, 2])
def test_is_tried_again(times: int) -> None:
    tab = FakeTab(*[CHANGED] * times)
    assert answer(tab) == "answer"
    assert tab.tries == times + 1


@pytest.mark.parametrize(("failures", "tries"), [([CHANGED] * 3, 3), (["net::ERR_CONNECTION_REFUSED"], 1)])
def test_but_no_more_than_that_and_nothing_else(failures: list[str], tries: int) -> None:
    tab = FakeTab(*failures)
    with pytest.raises(PlaywrightError):
        answer(tab)
    assert tab.tries == tries
