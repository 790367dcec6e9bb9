"""What a task's checks imply about its answer: the form that agents must use, and the chance of a blind guess."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_webarena.checks.grading import Grading, headline_of
from pytest_webarena.checks.kind import Kind
from pytest_webarena.tasks.kinds import find_kind
from pytest_webarena.tasks.model import Check, Task

__all__ = ["answer_form", "answer_schema", "chance_of"]


def answer_form(task: Task, grading: Grading) -> str:
    """Returns the instructions on the form of the final answer, in the words of the checks that judge it."""
    asked = (kind.asks(check.spec) for check, kind in _kinds(_counting(task, grading)) if kind.asks is not None)
    return "\n\n".join(dict.fromkeys(filter(None, asked)))


def answer_schema(task: Task, grading: Grading) -> Mapping[str, Any] | None:
    """Returns the JSON schema of the final answer for tool calls; None if its checks imply none, or several."""
    found = []
    for check, kind in _kinds(_counting(task, grading)):
        schema = kind.answer_schema(check.spec) if kind.answer_schema is not None else None
        if schema is not None and schema not in found:
            found.append(schema)
    return found[0] if len(found) == 1 else None


def _counting(task: Task, grading: Grading) -> Sequence[Check]:
    name = headline_of(task, grading.name)
    return task.gradings.get(name, task.checks) if name is not None else task.checks


def _kinds(checks: Sequence[Check]) -> Iterator[tuple[Check, Kind[Any]]]:
    """Yields the checks with their kinds, except those under a ``not``."""
    for check in checks:
        if check.kind == "not":
            continue
        if check.children:
            yield from _kinds(check.children)
        elif (kind := _kind(check)) is not None:
            yield check, kind


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
