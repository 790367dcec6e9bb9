"""Navigation: history, tabs, rejected or unreachable addresses, and arbitrary actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

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
    Type,
)
from pytest_webarena.browser.session import Session
from pytest_webarena.signals import AddressChanged
from tests.browser.acting import done
from tests.cases import each_case

if TYPE_CHECKING:
    from tests.browser.conftest import Web


Show = Callable[[str], Session]


def test_back_and_forward_move_in_history(session: Session, web: Web) -> None:
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


def test_tabs_can_be_opened_focused_and_closed(session: Session, web: Web) -> None:
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


def test_open_tabs_replaces_existing_tabs(session: Session, web: Web) -> None:
    for name in "ab":
        web.put(f"/{name}", f"<title>{name}</title>")
    session.open_tabs(["http://a.test/a"])
    session.execute(NewTab())
    session.open_tabs(["http://a.test/b"])
    assert [tab.title for tab in session.observe().tabs] == ["b"]


def test_initial_tab_is_reused_unless_it_was_visited(open_session: Callable[..., Session], web: Web) -> None:
    def numbers(session: Session, *names: str) -> list[int]:
        session.open_tabs([web.put(f"/{name}", name) for name in names])
        return [signal.tab for signal in session.signals.since() if isinstance(signal, AddressChanged)]

    session = open_session()
    assert numbers(session, "a", "b") == [0, 1]
    assert numbers(session, "a") == [2]
    used = open_session()
    used.execute(Goto(web.put("/c", "<script>name = 'left behind'</script>")))
    assert numbers(used, "a") == [1]


@each_case(
    "url",
    ["file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "chrome://version", "view-source:http://a.test/"],
)
def test_goto_rejects_other_schemes(show: Show, url: str) -> None:
    session = show("<title>Here</title>")
    assert "only http and https addresses can" in session.execute(Goto(url)).error
    assert session.observe().title == "Here"


def test_goto_reports_unreachable_addresses(show: Show, web: Web) -> None:
    session = show("<title>Here</title>")
    web.redirect("/loop", "/loop")
    assert "redirects in a loop (ERR_TOO_MANY_REDIRECTS)" in session.execute(Goto("/loop")).error
    assert "no address" in session.execute(Goto("the shopping cart")).error
    assert "could not be opened" in session.execute(Goto("https://a.test/")).error  # the little proxy has no tunnels
    assert session.observe().url == "https://a.test/"  # as an address bar shows it
    assert session.execute(Goto("http://a.test/nothing")).error == ""
    assert session.observe().title == "Not found"
    web.put("/empty", lambda request: web.reply(status=204))
    assert session.execute(Goto("/empty")).error == ""  # 204 means: stay on the page
    assert session.observe().title == "Not found"


@each_case("action", [Noop(), Stop("42"), Invalid("?", "That was no action.")])
def test_noop_and_invalid_actions_leave_the_page(show: Show, action: Action) -> None:
    session = show("<title>Here</title>")
    outcome = session.execute(action)
    assert outcome.error == (action.reason if isinstance(action, Invalid) else "")
    assert outcome.url_after == "http://a.test/"


NOWHERE = float("nan")


def test_any_odd_action_gives_an_outcome(show: Show) -> None:
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
