"""``webarena compare agents``, ``sample-size`` and ``baseline``: whether one agent is better than another."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.commands.results import RUN_DIR, requested_run
from pytest_webarena.errors import UsageError, writing

if TYPE_CHECKING:
    from pytest_webarena.results.comparing.sides import Side

__all__ = ["add_commands", "share"]

_FORMATS = ("text", "markdown", "latex", "csv", "json")
_COLOURS = {"green": "32", "red": "31", "yellow": "33", "bold": "1"}


def add_commands(commands: Any) -> None:
    """Add the commands to the sub-parsers of ``webarena compare``."""
    compare = commands.add_parser("agents", help="compare agents task by task")
    compare.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help="run directories or baselines; the others are compared "
        "with the first. A single run: its agents, compared with its first (default: the newest run here)",
    )  # fmt: skip
    compare.add_argument(
        "--agent",
        action="append",
        default=[],
        metavar="NAME",
        help="only these; the others are compared with the first",
    )
    compare.add_argument("--confidence", type=share, default=0.95, metavar="C", help="of intervals (default: 95)")
    compare.add_argument("--allow-mixed", action="store_true", help="compare runs of different conditions, with a note")
    compare.add_argument("--all", action="store_true", help="name all tasks with different results")
    compare.add_argument("--format", choices=_FORMATS, help="default: text")
    compare.add_argument("--markdown", action="store_true", help="short for --format=markdown")
    compare.add_argument("--json", action="store_true", help="short for --format=json")
    compare.add_argument("--html", type=Path, metavar="FILE", help="write a page: tasks as dots, trials side by side")
    compare.set_defaults(run=_compare)

    power = commands.add_parser("sample-size", help="plan the trials that show a difference")
    power.add_argument("--baseline", type=Path, metavar="FILE|RUN", help="what is known so far (default: newest run)")
    power.add_argument("--difference", type=_points, default=0.05, metavar="POINTS", help="to be shown (default: 5)")
    power.add_argument("--agent", metavar="NAME", help="which agent of the baseline (default: its first)")
    power.add_argument("--power", type=share, default=0.8, metavar="P", help="chance to find it (default: 80)")
    power.add_argument("--confidence", type=share, default=0.95, metavar="C", help="as of compare (default: 95)")
    power.add_argument("--both", action="store_true", help="both sides are run again (default: against the baseline)")
    power.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    power.set_defaults(run=_power)

    baseline = commands.add_parser("baseline", help="save the figures of a run").add_subparsers(
        dest="subcommand", required=True, metavar="COMMAND"
    )
    save = baseline.add_parser("save", help="write the figures of a run")
    save.add_argument("run_dir", **RUN_DIR)
    save.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="e.g. baseline.json")
    save.add_argument("--agent", action="append", default=[], metavar="NAME", help="only these agents of the run")
    save.set_defaults(run=_save)


def share(text: str) -> float:
    """Parse a confidence, such as 95 or 0.95, as a number in [0.5, 1)."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = 0.0
    value = value / 100 if value > 1 else value
    if not 0.5 <= value < 1:
        raise argparse.ArgumentTypeError(f"expected a confidence from 50 to 99.9 per cent, as 95, found {text!r}")
    return value


