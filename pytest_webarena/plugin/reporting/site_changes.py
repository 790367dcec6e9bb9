"""Lines of the summary about sites that changed while a run used them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_webarena.docs_site import docs
from pytest_webarena.plugin.reporting.summary_lines import Line, plural
from pytest_webarena.results.program_changes import program_changes
from pytest_webarena.sites.protocol.report import PROOF_CHANGED

if TYPE_CHECKING:
    from pytest_webarena.results import TrialRecord

__all__ = ["site_change_lines"]

_SHOWN = 5
"""Number of trials that are named."""


def site_change_lines(records: Sequence[TrialRecord]) -> Iterator[Line]:
    """Yield the programs that were edited, and the trials in which hosted data changed without a write."""
    yield from (Line(f"sites: {change}", "yellow") for change in program_changes(records))
    names = [record.key.folder for record in records if changed_without_write(record)]
    if names:
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        yield Line(
            f"sites: changed without a write during {plural(len(names), 'trial')}: {shown}. Their verdicts stay; a "
            f"'quiet' waits for late effects ({docs('sites')})",
            "yellow",
        )


def changed_without_write(record: TrialRecord) -> bool:
    """Return whether the proof of a hosted site changed during the trial, in which nobody sent a write."""
    return any(why.startswith(f"{PROOF_CHANGED}: ") for why in record.resets.values())
