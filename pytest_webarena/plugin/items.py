"""pytest items of tasks: one per agent, trial and browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_webarena.agents.registry import agent_id
from pytest_webarena.errors import TaskFailed, TrialError, UsageError
from pytest_webarena.plugin import auditing
from pytest_webarena.plugin.reporting import outcomes
from pytest_webarena.plugin.stash import SETTINGS
from pytest_webarena.results import TrialKey
from pytest_webarena.results.records import DEFAULT_BROWSER

if TYPE_CHECKING:
    from pytest_webarena.agents.audit_trials import AuditTrial
    from pytest_webarena.plugin.collection import TaskFile
    from pytest_webarena.tasks.model import Task

__all__ = ["TaskItem"]


class TaskItem(pytest.Function):
    """One trial of one agent at one task, in one browser."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.extra_keyword_matches.update(self.task.tags)
        if self.task.known_issue:
            self.extra_keyword_matches.add("known-issue")

    @property
    def task(self) -> Task:
        """The task of this item; in an audit, with the solution that its agent replays."""
        planned = self.planned
        task: Task = self.function.task if planned is None else planned.task
        return task

    @property
    def planned(self) -> AuditTrial | None:
        """The trial of the ``--audit`` plan; None in ordinary runs."""
        return auditing.planned(self.function, self.agent_name, self.trial)

    @property
    def agent_name(self) -> str:
        """The agent's name, as for ``--agent``."""
        name: str = self._params.get("webarena_agent_name", self.config.stash[SETTINGS].agents[0])
        return name

    @property
    def trial(self) -> int:
        """The number of the trial, from 1."""
        number: int = self._params.get("trial", 1)
        return number

    @property
    def browser(self) -> str:
        """The browser's name, as for ``--browser``."""
        name: str = self._params.get("browser_name", DEFAULT_BROWSER)
        return name

    @property
    def key(self) -> TrialKey:
        """The key of its trial in records."""
        return TrialKey(self.task.id, agent_id(self.agent_name), self.trial, self.browser)

    @property
    def _params(self) -> dict[str, Any]:
        return self.callspec.params if hasattr(self, "callspec") else {}

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the task's place in its file, and the heading of its failures, above the intent."""
        path, line = self.file.place(self.task)
        return path, line - 1, f"{self.name} ({Path(self.file.shown_path(self.task)).name}:{line})"

    @property
    def file(self) -> TaskFile:
        """The file or suite of the task."""
        return cast("TaskFile", self.parent)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Return a verdict or an error message for expected errors, and a traceback for others."""
        if isinstance(excinfo.value, TaskFailed | TrialError | UsageError):
            error = excinfo.value
            text = f"error ({error.cause}): {error}" if isinstance(error, TrialError) else str(error)
            if self.task.known_issue:
                text += f"\nknown issue of this task: {self.task.known_issue}"
            style = self.config.getoption("tbstyle", "auto")
            path = self.file.shown_path(self.task)
            return outcomes.failure_text(text, path, self.task.location.line, style=style)
        return super().repr_failure(excinfo)
