"""Iframes in their own processes: read, clicked, typed into, and reported when removed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_webarena.actions import Action, Click, Element, Selector, Type
from pytest_webarena.browser.config import EngineConfig, ObservationConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session
from pytest_webarena.checks.key_nodes.chains import hits
from pytest_webarena.checks.key_nodes.selector_reading import parse_selector
from pytest_webarena.signals import DomEvent
from tests.browser.conftest import CALM
from tests.processes import DEADLINE, wait_until

OUTER = (
    "<title>Outer</title><button onclick='f.src=`http://other.test/2`'>Own</button><div style='height:300px'></div>"
    "<iframe id=f style='margin:20px;border:7px solid;padding:3px' width=500 height=300 src=http://other.test/1></iframe>"
)
INNER = """<p style='margin:60px 0'>inner</p><label>City <input></label><button onclick='this.textContent="Pressed"'>
Press</button><iframe srcdoc="<p>same process</p>" height=40></iframe>
<iframe src=http://third.test/ width=200 height=50></iframe>"""
DEEP = "<button onclick='this.textContent=`Deepened`'>Deep</button>"


@pytest.fixture(scope="module")
def isolating(browser_executable: str | None) -> Iterator[BrowserEngine]:
    """A browser with one process for each site, as Chromium has by default except in the headless shell."""
    config = EngineConfig(executable=browser_executable, launch_args={"args": ["--site-per-process"]})
    with BrowserEngine(config) as engine:
        yield engine


@pytest.fixture
def session(isolating: BrowserEngine, web: Any) -> Iterator[Session]:
    web.put("/", OUTER)
    web.put("http://other.test/1", INNER)
    web.put("http://other.test/2", "<p>Second page</p>")
    web.put("http://third.test/", DEEP)
    config = SessionConfig(proxy=web.proxy, deadlines=CALM, observation=ObservationConfig(extractor="exact"))
    with isolating.session(config) as session:
        session.open_tabs(["http://a.test/"])
        wait_until(
            lambda: "button 'Deep'" in session.observe().text
        )  # three processes, which a busy machine starts late
        yield session


def lines(session: Session) -> list[str]:
    """Return the lines from the frame on, without ids."""
    text = re.sub(r"\[\d+\] ", "", session.observe().text)
    return [line[1:] for line in text[text.index("\tIframe") :].split("\n")]


def id_of(session: Session, what: str) -> Element:
    found = re.search(rf"\[(\d+)\] {re.escape(what)}", session.observe().text)
    assert found, session.observe().text
    return Element(found[1])


def test_out_of_process_frames_can_be_read_and_used(session: Session) -> None:
    assert lines(session) == [
        "Iframe ''",
        "\tStaticText 'inner'",
        "\tStaticText 'City '",
        "\ttextbox 'City' required: False",
        "\tbutton 'Press'",
        "\tIframe '' scroll: 0.3 screens below",
        "\t\tStaticText 'same process'",
        "\tIframe ''",
        "\t\tbutton 'Deep'",
    ]
    ids = re.findall(r"\[(\d+)\]", session.observe().text)
    assert len(ids) == len(set(ids))
    press, deep, city = id_of(session, "button 'Press'"), id_of(session, "button 'Deep'"), id_of(session, "textbox")
    for action in (Click(press), Click(deep), Type(city, "Pittsburgh")):
        assert session.execute(action).error == ""
    text = "\n".join(lines(session))
    assert "button 'Pressed'" in text
    assert "button 'Deepened'" in text
    assert "textbox 'City' focused: True required: False value: 'Pittsburgh'" in text
    assert id_of(session, "button 'Pressed'") == press


