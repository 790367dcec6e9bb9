"""Every action on real pages, and what the agent is told when one has no effect."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import (
    Action,
    Back,
    Check,
    Click,
    CloseTab,
    Element,
    FocusTab,
    Forward,
    Goto,
    Hover,
    Invalid,
    NewTab,
    Noop,
    Point,
    Press,
    Scroll,
    Select,
    Selector,
    Stop,
    Target,
    Type,
)
from pytest_webarena.browser.session import Session

if TYPE_CHECKING:
    from tests.browser.conftest import Web

Show = Callable[[str], Session]
LOG = """<ol id=log></ol><script>
const list = document.getElementById('log');
function log(text) { list.append(Object.assign(document.createElement('li'), {textContent: text})) }
</script>"""


def logged(session: Session) -> tuple[str, ...]:
    return session.read_page(open=None, locate="css=#log li").texts


def value_of(session: Session, selector: str) -> str:
    return session.read_page(open=None, locate=selector).texts[0]


def by_id(session: Session, line: str) -> Element:
    found = re.search(rf"\[(\d+)\] {re.escape(line)}", session.observe().text)
    assert found, f"{line} is not in\n{session.observe().text}"
    return Element(found[1])


def done(session: Session, action: Action) -> None:
    outcome = session.execute(action)
    assert outcome.error == ""


# --- mouse


def test_a_click_hits_its_element_and_is_recorded(show: Show) -> None:
    session = show(f"{LOG}<button data-testid=go onclick=\"log('hit')\">Go <b>now</b></button>")
    outcome = session.execute(Click(by_id(session, "button 'Go now'")))
    assert logged(session) == ("hit",)
    target = outcome.target
    assert target is not None
    assert (target.role, target.name, target.tag, target.text) == ("button", "Go now", "button", "Go now")
    assert target.selector == 'button[data-testid="go"]'
    assert target.x is not None
    assert target.x > 0
    assert set(outcome.seconds) == {"act", "settle"}


@pytest.mark.parametrize(
    ("click", "events"),
    [
        (Click(Selector("css=#b"), count=2), ("click", "click", "dblclick")),
        (Click(Selector("css=#b"), button="right"), ("contextmenu",)),
        (Click(Selector("css=#b"), modifiers=("Shift",)), ("click+shift",)),
        (Hover(Selector("css=#b")), ("over",)),
    ],
)
def test_kinds_of_clicks(show: Show, click: Action, events: tuple[str, ...]) -> None:
    session = show(
        f"<button id=b>B</button>{LOG}<script>for (const t of ['click', 'dblclick', 'contextmenu'])"
        "b.addEventListener(t, e => log(t + (e.shiftKey ? '+shift' : '')));"
        f"{'b.onmouseenter = () => log(`over`)' if isinstance(click, Hover) else ''}</script>"
    )
    done(session, click)
    assert logged(session) == events


def test_an_element_out_of_view_is_scrolled_to(show: Show) -> None:
    session = show(
        "<header style='position:fixed;top:0;height:80px;width:100%;background:gray'>Bar</header>"
        f"<div style='height:3000px'></div><button onclick=\"log('hit')\">Far</button>"
        f"<div style='height:3000px'></div>{LOG}"
    )
    done(session, Click(Selector("text=Far")))
    assert logged(session) == ("hit",)


def test_text_and_parts_of_wrapped_links_can_be_clicked(show: Show) -> None:
    session = show(
        f"{LOG}<div style='width:120px'><a href='#x' onclick=\"log('link')\">a link that wraps over lines</a></div>"
        "<p onclick=\"log('text')\">Plain text</p>"
    )
    done(session, Click(by_id(session, "link 'a link")))
    done(session, Click(by_id(session, "StaticText 'Plain text'")))
    assert logged(session) == ("link", "text")


def test_styled_checkboxes_work_through_their_label(show: Show) -> None:
    session = show(
        "<style>input {position: absolute; opacity: 0; width: 1px; height: 1px}"
        "span {display: inline-block; width: 40px; height: 20px; background: red}</style>"
        "<label><input type=checkbox aria-label=Nice><span></span></label>"
    )
    done(session, Click(by_id(session, "checkbox 'Nice'")))
    assert "checkbox 'Nice' focused: True checked: true" in session.observe().text


def test_points_are_clicked_where_they_are(show: Show) -> None:
    session = show(
        f"<body style='margin:0'><button style='width:100px;height:50px' onclick=\"log('hit')\">P</button>{LOG}"
    )
    outcome = session.execute(Click(Point(50, 25)))
    assert logged(session) == ("hit",)
    assert outcome.target is not None
    assert outcome.target.name == "P"
    assert "outside the viewport" in session.execute(Click(Point(5000, 10))).error


def test_elements_in_frames_are_hit(show: Show) -> None:
    session = show(
        "<div style='height:900px'></div><iframe style='border:7px solid;padding:11px;height:100px' srcdoc=\""
        "<div style='height:500px'></div><button onclick='this.textContent=`hit`'>Inner</button>\"></iframe>"
    )
    session.execute(Scroll("down"))
    done(session, Click(Selector("css=iframe >> internal:control=enter-frame >> text=Inner")))
    assert "button 'hit'" in session.observe().text


# --- what can't be hit is said, and nothing else is hit instead


@pytest.mark.parametrize(
    ("html", "message"),
    [
        ("<button id=t disabled>T</button>", "is disabled"),
        ("<button id=t style='position:absolute;left:-9999px'>T</button>", "can't be scrolled into view"),
        (
            "<button id=t>T</button><div role=dialog aria-label=News style='position:fixed;inset:0'>x</div>",
            "covered by dialog 'News'",
        ),
        ("<button id=t style='visibility:hidden;display:none'>T</button>", "is not visible"),
    ],
)
def test_what_cannot_be_hit_is_explained(show: Show, html: str, message: str) -> None:
    session = show(html)
    assert message in session.execute(Click(Selector("css=#t"))).error


def test_a_stale_id_is_told_and_hits_nothing(show: Show, web: Web) -> None:
    session = show(f"{LOG}<div id=box><button onclick=\"log('old')\">Old</button></div>")
    old = by_id(session, "button 'Old'")
    done(session, Click(Selector("css=#box")))  # nothing there to change it
    session.read_page(open=None, locate="js=box.innerHTML = `<button onclick=\"log('new')\">New</button>`")
    outcome = session.execute(Click(old))
    assert (
        outcome.error
        == f"Element [{old.id}] (button 'Old') is no longer on the page. Use an id of the latest observation."
    )
    assert "old" not in logged(session)[1:]
    assert "new" not in logged(session)


def test_ids_of_another_document_are_never_reused(session: Session, web: Web) -> None:
    # Pages of two sites live in two processes, whose ids both start from 1 and so collide.
    page = "<title>{0}</title><button onclick='document.title=`hit`'>{0}</button>"
    session.open_tabs([web.put("http://one.test/", page.format("One"))])
    old = by_id(session, "button 'One'")
    done(session, Goto(web.put("http://two.test/", page.format("Two"))))
    assert "not on the page shown now" in session.execute(Click(old)).error
    assert session.observe().title == "Two"
    new = by_id(session, "button 'Two'")
    done(session, Goto("http://one.test/"))
    assert "no element" in session.execute(Click(new)).error
    assert session.observe().title == "One"


def test_an_id_that_was_never_shown(show: Show) -> None:
    session = show("<button>B</button>")
    session.observe()
    assert "There is no element [99999]" in session.execute(Click(Element("99999"))).error
    assert "There is no element [nonsense]" in session.execute(Click(Element("nonsense"))).error


def test_the_next_observation_repeats_the_error_until_an_action_works(show: Show) -> None:
    session = show("<button>B</button>")
    error = session.execute(Click(Element("99999"))).error
    assert session.observe().error == error
    done(session, Noop())
    assert session.observe().error == ""
    session.note_error("that was no action")
    assert session.observe().error == "that was no action"


# --- keyboard


@pytest.mark.parametrize(
    "text", ["plain text", "Zoë “quoted” – 漢字 😀👩‍👩‍👧 עברית", "{'json': [1]} `x` \\n ${y}", "x" * 3000]
)
def test_any_text_can_be_typed(show: Show, text: str) -> None:
    session = show(
        "<input aria-label=A value=old><textarea aria-label=B></textarea><div contenteditable aria-label=C></div>"
    )
    for line, selector in (("textbox 'A'", "css=input"), ("textbox 'B'", "css=textarea"), ("generic 'C'", "css=div")):
        outcome = session.execute(Type(by_id(session, line), text, clear=True))
        assert (outcome.error, outcome.value) == ("", text)
        assert value_of(session, selector) == text


def test_webarenas_type_keeps_what_is_there(show: Show) -> None:
    session = show("<input value=old size=3>")
    done(session, Type(Selector("css=input"), "er"))
    assert sorted(value_of(session, "css=input")) == sorted("older")


def test_enter_submits_and_line_breaks_are_typed(show: Show, web: Web) -> None:
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


@pytest.mark.parametrize(
    ("kind", "value"),
    [("date", "2026-11-21"), ("time", "13:45"), ("month", "2026-11"), ("color", "#ff8800"), ("range", "30")],
)
def test_fields_with_pickers_take_a_value(show: Show, kind: str, value: str) -> None:
    session = show(f"<input type={kind} onchange=\"log('change')\">{LOG}")
    done(session, Type(Selector("css=input"), value))
    assert value_of(session, "css=input") == value
    assert logged(session) == ("change",)
    wrong = session.execute(Type(Selector("css=input"), "tomorrow"))
    assert wrong.error.startswith(f"This is a {kind} field: it takes a value such as")
    assert value_of(session, "css=input") == value


def test_read_only_fields_are_told(show: Show) -> None:
    session = show("<input readonly value=x>")
    assert "read-only" in session.execute(Type(Selector("css=input"), "y")).error


def test_keys_and_combinations(show: Show) -> None:
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


def test_several_options_of_a_multiple_list(show: Show) -> None:
    session = show("<select multiple><option>A</option><option selected>B</option><option>C</option></select>")
    assert session.execute(Select(Selector("css=select"), ("A", "C"))).value == "A, C"
    assert value_of(session, "css=select") == "A, C"


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


def test_scrolling_by_screens_and_its_ends(show: Show) -> None:
    session = show("<body style='margin:0'><div style='height:1500px;width:2000px'>x</div>")
    assert "already at the top" in session.execute(Scroll("up")).error
    done(session, Scroll("down"))
    assert session.observe().scroll.y == 720
    done(session, Scroll("down"))
    assert "already at the bottom" in session.execute(Scroll("down")).error
    done(session, Scroll("right"))
    assert session.observe().scroll.x > 0


def test_parts_of_a_page_scroll(show: Show) -> None:
    session = show(
        "<body style='margin:0;overflow:hidden;height:100vh'><div id=d style='height:100%;overflow:auto'>"
        "<div style='height:5000px'>x</div></div>"
    )
    done(session, Scroll("down"))  # the page does not move, its main part does
    done(session, Scroll("down", Selector("css=#d div")))
    assert value_of(session, "js=d.scrollTop") == "1440"


# --- navigation and tabs


def test_going_back_and_forward(session: Session, web: Web) -> None:
    for name in "abc":
        web.put(f"/{name}", f"<title>{name}</title>")
    session.open_tabs(["http://a.test/a"])
    assert "no earlier page" in session.execute(Back()).error
    done(session, Goto("/b"))
    done(session, Goto("http://a.test/c"))
    assert session.execute(Back()).url_after == "http://a.test/b"
    assert session.execute(Back()).url_after == "http://a.test/a"
    assert "no earlier page" in session.execute(Back()).error
    assert session.execute(Forward()).url_after == "http://a.test/b"
    done(session, Forward())
    assert "no later page" in session.execute(Forward()).error
    assert session.observe().title == "c"


def test_tabs_open_close_and_change(session: Session, web: Web) -> None:
    session.open_tabs([web.put(f"/{name}", f"<title>{name}</title>") for name in "ab"])
    assert [tab.title for tab in session.observe().tabs] == ["a", "b"]
    assert session.observe().title == "a"  # the first one is current
    done(session, FocusTab(1))
    assert session.execute(NewTab()).tab == 1
    done(session, Goto("http://a.test/a"))
    assert [tab.title for tab in session.observe().tabs] == ["a", "b", "a"]
    done(session, FocusTab(0))
    done(session, CloseTab())
    assert [(tab.title, tab.active) for tab in session.observe().tabs] == [("b", False), ("a", True)]
    assert session.execute(FocusTab(2)).error == "There is no tab 2: the tabs are 0 to 1."
    done(session, CloseTab())
    done(session, CloseTab())
    assert [(tab.url, tab.active) for tab in session.observe().tabs] == [("about:blank", True)]
    assert session.execute(FocusTab(1)).error == "There is no tab 1: there is only tab 0."


def test_opening_tabs_again_replaces_them(session: Session, web: Web) -> None:
    for name in "ab":
        web.put(f"/{name}", f"<title>{name}</title>")
    session.open_tabs(["http://a.test/a"])
    session.execute(NewTab())
    session.open_tabs(["http://a.test/b"])
    assert [tab.title for tab in session.observe().tabs] == ["b"]


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "chrome://version", "view-source:http://a.test/"],
)
def test_other_schemes_are_refused(show: Show, url: str) -> None:
    session = show("<title>Here</title>")
    assert "only http and https addresses can" in session.execute(Goto(url)).error
    assert session.observe().title == "Here"


def test_addresses_that_lead_nowhere(show: Show, web: Web) -> None:
    session = show("<title>Here</title>")
    web.redirect("/loop", "/loop")
    assert "redirects in a loop (ERR_TOO_MANY_REDIRECTS)" in session.execute(Goto("/loop")).error
    assert "no address" in session.execute(Goto("the shopping cart")).error
    assert "could not be opened" in session.execute(Goto("https://a.test/")).error  # the little proxy has no tunnels
    assert session.observe().url == "https://a.test/"  # as an address bar shows it
    assert session.execute(Goto("http://a.test/nothing")).error == ""
    assert session.observe().title == "Not found"
    web.put("/empty", lambda request: web.reply(status=204))
    assert session.execute(Goto("/empty")).error == ""  # it says: stay where you are
    assert session.observe().title == "Not found"


@pytest.mark.parametrize("action", [Noop(), Stop("42"), Invalid("?", "That was no action.")])
def test_what_does_nothing_does_nothing(show: Show, action: Action) -> None:
    session = show("<title>Here</title>")
    outcome = session.execute(action)
    assert outcome.error == (action.reason if isinstance(action, Invalid) else "")
    assert outcome.url_after == "http://a.test/"


NOWHERE = float("nan")


def test_any_action_ends_as_an_outcome(show: Show) -> None:
    session = show("<input><select><option>A</select><button>B</button><a href='#x'>L</a>")
    field, odd = Selector("css=input"), "\0 \ud83d `'\"\\ \u202e"
    for action in (
        Click(Point(NOWHERE, NOWHERE)),
        Click(Point(1e300, -1e300)),
        Click(field, count=10_000),
        Click(field, count=-1),
        Click(field, modifiers=("Hyper",)),
        Click(field, button="fourth"),  # type: ignore[arg-type]
        Click(Element("")),
        Click(Element(odd)),
        Click(Selector("")),
        Click(Selector(odd)),
        Hover(Selector("xpath=//[")),
        Type(field, odd, clear=True, enter=True),
        Type(field, ""),
        Type(Selector("css=button"), "x"),
        Press(odd),
        Press(""),
        Press("Control+Shift+Alt+Meta+F12"),
        Scroll("sideways"),  # type: ignore[arg-type]
        Scroll("down", Selector("css=a")),
        Select(Selector("css=select"), ()),
        Select(Selector("css=select"), (odd,)),
        Check(Selector("css=select")),
        Goto(odd),
        Goto("http://"),
        Goto("http://[::1"),
        Goto("http://a.test:99999/"),
        FocusTab(-1),
        FocusTab(10**30),
        Invalid(odd, odd),
    ):
        outcome = session.execute(action)
        assert isinstance(outcome.error, str), action
        assert session.observe().url.startswith("http"), action


# --- selectors


def test_selector_targets_are_waited_for(show: Show) -> None:
    session = show("<script>setTimeout(() => document.body.innerHTML = '<button>Late</button>', 300)</script>")
    done(session, Click(Selector('role=button[name="Late"]')))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Selector("css=.missing"), "No element matches 'css=.missing' on http://a.test/ (waited 0.8 s)."),
        (Selector("css=:::"), "is not a selector"),
        (Selector("role=button[nonsense=1]"), "is not a selector"),
    ],
)
def test_selectors_that_match_nothing(show: Show, target: Target, message: str) -> None:
    assert message in show("<p>x").execute(Click(target)).error


def test_a_covered_element_is_clicked_once_it_is_free(show: Show) -> None:
    session = show(
        f"{LOG}<button onclick=\"log('hit')\">B</button><div id=veil style='position:fixed;inset:0'></div>"
        "<script>setTimeout(() => veil.remove(), 300)</script>"
    )
    done(session, Click(Selector("text=B")))
    assert logged(session) == ("hit",)
