"""The check kind ``page``: reading during the trial, judging afterwards."""

from __future__ import annotations

import pytest

from pytest_webarena.checks import collect
from pytest_webarena.errors import BrowserError, TaskError
from pytest_webarena.evidence import JsonValue, Probe
from tests.cases import each_case

from .helpers import FakeLive, FakePage, evidence, live_result, request, result, task, with_probes


def shows(*texts: str, status: int | None = 200) -> FakeLive:
    return FakeLive(page=lambda open, locate: FakePage(texts=texts, status=status))


@each_case(
    ("check", "live", "holds", "why"),
    [
        ("{open: /r/, locate: css=.t, includes: tea}", shows("green tea", "milk"), True, ""),
        (
            "{open: /r/, locate: css=.t, includes: tea}",
            shows("milk"),
            False,
            '"tea" is missing (at http://shopping.test/)',
        ),
        (
            "{open: /r/, locate: css=.t, includes: tea}",
            shows(),
            False,
            "nothing matches css=.t (at http://shopping.test/)",
        ),
        ("{locate: css=.t, match: all, regex: '^£'}", shows("£1", "£2"), True, ""),
        (
            "{locate: css=.t, match: all, regex: '^£'}",
            shows("£1", "$2"),
            False,
            "2 of 2 ($2): the pattern is not found (at http://shopping.test/)",
        ),
        (
            "{locate: css=.t, excludes: tea}",
            shows("milk", "tea"),
            False,
            '"tea" must not be there (at http://shopping.test/)',
        ),
        ("{locate: css=.t, excludes: tea}", shows(), True, ""),
        ("{locate: css=.t, count: 2}", shows("a", "b"), True, ""),
        ("{locate: css=.t, count: {min: 3}}", shows("a", "b"), False, "at http://shopping.test/"),
        ("{locate: css=.t, count: 0}", shows(), True, ""),
        ("{locate: css=input, exact: '', count: 1}", shows(""), True, ""),
        (
            "{open: /x, includes: tea}",
            shows("tea", status=404),
            False,
            "http://shopping.test/ answered with status 404",
        ),
        ("{open: /x, status: 404}", shows("tea", status=404), True, ""),
        ("{open: /x, status: 500}", shows("tea", status=500), True, ""),
        ("{open: /x, status: 404}", shows("tea", status=200), False, "http://shopping.test/ answered with status 200"),
        ("{includes: tea}", shows("a page about tea", status=None), True, ""),
    ],
)
def test_page_conditions(check: str, live: FakeLive, holds: bool, why: str) -> None:
    got = live_result(f"page: {check}", live)
    assert (got.passed, got.why) == (holds, why)


def test_page_check_opens_locates_and_prepares() -> None:
    live = shows("x")
    live_result("page: {open: 'reddit:/f?a=b', locate: 'css=.t', prepare: [f(), g()], includes: x}", live)
    live_result("page: {open: current, includes: x}", live)
    assert live.asked == [("page", "http://reddit.test/f?a=b", "css=.t", "f()", "g()"), ("page", None, None)]


def test_current_pages_are_read_before_others_are_opened() -> None:
    live = FakeLive(page=lambda open, locate: FakePage(texts=["x"]), rows=lambda sql: [[1]])
    made = task("""
        - page: {open: /b, includes: x}
        - page: {includes: x}
        - state: {sql: select 1, equals: 1}
    """)
    probes = collect(made.checks, live, state="end")
    assert [asked[:2] for asked in live.asked] == [
        ("query", "shopping"),
        ("page", None),
        ("page", "http://shopping.test/b"),
    ]
    assert {probe.check for probe in probes} == {"checks[0]", "checks[1]", "checks[2]"}


def test_refused_selector_is_undecided() -> None:
    def refuse(open: str | None, locate: str | None) -> FakePage:
        raise TaskError(f"not a selector: {locate}")

    got = live_result("page: {locate: css=a, includes: x}", FakeLive(page=refuse))
    assert (got.score, got.why) == (None, "not a selector: css=a")


def test_browser_error_is_raised() -> None:
    def crash(open: str | None, locate: str | None) -> FakePage:
        raise BrowserError("gone")

    with pytest.raises(BrowserError):
        live_result("page: {includes: x}", FakeLive(page=crash))


def test_unread_page_is_undecided() -> None:
    got = result("page: {includes: x}", evidence("x", url="http://shopping.test/"))
    assert (got.score, got.why) == (None, "the page was not read")


def test_site_outside_the_trial_is_undecided() -> None:
    live = FakeLive(sites={"shopping": "http://shopping.test"})
    assert live_result("page: {open: reddit:/f, includes: x}", live).why.startswith("expected a site of this trial")


def test_page_expected_and_actual_texts() -> None:
    got = live_result("page: {open: /r/, locate: css=.t, exact: tea}", shows("milk", "x", "y", "z"))
    assert got.expected == '"tea" at css=.t on shopping:/r/'
    assert got.actual == '"milk", "x", "y" and 1 more'


THREW = "TypeError: Cannot read properties of null"


@pytest.mark.parametrize(
    "condition", ["includes: tea", "locate: js=f(), count: {min: 1}", "prepare: f(), open: /, exact: a"]
)
def test_throwing_script_fails_and_its_negation_is_undecided(condition: str) -> None:
    """A page on which the script throws fails the condition; only its negation is undecided."""
    live = FakeLive(page=lambda open, locate: FakePage(texts=["green tea"], error=THREW))
    got = live_result(f"page: {{{condition}}}", live)
    assert (got.passed, got.why) == (False, f"http://shopping.test/ could not be read: {THREW}")
    contrary = live_result(f"not: {{page: {{{condition}}}}}", live)
    assert (contrary.passed, contrary.children[0].cause) == (None, "task")


