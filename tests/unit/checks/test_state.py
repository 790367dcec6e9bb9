"""The check kind ``state``: databases and APIs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_webarena.checks.jsonpath import PathError, find, parse_path
from pytest_webarena.checks.state import same_value
from pytest_webarena.errors import SiteError, TaskError, TooLarge
from tests.cases import each_case

from .helpers import FakeLive, evidence, live_result, result


def rows(*given: list[Any]) -> FakeLive:
    return FakeLive(rows=lambda sql: given)


def answers(body: Any, status: int = 200) -> FakeLive:
    return FakeLive(api=lambda path: (status, body if isinstance(body, str) else json.dumps(body)))


@each_case(
    ("check", "live", "why"),
    [
        ("equals: 1", rows([1]), ""),
        ("equals: 1", rows(["1.0"]), ""),
        ("equals: 1", rows([2]), "the values differ"),
        ("equals: 1", rows(), "no rows; one is wanted"),
        ("equals: 1", rows([1], [1]), "2 rows; one is wanted"),
        ("equals: null", rows([None]), ""),
        ("equals: null", rows([0]), "the values differ"),
        ("equals: [Tea, 4]", rows(["Tea", 4]), ""),
        ("equals: [Tea, 4]", rows(["tea", 4]), "the values differ"),
        ("equals: true", rows([1]), ""),
        ("rows: [Tea, Milk]", rows(["Tea"], ["Milk"]), ""),
        ("rows: [Milk, Tea]", rows(["Tea"], ["Milk"]), "the rows differ"),
        ("rows: [[a, 1]]", rows(["a", 1]), ""),
        ("rows: []", rows(), ""),
        ("rows: []", rows(["x"]), "the rows differ"),
        ("count: 2", rows(["a"], ["b"]), ""),
        ("count: {min: 1}", rows(), "another number of them"),
        ("includes: tea", rows(["a"], ["green tea"]), ""),
        ("exact: a 1", rows(["a", 1]), ""),
        ("match: all, includes: tea", rows(["a"], ["green tea"]), '1 of 2 (a): "tea" is missing'),
        ("number: 5, tolerance: 1", rows(["6"]), ""),
    ],
)
def test_sql_conditions(check: str, live: FakeLive, why: str) -> None:
    got = live_result(f"state: {{sql: select x from y, {check}}}", live)
    assert (got.passed, got.why) == (not why, why)


@each_case(
    ("check", "live", "score", "why"),
    [
        ("at: '$.a[0].b', equals: 1", answers({"a": [{"b": 1}]}), 1, ""),
        ("at: '$.a[*]', count: 2", answers({"a": [1, 2]}), 1, ""),
        ("at: '$.a', equals: {b: [1, x]}", answers({"a": {"b": [1.0, "x"]}}), 1, ""),
        ("at: '$.z', equals: 1", answers({}), 0, "no values; one is wanted"),
        ("at: '$.z', count: 0", answers({}), 1, ""),
        ("at: '$[*].t', includes: tea", answers([{"t": "milk"}, {"t": "Tea"}]), 1, ""),
        ("equals: 1", answers("oops"), 0, "expected JSON from shopping:/api/x, found oops"),
        ("at: '$.z', count: 0", answers("oops"), None, "expected JSON from shopping:/api/x, found oops"),
        ("includes: hello", answers("hello there"), 1, ""),
        ("equals: 1", answers({}, 404), 0, "it answered {}"),
        ("equals: 1", answers({}, 503), None, "the site failed with status 503"),
    ],
)
def test_api_conditions(check: str, live: FakeLive, score: float | None, why: str) -> None:
    got = live_result(f"state: {{api: /api/x, {check}}}", live)
    assert (got.score, got.why) == (score, why)


@each_case(
    "condition",
    ["equals: x", "equals: []", "at: '$.t', includes: x", "at: '$.t', count: 2", "at: '$.t', count: {min: 1, max: 3}"],
)
@each_case("body", ["<h1>Sign in</h1>", "", "[" * 100_000])
def test_response_that_is_not_json_fails_only_positive_conditions(condition: str, body: str) -> None:
    """An agent that signs out can cause such a response, which must not exclude its trial from the success rate."""
    check = f"state: {{api: /api/x, {condition}}}"
    got = live_result(check, answers(body))
    assert (got.passed, got.why.partition(", found ")[0]) == (False, "expected JSON from shopping:/api/x")
    contrary = live_result(f"not: {{{check}}}", answers(body))
    assert (contrary.passed, contrary.children[0].cause) == (None, "task")


@each_case("condition", ["excludes: x", "count: 0", "count: {max: 2}"])
@each_case("around", ["{}", "not: {{{}}}"])
def test_response_that_is_not_json_does_not_prove_absence(condition: str, around: str) -> None:
    check = around.format(f"state: {{api: /api/x, at: '$.t', {condition}}}")
    assert live_result(check, answers("<h1>Sign in</h1>")).passed is None


@each_case(
    ("status", "passed", "contrary"),
    [(404, False, True), (410, False, True), (400, False, False), (403, False, False), (413, False, False),
     (431, False, False), (408, None, None), (429, None, None), (500, None, None), (503, None, None)],
)  # fmt: skip
def test_api_errors_do_not_prove_absence(status: int, passed: bool | None, contrary: bool | None) -> None:
    for check in ("includes: milk", "at: '$.items[*]', includes: milk", "at: '$.items[*]', equals: milk"):
        one = f"state: {{api: /api/x, {check}}}"
        assert live_result(one, answers({}, status)).passed is passed
        assert live_result(f"not: {{{one}}}", answers({}, status)).passed is contrary
    asked = "not: {state: {api: {path: /api/x, status: 200}}}"
    assert live_result(asked, answers({}, status)).passed is contrary


def test_api_status_alone_is_a_condition() -> None:
    check = "state: {api: {path: /api/x, status: 404}}"
    assert live_result(check, answers("", 404)).passed
    assert live_result(check, answers("", 200)).passed is False
    assert live_result("state: {api: {path: /api/x, status: 500}}", answers("", 500)).passed


def test_state_check_queries_and_fetches_as_written() -> None:
    live = FakeLive(rows=lambda sql: [[1]])
    live_result("state: {sql: select 1, site: reddit, database: main, equals: 1}", live)
    live_result("state: {api: {path: 'reddit:/x', method: POST, json: {a: 1}}, equals: 1}", live)
    assert live.asked == [
        ("query", "reddit", "select 1", "main"),
        ("fetch", "reddit", "/x", "POST", {"Content-Type": "application/json"}, '{"a": 1}'),
    ]


def test_invalid_sql_is_undecided_and_site_error_is_raised() -> None:
    def refuse(sql: str) -> Any:
        raise TaskError("no such table: y")

    def broken(sql: str) -> Any:
        raise SiteError("gone")

    got = live_result("state: {sql: select x from y, equals: 1}", FakeLive(rows=refuse))
    assert (got.score, got.why) == (None, "no such table: y")
    with pytest.raises(SiteError):
        live_result("state: {sql: select x from y, equals: 1}", FakeLive(rows=broken))


def test_unread_state_is_undecided() -> None:
    assert result("state: {sql: select 1, equals: 1}", evidence("x")).score is None


@each_case(
    ("actual", "wanted", "same"),
    [
        (1, 1.0, True),
        ("84.970", 84.97, True),
        (84.97, "84.97", True),
        (0.1 + 0.2, 0.3, False),
        ("x", "X", False),
        (" x", "x", False),
        (True, True, True),
        (1, True, True),
        (2, True, False),
        (True, 1, False),
        (None, "", False),
        ([1, ["2"]], [1.0, [2]], True),
        ({"a": 1}, {"a": "1"}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ("nan", "nan", True),
        ("inf", 1e308, False),
        ("1_000", 1000, False),
        ("\u0663", 3, False),
        ("\uff13", 3, False),
        (" 1e3\n", 1000, True),
        ("-.50", -0.5, True),
    ],
)
def test_same_value_compares_json_and_sql_values(actual: Any, wanted: Any, same: bool) -> None:
    assert same_value(actual, wanted) is same


@each_case(
    ("given", "condition", "holds"),
    [("t", "equals: true", True), ("f", "equals: true", False), ("f", "equals: false", True),
     ("1", "equals: true", True), ("0", "rows: [false]", True), ("t", "equals: t", True), ("x", "equals: true", False),
     ("t", "rows: [[true]]", True), (None, "equals: false", False), ("", "equals: false", False)],
)  # fmt: skip
def test_database_booleans_equal_json_booleans(given: Any, condition: str, holds: bool) -> None:
    assert live_result(f"state: {{sql: select 1, {condition}}}", FakeLive(rows=lambda sql: [[given]])).passed is holds
    assert live_result("state: {api: /x, equals: true}", answers("t")).passed is not True  # JSON has its own booleans


DOCUMENT = {
    "orders": [
        {"id": 1, "total": 5.5, "paid": True, "by": {"name": "emma"}},
        {"id": 2, "total": 7, "paid": False, "by": {"name": "bob"}},
    ],
    "odd name": [[1, 2], [3]],
}


@each_case(
    ("path", "values"),
    [
        ("$", [DOCUMENT]),
        ("$.orders[0].id", [1]),
        ("$.orders[-1].id", [2]),
        ("$.orders[5].id", []),
        ("$.orders[*].total", [5.5, 7]),
        ("$.orders.id", []),
        ("$['odd name'][*][0]", [1, 3]),
        ('$["odd name"][1].*', [3]),
        ("$.orders[?(@.paid == true)].id", [1]),
        ("$.orders[?(@.by.name == 'bob')].id", [2]),
        ("$.orders[?@.total>6].id", [2]),
        ("$.orders[?(@.total <= 5.50)].id", [1]),
        ("$.orders[?(@.id != 1)].id", [2]),
        ("$.orders[?(@.missing == 1)].id", []),
        ("$['odd name'][0][?(@ >= 2)]", [2]),
        ("$.orders[?(@.paid > 0)].id", []),
    ],
)
def test_find_returns_jsonpath_values(path: str, values: list[Any]) -> None:
    assert find(path, DOCUMENT) == values


@each_case("path", ["", "orders", "$.", "$..a", "$[a]", "$[0", "$.a[?(@.b ~ 1)]", "$.a b"])
def test_invalid_jsonpaths_are_refused(path: str) -> None:
    with pytest.raises(PathError):
        parse_path(path)


@each_case("condition", ["count: 3", "count: {max: 20000}", "includes: tea", "excludes: tea"])
@each_case("around", ["{}", "not: {{{}}}", "not: {{any: [{{{}}}]}}"])
def test_too_many_rows_fail_condition_and_negation(around: str, condition: str) -> None:
    """An agent can make a site store that many rows, which must not exclude its trial from the success rate."""

    def too_many(sql: str) -> list[list[str]]:
        raise TooLarge("the SQL statement gave more than 10000 rows")

    got = live_result(around.format(f"state: {{sql: select title from notes, {condition}}}"), FakeLive(rows=too_many))
    assert got.passed is False
    while got.children:
        got = got.children[0]
    assert got.why == "the SQL statement gave more than 10000 rows"
