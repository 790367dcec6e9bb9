"""How well points by a rubric agree with those that people give: pure arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Mark", "Marks", "pearson", "spearman"]

_RESAMPLES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One item of one answer, graded twice."""

    answer: str
    """Which answer; marks of one answer are no independent cases."""
    item: str
    of: float
    """What it is worth."""
    human: float
    judge: float


class Marks:
    """Points that a judge gave, beside those of people."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        self.marks: Sequence[Mark] = tuple(marks)
        self._by_answer: dict[str, list[Mark]] = {}
        for mark in self.marks:
            self._by_answer.setdefault(mark.answer, []).append(mark)

    @property
    def answers(self) -> int:
        """How many were graded."""
        return len(self._by_answer)

    @cached_property
    def totals(self) -> Sequence[tuple[float, float]]:
        """Of each answer the share of all points by people and by the judge."""
        found = []
        for marks in self._by_answer.values():
            most = math.fsum(mark.of for mark in marks)
            found.append((math.fsum(m.human for m in marks) / most, math.fsum(m.judge for m in marks) / most))
        return found

    @property
    def pearson(self) -> float | None:
        """Correlation of the totals; None where one side does not vary."""
        return pearson(self.totals)

    @property
    def spearman(self) -> float | None:
        """Rank correlation of the totals."""
        return spearman(self.totals)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of the items, weighted by squared distance; None where nothing varies.

        Points are shares of what an item is worth. Unlike a correlation it falls when a judge is kinder than people.
        """
        return _kappa([mark for marks in self._by_answer.values() for mark in marks])

    @cached_property
    def kappa_interval(self) -> tuple[float, float]:
        """Its 95 % interval, by drawing whole answers again, always the same ones."""
        return self._interval(lambda drawn: _kappa([mark for marks in drawn for mark in marks]))

    @property
    def exact(self) -> int:
        """Items with the same points."""
        return sum(_same(mark) for mark in self.marks)

    @property
    def over(self) -> Sequence[Mark]:
        """Items with more points than people give."""
        return [mark for mark in self.marks if mark.judge > mark.human and not _same(mark)]

    @property
    def under(self) -> Sequence[Mark]:
        """Items with fewer."""
        return [mark for mark in self.marks if mark.judge < mark.human and not _same(mark)]

    @property
    def partial(self) -> Marks:
        """Only the items for which people give a part of the points: where judges err most."""
        return Marks(mark for mark in self.marks if 0 < mark.human < mark.of)

    @property
    def bias(self) -> float | None:
        """Mean of what the judge gives in excess, per answer, as a share of its points."""
        return math.fsum(judge - human for human, judge in self.totals) / self.answers if self.marks else None

    @property
    def distance(self) -> float | None:
        """Mean distance per answer, as a share of its points."""
        return math.fsum(abs(judge - human) for human, judge in self.totals) / self.answers if self.marks else None

    def by_item(self) -> dict[str, Marks]:
        """Over the answers to each item."""
        groups: dict[str, list[Mark]] = {}
        for mark in self.marks:
            groups.setdefault(mark.item, []).append(mark)
        return {name: Marks(marks) for name, marks in groups.items()}

    def _interval(self, figure: Callable[[Sequence[list[Mark]]], float | None]) -> tuple[float, float]:
        answers = list(self._by_answer.values())
        draw = random.Random(len(answers))
        found = sorted(
            value
            for _ in range(_RESAMPLES)
            if (value := figure(draw.choices(answers, k=len(answers)) if answers else [])) is not None
        )
        if len(answers) < 2 or not found:
            return (-1.0, 1.0)
        return found[int(0.025 * len(found))], found[min(len(found) - 1, int(0.975 * len(found)))]


def pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's correlation; None where one side does not vary.

    >>> pearson([(0, 1), (1, 3), (2, 5)]), pearson([(0, 1), (1, 1)])
    (1.0, None)
    """
    _, _, spread, others, joint = _moments(pairs)
    if spread <= 1e-15 or others <= 1e-15:
        return None
    return max(-1.0, min(1.0, round(joint / math.sqrt(spread * others), 12)))


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's: Pearson's of the ranks, ties sharing theirs.

    >>> spearman([(0, 1), (1, 10), (2, 11)])
    1.0
    """
    return pearson(list(zip(_ranks([one for one, _ in pairs]), _ranks([two for _, two in pairs]), strict=True)))


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda index: values[index])
    ranks = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end + 1 < len(order) and math.isclose(values[order[end + 1]], values[order[begin]], abs_tol=1e-12):
            end += 1
        for position in range(begin, end + 1):
            ranks[order[position]] = (begin + end) / 2
        begin = end + 1
    return ranks


def _kappa(marks: Sequence[Mark]) -> float | None:
    """1 - the mean squared distance over that of people and judge paired at random."""
    mean, other, spread, others, joint = _moments([(mark.human / mark.of, mark.judge / mark.of) for mark in marks])
    chance = spread + others + (mean - other) ** 2
    return 2 * joint / chance if chance > 1e-15 else None


def _moments(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float, float, float]:
    """Both means, both variances, the covariance."""
    count = len(pairs)
    if not count:
        return (0.0, 0.0, 0.0, 0.0, 0.0)
    mean, other = (math.fsum(pair[side] for pair in pairs) / count for side in (0, 1))
    spread = math.fsum((one - mean) ** 2 for one, _ in pairs) / count
    others = math.fsum((two - other) ** 2 for _, two in pairs) / count
    return mean, other, spread, others, math.fsum((one - mean) * (two - other) for one, two in pairs) / count


def _same(mark: Mark) -> bool:
    return math.isclose(mark.human, mark.judge, abs_tol=1e-9)
