"""``webarena runs export``, ``import``, ``har``, ``allure`` and ``export-verified``: runs in other forms."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.commands.results import RUN_DIR, requested_run
from pytest_webarena.errors import UsageError
from pytest_webarena.results.unreadable import name_damaged
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.results.har import Exported
    from pytest_webarena.results.records import TrialRecord

__all__ = ["add_commands"]

_NAMED = 5
"""Number of files that a message names."""


def add_commands(runs: Any) -> None:
    """Add the commands to the sub-parsers of ``webarena runs``."""
    har = runs.add_parser("har", help="write requests of trials as HAR 1.2")
    har.add_argument("run_dir", **RUN_DIR)
    har.add_argument("-o", "--output", type=Path, metavar="DIR", help="default: RUN_DIR/har")
    har.set_defaults(run=_har)

    allure = runs.add_parser("allure", help="write results for Allure")
    allure.add_argument("run_dirs", nargs="*", type=Path, metavar="RUN_DIR", help="default: the newest run here")
    allure.add_argument(
        "-o", "--output", type=Path, default=Path("allure-results"), metavar="DIR",
        help="a new directory (default: allure-results)",
    )  # fmt: skip
    allure.set_defaults(run=_allure)

    exporting = runs.add_parser("export", help="write a run or trial as a file")
    exporting.add_argument("source", type=Path, metavar="RUN_DIR|TRIAL", help="TRIAL is RUN_DIR/trials/NAME")
    exporting.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: NAME.zip here")
    exporting.add_argument(
        "--tasks", type=Path, metavar="FILE", help="the file with the trial's task (default: as recorded)"
    )
    exporting.add_argument(
        "--evidence-only", action="store_true", help="of a run: only files that verdicts depend on, e.g. no screenshots"
    )
    exporting.set_defaults(run=_export)

    importing = runs.add_parser("import", help="read a file of 'export' as a run")
    importing.add_argument("file", type=Path, metavar="FILE", help="a file of 'webarena runs export'")
    importing.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="a new run directory")
    importing.set_defaults(run=_import)

    verified = runs.add_parser("export-verified", help="write a run for webarena-verified's command line")
    verified.add_argument("run_dir", **RUN_DIR)
    verified.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="a new directory")
    verified.set_defaults(run=_export_verified)


def _allure(options: argparse.Namespace) -> int:
    from pytest_webarena.reports import write_allure_results
    from pytest_webarena.results.listing import chosen_run
    from pytest_webarena.results.rundir import RunDir

    target: Path = options.output
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target}: expected a new or empty directory, found another; Allure would join both results")
    code, count = 0, 0
    runs = [chosen_run(path) for path in options.run_dirs or (None,)]
    for path in runs:
        count += write_allure_results(path, target)
        run = RunDir(path)
        code = max(code, name_damaged(run, run.read()))
    print(f"{target}: {count} trials; npx allure@3 generate {target} --config={target / 'allurerc.mjs'}")
    return code


def _har(options: argparse.Namespace) -> int:
    from pytest_webarena.results.har import write_hars
    from pytest_webarena.results.rundir import RunDir

    run_dir = requested_run(options)
    target = options.output or run_dir / "har"
    written = write_hars(RunDir(run_dir), target)
    print(f"{written.trials} file{'s' * (written.trials != 1)} in {target}")
    _print_left_out(written)
    return name_damaged(RunDir(run_dir), written.stored)


def _export(options: argparse.Namespace) -> int:

    source = options.source.absolute()
    is_run = (source / "run.json").is_file()
    if is_run and options.tasks is not None:
        raise UsageError("--tasks: expected a trial to export, found a run; its task files are found by themselves")
    if not is_run and options.evidence_only:
        raise UsageError(f"--evidence-only: expected a run directory, found none at {source}")
    target = options.output or Path(f"{source.resolve().name if is_run else source.name}.zip")
    return _export_run(source, target, options) if is_run else _export_trial(source, target, options)


def _export_run(path: Path, target: Path, options: argparse.Namespace) -> int:
    from pytest_webarena.results.run_file import pack_run
    from pytest_webarena.results.rundir import RunDir

    packed = pack_run(
        RunDir(path), target, roots=[Path.cwd(), *Path.cwd().parents], evidence_only=options.evidence_only
    )
    trials = f"{packed.trials} trial{'s' * (packed.trials != 1)}"
    print(f"{trials} of {path}: {target} ({target.stat().st_size:,} bytes)")
    _name_left_out(packed.left_out)
    if names := packed.without_tasks:
        print(f"without the task files of {_some(names)}, which were not found: export from the folder of the run")
    if files := packed.changed:
        print(f"without {_some(files)}: changed after the run; restore the tasks to include the file")
    return 0


def _export_trial(folder: Path, target: Path, options: argparse.Namespace) -> int:
    from pytest_webarena.results.one_file import pack_trial, task_file_of
    from pytest_webarena.results.rundir import RunDir

    tasks = options.tasks
    if tasks is not None and not tasks.is_file():
        raise UsageError(f"--tasks: expected a task file, found none at {tasks}")
    if tasks is None:
        known = RunDir(folder.parent.parent).records()
        record = next((each for each in known if each.key.folder == folder.name), None)
        tasks = task_file_of(record, [Path.cwd(), *Path.cwd().parents]) if record is not None else None
    packed = pack_trial(folder, target, task_file=tasks)
    record = packed.record
    print(
        f"{record.key.task} by {record.key.agent}, trial {record.key.trial}: {target} ({target.stat().st_size:,} bytes)"
    )
    _name_left_out(packed.left_out)
    if tasks is None:
        print("without its task file, which was not found: --tasks FILE, or name it when the trial is judged again")
    return 0


def _name_left_out(names: Sequence[str]) -> None:
    if names:
        print(f"left out: {len(names)} files of the agent's own, which are no records: {_some(names)}")


def _some(names: Sequence[str]) -> str:
    return ", ".join(clip(name) for name in names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def _import(options: argparse.Namespace) -> int:
    from pytest_webarena.results.one_file import is_trial_file, unpack_trial
    from pytest_webarena.results.run_file import is_run_file, unpack_run

    if not options.file.is_file():
        raise UsageError(f"expected a file of 'webarena runs export', found no file at {options.file}")
    if is_run_file(options.file):
        unpacked = unpack_run(options.file, options.output)
        trials = unpacked.trials
        print(f"{trials} trial{'s' * (trials != 1)}, with the figures that the file names, in {options.output}")
        if names := unpacked.rewritten:
            print(f"written again from the records, since another version exported the run: {_some(names)}")
    elif is_trial_file(options.file):
        key = unpack_trial(options.file, options.output)
        print(f"{clip(key.task)} by {clip(key.agent)}, trial {key.trial}, is a run in {options.output}")
    else:
        raise UsageError(f"expected a file of 'webarena runs export', found another file in {options.file}")
    _suggest(options.output)
    return 0


def _suggest(path: Path) -> None:
    """Print how the run can be judged again and viewed; task files that run code are to be read first."""
    from pytest_webarena.results.conditions import invocations
    from pytest_webarena.results.run_readme import suites_of
    from pytest_webarena.results.rundir import RunDir

    place = shlex.quote(str(path))
    run = RunDir(path)
    records = run.records()
    suites = suites_of(invocations(path, run.facts()))
    files = sorted((path / "tasks").glob("*"))
    faults = {file: why for file in files if (why := _not_judged(file, records))}
    for file, why in faults.items():
        print(f"note: read {file} before you judge the run again: {why}", file=sys.stderr)
    if not faults:
        tests = [*([shlex.quote(str(files[0] if len(files) == 1 else path / "tasks"))] if files else [])]
        tests += (f"--suite={shlex.quote(clip(name))}" for name in suites)
        print(f"  pytest --rescore={place} {' '.join(tests) or 'TASKS'}")
    print(f"  webarena view {place}")


def _not_judged(file: Path, records: Sequence[TrialRecord]) -> str:
    """Why pytest should not read a task file that came with these tasks' trials; empty where loading runs no code."""
    from pytest_webarena.checks.python import code_of
    from pytest_webarena.results.task_files import changed_tasks
    from pytest_webarena.tasks.loader import read_tasks

    known = {record.key.task for record in records}
    tasks, problems = read_tasks(file)
    if problems:
        return f"it is no task file of this version ({problems[0]})"
    if known.isdisjoint(each.id for each in tasks):
        return f"it has no task {clip(' or '.join(sorted(known)))}"
    if changed := changed_tasks(file, records):
        return f"it has another {clip(changed)} than the trial ran"
    if called := [name for each in tasks for name in code_of(each.checks)]:
        return f"its checks call functions, which run as code of yours: {', '.join(map(clip, dict.fromkeys(called)))}"
    return ""


def _export_verified(options: argparse.Namespace) -> int:
    from pytest_webarena.results.har import CONFIG, export_verified
    from pytest_webarena.results.rundir import RunDir

    run = RunDir(requested_run(options))
    exported = export_verified(run, options.output)
    count = exported.trials
    print(f"{count} trial{'s' * (count != 1)} in {options.output}. To judge them by the package itself:")
    for folder in exported.folders:
        print(f"  webarena-verified eval-tasks --output-dir {folder} --config {folder / CONFIG}")
    _print_left_out(exported)
    return name_damaged(run, exported.stored)


def _print_left_out(exported: Exported) -> None:
    for reason in dict.fromkeys(exported.left_out.values()):
        count = sum(each == reason for each in exported.left_out.values())
        print(f"left out: {count} ({reason})")
