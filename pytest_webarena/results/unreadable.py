"""Report of trials whose record or evidence is not as it was written, and of those of which that is unknown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.stored_records import Stored

__all__ = ["name_damaged", "name_faults", "why_no_rate"]


def why_no_rate(faulty: int) -> str:
    """Return why a gate trusts no rate of a run with this number of damaged trials."""
    have = "1 trial has" if faulty == 1 else f"{faulty} trials have"
    return f"{have} a record or evidence that was changed, removed or can't be read, so no rate can be trusted"


def name_damaged(run: RunDir, stored: Stored, *, every_file: bool = False) -> int:
    """Name on stderr a run's trials whose record or evidence is not as it was written; return the exit code: 1 or 0.

    With ``every_file``, files of attempts that no verdict depends on, such as screenshots, are examined, too.
    """
    return min(1, name_faults(run, stored, every_file=every_file))


def name_faults(run: RunDir, stored: Stored, *, every_file: bool = False) -> int:
    """Do the same as `name_damaged`; return the number of the trials."""
    for each in stored.unreadable:
        print(f"in no figure: {each}", file=sys.stderr)
    changed = [found for record in stored.records if (found := run.changes(record, every_file=every_file))]
    for problem in (problem for found in changed for problem in found):
        print(f"changed after the run: {problem}", file=sys.stderr)
    for record in stored.accepted:
        latest = record.accepted[-1]
        print(
            f"changed after the run: {record.key.folder}, accepted as {latest['outcome']}: {clip(latest['because'])}",
            file=sys.stderr,
        )
    for trial in stored.removed:
        print(f"removed after the run: {trial.key.folder}: {clip('; '.join(trial.removed))}", file=sys.stderr)
    if count := stored.without_digest:
        trials = "1 trial was" if count == 1 else f"{count} trials were"
        print(f"note: {trials} written without digests, so changes of the files go unnoticed", file=sys.stderr)
    return len(stored.unreadable) + len(changed)
