"""``webarena tasks import``, ``webarena tasks stats`` and ``webarena tasks lint``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_webarena.docs_site import docs
from pytest_webarena.errors import TaskFileError, UsageError
from pytest_webarena.shipped import shipped
from pytest_webarena.suites.export import export
from pytest_webarena.suites.lint import lint
from pytest_webarena.suites.live_catalogue import write_live_catalogue
from pytest_webarena.suites.loading import is_suite, load_suite
from pytest_webarena.suites.published import SHIPPED
from pytest_webarena.suites.stats import distribution
from pytest_webarena.tasks import validate
from pytest_webarena.tasks.model import Task

__all__ = ["run_import", "run_lint", "run_stats", "tasks_of"]


def run_import(source: str, output: Path, catalogue: Path | None = None) -> int:
    """Write a suite as YAML, and optionally a ``catalogue`` of its live sites. Returns the exit code."""
    sites = 0
    try:
        if catalogue is not None:
            if catalogue.absolute() == output.absolute():
                raise UsageError(f"expected two files for -o and --catalogue, found {output} for both")
            sites = write_live_catalogue(load_suite(source).tasks, source, catalogue)
        try:
            files = export(source, output)
        except (TaskFileError, UsageError):
            if catalogue is not None:
                catalogue.unlink()  # otherwise a second attempt would refuse to overwrite it
            raise
    except TaskFileError as error:
        print(error)
        return 1
    if catalogue is not None:
        print(f"{catalogue}: {sites} live sites; pytest … --sites={catalogue}, see {docs('live')}")
    for file in files:
        print(f"{file.path}: {file.tasks} tasks")
    print(f"{sum(file.tasks for file in files)} tasks written; the data stays its authors', see {docs('suites')}")
    return 0


def run_stats(sources: Sequence[str]) -> int:
    """Print the distribution of the tasks of suites, files and folders. Returns the exit code."""
    code = 0
    for number, source in enumerate(sources):
        try:
            tasks = tasks_of(source)
        except TaskFileError as error:
            print(error)
            code = 1
            continue
        if not tasks:
            raise UsageError(f"expected tasks, found none in {source}")
        print("\n".join([*([""] if number else []), *distribution(source, tasks)]))
    return code


def run_lint(sources: Sequence[str], form: str) -> int:
    """Print the faults in the key nodes of suites, files and folders. Returns 1 when something has to be corrected."""
    tasks = [task for source in sources for task in tasks_of(source)]
    report = lint(tasks)
    if not report.tasks:
        raise UsageError(f"expected tasks with key nodes, found none among the {len(tasks)} of {', '.join(sources)}")
    print(report.render(form))
    return 1 if report.faults else 0


def tasks_of(source: str) -> tuple[Task, ...]:
    """Return the tasks of a suite, a file or a folder. Raises `TaskFileError` with all their errors."""
    path = Path(source)
    if source == SHIPPED and not path.exists() and (folder := shipped("tasks")) is not None:
        path = folder
    elif is_suite(source) or not path.exists():
        return load_suite(source).tasks
    report = validate([path])
    if report.problems:
        raise TaskFileError(report.problems)
    return report.tasks
