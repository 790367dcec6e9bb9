"""``webarena tasks side-effects``: list what solutions change on sites, and write it into task files as a check."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_webarena.changes import SiteChanges
from pytest_webarena.commands.project import DEFAULT_SITES
from pytest_webarena.errors import TaskFileError, UsageError
from pytest_webarena.monitoring.proposed_changes import Proposal, inserted, propose
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.results.listing import chosen_run
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.unreadable import name_damaged
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.tasks.model import Check, Task
from pytest_webarena.tasks.validate import validate

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a task file, or a folder of them")
    parser.add_argument(
        "--run", type=Path, action="append", dest="run_dirs", metavar="DIR",
        help="a run of the solutions, pytest PATH --agent=oracle (default: the newest run); may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--agent", default="oracle", metavar="NAME", help="agent with the passed trials (default: oracle)"
    )
    parser.add_argument("--sites", metavar="CATALOGUE", help="catalogue with tables to ignore (default: as for pytest)")
    parser.add_argument("--write", action="store_true", help="append the checks to the lists in the files")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    report = validate(options.paths)
    if report.problems:
        raise TaskFileError(report.problems)
    catalogue = load_catalogue(options.sites or DEFAULT_SITES)
    ignored = {
        name: [pattern for database in app.databases.values() for pattern in database.ignore]
        for name, app in catalogue.apps.items()
    }
    runs = [RunDir(chosen_run(each)) for each in options.run_dirs or [None]]
    for run in runs:
        run.facts()  # raises if its conditions were changed
    code = max(name_damaged(run, run.read()) for run in runs)
    recorded = dict(_recorded(runs, options.agent))
    for path in report.files:
        proposals = list(
            _proposals([task for task in report.tasks if task.location.path == str(path)], recorded, ignored)
        )
        if proposals and not _print_or_write(path, proposals, write=options.write):
            code = 1
    if not recorded:
        raise UsageError(f"expected passed trials of {options.agent} with recorded changes in the run, found none")
    return code


def _recorded(runs: Sequence[RunDir], agent: str) -> Iterator[tuple[str, Sequence[SiteChanges]]]:
    """Yield each task with the changes of the agent's passed trial."""
    for run in runs:
        for record in run.records():
            if record.key.agent == agent and record.outcome == "passed":
                try:
                    evidence = read_evidence(
                        run.folder(record.key).path / f"attempt-{record.attempt}", manifest=record.manifest
                    )
                except ValueError:
                    continue
                if evidence.changes is not None:
                    yield record.key.task, evidence.changes


def _proposals(
    tasks: Sequence[Task], recorded: Mapping[str, Sequence[SiteChanges]], ignored: Mapping[str, Sequence[str]]
) -> Iterator[Proposal]:
    """Yield a proposal for each template that changes something and has no check of its changes."""
    families: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        families[task.template].append(task)
    for template, family in families.items():
        if any(_lists_changes(check) for task in family for check in task.checks):
            continue
        runs = [(task, recorded[task.id]) for task in family if task.id in recorded]
        if not runs:
            continue
        proposal = propose(template, runs, ignored)
        if family[0].mutates is not False or proposal.sites:
            yield proposal


def _lists_changes(check: Check) -> bool:
    return check.kind == "changes" or any(map(_lists_changes, check.children))


def _print_or_write(path: Path, proposals: Sequence[Proposal], *, write: bool) -> bool:
    """Print the proposals, and with ``write`` add them to the file. Returns whether all could be applied."""
    text, complete = path.read_text(encoding="utf-8"), True
    # From the end of the file, so that lines of earlier tasks keep their numbers.
    for proposal in sorted(proposals, key=lambda each: each.tasks[0].location.line, reverse=True):
        task = proposal.tasks[0]
        where = f"{path}:{task.location.line}: {proposal.template} ({len(proposal.tasks)} run)"
        if proposal.unknown:
            print(f"{where}: the changes are unknown: {proposal.unknown}")
            complete = False
            continue
        if task.mutates is False:
            print(f"{where}: expected no changes (mutates: false), found:")
            complete = False
        else:
            print(f"{where}:")
        print("\n".join(proposal.lines(2)))
        if write and task.mutates is not False:
            try:
                text = inserted(text, task, proposal.lines(0))
            except ValueError as error:
                print(f"  not written: {error}")
                complete = False
    if write:
        path.write_text(text, encoding="utf-8")
    return complete
