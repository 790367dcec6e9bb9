"""Observation forms of other packages: what they can read, and the error when one fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from pytest_webarena.actions import Click, Element
from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.observation import forms
from pytest_webarena.browser.observation.forms import Form, Page
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserError

PAGE = """<!doctype html><title>Shop</title><h2>Tea</h2><h2>Honey</h2>
<button onclick="this.textContent = 'Bought'">Buy</button>
<script>document.querySelectorAll = () => [{textContent: "deceived"}]; console.log = null</script>"""

_HEADINGS = "(selector) => [...document.querySelectorAll(selector)].map(each => each.textContent)"


async def headings(page: Page) -> Sequence[str]:
    found: list[str] = await page.evaluate(_HEADINGS, "h2")
    return [*found, *(line.strip() for line in page.extraction.lines if " button " in line)]


async def thrown(page: Page) -> Sequence[str]:
    found: list[str] = await page.evaluate("() => { throw new Error('no such thing') }")
    return found


async def mistaken(page: Page) -> Sequence[str]:
    raise KeyError("price")


async def empty(page: Page) -> Sequence[str]:
    return []


HEADINGS = Form(
    name="headings", about="headings", title="Headings:", lines=headings, needs=frozenset({"tree"}), ids=True
)
THROWN = Form(name="thrown", about="x", title="X:", lines=thrown)
MISTAKEN = Form(name="mistaken", about="x", title="X:", lines=mistaken)
EMPTY = Form(name="empty", about="x", title="X:", lines=empty)


@pytest.fixture
def show(open_session: Callable[..., Session], web: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Show the page in forms of which some belong to another package."""
    points = {name: f"{__name__}:{name.upper()}" for name in ("headings", "thrown", "mistaken", "empty")}
    monkeypatch.setattr(forms, "offered", lambda group: points)
    forms._installed.cache_clear()

    def show(*kinds: str, extractor: Any = "fast") -> Session:
        session = open_session(observation=ObservationConfig(kinds=kinds, extractor=extractor))
        session.open_tabs([web.put("/", PAGE)])
        return session

    yield show
    forms._installed.cache_clear()


@pytest.mark.parametrize("extractor", ["fast", "exact"])
def test_custom_form_reads_page_and_its_element_ids_work(show: Any, extractor: str) -> None:
    session = show("headings", extractor=extractor)
    text = session.observe().text
    found = re.fullmatch(r"Tab 0 \(current\): Shop\n\nTea\nHoney\n\[(\d+)\] button 'Buy'", text)
    assert found, text
    assert session.execute(Click(Element(found[1]))).error == ""
    assert "button 'Bought'" in session.observe().text


def test_custom_form_is_printed_under_its_title(show: Any) -> None:
    text = show("headings", "html").observe().text
    assert re.search(r"\n\nHeadings:\nTea\nHoney\n.*\n\nHTML:\n", text), text


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("thrown", "the observation form 'thrown' failed: ScriptFailed: Error: no such thing"),
        ("mistaken", "the observation form 'mistaken' failed: KeyError: 'price'"),
        ("empty", "the observation form 'empty' returned no lines for http://"),
    ],
)
def test_failing_custom_form_is_a_named_error(show: Any, kind: str, sentence: str) -> None:
    session = show("accessibility_tree", kind)
    with pytest.raises(BrowserError) as caught:
        session.observe()
    assert sentence in str(caught.value)
