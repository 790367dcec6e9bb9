"""Agreement of trials with a reference, step by step, as it is measured for data sets without sites.

Mind2Web (Deng et al., arXiv 2306.06070) compares each step of an agent with the annotated one: whether it is the same
element, and the same action on it. An agent that takes another path fails all of that and may yet have done the task,
which is why WebCanvas measures key nodes. Both figures together show how far they agree.

The reference is a solution that was replayed (`REFERENCES`), from the same runs. Its steps are searched for in the
trial's, in order; each counts once. Mind2Web puts an agent back onto the reference after each step. Here it continues
from where it is, so these figures are lower.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_webarena.evidence import StepRecord
from pytest_webarena.results.page_paths import REFERENCES, page_of
from pytest_webarena.results.records import TrialRecord

__all__ = ["ReferenceScores", "reference_scores", "references", "same_step"]

Steps = Sequence[StepRecord]
StepsOf = Callable[[TrialRecord], Steps]
"""Returns the steps of a trial's last attempt."""

_LIKE = {"check": "click"}
"""Kinds of action that are equivalent to another one."""
_VALUES = ("text", "options", "keys", "files", "url")
"""Fields with the value of an action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceScores:
    """Scores of one agent, over its trials of tasks with a reference. Means over trials; None where there are none."""

    trials: int
    element: float | None
    """Share of the reference's steps on whose element or address the trial acted."""
    step: float | None
    """Share of the reference's steps that the trial took: the same action on the same element."""
    task: float | None
    """Share of trials that took all steps of the reference."""
    same_verdict: float | None
    """Share of trials that took all steps and passed, or did neither."""


def references(records: Iterable[TrialRecord], steps_of: StepsOf) -> dict[str, Steps]:
    """Return the steps of a replayed solution that passed, without the answer, for each task."""
    found: dict[str, Steps] = {}
    for record in records:
        if record.key.agent in REFERENCES and record.outcome == "passed" and record.key.task not in found:
            steps = [step for step in steps_of(record) if not step.error and step.action.get("kind") != "stop"]
            if steps:
                found[record.key.task] = steps
    return found


def reference_scores(
    records: Iterable[TrialRecord], known: Mapping[str, Steps], steps_of: StepsOf
) -> ReferenceScores | None:
    """Return the scores of one agent's trials.

    None where no task of them has a reference, and for the reference itself.
    """
    trials = [
        (record, _shares(known[record.key.task], steps_of(record)))
        for record in records
        if record.key.task in known and record.outcome != "error" and record.key.agent not in REFERENCES
    ]
    if not trials:
        return None
    whole = [shares[1] == 1 for _, shares in trials]
    return ReferenceScores(
        trials=len(trials),
        element=_mean([shares[0] for _, shares in trials]),
        step=_mean([shares[1] for _, shares in trials]),
        task=_mean([float(each) for each in whole]),
        same_verdict=_mean(
            [float(all_ == (record.outcome == "passed")) for (record, _), all_ in zip(trials, whole, strict=True)]
        ),
    )


def _shares(reference: Steps, steps: Steps) -> tuple[float, float]:
    """The shares of a reference's elements and steps that are in a trial."""
    done = [step for step in steps if not step.error]
    elements, whole = (_common(reference, done, are_equal) for are_equal in (_same_element, same_step))
    return elements / len(reference), whole / len(reference)


def _common(one: Steps, two: Steps, are_equal: Callable[[StepRecord, StepRecord], bool]) -> int:
    """Length of the longest common subsequence of steps."""
    best = [0] * (len(two) + 1)
    for a in one:
        row = [0]
        for at, b in enumerate(two, start=1):
            row.append(best[at - 1] + 1 if are_equal(a, b) else max(best[at], row[-1]))
        best = row
    return best[-1]


def same_step(one: StepRecord, two: StepRecord) -> bool:
    """Return whether both are the same action on the same element, on the same page."""
    return _kind(one) == _kind(two) and _value(one) == _value(two) and _same_element(one, two)


def _same_element(one: StepRecord, two: StepRecord) -> bool:
    """Whether both act on the same page on the element with the same selector, or the same role and name.

    Two steps without an element are equal if they are the same action with the same value, such as a visit to the same
    address.
    """
    if one.target is None or two.target is None:
        return one.target is two.target and _kind(one) == _kind(two) and _value(one) == _value(two)
    if page_of(one.url_before) != page_of(two.url_before):
        return False
    named = bool(one.target.role and one.target.name)
    return one.target.selector == two.target.selector or (
        named and (one.target.role, one.target.name) == (two.target.role, two.target.name)
    )


def _kind(step: StepRecord) -> str:
    kind = str(step.action.get("kind", ""))
    return _LIKE.get(kind, kind)


def _value(step: StepRecord) -> str:
    value = next((step.action[name] for name in _VALUES if step.action.get(name)), "")
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = "\n".join(map(str, value))
    if step.action.get("kind") == "goto":
        return step.url_after.partition("#")[0].rstrip("/")
    return " ".join(str(value).casefold().split())


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
