"""Notes on tasks whose solution has more steps than a trial by default."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_webarena.tasks.model import Task
from pytest_webarena.trials.episode import EpisodeLimits

__all__ = ["with_long_solutions"]

_NAMED = 5
"""Number of tasks that a note names."""


def with_long_solutions(tasks: Sequence[Task]) -> str:
    """Return a note on tasks whose solution is longer than the default limit; empty if there are none."""
    found: dict[str, None] = {}
    limit = EpisodeLimits().steps
    for task in tasks:
        steps = len(task.solution or ())
        if task.limits.steps is None and steps > limit:
            found[f"{task.template or task.id} ({steps} steps with the answer)"] = None
    if not found:
        return ""
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return (
        f"the solution is longer than the default limit of {limit} steps in {', '.join(list(found)[:_NAMED])}{more}: "
        "set 'limits: {steps: N}' in the task"
    )
