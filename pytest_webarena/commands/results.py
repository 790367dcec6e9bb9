"""``webarena runs list``, ``profile``, ``explain``, ``har``, ``export…`` and ``import``; ``compare gradings``."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.results.unreadable import name_damaged
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.results.har import Exported

__all__ = ["RUN_DIR", "add_commands", "add_gradings", "requested_run"]

_NAMED = 5
"""Number of files that a message names."""

RUN_DIR: dict[str, Any] = {"nargs": "?", "type": Path, "metavar": "RUN_DIR", "help": "default: the newest run here"}
"""Positional argument of commands that read one run."""


def requested_run(options: argparse.Namespace) -> Path:
    """Return the run directory that the command line names, or the newest one, whose name is then printed."""
    from pytest_webarena.results.listing import chosen_run

    path = chosen_run(options.run_dir)
    if options.run_dir is None:
        print(f"of {path}", file=sys.stderr)
    return path


def add_commands(runs: Any) -> None:
    """Add the commands to the sub-parsers of ``webarena runs``."""
    listing = runs.add_parser("list", help="list the runs of this project, newest first")
    listing.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="a run or its folder (default: webarena-runs, here or above)",
    )
    listing.add_argument("-n", type=int, default=20, metavar="N", help="at most so many; 0: all (default: 20)")
    listing.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    listing.set_defaults(run=_runs)

    times = runs.add_parser("profile", help="show where the time of trials went")
    times.add_argument("run_dir", **RUN_DIR)
    times.add_argument("--agent", metavar="NAME", help="of this agent only")
    times.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")
    times.set_defaults(run=_times)

    explain = runs.add_parser("explain", help="show where failed trials left passed ones")
    explain.add_argument("run_dir", **RUN_DIR)
    explain.add_argument(
        "--against", type=Path, metavar="RUN_DIR", help="trials that passed in this run (default: the same)"
    )
    explain.add_argument("--task", metavar="ID", help="of this task only")
    explain.add_argument("--agent", metavar="NAME", help="failed trials of this agent only")
    explain.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    explain.set_defaults(run=_explain)

    har = runs.add_parser("har", help="write requests of trials as HAR 1.2")
    har.add_argument("run_dir", **RUN_DIR)
    har.add_argument("-o", "--output", type=Path, metavar="DIR", help="default: RUN_DIR/har")
    har.set_defaults(run=_har)

    exporting = runs.add_parser("export", help="write one trial as a file")
    exporting.add_argument("trial", type=Path, metavar="TRIAL", help="its folder, RUN_DIR/trials/NAME")
    exporting.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: NAME.zip here")
    exporting.add_argument("--tasks", type=Path, metavar="FILE", help="the file with its task (default: as recorded)")
    exporting.set_defaults(run=_export)

    importing = runs.add_parser("import", help="read a trial's file as a run")
    importing.add_argument("file", type=Path, metavar="FILE", help="a file of 'webarena runs export'")
    importing.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="a new run directory")
    importing.set_defaults(run=_import)

    verified = runs.add_parser("export-verified", help="write a run for webarena-verified's command line")
    verified.add_argument("run_dir", **RUN_DIR)
    verified.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="a new directory")
    verified.set_defaults(run=_export_verified)


def add_gradings(compare: Any) -> None:
    """Add ``gradings`` to the sub-parsers of ``webarena compare``."""
    gradings = compare.add_parser("gradings", help="list where the gradings of a run disagree")
    gradings.add_argument("run_dir", **RUN_DIR)
    gradings.add_argument("--agent", metavar="NAME", help="of this agent only")
    gradings.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    gradings.set_defaults(run=_gradings)


def _runs(options: argparse.Namespace) -> int:
    from pytest_webarena.results.listing import find_runs, list_runs

    folder = options.folder or find_runs(Path.cwd())
    found = list_runs(folder)
    shown = found[: options.n] if options.n > 0 else found
    if options.format == "json":
        print(json.dumps([run.to_json() for run in shown], indent=1))
        return 0
    if not found:
        print(f"no run in {folder}")
    for run in shown:
        text = ", ".join(run.rates) if run.finished else f"not finished; pytest --resume={_relative(run.path)}"
        lines = textwrap.wrap(text, 80 - 18, break_long_words=False, break_on_hyphens=False) or ["no trial"]
        if changed := run.changed:
            lines += [f"changed after the run: {name}" for name in changed]
        print(f"{run.when}  {_relative(run.path)}", *(f"{'':18}{line}" for line in lines), sep="\n")
    if len(shown) < len(found):
        print(f"{'':18}and {len(found) - len(shown)} older ones (-n 0)")
    if options.folder is None:
        print(f"{'':18}not here: runs of --run-dir elsewhere; webarena runs list DIR")
    return 0


def _relative(path: Path) -> str:
    return min(str(path), os.path.relpath(path), key=len)


def _times(options: argparse.Namespace) -> int:
    from pytest_webarena.errors import UsageError
    from pytest_webarena.results.profile import as_table, spent_by_agent
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.table_forms import as_markdown, as_text

    run = RunDir(requested_run(options))
    run.facts()
    stored = run.read()
    code = name_damaged(run, stored)
    known = ", ".join(dict.fromkeys(record.key.agent for record in stored.records))
    if options.agent is not None and options.agent not in known.split(", "):
        raise UsageError(f"--agent: expected one of {known or 'none'}, found {options.agent!r}")
    chosen = [record for record in stored.records if options.agent in (None, record.key.agent)]
    found = spent_by_agent((record, run.steps_of(record)) for record in chosen)
    if options.format == "json":
        print(json.dumps({agent: spent.to_json() for agent, spent in found.items()}, indent=1))
        return code
    if not found:
        print("no trial of this run has a duration")
    tables = [as_table(agent, spent) for agent, spent in found.items()]
    print((as_markdown if options.format == "markdown" else as_text)(tables))
    return code


def _gradings(options: argparse.Namespace) -> int:
    from pytest_webarena.errors import UsageError
    from pytest_webarena.results.conditions import check_rates, summaries_of
    from pytest_webarena.results.gradings import compare, render
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.wording import mixed_words

    run = RunDir(requested_run(options))
    check_rates(run.path, run.facts())
    stored = run.read()
    code = name_damaged(run, stored)
    found = compare(stored.records)
    differing = {name: each.mixed for name, each in summaries_of(run, stored.records).items() if each.mixed}
    if options.agent is not None:
        known = ", ".join(dict.fromkeys(each.agent for each in found.values()))
        found = {name: each for name, each in found.items() if options.agent in (name, each.agent)}
        if not found:
            raise UsageError(f"--agent: expected one of {known or 'none'}, found {options.agent!r}")
    if options.format == "json":
        from pytest_webarena.results.export import gradings_json

        print(json.dumps(gradings_json(found), indent=1))
        return code
    if not found:
        print("no task of this run knows gradings: each has one verdict")
    for number, comparison in enumerate(found.values()):
        print("\n" * bool(number) + "\n".join(render(comparison)))
        if comparison.name in differing:
            print(f"  {mixed_words(differing[comparison.name])}")
    return code


def _explain(options: argparse.Namespace) -> int:
    from pytest_webarena.errors import UsageError
    from pytest_webarena.results.explaining import Passed, explain
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.wording import sign_in_words, why_undecided

    run = RunDir(requested_run(options))
    run.facts()
    stored = run.read()
    code = name_damaged(run, stored)
    other = RunDir(options.against) if options.against is not None else run
    other.facts()
    candidates = other.read().records if options.against is not None else stored.records
    failed = [
        record
        for record in stored.records
        if record.outcome == "failed"
        and options.task in (None, record.key.task)
        and options.agent in (None, record.key.agent)
    ]
    if not failed and (options.task or options.agent):
        raise UsageError(f"expected a failed trial of that task and agent in {run.path}, found none")
    passed = Passed(candidates, other.steps_of)
    explained = [(record, explain((record, run.steps_of(record)), passed.of(record.key.task))) for record in failed]
    if options.format == "json":
        found_ones = [
            {**found.to_json(), "signed_in": {site: asdict(each) for site, each in record.signed_in.items()}}
            for record, found in explained
            if found is not None
        ]
        print(json.dumps(found_ones, indent=1))
        return code
    for record, found in explained:
        print(f"{record.key.task} ({record.key.agent}, trial {record.key.trial})")
        if record.signed_in:
            print(f"  signed in at the end: {sign_in_words(record.signed_in)}")
        if found is None:
            if undecided := why_undecided(record):
                print(f"  undecided: {undecided}")
            print("  no trial of this task passed; --against names a run with one, e.g. of --agent=oracle")
        else:
            print(*found.lines(), sep="\n")
        print()
    if not failed:
        print("no trial failed")
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
    from pytest_webarena.errors import UsageError
    from pytest_webarena.results.one_file import pack_trial, task_file_of
    from pytest_webarena.results.rundir import RunDir

    folder = options.trial.absolute()
    target = options.output or Path(f"{folder.name}.zip")
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
    if packed.left_out:
        names = ", ".join(clip(name) for name in packed.left_out[:_NAMED])
        more = ", …" if len(packed.left_out) > _NAMED else ""
        print(f"left out: {len(packed.left_out)} files of the agent's own, which are no records: {names}{more}")
    if tasks is None:
        print("without its task file, which was not found: --tasks FILE, or name it when the trial is judged again")
    return 0


def _import(options: argparse.Namespace) -> int:
    from pytest_webarena.errors import UsageError
    from pytest_webarena.results.one_file import is_trial_file, unpack_trial

    if not options.file.is_file():
        raise UsageError(f"expected a trial of 'webarena runs export', found no file at {options.file}")
    if not is_trial_file(options.file):
        raise UsageError(f"expected a trial of 'webarena runs export', found another file in {options.file}")
    key = unpack_trial(options.file, options.output)
    print(f"{clip(key.task)} by {clip(key.agent)}, trial {key.trial}, is a run in {options.output}")
    place = shlex.quote(str(options.output))
    task_file = next((options.output / "tasks").glob("*"), None)
    if task_file is None:
        print(f"  pytest --rescore={place} TASKS")
    elif why := _not_judged(task_file, key.task):
        print(f"note: read {task_file} before you judge the trial again: {why}", file=sys.stderr)
    else:
        print(f"  pytest --rescore={place} {shlex.quote(str(task_file))}")
    print(f"  webarena view {place}")
    return 0


def _not_judged(file: Path, task: str) -> str:
    """Why pytest should not read a task file that came with a trial; empty where loading it runs no code."""
    from pytest_webarena.checks.python import code_of
    from pytest_webarena.tasks.loader import read_tasks

    tasks, problems = read_tasks(file)
    if problems:
        return f"it is no task file of this version ({problems[0]})"
    if task not in [each.id for each in tasks]:
        return f"it has no task {clip(task)}"
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
