"""Checks that read a site count only as seen by the task's account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pytest_webarena.checks import ORIGINAL, CheckResult, collect, judge
from pytest_webarena.evidence import Evidence, Unrecorded
from tests.cases import each_case
from tests.unit.checks.helpers import SITES, FakeLive, FakePage, evidence, request, task, with_probes

LOST = "expected 'emma', found 'Sign in'"


@dataclass
class Visited(FakeLive):
    """A shop that emma visits, and a forum without an account."""

    doubts: Sequence[str] = ("", "")
    """What speaks against emma being signed in, at the first look and at the second."""
    again: FakeLive | None = None
    """What checks see once emma was signed in again; None: that fails."""
    later: Sequence[str] = ("", "")
    """What speaks against her being signed in then."""
    failed: bool = False
    kept: bool = False
    looks: list[tuple[str, str, bool]] = field(default_factory=list)
    renewed: bool = False

    def visitor(self, url: str) -> tuple[str, str] | None:
        return ("shopping", "emma") if url.startswith(SITES["shopping"]) else None

    def caller(self, site: str, path: str, headers: Mapping[str, str] | None) -> tuple[str, str] | None:
        return None if headers and "Authorization" in headers else self.visitor(SITES[site])

    def sign_in_doubt(self, site: str, *, way: str, agents: bool) -> tuple[str, bool]:
        self.looks.append((site, way, agents))
        first = agents or (self.looks.count((site, way, False)) == 1 and self.renewed)
        return self.doubts[0 if first else 1], self.failed

    def keeps_sign_in(self, site: str) -> bool:
        return self.kept

    @contextmanager
    def signed_in_again(self, sites: Sequence[str]) -> Iterator[Mapping[str, tuple[str, bool]]]:
        if self.again is None:
            yield dict.fromkeys(sites, ("wrong password", False))
            return
        before = self.page, self.api, self.doubts
        self.page, self.api, self.doubts = self.again.page, self.again.api, self.later
        self.renewed = True
        self.looks.clear()
        yield {}
        self.page, self.api, self.doubts = before


def shows(*texts: str, status: int = 200, url: str = "http://shopping.test/", **facts: Any) -> Visited:
    """Return a live trial whose pages and API give these texts."""
    api = f"[{', '.join(map(repr, texts))}]".replace("'", '"')
    page = FakePage(url=url, texts=texts, status=status)
    return Visited(page=lambda open, locate: page, api=lambda path: (status, api), **facts)


def found(check: str, live: FakeLive, *, extra: str = "", recorded: Evidence | None = None, **how: Any) -> CheckResult:
    recorded = recorded or evidence()
    made = task(f"- {check}", extra=extra)
    tabs = [tab.url for tab in recorded.tabs]
    probes = collect(made.checks, live, state="end", ends_session=made.ends_session, tabs=tabs)
    [only] = judge(made, with_probes(recorded, *probes), **how).results
    return only


def said(result: CheckResult) -> str:
    return " ".join(each.why for _, each in result.walk()).strip()


OPENED = [
    "page: {open: /x, includes: milk}",
    "page: {open: /x, excludes: tea}",
    "page: {open: /x, exact: milk}",
    "page: {open: /x, one_of: [milk, cream]}",
    "page: {open: /x, regex: ^milk$}",
    "page: {open: /x, locate: css=a, count: 1}",
    "page: {open: /x, status: 200}",
    "not: {page: {open: /x, includes: tea}}",
    "not: {page: {open: /x, status: 404}}",
    "any: [{all: [{page: {open: /x, excludes: tea}}]}, {answer: no}]",
    "state: {api: /x, includes: milk}",
    "state: {api: /x, at: '$[0]', equals: milk}",
    "state: {api: /x, at: '$[*]', count: 1}",
    "state: {api: {path: /x, status: 200}}",
    "not: {state: {api: /x, includes: tea}}",
]
"""Conditions that a shop meets which shows milk."""
CURRENT = ["page: {includes: milk}", "page: {excludes: tea}", "not: {page: {includes: tea}}"]


@each_case("check", [*OPENED, *CURRENT])
def test_readings_fail_if_the_account_is_signed_out(check: str) -> None:
    live = shows("milk")
    assert found(check, live).passed
    way = "api" if "api" in check else "page"
    assert live.looks == [("shopping", way, True), ("shopping", way, False)]
    for doubts in ((LOST, LOST), ("", LOST)):
        got = found(check, shows("milk", doubts=doubts))
        assert got.passed is False, check
        assert said(got).startswith("emma is not signed in to shopping any more"), said(got)
        assert LOST in said(got)
    assert found(check, shows("milk", doubts=(LOST, LOST)), extra="    ends_session: true\n").passed


@each_case("check", OPENED)
def test_signed_out_readings_are_repeated_after_signing_in_again(check: str) -> None:
    """Signing out after the work keeps the success; signing out alone gains nothing."""
    for seen in ("milk", "tea"):
        for hidden in ("milk", "tea", "Sign in"):
            got = found(check, shows(hidden, doubts=(LOST, LOST), again=shows(seen)))
            expected = found(check, shows(seen))
            assert got.passed is expected.passed, (check, seen, hidden)
            told = [each.actual for _, each in got.walk() if each.kind in ("page", "state")]
            assert all("after signing emma in to shopping again" in each for each in told)
            assert ("says 'ends_session: true'" in said(got)) is (got.passed is False), (check, said(got))


@pytest.mark.parametrize("check", CURRENT)
def test_current_tab_is_not_read_again(check: str) -> None:
    got = found(check, shows("milk", doubts=(LOST, LOST), again=shows("milk")))
    assert got.passed is False
    assert "ends_session: true" in said(got)


def test_failed_second_sign_in_gives_its_reason() -> None:
    got = found(OPENED[0], shows("milk", doubts=(LOST, LOST)))
    assert got.passed is False
    assert "signing in again failed: wrong password" in said(got)


@pytest.mark.parametrize(
    ("check", "later", "cause"),
    [
        ("state: {api: /x, includes: milk}", (LOST, LOST), "task"),
        ("page: {open: /x, includes: milk}", (LOST, LOST), "site"),
        ("page: {open: /x, includes: milk}", ("", LOST), "task"),
    ],
)
def test_account_signed_out_right_after_signing_in_is_undecided(check: str, later: tuple[str, str], cause: str) -> None:
    got = found(check, shows("milk", doubts=(LOST, LOST), again=shows("milk"), later=later))
    assert (got.passed, got.cause) == (None, cause)
    if "api" in check:
        assert "give the site an 'api' recipe that fetches one" in said(got)


@each_case(
    ("check", "holds"),
    [
        ("state: {sql: select 1, rows: []}", True),
        ("not: {state: {sql: select 1, count: 4}}", True),
        ("page: {open: 'reddit:/x', excludes: tea}", True),
        ("page: {open: 'reddit:/x', includes: tea}", False),
        ("state: {api: {path: /x, headers: {Authorization: token}}, includes: milk}", True),
    ],
)
def test_sites_without_an_account_need_no_sign_in(check: str, holds: bool) -> None:
    live = shows("milk", url="http://reddit.test/" if "reddit" in check else "http://shopping.test/", doubts=())
    assert found(check, live).passed is holds


def test_sign_in_is_checked_twice_per_way_for_all_checks() -> None:
    made = task("".join(f"- {check}\n" for check in (*OPENED, *CURRENT)))
    live = shows("milk")
    collect(made.checks, live, state="end")
    assert sorted(live.looks) == [("shopping", way, agents) for way in ("api", "page") for agents in (False, True)]


def test_no_second_sign_in_before_the_end() -> None:
    """The agent is still acting, and a new session may end the existing one."""
    made = task(f"- {OPENED[0]}")
    [probe] = collect(made.checks, shows("milk", doubts=(LOST, LOST), again=shows("milk")), state=0)
    assert probe.sign_ins is not None
    assert [(each.again, each.refused) for each in probe.sign_ins] == [(False, "")]


CHECK = "page: {open: /x, excludes: tea}"


@each_case(
    ("facts", "asked", "cause"),
    [
        ({"kept": True}, [], "site"),
        ({"kept": True}, [("GET", "/", 3.0)], "site"),  # like its first page
        ({"kept": True}, [("GET", "http://reddit.test/exit", 3.0)], "site"),
        ({"kept": True}, [("GET", "/exit", 3.0)], "agent"),
        ({"kept": True}, [("POST", "/", 3.0)], "agent"),
        ({"kept": False}, [], "agent"),  # whose scripts send no requests
        ({"failed": True}, [("GET", "/exit", 3.0)], "site"),
    ],
)
def test_cause_of_an_ended_session(facts: dict[str, Any], asked: list[tuple[str, str, float]], cause: str) -> None:
    requests = [request("GET", "/"), *(request(method, path) for method, path, _ in asked)]
    timed = tuple(replace(each, time=3.0 if number else 1.0) for number, each in enumerate(requests))
    for check in (CHECK, "not: {page: {open: /x, includes: tea}}", "page: {open: /x, includes: tea}"):
        recorded = evidence(requests=timed, began=2.0)
        got = found(check, shows("milk", doubts=(LOST, LOST), **facts), recorded=recorded)
        leaf = next(iter(got.children), got)
        assert (got.passed, leaf.cause) == ((None, "site") if cause == "site" else (False, None))
    gaps = (Unrecorded(method="GET", url="", count=1),)
    got = found(CHECK, shows("milk", doubts=(LOST, LOST), kept=True), recorded=evidence(began=2.0, unrecorded=gaps))
    assert got.passed is False


@each_case("check", [*OPENED, *CURRENT])
def test_older_records_without_sign_ins_are_judged_as_before(check: str) -> None:
    """Records before version 15 have few sign-in facts, those before version 14 none."""
    made = task(f"- {check}")
    old = with_probes(evidence(), *collect(made.checks, shows("milk"), state="end")).to_json()
    for probe in old["probes"]:
        del probe["sign_ins"], probe["first"]
    assert judge(made, Evidence.from_json({**old, "schema_version": 13})).passed
    signed_out = {
        "site": "shopping",
        "user": "emma",
        "before": LOST,
        "after": LOST,
        "failed": False,
        "untouched": False,
    }
    for probe in old["probes"]:
        probe["sign_ins"] = [signed_out]
    assert judge(made, Evidence.from_json({**old, "schema_version": 14})).passed is False


def test_signed_out_agent_fails_even_with_unreadable_pages() -> None:
    """Even if the page cannot be judged: a throwing script, or a response that is not JSON."""
    live = Visited(page=lambda open, locate: FakePage(error="TypeError: null"), api=lambda path: (200, "<h1>Hello"))
    live.doubts = (LOST, LOST)
    for check in (
        "page: {open: /x, locate: js=f(), excludes: tea}",
        "not: {page: {open: /x, locate: js=f(), includes: tea}}",
        "state: {api: /x, at: '$[*]', count: 0}",
        "not: {state: {api: /x, at: '$[*]', includes: tea}}",
    ):
        assert found(check, live).passed is False, check


PROGRAM = "program_html: [{url: 'http://shopping.test/x', locator: '', required_contents: {must_exclude: [tea]}}]"


def test_page_programs_require_the_account_except_in_original_grading() -> None:
    """The published evaluators read the page as the session shows it."""

    def page(text: str) -> Visited:
        return shows(f'[["value", "{text}"]]', doubts=(LOST, LOST))

    assert found(PROGRAM, page("milk")).passed is False
    again = replace(page("milk"), again=page("tea"))
    assert found(PROGRAM, again).passed is False
    assert found(PROGRAM, again, grading=ORIGINAL).passed


def sees_page(recorded: Evidence) -> bool:
    return "tea" not in "".join(tab.html for tab in recorded.tabs)


def sees_address(recorded: Evidence) -> bool:
    return recorded.url.endswith("/") and recorded.answer is None


def test_python_checks_of_pages_require_the_account() -> None:
    recorded = evidence(url="http://shopping.test/")
    for function, holds in (("sees_page", False), ("sees_address", True)):
        check = f"python: {__name__}:{function}"
        assert found(check, shows(), recorded=recorded).passed
        assert found(check, shows(doubts=(LOST, LOST), again=shows()), recorded=recorded).passed is holds
    nobody = evidence(url="http://reddit.test/")
    assert found(f"python: {__name__}:sees_page", shows(doubts=(LOST, LOST)), recorded=nobody).passed


SHUT: dict[str, dict[str, Any]] = {
    "a sign-in page": {"signed_out": "the site leads to its sign-in page"},
    "parts refused": {"shut_out": "got status 401 for /part"},
    "401": {"status": 401},
    "403": {"status": 403},
}
ENDS = "    ends_session: true\n"


@each_case("how", SHUT)
def test_missing_text_counts_with_ends_session(how: str) -> None:
    live = FakeLive(page=lambda open, locate: FakePage(texts=("Log in",), **SHUT[how]))
    for check, passed in (
        ("not: {page: {open: /, includes: Signed in as emma}}", True),
        ("not: {page: {open: /, includes: Log in}}", how in ("401", "403")),  # without a page
        ("page: {open: /, excludes: Signed in as emma}", how not in ("401", "403")),
        ("page: {open: /, includes: Signed in as emma}", False),
    ):
        assert found(check, live, extra=ENDS).passed is passed, check
        assert found(check, live).passed is False, check


@pytest.mark.parametrize("status", [302, 401, 403])
def test_refusing_api_counts_with_ends_session(status: int) -> None:
    live = FakeLive(api=lambda path: (status, ""))
    check = "not: {state: {api: /api/me, includes: emma}}"
    assert found(check, live, extra=ENDS).passed
    assert found(check, live).passed is False
    assert found("state: {api: /api/me, includes: emma}", live, extra=ENDS).passed is False
