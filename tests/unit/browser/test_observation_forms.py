"""Observation forms: their descriptions, forms of other packages, and errors for empty output."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.observation import ScrollPosition, forms
from pytest_webarena.browser.observation.budget import compose
from pytest_webarena.browser.observation.extraction import Extraction
from pytest_webarena.browser.observation.forms import BUILTIN, Form, find_form, lines_of, prompt_lines
from pytest_webarena.browser.observation.reference import DOCS_PATH, with_table
from pytest_webarena.errors import BrowserError, UsageError
from tests.cases import each_case

READ = Extraction(lines=("[1] x",), html=("<p> x",), title="", elements={}, focused="", scroll=ScrollPosition())


class Page:
    """A page with a given extraction."""

    url = "http://a.test/"
    config = ObservationConfig()

    def __init__(self, extraction: Extraction = READ) -> None:
        self.extraction = extraction

    async def evaluate(self, function: str, *args: Any) -> Any:
        return [function, *args]


async def outline(page: forms.Page) -> Sequence[str]:
    found: list[str] = await page.evaluate("headings", 2)
    return [str(each) for each in found]


async def nothing(page: forms.Page) -> Sequence[str]:
    return []


OUTLINE = Form(name="of_tests", about="headings", title="Outline:", prompt="Headings.", lines=outline)
NAMELESS = replace(OUTLINE, name="other")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with forms, as entry points name them."""
    here = __name__
    points = {"of_tests": f"{here}:OUTLINE", "wrong": f"{here}:NAMELESS", "gone": f"{here}:NO_SUCH"}
    monkeypatch.setattr(forms, "offered", lambda group: points if group == "webarena.observations" else {})
    forms._installed.cache_clear()
    yield
    forms._installed.cache_clear()


@each_case("form", BUILTIN.values(), ids=lambda form: form.name)
def test_builtin_forms_have_all_descriptions(form: Form) -> None:
    assert find_form(form.name) is form
    assert form.about
    assert form.prompt
    assert prompt_lines([form.name]) == (form.prompt,)
    assert form.lines is None or form.title
    assert ObservationConfig(kinds=(form.name,)).forms == (form,)


def test_documented_table_of_forms_is_current() -> None:
    page = DOCS_PATH.read_text("utf-8")
    assert with_table(page) == page, "run: make docs"


def test_form_of_another_package_is_used(installed: None) -> None:
    config = ObservationConfig.from_plain({"kinds": ["html", "of_tests"]})
    assert config.forms == (BUILTIN["html"], OUTLINE)
    assert not config.pictured()
    assert asyncio.run(lines_of(OUTLINE, Page())) == ("headings", "2")
    text = compose("head", {"html": ("<p> x",), "of_tests": ("headings",)}, config)
    assert text == "head\n\nHTML:\n<p> x\n\nOutline:\nheadings"
    assert prompt_lines(config.kinds) == (BUILTIN["html"].prompt, "Headings.")
    assert "of_tests" in forms.form_names()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "of_test",
            "expected an observation form, found 'of_test'; did you mean 'of_tests'? known: accessibility_tree, ",
        ),
        ("wrong", "to be the observation form 'wrong' (a Form of that name), found "),
        ("gone", "the observation form 'gone' ("),
    ],
)
def test_unknown_or_broken_form_is_a_usage_error(installed: None, name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        ObservationConfig(kinds=(name,))
    assert message in str(caught.value)


def test_unknown_form_error_lists_forms_of_other_packages(installed: None) -> None:
    with pytest.raises(UsageError, match=r"expected one or more of .*set_of_marks.*, of_tests.*found \['of_test'\]"):
        ObservationConfig.from_plain({"kinds": ["of_test"]})


def test_form_without_lines_and_image_is_invalid() -> None:
    with pytest.raises(UsageError, match="form 'x': expected lines or a picture, found neither"):
        Form(name="x", about="y")
    with pytest.raises(UsageError, match="form 'x': expected a title for its text"):
        Form(name="x", about="y", lines=nothing)


def test_form_without_output_is_an_error_that_names_it() -> None:
    with pytest.raises(BrowserError, match=r"the observation form 'of_tests' returned no lines for http://a\.test/"):
        asyncio.run(lines_of(replace(OUTLINE, lines=nothing), Page()))
    with pytest.raises(BrowserError, match="'accessibility_tree' returned no lines"):
        asyncio.run(lines_of(BUILTIN["accessibility_tree"], Page(replace(READ, lines=()))))
    assert asyncio.run(lines_of(replace(OUTLINE, lines=nothing, may_be_empty=True), Page())) == ()
    assert asyncio.run(lines_of(BUILTIN["screenshot"], Page())) is None


def test_form_that_returns_one_string_is_an_error() -> None:
    async def text(page: forms.Page) -> Any:
        return "all of it"

    with pytest.raises(BrowserError, match="'of_tests': expected lines of text, found 'all of it'"):
        asyncio.run(lines_of(replace(OUTLINE, lines=text), Page()))


def test_prompt_lines_omit_screenshot_next_to_set_of_marks() -> None:
    assert prompt_lines(["screenshot", "set_of_marks"]) == (BUILTIN["set_of_marks"].prompt,)
    assert prompt_lines(["screenshot", "html"]) == (BUILTIN["html"].prompt, BUILTIN["screenshot"].prompt)
