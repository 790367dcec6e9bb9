"""Warnings before the first trial about known problems of a run, with advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_webarena.checks.judging import needs_judge
from pytest_webarena.plugin.reporting.summary_lines import plural
from pytest_webarena.plugin.stash import SETTINGS

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.plugin.items import TaskItem

__all__ = ["undecided_lines"]


def undecided_lines(config: pytest.Config, items: Sequence[TaskItem]) -> list[str]:
    """Return how many tasks will have no verdict without a judge model, with the two remedies."""
    settings = config.stash[SETTINGS]
    if settings.judge.model or settings.audit or settings.offline or not settings.agents_given:
        return []
    tasks = {item.task.id: item.task for item in items}
    open_ones = sum(needs_judge(task, settings.options.grading) for task in tasks.values())
    if not open_ones:
        return []
    return [
        f"webarena: {open_ones} of {plural(len(tasks), 'task')} need a judge model, and --judge names none: what can't "
        "be compared letter by letter stays undecided, an error",
        "webarena: name one now (--judge=MODEL), or judge the run when it is over (pytest --rescore=RUN --judge=MODEL)",
    ]
