"""``webarena runs verify``: whether a run's files are as its trials wrote them, and none is missing."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.commands.results import RUN_DIR, requested_run
from pytest_webarena.errors import UsageError
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.stored_records import Stored

__all__ = ["add_command"]

_SHOWN = 8
"""Number of trials that a line lists."""


def add_command(runs: Any) -> None:
    """Declare ``verify``."""
    verify = runs.add_parser("verify", help="find files that changed after the run")
    verify.add_argument("run_dir", **RUN_DIR)
    verify.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="TRIAL|run.json",
        help="keep what was changed, marked in reports",
    )
    verify.add_argument("--because", default="", metavar="TEXT", help="reason of the change, for --accept")
    verify.set_defaults(run=_verify)


def _verify(options: argparse.Namespace) -> int:
    from pytest_webarena.results.conditions import RESCORED, invocations
    from pytest_webarena.results.export import export
    from pytest_webarena.results.run_verification import run_faults
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.unreadable import name_damaged

    run = RunDir(requested_run(options))
    if options.accept and not options.because.strip():
        raise UsageError("--accept: expected the reason of the change, found none; add --because TEXT")
    if "run.json" in options.accept:
        run.accept_facts(because=options.because.strip(), at=round(time.time(), 3))
        print("accepted: run.json; comparisons mark it")
    invocations(run.path, run.facts())  # raises for files that were changed
    for name in (Path(name).name for name in options.accept if name != "run.json"):
        _accept(run, name, because=options.because.strip())
    if options.accept:
        export(run)  # its figures include what was accepted
    stored, facts = run.read(), run.facts()
    code = name_damaged(run, stored, every_file=True)
    changed = run_faults(run, stored)
    if any(fault.startswith(f"{run.path / RESCORED}:") for fault in changed):
        changed.append(f"note: it was judged again here; 'webarena runs export {run.path}' packs the new verdicts")
    print(*changed, sep="\n", end="\n" * bool(changed))
    _name_missing(run, facts, stored)
    if not changed and not code:
        count = f"{len(stored.records)} trial{'s' * (len(stored.records) != 1)}"
        print(f"{count}: all files are as they were written")
    return 1 if changed else code


def _accept(run: RunDir, name: str, *, because: str) -> None:
    """Keep a trial as it is now, marked, or note that it was removed."""
    from pytest_webarena.results.plan import accept_removal, read_plan
    from pytest_webarena.results.stored_records import removed_trials

    removed = removed_trials(run.path, read_plan(run.path).values())
    if keys := [key for key, each in removed.items() if each.folder.name == name]:
        accept_removal(run.path, keys, because=because)
        print(f"accepted: {name}, removed; all reports mark it, and pytest --resume={run.path} runs it again")
        return
    folder = run.trials / name
    if not (folder / "trial.json").is_file():
        raise UsageError(f"--accept: expected a trial of {run.path}, found none named {name}")
    record = run.accept(folder, because=because, at=round(time.time(), 3))
    print(f"accepted: {folder.name}, {record.outcome}; all reports mark it")


def _name_missing(run: RunDir, facts: Mapping[str, Any], stored: Stored) -> None:
    """Print the planned trials without a result, by the reason that the run gives, and the parts that are missing."""
    from pytest_webarena.results.completeness import why_plan_unknown
    from pytest_webarena.results.plan import has_plan, read_plan

    known = {record.key for record in stored.records}
    lost = {each.folder.name for each in stored.unreadable}
    reasons: dict[str, list[str]] = {}
    for trial in read_plan(run.path).values():
        if trial.key not in known and trial.key.folder not in lost:
            unfinished = "interrupted" if trial.key.folder in stored.unfinished else ""
            reason = unfinished or trial.skipped or trial.stopped or trial.decided or "not run"
            reasons.setdefault(reason.partition("\n")[0], []).append(trial.key.folder)
    for reason, names in reasons.items():
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        print(f"without a result, {clip(reason)}: {shown}")
    if has_plan(run.path) and (why := why_plan_unknown(run.path, facts)):
        print(f"note: {why}")
