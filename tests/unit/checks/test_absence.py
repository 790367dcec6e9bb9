"""Which checks are met where nothing is found, and which of them were never seen to fail."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.checks import judge
from pytest_webarena.checks.absence import expects_absence, found_subjects, never_found
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
        ("answer: Tea", False),
    ],
)
def test_checks_that_are_met_where_nothing_is_found(check: str, absent: bool) -> None:
    assert expects_absence(task(f"- {check}").checks) is absent


def judged(count: int, body: str) -> Any:
    """The verdict on `GUARDS` with this number of rows, and this response of the API."""
    values: list[Any] = [{"columns": ["n"], "rows": [[count]]}, {"status": 200, "body": body}]
    paths = ("checks[0]", "checks[1].not")
    probes = tuple(Probe(check=path, state="end", value=value) for path, value in zip(paths, values, strict=True))
    return judge(task(GUARDS), evidence(probes=probes))


def test_check_of_absence_is_named_unless_it_failed_once() -> None:
    checks = task(GUARDS).checks
    nothing, one, both = judged(0, "{}"), judged(2, "{}"), judged(1, '{"notez": ["Tea"]}')
    assert [each.subject for each in never_found(checks, [nothing, nothing])] == ["checks[0]", "checks[1].not"]
    assert [each.subject for each in never_found(checks, [nothing, one])] == ["checks[1].not"]
    assert never_found(checks, [both, nothing]) == []
    assert found_subjects(checks, one) == {"checks[0]"}
    assert never_found(checks, [nothing], ["checks[0]", "checks[1].not"]) == []
    [first, _] = never_found(checks, [nothing])
    assert str(first) == (
        "checks[0] was never seen to fail (0): 0 from shopping: select count(*) from notes where titel = 'Tea'"
    )


def test_undecided_check_shows_nothing() -> None:
    checks = task(GUARDS).checks
    unread = judge(task(GUARDS), Evidence(answer=None, stop_reason="answered"))
    assert never_found(checks, [unread]) == []
    assert [each.subject for each in never_found(checks, [unread, judged(1, "{}")])] == ["checks[1].not"]


def test_request_that_must_not_be_sent_is_seen_when_it_was() -> None:
    checks = task("- network: {method: POST, url: /delete, none: true}")
    sent = judge(checks, evidence(requests=(request("POST", "/delete"),)))
    assert len(never_found(checks.checks, [judge(checks, evidence(requests=()))])) == 1
    assert never_found(checks.checks, [sent]) == []


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
    assert [each.subject for each in never_found(checks.checks, [verdict])] == ["checks[0] 'ghost'"]
