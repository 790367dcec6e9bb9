"""Report of trials that no figure includes, and of those whose files may not be as they were written."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.stored_records import Stored

__all__ = ["name_changed", "name_unreadable", "why_no_rate"]


def name_changed(run: RunDir, records: Iterable[TrialRecord]) -> int:
    """Name files of attempts that are not as they were written; return the exit code: 1 where there are any."""
    changed = [problem for record in records for problem in run.changes(record)]
    for each in changed:
        print(f"changed after the run: {each}", file=sys.stderr)
    return 1 if changed else 0


def why_no_rate(unreadable: int) -> str:
    """Return why a gate trusts no rate of a run with this number of unreadable trials."""
    have = "1 trial has" if unreadable == 1 else f"{unreadable} trials have"
    return f"{have} a record that was changed or can't be read, so no rate can be trusted"


def name_unreadable(*runs: Stored) -> int:
    """Name the runs' unreadable and changed trials on stderr; return the exit code: 1 where a trial is in no figure."""
    unreadable = [each for stored in runs for each in stored.unreadable]
    for each in unreadable:
        print(f"in no figure: {each}", file=sys.stderr)
    for record in (record for stored in runs for record in stored.accepted):
        latest = record.accepted[-1]
        print(
            f"changed after the run: {record.key.folder}, accepted as {latest['outcome']}: {clip(latest['because'])}",
            file=sys.stderr,
        )
    if count := sum(stored.without_digest for stored in runs):
        trials = "1 trial was" if count == 1 else f"{count} trials were"
        print(f"note: {trials} written without digests, so changes of the files go unnoticed", file=sys.stderr)
    return 1 if unreadable else 0