def _points(text: str) -> float:
    """Parse a difference in percentage points, such as 5, as a share."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = 0.0
    if not 0 < value <= 100:
        raise argparse.ArgumentTypeError(f"expected percentage points above 0 up to 100, as 5, found {text!r}")
    return value / 100


def _compare(options: argparse.Namespace) -> int:
    from pytest_webarena.results.comparing.comparison import choose, compare_all
    from pytest_webarena.results.comparing.paper_table import comparison_csv, comparison_table
    from pytest_webarena.results.comparing.plain_form import plain
    from pytest_webarena.results.comparing.wording import in_markdown, in_words
    from pytest_webarena.results.table_forms import as_latex

    form = _format(options)
    sides = _sides(options.runs)
    refused: list[str] = []
    found = compare_all(
        choose(sides, options.agent), confidence=options.confidence, allow_mixed=options.allow_mixed, refused=refused
    )
    if options.html is not None:
        from pytest_webarena.results.comparing.page import write_page

        with writing(options.html, "--html"):
            write_page(found, options.html)
        print(f"page: {options.html}", file=sys.stderr)
    if form == "json":
        print(json.dumps([plain(each) for each in found], indent=1))
    elif form == "markdown":
        print("\n".join(in_markdown(found)))
    elif form == "latex":
        print(as_latex([comparison_table(found)]))
    elif form == "csv":
        print(comparison_csv(found), end="")
    else:
        colour = sys.stdout.isatty()
        for number, each in enumerate(found):
            print("\n" * bool(number), end="")
            for line in in_words(each, shown=sys.maxsize if options.all else 5):
                code = _COLOURS.get(line.mark, "") if colour else ""
                print(f"\x1b[{code}m{line.text}\x1b[0m" if code else line.text)
    if refused:
        raise UsageError("\n".join(refused))  # after the comparisons that could be made
    return 0


def _format(options: argparse.Namespace) -> str:
    named = [name for name in ("markdown", "json") if getattr(options, name)]
    given = list(dict.fromkeys([*named, *filter(None, [options.format])]))
    if len(given) > 1:
        raise UsageError(f"expected one format, found {' and '.join(given)}")
    return given[0] if given else "text"


def _power(options: argparse.Namespace) -> int:
    from pytest_webarena.results.comparing.baseline import sides_at
    from pytest_webarena.results.comparing.planning import ground_of, need_of, smallest_difference
    from pytest_webarena.results.listing import chosen_run
    from pytest_webarena.results.wording import dollars, seconds_words

    path = options.baseline or chosen_run(None, with_rates=True)
    sides = sides_at(path)
    known = ", ".join(side.name for side in sides)
    kept = [side for side in sides if options.agent in (None, side.name, side.agent)]
    if not kept:
        raise UsageError(f"--agent: expected one of {known}, found {options.agent!r}")
    if not kept[0].counts:
        raise UsageError(f"{path}: expected trials of {kept[0].name} with a verdict, found none")
    ground = ground_of(kept[0])
    how = {"power": options.power, "confidence": options.confidence, "both": options.both}
    needs = need_of(ground, options.difference, **how)
    smallest = {
        each.trials: smallest_difference(ground, tasks=ground.tasks, trials=each.trials, **how) for each in needs
    }
    if options.format == "json":
        found = [
            {"trials": each.trials, "tasks": each.tasks, "cost": each.cost, "seconds": each.seconds,
             "smallest_difference_here": smallest[each.trials]}
            for each in needs
        ]  # fmt: skip
        print(json.dumps({"difference": options.difference, "tasks_here": ground.tasks, "designs": found}, indent=1))
        return 0
    print(
        f"To show a difference of {options.difference * 100:g} points to {kept[0].name} of {kept[0].run}\n"
        f"({options.power:.0%} of the time, at {100 * options.confidence:.4g}% confidence, "
        f"{'both sides run again' if options.both else 'the baseline as it is'}):\n"
    )
    head = f"on these {ground.tasks} tasks"
    print(f"  {'trials':>6}  {'tasks':>7}  {'all':>8}  {'cost':>10}  {'one by one':>12}  {head}")
    for each in needs:
        small = f"{smallest[each.trials] * 100:.1f} points" if smallest[each.trials] < 1 else "none"
        if each.tasks is None:
            print(f"  {each.trials:>6}  {'–':>7}  {'–':>8}  {'–':>10}  {'–':>12}  {small}")
            continue
        runs = each.tasks * each.trials * (2 if options.both else 1)
        cost = dollars(each.cost) if each.cost is not None else "unknown"
        took = seconds_words(each.seconds) if each.seconds is not None else ""
        print(f"  {each.trials:>6}  {each.tasks:>7,}  {runs:>8,}  {cost:>10}  {took:>12}  {small}")
    print("\nThe last column: the smallest difference that so many trials can show.")
    if ground.single:
        print("With one trial per task, chance can't be separated: all variation counts as chance.")
    return 0


def _save(options: argparse.Namespace) -> int:
    from pytest_webarena.results.comparing.baseline import save_baseline
    from pytest_webarena.results.comparing.sides import sides_of
    from pytest_webarena.results.wording import mixed_words, size_words

    sides = sides_of(requested_run(options))
    known = ", ".join(side.name for side in sides)
    for name in options.agent:
        if not any(name in (side.name, side.agent) for side in sides):
            raise UsageError(f"--agent: expected one of {known}, found {name!r}")
    kept = [side for side in sides if not options.agent or {side.name, side.agent} & set(options.agent)]
    with writing(options.output, "-o"):
        size = save_baseline(kept, options.output)
    for side in kept:
        judged = sum(judged for _, judged in side.counts)
        errors = f", {side.errors} errors excluded" if side.errors else ""
        missing = f", {side.missing_text}" if side.missing else ""
        mixed = f", {mixed_words(side.mixed)}" if side.mixed else ""
        print(f"{side.name}: {sum(passed for passed, _ in side.counts)}/{judged} passed{errors}{missing}{mixed}")
    print(f"{options.output} ({size_words(size)})")
    return 0


def _sides(runs: Sequence[Path]) -> list[list[Side]]:
    from pytest_webarena.results.comparing.baseline import sides_at
    from pytest_webarena.results.listing import chosen_run

    paths: Sequence[Path] = runs
    if not runs:
        paths = [chosen_run(None, with_rates=True)]
        print(f"of {paths[0]}", file=sys.stderr)
    names = [path.resolve().name for path in paths]
    return [
        sides_at(path, label=name if names.count(name) == 1 else str(path))
        for path, name in zip(paths, names, strict=True)
    ]
