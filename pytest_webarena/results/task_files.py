"""Task files of recorded trials: whether their tasks are still those that the trials ran."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from pytest_webarena.results.records import TrialRecord
from pytest_webarena.tasks.loader import read_tasks
from pytest_webarena.text import clip, shorten

__all__ = ["changed_tasks", "task_fault", "tasks_without_file"]

_SHOWN = 12
"""Digits of a digest that messages show."""


def changed_tasks(file: Path, records: Collection[TrialRecord]) -> str:
    """Return the ids of the file's tasks that differ from the ones that the trials ran, joined; empty if none does.

    Tasks without a trial, tasks of suites and records without a digest are not compared.
    """
    return ", ".join(_changed(file, records))


def task_fault(file: Path, records: Collection[TrialRecord]) -> str:
    """Return why a file is none from which trials with these records can have run; empty if it is one."""
    tasks, problems = read_tasks(file)
    if problems:
        return f"expected a task file of this version, found: {clip(str(problems[0]), 200)}"
    ran = {record.key.task for record in records if not record.source}
    if ran.isdisjoint(each.id for each in tasks):
        return f"expected a task that its trials ran, found {clip(', '.join(each.id for each in tasks), 200)}"
    for name, (expected, found) in _changed(file, records).items():
        return (
            f"expected the task {clip(name)} that its trials ran, with the digest {shorten(expected, _SHOWN + 1)}, "
            f"found another one, {shorten(found, _SHOWN + 1)}"
        )
    return ""


def tasks_without_file(files: Iterable[Path], records: Iterable[TrialRecord]) -> set[str]:
    """Return the ids of recorded tasks that no file has. Tasks of suites come with packages and need none."""
    known = {each.id for file in files for each in read_tasks(file)[0]}
    return {record.key.task for record in records if not record.source} - known


def _changed(file: Path, records: Collection[TrialRecord]) -> dict[str, tuple[str, str]]:
    """Return the digests of changed tasks by id: the one that the trials ran, and the file's."""
    ran: dict[str, set[str]] = {}
    for record in records:
        if record.task_digest and not record.source:
            ran.setdefault(record.key.task, set()).add(record.task_digest)
    tasks, _ = read_tasks(file)
    return {
        each.id: (" or ".join(sorted(ran[each.id])), each.digest)
        for each in tasks
        if ran.get(each.id, {each.digest}) != {each.digest}
    }
