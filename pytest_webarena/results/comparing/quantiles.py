"""Quantiles and tails of the normal and of Student's distribution, without SciPy."""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

__all__ = ["normal_quantile", "normal_tail", "student_quantile", "student_tail"]

_NORMAL = NormalDist()


def normal_quantile(probability: float) -> float:
    """Return a quantile of the standard normal distribution.

    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    return _NORMAL.inv_cdf(probability)


def normal_tail(value: float) -> float:
    """Return the probability that a standard normal value exceeds ``value``."""
    return math.erfc(value / math.sqrt(2)) / 2


def student_tail(value: float, freedom: float) -> float:
    """Return the probability that a value of Student's distribution exceeds ``value``.

    >>> round(student_tail(2.228, 10), 4)
    0.025
    """
    if math.isinf(freedom):
        return normal_tail(value)
    half = _beta_share(freedom / (freedom + value * value), freedom / 2, 0.5) / 2
    return half if value >= 0 else 1 - half


@functools.lru_cache(maxsize=4096)
def student_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's distribution; ``freedom`` may be fractional or infinite.

    >>> round(student_quantile(0.975, 10), 3)
    2.228
    """
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -student_quantile(1 - probability, freedom)
    if math.isinf(freedom):
        return normal_quantile(probability)
    low, high = 0.0, 2.0
    while student_tail(high, freedom) > 1 - probability:
        high *= 2
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        if student_tail(middle, freedom) > 1 - probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function (continued fraction, Abramowitz and Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    # Evaluated from the front by Lentz's method.
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 1000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return front * value


def _not_zero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300
