"""``webarena tasks heal``: replay solutions, and repair selectors that match nothing any more, as a diff."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import SiteMissing, TrialError, UsageError

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import Catalogue
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.runtime import Runtime

__all__ = ["Healed", "add_arguments", "heal"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("tasks", nargs="+", metavar="TASKS", help="task files, folders, or FILE::ID")
    parser.add_argument("--write", action="store_true", help="change the files instead of printing the changes")
    parser.add_argument(
        "--trust-place", action="store_true",
        help="accept elements that only their place identifies",
    )  # fmt: skip
    parser.add_argument("--sites", metavar="CATALOGUE", help="sites to use (default: the ini file's, or embedded)")
    parser.add_argument("--browser-executable", metavar="PATH", help="browser to use (default: as for pytest)")
    parser.set_defaults(run=_run)


@dataclass(slots=True, kw_only=True)
class Healed:
    """Result of healing one task."""

    task: Task
    lines: list[str] = field(default_factory=list)
    """Output lines: each step, and the results of the checks."""
    changes: list[Any] = field(default_factory=list)
    """The task's changed steps, as `Change` objects."""
    unsure: list[int] = field(default_factory=list)
    """Numbers, from 1, of the steps whose element is identified by its position only."""
    works: bool = False
    """Whether the solution, original or healed, ran to its end and the task's checks pass."""


def _run(options: argparse.Namespace) -> int:
    from pytest_webarena.commands.monitor import tasks_named
    from pytest_webarena.commands.playing import open_runtime
    from pytest_webarena.sites.catalogues.loading import load_catalogue

    tasks = tasks_named(options.tasks)
    catalogue = load_catalogue(options.sites)
    done: list[Healed] = []
    untried = 0
    with open_runtime(options.sites, headed=False, executable=options.browser_executable) as runtime:
        for task in tasks:
            why = _why_not(task, catalogue)
            result = Healed(task=task) if why else _healed(task, runtime)
            print("\n".join([f"{task.id}: {why}" if why else f"{task.id}:", *result.lines]), flush=True)
            untried += bool(why)
            if not why:
                done.append(result)
    unsure = [] if options.trust_place else [each for each in done if each.works and each.unsure]
    not_written = _rewrite(
        [each for each in done if each.works and each.changes and each not in unsure], write=options.write
    )
    broken = [each.task.id for each in done if not each.works]
    _print_summary(done, broken, not_written, untried)
    _print_unsure(unsure)
    return 1 if broken or not_written or unsure or not done else 0


def _why_not(task: Task, catalogue: Catalogue) -> str:
    """Why a task is not tried; empty when it is."""
    from pytest_webarena.monitoring.checking import untried_reason

    if not task.solution:
        return "not tried: it has no solution"
    why = untried_reason(task, catalogue)
    return f"not tried: {why}" if why else ""


def _healed(task: Task, runtime: Runtime) -> Healed:
    try:
        return heal(task, runtime)
    except (TrialError, SiteMissing) as error:
        return Healed(task=task, lines=[f"  error ({error.cause}): {error}"])


def heal(task: Task, runtime: Runtime) -> Healed:
    """Replay the solution of ``task`` on fresh sites and heal its steps where necessary.

    The checks decide: a solution that does not pass them must not be rewritten.
    """
    from pytest_webarena.monitoring.findings import checks_only_answer
    from pytest_webarena.recorder.replaying import replay_solution
    from pytest_webarena.recorder.rewriting import Change
    from pytest_webarena.trials.tryout import tryout

    result = Healed(task=task)
    with tryout(task, runtime, lambda _: None, Path("tryout")) as trying:
        last = None
        for last in replay_solution(task.solution or (), trying, trying.sites):
            result.lines.append(f"  {last}")
            if last.unsure:
                result.unsure.append(last.number + 1)
            if last.healed and last.done is not None:
                result.changes.append(Change(number=last.number, step=last.done, before=last.before))
        if last is None or last.done is None:
            result.lines.append(f"  the replay ends there, at {trying.url or 'its first page'}")
            return result
        verdict = trying.verdict()
        result.works = bool(verdict.passed)
        result.lines += [f"  {line}" for line in verdict.render(100).splitlines()]
        if not result.works and result.changes:
            result.lines.append("  nothing is rewritten: it is not proved that the found elements are the right ones")
        elif result.changes and all(map(checks_only_answer, task.checks)):
            result.lines.append("  review the repairs: the checks test only the answer, which the solution contains")
    return result


