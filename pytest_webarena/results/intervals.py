"""Intervals of success rates: Wilson's, clustered by template, and that of a whole set of tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

__all__ = ["Z95", "clustered_interval", "student_quantile", "whole_set_interval", "wilson_interval"]

Z95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
_Z90 = 1.6448536269514722
"""Its 95 % quantile."""
_RARE = 3
"""Number of successes (or failures) up to which Wilson's interval misses rates near 0 (or 1) too often."""
_ROUNDING = 1e-9
_RARE_SHARE = 0.15
"""Largest share of the trials for which a few successes are rare."""


def wilson_interval(passed: int, total: int, z: float = Z95) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion; (0, 1) when there are no trials.

    >>> tuple(round(bound, 3) for bound in wilson_interval(8, 10))
    (0.49, 0.943)
    """
    if total == 0:
        return 0.0, 1.0
    return _wilson(passed / total, total, z)


def _wilson(p: float, total: float, z: float) -> tuple[float, float]:
    centre = p + z * z / (2 * total)
    spread = z * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def clustered_interval(clusters: Iterable[Sequence[bool]]) -> tuple[float, float]:
    """Return the 95 % interval of a success rate if the tasks are a sample, with dependent trials within a cluster.

    A cluster contains the judged trials of one task, or of all tasks of one template. The interval is Wilson's for the
    number of independent trials with the same information, which is the larger of two numbers. One is estimated from
    the variance between clusters (ratio estimator, Cochran 1977, section 9A.2), with Student's quantile. Its degrees of
    freedom are one less than the clusters, or twice the clusters with a success (or a failure, whichever are fewer) if
    these are few. The other is the number of clusters: trials of a cluster can't tell less than one of them alone. So a
    repetition of trials never widens the interval, and it is Wilson's where every cluster is a single trial.

    Wilson's interval misses small rates too often after one to three successes in at most 15 % of the trials (coverage
    84 %); its lower end is then Poisson's (Brown, Cai and DasGupta 2001, section 4.1.1), and likewise for failures.
    `benchmarks/coverage.py` measures the coverage. (0, 1) without trials.

    >>> tuple(round(bound, 2) for bound in clustered_interval([[True] * 5] * 5 + [[False] * 5] * 5))
    (0.24, 0.76)
    """
    found = [(sum(each), len(each)) for each in clusters if each]
    passed, total, count = sum(passes for passes, _ in found), sum(size for _, size in found), len(found)
    if not total:
        return 0.0, 1.0
    p = passed / total
    alike = total**2 / sum(size * size for _, size in found)  # equally large clusters with the same information
    independent = alike
    if count > 1 and 0 < passed < total:
        between = count / (count - 1) * sum((passes - p * size) ** 2 for passes, size in found) / total**2
        effective = min(float(total), p * (1 - p) / between) if between else float(total)
        rare = min(sum(passes > 0 for passes, _ in found), sum(passes < size for passes, size in found))
        quantile = student_quantile(max(1.0, min(alike - 1, 2.0 * rare)))
        independent = max(alike, effective * (Z95 / quantile) ** 2)
    low, high = _wilson(p, independent, Z95)
    return min(low, _rare_end(p, independent, low)), max(high, 1 - _rare_end(1 - p, independent, 1 - high))


def _rare_end(p: float, trials: float, wilson: float) -> float:
    """The lower end of a rare event's interval: the gamma distribution's 5 % quantile (Wilson and Hilferty 1931)."""
    events = p * trials
    if not _ROUNDING < events <= _RARE + _ROUNDING or p > _RARE_SHARE + _ROUNDING:
        return wilson
    root = max(0.0, 1 - 1 / (9 * events) - _Z90 / (3 * math.sqrt(events)))
    return events * root**3 / trials


def whole_set_interval(tasks: Iterable[Sequence[bool]]) -> tuple[float, float] | None:
    """Return the 95 % interval of a success rate if the tasks are the whole set, so that only trials vary.

    ``tasks`` are the judged trials of each task. None where a task has a single trial, which can't separate an agent's
    luck from a task's difficulty. One success and one failure are added, because tasks with equal outcomes would seem
    certain otherwise. Degrees of freedom are Satterthwaite's.

    >>> found = whole_set_interval([[True] * 5] * 5 + [[False] * 5] * 5)  # narrower than `clustered_interval`
    >>> tuple(round(bound, 2) for bound in found)
    (0.38, 0.62)
    """
    found = [(sum(each), len(each)) for each in tasks if each]
    if not found or min(size for _, size in found) < 2:
        return None
    total = sum(size for _, size in found)
    parts = [(passes * (size - passes) / (size - 1) / total**2, size - 1) for passes, size in found]
    within = math.fsum(part for part, _ in parts)
    below = math.fsum(part**2 / free for part, free in parts)
    freedom = within**2 / below if below else 2.0
    reach = student_quantile(max(2.0, freedom)) * math.sqrt(within + 2 / total**2)
    rate = sum(passes for passes, _ in found) / total
    return max(0.0, rate - reach), min(1.0, rate + reach)


def student_quantile(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's distribution (Fisher and Cornish 1960), within 1 % from two degrees on.

    >>> [round(student_quantile(each), 2) for each in (4, 9, 19, 99)]
    [2.78, 2.26, 2.09, 1.98]
    """
    z, v = Z95, freedom
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / v**power for power, term in enumerate(terms))
