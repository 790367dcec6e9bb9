"""What checks read of a private site, whatever the agent did to its session before it stopped."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.sites.catalogues.manifest import LoginCheck, LoginRecipe
from tests.browser.conftest import CALM
from tests.browser.visiting import look, visit

if TYPE_CHECKING:
    from pytest_webarena.browser.session import Session
    from pytest_webarena.checks import Verdict
    from pytest_webarena.trials.live import LiveTrial
    from tests.browser.conftest import OpenSession, Reply, Request, Web

CHECK = LoginCheck(path="/account", includes="Hello {username}")
RECIPE = LoginRecipe(kind="script", site="board", path="/login", script=f"{__name__}:sign_in", check=CHECK)


def sign_in(visit: Any) -> None:
    """The board's sign-in script, as a catalogue names it."""
    visit.call("POST", "/login", body=f"{visit.username} {visit.password}")


class Board:
    """A board of notes that shows none of them to anyone but emma."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self.notes: list[str] = []
        self.added = ""
        self.sessions: list[str] = []
        self.count = 0
        self.password = "x"
        self.by_header = False
        """Whether everybody is emma, as where the gateway adds a header."""
        self.renews = False
        """Whether each answer to emma has a new session id, and ends the one before."""
        web.put("/account", self.page)
        web.put("/notes", self.page)
        web.put("/login", self.login)
        web.put("/api/notes", lambda request: json.dumps([{"title": note} for note in self._shown(request)]))
        web.put("/api/total", self.total)

    def login(self, request: Request) -> Reply | str:
        if request.body != f"emma {self.password}":
            return "<h1>Log in</h1>"
        self.count += 1
        self.sessions.append(f"s{self.count}")
        return self._web.reply("Welcome", Set_Cookie=f"sid=s{self.count}; Path=/; HttpOnly")

    def page(self, request: Request) -> Reply | str:
        if not self._is_emma(request) and urlsplit(request.url).path == "/account":
            return self._web.reply("Log in", 302, Location="/login")
        name = "Hello emma" if self._is_emma(request) else "Hello visitor"
        shown = (
            f"{name}: <b>{len(self._shown(request))}</b> {self._shown(request)} {self.added * self._is_emma(request)}"
        )
        if not (self.renews and self._is_emma(request)):
            return shown
        self.count += 1
        self.sessions = [f"s{self.count}"]
        return self._web.reply(shown, Set_Cookie=f"sid=s{self.count}; Path=/; HttpOnly")

    def total(self, request: Request) -> str:
        shown = {"total": len(self._shown(request)), "of": "emma" if self._is_emma(request) else "nobody"}
        return json.dumps({**shown, "added": self.added if self._is_emma(request) else ""})

    def _shown(self, request: Request) -> list[str]:
        return self.notes if self._is_emma(request) else []

    def _is_emma(self, request: Request) -> bool:
        """Use the first cookie of the name, which has the longest path; other cookies are ignored."""
        cookies = [each.strip() for each in request.headers.get("Cookie", "").split(";")]
        if self.by_header or "a]b=1" in cookies:
            return "a]b=1" not in cookies
        first = next((each for each in cookies if each.startswith("sid=")), "")
        return first.removeprefix("sid=") in self.sessions


OPENED = [
    "page: {open: /notes, locate: css=b, exact: '0'}",
    "page: {open: /notes, includes: Milk}",
    "not: {page: {open: /notes, includes: Seed}}",
    "state: {api: /api/notes, equals: []}",
    "state: {api: /api/total, at: $.total, equals: 0}",
    "state: {api: /api/total, includes: '0'}",
    "state: {api: /api/total, at: $.added, equals: Milk}",
    "not: {state: {api: /api/notes, at: '$[0].title', equals: Seed}}",
]
"""Conditions of a task to delete the only note, Seed, which the board meets for visitors, and to add Milk elsewhere."""
TAB = ["page: {locate: css=b, exact: '0'}", f"python: {__name__}:tab_is_empty"]


def tab_is_empty(evidence: Any) -> bool:
    """Return whether the tab shows no notes: a Python check."""
    return "Seed" not in evidence.tabs[0].html


class Desk:
    """The board with emma's session, in the state that a trial ended in."""

    def __init__(self, board: Board, session: Session, web: Web, engine: BrowserEngine) -> None:
        self.board, self.session, self._web, self._engine = board, session, web, engine

    def judged(self, conditions: list[str], *done: str, **more: Any) -> Verdict:
        """Judge the conditions after an agent has ``done`` this."""
        board, session = self.board, self.session
        board.sessions, board.password = [] if "sign out" in done else ["s0"], "y" if "password" in done else "x"
        board.notes, board.added = ([], "Milk") if "work" in done else (["Seed"], "")
        session._call(session._context.clear_cookies(), 5.0, "forgetting")  # type: ignore[union-attr]
        kept = [each for act in done for each in COOKIES.get(act, ())]
        kept += [("sid", "s0", "/account" if {"move", "bob"}.intersection(done) else "/")]
        session.sign_in({"cookies": [cookie(value, path, name) for name, value, path in kept]})
        session.open_tabs(["http://a.test/notes"])
        return look(session, self.live(**more), f"[{', '.join(f'{{{condition}}}' for condition in conditions)}]")

    def live(self, **more: Any) -> LiveTrial:
        return visit(self.session, self._web, engine=self._engine, **{"login": RECIPE, **more})


