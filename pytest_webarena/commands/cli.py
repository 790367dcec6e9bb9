"""``webarena …``: everything that is not a test run."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from pytest_webarena.commands.compare import add_commands as add_compare_commands
from pytest_webarena.commands.gate import add_command as add_gate_command
from pytest_webarena.commands.images import add_image_commands
from pytest_webarena.commands.project import DEFAULT_SITES, fill_in
from pytest_webarena.commands.results import add_commands
from pytest_webarena.commands.sites import add_commands as add_site_commands
from pytest_webarena.commands.starter import add_command as add_starter_command
from pytest_webarena.commands.view import add_command as add_view_command
from pytest_webarena.docs_site import docs
from pytest_webarena.errors import TaskFileError, TrialError, UsageError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 something is wrong with what was looked at, 2 wrong usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        fill_in(options)
        code: int = options.run(options)
    except TaskFileError as error:
        print(error, file=sys.stderr)
        return 1
    except UsageError as error:
        print(f"webarena {options.command}: {error}", file=sys.stderr)
        return 2
    except TrialError as error:
        print(f"webarena {options.command}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader had enough
        sys.stderr.close()
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="webarena", description="Beside pytest: check and try out task files, join and look at runs."
    )
    parser.add_argument("--version", action="version", version=f"pytest-webarena {version('pytest-webarena')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    add_starter_command(commands)

    validate = commands.add_parser("validate", help="check task files and catalogues and report every problem")
    validate.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a task file, a catalogue, or a directory of them"
    )
    validate.add_argument("--format", choices=("text", "json", "github"), default="text", help="default: text")
    validate.add_argument(
        "--sites",
        metavar="CATALOGUE",
        help="catalogue whose sites are known (default: one named beside the tasks, the ini file's, or embedded)",
    )
    validate.set_defaults(run=_validate)

    schema = commands.add_parser("schema", help="print the JSON schema of task files, for editors")
    schema.add_argument("--write", type=Path, metavar="PATH", help="write it there instead of printing it")
    schema.add_argument("--sites", action="store_true", help="of catalogue files instead")
    schema.set_defaults(run=_schema)

    importing = commands.add_parser(
        "import",
        help="write a published suite, or its JSON, as YAML task files; or a trial of 'webarena export' as a run",
    )
    importing.add_argument(
        "suite", metavar="SUITE|TRIAL", help="a published suite, a JSON file in one of their formats, or a trial's file"
    )
    importing.add_argument(
        "-o", "--output", type=Path, required=True, metavar="PATH",
        help="a folder (a file per site), or a .yaml file; of a trial: its new run directory",
    )  # fmt: skip
    importing.add_argument(
        "--catalogue", type=Path, metavar="FILE",
        help="of tasks recorded on the living web (mind2web-live:FILE): also a catalogue of its sites, for --sites",
    )  # fmt: skip
    importing.set_defaults(run=_import)

    tasks = commands.add_parser("tasks", help="what suites and task files hold").add_subparsers(
        dest="subcommand", required=True, metavar="COMMAND"
    )
    stats = tasks.add_parser("stats", help="how tasks are distributed: by site, category, evaluation, template")
    stats.add_argument("sources", nargs="+", metavar="SUITE|PATH", help="suites, task files, or folders of them")
    stats.set_defaults(run=_stats)
    lint = tasks.add_parser("lint", help="what is wrong with key nodes, found without a network")
    lint.add_argument("sources", nargs="+", metavar="SUITE|PATH", help="suites, task files, or folders of them")
    lint.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    lint.set_defaults(run=_lint)

    merge = commands.add_parser("merge", help="join the run directories of shards or of resumed runs")
    merge.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR")
    merge.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="new run directory")
    merge.add_argument(
        "--allow-mixed", action="store_true", help="join trials that differ in what a rate is made of; told beside it"
    )
    merge.set_defaults(run=_merge)
    add_gate_command(commands)

    add_view_command(commands)

    attempt = commands.add_parser("try", help="try a task out by hand, its checks judged after every action")
    attempt.add_argument(
        "task", metavar="FILE::ID", help="a task as pytest names it, e.g. tasks/notes.yaml::grocery-note"
    )
    attempt.add_argument("--sites", metavar="CATALOGUE", help="sites to use (default: the ini file's, or embedded)")
    attempt.add_argument("--headed", action="store_true", help="show the browser's window and judge while you use it")
    attempt.add_argument("--solution", action="store_true", help="replay the solution, judge, and leave; for scripts")
    attempt.add_argument(
        "--go-on", action="store_true", help="do the steps of the solution that work, then read commands at that page"
    )
    attempt.add_argument(
        "--record", type=Path, metavar="FILE", help="write what was done, however it was done, as a solution"
    )
    attempt.add_argument("--browser-executable", metavar="PATH", help="browser to use (default: as for pytest)")
    attempt.add_argument(
        "--pictures", type=Path, default=Path("tryout"), metavar="DIR", help="for screenshots (default: tryout)"
    )
    attempt.set_defaults(run=_try)

    from pytest_webarena.commands import record

    record.add_arguments(
        commands.add_parser("record", help="make a task by doing it, or read a solution out of a trial")
    )

    from pytest_webarena.commands import ideas

    ideas.add_arguments(commands.add_parser("ideas", help="have a model think of tasks; tasks of people's answers"))

    from pytest_webarena.commands import check

    check.add_arguments(
        commands.add_parser("check", help="whether tasks can still be done as they say; keeps what it found")
    )

    from pytest_webarena.commands import heal

    heal.add_arguments(
        commands.add_parser(
            "heal", help="replay solutions, and rewrite selectors that find nothing any more, as a diff"
        )
    )

    from pytest_webarena.commands import changes

    changes.add_arguments(
        commands.add_parser("changes", help="what solutions changed on the sites, as a check that lists it")
    )

    from pytest_webarena.commands import query

    query.add_arguments(commands.add_parser("query", help="what a fresh site's database says, as CSV"))

    from pytest_webarena.llm_judge import command as judge_command

    judge_command.add_arguments(
        commands.add_parser("judge", help="measure a judge model with labelled answers before it is trusted")
    )

    from pytest_webarena.llm_judge import rubric_command

    rubric_command.add_arguments(
        commands.add_parser("rubric", help="rubrics: have their items written, compare a judge's points with people's")
    )

    from pytest_webarena.commands import labels

    labels.add_arguments(commands.add_parser("labels", help="what people say of trials beside what their checks say"))

    from pytest_webarena.commands import guide

    guide.add_arguments(
        commands.add_parser("guide", help="have a model write guides to tasks, for reward models that judge by them")
    )

    from pytest_webarena.commands import memorised

    memorised.add_arguments(
        commands.add_parser("memorised", help="whether a model goes on with the text of tasks as they do; no verdict")
    )

    from pytest_webarena.commands import archive

    archive.add_arguments(commands.add_parser("archive", help="archives of sites: record, ls, check, add"))

    repairs = commands.add_parser("repairs", help="list what --grading=repaired repairs, and which tasks it touches")
    repairs.add_argument("rule", nargs="*", metavar="RULE", help="default: all of them")
    repairs.add_argument("--suite", default="webarena", metavar="NAME", help="whose tasks to name (default: webarena)")
    repairs.set_defaults(run=_repairs)

    add_commands(commands)
    add_compare_commands(commands)
    add_site_commands(commands)
    add_image_commands(commands)

    from pytest_webarena.results import tables

    tables.add_arguments(commands.add_parser("tables", help="success rates of runs as the papers tabulate them"))

    agents = commands.add_parser("agents", help="list what --agent understands")
    agents.set_defaults(run=_agents)
    return parser


def _validate(options: argparse.Namespace) -> int:
    from pytest_webarena.checks.side_effects import without_guard
    from pytest_webarena.sites.catalogues.loading import load_catalogue, looks_like_catalogue, problems_of
    from pytest_webarena.tasks.validate import find_files, render, validate

    files = find_files(options.paths, also=looks_like_catalogue)
    catalogues = [path for path in files if looks_like_catalogue(path)]
    named = [] if options.sites_given else [path for path in catalogues if path in options.paths]
    if not named and not options.sites_given and options.sites == DEFAULT_SITES:
        named = catalogues  # found in a folder, where no ini file says another one
    known: dict[str, Collection[str] | None] = {}
    ledgers: set[str] = set()
    for catalogue in named or [options.sites]:
        if catalogue not in named or not problems_of(catalogue):
            read = load_catalogue(str(catalogue))
            known.update(read.accounts)
            ledgers.update(site.name for app in read.apps.values() if app.ledger for site in app.sites)
    report = validate([path for path in files if path not in catalogues], sites=known or None)
    if catalogues:
        wrong = [problem for path in catalogues for problem in problems_of(path)]
        report = replace(report, files=(*report.files, *catalogues), problems=(*report.problems, *wrong))
    print(render(report, options.format))
    if told := without_guard(report.tasks, ledgers):
        print(f"note: {told}", file=sys.stderr)
    return 1 if report.problems else 0


def _schema(options: argparse.Namespace) -> int:
    from pytest_webarena.tasks.reference import schema_text

    if options.sites:
        from pytest_webarena.sites.catalogues import reference as sites

        text, what = sites.schema_text(), "catalogue"
    else:
        text, what = (
            schema_text(kinds=None),
            "task file",
        )  # kinds of other packages too: what this installation reads is what editors accept
    if options.write is None:
        print(text, end="")
        return 0
    try:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--write {options.write}: expected a place for a file, found: {error.strerror}") from None
    print(f"{options.write} written. As the first line of a {what}, with the path as seen from that file:")
    print(f"  # yaml-language-server: $schema={options.write.as_posix()}")
    return 0


def _import(options: argparse.Namespace) -> int:
    from pytest_webarena.results.one_file import is_trial_file, unpack_trial
    from pytest_webarena.suites.commands import run_import

    if not is_trial_file(Path(options.suite)):
        return run_import(options.suite, options.output, options.catalogue)
    if options.catalogue is not None:
        raise UsageError("--catalogue: expected a suite of tasks, found a trial of 'webarena export'")
    key = unpack_trial(Path(options.suite), options.output)
    print(f"{key.task} by {key.agent}, trial {key.trial}, is a run in {options.output}")
    tasks = " ".join(str(file) for file in sorted((options.output / "tasks").glob("*")))
    print(f"  pytest --rescore={options.output} {tasks or 'TASKS'}", f"  webarena view {options.output}", sep="\n")
    return 0


def _stats(options: argparse.Namespace) -> int:
    from pytest_webarena.suites.commands import run_stats

    return run_stats(options.sources)


def _lint(options: argparse.Namespace) -> int:
    from pytest_webarena.suites.commands import run_lint

    return run_lint(options.sources, options.format)


def _merge(options: argparse.Namespace) -> int:
    from pytest_webarena.results.export import export
    from pytest_webarena.results.merge import merge_runs
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.unreadable import name_unreadable

    merged = merge_runs(options.runs, options.output, allow_mixed=options.allow_mixed)
    export(RunDir(options.output))
    print(
        f"{merged.trials} trials in {options.output}"
        + (f", {merged.replaced} superseded left out" if merged.replaced else "")
    )
    if merged.memories_replaced:
        print(f"memories in several runs: {merged.memories_replaced} left out for ones with a longer history")
    for each in merged.differences:
        print(f"{'mixed' if each.matters else 'differs'}: {each}")
    if merged.cut_off:
        print(f"cut off: {merged.cut_off} trials that no run has finished; pytest --resume={options.output} runs them")
    return name_unreadable(merged.unreadable)


def _try(options: argparse.Namespace) -> int:
    from pytest_webarena.commands.tryout import run_tryout

    return run_tryout(options)


def _repairs(options: argparse.Namespace) -> int:
    from pytest_webarena.checks.grading import find_grading
    from pytest_webarena.checks.upstream.rules import RULES
    from pytest_webarena.suites.loading import load_suite
    from pytest_webarena.suites.repairs import numbers, render

    find_grading("repaired", options.rule)  # names that don't exist are told there
    try:
        found, missing = numbers(load_suite(options.suite).tasks), ""
    except UsageError as error:
        found, missing = None, str(error)
    print(render(found, [RULES[name] for name in options.rule or RULES]))
    if missing:
        print(f"\nTheir tasks can't be told: {missing}", file=sys.stderr)
    return 0


def _agents(options: argparse.Namespace) -> int:
    from pytest_webarena.agents.kinds import kind, kinds
    from pytest_webarena.agents.registry import known_agents
    from pytest_webarena.agents.shipped import agent_directories

    known = known_agents([Path("agents"), *agent_directories()])
    width = max(map(len, known)) + 2
    columns = shutil.get_terminal_size().columns

    def tell(name: str, about: str) -> None:
        lines = textwrap.wrap(about, max(columns - width, 40), break_long_words=False, break_on_hyphens=False)
        print(f"{name:<{width}}" + ("\n" + " " * width).join(lines))

    for name, said in known.items():
        about = said
        for folder in agent_directories():
            about = about.replace(f": {folder}/{name}.yaml)", ")")
        tell(name, about)
    print(f"\nThe definitions that came with the package, to copy: {', '.join(map(str, agent_directories()))}")
    print(f"\nKinds of definition, which this page tells of:\n{docs('bring-your-own')}")
    for name in kinds():
        tell(name, kind(name, "agents").about)
    return 0


if __name__ == "__main__":
    sys.exit(main())
