"""Judge models with known habits, as scripts for the local endpoint."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from pytest_webarena.checks.judge_protocol import Decision
from pytest_webarena.llm_judge.answers import LabelledSet
from tests.model_server import Model, say
from tests.sealed import with_seal

__all__ = ["always", "noisy", "perfect"]

_WORDS = {"correct": "same", "incorrect": "different"}
_TEXTS = re.compile(r"^(?:Task|Reference answer|True reason|Student's answer|Student's report): (.*)$", re.MULTILINE)


def perfect(answers: LabelledSet) -> Model:
    """Return a judge that always gives the right grade."""
    return noisy(answers, share=0.0)


def noisy(answers: LabelledSet, *, share: float) -> Model:
    """Return a judge that inverts the right grade for this share of the answers."""
    right = _right_grades(answers)

    def grade(prompt: str) -> str:
        decision = right(prompt)
        draw = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:4], "big") / 2**32
        if draw < share:
            decision = "incorrect" if decision == "correct" else "correct"
        return _reply_text(prompt, decision)

    return lambda body: say(with_seal(grade(_question(body)), body), usage=(300, 20))


def always(decision: Decision) -> Model:
    """Return a judge that always gives one grade."""
    return lambda body: say(with_seal(_reply_text(_question(body), decision), body), usage=(300, 20))


def _question(body: dict[str, Any]) -> str:
    content = body["messages"][1]["content"]
    assert isinstance(content, str)
    return content


def _reply_text(prompt: str, decision: Decision) -> str:
    word = _WORDS[decision] if "True reason: " in prompt else decision.replace("_", " ")
    return f"So it is.\nGRADE: {word}"


def _right_grades(answers: LabelledSet) -> Callable[[str], Decision]:
    """Return a function from a judge's prompt to its right grade."""
    table = {
        tuple(
            json.dumps(text, ensure_ascii=False) for text in (graded.intent, graded.reference, graded.answer)
        ): each.grade
        for each in answers.answers
        for graded in [each.question]
    }
    return lambda prompt: table[tuple(_TEXTS.findall(prompt))]
