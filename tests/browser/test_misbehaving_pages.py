"""Misbehaving pages: each ends as a message to the agent or a named error, in time, and the session continues."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.actions import Click, CloseTab, FocusTab, Goto, NewTab, Noop, Selector, Type
from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.session import Session
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.errors import BrowserError, SiteError
from tests.browser.conftest import CALM
from tests.cases import each_case
from tests.processes import wait_until

if TYPE_CHECKING:
    from tests.browser.conftest import Web

Show = Callable[[str], Session]
OpenSession = Callable[..., Session]
STEP = 12.0
"""The step deadline of the sessions here, in seconds."""
LATEST = 3 * STEP
"""Upper limit of a call's duration in seconds: enough for a busy machine, less than the 60 s of a hang."""
HANG = """<script>function hang() {
    const told = new XMLHttpRequest(); told.open('GET', '/hangs', false); told.send(); while (true) {} }</script>"""
"""An endless script of a page, after a request that signals its start."""


def test_endless_script_is_stopped_and_reported(show: Show) -> None:
    session = show("<title>H</title><button onclick='while (true) {}'>B</button><p>Alive")
    began = time.monotonic()
    outcome = session.execute(Click(Selector("text=B")))
    assert time.monotonic() - began < LATEST
    assert outcome.error == "The page stopped responding: it ran a script without end; its script was stopped."
    assert [event.kind for event in outcome.events] == ["script_stopped"]
    observation = session.observe()
    assert "'Alive'" in observation.text
    assert observation.error == outcome.error
    assert observation.notes == ()  # reported once


def hang_page(session: Session, web: Web) -> None:
    """Make a page with ``HANG`` hang without an action of the session."""
    page = session._tabs.current.page
    session._engine.run(page.evaluate("() => void setTimeout(hang)"), timeout=20.0, what="a script")
    wait_until(lambda: any(request.url.endswith("/hangs") for request in web.requests))


def test_page_hung_by_its_own_script_can_be_observed(show: Show, web: Web) -> None:
    session = show(f"<p>Alive</p>{HANG}")
    session.execute(Noop())
    hang_page(session, web)
    began = time.monotonic()
    observation = session.observe()
    assert time.monotonic() - began < LATEST
    assert "'Alive'" in observation.text
    assert observation.notes == ("The page stopped responding: it ran a script without end; its script was stopped.",)


