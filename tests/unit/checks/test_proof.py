"""Which conditions were never seen to fail, or never seen to hold."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.checks import judge
from pytest_webarena.checks.proof import failed_subjects, held_subjects, needs_other_states, unproven
from pytest_webarena.evidence import Evidence, Probe

from .helpers import evidence, request, task

GUARDS = """
- state: {sql: "select count(*) from notes where titel = 'Tea'", equals: 0}
- not: {state: {api: /api/notes, at: "$.notez[*]", includes: Tea}}
"""


@pytest.mark.parametrize(
    ("check", "absent"),
    [
        ("state: {sql: select count(*) from notes, equals: 0}", True),
        ("state: {sql: select count(*) from notes, equals: 1}", False),
        ("state: {sql: select title from notes, rows: []}", True),
        ("state: {sql: select title from notes, count: 0}", True),
        ("state: {sql: select title from notes, count: {max: 3}}", True),
        ("state: {sql: select title from notes, excludes: Tea}", True),
        ("state: {sql: select title from notes, excludes: Tea, includes: Rye}", False),
        ("state: {api: /api/notes, at: '$.a', count: 0}", True),
        ("state: {api: /api/notes, at: '$.a', equals: 0}", False),
        ("state: {api: {path: /api/notes, status: 404}}", True),
        ("not: {state: {api: {path: /api/notes, status: 404}}}", False),
        ("not: {state: {sql: select count(*) from notes, equals: 1}}", True),
        ("not: {not: {state: {sql: select count(*) from notes, equals: 1}}}", False),
        ("not: {state: {sql: select count(*) from notes, equals: 0}}", False),
        ("page: {open: /a, locate: css=.error, count: 0}", True),
        ("page: {open: /a, excludes: Error}", True),
        ("page: {open: /a, includes: Basket, excludes: Error}", False),
        ("not: {page: {open: /ghost, includes: Tea}}", True),
        ("any: [{answer: x}, {not: {url: /ghost}}]", True),
        ("network: {method: POST, url: /ghost, none: true}", True),
        ("network: {method: POST, url: /ghost}", False),
        ("all: [{answer: Rye}, {not: {answer: Tea}}]", False),
        ("any: [{answer: Rye}, {answer: Tea}]", True),
        ("answer: Tea", False),
    ],
)
def test_checks_that_the_solution_alone_does_not_prove(check: str, absent: bool) -> None:
    assert needs_other_states(task(f"- {check}").checks) is absent


def judged(count: int, body: str) -> Any:
    """The verdict on `GUARDS` with this number of rows, and this response of the API."""
    values: list[Any] = [{"columns": ["n"], "rows": [[count]]}, {"status": 200, "body": body}]
    paths = ("checks[0]", "checks[1].not")
    probes = tuple(Probe(check=path, state="end", value=value) for path, value in zip(paths, values, strict=True))
    return judge(task(GUARDS), evidence(probes=probes))


def lacking(checks: Any, verdicts: Any, **seen: Any) -> list[tuple[str, str]]:
    return [(each.condition.subject, each.lacks) for each in unproven(checks, verdicts, **seen)]


def test_condition_is_unproven_until_it_held_and_failed() -> None:
    checks = task(GUARDS).checks
    nothing, one, both = judged(0, "{}"), judged(2, "{}"), judged(1, '{"notez": ["Tea"]}')
    assert lacking(checks, [nothing, nothing]) == [("checks[0]", "fail"), ("checks[1].not", "fail")]
    assert lacking(checks, [nothing, one]) == [("checks[1].not", "fail")]
    assert lacking(checks, [both, nothing]) == []
    assert lacking(checks, [both]) == [("checks[0]", "hold"), ("checks[1].not", "hold")]
    assert (failed_subjects(checks, one), held_subjects(checks, one)) == ({"checks[0]"}, {"checks[1].not"})
    assert lacking(checks, [nothing], failed=["checks[0]", "checks[1].not"]) == []
    [first, _] = unproven(checks, [nothing])
    assert first.condition.is_absence
    assert str(first) == (
        "checks[0] was never seen to fail (0): 0 from shopping: select count(*) from notes where titel = 'Tea'"
    )


def test_guard_that_never_failed_is_unproven_and_a_limit_is_not() -> None:
    checks = task("[{url: /a}, {steps: {at_most: 9}}]")
    there = judge(checks, evidence(url="http://shopping.test/a"))
    [guard] = unproven(checks.checks, [there])
    assert (guard.condition.subject, guard.condition.is_absence) == ("checks[0]", False)
    assert lacking(checks.checks, [there, judge(checks, evidence(url="http://shopping.test/b"))]) == []


def test_alternative_that_never_held_is_unproven() -> None:
    checks = task("- any: [{url: /a}, {all: [{url: /b}, {answer: Tea}]}]")

    def at(path: str, answer: str) -> Any:
        return judge(checks, evidence(answer, url=f"http://shopping.test{path}"))

    start, first = at("/", ""), at("/a", "")
    assert lacking(checks.checks, [start, first]) == [
        ("checks[0].any[1]", "hold"), ("checks[0].any[1].all[0]", "hold"), ("checks[0].any[1].all[1]", "hold"),
    ]  # fmt: skip
    apart = [start, first, at("/b", ""), at("/a", "Tea")]
    assert lacking(checks.checks, apart) == [("checks[0].any[1]", "hold")]
    assert lacking(checks.checks, [*apart, at("/b", "Tea")]) == []
    assert lacking(checks.checks, apart, held=["checks[0].any[1]"]) == []


def test_undecided_check_shows_nothing() -> None:
    checks = task(GUARDS).checks
    unread = judge(task(GUARDS), Evidence(answer=None, stop_reason="answered"))
    assert lacking(checks, [unread]) == []
    assert lacking(checks, [unread, judged(1, "{}")]) == [("checks[0]", "hold"), ("checks[1].not", "fail")]


def test_request_that_must_not_be_sent_is_seen_when_it_was() -> None:
    checks = task("- network: {method: POST, url: /delete, none: true}")
    sent, unsent = (judge(checks, evidence(requests=each)) for each in ((request("POST", "/delete"),), ()))
    assert lacking(checks.checks, [unsent]) == [("checks[0]", "fail")]
    assert lacking(checks.checks, [sent, unsent]) == []


def test_forbidden_key_node_is_named_by_its_name() -> None:
    text = """
    - key_nodes:
        - url: {exact: /a}
        - url: {exact: /gohst}
          name: ghost
          forbidden: true
    """
    checks = task(text)
    verdict = judge(checks, evidence(url="http://shopping.test/a", signals=()))
    assert ("checks[0] 'ghost'", "fail") in lacking(checks.checks, [verdict])
