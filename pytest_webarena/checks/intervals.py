"""Interval arithmetic of scores: an undecided result may have any score from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_webarena.checks.verdict import CheckResult

__all__ = ["Interval", "clean", "combined", "counted", "score_bounds", "total"]

Interval = tuple[float, float]
"""The lower and upper bound of a score."""


def score_bounds(result: CheckResult) -> Interval:
    """Returns the bounds of a result's score."""
    return (0.0, 1.0) if result.score is None else (result.score, result.score)


def counted(result: CheckResult) -> Interval:
    """Returns the bounds of what a result counts towards passing."""
    return score_bounds(result) if result.counts is None else (result.counts, result.counts)


def combined(kind: str, bounds: Sequence[Interval]) -> Interval:
    """Returns the bounds of a combination's score (``all``, ``any`` or ``not``), given those of its parts.

    >>> undecided = (0.0, 1.0)
    >>> combined("not", [undecided]), combined("any", [undecided, (1.0, 1.0)]), combined("all", [undecided, (0.5, 0.5)])
    ((0.0, 1.0), (1.0, 1.0), (0.0, 0.5))
    """
    combine: Callable[[Sequence[float]], float] = max if kind == "any" else math.prod
    low, high = (combine([bound[side] for bound in bounds]) for side in (0, 1))
    return (1 - high, 1 - low) if kind == "not" else (low, high)


def total(bounds: Sequence[Interval], weights: Sequence[float] | None) -> Interval:
    """Returns the bounds of a task's score: the weighted mean of its checks, or their product without ``weights``.

    >>> total([(0.0, 1.0), (1.0, 1.0)], [1.0, 3.0]), total([(0.0, 1.0), (0.0, 0.0)], None)
    ((0.75, 1.0), (0.0, 0.0))
    """
    if weights is None:
        return combined("all", bounds)
    low, high = (
        math.fsum(weight * bound[side] for weight, bound in zip(weights, bounds, strict=True)) / math.fsum(weights)
        for side in (0, 1)
    )
    return low, high


def clean(score: float) -> float:
    """Returns ``score`` without the rounding errors of adding and dividing."""
    return min(1.0, max(0.0, round(score, 12)))
