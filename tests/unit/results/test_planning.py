"""Sample sizes: tasks, trials and dollars that a difference needs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.results.comparing.planning import (
    Ground,
    blank_ground,
    ground_of,
    need_of,
    smallest_difference,
    tasks_needed,
)
from pytest_webarena.results.comparing.sides import Side, SideTask, Try
from tests.cases import each_case
from tests.planted import plant


def ground(**more: float) -> Ground:
    values: dict[str, float] = {"tasks": 200, "templates": 200, "trials": 1, "luck": 0.2, "cost": 0.1, "seconds": 30}
    return Ground(single=False, **{**values, **more})  # type: ignore[arg-type]


def test_tasks_needed_has_the_power_of_a_t_test(stats: Any) -> None:
    """The plan approximates the noncentral t distribution by a shifted one."""
    tasks = tasks_needed(ground(), 0.1, trials=1)
    assert tasks is not None
    spread = math.sqrt(2 * 0.2 + 0.1 * 0.9)
    bound = stats.t.ppf(0.975, tasks - 1)
    assert stats.nct.sf(bound, tasks - 1, 0.1 / spread * math.sqrt(tasks)) == pytest.approx(0.8, abs=0.01)


def test_smallest_difference_inverts_tasks_needed() -> None:
    found = smallest_difference(ground(), tasks=300, trials=3)
    assert tasks_needed(ground(), found, trials=3) == pytest.approx(300, abs=1)


def test_more_trials_help_less_with_a_fixed_baseline() -> None:
    needs = need_of(ground(), 0.05)
    tasks = [each.tasks for each in needs if each.tasks is not None]
    assert tasks == sorted(tasks, reverse=True)
    assert tasks[-1] > 0.5 * tasks[0]  # its single trials remain
    anew = need_of(ground(), 0.05, both=True)[-1].tasks
    assert anew is not None
    assert anew < 0.5 * tasks[-1]
    assert needs[0].cost == pytest.approx(tasks[0] * 0.1)


def test_planned_power_is_reached_in_simulation() -> None:
    from pytest_webarena.results.comparing.difference import PairedTask, difference_of

    source = np.random.default_rng(3)
    tasks = tasks_needed(ground(tasks=100, templates=100, trials=3, luck=0.16), 0.1, trials=3)
    assert tasks is not None
    found = 0
    for _ in range(300):
        moved = source.random(tasks) < 0.1 / 0.8  # from 10 % to 90 %, so that luck is nearly the same everywhere
        chances = np.where(moved, 0.1, source.choice([0.2, 0.8], tasks))
        first = source.binomial(3, chances)
        second = source.binomial(3, np.where(moved, 0.9, chances))
        pairs = [
            PairedTask(task=str(n), cluster=n, passed=(int(first[n]), int(second[n])), judged=(3, 3))
            for n in range(tasks)
        ]
        found += difference_of(pairs).decided() > 0
    assert 0.72 <= found / 300 <= 0.92


def test_sample_size_prints_tasks_trials_and_dollars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path / "run", seed=1, tasks=60)
    assert main(["compare", "sample-size", "--baseline", str(tmp_path / "run"), "--difference", "5"]) == 0
    out = capsys.readouterr().out
    assert "To show a difference of 5 points to cot of run" in out
    assert "$" in out
    assert max(map(len, out.splitlines())) <= 80
    assert main(["compare", "sample-size", "--baseline", str(tmp_path / "run"), "--format=json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["trials"] for each in found["designs"]] == [1, 2, 3, 5, 10]
    assert found["designs"][0]["smallest_difference_here"] > found["designs"][-1]["smallest_difference_here"]


def test_sample_size_of_single_trials_reports_unknown_luck(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plant(tmp_path / "run", seed=1, tasks=60, trials=1, usage=None)
    assert main(["compare", "sample-size", "--baseline", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "all variation counts as chance" in out
    assert "unknown" in out


@pytest.mark.parametrize("value", ["0", "-5", "many", "101"])
def test_sample_size_refuses_invalid_difference(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "sample-size", f"--difference={value}"])
    assert "expected percentage points above 0" in capsys.readouterr().err


@each_case(("tasks", "templates", "passed", "trials"), [(1, 1, 0, 1), (1, 1, 0, 5), (30, 1, 0, 3), (30, 1, 3, 3)])
def test_smallest_difference_of_one_template_is_one(tasks: int, templates: int, passed: int, trials: int) -> None:
    ground = ground_of(uniform(tasks, templates, passed, trials))
    assert smallest_difference(ground, tasks=tasks, trials=3) == 1


def test_luck_of_uniform_outcomes_is_above_zero() -> None:
    """A single failed trial does not show that all trials fail."""
    once, often = (ground_of(uniform(tasks, tasks, 0, trials)) for tasks, trials in ((1, 1), (30, 3)))
    assert once.luck == pytest.approx(2 / 9)
    assert 0 < often.luck < 0.01
    assert blank_ground(["a", "a", "b"]).luck == 0.25


def uniform(tasks: int, templates: int, passed: int, trials: int) -> Side:
    """Return a side whose tasks all have the same outcomes."""
    tries = tuple(Try(trial=n + 1, outcome="passed" if n < passed else "failed") for n in range(trials))
    found = {f"t{n}": SideTask(task=f"t{n}", cluster=f"c{n % templates}", tries=tries) for n in range(tasks)}
    return Side(name="a", agent="a", browser="chromium", run="r", tasks=found)
