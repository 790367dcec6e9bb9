"""``webarena judge rubric``: have a model write rubrics, have people grade answers, compare people and judge."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_webarena.checks.computed.rubric import RubricSpec
from pytest_webarena.checks.computed.rubric_files import write_rubric
from pytest_webarena.commands.judge import add_judge_arguments, judge_settings
from pytest_webarena.errors import UsageError, closest, writing
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm_judge.config import DEFAULT_BAR
from pytest_webarena.llm_judge.human_points import sheet, study
from pytest_webarena.llm_judge.judge import Judge
from pytest_webarena.llm_judge.measuring import store_measurement
from pytest_webarena.llm_judge.rubric_authoring import author, prompt_version
from pytest_webarena.llm_judge.rubric_report import render_rubrics
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.suites.arb import PREFIX
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.model import Check, Task

__all__ = ["add_arguments", "rubric_file"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    writing = commands.add_parser("author", help="have a model write rubrics from solutions")
    writing.add_argument("tasks", nargs="+", metavar="FILE[::ID]", help="tasks with a rubric's solution; arb:FILE too")
    writing.add_argument("--model", required=True, metavar="MODEL", help="model that writes; use a strong one")
    add_judge_arguments(writing)
    writing.add_argument("--force", action="store_true", help="also where there are items already")
    writing.add_argument("--prices", type=Path, metavar="FILE", help="your price table, as for pytest")
    writing.set_defaults(run=_author)

    empty = commands.add_parser("sheet", help="write a CSV file for people's grades")
    empty.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    empty.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: RUN_DIR/points.csv")
    empty.set_defaults(run=_sheet)

    comparing = commands.add_parser("compare", help="compare people's points with the judge's")
    comparing.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    comparing.add_argument("points", type=Path, metavar="CSV", help="the sheet of this run, filled in")
    comparing.add_argument(
        "--judge-min-kappa",
        type=float,
        default=DEFAULT_BAR,
        metavar="KAPPA",
        help=f"exit with 1 below it ({DEFAULT_BAR})",
    )
    comparing.add_argument(
        "--remember", action="store_true", help="for runs with this judge, in place of its labelled answers"
    )
    comparing.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    comparing.set_defaults(run=_compare)


def rubric_file(task: Task) -> Path:
    """Return the file for a task's rubric items, next to the task's file; suites look for them there."""
    return Path(task.location.path).parent / "rubrics" / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', task.id)}.yaml"


def _author(options: argparse.Namespace) -> int:
    settings = judge_settings(options)
    models = ModelSettings(prices=options.prices)
    settings.check(models, where="")
    judge = Judge(settings, models)
    found = list(_found(options.tasks))  # all errors in the arguments are reported before anything is paid for
    for task, spec in found:
        file = rubric_file(task)
        if (spec.items or file.exists()) and not options.force:
            print(f"{task.id}: has items already (--force rewrites them)")
            continue
        items = author(judge, intent=task.intent, solution=spec.solution)
        write_rubric(file, items, task=task.id, authored={"model": settings.model, "prompt": prompt_version()})
        suite = task.source.get("suite") == "arb"
        then = "" if suite else f"; then let the task's rubric say 'file: rubrics/{file.name}'"
        print(f"{task.id}: {len(items)} items in {file}. Read them{then}")
    return 0


def _found(names: Sequence[str]) -> Iterator[tuple[Task, RubricSpec]]:
    for name in names:
        place, _, id = name.partition("::")
        tasks = load_suite(place).tasks if place.startswith(PREFIX) else load_tasks(Path(place))
        rubrics = {task.id: (task, spec) for task in tasks if (spec := _spec(task.checks)) is not None}
        if id and id not in rubrics:
            if any(task.id == id for task in tasks):
                raise UsageError(f"{name}: expected a task with a check 'rubric'")
            raise UsageError(f"{place}: {closest(id, [task.id for task in tasks])}")
        wanted = [rubrics[id]] if id else list(rubrics.values())
        if not wanted:
            raise UsageError(f"{place}: expected tasks with a check 'rubric', found none")
        for task, spec in wanted:
            if not spec.solution:
                raise UsageError(f"{place}::{task.id}: expected a 'solution' in its rubric, to write the items from")
            yield task, spec


def _spec(checks: Sequence[Check]) -> RubricSpec | None:
    for check in checks:
        if isinstance(check.spec, RubricSpec):
            return check.spec
        if (inside := _spec(check.children)) is not None:
            return inside
    return None


def _sheet(options: argparse.Namespace) -> int:
    text = sheet(_run_dir(options.run_dir))
    count = text.count("\n") - 1
    if count < 1:
        raise UsageError(f"{options.run_dir}: expected trials with rubrics that a judge graded, found none")
    target = options.output or options.run_dir / "points.csv"
    with writing(target):
        target.write_text(text, encoding="utf-8", errors="replace")
    print(f"{target}: fill in the column 'points', then webarena judge rubric compare {options.run_dir} {target}")
    return 0


def _compare(options: argparse.Namespace) -> int:
    if not 0 <= options.judge_min_kappa <= 1:
        raise UsageError(f"--judge-min-kappa: expected a kappa from 0 to 1, found {options.judge_min_kappa:g}")
    found = study(_run_dir(options.run_dir), options.points)
    if options.format == "json":
        print(json.dumps({**found.measurement.to_json(), "left_out": list(found.left_out)}, indent=1))
    else:
        print(render_rubrics(found.measurement, bar=options.judge_min_kappa, people=True))
        for each in found.left_out:
            print(f"left out: {each}")
    if options.remember:
        kept = store_measurement(found.measurement)
        print(f"\nremembered for runs with --judge={found.measurement.judge.model}: {kept}", file=sys.stderr)
    kappa = found.measurement.kappa
    return 0 if kappa is not None and kappa >= options.judge_min_kappa else 1


def _run_dir(path: Path) -> RunDir:
    run = RunDir(path)
    run.finished()  # raises if it is not a run
    return run
