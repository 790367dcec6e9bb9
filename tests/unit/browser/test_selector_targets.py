"""Elements found by selector: immediately if present, otherwise with waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.actions import Selector
from pytest_webarena.browser.acting import element_probes, scripts
from pytest_webarena.browser.acting.targets import find_target
from pytest_webarena.browser.faults import ActionFailed


class Locator:
    """Returns ``found`` immediately and items of ``waited`` when awaited; records calls, scripts and timeouts."""

    def __init__(self, found: Any, *waited: Any) -> None:
        self.first, self.asked = self, list[str]()
        self.scripts, self.seconds = list[str](), list[float]()
        self._found, self._waited = found, list(waited or ["waited"])

    async def evaluate_all(self, function: str, arguments: list[Any]) -> Any:
        self.asked.append("at once")
        self.scripts.append(function)
        if isinstance(self._found, Exception):
            raise self._found
        return self._found

    async def evaluate(self, function: str, arguments: list[Any], *, timeout: float) -> Any:
        self.asked.append("patiently")
        self.scripts.append(function)
        self.seconds.append(timeout / 1000)
        waited = self._waited.pop(0)
        if isinstance(waited, Exception):
            raise waited
        return waited


ELSEWHERE = PlaywrightError("Locator.evaluate: Execution context was destroyed, most likely because of a navigation")


def call(locator: Locator, script: str = element_probes.DESCRIBE, patience: float = 60.0) -> Any:
    async def run(work: Awaitable[Any], seconds: float, what: str) -> Any:
        return await work

    async def wait_for_activity(seconds: float) -> None:
        pass

    page = SimpleNamespace(locator=lambda selector: locator)
    tab = SimpleNamespace(url="http://a.test/", page=page, run=run, wait_for_activity=wait_for_activity)
    target = find_target(cast("Any", tab), Selector("text=Save"), hang=1.0, patience=patience)
    return asyncio.run(target.call(script))


@pytest.mark.parametrize("value", ["save", "", None])
def test_present_element_is_read_without_waiting(value: str | None) -> None:
    """A waiting call injects Playwright's script into two worlds of each document, a read into one."""
    locator = Locator(["value", value])
    assert call(locator) == value
    assert locator.asked == ["at once"]


@pytest.mark.parametrize(
    "found", [None, PlaywrightError("Locator.evaluate_all: TypeError: elements.map is no function"), ELSEWHERE]
)
def test_missing_element_is_waited_for(found: Any) -> None:
    locator = Locator(found)
    assert call(locator) == "waited"
    assert locator.asked == ["at once", "patiently"]


def test_read_is_repeated_after_each_navigation() -> None:
    locator = Locator(ELSEWHERE, ELSEWHERE, ELSEWHERE, "seen")
    assert call(locator) == "seen"
    assert locator.asked == ["at once", *["patiently"] * 3]


def test_page_that_keeps_navigating_fails_after_the_timeout() -> None:
    locator = Locator(ELSEWHERE, ELSEWHERE)
    with pytest.raises(ActionFailed, match="could not be acted on: Execution context was destroyed"):
        call(locator, patience=0.0)
    assert locator.asked == ["at once", "patiently"]


@pytest.mark.parametrize("script", [scripts.CHOOSE, scripts.SCROLL, scripts.SET_VALUE])
def test_script_with_side_effects_runs_only_once(script: str) -> None:
    """It may wait: if the page navigates during the search, nothing was done yet."""
    locator = Locator(["value", "at once"], ELSEWHERE)
    with pytest.raises(ActionFailed, match="could not be acted on: Execution context was destroyed"):
        call(locator, script)
    assert [script in each for each in locator.scripts] == [False, True]
    assert locator.asked == ["at once", "patiently"]


@pytest.mark.parametrize(("found", "seconds"), [(["value", True], 1.0), (None, 0.5)])
def test_present_element_gets_the_hang_timeout(found: Any, seconds: float) -> None:
    """The wait is for missing elements. On a busy machine it may end before Playwright starts."""
    locator = Locator(found)
    assert call(locator, scripts.SET_VALUE, patience=0.0) == "waited"
    assert locator.seconds == [seconds]


def test_script_error_is_reported_and_not_retried() -> None:
    locator = Locator(["threw", "TypeError: no"])
    with pytest.raises(ActionFailed, match="The element 'text=Save' could not be acted on: TypeError: no"):
        call(locator)
    assert locator.asked == ["at once"]
