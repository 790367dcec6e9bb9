"""Looking after each template, and stopping when the question is decided: bets whose winnings chance can't fake."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Decision", "Watch"]

Decision = Literal["better", "worse", "alike", ""]
"""``alike``: neither better nor worse by as much as was asked; empty: not decided."""

_STAKES = (1.0, 1.75)
"""Of the best stake if the difference is the planned one; the larger one finds larger differences sooner."""
_PRIOR = 4.0
"""Tasks' worth of differences that are taken for seen at the beginning, half of which went either way."""


@dataclass(slots=True)
class _Bet:
    """Winnings of somebody who bets that differences are on average above (``sign`` 1) or below ``bound``.

    Each template's difference counts ``exp(stake × gain) / cosh(stake × gain)``-fold. As long as it is as likely to be
    so far on one side of ``bound`` as on the other, that is 1 on average, whatever the stake, which goes by the past
    alone. So it is unlikely to win c-fold at any time: at most 1/c (Ville's inequality; the bet is de la Peña's 1999).
    For 0 that is exact where it makes no difference which agent did what, as in a test by sign flips. Two ways to stake
    share the first coin.
    """

    bound: float
    sign: int
    logs: list[float] = field(default_factory=lambda: [0.0] * len(_STAKES))
    best: float = 0.0
    """The most that was ever had, as a logarithm."""

    def add(self, total: float, size: int, aim: float, spread: float) -> None:
        """The differences of a template's ``size`` tasks come to ``total``; ``spread`` is the mean square till then."""
        gain = self.sign * (total - self.bound * size)
        for index, factor in enumerate(_STAKES):
            bet = factor * aim / spread * gain
            self.logs[index] += bet - abs(bet) - math.log1p(math.exp(-2 * abs(bet))) + math.log(2)
        top = max(self.logs)
        mean = top + math.log(sum(math.exp(each - top) for each in self.logs) / len(self.logs))
        self.best = max(self.best, mean)


class Watch:
    """Says, after each complete template, whether the second agent is better, worse, or neither by ``difference``.

    Templates have to come in the order in which they were submitted, each when all trials of its tasks are over on both
    sides: which trials end early must not decide what is looked at. However often one looks, the chance of ever calling
    one of two equal agents better or worse is at most ``1 - confidence``.
    """

    def __init__(self, *, difference: float, confidence: float = 0.95) -> None:
        """``difference``: the planned one, from 0 to 1, which stakes are set for."""
        if not 0 < difference < 1:
            raise ValueError(f"expected a difference above 0 and below 1, found {difference}")
        self.difference = difference
        self.confidence = confidence
        self.seen: list[tuple[float, int]] = []
        self._better, self._worse = _Bet(0.0, 1), _Bet(0.0, -1)
        self._no_less, self._no_more = _Bet(difference, -1), _Bet(-difference, 1)
        self._squares = self._tasks = 0.0

    def add(self, differences: Sequence[float]) -> Decision:
        """A template is over: the differences of its tasks' success rates, from -1 to 1. What is decided by now."""
        total, size = math.fsum(differences), len(differences)
        if size:
            spread = self.spread
            for bet in (self._better, self._worse, self._no_less, self._no_more):
                bet.add(total, size, self.difference, spread)
            self.seen.append((total, size))
            self._squares += total * total
            self._tasks += size
        return self.decided

    @property
    def spread(self) -> float:
        """The mean square of templates' differences for each of their tasks, with a little taken for seen."""
        return (self._squares + _PRIOR / 2) / (self._tasks + _PRIOR)

    @property
    def decided(self) -> Decision:
        """Once decided it stays so: the best of all times counts. ``alike`` needs the level of `interval`, too, both of
        whose ends are then within the planned difference."""
        either = math.log(2 / (1 - self.confidence))
        if self._better.best >= either or self._worse.best >= either:
            return "better" if self._better.best >= self._worse.best else "worse"
        if self._no_less.best >= either and self._no_more.best >= either:
            return "alike"
        return ""

    def interval(self) -> tuple[float, float]:
        """All differences that no bet has refuted: it holds the truth at all times at once (a confidence sequence)."""
        return self._end(-1), self._end(1)

    def _end(self, side: int) -> float:
        """The furthest bound on one side that is not refuted by a bet against it."""
        near, far = 0.0, 1.0
        limit = math.log(2 / (1 - self.confidence))
        if self._refuted(0.0, -side, limit):
            near = -1.0  # 0 itself is refuted: the end lies beyond it
            far = 0.0
        for _ in range(40):
            middle = (near + far) / 2
            if self._refuted(side * middle, -side, limit):
                far = middle
            else:
                near = middle
        return side * far

    def _refuted(self, bound: float, sign: int, limit: float) -> bool:
        bet, squares, tasks = _Bet(bound, sign), 0.0, 0.0
        for total, size in self.seen:
            bet.add(total, size, self.difference, (squares + _PRIOR / 2) / (tasks + _PRIOR))
            squares, tasks = squares + total * total, tasks + size
        return bet.best >= limit
