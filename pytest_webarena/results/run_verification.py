"""What a run's own files show about changes after the run, for ``runs verify`` and ``runs export``."""

from __future__ import annotations

import json
from contextlib import suppress

from pytest_webarena.results.conditions import RESCORED
from pytest_webarena.results.export import outcomes_digest
from pytest_webarena.results.judge_replies import FOLDER as REPLIES
from pytest_webarena.results.package_checks import package_faults
from pytest_webarena.results.plan_faults import plan_faults
from pytest_webarena.results.run_identity import package_manifest
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.stored_records import Stored, changed_derived_files

__all__ = ["run_faults"]

_JUDGED = ("README.md", "results.csv", "summary.json", RESCORED, "webarena-run.json", "leaderboards/", f"{REPLIES}/")
"""Beginnings of the names of files that judging again writes, or from which it makes those of a package differ."""


def run_faults(run: RunDir, stored: Stored, *, rescored: bool = False) -> list[str]:
    """Return a message for each file of a run that is not as it was written; records and evidence are not included.

    Args:
        rescored: Accept what judging again changes in an imported run.
    """
    facts, derived = run.facts(), changed_derived_files(run.path)
    found = [f"{run.path / name}: expected the file as it was written, found it changed" for name in derived]
    with suppress(OSError, ValueError, AttributeError):
        summary = json.loads((run.path / "summary.json").read_bytes())
        if "summary.json" not in derived and summary.get("outcomes", known := outcomes_digest(stored.records)) != known:
            found.append(
                f"{run.path / 'summary.json'}: expected the outcomes that the run ended with, found others in its "
                "trials: some were replaced or removed, or --rescore or --resume was interrupted"
            )
    manifest = package_manifest(run.path)
    if manifest is None and "plan.json" not in derived:  # the checks of a package include the plan's
        found += plan_faults(run.path, facts, stored)
    packed = package_faults(run.path)
    if rescored and any(each.startswith(f"{RESCORED}:") for each in packed):
        packed = [each for each in packed if not _by_judging(each)]
    return found + [f"{run.path}/{each}" for each in packed]


def _by_judging(fault: str) -> bool:
    """Whether judging again explains the fault of a package."""
    name = fault.partition(": ")[0]
    return name.startswith(_JUDGED) or (name.startswith("trials/") and name.endswith("/trial.json"))
