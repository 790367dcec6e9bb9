"""The protocol between checks and judge models: questions and grades."""

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
"""What a judge model decides:

- ``equivalent``: does the answer mean the same as the reference answer?
- ``unachievable``: is the agent's reason for not doing the task the true one?
- ``formula``: are both the same formula, or nearly?
- ``rubric``: how many points does the answer get for each item?
- ``rule``: does an address, a value or a text fit a rule in words?
"""

Decision = Literal["correct", "partially_correct", "incorrect"]
"""A judge's grade. The same reason counts as ``correct``, a different one as ``incorrect``. For a rubric the three
grades mean all points, some and none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricItem:
    """One item of a rubric that earns points."""

    points: float
    """Maximum points of the item; more than 0."""
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Award:
    """Points that a judge gives for one item of a rubric. It is not verified yet that the answer contains the quote."""

    points: float
    """From 0 to the item's maximum."""
    quote: str = ""
    """Words of the answer that earn the points; empty if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to a judge model."""

    kind: QuestionKind
    intent: str
    """The task, as it was given to the agent."""
    reference: str
    """The reference answer, the true reason why the task can't be done, or the rule."""
    answer: str
    """The agent's answer."""
    items: tuple[RubricItem, ...] = ()
    """Items of a rubric; ``reference`` is then the reference solution, and may be empty."""

    def as_data(self) -> dict[str, Any]:
        """Returns plain data. Other kinds than rubrics have no items, so that their data is the same as in older
        versions."""
        data = asdict(self)
        if not self.items:
            del data["items"]
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """A judge model's grade for a question."""

    decision: Decision
    """The grade by strict reading of the reply."""
    replies: tuple[str, ...]
    """Replies of the model, verbatim: unreadable ones first, the deciding one last. A harness that asks only once would
    have read the first."""
    model: str
    prompt: str
    """Version of the prompt: ``name@hash``."""
    temperature: float | None
    cached: bool = False
    """Whether the verdict cache answered, without a call and without cost."""
    awards: tuple[Award, ...] = ()
    """Awards of a rubric: one per item, in its order."""
    share: float | None = None
    """How far a rule is met, from 0 to 1. None for other kinds."""

    @property
    def reply(self) -> str:
        """The deciding reply."""
        return self.replies[-1]


class JudgeOff(WebArenaError):
    """No judge may be used: none is configured, or the configured one is not accurate enough.

    The checks that need it are undecided, with ``str()`` as the reason: neither a pass nor a failure nor an error.
    """


class JudgeUnreadable(JudgeError):
    """The model was asked as often as allowed and never replied in the required form."""

    event = "judge_unreadable"

    def __init__(self, message: str, *, replies: tuple[str, ...], cause: Cause = "judge") -> None:
        super().__init__(message)
        self.replies = replies
        """The model's replies, verbatim, in order."""
        self.cause = cause
        """``agent`` where its answer is why no reply can be read: such an answer must not exclude the trial from its
        success rate."""

    def __reduce__(self) -> tuple[object, ...]:
        return functools.partial(type(self), replies=self.replies, cause=self.cause), self.args


class Asker(Protocol):
    """A judge model, as checks use it."""

    def ask(self, question: Question) -> Grade:
        """Returns the grade. Raises `JudgeOff`, `JudgeUnreadable` and, when the model can't be reached or refuses,
        `JudgeError`. The cause of an error is ``agent`` if its answer is the reason."""
