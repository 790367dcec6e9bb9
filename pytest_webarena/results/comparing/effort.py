"""Dollars, tokens, steps and seconds of trials: costs of success and failure, quantiles, and growth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.results.comparing.quantiles import student_quantile, student_tail
from pytest_webarena.results.comparing.sides import Side, Try

__all__ = ["MEASURES", "Effort", "Growth", "Measure", "effort_of", "frontier", "growth_of", "quantile"]

Measure = Literal["cost", "tokens", "steps", "seconds"]
MEASURES: tuple[Measure, ...] = ("cost", "tokens", "steps", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """One measure of one side's judged trials."""

    measure: Measure
    trials: int
    """Number of judged trials with a known value."""
    unknown: int
    """Number of judged trials without a known value."""
    total: float
    per_trial: float
    per_success: float | None
    """The total, failures included, divided by the number of successes; None without any."""
    passed: float | None
    """Mean of the trials that passed."""
    failed: float | None
    """Mean of the trials that failed."""
    quantiles: tuple[float, float, float]
    """The median, the 90 % quantile and the maximum."""
    saved: float = 0.0
    """Part of the total that the response cache saved; 0 for all measures but dollars."""


def effort_of(side: Side, measure: Measure) -> Effort | None:
    """Return a measure of one side's judged trials; None where no value is known."""
    judged = [each for each in side.tries if each.outcome != "error"]
    known = [(each, value) for each in judged if (value := _value(each, measure)) is not None]
    if not known:
        return None
    values = [value for _, value in known]
    passed_values = [value for each, value in known if each.outcome == "passed"]
    lost = [value for each, value in known if each.outcome == "failed"]
    return Effort(
        measure=measure,
        trials=len(known),
        unknown=len(judged) - len(known),
        total=math.fsum(values),
        per_trial=math.fsum(values) / len(values),
        per_success=math.fsum(values) / len(passed_values) if passed_values else None,
        passed=math.fsum(passed_values) / len(passed_values) if passed_values else None,
        failed=math.fsum(lost) / len(lost) if lost else None,
        quantiles=(quantile(values, 0.5), quantile(values, 0.9), max(values)),
        saved=math.fsum(each.saved for each, _ in known) if measure == "cost" else 0.0,
    )


def _value(each: Try, measure: Measure) -> float | None:
    value = getattr(each, measure)
    return float(value) if value is not None else None


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated between the two nearest values (definition 7 of Hyndman and Fan 1996).

    >>> quantile([1, 2, 3, 10], 0.5)
    2.5
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Growth of one side's trials over another's, on the same tasks."""

    measure: Measure
    ratio: float
    """Ratio of the means over tasks; 1 is no change."""
    interval: tuple[float, float]
    confidence: float
    tasks: int
    p: float
    """Probability that chance alone causes this growth, if the true growth is just what is allowed."""


def growth_of(
    first: Side, second: Side, tasks: Iterable[str], measure: Measure, *, allowed: float = 0.0, confidence: float = 0.95
) -> Growth | None:
    """Return the ratio of the second side's mean to the first's, with tasks as a sample; None where it is unknown.

    Its interval is Fieller's (1954), over sums of clusters: all ratios that a test of the sums of ``second - ratio ×
    first`` does not reject. ``p`` is that of the one-sided test for ``1 + allowed``.
    """
    sums: dict[str, list[float]] = {}
    count = 0
    for name in tasks:
        one, other = _mean(first, name, measure), _mean(second, name, measure)
        if one is None or other is None:
            continue
        count += 1
        found = sums.setdefault(first.tasks[name].cluster, [0.0, 0.0])
        found[0] += one
        found[1] += other
    clusters = list(sums.values())
    size = len(clusters)
    total = [math.fsum(each[index] for each in clusters) for index in (0, 1)]
    if size < 2 or total[0] <= 0:
        return None
    means = [total[0] / size, total[1] / size]
    ratio = total[1] / total[0]

    def moment(one: int, other: int) -> float:
        product_sum = math.fsum((each[one] - means[one]) * (each[other] - means[other]) for each in clusters)
        return product_sum / (size - 1) / size

    xx, yy, xy = moment(0, 0), moment(1, 1), moment(0, 1)
    bound = 1 + allowed
    spread = math.sqrt(max(0.0, yy - 2 * bound * xy + bound**2 * xx))
    excess = means[1] - bound * means[0]
    # Without any spread only the number of clusters counts: p is the chance that all of them grow.
    p = student_tail(excess / spread, size - 1) if spread > 1e-9 * means[0] else 0.5**size if excess > 0 else 1.0
    reach = student_quantile((1 + confidence) / 2, size - 1) ** 2
    a, b, c = means[0] ** 2 - reach * xx, means[0] * means[1] - reach * xy, means[1] ** 2 - reach * yy
    inside = b * b - a * c
    if abs(inside) <= 1e-12 * b * b:  # only the last digits vary
        inside = 0.0
    interval = (0.0, math.inf)
    if a > 0 and inside >= 0:
        interval = (max(0.0, (b - math.sqrt(inside)) / a), (b + math.sqrt(inside)) / a)
    return Growth(measure=measure, ratio=ratio, interval=interval, confidence=confidence, tasks=count, p=p)


def _mean(side: Side, task: str, measure: Measure) -> float | None:
    found = side.tasks.get(task)
    values = [_value(each, measure) for each in (found.tries if found else ()) if each.outcome != "error"]
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def frontier(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Return which points of a cost and a rate no other point beats in both (Pareto).

    >>> frontier([(1, 0.3), (2, 0.2), (2, 0.5)])
    [True, False, True]
    """
    return [
        not any(cost <= own_cost and rate >= own_rate and (cost, rate) != (own_cost, own_rate) for cost, rate in points)
        for own_cost, own_rate in points
    ]
