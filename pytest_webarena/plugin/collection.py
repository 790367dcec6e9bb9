"""Task files as pytest modules, with a real test function for every task."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import TaskFailed, TaskFileError, TaskFileWarning, UsageError
from pytest_webarena.plugin import auditing
from pytest_webarena.plugin.catalogue import known_sites, refusal
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.reporting.labels import behaviour_labels
from pytest_webarena.plugin.runner import run_task
from pytest_webarena.plugin.stash import SETTINGS
from pytest_webarena.suites.selecting import evaluation_types, is_achievable, suite_of
from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.placeholders import readable

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Task

__all__ = ["MISSING_SITES", "TaskFile", "parametrize_tasks"]

MISSING_SITES = "the catalogue has no site"
"""Beginning of the reason for skipping tasks of suites, including imported ones."""


def parametrize_tasks(metafunc: pytest.Metafunc) -> None:
    """Create one item per agent and trial. With a single agent or trial, it is not part of the node id.

    Browsers are pytest-playwright's: the runner requests its ``browser_name``, which is always part of the node id.
    """
    if not isinstance(metafunc.definition.parent, TaskFile):
        return
    settings = metafunc.config.stash[SETTINGS]
    if settings.audit:
        auditing.parametrize(metafunc)
        return
    if len(settings.agents) > 1:
        _parametrize(metafunc, "webarena_agent_name", settings.agents, list(settings.agents))
    if settings.trials > 1:
        numbers = range(1, settings.trials + 1)
        _parametrize(metafunc, "trial", numbers, [f"trial{number}" for number in numbers])


def _parametrize(metafunc: pytest.Metafunc, name: str, values: Iterable[object], ids: list[str]) -> None:
    metafunc.fixturenames.append(name)  # the function has no such argument; the runner reads the callspec
    metafunc.parametrize(name, values, ids=ids)


class TaskFile(pytest.Module):
    """A YAML file as a pytest module with one test function per task."""

    def load(self) -> Sequence[Task]:
        """Return the file's tasks. Raises `TaskFileError`, or `UsageError` when there is nothing to read."""
        return load_tasks(self.path, sites=known_sites(self.config, self))

    def place(self, task: Task) -> tuple[Path, int]:
        """Return a task's path and line for pytest."""
        return self.path, task.location.line

    def shown_path(self, task: Task) -> str:
        """Return the file's path for messages."""
        return _relative_to_here(str(self.path), self.path)

    def _getobj(self) -> types.ModuleType:
        module = types.ModuleType(self.path.stem)
        try:
            tasks = self.load()
            known = known_sites(self.config, self)
        except (TaskFileError, TaskFileWarning, UsageError, pytest.UsageError) as error:
            raise self.CollectError(_relative_to_here(str(error), self.path)) from None
        labels = self.config.pluginmanager.hasplugin("allure_pytest")
        for task in tasks:
            missing = [site for site in task.leased if known is not None and site not in known]
            refused = _relative_to_here(refusal(task, self), self.path)
            function = _as_function(task, allure_labels=labels, missing=missing, refused=refused)
            setattr(module, task.id, function)
        if self.config.stash[SETTINGS].audit:
            auditing.plan([vars(module)[task.id] for task in tasks], self.config)
        return module

    def collect(self) -> Iterator[TaskItem]:
        """Yield pytest's items for the functions, with this plugin's item class."""
        for item in super().collect():
            assert isinstance(item, pytest.Function)  # the module contains nothing else
            yield TaskItem.from_parent(
                self,
                name=item.name,
                callspec=getattr(item, "callspec", None),
                callobj=item.obj,
                fixtureinfo=item._fixtureinfo,
                originalname=item.originalname,
                keywords=item.keywords,
            )


def _as_function(
    task: Task, *, allure_labels: bool, missing: Sequence[str] = (), refused: str = ""
) -> types.FunctionType:
    """A separate function per task, so that each has its own marks and attributes."""
    function = types.FunctionType(run_task.__code__, run_task.__globals__, task.id)
    facts: dict[str, Any] = {
        "category": task.category,
        "template": task.template,
        "mutates": task.mutates,
        "achievable": is_achievable(task),
        "suite": suite_of(task),
    }
    marks = [
        pytest.mark.webarena(site=site, evaluation=kind, **facts)
        for site in task.sites or ("",)
        for kind in evaluation_types(task)
    ]
    if allure_labels:
        labels = behaviour_labels(
            task=task.id, template=task.template, sites=task.sites, tags=task.tags, category=task.category
        )
        marks += [pytest.mark.allure_label(value, label_type=kind) for kind, value in labels]
    if missing:
        # All tasks of a suite of live sites get the same reason, because each of them has other sites.
        which = "of the live web; 'webarena tasks import … --catalogue FILE' writes one that has"
        which = which if "hosts" in task.source else ", ".join(missing)
        marks.append(pytest.mark.skip(reason=f"{MISSING_SITES} {which} (--sites)"))
    if task.skip:
        marks.append(pytest.mark.skip(reason=task.skip))
    if task.xfail:
        marks.append(pytest.mark.xfail(reason=task.xfail, raises=TaskFailed))
    function.__dict__.update(task=task, refused=refused, __test__=True, pytestmark=[mark.mark for mark in marks])
    function.__doc__ = readable(task.intent, task.leased)
    return function


def _relative_to_here(text: str, path: Path) -> str:
    """``text`` with the path relative to the current directory, because long paths hide the message at 80 columns."""
    try:
        return text.replace(str(path), str(path.relative_to(Path.cwd())))
    except ValueError:
        return text
