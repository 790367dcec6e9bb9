"""What a rate does not know of itself: how often the judge errs, and what trials without a verdict would have been."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_webarena.results.comparing.quantiles import normal_quantile

__all__ = ["Corrected", "JudgeErrors", "bounds", "corrected", "difference_bounds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeErrors:
    """What a judge made of labelled answers."""

    right_accepted: int
    """Of the answers that are right, how many it accepted."""
    right: int
    wrong_refused: int
    """Of the answers that are wrong, how many it refused."""
    wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A success rate as it would be if the judge never erred."""

    value: float
    interval: tuple[float, float]


def corrected(
    rate: float, trials: float, errors: JudgeErrors, *, confidence: float = 0.95, judged: float = 1.0
) -> Corrected | None:
    """The rate that a judge with such errors has been shown (Rogan and Gladen 1978), with an interval that knows of
    the judge's errors and of how few answers they were measured on (Lang and Reiczigel 2014).

    ``trials`` is the effective number of trials behind ``rate``. ``judged`` is the share of the trials whose verdict is
    the judge's; the rest has verdicts without such errors, which pass as often as they do overall. None where the judge
    accepts wrong answers as readily as right ones: then its verdicts say nothing.

    >>> found = corrected(0.4, 200, JudgeErrors(right_accepted=90, right=100, wrong_refused=95, wrong=100))
    >>> round(found.value, 3), tuple(round(bound, 2) for bound in found.interval)
    (0.412, (0.32, 0.5))
    """
    z = normal_quantile((1 + confidence) / 2)
    size = trials + z * z
    p = (trials * rate + z * z / 2) / size
    hit, clear = (errors.right_accepted + 1) / (errors.right + 2), (errors.wrong_refused + 1) / (errors.wrong + 2)
    reach = 1 - judged + judged * (hit + clear - 1)
    sensitive, specific = _share(errors.right_accepted, errors.right), _share(errors.wrong_refused, errors.wrong)
    raw = 1 - judged + judged * (sensitive + specific - 1)
    if reach <= 0 or raw <= 0:
        return None
    # A share ``judged`` of the verdicts goes through the judge: sensitivity and specificity of the whole are mixtures.
    value = (rate + judged * (specific - 1)) / raw
    centre = (p + judged * (clear - 1)) / reach
    doubt_hit = judged**2 * hit * (1 - hit) / (errors.right + 2)
    doubt_clear = judged**2 * clear * (1 - clear) / (errors.wrong + 2)
    variance = (p * (1 - p) / size + centre**2 * doubt_hit + (1 - centre) ** 2 * doubt_clear) / reach**2
    shift = 2 * z * z * (centre * doubt_hit - (1 - centre) * doubt_clear)
    spread = z * math.sqrt(max(0.0, variance))
    return Corrected(
        value=min(1.0, max(0.0, value)),
        interval=(min(1.0, max(0.0, centre + shift - spread)), max(0.0, min(1.0, centre + shift + spread))),
    )


def _share(part: int, total: int) -> float:
    return part / total if total else 0.5


def bounds(passed: int, judged: int, errors: int) -> tuple[float, float]:
    """The rate if all trials without a verdict had failed, and if all had passed.

    >>> bounds(6, 8, 2)
    (0.6, 0.8)
    """
    total = judged + errors
    return (passed / total, (passed + errors) / total) if total else (0.0, 1.0)


def difference_bounds(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Of a difference, by the bounds of both rates: the worst for the second agent, and the best."""
    return second[0] - first[1], second[1] - first[0]
