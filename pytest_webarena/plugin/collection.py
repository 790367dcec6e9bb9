"""Task files as pytest modules: every task becomes a real test function, made by pytest itself."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.agents.registry import agent_id
from pytest_webarena.errors import TaskFailed, TaskFileError, TrialError, UsageError
from pytest_webarena.plugin import auditing
from pytest_webarena.plugin.reporting import outcomes
from pytest_webarena.plugin.reporting.labels import behaviour_labels
from pytest_webarena.plugin.runner import run_task
from pytest_webarena.plugin.stash import CATALOGUE, SETTINGS, SITES
from pytest_webarena.results import TrialKey
from pytest_webarena.sites.catalogues.external import why_not_lent
from pytest_webarena.suites.selecting import evaluation_types, is_achievable, suite_of
from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.images import why_not_shown
from pytest_webarena.tasks.placeholders import readable

if TYPE_CHECKING:
    from pytest_webarena.agents.audit_trials import AuditTrial
    from pytest_webarena.tasks.model import Task

__all__ = ["MISSING_SITES", "TaskFile", "TaskItem", "collect_task_file", "parametrize_tasks"]

MISSING_SITES = "the catalogue has no site"
"""How the reason begins for which tasks of suites are skipped, those that were imported included."""


def collect_task_file(file_path: Path, parent: pytest.Collector) -> TaskFile:
    """The collector of a file that holds tasks: see `task_files.holds_tasks`."""
    if file_path.suffix != ".json":
        return TaskFile.from_parent(parent, path=file_path)
    from pytest_webarena.plugin.suite_items import SuiteFile

    return SuiteFile.from_parent(parent, path=file_path)


def parametrize_tasks(metafunc: pytest.Metafunc) -> None:
    """One item per agent and trial. A single agent or trial leaves the node id short."""
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
    """One YAML file, shown to pytest as a module that holds one test function per task."""

    def load(self) -> Sequence[Task]:
        """The file's tasks. Raises `TaskFileError`, or `UsageError` when there is nothing to read."""
        return load_tasks(self.path, sites=known_sites(self.config))

    def place(self, task: Task) -> tuple[Path, int]:
        """Path and line by which pytest knows a task."""
        return self.path, task.location.line

    def shown_path(self, task: Task) -> str:
        """The file as people are shown it."""
        return _relative_to_here(str(self.path), self.path)

    def _getobj(self) -> types.ModuleType:
        module = types.ModuleType(self.path.stem)
        try:
            tasks = self.load()
        except (TaskFileError, UsageError, pytest.UsageError) as error:
            raise self.CollectError(_relative_to_here(str(error), self.path)) from None
        labels = self.config.pluginmanager.hasplugin("allure_pytest")
        known = known_sites(self.config)
        for task in tasks:
            missing = [site for site in task.leased if known is not None and site not in known]
            function = _as_function(task, allure_labels=labels, missing=missing, refused=refusal(task, self.config))
            setattr(module, task.id, function)
        if self.config.stash[SETTINGS].audit:
            auditing.plan([vars(module)[task.id] for task in tasks], self.config)
        return module

    def collect(self) -> Iterator[TaskItem]:
        """What pytest made of the functions, with our item class in place of its own."""
        for item in super().collect():
            assert isinstance(item, pytest.Function)  # the module holds nothing else
            yield TaskItem.from_parent(
                self,
                name=item.name,
                callspec=getattr(item, "callspec", None),
                callobj=item.obj,
                fixtureinfo=item._fixtureinfo,
                originalname=item.originalname,
                keywords=item.keywords,
            )


