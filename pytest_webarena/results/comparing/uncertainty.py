"""Uncertainty of a rate beyond sampling: errors of the judge, and the unknown outcomes of trials without a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_webarena.results.comparing.quantiles import normal_quantile
from pytest_webarena.results.records import JudgeErrors

__all__ = [
    "Corrected",
    "Verdicts",
    "bounds",
    "corrected_difference",
    "corrected_rate",
    "difference_bounds",
    "informedness",
    "least_informed",
    "reversible",
]

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A success rate, or a difference of two, corrected for the judge's errors."""

    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Trials with a verdict of one task, or of one template."""

    passed: int
    total: int
    by_judge: int = 0
    """Number of these about which a judge was asked."""
    accepted: int = 0
    """Number of the trials about which a judge was asked that passed."""


def informedness(errors: JudgeErrors) -> float:
    """Return a judge's informedness, from 1 for a perfect one to 0 for one without information (Youden 1950).

    One success and one failure are added to both right and wrong answers, as in the corrections of this module.
    """
    sensitivity, clear = _shares(errors)
    return sensitivity + clear - 1


def least_informed(found: Iterable[JudgeErrors | None]) -> JudgeErrors | None:
    """Return the errors of the least informative of several judges or kinds of question.

    None if one was never measured, or there is none.
    """
    every = list(dict.fromkeys(found))
    known = [each for each in every if each is not None]
    return min(known, key=informedness) if known and len(known) == len(every) else None


def _shares(errors: JudgeErrors) -> tuple[float, float]:
    """The shares of right answers that were accepted, and of wrong ones that were refused."""
    return (errors.right_accepted + 1) / (errors.right + 2), (errors.wrong_refused + 1) / (errors.wrong + 2)


def _right(found: Verdicts, errors: JudgeErrors) -> float:
    """Estimated number of right answers among those for which the judge was asked (Rogan and Gladen 1978)."""
    _, clear = _shares(errors)
    return (found.accepted + found.by_judge * (clear - 1)) / informedness(errors)


def corrected_rate(
    clusters: Iterable[Verdicts], interval: tuple[float, float], errors: JudgeErrors, *, confidence: float = 0.95
) -> Corrected | None:
    """Return the success rate, corrected for the judge's errors.

    Answers for which no judge was asked count unchanged. ``interval`` is that of the observed rate. Each of its halves
    grows as the spread between clusters does, and is combined in quadrature with the uncertainty of the judge's errors
    from the limited number of labelled answers (Zou and Donner 2008). None where the judge accepts wrong answers as
    readily as right ones, because its verdicts then carry no information.

    >>> errors = JudgeErrors(right_accepted=90, right=100, wrong_refused=95, wrong=100)
    >>> seen = [Verdicts(passed=n < 80, total=1, by_judge=1, accepted=n < 80) for n in range(200)]
    >>> found = corrected_rate(seen, (0.335, 0.469), errors)
    >>> round(found.value, 2), tuple(round(bound, 2) for bound in found.interval)
    (0.41, (0.32, 0.5))
    """
    information = informedness(errors)
    kept = list(clusters)
    total = sum(each.total for each in kept)
    if information <= 0 or not total:
        return None
    rights = [_right(each, errors) for each in kept]
    observed_rate = sum(each.passed for each in kept) / total
    value = (sum(rights) + sum(each.passed - each.accepted for each in kept)) / total
    judge_share = sum(each.by_judge for each in kept) / total
    spread_seen = math.fsum((each.passed - observed_rate * each.total) ** 2 for each in kept)
    spread = math.fsum(
        (each.passed - each.accepted + right - value * each.total) ** 2
        for each, right in zip(kept, rights, strict=True)
    )
    grows = (
        max(1.0, math.sqrt(spread / spread_seen)) if spread_seen > 1e-9 else 1 - judge_share + judge_share / information
    )
    right = sum(rights) / total
    doubt = _quantile(confidence) * math.sqrt(_doubt(right, judge_share - right, errors))
    return _joined(
        value, grows * (observed_rate - interval[0]), grows * (interval[1] - observed_rate), doubt, lowest=0.0
    )


def corrected_difference(
    tasks: Sequence[tuple[object, Verdicts, Verdicts]],
    interval: tuple[float, float],
    errors: tuple[JudgeErrors, JudgeErrors],
    *,
    confidence: float = 0.95,
) -> Corrected | None:
    """Return the difference of two rates, corrected as by `corrected_rate`; each task has the same weight.

    ``tasks`` are each task's cluster and both sides' trials. If both sides have the same judge, its errors and their
    uncertainty are common to both.
    """
    count = len(tasks)
    if not count or min(map(informedness, errors)) <= 0:
        return None
    rights, judge_shares, values, observed_rates = ([0.0, 0.0] for _ in range(4))
    clusters: dict[object, list[float]] = {}
    differences: list[tuple[object, float, float]] = []
    for cluster, *sides in tasks:
        rates: list[tuple[float, float]] = []
        for place, found in enumerate(sides):
            right = _right(found, errors[place])
            rates.append((found.passed / found.total, (found.passed - found.accepted + right) / found.total))
            observed_rates[place] += rates[-1][0] / count
            values[place] += rates[-1][1] / count
            rights[place] += right / found.total / count
            judge_shares[place] += found.by_judge / found.total / count
        differences.append((cluster, rates[1][0] - rates[0][0], rates[1][1] - rates[0][1]))
    was, value = observed_rates[1] - observed_rates[0], values[1] - values[0]
    for cluster, raw, better in differences:
        sums = clusters.setdefault(cluster, [0.0, 0.0])
        sums[0] += raw - was
        sums[1] += better - value
    spread_seen, spread = (math.fsum(each[place] ** 2 for each in clusters.values()) for place in (0, 1))
    share = max(judge_shares)
    information = min(map(informedness, errors))
    grows = max(1.0, math.sqrt(spread / spread_seen)) if spread_seen > 1e-9 else 1 - share + share / information
    wrong_shares = [some - right for some, right in zip(judge_shares, rights, strict=True)]
    if errors[0] == errors[1]:
        variance = _doubt(rights[1] - rights[0], wrong_shares[1] - wrong_shares[0], errors[0])
    else:
        variance = sum(_doubt(rights[place], wrong_shares[place], errors[place]) for place in (0, 1))
    doubt = _quantile(confidence) * math.sqrt(variance)
    return _joined(value, grows * (was - interval[0]), grows * (interval[1] - was), doubt, lowest=-1.0)


def _doubt(right: float, wrong: float, errors: JudgeErrors) -> float:
    """The variance of a corrected rate that comes from the judge, who was measured with few labelled answers."""
    hits, clear = _shares(errors)
    return (
        (right**2 * hits * (1 - hits) / (errors.right + 2) + wrong**2 * clear * (1 - clear) / (errors.wrong + 2))
        / informedness(errors) ** 2
    )  # fmt: skip


def _quantile(confidence: float) -> float:
    return normal_quantile((1 + confidence) / 2)


def _joined(value: float, below: float, above: float, doubt: float, *, lowest: float) -> Corrected:
    low, high = value - math.hypot(below, doubt), value + math.hypot(above, doubt)
    return Corrected(
        value=min(1.0, max(lowest, value)), interval=(min(1.0, max(lowest, low)), max(lowest, min(1.0, high)))
    )


def bounds(passed: int, judged: int, errors: int) -> tuple[float, float]:
    """Return the rate if all trials without a verdict had failed, and if all had passed.

    >>> bounds(6, 8, 2)
    (0.6, 0.8)
    """
    total = judged + errors
    return (passed / total, (passed + errors) / total) if total else (0.0, 1.0)


def difference_bounds(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Return the smallest and the largest difference for the second agent, given the bounds of both rates."""
    return second[0] - first[1], second[1] - first[0]


def reversible(conclusion: str, bounds: tuple[float, float], *, margin: float = 0.0) -> bool:
    """Return whether a difference within ``bounds`` could contradict ``conclusion``.

    Conclusions are *better*, *worse*, or *alike* by less than ``margin``. Any other one claims nothing, so no
    difference contradicts it.

    >>> reversible("better", (0.0, 0.5)), reversible("worse", (-0.4, -0.1))
    (True, False)
    """
    low, high = bounds
    match conclusion:
        case "better":
            return low <= _ROUNDING
        case "worse":
            return high >= -_ROUNDING
        case "alike":
            return max(-low, high) >= margin - _ROUNDING
    return False
