"""``webarena gradings``, ``har`` and ``export-verified``: what a finished run says to other eyes and other tools."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.results.unreadable import name_unreadable

if TYPE_CHECKING:
    from pytest_webarena.results.har import Exported

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the commands to ``argparse``'s sub-parsers."""
    gradings = commands.add_parser("gradings", help="set a run's gradings side by side, and list where they disagree")
    gradings.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    gradings.add_argument("--agent", metavar="NAME", help="of this agent only")
    gradings.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    gradings.set_defaults(run=_gradings)

    har = commands.add_parser("har", help="write the requests of each trial as HAR 1.2")
    har.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    har.add_argument("-o", "--output", type=Path, metavar="DIR", help="default: RUN_DIR/har")
    har.set_defaults(run=_har)

    verified = commands.add_parser("export-verified", help="write a run as webarena-verified's command line reads it")
    verified.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    verified.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="a new directory")
    verified.set_defaults(run=_export_verified)


def _gradings(options: argparse.Namespace) -> int:
    from pytest_webarena.errors import UsageError
    from pytest_webarena.results.gradings import compare, render
    from pytest_webarena.results.rundir import RunDir

    run = RunDir(options.run_dir)
    run.facts()
    stored = run.read()
    code = name_unreadable(stored.unreadable)
    found = compare(stored.records)
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
    return code


def _har(options: argparse.Namespace) -> int:
    from pytest_webarena.results.har import write_hars
    from pytest_webarena.results.rundir import RunDir

    target = options.output or options.run_dir / "har"
    written = write_hars(RunDir(options.run_dir), target)
    print(f"{written.trials} file{'s' * (written.trials != 1)} in {target}")
    _tell_left_out(written)
    return name_unreadable(written.unreadable)


def _export_verified(options: argparse.Namespace) -> int:
    from pytest_webarena.results.har import CONFIG, export_verified
    from pytest_webarena.results.rundir import RunDir

    exported = export_verified(RunDir(options.run_dir), options.output)
    count = exported.trials
    print(f"{count} trial{'s' * (count != 1)} in {options.output}. To judge them by the package itself:")
    for folder in exported.folders:
        print(f"  webarena-verified eval-tasks --output-dir {folder} --config {folder / CONFIG}")
    _tell_left_out(exported)
    return name_unreadable(exported.unreadable)


def _tell_left_out(exported: Exported) -> None:
    for reason in dict.fromkeys(exported.left_out.values()):
        count = sum(each == reason for each in exported.left_out.values())
        print(f"left out: {count} ({reason})")
