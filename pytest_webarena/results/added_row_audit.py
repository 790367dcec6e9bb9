"""Finds checks that are meant to prove an added row, and that rows from before the task meet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pytest_webarena.agents.audit_trials import AuditTrial
from pytest_webarena.checks.changes import ChangesSpec
from pytest_webarena.checks.judging import leaves
from pytest_webarena.checks.state import StateSpec
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.value_audit import Unread
from pytest_webarena.results.verdict_atoms import atoms
from pytest_webarena.tasks.model import Task

__all__ = ["old_row_checks"]

_MEND = "compare the new rows only, for example with `id > …`, or use `where` in `changes`"
_COUNTED = re.compile(r"\s*select\s+count\s*\(\s*\*\s*\)\s+from\s+[\"`\[]?(?P<table>\w+)", re.IGNORECASE)


def old_row_checks(task: Task, found: Iterable[tuple[AuditTrial, TrialRecord | None]]) -> Iterator[Unread]:
    """Yield the counts of rows, in tables to which the task adds rows, that hold before anything is done and that
    alone made no other trial fail."""
    records = {(trial.agent, trial.trial): record for trial, record in found if record is not None}
    null = next((record for (agent, _), record in records.items() if agent == "null"), None)
    if null is None:
        return
    needed: set[str] = set()
    for record in records.values():
        failed = [atom.path for atom in atoms(record) if not atom.passed]
        needed.update(failed if len(failed) == 1 else ())
    counting = set(_row_counts(task))
    for atom in atoms(null):
        if atom.passed and atom.path in counting and atom.path not in needed:
            yield Unread(f"{atom.path} holds before anything is done, so rows that existed before meet it", _MEND)


def _row_counts(task: Task) -> Iterator[str]:
    """Yield the paths of queries that count rows of a table to which the task adds some."""
    checks = [check for check, _ in leaves(task.every_check)]
    specs = [check.spec for check in checks if isinstance(check.spec, ChangesSpec)]
    added = {
        name.rpartition(".")[2].casefold()
        for spec in specs for tables in spec.sites.values() for name, table in tables.items() if table.added.low
    }  # fmt: skip
    for check in checks:
        spec = check.spec
        found = _COUNTED.match(spec.sql) if isinstance(spec, StateSpec) and not spec.expects_absence else None
        if found is not None and found["table"].casefold() in added:
            yield check.path
