"""``webarena …``: everything that is not a test run."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO, cast

from pytest_webarena.commands import (
    archive,
    changes,
    check,
    guide,
    heal,
    ideas,
    judge,
    labels,
    memorised,
    query,
    record,
    rubric,
    tables,
)
from pytest_webarena.commands.compare import add_commands as add_compare_commands
from pytest_webarena.commands.gate import add_command as add_gate_command
from pytest_webarena.commands.images import add_image_commands
from pytest_webarena.commands.project import fill_in
from pytest_webarena.commands.results import add_commands
from pytest_webarena.commands.sites import add_commands as add_site_commands
from pytest_webarena.commands.starter import add_command as add_starter_command
from pytest_webarena.commands.task_files import add_commands as add_task_file_commands
from pytest_webarena.commands.view import add_command as add_view_command
from pytest_webarena.docs_site import docs
from pytest_webarena.errors import TaskFileError, TrialError, UsageError
from pytest_webarena.text import printable

__all__ = ["main", "make_parser"]


_COMMANDS = (
    ("record", record, "make a task by doing it, or read a solution out of a trial"),
    ("ideas", ideas, "have a model think of tasks; tasks of people's answers"),
    ("check", check, "whether tasks can still be done as they say; keeps what it found"),
    ("heal", heal, "replay solutions, and rewrite selectors that find nothing any more, as a diff"),
    ("changes", changes, "what solutions changed on the sites, as a check that lists it"),
    ("query", query, "what a fresh site's database says, as CSV"),
    ("judge", judge, "measure a judge model with labelled answers before it is trusted"),
    ("rubric", rubric, "rubrics: have their items written, compare a judge's points with people's"),
    ("labels", labels, "what people say of trials beside what their checks say"),
    ("guide", guide, "have a model write guides to tasks, for reward models that judge by them"),
    ("memorised", memorised, "whether a model goes on with the text of tasks as they do; no verdict"),
    ("archive", archive, "archives of sites: record, ls, check, add"),
    ("tables", tables, "success rates of runs as the papers tabulate them"),
)
"""Name, the module that has the rest of it, help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 something is wrong with what was looked at, 2 wrong usage."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        fill_in(options)
        with _shown_plainly(getattr(options, "format", "")):
            code: int = options.run(options)
    except TaskFileError as error:
        print(printable(str(error)), file=sys.stderr)
        return 1
    except UsageError as error:
        print(printable(f"webarena {options.command}: {error}"), file=sys.stderr)
        return 2
    except TrialError as error:
        print(printable(f"webarena {options.command}: {error}"), file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader had enough
        sys.stderr.close()
        return 0
    return code


class _Plainly:
    """A stream whose text acts on nothing: agents, pages and authors of runs have written some of it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _shown_plainly(form: str) -> AbstractContextManager[Any]:
    """Inside, what is printed is safe for the terminal, or the CI job's log, that shows it; files get it exactly."""
    watched = sys.stdout.isatty() or os.environ.get("GITHUB_ACTIONS") == "true"
    if form == "github" or not watched:  # commands for GitHub escape what they quote
        return nullcontext()
    return redirect_stdout(cast("TextIO", _Plainly(sys.stdout)))


def make_parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    parser = argparse.ArgumentParser(
        prog="webarena", description="Beside pytest: check and try out task files, join and look at runs."
    )
    parser.add_argument("--version", action="version", version=f"pytest-webarena {version('pytest-webarena')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    add_starter_command(commands)

    add_task_file_commands(commands)

    merge = commands.add_parser("merge", help="join the run directories of shards or of resumed runs")
    merge.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR")
    merge.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="new run directory")
    merge.add_argument(
        "--allow-mixed", action="store_true", help="join trials that differ in what a rate is made of; told beside it"
    )
    merge.set_defaults(run=_merge)
    add_gate_command(commands)

    add_view_command(commands)

    _add_try_arguments(commands.add_parser("try", help="try a task out by hand, its checks judged after every action"))
    for name, module, help in _COMMANDS:
        module.add_arguments(commands.add_parser(name, help=help))

    add_commands(commands)
    add_compare_commands(commands)
    add_site_commands(commands)
    add_image_commands(commands)

    agents = commands.add_parser("agents", help="list what --agent understands")
    agents.set_defaults(run=_agents)
    return parser


def _add_try_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "task", metavar="FILE::ID", help="a task as pytest names it, e.g. tasks/notes.yaml::grocery-note"
    )
    parser.add_argument("--sites", metavar="CATALOGUE", help="sites to use (default: the ini file's, or embedded)")
    parser.add_argument("--headed", action="store_true", help="show the browser's window and judge while you use it")
    parser.add_argument("--solution", action="store_true", help="replay the solution, judge, and leave; for scripts")
    parser.add_argument(
        "--go-on", action="store_true", help="do the steps of the solution that work, then read commands at that page"
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write what was done, however it was done, as a solution"
    )
    parser.add_argument("--browser-executable", metavar="PATH", help="browser to use (default: as for pytest)")
    parser.add_argument(
        "--pictures", type=Path, default=Path("tryout"), metavar="DIR", help="for screenshots (default: tryout)"
    )
    parser.set_defaults(run=_try)


def _try(options: argparse.Namespace) -> int:
    from pytest_webarena.commands.tryout import run_tryout  # what plays a task takes long to import

    return run_tryout(options)


def _merge(options: argparse.Namespace) -> int:
    from pytest_webarena.results.merge import merge_runs
    from pytest_webarena.results.unreadable import name_unreadable

    merged = merge_runs(options.runs, options.output, allow_mixed=options.allow_mixed)
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
