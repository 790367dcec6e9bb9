"""Expected outcomes of audit trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.agents.audit_trials import NEIGHBOUR, ORDER, VALUES, AuditTrial, audit_trials
from pytest_webarena.changes import SiteChanges, TableChanges
from pytest_webarena.evidence import Evidence, StepRecord
from pytest_webarena.plugin.auditing import as_expected
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.testing import make_task

TASK = make_task("""
intent: Save it
sites: [shop]
checks: [{state: {sql: select 1, equals: 1}}]
solution: [{goto: /new}, {click: 'role=button[name="Save"]'}]
""")


def planned(agent: str) -> AuditTrial:
    return next(trial for trial in audit_trials(TASK, [TASK]) if trial.agent == agent)


def passed(run: RunDir, agent: str, *, added: int = 1) -> TrialRecord:
    """Record a passed trial whose agent added some rows."""
    folder = run.folder(TrialKey(TASK.id, agent, 1))
    writer = folder.begin(worker="w", node_id="n", task={})
    step = StepRecord(
        index=0, action={"kind": "click"}, raw="", thought="in place of step 2: button 'B', not button 'A'"
    )
    tables = (TableChanges(table="posts", added=added),)
    changes = (SiteChanges(app="shop", sites=("shop",), tables=tables),)
    writer.stepped(step)
    writer.finish(Evidence(answer="", stop_reason="answered", steps=(step,), changes=changes))
    record = TrialRecord(key=folder.key, outcome="passed", attempt=writer.number)
    folder.finish(record)
    return record


@pytest.mark.parametrize(("added", "outcome"), [(1, "passed"), (2, "failed")])
def test_neighbour_may_pass_with_the_changes_of_the_solution(tmp_path: Path, added: int, outcome: str) -> None:
    run = RunDir(tmp_path)
    passed(run, "oracle")
    record = as_expected(planned(NEIGHBOUR), passed(run, NEIGHBOUR, added=added), run)
    assert record.outcome == outcome
    assert ("in place of step 2: button 'B'" in record.message) is (outcome == "failed")


def test_neighbour_may_not_pass_without_a_recorded_solution(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    assert as_expected(planned(NEIGHBOUR), passed(run, NEIGHBOUR), run).outcome == "failed"


def test_other_wrong_agents_may_not_pass(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    passed(run, "oracle")
    assert as_expected(planned("audit-short"), passed(run, "audit-short"), run).outcome == "failed"


@pytest.mark.parametrize(("added", "outcome"), [(1, "failed"), (2, "passed")])
def test_right_way_in_another_order_may_fail_only_with_another_end(tmp_path: Path, added: int, outcome: str) -> None:
    run = RunDir(tmp_path)
    passed(run, "oracle")
    trial = AuditTrial(agent=ORDER, trial=1, task=TASK, manner="replaying the solution, doing steps 1 and 2 otherwise")
    record = replace(passed(run, ORDER, added=added), outcome="failed", message="the check failed")
    found = as_expected(trial, record, run)
    assert found.outcome == outcome
    assert found.message.startswith("too strict: failed by replaying") is (outcome == "failed")
    assert as_expected(trial, passed(run, ORDER), run).outcome == "passed"


@pytest.mark.parametrize(("caught", "outcome"), [(True, "passed"), (False, "failed")])
def test_solution_fails_its_item_when_a_written_value_is_not_read(tmp_path: Path, caught: bool, outcome: str) -> None:
    run = RunDir(tmp_path)
    trial = AuditTrial(agent=VALUES, trial=1, task=TASK, manner="replaying the solution")
    tried = {
        "table": "shop: main.posts",
        "column": "title",
        "was": "'a'",
        "became": "'b'",
        "caught": caught,
        "sent": True,
    }
    facts = {"values": {"tried": [tried], "untried": []}}
    record = as_expected(trial, replace(passed(run, VALUES), environment=facts), run)
    assert (record.outcome, "does not depend on shop: main.posts.title" in record.message) == (outcome, not caught)
