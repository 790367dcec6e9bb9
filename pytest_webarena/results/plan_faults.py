"""Faults of a run's plan: why trials that were removed from the run, or added to it, would go unnoticed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.results.completeness import sources
from pytest_webarena.results.plan import NOTED, has_plan, read_plan
from pytest_webarena.results.stored_records import Stored
from pytest_webarena.text import clip

__all__ = ["plan_faults"]

_SHOWN = 8
"""Number of trials that a message lists."""


def plan_faults(run: Path, facts: Mapping[str, Any], stored: Stored) -> Iterator[str]:
    """Yield why the run's plan does not show which trials are missing, and which records are in no plan."""
    file = run / "plan.json"
    if facts["schema_version"] < 2:  # from a version without digests
        return
    whole = "merged" not in facts or all(each["planned"] for each in sources(run, facts))
    if not has_plan(run):
        if whole:
            yield f"{file}: expected the planned trials, found none that can be read, so missing trials are unknown"
        return
    plan = read_plan(run)
    if whole and (unplanned := [record.key.folder for record in stored.records if record.key not in plan]):
        more = f" and {len(unplanned) - _SHOWN} more" if len(unplanned) > _SHOWN else ""
        named = clip(", ".join(unplanned[:_SHOWN]), 300)
        yield f"{file}: expected all trials that have a record, found no {named}{more}"
    if (run / NOTED).exists() or any(record.key in plan and not plan[record.key].recorded for record in stored.records):
        yield (
            f"{file}: expected a run that was closed, found that its process was killed; pytest --resume={run} "
            "completes the run"
        )