class TaskItem(pytest.Function):
    """One trial of one agent at one task."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.extra_keyword_matches.update(self.task.tags)
        if self.task.known_issue:
            self.extra_keyword_matches.add("known-issue")

    @property
    def task(self) -> Task:
        """The task this item runs; in an audit with the solution that its agent replays."""
        planned = self.planned
        task: Task = self.function.task if planned is None else planned.task
        return task

    @property
    def planned(self) -> AuditTrial | None:
        """What ``--audit`` expects of this item; None in ordinary runs."""
        return auditing.planned(self.function, self.agent_name, self.trial)

    @property
    def agent_name(self) -> str:
        """The agent as ``--agent`` named it."""
        name: str = self._params.get("webarena_agent_name", self.config.stash[SETTINGS].agents[0])
        return name

    @property
    def trial(self) -> int:
        """Which try this is, from 1."""
        number: int = self._params.get("trial", 1)
        return number

    @property
    def key(self) -> TrialKey:
        """What identifies its trial in records."""
        return TrialKey(self.task.id, agent_id(self.agent_name), self.trial)

    @property
    def _params(self) -> dict[str, Any]:
        return self.callspec.params if hasattr(self, "callspec") else {}

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the task stands in its file; the last one heads a failure, above the intent."""
        path, line = self.file.place(self.task)
        return path, line - 1, f"{self.name} ({Path(self.file.shown_path(self.task)).name}:{line})"

    @property
    def file(self) -> TaskFile:
        """The file or suite it is from."""
        assert isinstance(self.parent, TaskFile)
        return self.parent

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """A verdict or a sentence for what users should read; a traceback for the unexpected."""
        if isinstance(excinfo.value, TaskFailed | TrialError):
            error = excinfo.value
            text = f"error ({error.cause}): {error}" if isinstance(error, TrialError) else str(error)
            if self.task.known_issue:
                text += f"\nknown issue of this task: {self.task.known_issue}"
            style = self.config.getoption("tbstyle", "auto")
            path = self.file.shown_path(self.task)
            return outcomes.failure_text(text, path, self.task.location.line, style=style)
        return super().repr_failure(excinfo)


def known_sites(config: pytest.Config) -> Mapping[str, Collection[str]] | None:
    """The catalogue's sites with the names of their accounts.

    Read once. Raises `pytest.UsageError` for a bad catalogue, which ends the run at its start if it was named on the
    command line, and else is an error of each task file. None when a finished run is judged again: that
    needs no sites, nor the catalogue that it was run with.
    """
    if config.stash[SETTINGS].rescore is not None:
        return None
    if SITES not in config.stash:
        from pytest_webarena.sites.catalogues.loading import load_catalogue

        try:
            settings = config.stash[SETTINGS]
            config.stash[CATALOGUE] = load_catalogue(settings.catalogue, site_urls=settings.site_urls)
            config.stash[SITES] = config.stash[CATALOGUE].accounts
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[SITES]


def expected_visits(config: pytest.Config, items: Iterable[pytest.Item]) -> Mapping[str, Mapping[str, int]]:
    """Site to account to how many trials among ``items`` visit the site so."""
    from pytest_webarena.trials.visits import count_visits

    trials = [item.task for item in items if isinstance(item, TaskItem)]
    return count_visits(trials, config.stash[CATALOGUE]) if CATALOGUE in config.stash else {}


def refusal(task: Task, config: pytest.Config) -> str:
    """Why this run must not run ``task``: its sites can't be reset, its images not be loaded; empty when it may."""
    settings = config.stash[SETTINGS]
    if known_sites(config) is None:
        return ""
    catalogue = config.stash[CATALOGUE]
    if not settings.allow_unreset and (refused := why_not_lent(catalogue, task)):
        return refused
    if settings.options.fetch_images or not task.images:
        return ""
    return why_not_shown(task, {catalogue.sites[site].host for site in task.leased if site in catalogue.sites})


def _as_function(
    task: Task, *, allure_labels: bool, missing: Sequence[str] = (), refused: str = ""
) -> types.FunctionType:
    """A function of its own per task, so that marks and pytest's bookkeeping have something to hold on to."""
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
        marks.append(pytest.mark.skip(reason=f"{MISSING_SITES} {', '.join(missing)} (--sites)"))
    if task.skip:
        marks.append(pytest.mark.skip(reason=task.skip))
    if task.xfail:
        marks.append(pytest.mark.xfail(reason=task.xfail, raises=TaskFailed))
    function.__dict__.update(task=task, refused=refused, __test__=True, pytestmark=[mark.mark for mark in marks])
    function.__doc__ = readable(task.intent, task.leased)
    return function


def _relative_to_here(text: str, path: Path) -> str:
    """Long absolute paths hide the message at 80 columns."""
    try:
        return text.replace(str(path), str(path.relative_to(Path.cwd())))
    except ValueError:
        return text
