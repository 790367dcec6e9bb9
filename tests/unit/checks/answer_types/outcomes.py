"""Outcomes of reading answers, by the check ``answer``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.unit.checks.helpers import evidence, result

__all__ = ["Rows", "cases", "outcome"]

Rows = Sequence[tuple[str, str, Mapping[str, Sequence[str]]]]
"""A check, the intent, and answers by outcome: ``met``, ``not met`` or ``undecided``."""


def outcome(check: str, answer: str, intent: str) -> str:
    """Returns the outcome of the check ``answer: {check}``."""
    found = result(f"answer: {check}", evidence(answer), intent=intent)
    return {True: "met", False: "not met", None: "undecided"}[found.passed]


def cases(rows: Rows) -> list[tuple[str, str, str, str]]:
    """Returns check, intent, answer and outcome of each answer."""
    return [
        (check, intent, answer, word)
        for check, intent, answers in rows
        for word, texts in answers.items()
        for answer in texts
    ]
