"""Baseline files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.results.comparing.baseline import read_baseline, save_baseline, sides_at
from pytest_webarena.results.comparing.comparison import choose, compare_all
from pytest_webarena.results.comparing.sides import side_of
from tests.unit.results.baselines import costly, outcomes, planted_sides, runs

__all__ = ["runs"]


def test_baseline_gives_same_comparison_as_its_run(runs: Path) -> None:
    [of_run], [of_file] = planted_sides(runs / "main"), planted_sides(runs / "baseline.json")
    assert of_file.counts == of_run.counts
    assert of_file.tasks["t003"].cluster == of_run.tasks["t003"].cluster
    assert [each.tokens for each in of_file.tries] == [each.tokens for each in of_run.tries]
    both = [compare_all(choose([[side], planted_sides(runs / "worse")]))[0] for side in (of_run, of_file)]
    assert both[0].difference == both[1].difference
    assert both[0].differing == both[1].differing
    assert both[0].growth["cost"].ratio == pytest.approx(both[1].growth["cost"].ratio, rel=1e-3)


def test_baseline_is_small_and_has_one_line_per_task(runs: Path) -> None:
    text = (runs / "baseline.json").read_text()
    assert len(text) < 228 * 400
    assert sum('"task": "t' in line for line in text.splitlines()) == 228


def test_baseline_keeps_errors_and_judge_use(tmp_path: Path) -> None:
    def record(task: str, trial: int, outcome: Any, **more: Any) -> TrialRecord:
        return TrialRecord(key=TrialKey(task, "a", trial), outcome=outcome, **more)

    records = [
        record("x", 1, "passed"),
        record("x", 2, "failed", verdict={"schema_version": 3, "judgeable": True}),
        record("y", 10, "error", cause="site"),
        record("y", 11, "failed"),
    ]
    side = side_of("a", records, run="r")
    save_baseline([side], tmp_path / "b.json")
    [found] = read_baseline(tmp_path / "b.json")
    assert [(each.trial, each.outcome, each.undecided) for each in found.tries] == [
        (1, "passed", False), (2, "failed", True), (10, "error", False), (11, "failed", False),
    ]  # fmt: skip
    assert found.counts == [(1, 2), (0, 1)]
    text = (tmp_path / "b.json").read_text().replace('"version": 3', '"version": 2').replace("2fu", "2es")
    (tmp_path / "old.json").write_text(text)  # an error that a gate counted as not passed
    assert read_baseline(tmp_path / "old.json")[0].tries == found.tries


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "found a file that is no JSON"),
        ("[]", "as 'webarena compare baseline save' writes it, found other JSON"),
        ('{"kind": "pytest-webarena baseline", "version": 99}', "of version 3 or older, found 99"),
        ('{"kind": "pytest-webarena baseline", "version": 1, "sides": [{}]}', "found one that is damaged"),
        ('{"kind": "pytest-webarena baseline", "version": 1, "sides": []}', "with an agent, found none"),
    ],
)
def test_invalid_baseline_file_is_reported(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(UsageError, match=message):
        sides_at(tmp_path / "b.json")


def test_missing_baseline_file_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "agents", str(tmp_path / "none"), str(tmp_path / "none")]) == 2
    assert "expected a run directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("field", "value", "message"),
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
def test_damaged_baseline_entry_is_a_readable_usage_error(tmp_path: Path, field: str, value: Any, message: str) -> None:
    save_baseline([costly("one", 1)], tmp_path / "b.json")
    data = json.loads((tmp_path / "b.json").read_text().replace('"t0"', '"x"'))
    data["sides"][0]["tasks"][0][field] = value
    (tmp_path / "b.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match=message) as caught:
        read_baseline(tmp_path / "b.json")
    assert "Error(" not in str(caught.value)


def test_baseline_save_can_select_agents(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save = ["compare", "baseline", "save", str(runs / "main"), "-o", str(tmp_path / "b.json")]
    assert main([*save, "--agent=nobody"]) == 2
    assert "--agent: expected one of cot, found 'nobody'" in capsys.readouterr().err
    assert main([*save, "--agent=cot"]) == 0
    assert json.loads((tmp_path / "b.json").read_text())["version"] == 3
    assert main(["compare", "agents", str(tmp_path / "b.json"), str(runs / "worse")]) == 0
    assert "cot in worse is worse than cot in b.json" in capsys.readouterr().out


def test_baseline_file_keeps_undecided_trials(tmp_path: Path) -> None:
    side = outcomes("then", "pu u", "f e")
    save_baseline([side], tmp_path / "b.json")
    [found] = read_baseline(tmp_path / "b.json")
    assert {name: task.undecided for name, task in found.tasks.items()} == {"t0-0": 1, "t0-1": 1, "t1-0": 0, "t1-1": 0}
