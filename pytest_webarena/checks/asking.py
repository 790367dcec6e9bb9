"""What a check asks a judge model, and what comes back: the protocol between checks and judges."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, Protocol

from pytest_webarena.errors import JudgeError, WebArenaError

__all__ = ["Asker", "Decision", "Grade", "JudgeOff", "JudgeUnreadable", "Question", "QuestionKind"]

QuestionKind = Literal["equivalent", "unachievable"]
"""``equivalent``: does the answer mean the same as the reference answer? ``unachievable``: is the reason that the agent
reports for not doing the task the true one?"""

Decision = Literal["correct", "partially_correct", "incorrect"]
"""A judge's grade. A reason that is the same counts as ``correct``, one that differs as ``incorrect``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to a judge model."""

    kind: QuestionKind
    intent: str
    """The task, as the agent was given it."""
    reference: str
    """The reference answer, or the true reason why the task can't be done."""
    answer: str
    """What the agent said."""


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

    def __init__(self, message: str, *, replies: tuple[str, ...]) -> None:
        super().__init__(message)
        self.replies = replies
        """What it said, verbatim, in order."""

    def __reduce__(self) -> tuple[object, ...]:
        return functools.partial(type(self), replies=self.replies), self.args


class Asker(Protocol):
    """A judge model, as far as checks see it."""

    def ask(self, question: Question) -> Grade:
        """The grade. Raises `JudgeOff`, `JudgeUnreadable` and, when the model can't be reached, `JudgeError`."""
