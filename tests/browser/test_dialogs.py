"""Native dialogs under each policy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import Action, Click, CloseTab, FocusTab, NewTab, Press, Scroll, Selector
from pytest_webarena.browser.session import Session
from tests.cases import each_case

if TYPE_CHECKING:
    from tests.browser.conftest import Web

OpenSession = Callable[..., Session]

PAGE = """<title>Main</title><p id=out>-</p>
<button onclick="alert('Saved'); out.textContent = 'done'">alert</button>
<button onclick="out.textContent = confirm('Sure?')">confirm</button>
<button onclick="out.textContent = prompt('Name?', 'Ada')">prompt</button>"""


@pytest.fixture
def open_session(open_session: OpenSession) -> OpenSession:
    """One session for each policy: the cases of a table share it, each with its own tab."""
    return functools.cache(open_session)


def open_page(open_session: OpenSession, web: Web, policy: str) -> Session:
    session = open_session(dialogs=policy)
    session.open_tabs([web.put("/", PAGE)])
    return session


def out(session: Session) -> str:
    return session.read_page(open=None, locate="css=#out").texts[0]


@each_case(
    ("policy", "kind", "result", "note"),
    [
        ("accept", "alert", "done", "An alert said 'Saved'; it was accepted."),
        ("accept", "confirm", "true", "A confirm dialog said 'Sure?'; it was accepted."),
        ("accept", "prompt", "Ada", "A prompt said 'Name?'; it was accepted."),
        ("dismiss", "alert", "done", "An alert said 'Saved'; it was dismissed."),
        ("dismiss", "confirm", "false", "A confirm dialog said 'Sure?'; it was dismissed."),
        ("dismiss", "prompt", "", "A prompt said 'Name?'; it was dismissed."),
    ],
)
def test_dialog_is_answered_by_policy_and_reported(
    open_session: OpenSession, web: Web, policy: str, kind: str, result: str, note: str
) -> None:
    session = open_page(open_session, web, policy)
    outcome = session.execute(Click(Selector(f"text={kind}")))
    assert outcome.error == ""
    assert out(session) == result
    assert session.observe().notes == (note,)
    assert session.observe().notes == ()  # reported once


@each_case(
    ("kind", "key", "shown", "result"),
    [
        ("alert", "Enter", "alert 'Saved'", "done"),
        ("confirm", "Enter", "confirm 'Sure?'", "true"),
        ("confirm", "esc", "confirm 'Sure?'", "false"),
        ("prompt", "enter", "prompt 'Name?' (proposed answer: 'Ada')", "Ada"),
    ],
)
def test_held_dialog_stays_open_until_agent_answers(
    open_session: OpenSession, web: Web, kind: str, key: str, shown: str, result: str
) -> None:
    session = open_page(open_session, web, "hold")
    outcome = session.execute(Click(Selector(f"text={kind}")))
    assert outcome.error == ""
    observation = session.observe()
    assert observation.dialog == shown
    assert observation.text == f"Tab 0 (current): Main\n\nA dialog is open: {shown}"
    assert session.screenshot() == b""  # a page with a dialog can't be painted
    for action in (Scroll("down"), Press("a")):
        assert "Press Enter to accept it or Escape to dismiss it first." in session.execute(action).error
    assert session.execute(Press(key)).error == ""
    assert session.observe().dialog is None
    assert out(session) == result


@pytest.mark.matrix(1)
@pytest.mark.parametrize("leave", [NewTab(), CloseTab()])
def test_open_dialog_does_not_block_other_tabs(open_session: OpenSession, web: Web, leave: Action) -> None:
    session = open_page(open_session, web, "hold")
    session.execute(Click(Selector("text=confirm")))
    assert session.execute(leave).error == ""
    assert session.observe().url == "about:blank"
    if isinstance(leave, NewTab):
        assert session.observe().text.startswith("Tab 0: Main | Tab 1 (current):")
        session.execute(FocusTab(0))
        assert session.observe().dialog == "confirm 'Sure?'"
        reading = session.read_page(open=None, locate="css=#out")
        assert (reading.texts, reading.hidden) == ((), "a dialog is open: confirm 'Sure?'")
        states = session.tabs()  # the end: it is dismissed, so that the page can be kept
        assert [state.url for state in states] == ["http://a.test/", "about:blank"]
        assert '<p id="out">false</p>' in states[0].html
