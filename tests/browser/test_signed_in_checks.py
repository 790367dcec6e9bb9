"""Checks of sites with signed-in visitors: pages and APIs share one session, and sign-in pages are recognised."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_webarena.evidence import RequestRecord
from tests.browser.conftest import Reply
from tests.browser.visiting import look, signed_in, visit

if TYPE_CHECKING:
    from pytest_webarena.browser.session import Session
    from pytest_webarena.checks import CheckResult
    from pytest_webarena.trials.live import LiveTrial
    from tests.browser.conftest import OpenSession, Request, Web


class Rotating:
    """A site that rotates session ids: each response has a new one, and the old one is rejected. It shows notes."""

    def __init__(self, web: Web) -> None:
        self._web, self._sid, self._count = web, "emma", 0
        web.put("/", self.page)
        web.put("/login", "<h1>Log in</h1>")
        web.put("/api", self.api)

    def page(self, request: Request) -> Reply:
        if (cookie := self._known(request)) is None:
            return self._web.reply(status=302, Location="/login")
        return self._web.reply("<p>Hello emma</p><p>Milk</p>", Set_Cookie=cookie)

    def api(self, request: Request) -> Reply:
        if (cookie := self._known(request)) is None:
            return self._web.reply('{"error": "login"}', 401)
        return self._web.reply(json.dumps(["Seed", "Milk"]), Set_Cookie=cookie)

    def _known(self, request: Request) -> str | None:
        if f"sid={self._sid}" not in request.headers.get("Cookie", ""):
            return None
        self._count += 1
        self._sid = f"emma{self._count}"
        return f"sid={self._sid}; Path=/; HttpOnly"


def results_of(
    session: Session, live: LiveTrial, conditions: Sequence[str], **more: Any
) -> list[tuple[str, CheckResult]]:
    """Return the result of each condition, all judged together."""
    verdict = look(session, live, f"[{', '.join(f'{{{condition}}}' for condition in conditions)}]", **more)
    return list(zip(conditions, verdict.results, strict=True))


def reason_of(result: CheckResult) -> str:
    """Return why a condition does not hold."""
    return " ".join(part.why for _, part in result.walk()).strip()


API = "{state: {api: /api, includes: Milk}}"
PAGE = "{page: {open: /, includes: Milk}}"


def test_pages_and_api_calls_of_checks_share_one_session(open_session: OpenSession, web: Web) -> None:
    """A cookie set by any response is sent with the next request, since sites may rotate session ids."""
    Rotating(web)
    session = signed_in(open_session)
    in_any_order = [API, API, PAGE, PAGE, API]
    verdict = look(session, visit(session, web), f"[{', '.join(in_any_order)}]")
    assert verdict.passed, str(verdict)


def test_api_calls_use_cookies_set_by_pages(open_session: OpenSession, web: Web) -> None:
    web.put("/in", lambda request: web.reply("in", Set_Cookie="seen=yes"))
    web.put("/out", lambda request: web.reply("{}", Set_Cookie="seen=; Max-Age=0"))
    web.put("/api", lambda request: json.dumps(request.headers.get("Cookie", "")))
    session = signed_in(open_session)
    live = visit(session, web)
    with session.own_pages():
        live.read_page(open="http://a.test/in", locate=None)
        assert live.fetch("board", "/api") == (200, '"sid=emma; seen=yes"')
        live.fetch("board", "/out")
        assert live.read_page(open="http://a.test/api", locate=None).texts == ('"sid=emma"',)
    assert live.fetch("board", "/in") == (200, "in")
    assert live.fetch("board", "/api") == (200, '"sid=emma"')  # the agent's own session has seen nothing of it
    assert {cookie["name"] for cookie in cast("Mapping[str, Any]", session.storage_state())["cookies"]} == {"sid"}


ENDS = "ends_session: true"
GONE = [
    "page: {open: /notes/1, status: 404}",
    "not: {page: {open: /notes/1, includes: Seed}}",
    "not: {page: {open: /notes/1, locate: js=document.querySelector('.note').innerText, includes: Seed}}",
    "page: {open: /, includes: The board, excludes: Seed}",
    "page: {open: /, locate: css=li, count: 0}",
    "page: {open: current, locate: css=li, count: 0}",
    "state: {api: {path: /notes/1, status: 404}}",
    "not: {state: {api: /notes/1, includes: Seed}}",
    "state: {api: /api, at: '$[*]', count: 0}",
    "state: {api: /api, equals: []}",
]
"""Conditions of a task to delete note 1."""


class Private:
    """A board that shows no notes to visitors who are not signed in, as GitLab does with private projects."""

    def __init__(self, web: Web) -> None:
        self._web, self.notes, self.known = web, ["Seed"], True
        web.put("/", lambda request: self._page("<h1>The board</h1>", request))
        web.put("/notes/1", lambda request: self._page("" if self._shown(request) else None, request))
        web.put("/api", lambda request: json.dumps(self._shown(request)))

    def _shown(self, request: Request) -> list[str]:
        return self.notes if self._is_emma(request) else []

    def _is_emma(self, request: Request) -> bool:
        return self.known and "sid=emma" in request.headers.get("Cookie", "")

    def _page(self, head: str | None, request: Request) -> Reply | str:
        if head is None:
            return self._web.reply("Not found", 404)
        notes = "".join(f"<li class=note>{note}" for note in self._shown(request))
        return f"{head}{'Hello emma' if self._is_emma(request) else 'Sign in'}<ul>{notes}</ul>"


@pytest.fixture
def private(open_session: OpenSession, web: Web) -> tuple[Private, Session, LiveTrial]:
    """The board, with a session at its first page."""
    made = Private(web)
    session = signed_in(open_session)
    session.open_tabs(["http://a.test/"])
    return made, session, visit(session, web)


def test_negative_conditions_count_while_user_is_signed_in(
    private: tuple[Private, Session, LiveTrial], web: Web
) -> None:
    board, session, live = private
    assert {result.passed for _, result in results_of(session, live, GONE)} == {False}
    board.notes = []
    session.open_tabs(["http://a.test/"])
    web.log.clear()
    assert {
        condition: reason_of(result) for condition, result in results_of(session, live, GONE) if not result.passed
    } == {}
    opened = [request for request in web.log if request[1] == "http://a.test/"]
    assert len(opened) == 2 + 2 + 2  # by two checks, and two looks each at the sign-in of pages and of APIs


def test_signing_out_does_not_satisfy_negative_conditions(private: tuple[Private, Session, LiveTrial]) -> None:
    """Such a trial neither passes nor is excluded from the success rate."""
    board, session, live = private
    board.known = False
    session.open_tabs(["http://a.test/"])
    for condition, result in results_of(session, live, GONE):
        assert result.passed is False, condition
        assert reason_of(result).startswith("emma is not signed in to board any more"), condition
    assert {result.passed for _, result in results_of(session, live, [*GONE[:2], *GONE[5:7]], extra=ENDS)} == {True}


@pytest.mark.exhaustive
def test_session_ended_by_the_site_is_a_site_error(
    private: tuple[Private, Session, LiveTrial],
) -> None:
    board, session, live = private
    board.known = False
    first = RequestRecord(time=1.0, method="GET", url="http://a.test/", status=200)
    check = "[{page: {open: /notes/1, status: 404}}]"
    idle = look(session, live, check, requests=(first,), began=2.0)
    assert (idle.passed, idle.cause) == (None, "site")
    assert "the site board, not the agent, ended the session of emma" in " ".join(str(idle).split())
    again = look(session, live, check, requests=(first, replace(first, time=3.0)), began=2.0)
    assert (again.passed, again.cause) == (None, "site")
    left = replace(first, time=3.0, url="http://a.test/exit")  # any address may sign the user out
    assert look(session, live, check, requests=(first, left), began=2.0).passed is False
    session._call(session._context.clear_cookies(), 5.0, "forgetting")  # type: ignore[union-attr]
    assert look(session, live, check, requests=(first,), began=2.0).passed is False


SHUT: dict[str, Any] = {
    "redirect": lambda web: (web.redirect("/", "/login?next=/"), web.put("/login", "Log in")),
    "script": lambda web: (web.put("/", "<script>location.replace('/login')</script>"), web.put("/login", "Log in")),
    "route": lambda web: web.put("/", "<script>history.replaceState(0, '', '/login')</script>Log in"),
    "form": lambda web: web.put("/", "Log in <input type=password>"),
    "401": lambda web: web.put("/", lambda request: web.reply("who are you?", 401)),
    "403": lambda web: web.put("/", lambda request: web.reply("who are you?", 403)),
}


@pytest.mark.matrix(1)
@pytest.mark.parametrize("how", ["redirect", "script", "route", "form", "401", "403"])
def test_sign_in_page_does_not_satisfy_negative_conditions(open_session: OpenSession, web: Web, how: str) -> None:
    """An agent that signs out must neither pass a check for removed content nor be excluded from the success rate."""
    SHUT[how](web)
    session = signed_in(open_session)
    live = visit(session, web)
    conditions = (
        "page: {open: /, excludes: Seed}",
        "page: {open: /, locate: css=li, count: 0}",
        "page: {open: /, locate: css=li, count: {max: 3}}",
        "not: {page: {open: /, includes: Seed}}",
        "not: {all: [{page: {open: /, includes: Seed}}]}",
        "page: {open: /, locate: js=document.querySelector('li').innerText, excludes: Seed}",
    )
    for condition, result in results_of(session, live, conditions):
        assert result.passed is False, condition
        if how not in ("401", "403", "form"):
            assert "is not the page asked for" in reason_of(result), condition


@pytest.mark.exhaustive
def test_sign_in_page_satisfies_positive_conditions(open_session: OpenSession, web: Web) -> None:
    """Signing out may be the task."""
    SHUT["redirect"](web)
    session = signed_in(open_session)
    live = visit(session, web)
    conditions = (
        "page: {open: /, includes: Log in}",
        "page: {open: /, includes: Log in, excludes: Seed}",
        "page: {open: /, locate: text=Log in, count: 1}",
        "page: {open: /login, excludes: Seed}",  # it is the requested page
        "not: {page: {open: /, includes: Hello emma}}",
    )
    for extra, passed in ((ENDS, True), ("", False)):
        for condition, result in results_of(session, live, conditions, extra=extra):
            assert result.passed is passed, (condition, extra, result)
    SHUT["401"](web)
    assert look(session, live, "[{page: {open: /, status: 401}}]", extra=ENDS).passed


ASKS = {
    "fetch": "<script>fetch('/part').then(answer => answer.text())</script>",
    "XMLHttpRequest": "<script>const x = new XMLHttpRequest(); x.open('GET', '/part'); x.send()</script>",
    "frame": "<iframe src=/part></iframe>",
}
REFUSALS: dict[str, Any] = {
    "401": lambda web: web.put("/part", lambda request: web.reply("[]", 401)),
    "403": lambda web: web.put("/part", lambda request: web.reply("[]", 403)),
    "redirect": lambda web: (web.redirect("/part", "/login"), web.put("/login", "Log in")),
}


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("part", "how"), [*(("fetch", how) for how in REFUSALS), ("XMLHttpRequest", "401"), ("frame", "401")]
)
def test_page_with_rejected_requests_does_not_satisfy_conditions(
    open_session: OpenSession, web: Web, part: str, how: str
) -> None:
    """For example a single-page application whose agent has signed out."""
    web.put("/", f"<h1>Your cart</h1>Hello emma{ASKS[part]}")
    REFUSALS[how](web)
    session = signed_in(open_session)
    live = visit(session, web)
    conditions = (
        "page: {open: /, excludes: Seed}",
        "page: {open: /, locate: css=li, count: 0}",
        "not: {page: {open: /, includes: Seed}}",
    )
    for condition, result in results_of(session, live, conditions):
        assert result.passed is False, condition
        assert "so what it lacks says nothing" in reason_of(result), condition
    assert look(session, live, "[{page: {open: /, includes: Your cart}}]").passed
    assert look(session, live, "[{page: {open: /, includes: Your cart, excludes: Seed}}]").passed
    assert look(session, visit(session, web, default_user=""), "[{page: {open: /, excludes: Seed}}]").passed


def test_request_that_succeeds_on_retry_counts_as_loaded(open_session: OpenSession, web: Web) -> None:
    """Tokens are renewed in this way. Requests to other hosts are ignored."""
    answers = itertools.cycle([web.reply("[]", 401), web.reply("[]")])
    web.put("/part", lambda request: next(answers))
    web.redirect("/again", "/there")
    web.put("/there", "[]")
    web.put(
        "/",
        "Hello emma<script>fetch('/part').then(() => fetch('/part')); fetch('/again');"
        "fetch('http://other.test/', {mode: 'no-cors'})</script>",
    )
    session = signed_in(open_session)
    assert look(session, visit(session, web), "[{page: {open: /, excludes: Seed}}]").passed


def test_password_field_alone_is_no_sign_in_page(open_session: OpenSession, web: Web) -> None:
    web.put("/", "Hello emma")
    web.put("/settings", "New password: <input type=password>")
    session = signed_in(open_session)
    assert look(session, visit(session, web), "[{page: {open: /settings, excludes: Seed}}]").passed


def test_sign_in_page_counts_as_page_on_sites_without_accounts(open_session: OpenSession, web: Web) -> None:
    SHUT["redirect"](web)
    session = signed_in(open_session)
    for site in ({"default_user": ""}, {"login": None}):
        assert look(session, visit(session, web, **site), "[{page: {open: /, excludes: Seed}}]").passed


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (401, '{"error": "who are you?"}', {}),
        (403, '{"error": "who are you?"}', {}),
        (302, "", {"Location": "/login"}),
        (200, "<form>Log in <input type='password' name=p></form>", {}),
    ],
)
def test_rejecting_api_does_not_satisfy_conditions(
    open_session: OpenSession, web: Web, status: int, body: str, headers: dict[str, str]
) -> None:
    web.put("/", "Log in")
    web.put("/api", lambda request: web.reply(body, status, **headers))
    session = signed_in(open_session)
    live = visit(session, web)
    conditions = (
        "state: {api: /api, at: '$[*]', excludes: Seed}",
        "state: {api: /api, excludes: Seed}",
        "state: {api: /api, at: '$[*]', count: 0}",
        "not: {state: {api: /api, at: '$[*]', includes: Seed}}",
        "not: {state: {api: /api, includes: Seed}}",
    )
    for condition, result in results_of(session, live, conditions):
        assert result.passed is False, condition
