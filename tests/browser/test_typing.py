"""Keyboard, lists, checkboxes and scrolling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import Check, Click, Press, Scroll, Select, Selector, Type, Wait
from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.session import Session
from tests.browser.acting import LOG, by_id, done, logged, value_of
from tests.cases import each_case

if TYPE_CHECKING:
    from tests.browser.conftest import Web


Show = Callable[[str], Session]
OpenSession = Callable[..., Session]


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    "text", ["plain text", "Zoë “quoted” – 漢字 😀👩‍👩‍👧 עברית", "{'json': [1]} `x` \\n ${y}", "x" * 3000]
)
def test_any_text_can_be_typed_into_any_field(show: Show, text: str) -> None:
    session = show(
        "<input aria-label=A value=old><textarea aria-label=B></textarea><div contenteditable aria-label=C></div>"
    )
    for line, selector in (("textbox 'A'", "css=input"), ("textbox 'B'", "css=textarea"), ("generic 'C'", "css=div")):
        outcome = session.execute(Type(by_id(session, line), text, clear=True))
        assert (outcome.error, outcome.value) == ("", text)
        assert value_of(session, selector) == text


def test_type_without_clear_appends_to_the_value(show: Show) -> None:
    session = show("<input value=old size=3>")
    done(session, Type(Selector("css=input"), "er"))
    assert sorted(value_of(session, "css=input")) == sorted("older")


def test_enter_submits_form_and_line_breaks_are_typed(show: Show, web: Web) -> None:
    web.put("/found", "<title>Found</title>")
    session = show("<form action=/found><input name=q></form><textarea></textarea>")
    done(session, Type(Selector("css=textarea"), "one\ntwo"))
    assert value_of(session, "css=textarea") == "one\ntwo"
    outcome = session.execute(Type(Selector("css=input"), "coffee & tea", enter=True))
    assert outcome.url_after == "http://a.test/found?q=coffee+%26+tea"
    assert session.observe().title == "Found"


def test_typing_sends_key_events(show: Show) -> None:
    session = show(f'<input onkeydown="log(event.key)">{LOG}')
    done(session, Type(Selector("css=input"), "aB", enter=True))
    assert logged(session) == ("a", "Shift", "B", "Enter") or logged(session) == ("a", "B", "Enter")


@each_case(
    ("kind", "value"),
    [("date", "2026-11-21"), ("time", "13:45"), ("month", "2026-11"), ("color", "#ff8800"), ("range", "30")],
)
def test_date_and_other_picker_fields_take_a_value(show: Show, kind: str, value: str) -> None:
    session = show(f"<input type={kind} onchange=\"log('change')\">{LOG}")
    done(session, Type(Selector("css=input"), value))
    assert value_of(session, "css=input") == value
    assert logged(session) == ("change",)
    wrong = session.execute(Type(Selector("css=input"), "tomorrow"))
    assert wrong.error.startswith(f"This is a {kind} field: it takes a value such as")
    assert value_of(session, "css=input") == value


def test_typing_into_read_only_field_is_an_error(show: Show) -> None:
    session = show("<input readonly value=x>")
    assert "read-only" in session.execute(Type(Selector("css=input"), "y")).error


def test_keys_and_key_combinations_are_pressed(show: Show) -> None:
    session = show("<input value=abc>")
    done(session, Press("End", Selector("css=input")))
    done(session, Press("shift+arrowleft"))
    done(session, Press("x"))
    assert value_of(session, "css=input") == "abx"
    done(session, Press("ControlOrMeta+a"))
    assert session.execute(Press("delete")).value == "Delete"
    assert value_of(session, "css=input") == ""
    assert "did you mean Enter?" in session.execute(Press("Entr")).error


# --- lists, checkboxes, scrolling


def test_options_are_chosen_by_label_value_or_id(show: Show) -> None:
    session = show(
        f'<select onchange="log(this.value)"><option value=1>One</option><option value=2>Two  words</option>'
        f"<option value=3 disabled>Three</option></select>{LOG}"
    )
    select = Selector("css=select")
    assert session.execute(Select(select, ("Two words",))).value == "Two words"
    done(session, Select(select, ("1",)))
    done(session, Click(by_id(session, "option 'Two words'")))  # it is nowhere on the screen, but can be meant
    done(session, Type(by_id(session, "combobox ''"), "one"))
    assert logged(session) == ("2", "1", "2", "1")
    assert (
        session.execute(Select(select, ("Four",))).error
        == "The list has no option 'Four'. It has: 'One', 'Two words', 'Three'."
    )
    assert "disabled" in session.execute(Select(select, ("Three",))).error
    assert "Only one option" in session.execute(Select(select, ("One", "Two words"))).error
    assert "no list" in session.execute(Select(Selector("css=body"), ("One",))).error


CALENDAR = """<input id=day><div id=calendar hidden><select aria-label=Month></select></div><script>
let kept = false;
const draw = month => {
  calendar.innerHTML = '<select aria-label=Month><option>May<option>June</select>';
  calendar.firstChild.value = month;
  day.title = month;
};
draw('May');
day.onfocus = () => calendar.hidden = false;
day.onblur = () => { if (!kept) LEAVE; kept = false; };
calendar.onmousedown = () => { kept = KEEPS };
calendar.onchange = event => draw(event.target.value);
</script>"""
"""As Pikaday: it closes when its field loses the focus, unless the mouse was pressed in it, and is drawn again."""


@each_case(
    ("leave", "keeps", "error", "hidden"),
    [
        ("setTimeout(() => calendar.hidden = true, 50)", "true", "", False),
        ("setTimeout(() => calendar.hidden = true, 50)", "false", "", True),
        ("calendar.innerHTML = ''", "false", "Nothing was chosen: the page removed the list when it got the", True),
    ],
)
def test_option_is_chosen_in_a_list_that_closes_when_it_gets_the_focus(
    show: Show, leave: str, keeps: str, error: str, hidden: bool
) -> None:
    session = show(CALENDAR.replace("LEAVE", leave).replace("KEEPS", keeps))
    done(session, Click(Selector("css=#day")))
    outcome = session.execute(Select(by_id(session, "combobox 'Month'"), ("June",)))
    assert outcome.error.startswith(error)
    assert bool(outcome.error) == bool(error)
    if not error:
        assert session.read_page(open=None, locate="js=[day.title, calendar.hidden]").value == ["June", hidden]


@each_case(("delay", "error"), [("0", ""), ("1", "The page does not draw this list, and chose 'Tea' again.")])
def test_choice_that_an_undrawn_list_loses_is_an_error(show: Show, delay: str, error: str) -> None:
    session = show(
        "<select style='display:none' onchange='if (+DELAY) setTimeout(() => this.value = `Tea`, DELAY)'><option>Tea"
        "<option>Milk</select><button>Tea</button>".replace("DELAY", delay)
    )
    outcome = session.execute(Select(Selector("css=select"), ("Milk",)))
    assert (outcome.error.startswith(error), bool(outcome.error)) == (True, bool(error))


def test_several_options_of_a_multiple_select_are_chosen(show: Show) -> None:
    session = show(
        "<p style='height:2000px'></p><select multiple onmousedown='title = `pressed`'>"
        "<option>A</option><option selected>B</option><option>C</option></select>"
    )
    assert session.execute(Select(Selector("css=select"), ("A", "C"))).value == "A, C"
    assert value_of(session, "css=select") == "A, C"
    assert value_of(session, "js=document.querySelector('select').title") == "pressed"


def test_checkboxes_are_set_not_toggled(show: Show) -> None:
    session = show(
        "<input type=checkbox><input type=radio><span role=switch aria-checked=false tabindex=0>S</span><p>x"
    )
    box = Selector("css=[type=checkbox]")
    for checked in (True, True, False, False):
        done(session, Check(box, checked))
        assert value_of(session, box.selector) == str(checked).lower()
    done(session, Check(Selector("css=[type=radio]")))
    assert "can't be cleared" in session.execute(Check(Selector("css=[type=radio]"), False)).error
    assert "did not change" in session.execute(Check(Selector("css=span"))).error
    assert "no checkbox" in session.execute(Check(Selector("css=p"))).error


def test_scroll_moves_by_screens_and_reports_the_ends(show: Show) -> None:
    session = show("<body style='margin:0'><div style='height:1500px;width:2000px'>x</div>")
    assert "already at the top" in session.execute(Scroll("up")).error
    done(session, Scroll("down"))
    assert session.observe().scroll.y == 720
    done(session, Scroll("down"))
    assert "already at the bottom" in session.execute(Scroll("down")).error
    done(session, Scroll("right"))
    assert session.observe().scroll.x > 0


def test_scrollable_part_of_page_is_scrolled(show: Show) -> None:
    session = show(
        "<body style='margin:0;overflow:hidden;height:100vh'><div id=d style='height:100%;overflow:auto'>"
        "<div style='height:5000px'>x</div></div>"
    )
    done(session, Scroll("down"))  # the page does not move, its main part does
    done(session, Scroll("down", Selector("css=#d div")))
    assert value_of(session, "js=d.scrollTop") == "1440"


ENDLESS = """<body style='margin:0'><div style='height:1000px'>x</div><script>
const more = () => document.body.append(Object.assign(document.createElement('div'), {style: 'height:1000px'}));
onscroll = () => { if (innerHeight + scrollY >= document.body.scrollHeight) %s; }
</script>"""


def test_scroll_waits_for_content_it_loads(calm: Session, web: Web) -> None:
    session = calm  # once a page's timers exceeded the limit, they are no longer awaited
    session.open_tabs([web.put("/", ENDLESS % "setTimeout(more, 250)")])
    for blocks in ("2", "2", "3"):
        done(session, Scroll("down"))
        assert value_of(session, "js=document.querySelectorAll('div').length") == blocks


def test_end_of_page_is_determined_once_it_is_quiet(calm: Session, web: Web) -> None:
    page = "<body style='margin:0'>x<script>setTimeout(() => x.style.height = '3000px', 600)</script><p id=x>"
    calm.open_tabs([web.put("/", page)])
    done(calm, Scroll("down"))
    assert float(value_of(calm, "js=scrollY")) > 0


def test_scroll_error_says_that_page_is_still_loading(open_session: OpenSession, web: Web, quick: Deadlines) -> None:
    session = open_session(deadlines=replace(quick, settle=0.3))
    web.slow("/more", 60, "")
    session.open_tabs([web.put("/", ENDLESS % "fetch('/more').then(more)")])
    done(session, Scroll("down"))
    error = session.execute(Scroll("down")).error
    assert error.startswith("Nothing moved: this is at the bottom for now, but the page is still loading http://a.test")
    web.released.set()
    done(session, Wait(5))
    done(session, Scroll("down"))
