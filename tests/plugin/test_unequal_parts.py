"""Parts of a run (``--shard``) that do not belong together: the gate names why their trials are no complete run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.results.completeness import why_plan_unknown
from pytest_webarena.results.plan import has_plan
from pytest_webarena.results.rundir import RunDir

MakeTasks = Callable[..., None]


def why_incomplete(root: Path, *parts: str) -> str:
    assert main(["runs", "merge", *(str(root / part) for part in parts), "-o", str(root / "whole")]) == 0
    return why_plan_unknown(root / "whole", RunDir(root / "whole").facts())


def test_part_whose_collection_failed_is_no_empty_part(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", name="good")
    broken = canned.path / "tasks" / "broken.yaml"
    broken.write_text((canned.path / "tasks" / "good.yaml").read_text() + "\n  bad: [\n")
    for index in (1, 2):
        assert canned.runpytest("tasks", f"--shard={index}/2", f"--run-dir=part{index}").ret == 2
        assert not has_plan(canned.path / f"part{index}")
    canned.runpytest("tasks", "--continue-on-collection-errors", "--run-dir=run")
    assert "were not collected" in why_plan_unknown(canned.path / "run", RunDir(canned.path / "run").facts())


def test_parts_with_other_trials_or_tasks_are_named(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b", "c", "d", name="first")
    make_tasks("e", name="second")
    for index, more in ((1, ()), (2, ()), (2, ("--trials=2",))):
        canned.runpytest("tasks", f"--shard={index}/2", f"--run-dir=part{index}{len(more)}", *more)
    (canned.path / "tasks" / "second.yaml").unlink()
    canned.runpytest("tasks", "--shard=2/2", "--run-dir=fewer")
    for name, wanted in (
        ("part20", ""),
        ("part21", "parts of different tests, agents, trials"),
        ("fewer", "same collected tasks"),
    ):
        found = why_incomplete(canned.path / ".", "part10", name)
        assert bool(found) == bool(wanted), found
        assert wanted in found
        (canned.path / "whole").rename(canned.path / f"whole-{name}")
