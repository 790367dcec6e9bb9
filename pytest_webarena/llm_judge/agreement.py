"""Agreement of a judge's grades with labels: pure arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_webarena.checks.judge_protocol import Decision
from pytest_webarena.results.intervals import wilson_interval

__all__ = ["Agreement", "Passing", "Share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A number of cases out of a total."""

    some: int
    of: int

    @property
    def value(self) -> float | None:
        """The fraction, in [0, 1]; None when there are no cases."""
        return self.some / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the fraction."""
        return wilson_interval(self.some, self.of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """Numbers of cases, by whether they should pass (positive) and whether the judge passes them."""

    tp: int
    fp: int
    tn: int
    fn: int


class Agreement:
    """Pairs of the labelled grade and the judge's. A grade that could not be read is None and never agrees.

    Only ``correct`` counts as a pass, as in verdicts.
    """

    def __init__(self, pairs: Iterable[tuple[Decision, Decision | None]]) -> None:
        self.pairs: Sequence[tuple[Decision, Decision | None]] = tuple(pairs)

    @property
    def accuracy(self) -> Share:
        """Share of cases in which the judge's pass or fail agrees with the label."""
        return Share(some=sum(_verdict(right) == _verdict(judged) for right, judged in self.pairs), of=len(self.pairs))

    @property
    def precision(self) -> Share:
        """Share of the answers that the judge passes which should pass."""
        passed = [right for right, judged in self.pairs if judged == "correct"]
        return Share(some=passed.count("correct"), of=len(passed))

    @property
    def recall(self) -> Share:
        """Share of the answers that should pass which the judge passes."""
        right = [judged for right, judged in self.pairs if right == "correct"]
        return Share(some=right.count("correct"), of=len(right))

    @property
    def passing(self) -> Passing:
        """Numbers of cases by label and judge. A grade that could not be read is not a pass."""
        passed = Counter((right == "correct", judged == "correct") for right, judged in self.pairs)
        return Passing(
            tp=passed[(True, True)], fp=passed[(False, True)], tn=passed[(False, False)], fn=passed[(True, False)]
        )

    @property
    def unreadable(self) -> int:
        """Number of cases without a grade that could be read."""
        return sum(judged is None for _, judged in self.pairs)

    @property
    def confusion(self) -> Counter[tuple[Decision, Decision | None]]:
        """Number of cases by labelled grade and the judge's."""
        return Counter(self.pairs)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of passing; None when chance alone always agrees, as with only one kind of answer."""
        return self._kappa(self.accuracy.value)

    @property
    def kappa_interval(self) -> tuple[float, float]:
        """The 95 % interval of kappa: Wilson's of the raw agreement, with chance agreement fixed.

        It is useful also at kappa 1.
        """
        low, high = (self._kappa(bound) for bound in self.accuracy.interval)
        return (low, high) if low is not None and high is not None else (-1.0, 1.0)

    def _kappa(self, observed: float | None) -> float | None:
        if observed is None:
            return None
        rights = Counter(_verdict(right) for right, _ in self.pairs)
        grades = Counter(_verdict(judged) for _, judged in self.pairs)
        chance = sum(rights[each] * grades[each] for each in rights) / len(self.pairs) ** 2
        return (observed - chance) / (1 - chance) if chance < 1 else None


def _verdict(grade: Decision | None) -> str:
    return "none" if grade is None else "pass" if grade == "correct" else "fail"