def test_repeatedly_hanging_page_is_closed(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Tab.evaluate

    async def answer(*args: object, **options: object) -> int:
        return 1

    def evaluate(*args: Any, **options: Any) -> Any:  # a page that answers once between two scripts without end
        return (answer if options["what"] == "asking the page" else asked)(*args, **options)

    monkeypatch.setattr(Tab, "evaluate", evaluate)
    session = show(
        "<p>x<script>setInterval(() => { const end = Date.now() + 60000; while (Date.now() < end) {} }, 1)</script>"
    )
    began = time.monotonic()
    observation = session.observe()
    assert time.monotonic() - began < LATEST
    assert observation.notes[-1] == "The page http://a.test/ stopped responding and was closed; the tab is empty."
    assert session.execute(Goto("about:blank")).error == ""


def test_hung_page_does_not_delay_closing(open_session: OpenSession, web: Web, quick: Deadlines) -> None:
    session = open_session(deadlines=replace(quick, close=60.0))
    session.open_tabs([web.put("/", HANG)])
    hang_page(session, web)
    began = time.monotonic()
    session.close()
    assert time.monotonic() - began < LATEST
    with pytest.raises(BrowserError, match="the session is closed"):
        session.observe()


def test_endless_alerts_are_stopped(show: Show) -> None:
    session = show("<button onclick='while (true) alert(1)'>B</button><p>Alive")
    began = time.monotonic()
    outcome = session.execute(Click(Selector("text=B")))
    assert time.monotonic() - began < LATEST
    assert sum(event.kind == "dialog" for event in outcome.events) == 10
    observation = session.observe()
    if outcome.error == "The page kept opening dialogs; its script was stopped.":
        assert "'Alive'" in observation.text
    else:  # a busy machine did not manage to stop it in time
        assert outcome.error == "The page http://a.test/ kept opening dialogs and was closed; the tab is empty."
        assert observation.url == "about:blank"


def test_repeated_alerts_of_a_timer_do_not_block_the_trial(show: Show, web: Web) -> None:
    web.put("/next", "<title>Next</title>")
    session = show("<p>Alive</p><script>setInterval(() => alert('again'), 5)</script>")
    began = time.monotonic()
    for _ in range(3):
        assert session.observe().dialog is None
        session.execute(Noop())
    if session.execute(Goto("http://a.test/next")).error:  # the page was closed because of it
        assert session.execute(Goto("http://a.test/next")).error == ""
    assert session.observe().title == "Next"
    assert time.monotonic() - began < 2 * LATEST


def test_crashed_page_is_a_browser_error(show: Show) -> None:
    session = show("<p>x")
    crash_renderer(session)
    began = time.monotonic()
    with pytest.raises(BrowserError, match=r"the process that rendered http://a.test/ crashed"):
        session.observe()
    with pytest.raises(BrowserError, match="crashed"):
        session.execute(Click(Selector("text=x")))
    assert session.tabs()[0].url == "http://a.test/"  # the address is known without the page and can still be recorded
    session.close()
    assert time.monotonic() - began < 2 * STEP  # the three calls did not wait for the crashed page


def crash_renderer(session: Session) -> None:
    """Crash the process of the current page, as running out of memory would."""
    tab = session._tabs.current

    async def crash() -> None:
        tab.in_background(tab.send("Page.crash", seconds=1.0))
        while True:
            await tab.wait_for_activity(2.0)

    with pytest.raises(BrowserError):
        session._engine.run(crash(), timeout=20.0, what="crashing a page")


def test_other_tabs_survive_a_page_crash(show: Show) -> None:
    session = show("<p>x")
    session.execute(NewTab())
    crash_renderer(session)
    assert session.execute(CloseTab()).error == ""
    assert "'x'" in session.observe().text


def test_closed_tab_is_reported_and_replaced_by_another(show: Show, web: Web) -> None:
    web.put("/pop", "<title>Pop</title><button onclick='window.close()'>Close</button>")
    session = show("<title>Main</title><a href=/pop target=_blank rel=opener>Open</a>")
    session.execute(Click(Selector("text=Open")))
    assert session.observe().title == "Pop"
    outcome = session.execute(Click(Selector("text=Close")))
    assert outcome.error == ""
    observation = session.observe()
    assert observation.title == "Main"
    assert observation.notes == ("The current tab was closed by its page.",)


def test_popup_becomes_current_tab(show: Show, web: Web) -> None:
    web.slow("/late", 0.3, "<title>Late</title><p>Here")
    session = show("<title>Main</title><button onclick='window.open(`/late`)'>Open</button>")
    outcome = session.execute(Click(Selector("text=Open")))
    assert [event.kind for event in outcome.events] == ["popup"]
    observation = session.observe()  # it has been waited for
    assert observation.text.split("\n")[0] == "Tab 0: Main | Tab 1 (current): Late"
    assert "'Here'" in observation.text
    assert observation.notes == ("The page opened a new tab: http://a.test/late.",)


def test_hanging_popup_does_not_block_the_session(open_session: OpenSession, web: Web, quick: Deadlines) -> None:
    web.put("/hung", "<p>Pop<script>while (true) {}</script>")
    session = open_session(deadlines=replace(quick, context=3.0))
    session.open_tabs([web.put("/", "<title>Main</title><a href=/hung target=_blank>Open</a>")])
    began = time.monotonic()
    assert session.execute(Click(Selector("text=Open"))).error == ""
    session.observe()
    assert time.monotonic() - began < LATEST
    session.execute(FocusTab(0))
    assert session.observe().title == "Main"


def test_number_of_popups_is_limited(open_session: OpenSession, web: Web) -> None:
    session = open_session(max_tabs=4, deadlines=CALM)  # each of them may take its time
    session.open_tabs([web.put("/", "<button onclick='for (let i = 0; i < 8; i++) window.open(`/p${i}`)'>B</button>")])
    outcome = session.execute(Click(Selector("text=B")))
    assert outcome.error == ""
    assert len(session.observe().tabs) == 4
    assert any("more than 4 tabs" in event.text for event in outcome.events)


def test_downloads_are_recorded_without_leaving_the_page(show: Show, web: Web) -> None:
    web.file("/report", "a,b\n1,2\n", "text/csv", Content_Disposition="attachment; filename=report.csv")
    session = show("<title>Main</title><a href=/report>Get it</a>")
    outcome = session.execute(Click(Selector("text=Get it")))
    assert (outcome.error, outcome.url_after) == ("", "http://a.test/")
    assert session.execute(Goto("/report")).error == ""
    observation = session.observe()
    assert observation.title == "Main"
    note = "The file 'report.csv' was downloaded from http://a.test/report (2 lines, 8 bytes). Its text:\na,b\n1,2"
    assert observation.notes == (note,) * 2
    assert [event.text for event in outcome.events] == [note]
    wait_until(lambda: all(download.path for download in session.downloads()))
    first = session.downloads()[0]
    assert (first.url, first.name, first.error) == ("http://a.test/report", "report.csv", "")
    with open(first.path) as file:
        assert file.read() == "a,b\n1,2\n"


@each_case(
    "url", ["data:text/html,<p>data</p>", "file:///etc/passwd", "chrome://version", "javascript:document.title='js'"]
)
def test_links_to_other_schemes_are_not_followed(show: Show, url: str) -> None:
    session = show(f'<title>Main</title><a href="{url}">Go</a><a target=_blank href="{url}">New</a>')
    for link in ("Go", "New"):
        session.execute(Click(Selector(f"text={link}")))
        observation = session.observe()
        assert observation.url.startswith(("http://a.test/", "about:blank"))
        assert "root:" not in observation.text
        session.execute(FocusTab(0))
    while len(session.observe().tabs) > 1:
        session.execute(FocusTab(1))
        session.execute(CloseTab())


def test_tab_at_forbidden_address_is_emptied(show: Show) -> None:
    session = show("<title>Main</title>")
    tab = session._tabs.current
    # No page can do this; a browser's own shortcut or a flaw of it might.
    session._engine.run(tab.page.goto("data:text/html,<p>secret</p>"), timeout=20.0, what="going there")
    observation = session.observe()
    assert observation.url == "about:blank"
    assert "secret" not in observation.text
    assert observation.notes == (
        "The page led to data:text/html,<p>secret</p>, which can't be opened here; the tab was emptied.",
    )


def test_goto_times_out_when_site_does_not_answer(show: Show, web: Web) -> None:
    web.slow("/never", 60.0, "")
    session = show("<title>Main</title><a href=/never>Go</a>")
    began = time.monotonic()
    assert session.execute(Goto("/never")).error == "http://a.test/never did not answer within 2.5 s."
    assert time.monotonic() - began < LATEST


def test_click_reports_link_target_that_does_not_answer(show: Show, web: Web) -> None:
    web.slow("/never", 60.0, "")
    session = show("<title>Main</title><a href=/never>Go</a>")
    began = time.monotonic()
    outcome = session.execute(Click(Selector("text=Go")))
    assert time.monotonic() - began < LATEST
    message = "http://a.test/never did not answer within 2.5 s; loading was stopped."
    assert [event.text for event in outcome.events] == [message]
    observation = session.observe()
    assert (observation.title, observation.notes) == ("Main", (message,))
    assert time.monotonic() - began < LATEST


def test_constantly_reloading_page_can_be_observed_and_left(session: Session, web: Web) -> None:
    web.put("/next", "<title>Next</title>")
    web.put("/", "<title>Again</title><p>Here<script>onload = () => location.reload()</script>")
    session.open_tabs(["about:blank"])
    began = time.monotonic()
    assert session.execute(Goto("http://a.test/")).error == ""
    assert time.monotonic() - began < LATEST
    assert session.observe().url == "http://a.test/"
    # As in any browser, a load that started before the agent navigated may still finish afterwards.
    while (error := session.execute(Goto("http://a.test/next")).error) or session.observe().title != "Next":
        assert not error or "the page itself keeps navigating" in error
        assert time.monotonic() - began < 10 * STEP


def test_start_page_that_does_not_load_is_a_site_error(session: Session, web: Web) -> None:
    with pytest.raises(SiteError, match=r"https://a\.test/: expected a page within 2.5 s, found: .*ERR_TUNNEL"):
        session.open_tabs(["https://a.test/"])
    web.put("http://b.test/", lambda request: _broken())
    web.slow("/never", 60.0, "")
    with pytest.raises(SiteError, match=r"expected a page within 2\.5 s"):
        session.open_tabs(["http://a.test/never"])


def _broken() -> str:
    raise OSError


def test_huge_page_is_not_mistaken_for_hung(open_session: OpenSession, web: Web) -> None:
    session = open_session(deadlines=Deadlines(hang=1.0))
    page = web.put(
        "/",
        "<p>x</p><div id=d></div><script>d.innerHTML = '<p>row</p>'.repeat(8000)</script>",
    )
    session.open_tabs([page])
    assert "'row'" in session.observe().text


@pytest.mark.parametrize("policy", ["accept", "dismiss"])
def test_beforeunload_dialog_is_accepted_on_goto(open_session: OpenSession, web: Web, policy: str) -> None:
    web.put("/next", "<title>Next</title>")
    page = "<title>Main</title><input><script>onbeforeunload = event => event.preventDefault()</script>"
    session = open_session(dialogs=policy)
    session.open_tabs([web.put("/", page)])
    session.execute(Type(Selector("css=input"), "typed"))  # browsers only ask after input
    outcome = session.execute(Goto("/next"))
    assert outcome.error == ""
    assert session.observe().title == "Next"
    assert [event.text for event in outcome.events] == ['A "leave page?" dialog opened; it was accepted.']
