"""Reading a page that navigates while a check reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.reading import page_reading
from pytest_webarena.browser.reports import PageReading

WENT = "Protocol error (Runtime.evaluate): Inspected target navigated or closed"
READ = PageReading(url="http://a.test/", status=200, texts=("Board",))


def read(failures: list[str], monkeypatch: pytest.MonkeyPatch) -> PageReading:
    async def opened(*arguments: Any, **options: Any) -> PageReading:
        if failures:
            raise PlaywrightError(failures.pop(0))
        return READ

    async def require_browser(*arguments: Any) -> None:
        """It shows other pages."""

    monkeypatch.setattr(page_reading, "_opened", opened)
    monkeypatch.setattr(page_reading, "_require_browser", require_browser)
    tabs: Any = None
    return asyncio.run(
        page_reading.read_address(tabs, "http://a.test/", "http://a.test/", None, (), Deadlines(), late=True)
    )


def test_page_that_navigates_while_read_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read([WENT], monkeypatch) == READ


def test_page_that_navigates_twice_while_read_meets_no_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Content of a site could make a page navigate without end: such a page meets no condition."""
    reading = read([WENT, WENT], monkeypatch)
    assert (reading.texts, reading.hidden) == ((), "it keeps navigating")


def test_page_reading_is_not_repeated_after_other_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlaywrightError, match="ERR_FAILED"):
        read(["net::ERR_FAILED"], monkeypatch)


class FakeLocator:
    """A fake locator of a page that navigates during the first read."""

    def __init__(self) -> None:
        self.first, self.asked = self, list[str]()

    async def evaluate_all(self, function: str) -> list[str]:
        self.asked.append("read")
        if self.asked == ["read"]:
            raise PlaywrightError(WENT)
        return ["Board"]

    async def wait_for(self, *, state: str, timeout: float) -> None:
        self.asked.append("waited")


def texts_of(matches: FakeLocator, wait: float) -> tuple[str, ...]:
    async def run(work: Awaitable[Any], seconds: float, what: str) -> Any:
        return await work

    dialogs = SimpleNamespace(open=None)
    page = SimpleNamespace(locator=lambda selector: matches)
    tab: Any = SimpleNamespace(
        url="http://a.test/",
        page=page,
        run=run,
        dialogs=dialogs,
        document=1,
        is_navigating=lambda: False,
        is_observable=False,
    )
    deadline = Deadline(60.0)
    return asyncio.run(page_reading.read_tab(tab, "css=h1", (), Deadlines(), deadline, wait=wait)).texts


def test_element_is_awaited_again_after_a_navigation() -> None:
    matches = FakeLocator()
    assert texts_of(matches, wait=1.0) == ("Board",)
    assert matches.asked == ["read", "waited", "read"]


def test_navigation_error_is_raised_without_a_wait() -> None:
    with pytest.raises(PlaywrightError, match="navigated or closed"):
        texts_of(FakeLocator(), wait=0.0)
