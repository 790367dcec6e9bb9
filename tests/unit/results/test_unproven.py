"""Audits of tasks whose expectations are right on one day only, and of alternatives that other instances prove."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pytest_webarena.agents.audit_trials import ORACLE, AuditTrial
from pytest_webarena.changes import RowChange, SiteChanges, TableChanges
from pytest_webarena.checks import judge
from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.results.unproven import held_in_templates, unproven_parts
from pytest_webarena.testing import make_task
from tests.unit.checks.helpers import evidence

DUE = """
intent: {}
sites: [shop]
mutates: true
checks: [{{state: {{sql: "select count(*) from tickets where due = '2026-12-04'", equals: 1}}}}]
solution: [{{fill: {{css=#due: "2026-12-04"}}}}]
"""
RELATIVE = "Ticket 3 is due in 3 days"


@pytest.mark.parametrize(
    ("intent", "site_day", "found"),
    [
        (RELATIVE, "2027-03-05", ["step 1, checks[0]: expected 2026-12-04, but the intent says 'in 3 days'"]),
        (RELATIVE, "", ["step 1, checks[0]: expected 2026-12-04, but the intent says 'in 3 days'"]),
        (RELATIVE, "2025-05-14", []),  # the site's clock does not show the day of the trial
        ("Ticket 3 is due on 4 December 2026", "2027-03-05", []),
    ],
)
def test_date_that_is_right_on_one_day_is_unproven(intent: str, site_day: str, found: list[str]) -> None:
    task = make_task(DUE.format(intent))
    row: dict[str, Any] = {"id": 3, "saved": f"{site_day} 10:30:00" if site_day else ""}
    change = RowChange(kind="changed", key={"id": 3}, row=row, now=row)
    table = TableChanges(table="tickets", database="main", changed=1, rows=(change,))
    changes = (SiteChanges(app="shop", sites=("shop",), tables=(table,)),)
    record = TrialRecord(
        key=TrialKey(task.id, ORACLE, 1), outcome="passed", started=datetime(2027, 3, 5, 10, 30, tzinfo=UTC).timestamp()
    )
    trial = AuditTrial(agent=ORACLE, trial=1, task=task, manner="replaying the solution")
    seen = evidence(changes=changes)
    assert [each.text for each in unproven_parts(task, [(trial, record)], lambda _: seen)] == found


def test_date_without_a_year_is_unproven_months_later() -> None:
    task = make_task(DUE.format(RELATIVE).replace("'2026-12-04'", "'Fri 4 Dec'").replace('"2026-12-04"', "in 3 days"))
    record = TrialRecord(
        key=TrialKey(task.id, ORACLE, 1), outcome="passed", started=datetime(2027, 3, 5, 10, 30, tzinfo=UTC).timestamp()
    )
    trial = AuditTrial(agent=ORACLE, trial=1, task=task, manner="replaying the solution")
    [found] = unproven_parts(task, [(trial, record)], lambda _: evidence())
    assert found.text == "checks[0]: expected 2026-12-04, but the intent says 'in 3 days'"


def test_alternative_is_proven_by_another_instance() -> None:
    task = make_task("intent: Go\nsites: [shopping]\nchecks: [{any: [{url: /a}, {url: /b}]}]\nsolution: [{goto: /a}]")

    def at(path: str) -> tuple[AuditTrial, TrialRecord]:
        seen = evidence(url=f"http://shopping.test{path}")
        trial = AuditTrial(agent=ORACLE, trial=1, task=task, manner="")
        return trial, TrialRecord(
            key=TrialKey(task.id, ORACLE, 1), outcome="passed", verdict=judge(task, seen).to_json()
        )

    found = [at("/a"), at("/c")]
    [part] = unproven_parts(task, found, lambda _: None)
    assert part.text.startswith("<task>:6: checks[0].any[1] was never seen to hold (")
    held = held_in_templates([(task, found), (task, [at("/b")])])
    assert not list(unproven_parts(task, found, lambda _: None, held[task.id]))
