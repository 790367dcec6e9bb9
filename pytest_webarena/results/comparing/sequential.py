"""Sequential test: looks after each template and stops when the question is settled, by bets that chance can't win."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Decision", "Watch"]

Decision = Literal["better", "worse", "alike", ""]
"""``alike``: neither better nor worse by the planned difference; empty: unsettled."""

_STAKES = (1.0, 1.75)
"""Fractions of the best stake for the planned difference; the larger one finds larger differences sooner."""
_PRIOR = 4.0
"""Number of assumed earlier tasks, half of which had a difference of 1 or -1."""


@dataclass(slots=True)
class _Bet:
    """Winnings of a bet that differences are on average above (``sign`` 1) or below ``bound``.

    Each template's difference multiplies the winnings by ``exp(stake × gain) / cosh(stake × gain)``. While it is
    equally likely to be this far on either side of ``bound``, the factor is 1 on average, whatever the stake, which
    depends on the past alone. So the probability of ever winning c-fold is at most 1/c (Ville's inequality; the bet is
    de la Peña's, 1999). For a bound of 0 that is exact where the two agents are interchangeable, as in a test by sign
    flips. Two stakes share the initial capital.
    """

    bound: float
    sign: int
    logs: list[float] = field(default_factory=lambda: [0.0] * len(_STAKES))
    best: float = 0.0
    """Largest winnings so far, as a logarithm."""

    def add(self, total: float, size: int, target: float, spread: float) -> None:
        """Add a template: ``total`` is the sum of its ``size`` tasks' differences, ``spread`` the prior mean square."""
        gain = self.sign * (total - self.bound * size)
        for index, factor in enumerate(_STAKES):
            bet = factor * target / spread * gain
            self.logs[index] += bet - abs(bet) - math.log1p(math.exp(-2 * abs(bet))) + math.log(2)
        top = max(self.logs)
        mean = top + math.log(sum(math.exp(each - top) for each in self.logs) / len(self.logs))
        self.best = max(self.best, mean)


class Watch:
    """Sequential test of whether the second agent is better, worse, or neither by ``difference``.

    Templates have to come in the order of their submission, each when all trials of its tasks have finished on both
    sides: which trials end early must not decide what is counted. However often one looks, the probability of ever
    calling one of two equal agents better or worse is at most ``1 - confidence``.
    """

    def __init__(self, *, difference: float, confidence: float = 0.95) -> None:
        """Create a test. ``difference`` is the planned one, between 0 and 1, for which the stakes are chosen."""
        if not 0 < difference < 1:
            raise ValueError(f"expected a difference above 0 and below 1, found {difference}")
        self.difference = difference
        self.confidence = confidence
        self.templates: list[tuple[float, int]] = []
        self._better, self._worse = _Bet(0.0, 1), _Bet(0.0, -1)
        self._no_less, self._no_more = _Bet(difference, -1), _Bet(-difference, 1)
        self._squares = self._tasks = 0.0

    def add(self, differences: Sequence[float]) -> Decision:
        """Add a finished template; return the decision so far.

        ``differences`` are those of its tasks' success rates, from -1 to 1.
        """
        total, size = math.fsum(differences), len(differences)
        if size:
            spread = self.spread
            for bet in (self._better, self._worse, self._no_less, self._no_more):
                bet.add(total, size, self.difference, spread)
            self.templates.append((total, size))
            self._squares += total * total
            self._tasks += size
        return self.decided

    @property
    def spread(self) -> float:
        """The mean square of templates' differences per task, with `_PRIOR` tasks added."""
        return (self._squares + _PRIOR / 2) / (self._tasks + _PRIOR)

    @property
    def decided(self) -> Decision:
        """The decision so far. It never changes, because the largest winnings count.

        ``alike`` also needs the level of `interval`, both of whose ends are then within the planned difference.
        """
        either = math.log(2 / (1 - self.confidence))
        if self._better.best >= either or self._worse.best >= either:
            return "better" if self._better.best >= self._worse.best else "worse"
        if self._no_less.best >= either and self._no_more.best >= either:
            return "alike"
        return ""

    def interval(self) -> tuple[float, float]:
        """Return all differences that no bet has refuted: a confidence sequence, valid at all times at once."""
        return self._end(-1), self._end(1)

    def _end(self, side: int) -> float:
        """The furthest bound on one side that a bet against it has not refuted."""
        low, high = 0.0, 1.0
        limit = math.log(2 / (1 - self.confidence))
        if self._refuted(0.0, -side, limit):
            low = -1.0  # 0 itself is refuted, so the end is beyond it
            high = 0.0
        for _ in range(40):
            middle = (low + high) / 2
            if self._refuted(side * middle, -side, limit):
                high = middle
            else:
                low = middle
        return side * high

    def _refuted(self, bound: float, sign: int, limit: float) -> bool:
        bet, squares, tasks = _Bet(bound, sign), 0.0, 0.0
        for total, size in self.templates:
            bet.add(total, size, self.difference, (squares + _PRIOR / 2) / (tasks + _PRIOR))
            squares, tasks = squares + total * total, tasks + size
        return bet.best >= limit
