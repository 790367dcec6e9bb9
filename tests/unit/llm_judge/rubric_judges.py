"""Judges of rubrics with known habits, as scripts for the local endpoint."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_webarena.llm_judge.rubric_answers import GradedAnswers
from tests.model_server import Model, say
from tests.sealed import with_seal

__all__ = ["generous", "knows", "noisy_points", "reply"]

Points = Callable[[str, Sequence[float], Sequence[float]], Sequence[float]]
"""Function of prompt, right points and maximum points that returns the awarded points."""


def reply(points: Sequence[float], quote: str) -> str:
    """Return a reply in the requested form."""
    lines = [f"ITEM {number} POINTS {each:g}\nQUOTE {quote}" for number, each in enumerate(points, start=1)]
    return "\n".join(["Let me see.", "", *lines])


def knows(answers: GradedAnswers, given: Points = lambda prompt, right, most: right) -> Model:
    """Return a judge that awards ``given`` of the right points and quotes the start of the answer."""
    table: Mapping[str, tuple[Sequence[float], Sequence[float], str]] = {
        barred(each.question.answer): (
            each.points,
            [item.points for item in each.question.items],
            " ".join(each.question.answer.split()[:5]),
        )
        for each in answers.answers
    }

    def grade(body: dict[str, Any]) -> str:
        prompt = body["messages"][1]["content"]
        answer = prompt.partition("The student's answer:\n")[2].partition("\n\nHow to grade:")[0]
        right, most, quote = table[answer]
        return with_seal(reply(given(prompt, right, most), quote), body)

    return lambda body: say(grade(body), usage=(300, 20))


def generous(answers: GradedAnswers) -> Model:
    """Return a judge that always awards all points."""
    return knows(answers, lambda prompt, right, most: most)


def noisy_points(answers: GradedAnswers, *, share: float) -> Model:
    """Return a judge that inverts this share of the right points."""

    def given(prompt: str, right: Sequence[float], most: Sequence[float]) -> Sequence[float]:
        return [
            top - point if _draw(f"{number}{prompt}") < share else point
            for number, (point, top) in enumerate(zip(right, most, strict=True))
        ]

    return knows(answers, given)


def barred(text: str) -> str:
    return "\n".join(f"| {line}" for line in text.splitlines())


def _draw(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32
