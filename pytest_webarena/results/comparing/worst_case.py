"""Worst case of a comparison: all trials without a verdict count against its result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.results.comparing.difference import Difference, PairedTask, difference_of
from pytest_webarena.results.comparing.sides import Side
from pytest_webarena.results.comparing.significance import flip_test_of

__all__ = ["Verdict", "WorstCase", "word", "worst_of"]

Verdict = Literal["better", "worse", "can't tell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The difference and its test if all excluded trials count against the side that is ahead without them."""

    difference: Difference
    p: float

    def allows(self, verdict: Verdict, *, most: float = 1.0, whole: bool = False) -> bool:
        """Return whether the verdict in the worst case is ``verdict``, with a p-value of at most ``most``.

        The sign of the difference is not enough: a value barely above 0 is no evidence.
        """
        return self.p <= most + 1e-12 and word(self.difference.decided(whole=whole)) == verdict


def word(sign: int) -> Verdict:
    """Return the verdict of an interval above (1), below (-1) or around 0."""
    return "better" if sign > 0 else "worse" if sign < 0 else "can't tell"


def worst_of(first: Side, second: Side, tasks: Iterable[str], found: Difference) -> WorstCase | None:
    """Return the worst case of ``found`` over all ``tasks`` that both sides tried or planned.

    None without excluded trials.
    """
    ahead = found.value or 0.0
    pairs, excluded = [], 0
    for name in tasks:
        counts = []
        for side, passes in ((first, ahead > 0), (second, ahead < 0)):
            task = side.tasks.get(name)
            passed, judged, tried = (task.passed, task.judged, len(task.tries)) if task is not None else (0, 0, 0)
            unjudged = tried - judged + side.missing.get(name, 0)
            excluded += unjudged
            counts.append((passed + unjudged * passes, judged + unjudged))
        cluster = (first.tasks.get(name) or second.tasks[name]).cluster
        passed_of, judged_of = zip(*counts, strict=True)
        pairs.append(PairedTask(task=name, cluster=cluster, passed=passed_of, judged=judged_of))
    if not excluded:
        return None
    return WorstCase(difference=difference_of(pairs, confidence=found.confidence), p=flip_test_of(pairs))
