"""What a task's checks imply about its answer: the form that agents must use, and the chance of a blind guess."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pytest_webarena.checks.grading import Grading, headline_of
from pytest_webarena.checks.kind import Kind
from pytest_webarena.tasks.kinds import find_kind
from pytest_webarena.tasks.model import Check, Task

__all__ = ["answer_form", "chance_of"]


def answer_form(task: Task, grading: Grading) -> str:
    """Returns the instructions on the form of the final answer, in the words of the checks that judge it."""
    name = headline_of(task, grading.name)
    checks = task.gradings.get(name, task.checks) if name is not None else task.checks
    return "\n\n".join(dict.fromkeys(_asked(checks)))


def _asked(checks: Sequence[Check]) -> Iterator[str]:
    for check in checks:
        if check.kind == "not":
            continue
        if check.children:
            yield from _asked(check.children)
        elif (kind := _kind(check)) is not None and kind.asks is not None:
            yield kind.asks(check.spec)


def chance_of(task: Task) -> float | None:
    """Returns the probability that a blind guess passes the task; None where nothing can be guessed, or it is
    unknown."""
    if task.score != "product" or task.threshold < 1:
        return None
    found = [_chance(check) for check in task.checks]
    return None if None in found or not found else math.prod(each for each in found if each is not None)


def _chance(check: Check) -> float | None:
    if check.children:
        alone = len(check.children) == 1 and check.kind != "not"
        return _chance(check.children[0]) if alone else None  # several guesses may depend on each other
    kind = _kind(check)
    return kind.chance(check.spec) if kind is not None and kind.chance is not None else None


def _kind(check: Check) -> Kind[object] | None:
    kind = find_kind(check.kind)
    return kind if isinstance(kind, Kind) else None
