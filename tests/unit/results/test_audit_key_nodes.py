"""What an audit notes of key nodes: which are free, which the solution reaches without their step."""

from __future__ import annotations

from pytest_webarena.agents.audit_trials import audit_trials
from pytest_webarena.checks import judge
from pytest_webarena.evidence import Evidence
from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.results.audit import TaskAudit, audit
from pytest_webarena.testing import make_task
from tests.unit.checks.key_nodes.trials import at, event, trial

TASK = make_task("""
intent: Buy it
sites: [shopping]
checks:
  - key_nodes:
      - {url: {exact: /}, name: home}
      - {url: {includes: /kettle}, name: kettle}
      - {element: "#buy", name: bought}
solution: [{goto: /kettle}, {click: css=#buy}]
""")


def audited(recorded: Evidence, *, kept: bool = True) -> TaskAudit:
    planned = audit_trials(TASK, [TASK])
    verdict = judge(TASK, recorded)
    assert verdict.passed
    records = [
        TrialRecord(
            key=TrialKey(TASK.id, each.agent, each.trial),
            task_digest=each.task.digest,
            outcome="passed" if each.must_pass else "failed",
            verdict=verdict.to_json() if each.must_pass else None,
        )
        for each in planned
    ]
    (found,) = audit([(TASK, planned)], records, evidence=lambda record: recorded if kept else None).tasks
    return found


def test_free_nodes_are_noted() -> None:
    found = audited(trial([at("/kettle")], [event("html > a#buy")]))
    assert found.finding == "valid"
    assert found.notes == ("key node 'home' is free: a first page reaches it",)


def test_a_node_that_does_not_need_its_step_is_noted() -> None:
    twice = trial([at("/kettle")], [event("html > a#buy")], [event("html > a#buy")])
    told = "key node 'bought' is reached without step 1 of the solution, too"
    assert told in audited(twice).notes
    assert told not in audited(twice, kept=False).notes


def test_nodes_that_fall_together_are_noted() -> None:
    at_once = trial([at("/kettle"), event("html > a#buy")])
    assert "one step reaches several key nodes: 'kettle', 'bought'" in audited(at_once).notes
