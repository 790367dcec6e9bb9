"""Entry point and parser of the command ``webarena``."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO, cast

from pytest_webarena.commands.project import fill_in
from pytest_webarena.docs_site import docs
from pytest_webarena.errors import TaskFileError, TrialError, UsageError
from pytest_webarena.secrets import scrub
from pytest_webarena.text import printable

__all__ = ["main", "make_parser"]

_GROUPS = {
    "tasks": "check, write, convert and maintain tasks",
    "runs": "list, merge, judge, explain and export runs",
    "compare": "compare agents, plan and save comparisons",
    "sites": "start, inspect, query and archive sites",
    "judge": "measure judge models against people",
}
_COMMANDS = (
    ("tasks", "generate", "generate", "have a model propose tasks for sites"),
    ("tasks", "record", "record", "write a task by doing it"),
    ("tasks", "monitor", "monitor", "check that tasks can still be done"),
    ("tasks", "heal", "heal", "replay solutions and repair their selectors"),
    ("tasks", "side-effects", "side_effects", "list what solutions change on sites"),
    ("tasks", "contamination", "contamination", "test whether a model knows the tasks"),
    ("compare", "tables", "tables", "print success rates as the papers tabulate them"),
    ("sites", "query", "query", "run SQL on a fresh site's database"),
    ("sites", "archive", "archive", "record, list, check and join archives"),
    ("judge", "measure", "judge", "measure a judge on labelled answers"),
    ("judge", "rubric", "rubric", "write rubrics and grade answers by them"),
    ("judge", "annotate", "annotate", "compare people's verdicts with those of checks"),
    ("judge", "guide", "guide", "write guides for reward models"),
)
"""Group, name, module of this package that declares the arguments, and help of each command."""


_INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it for SIGINT."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 success, 1 a problem with what was examined, 2 wrong usage."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options, unknown = make_parser(arguments[:2]).parse_known_args(arguments)
    if unknown:
        options.parser.error(_unknown(unknown, options.parser))
    try:
        fill_in(options)
        with _safe_streams(getattr(options, "format", "")):
            code: int = options.run(options)
    except TaskFileError as error:
        print(printable(scrub(str(error))), file=sys.stderr)
        return 1
    except UsageError as error:
        print(printable(scrub(f"{options.prog}: {error}")), file=sys.stderr)
        return 2
    except TrialError as error:
        print(printable(scrub(f"{options.prog}: {error}")), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{options.prog}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader closed the pipe, such as head
        sys.stderr.close()
        return 0
    return code


def _unknown(words: Sequence[str], parser: argparse.ArgumentParser) -> str:
    suggestions = {
        word: difflib.get_close_matches(word.partition("=")[0], parser._option_string_actions, n=1) for word in words
    }
    hints = ", ".join(found[0] for found in suggestions.values() if found)
    return f"unrecognized arguments: {' '.join(words)}" + (f"; did you mean {hints}?" if hints else "")


class _SafeStream:
    """Stream that changes each text before it is written: masks secrets, or also makes control characters harmless,
    because agents, pages and other people wrote some text."""

    def __init__(self, stream: TextIO, safe: Callable[[str], str]) -> None:
        self._stream = stream
        self._safe = safe

    def write(self, text: str) -> int:
        return self._stream.write(self._safe(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _safe_streams(form: str) -> Iterator[None]:
    """Mask secrets in all output, and make standard output harmless for a terminal or the log of a CI job."""
    watched = sys.stdout.isatty() or os.environ.get("GITHUB_ACTIONS") == "true"
    harmless = watched and form != "github"  # commands for GitHub escape what they quote
    out = _SafeStream(sys.stdout, (lambda text: printable(scrub(text))) if harmless else scrub)
    errors = _SafeStream(sys.stderr, scrub)
    with redirect_stdout(cast("TextIO", out)), redirect_stderr(cast("TextIO", errors)):
        yield


class _ShowVersion(argparse.Action):
    """Prints the version. argparse's own action wants it before anybody has asked, which takes longer than the rest."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"pytest-webarena {version('pytest-webarena')}")
        parser.exit()


