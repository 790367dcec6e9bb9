"""Rows in which an agent's scripts acted: a replay finds them again, or does nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from pytest_webarena.actions import ByScript, Click, Element, Selector
from pytest_webarena.agents.text_filters import text_filters
from pytest_webarena.browser.session import Session
from pytest_webarena.signals import DomEvent
from pytest_webarena.trials.script_actions import act_of
from tests.browser.conftest import Web
from tests.browser.watched import Watched, client, page, playwright, watched, web
from tests.processes import wait_until

__all__ = ["client", "page", "playwright", "watched", "web"]

ROWS = "<table>%s</table>"
ROW = "<tr><td>%s<td>1<td><button onclick='document.title += ` ${this.closest(`tr`).cells[0].innerText}`'>Star</button>"


def rows(*names: str) -> str:
    return "<title>starred</title>" + ROWS % "".join(ROW % name for name in names)


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("now", "starred", "error"),
    [
        (("Alpha", "Beta", "Gamma"), "starred Beta", ""),
        (("Aaron", "Alpha", "Beta", "Gamma"), "starred Beta", ""),
        (("Gamma", "Beta", "Alpha"), "starred Beta", ""),
        (("Alpha", "Gamma"), "starred", "It stood in what read 'Beta 1 Star'"),
        (("Alpha", "Gamma", "Beta", "Beta"), "starred", "or more than once"),
        (("Beta",), "starred", "No element matches"),
    ],
)
def test_replay_finds_row_by_its_text(
    page: Page, watched: Watched, session: Session, calm: Session, web: Web, now: tuple[str, ...], starred: str,
    error: str,
) -> None:  # fmt: skip
    """Never another row that is now at the same position."""
    session = session if error else calm  # waits as long as needed for the element
    web.put("/rows", rows("Alpha", "Beta", "Gamma"))
    page.goto("http://a.test/rows")
    before = len(watched.session.signals.since())
    page.evaluate("() => document.querySelectorAll('button')[1].click()")

    def acts() -> list[DomEvent]:
        found = watched.session.signals.since(before)
        return [each for each in found if isinstance(each, DomEvent) and each.by_script]

    wait_until(lambda: len(acts()) == 1)
    act = act_of(acts()[0])
    assert act.rows == (("td", "Star"), ("tr", "Beta 1 Star"))

    web.put("/now", rows(*now))
    session.open_tabs(["http://a.test/now"])
    target = Selector(act.selector)
    outcome = session.execute(ByScript(target, "click", alone=act.target.selector, rows=act.rows))
    assert error in outcome.error
    assert bool(error) is bool(outcome.error)
    assert session.observe().title == starred


@pytest.mark.matrix(1)
@pytest.mark.parametrize("other", ["", "<input>"])
def test_replay_finds_same_element_within_the_row(
    page: Page, watched: Watched, session: Session, web: Web, other: str
) -> None:
    """Several elements of one kind are told apart by their position in the row, if their number is unchanged."""
    row = "<tr><td>{}<td><input><td><input type=checkbox onchange='document.title += this.closest(`tr`).innerText'>"
    web.put("/ticks", ROWS % "".join(map(row.format, ("Alpha", "Beta"))))
    page.goto("http://a.test/ticks")
    before = len(watched.session.signals.since())
    page.evaluate("() => document.querySelectorAll('tr')[1].querySelectorAll('input')[1].click()")

    def acts() -> list[DomEvent]:
        found = watched.session.signals.since(before)
        return [each for each in found if isinstance(each, DomEvent) and each.by_script]

    wait_until(lambda: len(acts()) == 1)
    act = act_of(acts()[0])
    web.put("/now", "<title>-</title>" + ROWS % "".join(map((row + other).format, ("Aaron", "Alpha", "Beta"))))
    session.open_tabs(["http://a.test/now"])
    target = Selector(act.selector)
    outcome = session.execute(ByScript(target, "click", alone=act.target.selector, rows=act.rows))
    assert bool(outcome.error) is bool(other)
    assert "".join(session.observe().title.split()) == ("-" if other else "-Beta")


Done = Callable[[str, str, str], tuple[str, str]]


@pytest.fixture
def done_again(page: Page, watched: Watched, session: Session, web: Web) -> Done:
    """Repeat a script action of one page in another; return the title after it and the error."""

    def again(then: str, script: str, now: str) -> tuple[str, str]:
        web.put("/then", then)
        web.put("/now", f"<title>-</title>{now}")
        page.goto("http://a.test/then")
        before = len(watched.session.signals.since())
        page.evaluate(f"() => {{ {script} }}")

        def acts() -> list[DomEvent]:
            found = watched.session.signals.since(before)
            return [each for each in found if isinstance(each, DomEvent) and each.by_script]

        wait_until(lambda: len(acts()) == 1)
        act = act_of(acts()[0])
        session.open_tabs(["http://a.test/now"])
        how: Any = {"alone": act.target.selector, "rows": act.rows, "names": (act.target.name,)}
        error = session.execute(ByScript(Selector(act.selector), act.event, act.value, **how)).error
        return session.observe().title, error

    return again


@pytest.mark.parametrize(("now", "title"), [("Pickup Courier", "Courier"), ("Pickup Express", "-")])
def test_replay_finds_element_by_name_in_reordered_row(session: Session, web: Web, now: str, title: str) -> None:
    says = "<label>%s <input type=radio onclick='document.title = this.parentElement.innerText'></label>"
    web.put("/now", f"<title>-</title><p>Fast</p><p>{''.join(says % name for name in now.split())}")
    session.open_tabs(["http://a.test/now"])
    found = re.search(r"\[(\d+)\] radio '(Courier|Express)", session.observe().text)
    assert found is not None
    rows = (("label", "Courier"), ("p", "Courier Pickup"))
    outcome = session.execute(ByScript(Element(found[1]), "click", rows=rows, names=("Courier",)))
    assert bool(outcome.error) is (title == "-")
    assert session.observe().title.strip() == title


SAYS = "onclick='document.title = this.closest(`li`).dataset.of + this.ariaLabel'"
ITEMS: dict[str, Callable[[int, str], str]] = {
    "an id": lambda n, name: f"<li data-of={name}>{name} <button id=del-{n} {SAYS}>Delete</button>",
    "a test id": lambda n, name: f"<li data-of={name}>{name} <button data-testid='row {n}' {SAYS}>Delete</button>",
    "an id of the row": lambda n, name: f"<li id=row-{n} data-of={name}>{name} <button {SAYS}>Delete</button>",
    "a letter": lambda n, name: f"<li data-of={name}>{name} <button id=del_{'abcdef'[n]} {SAYS}>Delete</button>",
    "what a field holds": lambda n, name: f"<li data-of={name}><input value={name}><button {SAYS}>Delete</button>",
    "a picture": lambda n, name: f"<li data-of={name}><img alt={name}><button {SAYS}>Delete</button>",
}


@pytest.mark.matrix(1)
@pytest.mark.parametrize("kind", ITEMS)
@pytest.mark.parametrize(
    ("now", "title"), [("Kettle Mug Bowl", "Mug"), ("Apron Kettle Mug", "Mug"), ("Apron Bowl Kettle", "-")]
)
def test_row_is_not_identified_by_counter_ids_or_common_text(done_again: Done, kind: str, now: str, title: str) -> None:
    pages = [
        "".join(ITEMS[kind](n, name) for n, name in enumerate(names.split())) for names in ("Kettle Mug Bowl", now)
    ]
    found, error = done_again(pages[0], "document.querySelectorAll('button')[1].click()", pages[1])
    assert found.removesuffix("null") == title
    assert bool(error) is (title == "-")


def test_last_remaining_row_is_not_taken_for_another(done_again: Done) -> None:
    then, now = ("".join(ITEMS["an id"](n, f"Note{n}") for n in numbers) for numbers in ((1, 2), (2,)))
    found, error = done_again(then, "document.querySelector('button').click()", now.replace("del-2", "del-1"))
    assert found == "-"
    assert error


ICONS = [f"<button aria-label={name} onclick='document.title = this.ariaLabel'>*</button>" for name in ("Keep", "Drop")]


@pytest.mark.parametrize(("now", "title"), [(ICONS, "Keep"), (ICONS[::-1], "-")])
def test_replay_does_not_act_on_element_with_another_name(done_again: Done, now: list[str], title: str) -> None:
    pages = ["".join(f"<p>{name}{''.join(icons)}" for name in "AB") for icons in (ICONS, now)]
    found, error = done_again(pages[0], "document.querySelector('button').click()", pages[1])
    assert found == title
    assert error == ("" if title == "Keep" else "It was called 'Keep'; what is there now is 'Drop'.")


def test_replay_fails_when_unique_element_has_become_ambiguous(session: Session, web: Web) -> None:
    web.put("/two", "<title>-</title><p><button onclick='document.title = 1'>A</button><p><button>B</button>")
    session.open_tabs(["http://a.test/two"])
    outcome = session.execute(ByScript(Selector("css=p > button"), "click", alone="p > button"))
    assert outcome.error == "p > button found one element, and now 2."
    assert session.observe().title == "-"


LIST = "<ul>%s</ul>"
ITEM = (
    "<li>%s <b>it's</b><span hidden>!</span><label onclick='document.title += this.parentElement.innerText'>x</label>"
)


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("then", "now", "title"),
    [
        (("Kettle", "Mug"), ("Kettle", "Mug"), "-Mug it'sx"),
        (("Kettle", "Mug"), ("Apron", "Kettle", "Mug"), "-"),
        (("Kettle", 'Mug\\ " 3 h'), ("Kettle", 'Mug\\ " 12 h'), "-Mug\\ \" 12 hit'sx"),
        (("Note 3", "Note 4"), ("Note 2", "Note 3"), "-"),
        (("Note 3", "Note 4"), ("Kettle", "Note 3"), "-"),
    ],
)
def test_clicked_element_is_found_by_its_own_and_its_rows_text(
    session: Session, web: Web, then: tuple[str, ...], now: tuple[str, ...], title: str
) -> None:
    """At its position only; numbers may differ if no other row has the same text."""
    web.put("/then", LIST % "".join(ITEM % name for name in then))
    web.put("/now", "<title>-</title>" + LIST % "".join(ITEM % name for name in now))
    session.open_tabs(["http://a.test/then"])
    place = "css=li:nth-of-type(2) > label"
    hit = session.execute(Click(Selector(place))).target
    assert hit is not None
    numbers = ("numbers",) if "Note 3" in then else ()
    assert hit.reads == (("label", "x"), ("li", f"{then[1]} it's!x", *numbers))
    session.open_tabs(["http://a.test/now"])
    for each in text_filters(hit.reads):
        session.execute(Click(Selector(place + each)))
    assert "".join(session.observe().title.split()) == "".join(title.split())
