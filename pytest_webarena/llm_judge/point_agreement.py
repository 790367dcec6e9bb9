"""Agreement of a judge's points by a rubric with those of people: pure arithmetic."""

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
    """One item of one answer, graded by people and by the judge."""

    answer: str
    """The answer's name; marks of one answer are not independent cases."""
    item: str
    of: float
    """Points that the item is worth."""
    human: float
    judge: float


class Marks:
    """Points of a judge and of people for the same items."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        self.marks: Sequence[Mark] = tuple(marks)
        self._by_answer: dict[str, list[Mark]] = {}
        for mark in self.marks:
            self._by_answer.setdefault(mark.answer, []).append(mark)

    @property
    def answers(self) -> int:
        """Number of graded answers."""
        return len(self._by_answer)

    @cached_property
    def totals(self) -> Sequence[tuple[float, float]]:
        """Share of all points that people and the judge gave, for each answer."""
        found = []
        for marks in self._by_answer.values():
            most = math.fsum(mark.of for mark in marks)
            found.append((math.fsum(m.human for m in marks) / most, math.fsum(m.judge for m in marks) / most))
        return found

    @property
    def pearson(self) -> float | None:
        """Pearson's correlation of the totals; None where one side does not vary."""
        return pearson(self.totals)

    @property
    def spearman(self) -> float | None:
        """Spearman's rank correlation of the totals; None where one side does not vary."""
        return spearman(self.totals)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of the items, weighted by squared distance; None where nothing varies.

        Points are shares of what an item is worth. Unlike a correlation, kappa falls when a judge is more generous than
        people.
        """
        return _kappa([mark for marks in self._by_answer.values() for mark in marks])

    @cached_property
    def kappa_interval(self) -> tuple[float, float]:
        """The 95 % interval of kappa, by resampling whole answers with a fixed seed."""
        return self._interval(lambda drawn: _kappa([mark for marks in drawn for mark in marks]))

    @property
    def exact(self) -> int:
        """Number of items with equal points."""
        return sum(_same(mark) for mark in self.marks)

    @property
    def over(self) -> Sequence[Mark]:
        """Items to which the judge gave more points than people."""
        return [mark for mark in self.marks if mark.judge > mark.human and not _same(mark)]

    @property
    def under(self) -> Sequence[Mark]:
        """Items to which the judge gave fewer points than people."""
        return [mark for mark in self.marks if mark.judge < mark.human and not _same(mark)]

    @property
    def partial(self) -> Marks:
        """The items for which people gave a part of the points, where judges err most."""
        return Marks(mark for mark in self.marks if 0 < mark.human < mark.of)

    @property
    def bias(self) -> float | None:
        """Mean excess of the judge's points per answer, as a share of its points."""
        return math.fsum(judge - human for human, judge in self.totals) / self.answers if self.marks else None

    @property
    def distance(self) -> float | None:
        """Mean absolute difference per answer, as a share of its points."""
        return math.fsum(abs(judge - human) for human, judge in self.totals) / self.answers if self.marks else None

    def by_item(self) -> dict[str, Marks]:
        """Return the marks of each item."""
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
    """Return Pearson's correlation; None where one side does not vary.

    >>> pearson([(0, 1), (1, 3), (2, 5)]), pearson([(0, 1), (1, 1)])
    (1.0, None)
    """
    _, _, spread, others, joint = _moments(pairs)
    if spread <= 1e-15 or others <= 1e-15:
        return None
    return max(-1.0, min(1.0, round(joint / math.sqrt(spread * others), 12)))


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Spearman's correlation: Pearson's of the ranks, where ties share theirs.

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
    """1 minus the mean squared distance, divided by that of people and judge paired at random."""
    mean, other, spread, others, joint = _moments([(mark.human / mark.of, mark.judge / mark.of) for mark in marks])
    chance = spread + others + (mean - other) ** 2
    return 2 * joint / chance if chance > 1e-15 else None


def _moments(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float, float, float]:
    """Both means, both variances and the covariance."""
    count = len(pairs)
    if not count:
        return (0.0, 0.0, 0.0, 0.0, 0.0)
    mean, other = (math.fsum(pair[side] for pair in pairs) / count for side in (0, 1))
    spread = math.fsum((one - mean) ** 2 for one, _ in pairs) / count
    others = math.fsum((two - other) ** 2 for _, two in pairs) / count
    return mean, other, spread, others, math.fsum((one - mean) * (two - other) for one, two in pairs) / count


def _same(mark: Mark) -> bool:
    return math.isclose(mark.human, mark.judge, abs_tol=1e-9)
