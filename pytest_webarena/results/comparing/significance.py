"""Tests of whether two agents are equal: exact McNemar test, sign flips of whole clusters, Holm's adjustment."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from pytest_webarena.results.comparing.difference import PairedTask

__all__ = ["flip_test", "flip_test_of", "holm", "mcnemar"]

K = TypeVar("K")

_WIDEST = 40_000
"""Number of different sums that are counted exactly; with more, flips are drawn at random."""
_DRAWN = 20_000


def mcnemar(gains: int, losses: int) -> float:
    """Return the p-value of the exact two-sided McNemar test of paired verdicts.

    ``gains`` are pairs that only the second agent passed, ``losses`` those that only the first passed.

    >>> mcnemar(9, 1)
    0.021484375
    """
    count = gains + losses
    tail = sum(math.comb(count, fewer) for fewer in range(min(gains, losses) + 1))
    return min(1.0, 2 * tail / (1 << count))


def flip_test_of(tasks: Iterable[PairedTask]) -> float:
    """Return `flip_test` of the differences of success rates, with clusters whole; McNemar's if all are single."""
    sums: dict[object, Fraction] = {}
    for each in tasks:
        difference = Fraction(each.passed[1], each.judged[1]) - Fraction(each.passed[0], each.judged[0])
        sums[each.cluster] = sums.get(each.cluster, Fraction(0)) + difference
    return flip_test(list(sums.values()))


def flip_test(sums: Sequence[Fraction], *, seed: int = 1) -> float:
    """Return the two-sided p-value of a test that flips the sign of each cluster's sum at random.

    The hypothesis is that the two agents are interchangeable. Exact, by counting all combinations, for up to 40,000
    different totals; otherwise from 20,000 draws, with the observed total counted among them so that p is never too
    small.

    >>> flip_test([Fraction(1)] * 9 + [Fraction(-1)])
    0.021484375
    """
    found = [abs(each) for each in sums if each]
    if not found:
        return 1.0
    unit = math.lcm(*(each.denominator for each in found))
    weights = [int(each * unit) for each in found]
    observed, most = abs(int(sum(sums) * unit)), sum(weights)
    if most > _WIDEST:
        return _drawn(weights, observed, seed)
    # All combinations at once in one large number, which has a field with the number of ways to each total.
    width = len(weights) + 1
    counts = 1
    for weight in weights:
        counts += counts << weight * width
    # Field t counts the ways to a total of 2t - most; the distribution is symmetric.
    reached = (most - observed) // 2  # totals of at most -observed
    below = counts & ((1 << (reached + 1) * width) - 1)
    count, mask = 0, (1 << width) - 1
    raw = below.to_bytes((below.bit_length() + 7) // 8 or 1, "little")
    if width <= 8:
        while below:
            count += below & mask
            below >>= width
    else:
        for field in range(reached + 1):
            start, shift = divmod(field * width, 8)
            count += int.from_bytes(raw[start : start + (width + shift + 7) // 8], "little") >> shift & mask
    return min(1.0, (2 * count if observed else 1 << len(weights)) / (1 << len(weights)))


def _drawn(weights: Sequence[int], observed: int, seed: int) -> float:
    source = random.Random(seed)
    most, extreme = sum(weights), 1
    for _ in range(_DRAWN):
        signs = source.getrandbits(len(weights))
        total = most - 2 * sum(weight for place, weight in enumerate(weights) if signs >> place & 1)
        extreme += abs(total) >= observed
    return extreme / (_DRAWN + 1)


def holm(values: Mapping[K, float]) -> dict[K, float]:
    """Return p-values adjusted for multiple tests (Holm 1979): one below 0.05 is significant among all.

    >>> {name: round(value, 3) for name, value in holm({"a": 0.01, "b": 0.04, "c": 0.03}).items()}
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    found: dict[K, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(values, key=lambda each: values[each])):
        largest = max(largest, min(1.0, (len(values) - rank) * values[name]))
        found[name] = largest
    return {name: found[name] for name in values}
