"""Selects tasks by their properties: ``site=gitlab``, ``achievable=no``, ``id=0-99``; or one per template by a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.tasks.model import Check, Task

__all__ = [
    "KEYS",
    "Criterion",
    "evaluation_types",
    "is_achievable",
    "one_per_template",
    "parse_choice",
    "suite_of",
    "template_of",
]


def evaluation_types(task: Task) -> tuple[str, ...]:
    """Returns the kinds of check that decide, in order, with the suite's names or else our own."""
    named = task.source.get("evaluation")
    if isinstance(named, Sequence) and not isinstance(named, str):
        return tuple(map(str, named))
    kinds: dict[str, None] = {}

    def look(check: Check) -> None:
        if not check.children:
            kinds[check.kind] = None
        for child in check.children:
            look(child)

    for check in task.checks:
        look(check)
    return tuple(kinds)


def is_achievable(task: Task) -> bool:
    """Whether the task can be done at all; WebArena has tasks that can't."""
    return task.category != "unachievable"


def suite_of(task: Task) -> str:
    """Returns the suite of the task; empty for other tasks."""
    return str(task.source.get("suite", ""))


def template_of(task: Task) -> tuple[str, str]:
    """Returns what the instances of one template share: their file or suite, and the template's name."""
    return suite_of(task) or task.location.path, task.template


KEYS: Mapping[str, Callable[[Task], Iterable[str]]] = {
    "suite": lambda task: (suite_of(task),),
    "site": lambda task: task.sites,
    "sites": lambda task: ("+".join(task.sites),),
    "category": lambda task: (task.category,),
    "template": lambda task: (task.template,),
    "evaluation": evaluation_types,
    "achievable": lambda task: ("yes" if is_achievable(task) else "no",),
    "tag": lambda task: task.tags,
    "id": lambda task: (task.id, str(task.source.get("task_id", ""))),
}
"""Properties by which tasks can be selected, with a function that returns a task's values."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One ``KEY=VALUE,VALUE``: selects tasks with one of the values."""

    key: str
    values: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...] = ()
    """Ranges of task numbers, both ends included."""

    def __str__(self) -> str:
        words = (*self.values, *(f"{first}-{last}" for first, last in self.ranges))
        return f"{self.key}={','.join(words)}"

    def holds(self, task: Task) -> bool:
        """Whether the task is selected."""
        if any(word in self.values for word in KEYS[self.key](task)):
            return True
        number = task.source.get("task_id")
        return isinstance(number, int) and any(first <= number <= last for first, last in self.ranges)

    def check(self, tasks: Iterable[Task]) -> None:
        """Raise `UsageError` for a value that none of ``tasks`` has."""
        tasks = tuple(tasks)
        known = {word for task in tasks for word in KEYS[self.key](task) if word}
        for value in self.values:
            if value not in known:
                hint = closest(value, known) if len(known) < 40 else f"{len(known)} are known"
                raise UsageError(f"--select: expected a {self.key} of the collected tasks, found {value!r}; {hint}")


def parse_choice(text: str) -> Criterion:
    """Parse one value of ``--select``.

    >>> parse_choice("site=gitlab,reddit")
    Criterion(key='site', values=('gitlab', 'reddit'), ranges=())
    """
    key, equals, rest = text.partition("=")
    key = key.strip()
    words = [word.strip() for word in rest.split(",") if word.strip()]
    if not equals or not words:
        raise UsageError(f"--select: expected KEY=VALUE, found {text!r}; keys: {', '.join(KEYS)}")
    if key not in KEYS:
        raise UsageError(f"--select: expected a known key, found {key!r}; {closest(key, KEYS)}")
    if key == "achievable" and (bad := next((word for word in words if word not in ("yes", "no")), None)):
        raise UsageError(f"--select: expected achievable=yes or achievable=no, found {bad!r}")
    values, ranges = [], []
    for word in words:
        first, dash, last = word.partition("-")
        if key == "id" and dash and first.isdecimal() and last.isdecimal():
            ranges.append((int(first), int(last)))
        else:
            values.append(word)
    return Criterion(key, tuple(values), tuple(ranges))


def one_per_template(tasks: Iterable[Task], seed: int) -> frozenset[str]:
    """Returns the ids of a sample with one task of each template; the same seed gives the same sample on every
    machine."""
    best: dict[tuple[str, str], tuple[bytes, str]] = {}
    for task in tasks:
        drawn = hashlib.sha256(f"{seed}\0{task.id}".encode()).digest(), task.id
        key = template_of(task)
        if key not in best or drawn < best[key]:
            best[key] = drawn
    return frozenset(name for _, name in best.values())
