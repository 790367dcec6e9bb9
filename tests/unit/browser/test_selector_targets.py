"""How elements are found by selector: at once where they are there, with patience where they are not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.actions import Selector
from pytest_webarena.browser.acting.targets import find_target
from pytest_webarena.browser.faults import ActionFailed


class Locator:
    """Finds what ``found`` says at once, and ``waited`` when it is waited for; notes what it was asked."""

    def __init__(self, found: Any, waited: Any = "waited") -> None:
        self.first, self.asked = self, list[str]()
        self._found, self._waited = found, waited

    async def evaluate_all(self, function: str, arguments: list[Any]) -> Any:
        self.asked.append("at once")
        if isinstance(self._found, Exception):
            raise self._found
        return self._found

    async def evaluate(self, function: str, arguments: list[Any], *, timeout: float) -> Any:
        self.asked.append("patiently")
        return self._waited


def call(locator: Locator) -> Any:
    async def run(work: Awaitable[Any], seconds: float, what: str) -> Any:
        return await work

    tab = SimpleNamespace(url="http://a.test/", page=SimpleNamespace(locator=lambda selector: locator), run=run)
    target = find_target(cast("Any", tab), Selector("text=Save"), hang=1.0, patience=1.0)
    return asyncio.run(target.call("node => node.id"))


@pytest.mark.parametrize("value", ["save", "", None])
def test_what_is_there_is_not_waited_for(value: str | None) -> None:
    """Waiting has Playwright's own script sent into two places of each document, reading into one."""
    locator = Locator(["value", value])
    assert call(locator) == value
    assert locator.asked == ["at once"]


@pytest.mark.parametrize(
    "found", [None, PlaywrightError("Locator.evaluate_all: TypeError: elements.map is no function")]
)
def test_what_is_not_there_or_can_t_be_looked_for_so_is_waited_for(found: Any) -> None:
    locator = Locator(found)
    assert call(locator) == "waited"
    assert locator.asked == ["at once", "patiently"]


def test_nothing_is_done_twice_where_the_page_goes_elsewhere_meanwhile() -> None:
    locator = Locator(PlaywrightError("Locator.evaluate_all: Execution context was destroyed, most likely because …"))
    with pytest.raises(ActionFailed, match="could not be acted on: Execution context was destroyed"):
        call(locator)
    assert locator.asked == ["at once"]


def test_what_a_page_throws_is_told_and_not_tried_again() -> None:
    locator = Locator(["threw", "TypeError: no"])
    with pytest.raises(ActionFailed, match="The element 'text=Save' could not be acted on: TypeError: no"):
        call(locator)
    assert locator.asked == ["at once"]
