"""``webarena compare``: whether one agent is better than another."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.commands.results import RUN_DIR, run_asked_for
from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from pytest_webarena.results.comparing.sides import Side

__all__ = ["add_commands", "share"]

_COLOURS = {"green": "32", "red": "31", "yellow": "33", "bold": "1"}


def add_commands(commands: Any) -> None:
    """Add the commands to ``argparse``'s sub-parsers."""
    compare = commands.add_parser("compare", help="whether one agent is better than another, task by task")
    compare.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help="run directories or baselines; the first is what the others "
        "are held against. One alone: its agents, against the first of them (default: the newest run here)",
    )  # fmt: skip
    compare.add_argument(
        "--agent", action="append", default=[], metavar="NAME", help="only these; the others are held against the first"
    )
    compare.add_argument("--confidence", type=share, default=0.95, metavar="C", help="of intervals (default: 95)")
    compare.add_argument("--allow-mixed", action="store_true", help="compare what is no comparison, and say so")
    compare.add_argument("--all", action="store_true", help="name all tasks that went otherwise")
    compare.add_argument("--markdown", action="store_true", help="print Markdown, as for $GITHUB_STEP_SUMMARY")
    compare.add_argument("--json", action="store_true", help="print JSON")
    compare.add_argument("--html", type=Path, metavar="FILE", help="write a page: tasks as dots, trials side by side")
    compare.set_defaults(run=_compare)

    baseline = commands.add_parser("baseline", help="small files that later runs are held against").add_subparsers(
        dest="subcommand", required=True, metavar="COMMAND"
    )
    save = baseline.add_parser("save", help="write what a run came to as a file that can be committed")
    save.add_argument("run_dir", **RUN_DIR)
    save.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="e.g. baseline.json")
    save.add_argument("--agent", action="append", default=[], metavar="NAME", help="only these agents of the run")
    save.set_defaults(run=_save)


def share(text: str) -> float:
    """A confidence, as 95 or 0.95."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = 0.0
    value = value / 100 if value > 1 else value
    if not 0.5 <= value < 1:
        raise argparse.ArgumentTypeError(f"expected a confidence from 50 to 99.9 per cent, as 95, found {text!r}")
    return value


def _compare(options: argparse.Namespace) -> int:
    from pytest_webarena.results.comparing.comparison import choose, compare_all
    from pytest_webarena.results.comparing.wording import in_markdown, in_words, plain

    if options.markdown and options.json:
        raise UsageError("expected one of --markdown and --json, found both")
    sides = _sides(options.runs)
    found = compare_all(choose(sides, options.agent), confidence=options.confidence, allow_mixed=options.allow_mixed)
    if options.json:
        print(json.dumps([plain(each) for each in found], indent=1))
    elif options.markdown:
        print("\n".join(in_markdown(found)))
    else:
        colour = sys.stdout.isatty()
        for number, each in enumerate(found):
            print("\n" * bool(number), end="")
            for line in in_words(each, shown=sys.maxsize if options.all else 5):
                code = _COLOURS.get(line.mark, "") if colour else ""
                print(f"\x1b[{code}m{line.text}\x1b[0m" if code else line.text)
    if options.html is not None:
        from pytest_webarena.results.comparing.page import write_page

        try:
            write_page(found, options.html)
        except OSError as error:
            raise UsageError(f"--html {options.html}: expected a place for a file, found: {error.strerror}") from None
        print(f"page: {options.html}", file=sys.stderr)
    return 0


def _save(options: argparse.Namespace) -> int:
    from pytest_webarena.results.comparing.baseline import save_baseline
    from pytest_webarena.results.comparing.sides import sides_of
    from pytest_webarena.results.wording import size_words

    sides = sides_of(run_asked_for(options))
    known = ", ".join(side.name for side in sides)
    for name in options.agent:
        if not any(name in (side.name, side.agent) for side in sides):
            raise UsageError(f"--agent: expected one of {known}, found {name!r}")
    kept = [side for side in sides if not options.agent or {side.name, side.agent} & set(options.agent)]
    try:
        size = save_baseline(kept, options.output)
    except OSError as error:
        raise UsageError(f"-o {options.output}: expected a place for a file, found: {error.strerror}") from None
    for side in kept:
        judged = sum(judged for _, judged in side.counts)
        errors = f", {side.errors} errors beside" if side.errors else ""
        print(f"{side.name}: {sum(passed for passed, _ in side.counts)}/{judged} passed{errors}")
    print(f"{options.output} ({size_words(size)})")
    return 0


def _sides(runs: Sequence[Path]) -> list[list[Side]]:
    from pytest_webarena.results.comparing.baseline import sides_at
    from pytest_webarena.results.listing import chosen_run

    paths: Sequence[Path] = runs
    if not runs:
        paths = [chosen_run(None)]
        print(f"of {paths[0]}", file=sys.stderr)
    names = [path.resolve().name for path in paths]
    return [
        sides_at(path, label=name if names.count(name) == 1 else str(path))
        for path, name in zip(paths, names, strict=True)
    ]
