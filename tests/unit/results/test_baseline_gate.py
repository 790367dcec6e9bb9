"""Gates that compare a run with a baseline: exit codes, messages, missing tasks."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.results import RunDir, TrialKey, TrialRecord, summarise
from pytest_webarena.results.comparing.baseline import save_baseline, sides_at
from pytest_webarena.results.comparing.comparison import Comparison, choose, compare_all
from pytest_webarena.results.comparing.sides import Side, side_of, sides_of
from pytest_webarena.results.comparing.wording import headline, in_words
from pytest_webarena.results.gate import BELOW_THRESHOLD, TOO_MANY_ERRORS, UNSETTLED, WORSE, Gate
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from pytest_webarena.results.records import Outcome
from tests.cases import each_case
from tests.planted import plant
from tests.unit.results.baselines import costly, outcomes, planted_records, planted_sides, runs

__all__ = ["runs"]


@functools.cache
def against(runs: Path, name: str) -> list[Comparison]:
    return compare_all(choose([planted_sides(runs / "baseline.json"), planted_sides(runs / name)]))


def ruling_of(gate: Gate, runs: Path, name: str) -> tuple[int, str]:
    ruling = gate.rule(summarise(planted_records(runs / name)), against=against(runs, name))
    assert ruling is not None
    return ruling.exit_code, ruling.message


def test_worse_run_exits_with_code_worse(runs: Path) -> None:
    code, message = ruling_of(Gate(baseline=runs), runs, "worse")
    assert code == WORSE
    assert message.startswith("cot in worse is worse than cot in baseline.json: −")


def test_unsettled_comparison_fails_only_with_fail_unsettled(runs: Path) -> None:
    assert ruling_of(Gate(baseline=runs), runs, "again")[0] == 0
    code, message = ruling_of(Gate(baseline=runs, fail_unsettled=True), runs, "again")
    assert code == UNSETTLED
    assert message.startswith("Unsettled whether cot in again is better")


def test_cost_growth_above_max_cost_increase_fails_gate(runs: Path) -> None:
    code, message = ruling_of(Gate(baseline=runs, max_cost_increase=0.2), runs, "dear")
    assert code == WORSE
    assert message.startswith("the cost of cot has changed by +")
    assert ") since baseline.json, --max-cost" in message
    assert "--max-cost-increase allows +20%" in message
    assert ruling_of(Gate(baseline=runs, max_cost_increase=0.8), runs, "dear")[0] == 0
    assert ruling_of(Gate(baseline=runs, max_cost_increase=0.2), runs, "again")[0] == 0
    assert ruling_of(Gate(baseline=runs, max_cost_increase=0.0), runs, "again")[0] == 0  # within chance


def test_unknown_costs_fail_the_cost_limit(runs: Path, tmp_path: Path) -> None:
    plant(tmp_path / "unpriced", seed=5, usage=None)
    found = compare_all(choose([planted_sides(runs / "baseline.json"), sides_of(tmp_path / "unpriced")]))
    records = RunDir(tmp_path / "unpriced").records()
    ruling = Gate(baseline=runs, max_cost_increase=0.2).rule(summarise(records), against=found)
    assert ruling is not None
    assert ruling.exit_code == TOO_MANY_ERRORS
    assert "trials of unknown cost" in ruling.message


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (costly("one", 1, 1, 1), costly("two", 1, 1, None, outcome="error"), "0 of the baseline, 1 of this run"),
        (costly("one", 1, 1, None, outcome="error"), costly("two", 1, 1, 1), "1 of the baseline, 0 of this run"),
        (costly("one", 0, 0, 0), costly("two", 1, 1, 1), "found one of $0"),
        (costly("one", 0, 0, 0), costly("two", 0, 0, 0), "the thresholds are met"),
    ],
)
def test_cost_limit_fails_when_costs_cannot_be_compared(runs: Path, first: Side, second: Side, message: str) -> None:
    gate = Gate(baseline=runs, max_cost_increase=0.2, max_errors=9, allow_undetectable=True)
    ruling = gate.rule(
        summarise([TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")]), against=compare_all([(first, second)])
    )
    assert ruling is not None
    assert message in ruling.message
    assert ruling.exit_code == (0 if message == "the thresholds are met" else TOO_MANY_ERRORS)


def test_refused_comparison_fails_the_gate(runs: Path) -> None:
    records = planted_records(runs / "main")
    ruling = Gate(baseline=runs).rule(summarise(records), against="expected runs under the same conditions")
    assert ruling is not None
    assert (ruling.exit_code, ruling.message) == (
        TOO_MANY_ERRORS,
        "--baseline: expected runs under the same conditions",
    )


def test_errors_fail_gate_before_comparison(runs: Path) -> None:
    records = [
        *planted_records(runs / "again"),
        TrialRecord(key=TrialKey("t", "cot", 1), outcome="error", cause="site"),
    ]
    for gate, code in ((Gate(baseline=runs), TOO_MANY_ERRORS), (Gate(baseline=runs, max_errors=1), 0)):
        ruling = gate.rule(summarise(records), against=against(runs, "again"))
        assert ruling is not None
        assert ruling.exit_code == code


def test_trials_of_undecided_owners_are_worse_only_if_all_of_them_are() -> None:
    def side(outcome: Any, name: str, **more: Any) -> Side:
        keys = [TrialKey(f"t{n}", "a", 1) for n in range(40)]
        return side_of("a", [TrialRecord(key=key, outcome=outcome, **more) for key in keys], run=name)

    fine, shy = (
        side("passed", "one"),
        side("failed", "two", stop_reason="unattributed", verdict={"schema_version": 3, "judgeable": True}),
    )
    [found] = compare_all([(fine, shy)])
    assert found.verdict == "unsettled"
    assert found.verdicts_if_decided == ("worse", "unsettled")


@each_case(
    ("end", "threshold", "code"),
    [
        ("mean", 0.7, 0),
        ("low", 0.7, BELOW_THRESHOLD),
        ("low", 0.5, 0),
        ("mean", 0.85, BELOW_THRESHOLD),
        ("high", 0.85, 0),
        ("high", 0.95, BELOW_THRESHOLD),
    ],
)
def test_threshold_can_apply_to_an_end_of_the_interval(end: Any, threshold: float, code: int) -> None:
    records = [TrialRecord(key=TrialKey(f"t{n}", "a", 1), outcome="passed" if n % 4 else "failed") for n in range(40)]
    ruling = Gate(min_pass_rate=threshold, rate_end=end).rule(summarise(records))
    assert ruling is not None
    assert ruling.exit_code == code
    if code and end != "mean":
        assert "end of the 95% interval of the rate, 75.0%" in ruling.message


@pytest.mark.parametrize(
    ("before", "now", "how", "code", "message"),
    [
        (["p"] * 5, ["f"] * 5, {}, UNSETTLED, "5 tasks cannot show even a total collapse of a in now: a in then passed "
         "all of them, so p = 0.062 at best. At least 6 tasks of different templates have to pass in the baseline"),
        (["p"] * 6, ["p"] * 6, {}, 0, "the thresholds are met"),
        (["p"] * 6, ["f"] * 6, {}, WORSE, "a in now is worse than a in then"),
        (["p"] * 5, ["p"] * 5, {"allow_undetectable": True}, 0, "the thresholds are met; 5 tasks cannot show"),
        (["p"] * 5, ["p"] * 5, {"fail_unsettled": True}, UNSETTLED, "5 tasks cannot show"),
        # More trials of a task, or more tasks of a template, don't make them independent.
        (["ppppp"] * 5, ["ppppp"] * 5, {}, UNSETTLED, "5 tasks cannot show"),
        (["p p p p"] * 5, ["p p p p"] * 5, {}, UNSETTLED, "passed 20, of 5 templates, so p = 0.062 at best"),
        (["p p p p"] * 6, ["p p p p"] * 6, {}, 0, "the thresholds are met"),
        # Tasks that never passed in the baseline cannot get worse.
        (["p"] * 5 + ["f"] * 95, ["p"] * 5 + ["f"] * 95, {}, UNSETTLED, "100 tasks cannot show even a total collapse"),
        (["p"] * 4, ["f"] * 4, {"confidence": 0.8}, WORSE, "a in now is worse"),
        (["p"] * 7, ["p"] * 7, {"confidence": 0.99}, UNSETTLED, "At least 8 tasks of different templates"),
        (["f"] * 5, ["f"] * 5, {}, 0, "a in now cannot be worse than a in then, which failed all 5 tasks"),
        (["f"] * 5, ["f"] * 5, {"fail_unsettled": True}, 0, "save a new baseline once some pass"),
        (["fe"] * 20, ["ff"] * 20, {}, UNSETTLED, "a in then passed none, so p = 1.00 at best"),
        # Errors are excluded, and each could have been a passed trial.
        (["pf"] * 20, ["p" + "e" * 3] * 20, {}, UNSETTLED, "the excluded errors could undo it. Fewer errors"),
    ],
)  # fmt: skip
def test_gate_refuses_when_total_collapse_is_undetectable(
    runs: Path, before: list[str], now: list[str], how: dict[str, Any], code: int, message: str
) -> None:
    gate = Gate(baseline=runs, max_errors=1000, **how)
    found = compare_all([(outcomes("then", *before), outcomes("now", *now))], confidence=gate.confidence)
    ruling = gate.rule(summarise([TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")]), against=found)
    assert ruling is not None
    assert ruling.exit_code == code
    assert message in ruling.message
    if code == UNSETTLED:
        assert ruling.message.endswith("accept a gate that cannot fail: --allow-undetectable")


@pytest.mark.parametrize(
    ("before", "now", "verdict", "ends", "code"),
    [
        (["p"] * 12, ["u"] * 12, "unsettled", ("worse", "unsettled"), UNSETTLED),
        (["p"] * 24, ["f"] * 20 + ["u"] * 4, "worse", ("worse", "worse"), WORSE),
        (["p"] * 20 + ["f"] * 4, ["p"] * 20 + ["u"] * 4, "unsettled", ("unsettled", "unsettled"), 0),
        (["p"] * 12 + ["u"] * 12, ["p"] * 12 + ["f"] * 12, "unsettled", ("worse", "unsettled"), UNSETTLED),
        (["f"] * 12 + ["p"] * 12, ["u"] * 12 + ["p"] * 12, "unsettled", ("unsettled", "better"), 0),
        (["f"] * 12 + ["u"] * 12, ["p"] * 12 + ["u"] * 12, "unsettled", ("unsettled", "better"), 0),
        (["f"] * 12 + ["p"] * 12, ["p"] * 24, "better", None, 0),
    ],
)  # fmt: skip
def test_undecided_trials_count_in_both_directions(
    runs: Path, before: list[str], now: list[str], verdict: str, ends: tuple[str, str] | None, code: int
) -> None:
    [found] = compare_all([(outcomes("then", *before), outcomes("now", *now))])
    assert (found.verdict, found.verdicts_if_decided) == (verdict, ends)
    ruling = Gate(baseline=runs).rule(
        summarise([TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")]), against=[found]
    )
    assert ruling is not None
    assert ruling.exit_code == code
    said = "It depends on undecided trials: "
    assert (said in headline(found)) is (ends is not None and ends[0] != ends[1])
    if code == UNSETTLED:
        assert "decide them: pytest --rescore RUN --judge MODEL" in ruling.message
    lines = [line.text for line in in_words(found)]
    assert any(line.startswith("  undecided") for line in lines) is (ends is not None)
    assert max(map(len, lines)) <= 80


def vanished(runs: Path, change: str, *, lost: int = 2, **how: Any) -> tuple[int, str]:
    """Rule on a run whose 20 tasks passed in the baseline, after a ``change`` to the first ``lost`` of them."""
    then = outcomes("then", *["p"] * 20)
    tasks = {name: replace(task, digest="1") for name, task in then.tasks.items()}
    names = [f"t{number}-0" for number in range(lost)]
    now = {
        name: replace(task, digest="2" if name in names and change == "edited" else "1")
        for name, task in tasks.items()
        if change == "edited" or name not in names
    }
    if change == "renamed":
        now |= {f"new-{name}": replace(tasks[name], task=f"new-{name}") for name in names}
    decided = frozenset(names if change == "decided" else ())
    [found] = compare_all([(replace(then, tasks=tasks), replace(then, run="now", tasks=now, decided=decided))])
    if decided:
        assert found.left_out == {"left out by --stop-when-settled on one side": tuple(names)}
    summaries = summarise([TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")])
    gate = Gate(baseline=runs, **how)
    ruling = gate.rule(summaries, against=[found], deselected=names if change == "deselected" else ())
    assert ruling is not None
    return ruling.exit_code, ruling.message


@pytest.mark.parametrize(
    ("change", "expected_text"),
    [
        ("edited", "2 of 20 tasks that passed in then were not compared: 2 edited since (t0-0, t1-0); save the"),
        ("renamed", "2 of 20 tasks that passed in then were not compared: 2 not in this run (t0-0, t1-0); save the"),
        ("deleted", "2 of 20 tasks that passed in then were not compared: 2 not in this run (t0-0, t1-0); save the"),
    ],
)
def test_gate_is_unsettled_when_baseline_tasks_are_missing(runs: Path, change: str, expected_text: str) -> None:
    """Otherwise editing, renaming or deleting broken tasks would pass the gate."""
    code, message = vanished(runs, change)
    assert code == UNSETTLED
    assert expected_text in message
    code, message = vanished(runs, change, allow_undetectable=True)
    assert code == 0
    assert expected_text.partition(";")[0] in message


def test_deselected_tasks_are_named_and_not_counted_as_lost(runs: Path) -> None:
    code, message = vanished(runs, "deselected", lost=3)
    assert code == 0
    assert message.endswith("3 of 20 tasks that passed in then were not compared: not selected")
    code, message = vanished(runs, "decided", lost=3)
    assert code == 0
    assert message.endswith("3 of 20 tasks that passed in then were not compared: left out by --stop-when-settled")
    code, message = vanished(runs, "deselected", lost=15)
    assert code == UNSETTLED
    assert "5 tasks cannot show even a total collapse" in message


def test_selected_tasks_that_never_passed_make_gate_unsettled(runs: Path) -> None:
    """Other tasks of the baseline passed, so the baseline as a whole could get worse."""
    then = outcomes("then", *["p"] * 20, *["f"] * 6)
    now = replace(then, run="now", tasks=dict(list(then.tasks.items())[20:]))
    summaries = summarise([TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")])
    ruling = Gate(baseline=runs).rule(summaries, against=compare_all([(then, now)]), deselected=list(then.tasks)[:20])
    assert ruling is not None
    assert ruling.exit_code == UNSETTLED
    assert "6 tasks cannot show even a total collapse of a in now: a in then passed none" in ruling.message


def test_missing_tasks_that_failed_in_baseline_are_accepted(runs: Path) -> None:
    then = outcomes("then", *["p"] * 20, "f")
    now = replace(then, run="now", tasks=dict(list(then.tasks.items())[:20]))
    summaries = summarise([TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")])
    ruling = Gate(baseline=runs).rule(summaries, against=compare_all([(then, now)]))
    assert ruling is not None
    assert (ruling.exit_code, ruling.message) == (0, "the thresholds are met")


def test_more_compared_agents_need_more_templates(runs: Path) -> None:
    """Six templates suffice for a single comparison but not for two."""
    then, now = outcomes("then", *["p"] * 6), outcomes("now", *["p"] * 6)
    for sides, code in (([(then, now)], 0), ([(then, now), (then, now)], UNSETTLED)):
        summaries = summarise([TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")])
        ruling = Gate(baseline=runs).rule(summaries, against=compare_all(sides))
        assert ruling is not None
        assert ruling.exit_code == code, ruling.message


def test_agent_without_verdicts_does_not_hide_worse_agent(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    then = outcomes("then", *["p"] * 20)
    pairs = [(then, outcomes("now", *["f"] * 20)), (then, replace(outcomes("now", *["e"] * 20), agent="b", name="b"))]
    refused: list[str] = []
    found = compare_all(pairs, refused=refused)
    assert [each.second.name for each in found] == ["a"]
    assert (found[0].adjusted, found[0].difference.confidence) == (2 * found[0].p, 0.975)  # as among two
    summaries = {
        **summarise([TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")]),
        **summarise([TrialRecord(key=TrialKey("t", "b", 1), outcome="error")]),
    }
    ruling = Gate(baseline=runs, max_errors=1000).rule(summaries, against=found, refused=refused)
    assert ruling is not None
    assert ruling.exit_code == TOO_MANY_ERRORS
    for reason in (
        "b: none of 1 trials could be judged",
        "that both a of then and b of now",
        "a in now is worse than a",
    ):
        assert reason in ruling.message
    for name, side in (("then", then), ("good", outcomes("good", *["p"] * 20)), ("bad", pairs[1][1])):
        save_baseline([side], tmp_path / f"{name}.json")
    assert main(["compare", "agents", *(str(tmp_path / f"{name}.json") for name in ("then", "good", "bad"))]) == 2
    printed = capsys.readouterr()
    assert "whether a in good.json is better than a in then.json" in printed.out
    assert "both a of then.json and b of bad.json have verdicts of" in printed.err
    with pytest.raises(UsageError, match="that both a of then and b of now have verdicts of"):
        compare_all(pairs[1:], refused=[])


def test_baseline_of_incomplete_run_reports_missing_trials(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "then"
    keys = [TrialKey(f"t{n}", "a", 1) for n in range(20)]
    RunDir(folder).describe({})
    for key in keys[:9]:
        trial = RunDir(folder).folder(key)
        trial.begin(worker="main", node_id="n")
        trial.finish(TrialRecord(key=key, outcome="passed", template=key.task))
    extend_plan(folder, [PlannedTrial(key=key) for key in keys])
    assert main(["compare", "baseline", "save", str(folder), "-o", str(tmp_path / "b.json")]) == 0
    assert "a: 9/9 passed, 11 of 20 planned trials have no result" in capsys.readouterr().out
    [then] = sides_at(tmp_path / "b.json")
    outcomes_and_codes: tuple[tuple[Outcome, int], ...] = (("passed", 0), ("failed", WORSE))
    for now, code in outcomes_and_codes:
        records = [TrialRecord(key=key, outcome=now, template=key.task) for key in keys]
        found = compare_all([(then, side_of("a", records, run="now"))])
        ruling = Gate(baseline=runs).rule(summarise(records), against=found)
        assert ruling is not None
        assert ruling.exit_code == code
        assert "; a in b.json: 11 of 20 planned trials have no result" in ruling.message
