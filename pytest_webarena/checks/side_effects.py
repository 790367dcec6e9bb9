"""The rule that no task has to write down: who is only to look, or to say that it can't be done, changes nothing.

It holds for tasks of one's own, on sites whose manifest says ``ledger: true``; nobody's published gradings know it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_webarena.changes import SiteChanges
from pytest_webarena.checks.changes import NOTHING, judge_changes
from pytest_webarena.checks.grading import gradings_of
from pytest_webarena.checks.kind import Judgement
from pytest_webarena.tasks.model import Check, Task

__all__ = ["PATH", "only_looks", "side_effects", "wants_ledger"]

PATH = "side effects"
"""Where the result stands in a verdict, among those of the checks that the task lists."""


def only_looks(task: Task) -> str:
    """Why nothing may change, if nothing may: what the task says of itself; empty otherwise."""
    if any(getattr(check.spec, "unachievable", "") for check in _leaves(task.checks)):
        return "the task can't be done"
    return "mutates: false" if task.mutates is False else ""


def wants_ledger(task: Task) -> bool:
    """Whether what changed may count in judging ``task``: it is one of our own kind, not of a published suite's."""
    return not gradings_of(task)


def side_effects(task: Task, changes: Sequence[SiteChanges] | None) -> Judgement | None:
    """What the rule says; None where it says nothing: of another suite's tasks, of sites that keep no ledger, and of
    tasks that list their changes.

    Of sites that the task does not list, nothing may change whatever it is.
    """
    if changes is None or not wants_ledger(task) or any(check.kind == "changes" for check in _leaves(task.checks)):
        return None
    why = only_looks(task)
    counted = [app for app in changes if app.strict and (why or not app.listed)]
    if not counted:
        return None
    where = "" if why else " on sites that the task does not list"
    expected = f"nothing has changed{where}" + (f" ({why})" if why else "")
    return judge_changes(NOTHING, counted, expected=expected)


def _leaves(checks: Sequence[Check]) -> Iterator[Check]:
    for check in checks:
        if check.children:
            yield from _leaves(check.children)
        else:
            yield check
