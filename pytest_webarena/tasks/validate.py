"""Validates task files without running anything, and reports every problem for people or machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pytest_webarena.actions import Stop
from pytest_webarena.errors import Problem, UsageError
from pytest_webarena.tasks.loader import read_file
from pytest_webarena.tasks.model import Task
from pytest_webarena.tasks.nodes import DEFAULT_LIMITS, NodeLimits
from pytest_webarena.workflow_commands import annotation
from pytest_webarena.yaml_files import is_named_for_tasks, look_for_tasks, yaml_files_below

__all__ = [
    "FORMATS",
    "Report",
    "duplicate_ids",
    "find_files",
    "render",
    "too_short_limits",
    "validate",
    "with_problems",
]

FORMATS = ("text", "json", "github")
"""Formats of `render`."""

REPORT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of validation."""

    files: tuple[Path, ...]
    tasks: tuple[Task, ...]
    """The valid tasks; all of them when there are no problems."""
    problems: tuple[Problem, ...]
    """Problems in the order of files and lines."""
    warnings: tuple[Problem, ...] = ()
    """Values that are valid but may be a mistake, in the same order."""

    @property
    def valid(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def summary(self) -> str:
        """Returns one line with the number of files, tasks and problems."""
        files = _count(len(self.files), "file")
        if self.valid:
            return f"{files}, {_count(len(self.tasks), 'task')}: no problems"
        wrong = len({problem.path for problem in self.problems})
        problems = f"{_count(len(self.problems), 'problem')} in {_count(wrong, 'file')}"
        return f"{files}, {_count(len(self.tasks), 'valid task')}: {problems}"


def render(report: Report, form: str = "text") -> str:
    """Returns ``report`` for people (``text``), for programs (``json``) or as annotations on GitHub (``github``)."""
    if form == "json":
        data = {
            "schema_version": REPORT_VERSION,
            "files": [str(path) for path in report.files],
            "tasks": len(report.tasks),
            "problems": [asdict(problem) for problem in report.problems],
        }
        return json.dumps(data, indent=2, ensure_ascii=False)
    if form not in FORMATS:
        raise UsageError(f"expected one of the formats {', '.join(FORMATS)}, found {form!r}")
    lines = map(_annotation if form == "github" else str, report.problems)
    return "\n".join([*lines, report.summary()])


def validate(
    paths: Iterable[Path | str], *, sites: Collection[str] | None = None, limits: NodeLimits = DEFAULT_LIMITS
) -> Report:
    """Read task files, and those that pytest would find in folders, and collect all problems.

    ``sites`` are the names that tasks may use; None accepts any. An id used in two files is a problem too.
    """
    files = find_files(paths)
    tasks: list[Task] = []
    problems: list[Problem] = []
    warnings: list[Problem] = []
    for path in files:
        read = read_file(path, sites=sites, limits=limits)
        tasks += read.tasks
        problems += read.problems
        warnings += read.warnings
    report = Report(files=tuple(files), tasks=tuple(tasks), problems=tuple(problems), warnings=tuple(warnings))
    return with_problems(report, [*duplicate_ids(tasks), *too_short_limits(tasks)])


def with_problems(report: Report, problems: Iterable[Problem]) -> Report:
    """Returns ``report`` with further problems, in the order of its files and their lines."""
    places = {str(path): index for index, path in enumerate(report.files)}
    every = sorted(
        (*report.problems, *problems),
        key=lambda problem: (places.get(problem.path, len(places)), problem.line, problem.column),
    )
    return replace(report, problems=tuple(every))


def find_files(paths: Iterable[Path | str], also: Callable[[Path], bool] = lambda _: False) -> list[Path]:
    """Returns the files that ``paths`` name: files with any content, and of folders the task files that pytest would
    find.

    ``also`` selects further files of folders. Each file occurs once.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        below = [path]
        if path.is_dir():
            below = yaml_files_below(
                path, lambda each: is_named_for_tasks(each) or look_for_tasks(each) == "tasks" or also(each)
            )
        found.update(dict.fromkeys(below))
    return list(found)


def duplicate_ids(tasks: Sequence[Task]) -> list[Problem]:
    """Returns a problem for every task whose id a task of another file already has."""
    first: dict[str, Task] = {}
    problems = []
    for task in tasks:
        other = first.setdefault(task.id, task)
        if other.location.path != task.location.path:
            problems.append(
                Problem(
                    path=task.location.path,
                    line=task.location.line,
                    column=task.location.column,
                    expected="an id used once",
                    found=f"'{task.id}' again",
                    hint=f"first in {other.location.path}:{other.location.line}",
                )
            )
    return problems


def too_short_limits(tasks: Sequence[Task]) -> list[Problem]:
    """Returns a problem for every task whose own limit of steps its solution exceeds; the answer is a step, too."""
    problems = []
    for task in tasks:
        needed = sum(not isinstance(step, Stop) for step in task.solution or ()) + 1
        if task.solution is not None and task.limits.steps is not None and task.limits.steps < needed:
            problems.append(
                Problem(
                    path=task.location.path,
                    line=task.location.line,
                    column=task.location.column,
                    expected="a limit of steps that the solution keeps",
                    found=f"limits: {{steps: {task.limits.steps}}} and a solution of {needed} steps with its answer",
                )
            )
    return problems


def _annotation(problem: Problem) -> str:
    hint = f" ({problem.hint})" if problem.hint else ""
    message = f"expected {problem.expected}, found {problem.found}{hint}"
    return annotation("error", message, title="task file", file=problem.path, line=problem.line, column=problem.column)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