def cookie(value: str, path: str, name: str = "sid") -> dict[str, Any]:
    return {"name": name, "value": value, "domain": "a.test", "path": path, "expires": -1}


@pytest.fixture
def desk(open_session: OpenSession, web: Web, engine: BrowserEngine) -> Desk:
    session = open_session(storage_state={"cookies": [cookie("s0", "/")], "origins": []}, deadlines=CALM)
    return Desk(Board(web), session, web, engine)


COOKIES = {
    "shadow": [("sid", "none", "/notes"), ("sid", "none", "/api")],
    "bob": [("sid", "bob", "/")],
    "spoil": [("a]b", "1", "/notes")],
    "seen": [("seen", "yes", "/notes")],
    "many": [(f"seen{count}", "yes", f"/notes/{count}") for count in range(11)],
}
"""The cookies that an act sets, in addition to emma's: as name, value and path."""
DONE: dict[tuple[str, ...], tuple[bool, bool]] = {
    ("nothing",): (False, False),
    ("work", "shadow"): (True, False),
    ("sign out",): (False, False),
    ("shadow",): (False, False),
    ("work", "sign out"): (True, False),
    ("work", "sign out", "password"): (False, False),
    ("move",): (False, False),
    ("work",): (True, True),
}
"""What an agent did; the expected result of conditions on opened pages, and of those on the agent's last tab."""
AGAIN = [("sign out",), ("work", "sign out"), ("shadow",), ("work", "shadow"), ("move",)]
"""After which the harness signs in again."""


@pytest.mark.matrix(2)
@pytest.mark.parametrize("acts", DONE)
def test_conditions_are_judged_as_the_account_whatever_the_session(desk: Desk, acts: tuple[str, ...]) -> None:
    """For every kind of condition and every state of the session, the result is what emma sees."""
    opened, tab = DONE[acts]
    conditions = [*OPENED, *TAB]
    results = desk.judged(conditions, *acts).results
    for condition, result in zip(conditions, results, strict=True):
        assert result.passed is (tab if condition in TAB else opened), (condition, result)
    assert ("after signing emma in to board again" in results[0].actual) is (acts in AGAIN)
    assert ("signing in again failed: signing in to board as emma" in results[0].why) is ("password" in acts)


@pytest.mark.matrix(2)
@pytest.mark.parametrize("how", ["plain", "header", "locate", "renewing"])
def test_path_specific_cookies_are_verified_for_every_sign_in_kind(desk: Desk, how: str) -> None:
    """Cookies that the site itself sets for some paths are accepted."""
    recipe = replace(RECIPE, kind="header", script="") if how == "header" else RECIPE
    if how == "locate":
        recipe = replace(RECIPE, check=LoginCheck(path="/account", includes="1", locate="css=b"))
    desk.board.by_header, desk.board.renews = how == "header", how == "renewing"
    doubts = {"seen": "", "spoil": "with the cookies for addresses at /notes: expected "}
    if how == "plain":
        doubts |= {"bob": "with the cookies for addresses at /: expected ", "many": "more than 10 paths have cookies"}
    for act, doubt in doubts.items():
        verdict = desk.judged(["page: {locate: css=b, count: 1}"], act, login=recipe)
        assert verdict.passed is not bool(doubt), (act, str(verdict))
        assert doubt in verdict.results[0].why


def test_api_that_ignores_cookies_gives_no_verdict(desk: Desk) -> None:
    """For example apps that keep a token in local storage: a plain request gets a visitor's response."""
    desk.board._web.put("/account", "<body><script>document.body.innerHTML = 'Hello ' + 'emma'</script>")
    condition = ["state: {api: /api/notes, equals: []}"]
    verdict = desk.judged(condition, "nothing")
    assert (verdict.passed, verdict.cause) == (None, "task")
    assert "give the site an 'api' recipe" in " ".join(str(verdict).split())
    api, missing = (LoginCheck(path="/api/total", includes=f'"total": {count}, "of": "emma"') for count in (1, 0))
    assert desk.judged(condition, "nothing", login=replace(RECIPE, api_check=api)).passed is False
    assert desk.judged(condition, "work", login=replace(RECIPE, api_check=missing)).passed
    headers = ["state: {api: {path: /api/notes, headers: {Cookie: sid=s0}}, at: '$[0].title', equals: Seed}"]
    assert desk.judged(headers, "nothing").passed


@pytest.mark.exhaustive
def test_sign_in_verification_needs_only_plain_requests(desk: Desk) -> None:
    """One before, one after, and one without cookies; none needs a browser."""
    desk.judged(["page: {open: /notes, includes: Seed}"], "nothing")
    log = desk.board._web.log
    log.clear()
    desk.judged(["page: {open: /notes, includes: Seed}", "page: {open: /notes, excludes: Milk}"], "nothing")
    assert [request[1] for request in log].count("http://a.test/account") == 3
