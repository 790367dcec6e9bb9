"""The difference between two sides on the tasks of each site, category and tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.results.comparing.difference import Difference, PairedTask, difference_of
from pytest_webarena.results.comparing.sides import Side, SideTask, bounds_of
from pytest_webarena.results.comparing.significance import flip_test_of, holm
from pytest_webarena.results.comparing.worst_case import Verdict, WorstCase, errors_failed_of, stays, word, worst_of

__all__ = ["Group", "groups_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The difference on a subset of the tasks."""

    kind: Literal["site", "category", "tag"]
    name: str
    difference: Difference
    p: float
    adjusted: float
    """P-value adjusted by Holm's method among all groups of its kind."""
    bounds: tuple[float, float]
    """Bounds as in `Comparison`, over tasks whose group is known; a task without any record has none."""
    worst: WorstCase | None = None
    errors_failed: WorstCase | None = None

    @property
    def verdict(self) -> Verdict:
        """Verdict by the rule of `Comparison.verdict`."""
        alpha = 1 - self.difference.confidence
        if self.adjusted > alpha + 1e-12:
            return "unsettled"
        found = word(self.difference.decided())
        return found if stays(found, (self.worst, self.errors_failed), alpha * self.p / self.adjusted) else "unsettled"


def groups_of(
    first: Side, second: Side, tasks: Sequence[PairedTask], asked_of_both: Sequence[str], confidence: float
) -> list[Group]:
    """Return the groups that contain some of ``tasks``, the compared ones, but not all of them.

    ``asked_of_both`` are tasks that both sides tried or planned, for the bounds.
    """
    known = {name: task for side in (second, first) for name, task in side.tasks.items()}
    kinds: dict[Literal["site", "category", "tag"], Callable[[SideTask], Iterable[str]]] = {
        "site": lambda task: task.sites,
        "category": lambda task: [task.category] * bool(task.category),
        "tag": lambda task: task.tags,
    }
    found: list[Group] = []
    for kind, names_of in kinds.items():
        members: dict[str, list[PairedTask]] = {}
        for task in tasks:
            for name in dict.fromkeys(names_of(known[task.task])):
                members.setdefault(name, []).append(task)
        members = {name: some for name, some in sorted(members.items()) if len(some) < len(tasks)}
        values = {name: flip_test_of(some) for name, some in members.items()}
        adjusted = holm(values)
        group_tasks = {
            name: [task for task in asked_of_both if task in known and name in names_of(known[task])]
            for name in members
        }
        for name, some in members.items():
            difference = difference_of(some, confidence=confidence)
            found.append(
                Group(
                    kind=kind,
                    name=name,
                    difference=difference,
                    p=values[name],
                    adjusted=adjusted[name],
                    bounds=bounds_of(first, second, group_tasks[name]),
                    worst=worst_of(first, second, group_tasks[name], difference),
                    errors_failed=errors_failed_of(first, second, group_tasks[name], confidence),
                )
            )
    return found