def _rewrite(healed: Sequence[Healed], *, write: bool) -> int:
    """Print the changes of each file, and write them if ``write``; return the number of unchanged tasks."""
    not_written = 0
    by_file: dict[str, list[Healed]] = {}
    for each in healed:
        by_file.setdefault(each.task.location.path, []).append(each)
    for name, tasks in by_file.items():
        before, after, wrong = _file_rewritten(name, tasks)
        print("".join(_diff(before, after, name)), end="")
        if write and after != before:
            Path(name).write_bytes(after.encode("utf-8"))
        not_written += wrong if write else len(tasks)
    return not_written


def _file_rewritten(name: str, healed: Sequence[Healed]) -> tuple[str, str, int]:
    """A file's text before and after, and the number of tasks that could not be rewritten."""
    from pytest_webarena.recorder.rewriting import rewritten
    from pytest_webarena.tasks import parse_tasks

    try:
        before = after = Path(name).read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        print(f"{name}: expected a task file to rewrite, found none: {error}", file=sys.stderr)
        return "", "", len(healed)
    wrong = 0
    instances = parse_tasks(before, path=name)
    for template in dict.fromkeys(_template(each.task) for each in healed):
        of_template = [each for each in healed if _template(each.task) == template]
        others = {task.id for task in instances if _template(task) == template} - {each.task.id for each in of_template}
        try:
            if others:
                raise ValueError(f"it is a template, and these were not healed with it: {', '.join(sorted(others))}")
            now = next(task for task in parse_tasks(after, path=name) if task.id == of_template[0].task.id)
            made = rewritten(after, now, of_template[0].changes, name)  # earlier changes may have moved its lines
            written = {task.id: task.solution for task in parse_tasks(made, path=name)}
            if any(list(written[each.task.id] or ()) != _wanted(each) for each in of_template):
                raise ValueError("its instances need different repairs")
            after = made
        except ValueError as error:
            wrong += len(of_template)
            print(f"{template}: not rewritten: {error}", file=sys.stderr)
    return before, after, wrong


def _template(task: Task) -> str:
    return task.template or task.id


def _wanted(healed: Healed) -> list[object]:
    """The solution after healing."""
    wanted: list[object] = []
    by_number = {change.number: change for change in healed.changes}
    for number, step in enumerate(healed.task.solution or ()):
        change = by_number.get(number)
        wanted += [*change.before, change.step] if change is not None else [step]
    return wanted


def _diff(before: str, after: str, name: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name, name)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]


def _print_summary(done: Sequence[Healed], broken: Sequence[str], not_written: int, untried: int) -> None:
    healed = [each for each in done if each.works and each.changes]
    counts = [f"{len(done) - len(healed) - len(broken)} as recorded", f"{len(healed)} healed"]
    counts += [f"{len(broken)} not healed: {', '.join(broken)}"] if broken else []
    counts += [f"{untried} not tried"] if untried else []
    what = "1 solution" if len(done) == 1 else f"{len(done)} solutions"
    print(f"{what} replayed: " + ", ".join(counts), file=sys.stderr)
    if not_written and healed:
        print("the files are as they were; --write rewrites them", file=sys.stderr)
    if not done:
        raise UsageError("expected tasks with solutions on sites of the catalogue, found none")


def _print_unsure(unsure: Sequence[Healed]) -> None:
    for each in unsure:
        which = f"step{'s' if len(each.unsure) > 1 else ''} {', '.join(map(str, each.unsure))}"
        kept = ", so nothing of it is rewritten" if each.changes else ""
        print(
            f"{each.task.id}: only its place identifies the element of {which}"
            f"{kept}: name it by its text, or check it and use --trust-place",
            file=sys.stderr,
        )
