"""The plan of a run, and the coverage of its planned trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_webarena.results import RunDir, TrialKey, TrialRecord, summarise
from pytest_webarena.results.comparing.baseline import read_baseline, save_baseline
from pytest_webarena.results.comparing.sides import side_of
from pytest_webarena.results.gate import TOO_MANY_ERRORS, UNSETTLED, Gate
from pytest_webarena.results.merge import merge_runs
from pytest_webarena.results.plan import PlannedTrial, cover, extend_plan, read_plan
from tests.cases import each_case


def planned(task: str, **more: Any) -> PlannedTrial:
    return PlannedTrial(key=TrialKey(task, "a", 1), node_id=f"t.yaml::{task}", **more)


def record(task: str, outcome: Any = "passed") -> TrialRecord:
    return TrialRecord(key=TrialKey(task, "a", 1), outcome=outcome, cause="site" if outcome == "error" else None)


def test_extending_a_plan_adds_trials_and_replaces_entries(tmp_path: Path) -> None:
    assert read_plan(tmp_path) == {}
    extend_plan(tmp_path, [planned("x"), planned("y", sites=("map",))])
    extend_plan(tmp_path, [planned("x", skipped="not here"), planned("z")])
    assert {key.task: trial.skipped for key, trial in read_plan(tmp_path).items()} == {
        "x": "not here",
        "y": "",
        "z": "",
    }
    assert read_plan(tmp_path)[TrialKey("y", "a", 1)] == planned("y", sites=("map",))


def test_coverage_counts_each_trial_once() -> None:
    names = ["judged", "erred", "cut", "damaged", "skipped", "allowed", "never"]
    plan = {each.key: each for each in map(planned, names)}
    for name in ("skipped", "allowed"):
        key = TrialKey(name, "a", 1)
        plan[key] = replace(plan[key], skipped="no map", sites=("map",))
    records = [record("judged"), record("erred", "error"), record("cut", "error"), record("unplanned")]
    damaged, cut = TrialKey("damaged", "a", 1), TrialKey("cut", "a", 1)
    found = cover(plan, records, begun=[damaged.folder], lost=[cut], allowed=["allow*"])["a"]
    counts = (found.judged, found.errors, found.lost, found.skipped, found.allowed, found.not_run)
    assert counts == (2, 1, 2, 1, 1, 1)
    assert (found.planned, found.run, found.missing) == (8, 5, 4)
    assert (found.reasons, found.not_allowed) == ({"no map": 1}, ("map",))


def test_stopped_trials_count_as_not_run_and_not_passed() -> None:
    plan = {each.key: each for each in (planned("x"), planned("y"), planned("never", stopped="5 errors in a row"))}
    plan |= {each.key: each for each in (planned("erred", stopped="before"),)}
    records = [record("x"), record("y"), record("erred", "error")]
    found = cover(plan, records, allowed=["never"])
    assert (found["a"].not_run, found["a"].stopped, found["a"].planned, found["a"].missing) == (1, 1, 4, 1)
    summaries = summarise(records, stopped=[plan[TrialKey("never", "a", 1)]])
    assert (ruling := Gate(max_errors=9, min_pass_rate=0.7).rule(summaries, found)) is not None
    assert ruling.message == (
        "a: 66.7% passed, --min-pass-rate asks for 70.0% (counted as not passed: 1 not run after errors in a row); "
        "2/2 = 100.0% (95% interval 34.2% to 100.0%) without errors, "
        "2/4 = 50.0% (95% interval 15.0% to 85.0%) with errors and 1 stopped trial as failures"
    )
    assert (ruling := Gate(min_pass_rate=0.1).rule(summaries, found)) is not None
    assert ruling.exit_code == TOO_MANY_ERRORS


@each_case(
    ("gate", "code"),
    [
        (Gate(min_pass_rate=0.5), TOO_MANY_ERRORS),
        (Gate(max_errors=1), TOO_MANY_ERRORS),
        (Gate(max_errors=2), 0),
        (Gate(max_errors=0.4), TOO_MANY_ERRORS),
        (Gate(max_errors=0.5), 0),
        (Gate(), None),
    ],
)
def test_trial_without_a_result_counts_as_an_error(gate: Gate, code: int | None) -> None:
    plan = {each.key: each for each in map(planned, "wxyz")}
    records = [record("w"), record("x"), record("y", "error")]
    ruling = gate.rule(summarise(records), cover(plan, records))
    assert (ruling.exit_code if ruling else None) == code


def test_agent_with_only_skipped_trials_fails_the_gate() -> None:
    other = PlannedTrial(key=TrialKey("x", "b", 1), skipped="no map")
    records = [record("x")]
    ruling = Gate(min_pass_rate=0.5).rule(summarise(records), cover({other.key: other}, records))
    assert ruling is not None
    assert (ruling.exit_code, ruling.message) == (
        TOO_MANY_ERRORS,
        "b: 1 of 1 planned trials have no result (1 skipped); --allow-skipped=x leaves those of x out of account",
    )


def test_merged_plan_contains_plans_of_all_sources(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run = RunDir(tmp_path / name)
        run.describe({"started": 1.0})
        extend_plan(run.path, [planned(name), planned(f"{name} more")])
        run.folder(record(name).key).path.mkdir(parents=True)
        run.folder(record(name).key).finish(record(name))
    merge_runs([tmp_path / "one", tmp_path / "two"], tmp_path / "all")
    coverage = cover(read_plan(tmp_path / "all"), RunDir(tmp_path / "all").records())["a"]
    assert (coverage.planned, coverage.judged, coverage.not_run) == (4, 2, 2)


def test_rerun_in_one_invocation_does_not_replace_a_verdict(tmp_path: Path) -> None:
    folder = RunDir(tmp_path).folder(TrialKey("x", "a", 1))

    def run(outcome: Any, started: float, since: float = 10.0, digest: str = "d") -> TrialRecord:
        writer = folder.begin(worker="w", node_id="n")
        made = replace(record("x", outcome), attempt=writer.number, started=started, task_digest=digest)
        return folder.finish(made, since=since)

    assert run("error", 10.5).outcome == "error"
    assert run("failed", 11.0).outcome == "failed"  # an error is no verdict
    for number in (1, 2):
        again = run("passed", 12.0 + number)
        assert (again.outcome, len(again.reruns)) == ("failed", number)
    assert again.passed_later
    assert folder.record() == again
    folder.begin(worker="w", node_id="n")
    folder.withdraw(5)
    assert folder.record() == again
    assert run("passed", 16.0, digest="edited").outcome == "passed"  # another task by that name
    assert run("passed", 21.0, since=20.0).reruns == ()  # another invocation, which goes on with the run


def test_trials_that_ends_of_the_agent_stop_are_undecided_in_rates_and_comparisons(tmp_path: Path) -> None:
    never = planned("never", stopped="5 errors in a row", undecided=True)
    records = [record("x"), record("y")]
    rate = summarise(records, stopped=[never])["a"].rate
    assert (rate.passed, rate.judged, rate.undecided, rate.stopped, rate.upper.passed) == (2, 3, 1, 0, 3)
    side = side_of("a", records, run="r", without_result=[never])
    assert side.rate == rate
    assert (side.missing, side.stopped, side.order[-1]) == ({}, {}, "never")
    save_baseline([side], tmp_path / "saved.json")
    (saved,) = read_baseline(tmp_path / "saved.json")
    assert saved.rate == rate
    assert (ruling := Gate(min_pass_rate=0.7).rule(summarise(records, stopped=[never]))) is not None
    assert ruling.exit_code == UNSETTLED
