"""Suites as pytest modules next to files: ``webarena::webarena.12`` is a task, wherever its data is installed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.collection import TaskFile
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.stash import SETTINGS, SUITES
from pytest_webarena.plugin.suite_options import shortened
from pytest_webarena.plugin.xdist import is_worker

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_webarena.tasks.model import Task

__all__ = ["SuiteFile", "SuiteModule", "add_suites", "collect_task_file", "narrow"]


def collect_task_file(file_path: Path, parent: pytest.Collector) -> TaskFile:
    """Return the collector of a file with tasks: see `task_files.holds_tasks`."""
    kind = SuiteFile if file_path.suffix in (".json", ".jsonl") else TaskFile
    return kind.from_parent(parent, path=file_path)


class SuiteFile(TaskFile):
    """A JSON file of tasks in one of the published formats."""

    def load(self) -> Sequence[Task]:
        from pytest_webarena.suites.loading import read_suite_file

        return read_suite_file(self.path)


class SuiteModule(TaskFile):
    """A published suite, which has a place in the tree of tests and none in the file system."""

    wanted: tuple[str, ...] = ()
    """Names of the requested items, with or without the part in brackets; none: all."""

    def load(self) -> Sequence[Task]:
        from pytest_webarena.suites.loading import load_suite

        return load_suite(self.name).tasks

    def collect(self) -> Iterator[TaskItem]:
        found = list(super().collect())
        for name in self.wanted:
            if not any(name in (item.name, item.originalname) for item in found):
                raise self.CollectError(f"not found: {self.name}::{name}")
        for item in found:
            if not self.wanted or item.name in self.wanted or item.originalname in self.wanted:
                yield item

    def place(self, task: Task) -> tuple[Path, int]:
        return self.config.rootpath / self.name, task.location.line

    def shown_path(self, task: Task) -> str:
        return shortened(task.location.path)


def add_suites(session: pytest.Session, nodes: Sequence[Any]) -> list[Any]:
    """Return the session's nodes, with those of suites first.

    ``--lf`` skips files without failures that come after the first one with a failure, and would not find the suites
    there.
    """
    modules: list[Any] = []
    for name, wanted in session.config.stash[SUITES].items():
        # The path decides which conftest.py files apply: those of the directory in which pytest was started.
        module = SuiteModule.from_parent(session, path=session.config.invocation_params.dir, name=name, nodeid=name)
        module.wanted = wanted
        modules.append(module)
    return [*modules, *nodes]


def narrow(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the items that ``--select`` and ``--one-per-template`` select; tests that are not tasks are deselected."""
    suites = config.stash[SETTINGS].suites
    if not suites.choices and suites.sample is None:
        return
    task_items = [item for item in items if isinstance(item, TaskItem)]
    kept = task_items
    for choice in suites.choices:
        try:
            choice.check(item.task for item in task_items)
        except UsageError as error:
            if not is_worker(config):
                raise
            # An error in a worker would end the run with a traceback. Instead nothing is selected, and a warning says
            # why.
            warnings.warn(pytest.PytestWarning(str(error)), stacklevel=1)
        kept = [item for item in kept if choice.holds(item.task)]
    if suites.sample is not None:
        from pytest_webarena.suites.selecting import one_per_template

        sample = one_per_template((item.task for item in kept), suites.sample)
        kept = [item for item in kept if item.task.id in sample]
    stay = set(map(id, kept))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in stay])
    items[:] = kept
