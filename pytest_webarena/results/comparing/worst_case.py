"""Worst case of a comparison: all undecided trials and errors count against its result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.results.comparing.difference import Difference, PairedTask, difference_of
from pytest_webarena.results.comparing.sides import Side
from pytest_webarena.results.comparing.significance import flip_test_of

__all__ = ["Verdict", "WorstCase", "errors_failed_of", "stays", "undecided_ends", "word", "worst_of"]

Verdict = Literal["better", "worse", "unsettled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The difference and its test for other outcomes of undecided and excluded trials.

    In the worst case they count against the side that is ahead; errors may also count as failures.
    """

    difference: Difference
    p: float

    def allows(self, verdict: Verdict, *, most: float = 1.0, whole: bool = False) -> bool:
        """Return whether the verdict in the worst case is ``verdict``, with a p-value of at most ``most``.

        The sign of the difference is not enough: a value barely above 0 is no evidence.
        """
        return self.p <= most + 1e-12 and word(self.difference.decided(whole=whole)) == verdict

    def verdict(self, most: float) -> Verdict:
        """Return the verdict, for which the p-value has to be at most ``most``."""
        return word(self.difference.decided()) if self.p <= most + 1e-12 else "unsettled"


def word(sign: int) -> Verdict:
    """Return the verdict of an interval above (1), below (-1) or around 0."""
    return "better" if sign > 0 else "worse" if sign < 0 else "unsettled"


def stays(verdict: Verdict, cases: Iterable[WorstCase | None], most: float = 1.0, *, whole: bool = False) -> bool:
    """Whether ``verdict`` holds in all ``cases`` that there are.

    ``most`` is the largest p-value that is still evidence if nothing else were compared (without Holm's factor).
    """
    return all(each is None or each.allows(verdict, most=most, whole=whole) for each in cases)


def worst_of(first: Side, second: Side, tasks: Iterable[str], found: Difference) -> WorstCase | None:
    """Return the worst case of ``found`` over all ``tasks`` that both sides tried or planned.

    None without undecided and excluded trials.
    """
    ahead = found.value or 0.0
    pairs, excluded = [], 0
    for name in tasks:
        counts = []
        for side, passes in ((first, ahead > 0), (second, ahead < 0)):
            task = side.tasks.get(name)
            passed, judged, tried = (task.passed, task.judged, len(task.tries)) if task is not None else (0, 0, 0)
            unjudged = tried - judged + side.missing.get(name, 0)
            undecided = task.undecided if task is not None else 0
            excluded += unjudged + undecided
            counts.append((passed + (unjudged + undecided) * passes, judged + unjudged))
        cluster = (first.tasks.get(name) or second.tasks[name]).cluster
        passed_of, judged_of = zip(*counts, strict=True)
        pairs.append(PairedTask(task=name, cluster=cluster, passed=passed_of, judged=judged_of))
    if not excluded:
        return None
    return WorstCase(difference=difference_of(pairs, confidence=found.confidence), p=flip_test_of(pairs))


def errors_failed_of(first: Side, second: Side, tasks: Iterable[str], confidence: float) -> WorstCase | None:
    """Return the comparison with errors as failures, on ``tasks`` that both sides tried; None without errors.

    Trials that errors in a row stopped are failures, too.
    """
    pairs, excluded = [], 0
    for name in tasks:
        found = [(side.tasks.get(name), side.stopped.get(name, 0)) for side in (first, second)]
        tried = [(len(task.tries) if task is not None else 0) + stopped for task, stopped in found]
        if not all(tried):
            continue
        known = [task for task, _ in found if task is not None]
        excluded += sum(tried) - sum(task.judged for task in known)
        passed = tuple(task.passed if task is not None else 0 for task, _ in found)
        pairs.append(
            PairedTask(task=name, cluster=known[0].cluster, passed=(passed[0], passed[1]), judged=(tried[0], tried[1]))
        )
    if not excluded:
        return None
    return WorstCase(difference=difference_of(pairs, confidence=confidence), p=flip_test_of(pairs))


def undecided_ends(
    first: Side, second: Side, tasks: Sequence[str], confidence: float
) -> tuple[WorstCase, WorstCase] | None:
    """Return the comparison on ``tasks`` if undecided trials count against the second side, and if they count for it.

    None without undecided trials.
    """
    if not any(side.tasks[name].undecided for side in (first, second) for name in tasks):
        return None
    low, high = (_resolved(first, second, tasks, met, confidence) for met in ((True, False), (False, True)))
    return low, high


def _resolved(first: Side, second: Side, tasks: Sequence[str], met: tuple[bool, bool], confidence: float) -> WorstCase:
    """The comparison if each side's undecided trials are ``met`` or not."""
    pairs = []
    for name in tasks:
        one, other = first.tasks[name], second.tasks[name]
        passed = one.passed + one.undecided * met[0], other.passed + other.undecided * met[1]
        pairs.append(PairedTask(task=name, cluster=one.cluster, passed=passed, judged=(one.judged, other.judged)))
    return WorstCase(difference=difference_of(pairs, confidence=confidence), p=flip_test_of(pairs))
