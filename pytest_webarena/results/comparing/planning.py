"""Planning of comparisons: the tasks and trials a difference needs, their cost, and the smallest detectable
difference."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_webarena.results.comparing.effort import effort_of
from pytest_webarena.results.comparing.quantiles import normal_quantile, student_quantile
from pytest_webarena.results.comparing.repeats import spread_of
from pytest_webarena.results.comparing.sides import Side

__all__ = ["Ground", "Need", "blank_ground", "ground_of", "need_of", "smallest_difference", "tasks_needed"]

_MOST_TASKS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Figures of a baseline from which future runs are planned."""

    tasks: int
    templates: float
    """Number of equally large templates with the same information."""
    trials: float
    """Mean number of trials per task."""
    luck: float
    """Variance of a trial's verdict within its task. Single trials can't show it, so it is the whole variance then."""
    single: bool
    """Whether each task has one trial, so that ``luck`` is an upper bound."""
    cost: float | None
    """US dollars per trial; None where they are unknown."""
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Resources that show a difference, for one number of trials per task."""

    trials: int
    """Number of trials per task."""
    tasks: int | None
    """Number of tasks; None: this number of trials never makes up for the trials that the baseline lacks."""
    cost: float | None
    seconds: float | None


def ground_of(side: Side) -> Ground:
    """Return the figures of ``side`` for planning later runs on similar tasks."""
    counts = side.counts
    judged = sum(judged for _, judged in counts)
    rate = (sum(passed for passed, _ in counts) + 1) / (judged + 2)
    spread = spread_of(counts)
    sizes: dict[str, int] = {}
    for task in side.tasks.values():
        if task.judged:
            sizes[task.cluster] = sizes.get(task.cluster, 0) + 1
    cost, seconds = effort_of(side, "cost"), effort_of(side, "seconds")
    return Ground(
        tasks=len(counts),
        templates=len(counts) ** 2 / sum(size**2 for size in sizes.values()),
        trials=judged / len(counts),
        luck=_careful(spread.trials, judged - len(counts)) if spread is not None else rate * (1 - rate),
        single=spread is None,
        cost=cost.per_trial if cost is not None and not cost.unknown else None,
        seconds=seconds.per_trial if seconds is not None else None,
    )


def _careful(luck: float, freedom: int) -> float:
    """An observed variance with one more observation of the largest possible value, because 0 observed is not 0."""
    return (luck * freedom + 0.25) / (freedom + 1)


def blank_ground(templates: Sequence[str]) -> Ground:
    """Return the figures for tasks that have not been tried, with the largest possible uncertainty."""
    sizes = Counter(templates).values()
    return Ground(
        tasks=len(templates),
        templates=len(templates) ** 2 / sum(size**2 for size in sizes),
        trials=1,
        luck=0.25,
        single=True,
        cost=None,
        seconds=None,
    )


def _variance(ground: Ground, difference: float, trials: float, *, both: bool) -> float:
    """The variance of one task's difference: chance on both sides, and the effect that differs between tasks.

    The latter assumes that the change made some tasks always pass that never did, the most uneven effect in one
    direction.
    """
    size = abs(difference)
    return ground.luck * (1 / trials + 1 / (trials if both else ground.trials)) + size * (1 - size)


def smallest_difference(
    ground: Ground, *, tasks: int, trials: float, power: float = 0.8, confidence: float = 0.95, both: bool = False
) -> float:
    """Return the smallest difference of rates that ``tasks`` with ``trials`` each find with ``power``; 1 if none.

    With ``both``, the baseline is run again with as many trials; otherwise its existing trials are used.
    """
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if _found(ground, middle, tasks, trials, power, confidence, both):
            high = middle
        else:
            low = middle
    return high


def tasks_needed(
    ground: Ground,
    difference: float,
    *,
    trials: float,
    power: float = 0.8,
    confidence: float = 0.95,
    both: bool = False,
) -> int | None:
    """Return the number of tasks that find ``difference`` with ``power``; None where a million do not."""
    low, high = 1, 2
    while not _found(ground, difference, high, trials, power, confidence, both):
        low, high = high, high * 2
        if high > _MOST_TASKS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if _found(ground, difference, middle, trials, power, confidence, both):
            high = middle
        else:
            low = middle
    return high


def _found(
    ground: Ground, difference: float, tasks: int, trials: float, power: float, confidence: float, both: bool
) -> bool:
    clusters = tasks * ground.templates / ground.tasks
    if clusters < 1.5:  # one template shows nothing about others (`sample_interval`)
        return False
    freedom = max(1.0, clusters - 1)
    reach = student_quantile((1 + confidence) / 2, round(freedom, 1)) + normal_quantile(power)
    return abs(difference) >= reach * math.sqrt(_variance(ground, difference, trials, both=both) / tasks)


def need_of(
    ground: Ground,
    difference: float,
    *,
    trials: Sequence[int] = (1, 2, 3, 5, 10),
    power: float = 0.8,
    confidence: float = 0.95,
    both: bool = False,
) -> list[Need]:
    """Return the need for each number of trials per task."""
    found = []
    for each in trials:
        tasks = tasks_needed(ground, difference, trials=each, power=power, confidence=confidence, both=both)
        runs = tasks * each * (2 if both else 1) if tasks is not None else None
        found.append(
            Need(
                trials=each,
                tasks=tasks,
                cost=runs * ground.cost if runs is not None and ground.cost is not None else None,
                seconds=runs * ground.seconds if runs is not None and ground.seconds is not None else None,
            )
        )
    return found
