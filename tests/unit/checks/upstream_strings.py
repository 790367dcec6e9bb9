"""Upstream's checks of answers, judged in tests, and a judge who says what it is told to."""

from __future__ import annotations

import json
from typing import Any

from pytest_webarena.checks import REPAIRED, Grading, Verdict, judge
from pytest_webarena.checks.judge_protocol import Decision, Grade, Question

from .helpers import evidence, task

__all__ = ["Judge", "graded"]


class Judge:
    """A judge model that replies what it is told to."""

    def __init__(self, *replies: str, decision: Decision = "correct", error: Exception | None = None) -> None:
        self.replies = replies
        self.decision = decision
        self.error = error
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Grade:
        self.asked.append(question)
        if self.error is not None:
            raise self.error
        return Grade(decision=self.decision, replies=self.replies, model="m", prompt="p@1", temperature=0.0)


def graded(
    spec: object, answer: str | None, grading: Grading = REPAIRED, *, asker: Judge | None = None, **facts: Any
) -> Verdict:
    """The verdict on one answer."""
    made = task(f"- string_match: {json.dumps(spec)}", intent="Who asks on __REDDIT__?")
    return judge(made, evidence(answer, **facts), grading=grading, asker=asker)
