"""Audit notes about key nodes: free nodes, and nodes that the solution reaches without their step."""

from __future__ import annotations

from pytest_webarena.agents.audit_trials import SKIP, audit_trials
from pytest_webarena.checks import judge
from pytest_webarena.evidence import Evidence
from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.results.audit import TaskAudit, audit
from pytest_webarena.testing import make_task
from tests.unit.checks.key_nodes.trials import at, event, trial, typed

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
    failed = judge(TASK, trial([at("/")])).to_json()
    records = [
        TrialRecord(
            key=TrialKey(TASK.id, each.agent, each.trial),
            task_digest=each.task.digest,
            outcome="passed" if each.must_pass else "failed",
            verdict=verdict.to_json() if each.must_pass else failed if each.agent == "null" else None,
        )
        for each in planned
    ]
    (found,) = audit([(TASK, planned)], records, evidence=lambda record: recorded if kept else None).tasks
    return found


def test_free_nodes_are_noted() -> None:
    found = audited(trial([at("/kettle")], [event("html > a#buy")]))
    assert found.finding == "valid"
    assert found.notes == ("key node 'home' is free: a first page reaches it",)


def test_node_reached_without_its_step_is_noted() -> None:
    twice = trial([at("/kettle")], [event("html > a#buy")], [event("html > a#buy")])
    note = "key node 'bought' is reached without step 1 of the solution, too"
    assert note in audited(twice).notes
    assert note not in audited(twice, kept=False).notes


def test_nodes_reached_by_one_step_are_noted() -> None:
    at_once = trial([at("/kettle"), event("html > a#buy")])
    assert "one step reaches several key nodes: 'kettle', 'bought'" in audited(at_once).notes


LONG = make_task("""
intent: Buy two
sites: [shopping]
checks:
  - key_nodes:
      - {url: {includes: /kettle}, name: kettle}
      - {value: {locate: "#qty", exact: 2}, name: two}
      - {element: "#gift", name: wrapped}
      - {element: "#buy", name: bought}
solution: [{goto: /kettle}, {click: css=#open}, {fill: {css=#qty: 2}}, {click: css=#gift}, {click: css=#buy}]
""")
KETTLE, OPEN, TWO, GIFT, BUY = (
    [at("/kettle")],
    [event("html > a#open")],
    [typed("html > input#qty", "2")],
    [event("html > a#gift")],
    [event("html > a#buy")],
)


def notes_of(*without_step: Evidence) -> tuple[str, ...]:
    """Return the audit's notes, given the trials that leave out one step each."""
    planned = audit_trials(LONG, [LONG])
    whole = trial(KETTLE, OPEN, TWO, GIFT, BUY)
    went = iter(without_step)
    records = []
    for each in planned:
        short = trial(KETTLE, OPEN, TWO, GIFT, [])
        recorded = whole if each.must_pass else next(went) if each.agent == SKIP else short
        verdict = judge(LONG, recorded)
        records.append(
            TrialRecord(
                key=TrialKey(LONG.id, each.agent, each.trial),
                task_digest=each.task.digest,
                outcome="passed" if verdict.passed else "failed",
                verdict=verdict.to_json(),
                steps=5,
            )
        )
    (found,) = audit([(LONG, planned)], records).tasks
    return tuple(note for note in found.notes if "without" in note)


def test_at_most_two_steps_are_left_out_and_typing_steps_first() -> None:
    planned = [each for each in audit_trials(LONG, [LONG]) if each.agent == SKIP]
    assert [(each.trial, each.without) for each in planned] == [(1, 1), (2, 2)]
    assert planned[1].manner == "leaving out step 3 of 6 (type css=#qty '2')"
    assert len({each.task.digest for each in planned}) == 2


def test_leaving_out_a_step_must_lose_its_node_only() -> None:
    without_open, without_two = trial(KETTLE, [], TWO, GIFT, BUY), trial(KETTLE, OPEN, [], GIFT, BUY)
    assert notes_of(without_open, without_two) == ()
    assert notes_of(without_open, trial(KETTLE, OPEN, TWO, GIFT, BUY)) == (
        "key node 'two' was reached without step 2 of the solution, too",
    )
    assert notes_of(without_open, trial(KETTLE, OPEN, [], [], BUY)) == (
        "without step 2 of the solution key node 'wrapped' was lost, too",
    )
