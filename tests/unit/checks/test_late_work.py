"""Judging while a site still had work: presence counts, absence and exact states are undecided."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.changes import SiteChanges
from pytest_webarena.checks import Verdict, judge
from pytest_webarena.evidence import Evidence, Probe, QuietWait
from pytest_webarena.tasks import digest
from tests.cases import each_case

from .helpers import evidence, request, task, with_probes

BUSY = (
    QuietWait(app="shop", seconds=30.0, busy="select count(*) from jobs returned 3"),
    QuietWait(app="wiki", seconds=0),
)
ROWS: Any = {"columns": ["title"], "rows": [["Tea"], ["Rye"]]}
WHY = "shop still had work after 30 s: select count(*) from jobs returned 3"


def verdict(checks: str, *, busy: bool = True, extra: str = "", **facts: Any) -> Verdict:
    """Judge checks of the rows 'Tea' and 'Rye', or of a page with both."""
    made = task(checks, extra=extra)
    recorded = evidence(
        "Tea",
        url="http://shopping.test/end",
        requests=(request("GET", "/end"),),
        quiet_waits=BUSY if busy else BUSY[1:],
        **facts,
    )
    paths = ("checks[0]", "checks[1]", "checks[0].not", "checks[0].any[0]", "checks[0].any[1]")
    page: Any = {"url": "http://shopping.test/", "status": 200, "texts": ["Tea", "Rye"]}
    probes = [Probe(check=path, state="end", value=page if "page" in checks else ROWS) for path in paths]
    return judge(made, with_probes(recorded, *probes))


@each_case(
    ("checks", "passed"),
    [
        ("- state: {sql: select 1, includes: Tea}", True),
        ("- state: {sql: select 1, count: {min: 2}}", True),
        ("- page: {open: /, locate: css=li, includes: [Tea]}", True),
        ("- not: {state: {sql: select 1, includes: Tea}}", False),  # what is there is there
        ("- state: {sql: select 1, includes: Milk}", None),  # it may still come
        ("- not: {state: {sql: select 1, includes: Milk}}", None),
        ("- state: {sql: select 1, count: 2}", None),
        ("- state: {sql: select 1, count: 3}", None),
        ("- state: {sql: select 1, count: {max: 2}}", None),
        ("- state: {sql: select 1, rows: [Tea, Rye]}", None),
        ("- state: {sql: select 1, match: all, includes: e}", None),
        ("- state: {sql: select 1, includes: Tea, excludes: Milk}", None),
        ("- page: {open: /, locate: css=li, includes: Tea, excludes: Milk}", None),
        ("- page: {open: /, locate: css=li, count: 2}", None),
        ("- any: [{state: {sql: select 1, count: 2}}, {state: {sql: select 1, includes: Tea}}]", True),
        ("- changes: nothing", None),
        ("- answer: Tea", True),  # no work of a site changes the answer, the address or the requests
        ("- answer: Coffee", False),
        ("- url: /end", True),
        ("- network: {method: POST, url: /never, none: true}", True),
        ("- answer: Coffee\n- state: {sql: select 1, count: 2}", False),  # decided anyway
    ],
)
def test_presence_counts_and_absence_is_undecided_while_a_site_has_work(checks: str, passed: bool | None) -> None:
    found = verdict(checks, changes=())
    assert found.passed is passed
    if passed is None:
        assert (found.cause, found.open_because, found.judgeable) == ("site", WHY, False)
    assert verdict(checks, busy=False, changes=()).undecided is False or "changes" in checks


def test_weighted_scores_count_what_is_decided() -> None:
    found = verdict(
        "- {state: {sql: select 1, includes: Tea}, weight: 3}\n- state: {sql: select 1, count: 2}",
        extra="    score: mean\n    threshold: 0.7\n",
    )
    assert (found.passed, found.score, found.lower_bound) == (True, None, 0.75)


@pytest.mark.parametrize("busy", [False, True])
def test_side_effects_are_undecided_while_a_site_has_work(busy: bool) -> None:
    changes = (SiteChanges(app="shop", sites=("shopping",), strict=True),)
    found = verdict("- answer: Tea", busy=busy, extra="    mutates: false\n", changes=changes)
    assert found.passed is (None if busy else True)
    assert found.cause == ("site" if busy else "task")


def test_waits_are_stored_and_shown() -> None:
    made = task("- state: {sql: select 1, includes: Tea}\n  within: 10s\n- answer: Tea")
    assert [check.within for check in made.checks] == [10.0, 0.0]
    assert digest(made) != digest(task("- state: {sql: select 1, includes: Tea}\n- answer: Tea"))
    recorded = evidence("Tea", check_waits={"checks[0]": 3.25}, quiet_waits=BUSY[1:])
    recorded = with_probes(recorded, Probe(check="checks[0]", state="end", value=ROWS))
    assert Evidence.from_json(recorded.to_json()) == recorded
    found = judge(made, recorded)
    assert [result.waited for result in found.results] == [3.25, None]
    assert Verdict.from_json(found.to_json()) == found
    assert "✓ checks[0] state (after 3.2 s): " in found.render()


def test_evidence_of_older_versions_has_no_waits() -> None:
    data = evidence("Tea").to_json()
    data["schema_version"] = 15
    del data["quiet_waits"], data["check_waits"]
    assert Evidence.from_json(data) == evidence("Tea")
