"""``webarena runs list``, ``profile`` and ``explain``; ``compare gradings``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_webarena.results.unreadable import name_damaged

__all__ = ["RUN_DIR", "add_commands", "add_gradings", "requested_run"]

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


def add_gradings(compare: Any) -> None:
    """Add ``gradings`` to the sub-parsers of ``webarena compare``."""
    gradings = compare.add_parser("gradings", help="list where the gradings of a run disagree")
    gradings.add_argument("run_dir", **RUN_DIR)
    gradings.add_argument("--agent", metavar="NAME", help="of this agent only")
    forms = ("text", "markdown", "latex", "csv", "json")
    gradings.add_argument("--format", choices=forms, default="text", help="default: text")
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
    from pytest_webarena.results.gradings import compare, rate_csv, rate_table, render
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.table_forms import as_latex, as_markdown
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
    if options.format == "csv":
        print(rate_csv(found), end="")
        return code
    if options.format != "text":
        print((as_latex if options.format == "latex" else as_markdown)([rate_table(found, differing)]))
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