@pytest.mark.matrix(1)
@pytest.mark.parametrize("extractor", ["exact", "fast"])
def test_html_and_marks_include_out_of_process_frames(isolating: BrowserEngine, web: Any, extractor: Any) -> None:
    web.put("/", OUTER)
    web.put("http://other.test/1", INNER)
    web.put("http://third.test/", DEEP)
    observed = ObservationConfig(kinds=("html", "set_of_marks"), extractor=extractor)
    with isolating.session(SessionConfig(proxy=web.proxy, deadlines=CALM, observation=observed)) as session:
        session.open_tabs(["http://a.test/"])
        wait_until(lambda: "<button> Deep" in re.sub(r"\[\d+\] ", "", session.observe().text))
        observation = session.observe()
        assert observation.marked
        html, marks = re.sub(r"\[\d+\] ", "", observation.text).split("\n\n")[1:]
        assert marks.split("\n")[1:] == [
            "button 'Own'",
            "textbox 'City' required: False",
            "button 'Press'",
            "button 'Deep'",
        ]
        inside = html.split("\n")[html.split("\n").index("<iframe>") + 1 :]
        assert inside == [
            "\t<p> inner",
            "\t<label> City",
            "\t\t<input>",
            "\t<button> Press",
            '\t<iframe scroll="0.3 screens below">',
            "\t\t<p> same process",
            "\t<iframe>",
            "\t\t<button> Deep",
        ]
        press = re.findall(r"\[(\d+)\] <button> Press", observation.text)[0]
        assert session.execute(Click(Element(press))).error == ""
        assert f"[{press}] <button> Pressed" in session.observe().text


def test_ids_of_navigated_frame_are_stale(session: Session) -> None:
    press = id_of(session, "button 'Press'")
    session.execute(Click(Selector("css=button >> nth=0")))
    wait_until(lambda: lines(session) == ["Iframe ''", "\tStaticText 'Second page'"])
    assert "no longer on the page" in session.execute(Click(press)).error


def test_selectors_work_in_out_of_process_frames(session: Session) -> None:
    """Solutions and recorded steps name elements by selectors."""
    inner = "css=#f >> internal:control=enter-frame >> "
    deep = f"{inner}css=iframe:last-of-type >> internal:control=enter-frame >> css=button"

    def done(action: Action) -> str:
        """Return the error of the action; it is repeated while Playwright does not find the element."""
        error = ""

        def tried() -> bool:
            nonlocal error
            error = session.execute(action).error
            return "No element matches" not in error

        wait_until(tried)
        return error

    assert done(Click(Selector(f"{inner}css=button"))) == ""
    assert done(Click(Selector(deep))) == ""
    assert done(Type(Selector(f"{inner}css=input"), "Pittsburgh", clear=True)) == ""
    text = "\n".join(lines(session))
    assert all(each in text for each in ("button 'Pressed'", "button 'Deepened'", "value: 'Pittsburgh'"))


def test_event_chains_cross_frame_processes(session: Session) -> None:
    """A click in an out-of-process frame is judged together with the elements around that frame."""

    def clicked(what: str) -> DomEvent:
        before = len(session.signals.since())
        assert session.execute(Click(id_of(session, what))).error == ""
        wait_until(lambda: len(session.signals.since()) > before)
        event = session.signals.since()[-1]
        assert isinstance(event, DomEvent)
        return event

    def click(what: str) -> DomEvent:
        """Repeat the click until the elements around the frames are known; earlier events say that they are not."""
        events = [clicked(what)]
        deadline = time.monotonic() + DEADLINE
        while not events[-1].whole and time.monotonic() < deadline:
            events.append(clicked(what))
        return events[-1]

    selector = parse_selector(
        "body > #f >> internal:control=enter-frame >> "
        "body > iframe:last-of-type >> internal:control=enter-frame >> button"
    )
    deep = click("button 'Deep")
    assert (deep.whole, deep.frame, hits(selector, deep)) == (True, "http://third.test/", True)
    assert [each.tag for each in deep.chain if each.within == "frame"] == ["html", "html"]
    press = click("button 'Press")
    assert (press.whole, hits(selector, press)) == (True, False)
    assert hits(parse_selector("#f >> internal:control=enter-frame >> button"), press)
    assert session.signals.lost == 0
