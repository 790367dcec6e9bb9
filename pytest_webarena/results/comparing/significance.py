"""Tests of whether two agents are alike: McNemar's, exact; sign flips of whole clusters; Holm for several at once."""

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
"""Different sums that are counted exactly; beyond, flips are drawn."""
_DRAWN = 20_000


def mcnemar(gains: int, losses: int) -> float:
    """The exact two-sided test of paired verdicts: how often as many of them, or more, go one way by chance.

    ``gains`` are pairs that the second agent alone passed, ``losses`` those that the first alone did.

    >>> mcnemar(9, 1)
    0.021484375
    """
    count = gains + losses
    tail = sum(math.comb(count, fewer) for fewer in range(min(gains, losses) + 1))
    return min(1.0, 2 * tail / (1 << count))


def flip_test_of(tasks: Iterable[PairedTask]) -> float:
    """`flip_test` of the differences of success rates, clusters whole; McNemar's where all is single."""
    sums: dict[object, Fraction] = {}
    for each in tasks:
        difference = Fraction(each.passed[1], each.judged[1]) - Fraction(each.passed[0], each.judged[0])
        sums[each.cluster] = sums.get(each.cluster, Fraction(0)) + difference
    return flip_test(list(sums.values()))


def flip_test(sums: Sequence[Fraction], *, seed: int = 1) -> float:
    """Two-sided: how often the total is as far from 0 if each cluster's sum has its sign by chance.

    That is the case where it makes no difference which agent did what. Exact, by counting all ways, while different
    totals are no more than 40,000; else from 20,000 draws, the observed one counted among them, so never too small.

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
    # All ways at once, in one large number: the count of ways to each total has a field of its own in it.
    width = len(weights) + 1
    ways = 1
    for weight in weights:
        ways += ways << weight * width
    # The field t counts the ways to a total of 2t - most; the ends are alike.
    reached = (most - observed) // 2  # totals of at most -observed
    below = ways & ((1 << (reached + 1) * width) - 1)
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
    most, far = sum(weights), 1
    for _ in range(_DRAWN):
        signs = source.getrandbits(len(weights))
        total = most - 2 * sum(weight for place, weight in enumerate(weights) if signs >> place & 1)
        far += abs(total) >= observed
    return far / (_DRAWN + 1)


def holm(values: Mapping[K, float]) -> dict[K, float]:
    """Each p-value as it is when all of them were looked at (Holm 1979): below 0.05, and it stands among them all.

    >>> {name: round(value, 3) for name, value in holm({"a": 0.01, "b": 0.04, "c": 0.03}).items()}
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    found: dict[K, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(values, key=lambda each: values[each])):
        largest = max(largest, min(1.0, (len(values) - rank) * values[name]))
        found[name] = largest
    return {name: found[name] for name in values}
