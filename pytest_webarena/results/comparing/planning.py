"""How many tasks and trials a question takes, what they cost, and how small a difference a set of tasks can show."""

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
    """What a baseline tells of future runs."""

    tasks: int
    templates: float
    """Of one size, that would say as much."""
    trials: float
    """Of each task, on average."""
    luck: float
    """Variance of a trial's verdict within its task. Of single trials nobody can tell: the whole variance."""
    single: bool
    """Whether each task has one trial, so that ``luck`` is an upper bound."""
    cost: float | None
    """US dollars a trial; None where they are not known."""
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What it takes to show a difference with one number of trials a task."""

    trials: int
    """A task."""
    tasks: int | None
    """None: so many trials of a task never make up for the trials that the baseline lacks."""
    cost: float | None
    seconds: float | None


def ground_of(side: Side) -> Ground:
    """What ``side`` tells of later runs at tasks like its own."""
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
    """Luck as seen with so many degrees of freedom, and once more as large as can be: none seen is not none."""
    return (luck * freedom + 0.25) / (freedom + 1)


def blank_ground(templates: Sequence[str]) -> Ground:
    """What is known of tasks that nobody has tried, by their templates: that they are as uncertain as can be."""
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
    """Of one task's difference: the luck on both sides, and that a change changes some tasks and others not.

    The latter as if it had made so many tasks pass always that never did, which is as uneven as it can be in one
    direction.
    """
    size = abs(difference)
    return ground.luck * (1 / trials + 1 / (trials if both else ground.trials)) + size * (1 - size)


def smallest_difference(
    ground: Ground, *, tasks: int, trials: float, power: float = 0.8, confidence: float = 0.95, both: bool = False
) -> float:
    """The smallest difference of rates that is found with ``power`` by ``tasks`` with ``trials`` each; 1 if none is.

    With ``both``, the baseline is run anew with as many trials; else it is held against as it is.
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
    """How many tasks find ``difference`` with ``power``; None where a million do not."""
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
    if clusters < 1.5:  # of one template nothing can be said of others (`sample_interval`)
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
    """What each number of trials a task would need."""
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
