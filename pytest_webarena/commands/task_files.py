"""``webarena tasks validate``, ``schema``, ``import``, ``stats``, ``lint`` and ``repairs``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.commands.project import DEFAULT_SITES
from pytest_webarena.errors import UsageError, writing

if TYPE_CHECKING:
    from pytest_webarena.tasks.known_sites import KnownSites
    from pytest_webarena.tasks.model import Task

__all__ = ["add_commands"]


def add_commands(tasks: Any) -> None:
    """Add the commands to the sub-parsers of ``webarena tasks``."""
    validate = tasks.add_parser("validate", help="check task files and catalogues")
    validate.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a task file, a catalogue, or a directory of them"
    )
    validate.add_argument("--format", choices=("text", "json", "github"), default="text", help="default: text")
    validate.add_argument(
        "--sites",
        metavar="CATALOGUE",
        help="catalogue whose sites are known (default: one named next to the tasks, the ini file's, or embedded)",
    )
    validate.add_argument("--answers", action="store_true", help="also try wrong answers on the checks")
    validate.add_argument(
        "--with-sites", action="store_true",
        help="also start the sites, and do the solutions",
    )  # fmt: skip
    validate.add_argument("--browser-executable", metavar="PATH", help="browser to use (default: as for pytest)")
    validate.set_defaults(run=_validate)

    schema = tasks.add_parser("schema", help="print the JSON schema of task files")
    schema.add_argument("--write", type=Path, metavar="PATH", help="write it there instead of printing it")
    schema.add_argument("--sites", action="store_true", help="of catalogue files instead")
    schema.set_defaults(run=_schema)

    importing = tasks.add_parser("import", help="convert a published suite into task files")
    importing.add_argument(
        "suite", metavar="SUITE|FILE", help="a published suite, or a JSON file in one of their formats"
    )
    importing.add_argument(
        "-o", "--output", type=Path, required=True, metavar="PATH",
        help="a folder (a file per site), or a .yaml file",
    )  # fmt: skip
    importing.add_argument(
        "--catalogue", type=Path, metavar="FILE",
        help="of tasks recorded on the living web (mind2web-live:FILE): also a catalogue of its sites, for --sites",
    )  # fmt: skip
    importing.set_defaults(run=_import)

    stats = tasks.add_parser("stats", help="count tasks by site, category, check and template")
    stats.add_argument("sources", nargs="+", metavar="SUITE|PATH", help="suites, task files, or folders of them")
    stats.set_defaults(run=_stats)
    lint = tasks.add_parser("lint", help="find faults of key nodes, offline")
    lint.add_argument("sources", nargs="+", metavar="SUITE|PATH", help="suites, task files, or folders of them")
    lint.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    lint.set_defaults(run=_lint)

    repairs = tasks.add_parser("repairs", help="list the rules of --grading=repaired")
    repairs.add_argument("rule", nargs="*", metavar="RULE", help="default: all of them")
    repairs.add_argument("--suite", default="webarena", metavar="NAME", help="suite with the tasks (default: webarena)")
    repairs.set_defaults(run=_repairs)


def _validate(options: argparse.Namespace) -> int:
    from pytest_webarena.checks.forgotten_answers import with_literal_numbers, with_unread_answers
    from pytest_webarena.checks.key_nodes.ambiguous_prefixes import with_open_ends
    from pytest_webarena.checks.side_effects import without_guard
    from pytest_webarena.checks.unread_columns import with_unread_columns
    from pytest_webarena.checks.unserved_hosts import with_unserved_hosts
    from pytest_webarena.sites.catalogues.live import LIVE
    from pytest_webarena.sites.catalogues.loading import load_catalogue, looks_like_catalogue, problems_of
    from pytest_webarena.sites.catalogues.sites_for_tasks import sites_for_tasks
    from pytest_webarena.tasks.validate import find_files, render, validate, with_problems
    from pytest_webarena.trials.long_solutions import with_long_solutions

    files = find_files(options.paths, also=looks_like_catalogue)
    if not files:
        raise UsageError(f"expected task files or catalogues in {', '.join(map(str, options.paths))}, found none")
    catalogues = [path for path in files if looks_like_catalogue(path)]
    named = [] if options.sites_given else [path for path in catalogues if path in options.paths]
    if not named and not options.sites_given and options.sites == DEFAULT_SITES:
        named = catalogues  # catalogues in the folders apply where no ini file names another
    known: KnownSites | None = None
    ledgers: set[str] = set()
    served: set[str] = set()
    live: set[str] = set()
    for catalogue in named or [options.sites]:
        if catalogue not in named or not problems_of(catalogue):
            read = load_catalogue(str(catalogue))
            found = sites_for_tasks(read)
            known = known.merged(found) if known is not None else found
            ledgers.update(site.name for app in read.apps.values() if app.forbid_side_effects for site in app.sites)
            served.update(site.url for site in read.sites.values())
            served.update(read.own_addresses)
            live.update(site.name for app in read.apps.values() if app.backend == LIVE for site in app.sites)
    report = validate([path for path in files if path not in catalogues], sites=known or None)
    if catalogues:
        wrong = [problem for path in catalogues for problem in problems_of(path)]
        report = with_problems(replace(report, files=(*report.files, *catalogues)), wrong)
    site_reports = []
    if options.with_sites:
        from pytest_webarena.commands.validating_sites import validate_on_sites_of

        sources = [str(each) for each in named if not problems_of(each)] if named else [options.sites]
        site_reports = validate_on_sites_of(report, sources, options, all_apps=bool(named))
        report = with_problems(report, [problem for each in site_reports for problem in each.problems])
    print(render(report, options.format))
    notes = (
        *(line for each in site_reports for line in (*each.notes, each.summary)),
        *map(str, report.warnings),
        without_guard(report.tasks, ledgers),
        with_unread_columns(report.tasks),
        with_open_ends(report.tasks),
        with_unread_answers(report.tasks),
        with_literal_numbers(report.tasks),
        with_long_solutions(report.tasks),
        with_unserved_hosts(report.tasks, served, live) if served else "",
    )
    for note in filter(None, notes):
        print(f"note: {note}", file=sys.stderr)
    return 1 if report.problems or (options.answers and not _answers_hold(report.tasks)) else 0


def _answers_hold(tasks: Sequence[Task]) -> bool:
    """Print what attacks on the checks of answers find. Returns whether no wrong answer passes."""
    from pytest_webarena.checks.answer_attacks import attack_answers

    attacks = attack_answers(tasks)
    for flaw in attacks.flaws:
        print(flaw)
    print(attacks.summary())
    return not attacks.wrong.get("met", 0)


def _schema(options: argparse.Namespace) -> int:
    from pytest_webarena.tasks.reference import schema_text

    if options.sites:
        from pytest_webarena.sites.catalogues import reference as sites

        text, what = sites.schema_text(), "catalogue"
    else:
        text, what = (
            schema_text(kinds=None),
            "task file",
        )  # kinds of other packages too, so that editors accept what this installation reads
    if options.write is None:
        print(text, end="")
        return 0
    with writing(options.write, "--write"):
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(text, encoding="utf-8")
    print(f"{options.write} written. As the first line of a {what}, with the path as seen from that file:")
    print(f"  # yaml-language-server: $schema={options.write.as_posix()}")
    return 0


def _import(options: argparse.Namespace) -> int:
    from pytest_webarena.commands.suites import run_import
    from pytest_webarena.results.one_file import is_trial_file

    if is_trial_file(Path(options.suite)):
        raise UsageError(
            f"expected a suite, found a trial of 'webarena runs export' in {options.suite}; use runs import"
        )
    return run_import(options.suite, options.output, options.catalogue)


def _stats(options: argparse.Namespace) -> int:
    from pytest_webarena.commands.suites import run_stats

    return run_stats(options.sources)


def _lint(options: argparse.Namespace) -> int:
    from pytest_webarena.commands.suites import run_lint

    return run_lint(options.sources, options.format)


def _repairs(options: argparse.Namespace) -> int:
    from pytest_webarena.checks.grading import find_grading
    from pytest_webarena.checks.upstream.rules import RULES
    from pytest_webarena.suites.loading import load_suite
    from pytest_webarena.suites.repairs import numbers, render

    find_grading("repaired", options.rule)  # raises for unknown names
    try:
        found, missing = numbers(load_suite(options.suite).tasks), ""
    except UsageError as error:
        found, missing = None, str(error)
    print(render(found, [RULES[name] for name in options.rule or RULES]))
    if missing:
        print(f"\nTheir tasks can't be determined: {missing}", file=sys.stderr)
    return 0
