"""Comparison of a failed trial with a passed one of the same task: aligned steps, first difference, expected result.

Steps are equal by the rule of `reference_steps`: the same action on the same element of the same page. Other steps may
lead to the same end, so the first difference is where to look, and not necessarily the fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pytest_webarena.evidence import StepRecord
from pytest_webarena.evidence.step_sentences import step_sentence
from pytest_webarena.results.page_paths import REFERENCES
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.results.reference_steps import same_step
from pytest_webarena.results.wording import why_undecided
from pytest_webarena.text import shorten

__all__ = ["Explained", "Pair", "Passed", "TrialSteps", "align", "explain"]

Steps = Sequence[StepRecord]
TrialSteps = tuple[TrialRecord, Steps]
"""A trial, and the steps of its final attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One line of the alignment."""

    failed: StepRecord | None
    """The failed trial's step; None if only the other trial took such a step here."""
    passed: StepRecord | None

    @property
    def same(self) -> bool:
        """Whether both trials took the step."""
        return self.failed is not None and self.passed is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A failed trial, compared with one that passed."""

    failed: TrialKey
    passed: TrialKey
    pairs: tuple[Pair, ...]
    wanted: str
    """What the failed trial's checks expected and found, in one line."""
    answers: tuple[str | None, str | None]
    """Answers of the failed and of the passed trial."""
    undecided: str = ""
    """Why the failed trial is undecided (`undecided_words`); empty if it is not."""

    @property
    def first(self) -> int | None:
        """Index of the first line that only one of them has; None where both took the same steps."""
        return next((number for number, pair in enumerate(self.pairs) if not pair.same), None)

    def lines(self, width: int = 80) -> Iterator[str]:
        """Yield lines for terminals and reports, at most ``width`` characters long except for what was expected."""
        other = self.passed.agent if self.passed.agent != self.failed.agent else f"trial {self.passed.trial}"
        half = (width - 9) // 2
        heads = [
            shorten(f"{name}, which {outcome}", half)
            for name, outcome in (
                (self.failed.agent, "is undecided" if self.undecided else "failed"),
                (other, "passed"),
            )
        ]
        yield f"{'':7}{heads[0]:<{half}}  {heads[1]}"
        for number, pair in enumerate(self.pairs):
            cells = [shorten(_words(step), half) if step is not None else "" for step in (pair.failed, pair.passed)]
            sign = "=" if pair.same else "≠" if number == self.first else " "
            yield f"{sign:2} {number + 1:>3} {cells[0]:<{half}}  {cells[1]}".rstrip()
        if self.first is None:
            yield "both took the same steps"
        if self.answers[0] != self.answers[1]:
            for name, answer in zip((self.failed.agent, other), self.answers, strict=True):
                yield shorten(f"answer of {name}: {'none' if answer is None else repr(answer)}", width)
        if self.undecided:
            yield f"undecided: {self.undecided}"
        elif self.wanted:
            yield f"wanted: {self.wanted}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "task": self.failed.task,
            "failed": asdict(self.failed),
            "undecided": bool(self.undecided),
            "why_undecided": self.undecided,
            "passed": asdict(self.passed),
            "parted_at": self.first,
            "steps": [
                {"same": pair.same, "failed": _plain(pair.failed), "passed": _plain(pair.passed)} for pair in self.pairs
            ],
            "answers": {"failed": self.answers[0], "passed": self.answers[1]},
            "wanted": self.wanted,
        }


def _plain(step: StepRecord | None) -> dict[str, Any] | None:
    if step is None:
        return None
    return {"step": step.index, "url": step.url_before, "action": step_sentence(step), "error": step.error}


def _words(step: StepRecord) -> str:
    return f"{step_sentence(step)}{' (no effect)' if step.error else ''}"


def explain(failed: TrialSteps, passed: Iterable[TrialSteps]) -> Explained | None:
    """Compare ``failed`` with the most similar trial of ``passed``; None where none has the same task.

    Among equally similar trials, the agent's own come first, then other agents', then the solution.
    """
    record, failed_actions = failed[0], _acts(failed[1])
    best: tuple[tuple[int, bool, bool], Explained] | None = None
    for other, steps in passed:
        if other.key.task != record.key.task or other.outcome != "passed":
            continue
        pairs = tuple(align(failed_actions, _acts(steps)))
        own, agents = other.key.agent == record.key.agent, other.key.agent not in REFERENCES
        rank = sum(pair.same for pair in pairs), own, agents
        if best is None or rank > best[0]:
            answers = record.answer, other.answer
            wanted = record.message.partition("\n")[0]
            best = (
                rank,
                Explained(
                    failed=record.key,
                    passed=other.key,
                    pairs=pairs,
                    wanted=wanted,
                    answers=answers,
                    undecided=why_undecided(record),
                ),
            )
    return best[1] if best is not None else None


class Passed:
    """Trials that passed, by task; their steps are read when they are needed."""

    def __init__(self, records: Iterable[TrialRecord], steps_of: Callable[[TrialRecord], Steps]) -> None:
        self._steps_of = steps_of
        self._of: dict[str, list[TrialRecord]] = {}
        for record in records:
            if record.outcome == "passed":
                self._of.setdefault(record.key.task, []).append(record)

    def of(self, task: str) -> Iterator[TrialSteps]:
        """Yield the passed trials of one task."""
        return ((record, self._steps_of(record)) for record in self._of.get(task, ()))


def _acts(steps: Steps) -> list[StepRecord]:
    return [step for step in steps if step.action.get("kind") != "stop"]


def align(one: Steps, two: Steps) -> Iterator[Pair]:
    """Yield the steps of both in order, aligned so that as many as possible are equal."""
    common = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for a in range(len(one) - 1, -1, -1):
        for b in range(len(two) - 1, -1, -1):
            common[a][b] = (
                common[a + 1][b + 1] + 1 if same_step(one[a], two[b]) else max(common[a + 1][b], common[a][b + 1])
            )
    a = b = 0
    while a < len(one) or b < len(two):
        if a < len(one) and b < len(two) and same_step(one[a], two[b]):
            yield Pair(failed=one[a], passed=two[b])
            a, b = a + 1, b + 1
        elif b == len(two) or (a < len(one) and common[a + 1][b] >= common[a][b + 1]):
            yield Pair(failed=one[a], passed=None)
            a += 1
        else:
            yield Pair(failed=None, passed=two[b])
            b += 1