def make_parser(chosen: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Args:
        chosen: The group and the command that will be parsed. Only they get their arguments, and only their modules are
            imported. Empty: all.
    """
    parser = argparse.ArgumentParser(
        prog="webarena", description="Companion CLI: write and debug tasks, merge and inspect runs."
    )
    parser.add_argument("--version", action=_ShowVersion, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def module(name: str) -> Any:
        return importlib.import_module(f"pytest_webarena.commands.{name}")

    module("starter").add_command(commands)
    module("view").add_command(commands)
    groups = {
        name: commands.add_parser(name, help=help).add_subparsers(dest="verb", required=True, metavar="COMMAND")
        for name, help in _GROUPS.items()
    }
    agents = commands.add_parser("agents", help="list what --agent understands")
    agents.set_defaults(run=_agents)

    wanted = [name for name in _GROUPS if not chosen or chosen[0] == name]
    if "tasks" in wanted:
        module("task_files").add_commands(groups["tasks"])
        _add_try_arguments(groups["tasks"].add_parser("try", help="debug a task by hand, action by action"))
    if "runs" in wanted:
        module("results").add_commands(groups["runs"])
        module("exporting").add_commands(groups["runs"])
        module("verify").add_command(groups["runs"])
        _add_merge_arguments(groups["runs"].add_parser("merge", help="merge run directories"))
        module("gate").add_command(groups["runs"])
        module("comment").add_command(groups["runs"])
    if "compare" in wanted:
        module("compare").add_commands(groups["compare"])
        module("results").add_gradings(groups["compare"])
    if "sites" in wanted:
        module("sites").add_commands(groups["sites"])
        module("images").add_image_commands(groups["sites"])
    for group, name, file, help in _COMMANDS:
        if group in wanted:
            command = groups[group].add_parser(name, help=help)
            if len(chosen) < 2 or chosen[1] == name:
                module(file).add_arguments(command)
    _name_themselves(parser)
    return parser


def _name_themselves(parser: argparse.ArgumentParser) -> None:
    """Set ``parser`` and ``prog``, the name that begins error messages, in the options of each command."""
    parser.set_defaults(prog=parser.prog, parser=parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _name_themselves(each)


def _add_merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="new run directory")
    parser.add_argument(
        "--allow-mixed", action="store_true", help="merge trials whose conditions differ, and report the differences"
    )
    parser.set_defaults(run=_merge)


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
    from pytest_webarena.commands.tryout import run_tryout  # these modules take long to import

    return run_tryout(options)


def _merge(options: argparse.Namespace) -> int:
    from pytest_webarena.results.merge import merge_runs
    from pytest_webarena.results.rundir import RunDir
    from pytest_webarena.results.unreadable import name_damaged

    merged = merge_runs(options.runs, options.output, allow_mixed=options.allow_mixed)
    print(f"{merged.trials} trials in {options.output}")
    if merged.rejudged:
        print(f"judged twice: {merged.rejudged} trials; the later verdict counts, the earlier one is in their history")
    for folder in merged.contradicted:
        print(f"contradicted: {folder}: one judge gave two verdicts by the same evidence; the later one counts")
    if merged.differing_replies:
        print(
            f"judge's replies: {merged.differing_replies} differ between the runs; those of the verdicts that count "
            "are kept"
        )
    if merged.run_again:
        print(f"run twice: {merged.run_again} trials left out for a later one, or one with a verdict")
    if merged.memories_replaced:
        print(f"memories in several runs: {merged.memories_replaced} left out for ones with a longer history")
    for each in merged.differences:
        print(f"{'mixed' if each.matters else 'differs'}: {each}")
    if merged.unequally_judged:
        print(f"to judge all trials alike: pytest --rescore={options.output} --judge=MODEL")
    if merged.cut_off:
        print(f"cut off: {merged.cut_off} trials that no run has finished; pytest --resume={options.output} runs them")
    run = RunDir(options.output)
    stored = replace(run.read(), unreadable=merged.unreadable)
    return name_damaged(run, stored, every_file=True)


def _agents(options: argparse.Namespace) -> int:
    from pytest_webarena.agents.kinds import kind, kinds
    from pytest_webarena.agents.registry import known_agents
    from pytest_webarena.agents.shipped import agent_directories

    known = known_agents([Path("agents"), *agent_directories()])
    width = max(map(len, known)) + 2
    columns = shutil.get_terminal_size().columns

    def show(name: str, about: str) -> None:
        lines = textwrap.wrap(about, max(columns - width, 40), break_long_words=False, break_on_hyphens=False)
        print(f"{name:<{width}}" + ("\n" + " " * width).join(lines))

    for name, description in known.items():
        about = description
        for folder in agent_directories():
            about = about.replace(f": {folder}/{name}.yaml)", ")")
        show(name, about)
    print(f"\nThe definitions that came with the package, to copy: {', '.join(map(str, agent_directories()))}")
    print(f"\nKinds of definition:\n{docs('bring-your-own')}")
    for name in kinds():
        show(name, kind(name, "agents").about)
    return 0


if __name__ == "__main__":
    sys.exit(main())
