"""Fills of fields in the same place: one text that is reported again, or a new one."""

from __future__ import annotations

import pytest

from tests.unit.recorder.test_steps import FIELD, Browser


@pytest.fixture
def browser() -> Browser:
    return Browser()


@pytest.mark.parametrize("leave", ["address", "form", "button", "reload"])
def test_same_value_in_a_new_document_is_another_fill(browser: Browser, leave: str) -> None:
    """Fields for dates may report a change without input."""
    browser.shows("http://a.test/1")
    browser.dom("change", "input", "2026-11-30", **FIELD)
    browser.dom("input", "input", "x", id="note")
    browser.dom("change", "input", "2026-11-30", **FIELD)
    if leave == "address":
        browser.shows("http://a.test/2", "browser")
    elif leave == "reload":
        browser.key("F5")
    else:
        browser.dom("submit", "form") if leave == "form" else browser.dom("click", "button", name="Log")
    browser.dom("change", "input", "2026-11-30", **FIELD)
    fills = [step["fill"] for step in browser.steps() if "fill" in step]
    assert fills == [{"css=#title": "2026-11-30"}, {"css=#note": "x"}, {"css=#title": "2026-11-30"}]


def test_fill_does_not_replace_one_on_another_page(browser: Browser) -> None:
    """A script may open the next page as soon as a field is filled."""
    for browser.url in ("http://a.test/1", "http://a.test/2"):
        browser.shows(browser.url)
        browser.dom("input", "input", browser.url[-1], **FIELD)
    assert browser.steps() == [{"fill": {"css=#title": "1"}}, {"fill": {"css=#title": "2"}}]


def test_address_that_follows_the_typing_leaves_one_fill(browser: Browser) -> None:
    browser.shows("http://a.test/")
    for text in ("R", "Ry"):
        browser.dom("input", "input", text, **FIELD)
        browser.shows(f"http://a.test/?q={text}")
    browser.dom("keydown", "input", "Ry", **FIELD)
    browser.dom("change", "input", "Ry", **FIELD)
    assert browser.steps() == [{"fill": {"css=#title": "Ry"}}, {"press": {"css=#title": "Enter"}}]
