"""``webarena runs verify``: whether a run's files are as its trials wrote them."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_webarena.commands.results import RUN_DIR, requested_run
from pytest_webarena.errors import UsageError

__all__ = ["add_command"]


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
    from pytest_webarena.results.conditions import invocations
    from pytest_webarena.results.export import export, outcomes_digest
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.stored_records import changed_derived_files
    from pytest_webarena.results.unreadable import name_unreadable

    run = RunDir(requested_run(options))
    if options.accept and not options.because.strip():
        raise UsageError("--accept: expected the reason of the change, found none; add --because TEXT")
    if "run.json" in options.accept:
        run.accept_facts(because=options.because.strip(), at=round(time.time(), 3))
        print("accepted: run.json; comparisons mark it")
    invocations(run.path, run.facts())  # raises for files that were changed
    for name in (name for name in options.accept if name != "run.json"):
        folder = run.trials / Path(name).name
        if not (folder / "trial.json").is_file():
            raise UsageError(f"--accept: expected a trial of {run.path}, found none named {Path(name).name}")
        record = run.accept(folder, because=options.because.strip(), at=round(time.time(), 3))
        print(f"accepted: {folder.name}, {record.outcome}; all reports mark it")
    if options.accept:
        export(run)  # its figures include what was accepted
    stored = run.read()
    code = name_unreadable(stored)
    changed = [problem for record in stored.records for problem in run.changes(record)]
    derived = changed_derived_files(run.path)
    changed += [f"{run.path / name}: expected the file as it was written, found it changed" for name in derived]
    with suppress(OSError, ValueError, AttributeError):
        summary = json.loads((run.path / "summary.json").read_bytes())
        if "summary.json" not in derived and summary.get("outcomes", known := outcomes_digest(stored.records)) != known:
            changed.append(
                f"{run.path / 'summary.json'}: expected the outcomes that the run ended with, found others in its "
                "trials: some were replaced or removed, or --rescore or --resume was interrupted"
            )
    print(*changed, sep="\n", end="\n" * bool(changed))
    found = len(changed) + len(stored.unreadable)
    count = f"{len(stored.records)} trial{'s' * (len(stored.records) != 1)}"
    print(f"{found} files changed after the run" if found else f"{count}: all files are as they were written")
    return 1 if changed else code
