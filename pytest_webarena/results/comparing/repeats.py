"""Statistics of several trials per task: pass@k and pass^k, flaky tasks, the share of chance in the variance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_webarena.results.comparing.sides import Side

__all__ = ["Spread", "about", "flaky", "pass_all", "pass_any", "spread_of"]

Counts = tuple[int, int]
"""Numbers of one task: trials that passed, and trials with a verdict."""


def pass_any(tasks: Iterable[Counts], k: int) -> float | None:
    """Return pass@k: the unbiased share of tasks of which at least one of ``k`` trials passes (Chen et al. 2021).

    Tasks with fewer than ``k`` verdicts are ignored. None where no task has enough.

    >>> pass_any([(1, 2), (0, 2)], 1), pass_any([(1, 2), (0, 2)], 2)
    (0.25, 0.5)
    """
    kept = [(passed, judged) for passed, judged in tasks if judged >= k]
    missed = [math.comb(judged - passed, k) / math.comb(judged, k) for passed, judged in kept]
    return 1 - math.fsum(missed) / len(kept) if kept else None


def pass_all(tasks: Iterable[Counts], k: int) -> float | None:
    """Return pass^k: the unbiased share of tasks of which all of ``k`` trials pass (Yao et al. 2024).

    >>> pass_all([(3, 4), (4, 4)], 2)
    0.75
    """
    kept = [(passed, judged) for passed, judged in tasks if judged >= k]
    solved = [math.comb(passed, k) / math.comb(judged, k) for passed, judged in kept]
    return math.fsum(solved) / len(kept) if kept else None


def flaky(tasks: Mapping[str, Counts]) -> dict[str, Counts]:
    """Return tasks that passed in some trials and failed in others, the least certain first."""
    found = {name: counts for name, counts in tasks.items() if 0 < counts[0] < counts[1]}
    return dict(sorted(found.items(), key=lambda each: (abs(each[1][0] / each[1][1] - 0.5), -each[1][1], each[0])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The variance of a single trial's verdict, in two parts."""

    tasks: float
    """Variance between tasks, because some are harder. Never below 0."""
    trials: float
    """Variance within tasks, from the agent's luck."""

    @property
    def share(self) -> float | None:
        """The share of chance in the variance, from 0 to 1; None where all verdicts are equal."""
        total = self.tasks + self.trials
        return self.trials / total if total else None


def spread_of(tasks: Iterable[Counts]) -> Spread | None:
    """Return a one-way analysis of variance; None unless two tasks have several verdicts.

    >>> spread_of([(2, 2), (0, 2)])
    Spread(tasks=0.5, trials=0.0)
    """
    kept = [(passed / judged, judged) for passed, judged in tasks if judged > 1]
    if len(kept) < 2:
        return None
    trials = sum(judged for _, judged in kept)
    mean = sum(rate * judged for rate, judged in kept) / trials
    within = sum(judged * rate * (1 - rate) for rate, judged in kept) / (trials - len(kept))
    between = sum(judged * (rate - mean) ** 2 for rate, judged in kept) / (len(kept) - 1)
    effective_size = (trials - sum(judged**2 for _, judged in kept) / trials) / (len(kept) - 1)
    return Spread(tasks=max(0.0, (between - within) / effective_size), trials=within)


def about(side: Side) -> dict[str, object]:
    """Return figures of one side's repeated trials: pass@k, pass^k, flaky tasks, share of chance."""
    most = max((judged for _, judged in side.counts), default=1)
    ks = [k for k in dict.fromkeys((1, 2, 3, 5, 10, most)) if k <= most]
    spread: Spread | None = spread_of(side.counts)
    named = {name: (task.passed, task.judged - task.undecided) for name, task in side.tasks.items()}
    return {
        "tasks": {k: sum(judged >= k for _, judged in side.counts) for k in sorted(ks)},
        "pass_any": {k: pass_any(side.counts, k) for k in sorted(ks)},
        "pass_all": {k: pass_all(side.counts, k) for k in sorted(ks)},
        "flaky": flaky(named),
        "chance_share": spread.share if spread else None,
    }
