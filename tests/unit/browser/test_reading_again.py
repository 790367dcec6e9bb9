"""A page that goes elsewhere just while a check reads it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.reading import page_reading
from pytest_webarena.browser.reports import PageReading

WENT = "Protocol error (Runtime.evaluate): Inspected target navigated or closed"
READ = PageReading(url="http://a.test/", status=200, texts=("Board",))


def read(failures: list[str], monkeypatch: pytest.MonkeyPatch) -> PageReading:
    async def opened(*arguments: Any, **options: Any) -> PageReading:
        if failures:
            raise PlaywrightError(failures.pop(0))
        return READ

    monkeypatch.setattr(page_reading, "_opened", opened)
    tabs: Any = None
    return asyncio.run(
        page_reading.read_address(tabs, "http://a.test/", "http://a.test/", None, (), Deadlines(), late=True)
    )


def test_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read([WENT], monkeypatch) == READ


@pytest.mark.parametrize("failures", [[WENT, WENT], ["net::ERR_FAILED"]])
def test_but_once_and_for_nothing_else(failures: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlaywrightError, match=failures[-1].partition(" (")[0]):
        read(failures, monkeypatch)
