"""Findings of a task audit, computed from the records of its trials."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.agents.audit_trials import (
    MUTANTS,
    NEIGHBOUR,
    NO_NEIGHBOUR,
    NULL_FAMILY,
    ORDER,
    REMEDIES,
    AuditTrial,
    audit_trials,
)
from pytest_webarena.changes import RowChange, SiteChanges, TableChanges
from pytest_webarena.checks import CheckResult, Verdict
from pytest_webarena.evidence import Evidence, StepRecord
from pytest_webarena.plugin.reporting.audit import audit_lines
from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.results.audit import Audit, TaskAudit, audit
from pytest_webarena.tasks import Task
from pytest_webarena.testing import make_task

STATE = """
intent: Save it
sites: [shop]
checks: [{state: {sql: select 1, equals: 1}}]
solution: [{goto: /new}, {click: 'role=button[name="Save"]'}]
"""
BOTH = """
intent: Save it and name its number
sites: [shop]
mutates: true
checks: [{answer: 7}, {state: {sql: select 1, equals: 1}}]
solution: [{goto: /new}, {click: 'role=button[name="Save"]'}, {stop: 7}]
"""


def verdict(*scores: float | None, kinds: tuple[str, ...] = ("state", "state")) -> dict[str, Any]:
    results = tuple(
        CheckResult(path=f"checks[{index}]", kind=kinds[index], score=score, expected="1", actual=f"{score:g}")
        for index, score in enumerate(scores)
        if score is not None
    )
    return Verdict(score=0.0, passed=False, results=results).to_json()


def run(text: str | Task, changes: dict[Any, Any] | None = None, *, without: tuple[str, ...] = ()) -> TaskAudit:
    """Audit one task: the oracle passes and all others fail each check, except for ``changes`` by agent (or agent and
    trial)."""
    task = make_task(text) if isinstance(text, str) else text
    changes = changes or {}
    planned = audit_trials(task, [task])
    records = []
    for trial in planned:
        if trial.agent in without:
            continue
        outcome: Any = "passed" if trial.must_pass else "failed"
        facts = {"outcome": outcome, "steps": len(trial.task.solution or ()), "stop_reason": "answered"}
        scores = [float(trial.must_pass)] * len(task.checks)
        facts["verdict"] = verdict(*scores, kinds=tuple(check.kind for check in task.checks))
        facts |= changes.get(trial.agent, {}) | changes.get((trial.agent, trial.trial), {})
        records.append(
            TrialRecord(key=TrialKey(task.id, trial.agent, trial.trial), task_digest=trial.task.digest, **facts)
        )
    (found,) = audit([(task, planned)], records).tasks
    return found


PASSED: dict[str, Any] = {"outcome": "passed"}


def test_a_check_that_a_wrong_answer_passes_is_weak() -> None:
    intent = "Zebedee asked for a review. Who reviewed it?"
    task = f"intent: {intent}\nsites: [shop]\nmutates: false\nsolution: [{{stop: Ann Lee}}]"
    found = run(f"{task}\nchecks: [{{answer: {{names: [Ann Lee]}}}}]")
    assert found.finding == "weak check"
    assert "the wrong answer 'Ann Lee Zebedee' passes (superset)" in found.reasons[0].text


def error(cause: str, message: str = "it broke") -> dict[str, Any]:
    return {"outcome": "error", "cause": cause, "message": message}


def texts(found: TaskAudit) -> str:
    return "; ".join(reason.text for reason in found.reasons)


def test_audit_of_sound_task_is_valid() -> None:
    found = run(STATE)
    assert (found.finding, found.reasons, found.counts_against) == ("valid", (), False)
    assert (found.caught, found.wrong) == (3, 3)


def test_failing_solution_reports_failed_check_and_values() -> None:
    found = run(STATE, {"oracle": {"outcome": "failed", "verdict": verdict(1.0, 0.0)}})
    assert found.finding == "unsolvable"
    assert texts(found) == "checks[1] state: expected 1, found 0"


def test_solution_stopped_by_limit_reports_the_limit() -> None:
    cut = {
        "outcome": "failed",
        "verdict": verdict(0.0),
        "stop_reason": "max_steps",
        "stop_detail": "the limit of 30 steps",
    }
    assert texts(run(STATE, {"oracle": cut})).endswith("(stopped: the limit of 30 steps)")


def test_broken_solution_makes_task_unsolvable() -> None:
    found = run(STATE, {"oracle": error("task", "solution of task, step 2 of 3 failed\nmore")})
    assert (found.finding, texts(found)) == ("unsolvable", "solution of task, step 2 of 3 failed")


def test_check_without_score_reports_its_reason() -> None:
    open_end = CheckResult(path="checks[0]", kind="state", score=None, expected="1", why="no such column: nmae")
    verdict = Verdict(score=None, passed=None, results=(open_end,)).to_json()
    found = run(STATE, {"oracle": error("task", "no verdict: a check could not be judged") | {"verdict": verdict}})
    assert texts(found) == "checks[0] state: no such column: nmae"


def test_task_without_solution_is_unsolvable() -> None:
    task = STATE.split("solution")[0]
    found = run(task, {"oracle": error("task", "has no solution")})
    assert found.finding == "unsolvable"
    assert "no solution" in texts(found)


@pytest.mark.parametrize("other", [{"outcome": "failed", "verdict": verdict(0.0)}, error("task")])
def test_solution_with_mixed_outcomes_is_flaky(other: dict[str, Any]) -> None:
    found = run(STATE, {("oracle", 2): other})
    assert found.finding == "flaky"
    assert "passed 1 of 2 times" in texts(found)


def test_solution_failing_in_different_ways_is_unsolvable_and_flaky() -> None:
    ways = {
        ("oracle", 1): {"outcome": "failed", "verdict": verdict(0.0, 1.0)},
        ("oracle", 2): {"outcome": "failed", "verdict": verdict(1.0, 0.0)},
    }
    assert [reason.finding for reason in run(STATE, ways).reasons] == ["unsolvable", "flaky"]


def test_task_passed_without_actions_is_too_easy() -> None:
    found = run(BOTH, {"dump": PASSED, "echo": PASSED, "audit-short": PASSED})
    assert [reason.finding for reason in found.reasons] == ["too easy", "too easy", "weak check"]
    assert "passed by doing nothing and answering with the whole page" in texts(found)
    assert (found.caught, found.wrong) == (4, 7)


def test_task_passed_without_last_step_has_weak_check() -> None:
    found = run(STATE, {"audit-short": PASSED})
    assert found.finding == "weak check"
    assert texts(found) == 'passed by leaving out step 2 of 3 (click role=button[name="Save"])'


def null_verdict(*scores: float) -> dict[str, Any]:
    return {"verdict": verdict(*scores, kinds=("answer", "state", "page"))}


def test_checks_that_all_pass_in_initial_state_are_weak() -> None:
    found = run(BOTH, {"null": null_verdict(0.0, 1.0)})
    assert found.finding == "weak check"
    assert texts(found).startswith("checks[1] passes before anything is done")


def test_one_check_failing_initially_suffices_others_are_noted() -> None:
    found = run(BOTH, {"null": null_verdict(0.0, 1.0, 0.0)})
    assert (found.finding, found.notes) == ("valid", ("checks[1] passes before anything is done",))


@pytest.mark.parametrize(
    "task",
    [
        BOTH.replace("mutates: true", "mutates: false"),
        BOTH.replace("answer: 7", "answer: {unachievable: there is none}"),
    ],
)
def test_initially_passing_checks_are_valid_in_read_only_tasks(task: str) -> None:
    assert run(task, {"null": null_verdict(0.0, 1.0)}).finding == "valid"


def test_negated_check_counts_as_one_condition() -> None:
    inner = CheckResult(path="checks[0].not", kind="state", score=1.0, expected="1", actual="1")
    outer = CheckResult(path="checks[0]", kind="not", score=0.0, expected="the contrary", children=(inner,))
    failing = Verdict(score=0.0, passed=False, results=(outer,)).to_json()
    found = run(STATE, {"null": {"verdict": failing}})
    assert (found.finding, found.notes) == ("valid", ())


def test_environment_error_leaves_audit_unsettled() -> None:
    found = run(STATE, {"oracle": error("site", "the site went away")})
    assert (found.finding, found.counts_against) == ("error", True)
    assert "oracle, trial 1: site: the site went away" in texts(found)


def test_finding_is_kept_when_other_trials_have_errors() -> None:
    found = run(STATE, {"null": PASSED, "audit-short": error("browser")})
    assert [reason.finding for reason in found.reasons] == ["too easy", "error"]


def test_missing_trials_leave_audit_unsettled() -> None:
    found = run(STATE, without=("audit-short",))
    assert (found.finding, texts(found)) == ("error", "not run: audit-short")


def test_records_of_an_older_task_version_are_ignored() -> None:
    task = make_task(STATE)
    old = TrialRecord(key=TrialKey(task.id, "oracle", 1), outcome="passed", task_digest="0" * 32)
    (found,) = audit([(task, audit_trials(task, [task]))], [old]).tasks
    assert "not run: oracle, trial 1" in texts(found)


def test_xfail_task_does_not_count_against_audit() -> None:
    found = run(STATE + "xfail: the shop forgets\n", {"oracle": error("task")})
    assert (found.finding, found.excused, found.counts_against) == ("unsolvable", True, False)
    found = run(STATE + "xfail: the shop forgets\n")
    assert (found.finding, found.counts_against) == ("valid", False)
    assert "although marked xfail" in found.notes[0]


def test_skipped_task_is_reported_as_skipped() -> None:
    found = run(STATE + "skip: later\n", without=("oracle",))
    assert (found.finding, found.counts_against, found.notes) == ("skipped", False, ("skipped: later",))


def test_replay_that_stopped_early_is_noted() -> None:
    found = run(BOTH, {"audit-mute": {"steps": 2}})
    assert found.notes == ("audit-mute broke off at step 1 of 3",)
    assert [trial.agent for trial in found.trials if trial.broke_off] == ["audit-mute"]
    assert any(line.endswith("(100.0%), 1 stopped early") for line in audit_lines(findings(found)))


BESIDE = "in place of step 2: button 'Close', not button 'Save'"


def ended(*, table: str = "posts", key: int = 7, thought: str = "") -> Evidence:
    """Evidence of a trial that changed a row."""
    step = StepRecord(index=0, action={"kind": "click"}, raw="", thought=thought)
    row = RowChange(kind="added", key={"id": key}, row={"id": key, "at": f"2025-05-14T09:00:0{key}"})
    changes = SiteChanges(app="shop", sites=("shop",), tables=(TableChanges(table=table, added=1, rows=(row,)),))
    return Evidence(answer="", stop_reason="answered", steps=(step,), changes=(changes,))


def neighbour(neighbour_evidence: Evidence | None, **facts: Any) -> TaskAudit:
    """Audit `STATE` with a passing neighbour trial that has this evidence."""
    task = make_task(STATE)
    planned = audit_trials(task, [task])
    records = []
    for trial in planned:
        given = {"outcome": "passed" if trial.must_pass or trial.agent == NEIGHBOUR else "failed", "steps": 2}
        given |= facts if trial.agent == NEIGHBOUR else {}
        key = TrialKey(task.id, trial.agent, trial.trial)
        records.append(TrialRecord(key=key, task_digest=trial.task.digest, **given))  # type: ignore[arg-type]
    evidence_by_agent = {"oracle": ended(), NEIGHBOUR: neighbour_evidence}
    (found,) = audit([(task, planned)], records, evidence=lambda record: evidence_by_agent.get(record.key.agent)).tasks
    return found


def test_passing_neighbour_trial_is_a_weak_check_and_names_the_neighbour() -> None:
    found = neighbour(ended(key=8, thought=BESIDE))
    assert found.finding == "weak check"
    assert texts(found).endswith(f"taking what is next to the target of one step: {BESIDE}")
    assert neighbour(None).finding == "weak check"  # its end state is unknown


def test_neighbour_with_same_end_state_is_moot() -> None:
    found = neighbour(ended(thought=BESIDE))
    assert (found.finding, found.caught, found.wrong) == ("valid", 2, 2)
    assert found.notes == (f"audit-neighbour, trial 1, proves nothing: it ended as the solution does: {BESIDE}",)
    assert [trial.outcome for trial in found.trials if trial.agent == NEIGHBOUR] == ["moot"]


def test_neighbour_trial_without_a_neighbour_is_moot() -> None:
    found = neighbour(None, outcome="failed", stop_detail=NO_NEIGHBOUR)
    assert (found.finding, found.caught, found.wrong) == ("valid", 2, 2)
    assert found.notes == (f"audit-neighbour, trial 1, proves nothing: {NO_NEIGHBOUR}",)


@pytest.mark.parametrize(("key", "finding"), [(7, "too strict"), (8, "valid")])
def test_right_way_in_another_order_must_pass_if_it_ends_alike(key: int, finding: str) -> None:
    task = make_task(STATE)
    planned = [
        AuditTrial(agent="oracle", trial=1, task=task, manner="replaying the solution"),
        AuditTrial(agent=ORDER, trial=1, task=task, manner="replaying it, steps 1 and 2 in the other order"),
    ]
    records = [
        TrialRecord(key=TrialKey(task.id, "oracle", 1), task_digest=task.digest, outcome="passed", steps=2),
        TrialRecord(key=TrialKey(task.id, ORDER, 1), task_digest=task.digest, outcome="failed", steps=2),
    ]
    evidence = {"oracle": ended(), ORDER: ended(key=key)}
    (found,) = audit([(task, planned)], records, evidence=lambda record: evidence[record.key.agent]).tasks
    assert (found.finding, found.wrong) == (finding, 0)
    assert [trial.outcome for trial in found.trials] == ["passed", "failed" if finding == "too strict" else "moot"]


def findings(*found: TaskAudit) -> Audit:
    return Audit(tasks=found)


def test_audit_json_lists_counts_reasons_and_trials() -> None:
    data = findings(run(STATE), run(BOTH, {"null": PASSED})).to_json()
    assert data["schema_version"] == 2
    assert data["valid"] is False
    assert data["counts"]["valid"] == data["counts"]["too easy"] == 1
    assert data["mutation"] == {"wrong": 10, "caught": 9}
    first, second = data["tasks"]
    assert set(first) == {
        "task", "finding", "counts_against", "path", "line", "template", "xfail", "reasons", "notes",
        "mutation", "values", "trials",
    }  # fmt: skip
    (reason,) = second["reasons"]
    assert reason == {
        "finding": "too easy",
        "text": "passed by doing nothing and answering nothing",
        "mend": REMEDIES["null"],
    }
    assert set(first["trials"][0]) == {"agent", "trial", "manner", "outcome", "broke_off", "folder"}


def test_audit_lines_fit_80_columns() -> None:
    long = {"outcome": "failed", "verdict": verdict(0.0), "stop_reason": "max_steps", "stop_detail": "long " * 100}
    found = findings(
        run(STATE), run(STATE, {"oracle": long}), run(BOTH, {"null": PASSED, "dump": PASSED, "audit-mute": PASSED})
    )
    lines = [line for text in audit_lines(found, notes=True) for line in text.split("\n")]
    assert max(map(len, lines)) <= 80
    assert "too easy       1  solved by an agent that does nothing" in lines
    assert "wrong agents were caught in 10 of 13 trials (76.9%)" in lines
    assert "too easy: task (<task>:3)" in lines
    first = lines.index("  passed by doing nothing and answering nothing (and 1 more)")
    assert lines[first + 1].startswith("  to do: let `setup` prepare another state")
    assert "  weak check: passed by replaying the solution without giving its answer" in lines
    assert "  to do: let every check of the answer count, not one of several (`any`)" in lines


def test_every_audit_agent_has_a_suggested_fix() -> None:
    assert set(REMEDIES) == {*NULL_FAMILY, *MUTANTS}
