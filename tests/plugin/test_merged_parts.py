"""Parts of a run and merged runs: what is missing, and what `--resume` runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.results import RunDir
from pytest_webarena.results.completeness import why_plan_unknown

MakeTasks = Callable[..., None]


def test_merged_run_can_be_resumed(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "odd", "wrong", "more")
    root: Path = canned.path
    for index in (1, 2):
        canned.runpytest("tasks", "-k", "not more", "--trials=2", f"--shard={index}/2", f"--run-dir=part{index}")
    assert main(["runs", "merge", str(root / "part1"), str(root / "part2"), "-o", str(root / "run")]) == 0
    canned.runpytest("--resume=run").assert_outcomes(errors=2, deselected=6)


def test_parts_of_other_durations_are_not_parts_of_one_run(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("one", "two", "three", "four")
    root: Path = canned.path
    for name, tasks in (("all", ()), ("few", ("-k", "one or two"))):
        canned.runpytest("tasks", f"--run-dir={name}", *tasks)
    for number, durations in ((1, "all"), (2, "all"), (3, "few")):
        part = f"--shard={min(number, 2)}/2"
        canned.runpytest("tasks", part, f"--shard-durations={durations}", f"--run-dir=part{number}")
    for second, name in ((2, "whole"), (3, "mixed")):
        assert main(["runs", "merge", str(root / "part1"), str(root / f"part{second}"), "-o", str(root / name)]) == 0
    assert [why_plan_unknown(root / name, RunDir(root / name).facts()) == "" for name in ("whole", "mixed")] == [
        True,
        False,
    ]
    assert len(RunDir(root / "whole").records()) == 4
    canned.runpytest("--resume=whole").assert_outcomes(deselected=4)
    result = canned.runpytest("--resume=part1", "--shard-durations=few")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*expected the durations by which the run's part was chosen*"])


def test_resume_runs_trials_that_merged_runs_had_planned(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    for name, task in (("first", "a"), ("second", "wrong"), ("third", "never"), ("fourth", "stranger")):
        make_tasks(task, name=name)
    canned.runpytest("tasks/first.yaml", "--run-dir=part1")
    canned.runpytest("tasks/second.yaml", "tasks/third.yaml", "-x", "--run-dir=part2").assert_outcomes(failed=1)
    root: Path = canned.path
    assert main(["runs", "merge", str(root / "part1"), str(root / "part2"), "-o", str(root / "run")]) == 0
    result = canned.runpytest("--resume=run", "--min-pass-rate=0.5")
    result.assert_outcomes(passed=1, deselected=2)
    result.stdout.fnmatch_lines(["trials         3 planned, 3 run (3 judged)", "gate: the thresholds are met"])
