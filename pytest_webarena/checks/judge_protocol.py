"""What a check asks a judge model, and what comes back: the protocol between checks and judges."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from pytest_webarena.errors import Cause, JudgeError, WebArenaError

__all__ = [
    "Asker",
    "Award",
    "Decision",
    "Grade",
    "JudgeOff",
    "JudgeUnreadable",
    "Question",
    "QuestionKind",
    "RubricItem",
]

QuestionKind = Literal["equivalent", "unachievable", "formula", "rubric", "rule"]
"""``equivalent``: does the answer mean the same as the reference answer? ``unachievable``: is the reason that the agent
reports for not doing the task the true one? ``formula``: are both the same formula, or nearly? ``rubric``: how many
points does the answer get for each item? ``rule``: does an address, a value or a text fit a rule in words?"""

Decision = Literal["correct", "partially_correct", "incorrect"]
"""A judge's grade. A reason that is the same counts as ``correct``, one that differs as ``incorrect``; of a rubric all
points, some and none are the three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricItem:
    """One thing that an answer gets points for."""

    points: float
    """The most that it is worth; more than 0."""
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Award:
    """What a judge gives for one item of a rubric. Whether the quote is in the answer, it has not been asked."""

    points: float
    """From 0 to what the item is worth."""
    quote: str = ""
    """The words of the answer that earn them; empty: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to a judge model."""

    kind: QuestionKind
    intent: str
    """The task, as the agent was given it."""
    reference: str
    """The reference answer, the true reason why the task can't be done, or the rule."""
    answer: str
    """What the agent said."""
    items: tuple[RubricItem, ...] = ()
    """Of a rubric; ``reference`` is the reference solution then, and may be empty."""

    def as_data(self) -> dict[str, Any]:
        """Plain data. Questions of other kinds have no items: theirs is what it was before there were rubrics."""
        data = asdict(self)
        if not self.items:
            del data["items"]
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What a judge model made of a question."""

    decision: Decision
    """By the strict reading of the reply."""
    replies: tuple[str, ...]
    """What the model said, verbatim: those that could not be read first, the one that decided last.
    A harness that asks but once would have read the first."""
    model: str
    prompt: str
    """Version of the prompt: ``name@hash``."""
    temperature: float | None
    cached: bool = False
    """Answered by the verdict cache: no call, no cost."""
    awards: tuple[Award, ...] = ()
    """Of a rubric: one per item, in its order."""
    share: float | None = None
    """Of a rule: how far it is met, from 0 to 1. None for other kinds."""

    @property
    def reply(self) -> str:
        """The reply that decided."""
        return self.replies[-1]


class JudgeOff(WebArenaError):
    """No judge may be asked: none is configured, or the one that is does not reach the bar.

    What depends on it is inconclusive, with ``str()`` as the reason: neither a pass nor a fail nor an error.
    """


class JudgeUnreadable(JudgeError):
    """The model was asked as often as allowed and never replied in the form that was asked for."""

    def __init__(self, message: str, *, replies: tuple[str, ...], blame: Cause = "judge") -> None:
        super().__init__(message)
        self.replies = replies
        """What it said, verbatim, in order."""
        self.blame: Cause = blame
        """The agent's, where its answer looks like a judge's verdict: that must not take the trial out of its rate."""

    def __reduce__(self) -> tuple[object, ...]:
        return functools.partial(type(self), replies=self.replies, blame=self.blame), self.args


class Asker(Protocol):
    """A judge model, as far as checks see it."""

    def ask(self, question: Question) -> Grade:
        """The grade. Raises `JudgeOff`, `JudgeUnreadable` and, when the model can't be reached, `JudgeError`."""