@each_case("condition", ["excludes: tea", "locate: js=f(), count: 0", "open: /x, prepare: x(), status: 200"])
@each_case("around", ["{}", "not: {{{}}}", "any: [{{{}}}, {{answer: {{exact: no}}}}]"])
def test_throwing_script_does_not_prove_absence(condition: str, around: str) -> None:
    live = FakeLive(page=lambda open, locate: FakePage(error=THREW))
    got = live_result(around.format(f"page: {{{condition}}}"), live)
    assert got.passed is None
    leaf = next(iter(got.children), got)
    assert leaf.why == f"http://shopping.test/ could not be read: {THREW}"


@pytest.mark.parametrize("around", ["{}", "not: {{{}}}"])
def test_invalid_javascript_locator_is_a_task_error(around: str) -> None:
    broken = "expected JavaScript, found '((': SyntaxError: Unexpected token"
    live = FakeLive(page=lambda open, locate: FakePage(error="SyntaxError: Unexpected token", invalid=broken))
    got = live_result(around.format("page: {locate: js=((, includes: tea}"), live)
    assert got.passed is None
    assert next(iter(got.children), got).why == broken


def test_syntax_error_in_older_records_is_undecided() -> None:
    """Such records do not distinguish an invalid locator from invalid page content."""
    value: JsonValue = {
        "url": "http://shopping.test/",
        "status": None,
        "texts": [],
        "error": "SyntaxError: Unexpected token",
    }
    old = with_probes(evidence(url="http://shopping.test/"), Probe(check="checks[0]", state="end", value=value))
    assert result("page: {locate: js=((, includes: tea}", old).passed is None


@each_case("condition", ["includes: served", "excludes: tea", "locate: css=a, count: 0"])
@each_case("around", ["{}", "not: {{{}}}", "not: {{any: [{{{}}}, {{answer: {{exact: no}}}}]}}"])
@each_case(
    ("page", "seen"),
    [
        (FakePage(refused="a.test is not one of this task's sites."), "no page of a site"),
        (FakePage(hidden="it kept opening dialogs"), "a page that can't be read"),
    ],
)
def test_unreadable_current_page_fails_condition_and_negation(
    page: FakePage, seen: str, around: str, condition: str
) -> None:
    got = live_result(around.format(f"page: {{{condition}}}"), FakeLive(page=lambda open, locate: page))
    assert got.passed is False
    while got.children:
        got = got.children[0]
    assert got.actual == seen


def test_double_negation_of_an_unreadable_page_fails() -> None:
    live = FakeLive(page=lambda open, locate: FakePage(hidden="it kept opening dialogs"))
    assert live_result("not: {not: {page: {includes: tea}}}", live).passed is False


@each_case("status", [408, 425, 429, 500, 503, 507])
@each_case("check", ["page: {C}", "not: {page: {C}}"])
def test_opened_page_with_server_error_is_undecided(check: str, status: int) -> None:
    for condition in ("includes: milk", "excludes: milk"):
        got = live_result(check.replace("C", f"open: /x, {condition}"), shows("oops", status=status))
        assert (got.passed, (got.children or (got,))[0].cause) == (None, "site")


@each_case("check", ["page: {C}", "not: {page: {C}}"])
@each_case(
    "condition", ["includes: total", "excludes: overdue", "locate: css=li, count: 0", "locate: js=x(), excludes: a"]
)
def test_current_page_with_server_error_is_undecided(condition: str, check: str) -> None:
    """Like an opened page and like `url`; pages with other statuses count."""
    wanted = check.replace("C", condition)
    for status in (408, 425, 429, 500, 503):
        page = FakePage(texts=("total",), status=status, error="ReferenceError" if "js=" in condition else "")
        got = live_result(wanted, FakeLive(page=lambda open, locate, page=page: page))  # type: ignore[misc]
        assert (got.passed, (got.children or (got,))[0].cause) == (None, "site")
    refused = {status: live_result(wanted, shows("total", status=status)).passed for status in (None, 200, 403, 404)}
    assert set(refused.values()) == {refused[None]} != {None}


def test_unknown_tab_status_is_taken_from_the_requests() -> None:
    asked = request("GET", "/report", status=503)
    recorded = evidence(url="http://shopping.test/report", requests=(asked,))
    for place, passed in (("report#part", None), ("", True)):
        page = FakePage(url=f"http://shopping.test/{place}", status=None)
        live = FakeLive(page=lambda open, locate, page=page: page)  # type: ignore[misc]
        assert live_result("page: {excludes: overdue}", live, recorded).passed is passed


@each_case("status", [400, 401, 402, 403, 405, 409, 413, 414, 422, 423, 431, 451])
@each_case("check", ["page: {C}", "not: {page: {C}}"])
def test_refused_page_does_not_prove_absence(check: str, status: int) -> None:
    """An agent that makes the site refuse the harness, e.g. by cookies, must not pass."""
    for condition in ("includes: milk", "excludes: milk"):
        got = live_result(check.replace("C", f"open: /x, {condition}"), shows("oops", status=status))
        assert got.passed is False


@pytest.mark.parametrize("status", [404, 410])
def test_missing_page_proves_absence(status: int) -> None:
    assert live_result("not: {page: {open: /x, includes: milk}}", shows("oops", status=status)).passed


def test_server_errors_do_not_prove_another_status() -> None:
    check = "not: {page: {open: /x, status: 200}}"
    found = {status: live_result(check, shows("", status=status)).passed for status in (404, 302, 200, 429, 500, 431)}
    assert found == {404: True, 302: True, 200: False, 429: None, 500: None, 431: False}
    assert live_result("page: {open: /x, status: 429}", shows("", status=429)).passed
    assert live_result("page: {open: /x, status: 200}", shows("", status=429)).passed is False
