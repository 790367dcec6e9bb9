"""Task files of recorded trials: whether their tasks are still those that the trials ran."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pytest_webarena.results.records import TrialRecord
from pytest_webarena.tasks.loader import read_tasks

__all__ = ["changed_tasks"]


def changed_tasks(file: Path, records: Collection[TrialRecord]) -> str:
    """Return the ids of the file's tasks that differ from the ones that the trials ran, joined; empty if none does.

    Tasks without a trial, tasks of suites and records without a digest are not compared.
    """
    ran: dict[str, set[str]] = {}
    for record in records:
        if record.task_digest and not record.source:
            ran.setdefault(record.key.task, set()).add(record.task_digest)
    tasks, _ = read_tasks(file)
    return ", ".join(each.id for each in tasks if ran.get(each.id, {each.digest}) != {each.digest})
