"""Joins run directories: a set operation on trial folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_webarena.errors import UsageError
from pytest_webarena.results.memory import memories_of
from pytest_webarena.results.plan import extend_plan, read_plan
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.results.rundir import RunDir

__all__ = ["Merge", "merge_runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """What a merge did."""

    trials: int
    """Trials in the merged run."""
    replaced: int
    """Trials that several runs hold; the latest one with a verdict was taken, then the latest error."""
    memories_replaced: int = 0
    """Memories of agents that several runs hold; the one that most trials have written to was taken."""


def merge_runs(sources: Sequence[Path], target: Path) -> Merge:
    """Copy the finished trials of ``sources`` into the new run ``target``.

    Raises `UsageError` when a source is no run, when ``target`` exists and is not empty, or when two runs hold the same
    trial of different tasks or agents (unequal digests): such results must not be mixed.
    """
    if target.exists() and any(target.iterdir()):
        raise UsageError(f"{target}: expected a new or empty directory to merge into, found one with files")
    facts = [RunDir(source).facts() for source in sources]
    best: dict[TrialKey, tuple[TrialRecord, Path]] = {}
    found = 0
    for source in sources:
        run = RunDir(source)
        for record in run.records():
            found += 1
            folder = run.folder(record.key).path
            if (other := best.get(record.key)) is not None:
                _refuse_unequal(record, folder, *other)
                if _rank(other[0]) >= _rank(record):
                    continue
            best[record.key] = (record, folder)
    merged = RunDir(target)
    merged.trials.mkdir(parents=True, exist_ok=True)
    for _, folder in best.values():
        shutil.copytree(folder, merged.trials / folder.name)
    for source in sources:  # what judges said is kept by what was asked: judging the merged run again stays free
        if (judged := source / "judged").is_dir():
            shutil.copytree(judged, target / "judged", dirs_exist_ok=True)
    memories_replaced = _join_memories(sources, target)
    for source in sources:
        if plan := read_plan(source):
            extend_plan(target, plan.values())
    merged.describe(
        {**facts[0], "merged": [{"run": source.name, **fact} for source, fact in zip(sources, facts, strict=True)]}
    )
    return Merge(trials=len(best), replaced=found - len(best), memories_replaced=memories_replaced)


def _join_memories(sources: Sequence[Path], target: Path) -> int:
    """Copy each memory of the runs whole: what two have made of one, each in trials of its own, can't be mixed."""
    best: dict[Path, tuple[int, Path]] = {}
    found = 0
    for source in sources:
        for name, trials in memories_of(source).items():
            found += 1
            if name not in best or trials > best[name][0]:
                best[name] = trials, source
    for name, (_, source) in best.items():
        shutil.copytree(source / name, target / name)
    return found - len(best)


def _rank(record: TrialRecord) -> tuple[bool, float]:
    return record.outcome != "error", record.started


def _refuse_unequal(record: TrialRecord, folder: Path, other: TrialRecord, other_folder: Path) -> None:
    for name in ("task_digest", "agent_digest"):
        mine, theirs = getattr(record, name), getattr(other, name)
        if mine and theirs and mine != theirs:
            what = "task" if name == "task_digest" else "agent"
            raise UsageError(
                f"trial {json.dumps([*_parts(record.key)])}: expected the same {what} in all runs, found {theirs} "
                f"in {other_folder} "
                f"and {mine} in {folder}; the {what} was changed between the runs, so their results can't be joined"
            )


def _parts(key: TrialKey) -> tuple[str, str, int]:
    return key.task, key.agent, key.trial
