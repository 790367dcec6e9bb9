"""The difference between two agents' success rates, paired by task, with intervals clustered by template."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_webarena.results.comparing.quantiles import student_quantile

__all__ = ["Difference", "PairedTask", "difference_of", "sample_interval", "set_interval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTask:
    """Two agents' results on one task: numbers of trials with a verdict, and of those that passed."""

    task: str
    cluster: object
    """Cluster of dependent tasks, mostly those of one template."""
    passed: tuple[int, int]
    """Passed trials of the first and the second agent."""
    judged: tuple[int, int]
    """Judged trials of the first and the second agent, at least one each."""

    @property
    def rates(self) -> tuple[float, float]:
        """Both success rates."""
        return self.passed[0] / self.judged[0], self.passed[1] / self.judged[1]

    @property
    def difference(self) -> float:
        """Difference of the rates, second minus first, from -1 to 1."""
        first, second = self.rates
        return second - first


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Difference of two agents' success rates, second minus first, from -1 to 1. Each task has the same weight."""

    value: float | None
    """The difference; None where no task can be compared."""
    rates: tuple[float, float]
    """Both agents' rates, over the tasks that both have."""
    sample: tuple[float, float]
    """Interval if the tasks are a sample: the difference on all possible tasks of the kind."""
    whole: tuple[float, float]
    """Interval if the tasks are the whole set: the difference on exactly these with infinitely many trials."""
    confidence: float
    tasks: int
    clusters: int
    trials: int
    """Number of pairs of trials: the smaller number of the two agents, summed over tasks."""
    repeated: bool
    """Whether tasks have several trials.

    With one each, chance and tasks can't be separated, and ``whole`` is ``sample``.
    """

    def decided(self, *, whole: bool = False) -> int:
        """Return 1 for better, -1 for worse, 0 where the interval includes 0."""
        low, high = self.whole if whole else self.sample
        return 1 if low > 0 else -1 if high < 0 else 0


def difference_of(tasks: Iterable[PairedTask], *, confidence: float = 0.95) -> Difference:
    """Return the difference of success rates over ``tasks``, which both agents have tried.

    >>> tasks = [PairedTask(task=str(n), cluster=n, passed=(0, n % 2), judged=(1, 1)) for n in range(40)]
    >>> found = difference_of(tasks)
    >>> found.value, tuple(round(bound, 2) for bound in found.sample)
    (0.5, (0.3, 0.65))
    """
    found = list(tasks)
    count = len(found)
    if not count:
        nothing = (-1.0, 1.0)
        return Difference(
            value=None, rates=(0.0, 0.0), sample=nothing, whole=nothing, confidence=confidence, tasks=0, clusters=0,
            trials=0, repeated=False,
        )  # fmt: skip
    rates = math.fsum(each.rates[0] for each in found) / count, math.fsum(each.rates[1] for each in found) / count
    gains = math.fsum(second * (1 - first) for first, second in (each.rates for each in found)) / count
    losses = math.fsum(first * (1 - second) for first, second in (each.rates for each in found)) / count
    clusters: dict[object, list[float]] = {}
    for each in found:
        clusters.setdefault(each.cluster, []).append(each.difference)
    trials = sum(min(each.judged) for each in found)
    between = _between(list(clusters.values()), gains - losses)
    effective_clusters = count**2 / sum(len(each) ** 2 for each in clusters.values())
    sample = sample_interval(gains, losses, between, trials=trials, clusters=effective_clusters, confidence=confidence)
    repeated = [each for each in found if min(each.judged) > 1]
    whole = sample
    if len(repeated) == count:
        parts = [_within(each) for each in found]
        freedom = sum(part for part, _ in parts) ** 2 / (sum(part**2 / free for part, free in parts) or 1.0)
        variance = sum(part for part, _ in parts) / count**2
        whole = set_interval(gains - losses, variance, trials=trials, freedom=freedom, confidence=confidence)
    return Difference(
        value=rates[1] - rates[0],
        rates=rates,
        sample=sample,
        whole=whole,
        confidence=confidence,
        tasks=count,
        clusters=len(clusters),
        trials=trials,
        repeated=len(repeated) == count,
    )


def _between(clusters: Sequence[Sequence[float]], mean: float) -> float:
    """The variance of the mean over tasks, estimated from clusters (ratio estimator, Cochran 1977, 9A.2)."""
    count, tasks = len(clusters), sum(map(len, clusters))
    if count < 2:
        return math.inf
    squares = math.fsum((math.fsum(each) - mean * len(each)) ** 2 for each in clusters)
    return count / (count - 1) * squares / tasks**2


def _within(task: PairedTask) -> tuple[float, float]:
    """The unbiased variance of a task's difference between trials, and its degrees of freedom."""
    parts = [rate * (1 - rate) / (size - 1) for rate, size in zip(task.rates, task.judged, strict=True)]
    squares = sum(part**2 / (size - 1) for part, size in zip(parts, task.judged, strict=True))
    return sum(parts), sum(parts) ** 2 / squares if squares else 1.0


def sample_interval(
    gains: float, losses: float, between: float, *, trials: float, clusters: float, confidence: float
) -> tuple[float, float]:
    """Return the interval of a difference of paired rates if the tasks are a sample.

    ``gains`` and ``losses`` are the shares of pairs that only the second agent passed, and only the first. ``between``
    is the variance of their difference, estimated from clusters; ``clusters`` is the number of equally large clusters
    with the same information. The effective number is the number of independent pairs with the same variance. As Bonett
    and Price (2012) do for single pairs, one gain and one loss are added. Here each is a whole cluster, because a few
    clusters may contain most of the tasks; that keeps the interval honest where differences are few. The quantile is
    Student's, because the variance is estimated. Returns (-1, 1) for a single cluster. `benchmarks/comparison.py`
    measures the coverage.
    """
    if clusters < 1.5 or math.isinf(between):
        return -1.0, 1.0
    spread = gains + losses - (gains - losses) ** 2
    effective = float(clusters)
    if spread > 1e-12:  # otherwise nothing shows how clusters vary, so each counts once
        effective = min(float(trials), spread / between) if between > 0 else float(trials)
    units = min(effective, clusters)
    more, less = (units * gains + 1) / (units + 2), (units * losses + 1) / (units + 2)
    variance = max(0.0, more + less - (more - less) ** 2) / (units + 2) * units / effective
    reach = student_quantile((1 + confidence) / 2, round(clusters - 1, 2)) * math.sqrt(variance)
    return max(-1.0, more - less - reach), min(1.0, more - less + reach)


def set_interval(
    value: float, within: float, *, trials: float, freedom: float, confidence: float
) -> tuple[float, float]:
    """Return the interval of a difference if the tasks are the whole set, so that only trials vary.

    ``within`` is the variance of the difference, estimated from the trials of each task, and ``freedom`` its degrees of
    freedom by Satterthwaite. One gain and one loss are added to the ``trials`` pairs.
    """
    variance = within + 2 / trials**2
    reach = student_quantile((1 + confidence) / 2, max(2.0, round(freedom, 1))) * math.sqrt(variance)
    return max(-1.0, value - reach), min(1.0, value + reach)
