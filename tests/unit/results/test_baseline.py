"""Baselines, and gates that hold runs against them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import Usage
from pytest_webarena.results import RunDir, TrialKey, TrialRecord, summarise
from pytest_webarena.results.comparing.baseline import as_gated, read_baseline, save_baseline, sides_at
from pytest_webarena.results.comparing.comparison import Comparison, choose, compare_all
from pytest_webarena.results.comparing.sides import Side, side_of, sides_of
from pytest_webarena.results.gate import BELOW_THRESHOLD, TOO_MANY_ERRORS, UNDECIDED, WORSE, Gate
from tests.planted import plant


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    plant(folder / "main", seed=2)
    plant(folder / "again", seed=5, model="m2")
    plant(folder / "worse", seed=4, shift=-0.1)
    plant(folder / "dear", seed=5, cost=0.08)
    assert main(["baseline", "save", str(folder / "main"), "-o", str(folder / "baseline.json")]) == 0
    return folder


def test_a_baseline_says_what_the_run_says(runs: Path) -> None:
    [of_run], [of_file] = sides_of(runs / "main"), sides_at(runs / "baseline.json")
    assert of_file.counts == of_run.counts
    assert of_file.tasks["t003"].cluster == of_run.tasks["t003"].cluster
    assert [each.tokens for each in of_file.tries] == [each.tokens for each in of_run.tries]
    both = [compare_all(choose([[side], sides_of(runs / "worse")]))[0] for side in (of_run, of_file)]
    assert both[0].difference == both[1].difference
    assert both[0].differing == both[1].differing
    assert both[0].growth["cost"].ratio == pytest.approx(both[1].growth["cost"].ratio, rel=1e-3)


def test_a_baseline_is_small_and_a_task_is_a_line(runs: Path) -> None:
    text = (runs / "baseline.json").read_text()
    assert len(text) < 228 * 400
    assert sum('"task": "t' in line for line in text.splitlines()) == 228


def test_errors_and_judges_come_along(tmp_path: Path) -> None:
    def record(task: str, trial: int, outcome: Any, **more: Any) -> TrialRecord:
        return TrialRecord(key=TrialKey(task, "a", trial), outcome=outcome, **more)

    records = [
        record("x", 1, "passed"),
        record("x", 2, "error", cause="agent", shortfall="declared"),
        record("y", 10, "error", cause="site"),
        record("y", 11, "failed"),
    ]
    side = side_of("a", records, run="r")
    save_baseline([side], tmp_path / "b.json")
    [found] = read_baseline(tmp_path / "b.json")
    assert [(each.trial, each.outcome, each.counts) for each in found.tries] == [
        (1, "passed", False), (2, "error", True), (10, "error", False), (11, "failed", False),
    ]  # fmt: skip
    assert as_gated(found).counts == [(1, 2), (0, 1)]
    assert found.counts == [(1, 1), (0, 1)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "found a file that is no JSON"),
        ("[]", "as 'webarena baseline save' writes it, found other JSON"),
        ('{"kind": "pytest-webarena baseline", "version": 99}', "of version 1 or older, found 99"),
        ('{"kind": "pytest-webarena baseline", "version": 1, "sides": [{}]}', "found one that is damaged"),
        ('{"kind": "pytest-webarena baseline", "version": 1, "sides": []}', "with an agent, found none"),
    ],
)
def test_what_is_no_baseline_is_said_so(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(UsageError, match=said):
        sides_at(tmp_path / "b.json")


def test_a_missing_file_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(tmp_path / "none"), str(tmp_path / "none")]) == 2
    assert "expected a run directory" in capsys.readouterr().err


def against(runs: Path, name: str) -> list[Comparison]:
    return compare_all(choose([sides_at(runs / "baseline.json"), sides_of(runs / name)]))


def ruled(gate: Gate, runs: Path, name: str) -> tuple[int, str]:
    records = RunDir(runs / name).records()
    ruling = gate.rule(summarise(records), against=against(runs, name))
    assert ruling is not None
    return ruling.exit_code, ruling.message


def test_a_worse_run_has_an_exit_code_of_its_own(runs: Path) -> None:
    code, said = ruled(Gate(baseline=runs), runs, "worse")
    assert code == WORSE
    assert said.startswith("cot in worse is worse than cot in baseline.json: −")


def test_what_nobody_can_tell_is_a_failure_on_request_only(runs: Path) -> None:
    assert ruled(Gate(baseline=runs), runs, "again")[0] == 0
    code, said = ruled(Gate(baseline=runs, fail_undecided=True), runs, "again")
    assert code == UNDECIDED
    assert said.startswith("Can't tell whether cot in again is better")


def test_dollars_may_grow_by_what_is_allowed_and_no_more(runs: Path) -> None:
    code, said = ruled(Gate(baseline=runs, max_cost_increase=0.2), runs, "dear")
    assert code == WORSE
    assert "--max-cost-increase allows +20%" in said
    assert ruled(Gate(baseline=runs, max_cost_increase=0.8), runs, "dear")[0] == 0
    assert ruled(Gate(baseline=runs, max_cost_increase=0.2), runs, "again")[0] == 0
    assert ruled(Gate(baseline=runs, max_cost_increase=0.0), runs, "again")[0] == 0  # it is chance


def test_unknown_costs_hold_no_limit(runs: Path, tmp_path: Path) -> None:
    plant(tmp_path / "unpriced", seed=5, usage=None)
    found = compare_all(choose([sides_at(runs / "baseline.json"), sides_of(tmp_path / "unpriced")]))
    records = RunDir(tmp_path / "unpriced").records()
    ruling = Gate(baseline=runs, max_cost_increase=0.2).rule(summarise(records), against=found)
    assert ruling is not None
    assert ruling.exit_code == TOO_MANY_ERRORS
    assert "trials of unknown cost" in ruling.message


def costly(name: str, *costs: float | None, outcome: Any = "passed", **more: Any) -> Side:
    used = [Usage(calls=1, input_tokens=9, cost=cost) if cost is not None else None for cost in costs]
    records = [
        TrialRecord(
            key=TrialKey(f"t{n}", "a", 1), template=f"t{n}", usage=each, outcome="passed" if each else outcome, **more
        )
        for n, each in enumerate(used)
    ]
    return side_of("a", records, run=name)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (costly("one", 1, 1, 1), costly("two", 1, 1, None, outcome="error"), "0 of the baseline, 1 of this run"),
        (costly("one", 1, 1, None, outcome="error"), costly("two", 1, 1, 1), "1 of the baseline, 0 of this run"),
        (costly("one", 0, 0, 0), costly("two", 1, 1, 1), "found one of $0"),
        (costly("one", 0, 0, 0), costly("two", 0, 0, 0), "the thresholds hold"),
    ],
)
def test_no_limit_of_cost_holds_where_none_can_be_told(runs: Path, first: Side, second: Side, said: str) -> None:
    gate = Gate(baseline=runs, max_cost_increase=0.2, max_errors=9)
    ruling = gate.rule(
        summarise([TrialRecord(key=TrialKey("t", "a", 1), outcome="passed")]), against=compare_all([(first, second)])
    )
    assert ruling is not None
    assert said in ruling.message
    assert ruling.exit_code == (0 if said == "the thresholds hold" else TOO_MANY_ERRORS)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("cost", [-2], "'cost' of task 'x' to hold amounts from 0"),
        ("cost", ["1"], "'cost' of task 'x' to hold amounts from 0"),
        ("tokens", [1.5], "'tokens' of task 'x' to hold amounts from 0"),
        ("steps", [1, 2], "'steps' of task 'x' to list 1 amounts"),
        ("seconds", "long", "'seconds' of task 'x' to list 1 amounts"),
        ("outcomes", 7, "a field is not of its form"),
        ("outcomes", "1z", "damaged"),
    ],
)
def test_a_damaged_line_of_a_baseline_is_a_sentence(tmp_path: Path, field: str, value: Any, said: str) -> None:
    save_baseline([costly("one", 1)], tmp_path / "b.json")
    data = json.loads((tmp_path / "b.json").read_text().replace('"t0"', '"x"'))
    data["sides"][0]["tasks"][0][field] = value
    (tmp_path / "b.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match=said) as caught:
        read_baseline(tmp_path / "b.json")
    assert "Error(" not in str(caught.value)


def test_what_is_no_comparison_holds_no_baseline(runs: Path) -> None:
    records = RunDir(runs / "main").records()
    ruling = Gate(baseline=runs).rule(summarise(records), against="expected runs that asked the same")
    assert ruling is not None
    assert (ruling.exit_code, ruling.message) == (TOO_MANY_ERRORS, "--baseline: expected runs that asked the same")


def test_errors_fail_it_first_as_with_any_threshold(runs: Path) -> None:
    records = [
        *RunDir(runs / "again").records(),
        TrialRecord(key=TrialKey("t", "cot", 1), outcome="error", cause="site"),
    ]
    for gate, code in ((Gate(baseline=runs), TOO_MANY_ERRORS), (Gate(baseline=runs, max_errors=1), 0)):
        ruling = gate.rule(summarise(records), against=against(runs, "again"))
        assert ruling is not None
        assert ruling.exit_code == code


def test_errors_by_the_agents_own_word_have_not_passed() -> None:
    def side(outcome: Any, name: str, **more: Any) -> Side:
        keys = [TrialKey(f"t{n}", "a", 1) for n in range(40)]
        return side_of("a", [TrialRecord(key=key, outcome=outcome, **more) for key in keys], run=name)

    fine, shy = side("passed", "one"), side("error", "two", cause="agent", shortfall="declared")
    [found] = compare_all([(as_gated(fine), as_gated(shy))])
    assert found.verdict == "worse"


@pytest.mark.parametrize(
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
def test_an_end_of_the_interval_can_hold_the_threshold(end: Any, threshold: float, code: int) -> None:
    records = [TrialRecord(key=TrialKey(f"t{n}", "a", 1), outcome="passed" if n % 4 else "failed") for n in range(40)]
    ruling = Gate(min_pass_rate=threshold, rate_end=end).rule(summarise(records))
    assert ruling is not None
    assert ruling.exit_code == code
    if code and end != "mean":
        assert "end of its interval, which is" in ruling.message


def test_baselines_can_hold_some_agents_only(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save = ["baseline", "save", str(runs / "main"), "-o", str(tmp_path / "b.json")]
    assert main([*save, "--agent=nobody"]) == 2
    assert "--agent: expected one of cot, found 'nobody'" in capsys.readouterr().err
    assert main([*save, "--agent=cot"]) == 0
    assert json.loads((tmp_path / "b.json").read_text())["version"] == 1
    assert main(["compare", str(tmp_path / "b.json"), str(runs / "worse")]) == 0
    assert "cot in worse is worse than cot in b.json" in capsys.readouterr().out
