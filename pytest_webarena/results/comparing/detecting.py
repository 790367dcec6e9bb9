"""Finds comparisons that could not show a regression, whatever the outcomes of the second side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_webarena.results.comparing.comparison import Comparison, compare
from pytest_webarena.results.comparing.difference import PairedTask, difference_of
from pytest_webarena.results.comparing.sides import Side
from pytest_webarena.results.comparing.significance import mcnemar
from pytest_webarena.results.comparing.wording import p_words, titled

__all__ = ["blind_baseline", "blind_spot", "cannot_get_worse"]

_ROUNDING = 1e-12


def cannot_get_worse(each: Comparison) -> bool:
    """Return whether the first side passed nothing that the second could lose.

    Excluded errors and tasks that are not compared are included.
    """
    return not any(task.passed for task in each.first.tasks.values()) and each.bounds[0] >= 0


def blind_spot(each: Comparison) -> str:
    """Return why ``each`` could not show even a total collapse; empty where it could.

    The comparison is repeated as if every judged trial of the second side had failed. The first side's outcomes, the
    numbers of trials, the templates, the judge and the excluded errors stay the same. A cheaper bound would be a
    different test from the gate's.
    """
    # Of several comparisons, the first finding needs Bonferroni's level of a single one, by Holm's method too.
    confidence = each.difference.confidence
    collapsed = compare(each.first, _collapsed(each.second), confidence=confidence, allow_mixed=True)
    if collapsed.verdict == "worse":
        return ""
    one, other = titled(each)
    passed = [fate.first.cluster for fate in each.fates if fate.first.passed]
    found = f"{_count(len(each.fates), 'task')} cannot show even a total collapse of {other}: {one} passed "
    found += _passed(passed) if len(passed) < len(each.fates) or len(set(passed)) < len(passed) else "all of them"
    if collapsed.p > collapsed.alpha + _ROUNDING:
        return f"{found}, so {p_words(collapsed.p)} at best. {_needed(confidence)}"
    if collapsed.verdict_of_judged == "worse":
        return f"{found}, and the excluded errors could undo it. Fewer errors are needed"
    if each.judge_is_uninformative or collapsed.corrected is not None:
        return f"{found}, and the judge's errors leave it open. More tasks or a better judge are needed"
    return f"{found}, and the interval would include 0. More tasks are needed that pass in the baseline"


def blind_baseline(sides: Sequence[Side], confidence: float) -> str:
    """Return why no run could show a total collapse of any side; empty where one could, or where none can get worse.

    Only the p-value is considered, which a run with more trials or with fewer of the tasks can't improve.
    """
    found = ""
    for side in sides:
        passed = [task.cluster for task in side.tasks.values() if task.passed]
        p = mcnemar(0, len(set(passed)))
        if not passed or p <= 1 - confidence + _ROUNDING:
            return ""
        found = found or (
            f"{_count(len(side.tasks), 'task')} cannot show even a total collapse: {side.name} passed "
            f"{_passed(passed)}, so {p_words(p)} at best. {_needed(confidence)}"
        )
    return found


def _collapsed(side: Side) -> Side:
    """Return the side as if every judged trial had failed."""
    tasks = {
        name: replace(
            task,
            tries=tuple(
                each if each.outcome == "error" else replace(each, outcome="failed", undecided=False)
                for each in task.tries
            ),
        )
        for name, task in side.tasks.items()
    }
    return replace(side, tasks=tasks)


def _passed(clusters: Sequence[str]) -> str:
    templates = len(set(clusters))
    more = f", of {_count(templates, 'template')}" if templates < len(clusters) else ""
    return f"{len(clusters) or 'none'}{more}"


def _needed(confidence: float) -> str:
    """Return a sentence with the number of tasks that suffices to show that all of them fail."""
    count = 1
    while mcnemar(0, count) > 1 - confidence + _ROUNDING or not _detects_collapse(count, confidence):
        count += 1
    return f"At least {count} tasks of different templates have to pass in the baseline"


def _detects_collapse(count: int, confidence: float) -> bool:
    """Return whether the gate fails if ``count`` tasks of different templates, with one trial each, all fail."""
    tasks = [PairedTask(task=str(number), cluster=number, passed=(1, 0), judged=(1, 1)) for number in range(count)]
    return difference_of(tasks, confidence=confidence).decided() < 0


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"
