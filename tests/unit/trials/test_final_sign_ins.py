"""Whether accounts were signed in when the agent stopped, as each record says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_webarena.evidence import Evidence, Probe, SignedIn
from pytest_webarena.results.records import SignedInAtEnd, TrialKey, TrialRecord
from pytest_webarena.results.wording import sign_in_words
from pytest_webarena.sites.catalogues.manifest import Account, LoginCheck, LoginRecipe
from pytest_webarena.sites.protocol.messages import SiteAccess
from pytest_webarena.trials.final_sign_ins import final_sign_ins

Answer = Callable[[str], tuple[int, str]]
"""Function from the Cookie header to status and text; a status of 302 leads to the text."""


class Board:
    """A site whose account page answers by the cookies of the request."""

    def __init__(self) -> None:
        board = self
        self.answer: Answer = lambda cookie: (200, "")
        self.requests = 0

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                board.requests += 1
                found = (200, "<h1>Log in</h1>")
                if self.path == "/account":
                    found = board.answer(self.headers.get("Cookie", ""))
                status, text = found
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", text)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def board() -> Iterator[Board]:
    made = Board()
    Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def redirecting(cookie: str) -> tuple[int, str]:
    return (200, "Hello emma") if "sid=emma" in cookie else (302, "/login")


def in_place(cookie: str) -> tuple[int, str]:
    return (200, "Hello emma") if "sid=emma" in cookie else (200, "Log in")


def scripted(cookie: str) -> tuple[int, str]:
    return (200, "<script src=account.js></script>") if "sid=" in cookie else (302, "/login")


def forbidden(cookie: str) -> tuple[int, str]:
    return 403, ""


def broken(cookie: str) -> tuple[int, str]:
    return 503, ""


def public(cookie: str) -> tuple[int, str]:
    return 200, "Hello emma"


def ask(board: Board, sid: str | None, *probes: Probe, check: LoginCheck | None = None, kind: Any = "form") -> Any:
    cookie = {"name": "sid", "domain": "127.0.0.1", "path": "/", "expires": -1}
    recipe = LoginRecipe(
        kind=kind, site="board", check=check or LoginCheck(path="/account", includes="Hello {username}")
    )
    access = SiteAccess(
        name="board", app="board", url=board.url, start=board.url,
        users={"emma": Account(username="emma", password="x")},
        default_user="emma", login=recipe,
    )  # fmt: skip
    other = SiteAccess(name="map", app="map", url="http://map.test", start="", users={}, default_user="", login=None)
    lease = SimpleNamespace(sites={"board": access, "map": other}, harness_proxy=None)
    session = SimpleNamespace(
        config=SimpleNamespace(storage_state={"cookies": [{**cookie, "value": "emma"}]}),
        note_received=lambda values: None,
        own_cookies=lambda: [{**cookie, "value": sid}] if sid else [],
    )
    evidence = Evidence(answer="", stop_reason="answered", probes=probes)
    found = final_sign_ins(cast("Any", lease), cast("Any", session), {}, evidence)
    assert list(found) == ["board"]
    return found["board"]


@pytest.mark.parametrize(
    ("answer", "sid", "expected"),
    [
        (redirecting, "emma", True),
        (redirecting, None, False),
        (redirecting, "bob", False),
        (in_place, "emma", True),
        (in_place, None, False),
        (scripted, "emma", None),  # only a browser could tell
        (scripted, None, False),
        (forbidden, "emma", False),
        (broken, "emma", None),
        (public, "emma", None),
    ],
)
def test_plain_requests_decide_where_they_can(
    board: Board, answer: Answer, sid: str | None, expected: bool | None
) -> None:
    board.answer = answer
    found = ask(board, sid)
    assert (found.user, found.signed_in) == ("emma", expected)
    assert bool(found.why) == (expected is not True)
    assert board.requests <= 4


def test_site_without_an_answer_leaves_it_unknown(board: Board) -> None:
    board.server.server_close()
    board.server.shutdown()
    found = ask(board, "emma")
    assert found.signed_in is None
    assert found.why


def test_element_without_text_is_decided_by_the_redirect(board: Board) -> None:
    board.answer = redirecting
    check = LoginCheck(path="/account", locate="css=.account")
    assert ask(board, "emma", check=check).signed_in is True
    assert ask(board, None, check=check).signed_in is False


def probe_of(**fields: Any) -> Probe:
    return Probe(check="checks[0]", state="end", value="", sign_ins=(SignedIn(site="board", user="emma", **fields),))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"way": "api"}, True),
        ({"before": "expected Hello"}, False),
        ({"after": "expected Hello"}, False),
        ({"again": True}, False),
    ],
)
def test_sign_ins_that_checks_tested_are_not_tested_again(board: Board, fields: dict[str, Any], expected: bool) -> None:
    assert ask(board, "emma", probe_of(**fields)).signed_in is expected
    assert board.requests == 0


@pytest.mark.parametrize("fields", [{"failed": True, "before": "503"}, {"way": "api", "before": "a token is needed"}])
def test_undecided_test_of_a_check_is_followed_by_a_request(board: Board, fields: dict[str, Any]) -> None:
    board.answer = redirecting
    assert ask(board, "emma", probe_of(**fields)).signed_in is True


def test_record_keeps_sign_ins() -> None:
    found = {
        "shop": SignedInAtEnd(user="emma", signed_in=True),
        "forum": SignedInAtEnd(user="bob", signed_in=None, why="503"),
    }
    record = TrialRecord(key=TrialKey("t", "a", 1), outcome="passed", signed_in=found)
    assert TrialRecord.from_json(record.to_json()) == record
    assert TrialRecord.from_json({**record.to_json(), "signed_in": {}}).signed_in == {}
    assert sign_in_words(record.signed_in) == "shop yes (emma); forum unknown (bob): 503"
