"""Content that people see and accessibility trees lack: inserted text, editors, and areas that scroll."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Click, Element
from pytest_webarena.browser.config import ObservationConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.observation.exact import ExactExtractor
from pytest_webarena.browser.observation.extraction import Extraction
from pytest_webarena.browser.observation.fast.extractor import FastExtractor
from pytest_webarena.browser.session import Session
from tests.browser.conftest import QUICK, Web
from tests.cases import each_case

PAGE = Path(__file__).with_name("agreement") / "editors.html"
WHOLE = {
    "current_viewport_only": False,
    "html_viewport_only": False,
    "kinds": ("accessibility_tree", "html", "webcanvas"),
}

Seen = dict[str, tuple[Session, dict[str, list[str]]]]


@pytest.fixture(scope="module")
def seen(engine: BrowserEngine) -> Iterator[Seen]:
    """For each extractor, a session at the page and the lines of each form, without ids."""
    web = Web()
    url = web.put("/editors", PAGE.read_text("utf-8"))
    with ExitStack() as stack:
        stack.callback(web.close)
        found: Seen = {}
        for extractor in ("fast", "exact"):
            observation = ObservationConfig.from_plain({**WHOLE, "extractor": extractor})
            config = SessionConfig(proxy=web.proxy, deadlines=QUICK, observation=observation)
            session = stack.enter_context(engine.session(config))
            session.open_tabs([url])
            text = re.sub(r"\[\d+\] ", "", session.observe().text)
            parts = [part.split("\n")[1:] for part in text.split("\n\n")[1:]]
            forms = ("accessibility_tree", "html", "webcanvas")
            found[extractor] = (
                session,
                {form: [line.strip() for line in part] for form, part in zip(forms, parts, strict=True)},
            )
        yield found


TREE = [
    "StaticText 'New '", "StaticText ' EUR'", "StaticText 'Only CSS'", "StaticText 'Step II. '", "StaticText '8) '",
    "StaticText 'dot'", "StaticText 'said aloud'", "StaticText '3 new'", "StaticText 'Above'", "StaticText 'LOUD '",
    "StaticText 'kg'", "StaticText '“'", "button 'New Buy'", "heading '5 EUR'",
    "generic 'Write a comment' editable: richtext", "generic 'Say something' editable: richtext",
    "generic 'Named' editable: richtext", "textbox 'Reply' required: False", "generic '' editable: richtext",
    "paragraph '' editable: plaintext", "StaticText 'first line'", "StaticText 'second'",
    "textbox 'Code' required: False", "main 'Results' scroll: 2 screens below", "generic '' scroll: 1.5 screens below",
    "listitem 'One' draggable: True", "group 'Three and four' draggable: True", "StaticText 'Two'",
    "Iframe 'Terms' scroll: 2 screens below",
]  # fmt: skip
HTML = [
    "<p> New Tea", "<p> 12 EUR", "<p> Only CSS", "<li> Step II. Send", "<p> 6) x 8) y", "Messages 3 new", "<h2> 5 EUR",
    "<p> LOUD voice", "<p> 7kg", '<div data-placeholder="Write a comment" contenteditable=""> Write a comment',
    '<main aria-label="Results" scroll="2 screens below"> Hit',
    '<iframe title="Terms" scroll="2 screens below"> Clause',
]  # fmt: skip
WEBCANVAS = [
    "text 'New Tea'", "listitem 'Step II. Send'", "button 'New Buy'", "textbox 'Write a comment'",
    "textbox 'Say something'", "textbox 'Reply'", "listitem 'One'", "main 'Results' (2 screens below)",
    "text 'Hit'", "frame 'Terms' (2 screens below)",
]  # fmt: skip


@pytest.mark.parametrize("extractor", ["fast", "exact"])
@each_case(
    "form, line",
    [
        *(("accessibility_tree", line) for line in TREE),
        *(("html", line) for line in HTML),
        *(("webcanvas", line) for line in WEBCANVAS),
    ],
)
def test_what_people_see_is_printed(seen: Seen, extractor: str, form: str, line: str) -> None:
    assert line in seen[extractor][1][form]


@pytest.mark.parametrize("extractor", ["fast", "exact"])
@each_case("text", ["gone", "\uf002", "Hidden elsewhere", "StaticText '1'", "'StaticText 'Write a comment'", "data:"])
def test_what_people_do_not_see_is_not_printed(seen: Seen, extractor: str, text: str) -> None:
    assert not [line for line in seen[extractor][1]["accessibility_tree"] if text in line]


def extracted(session: Session, extractor: str) -> Extraction:
    observation = ObservationConfig(kinds=("accessibility_tree", "set_of_marks"), current_viewport_only=False)
    chosen: Any = FastExtractor() if extractor == "fast" else ExactExtractor()
    reading = chosen.extract(session._tabs.current, observation, seconds=10)
    found: Extraction = session._engine.run(reading, timeout=20, what="reading")
    return found


@pytest.mark.parametrize("extractor", ["fast", "exact"])
def test_editors_are_marked_with_the_box_that_people_see(seen: Seen, extractor: str) -> None:
    session, _ = seen[extractor]
    session._engine.run(session._tabs.current.page.evaluate("scrollTo(0, 9999)"), timeout=20, what="scrolling")
    found = extracted(session, extractor)
    code = next(line for line in found.lines if "textbox 'Code'" in line)
    box = found.marks[re.findall(r"\d+", code)[0]]
    assert (box.width, box.height) == (300, 60)
    assert not any(" StaticText " in line for line in found.marked_lines)
    for line in ("generic 'Say something'", "listitem 'One'", "group 'Three and four'"):
        assert any(line in each for each in found.marked_lines)


@pytest.mark.parametrize("extractor", ["fast", "exact"])
def test_inserted_text_leads_to_its_element(engine: BrowserEngine, web: Web, extractor: Any) -> None:
    web.put("/", "<style>p::before{content:'Open'}</style><p onclick=\"document.title='hit'\"></p>")
    config = SessionConfig(proxy=web.proxy, deadlines=QUICK, observation=ObservationConfig(extractor=extractor))
    with engine.session(config) as session:
        session.open_tabs(["http://a.test/"])
        number = re.findall(r"\[(\d+)\] StaticText 'Open'", session.observe().text)[0]
        assert session.execute(Click(Element(number))).error == ""
        seen = session.observe()
        assert seen.title == "hit"
        assert f"[{number}] StaticText 'Open'" in seen.text
