"""Reads a judge's reply, strictly: a grade stands on the last line and nowhere else, or there is none."""

from __future__ import annotations

import re

from pytest_webarena.checks.asking import Decision, QuestionKind

__all__ = ["WORDS", "read_reply"]

WORDS: dict[QuestionKind, dict[str, Decision]] = {
    "equivalent": {
        "correct": "correct",
        "incorrect": "incorrect",
        "partially correct": "partially_correct",
    },
    "unachievable": {"same": "correct", "different": "incorrect"},
}
"""The words of each kind of question, and what they mean."""

_LINE = re.compile(r"(?:(?:final |the )?(?:grade|verdict|judg[e]?ment)\s*(?:is\b|[:=])?\s*)?([a-z]+(?: [a-z]+)?)")
_DECORATION = " \t*_`\"'#>.!()[]{}"


def read_reply(text: str, kind: QuestionKind) -> Decision | None:
    """The grade; None when the last line is none, or when other lines of its kind disagree with it.

    Reasons may use the words of the grades as they like: only lines that hold nothing else count.

    >>> read_reply("It is not correct that they differ.\\nGRADE: correct", "equivalent")
    'correct'
    >>> read_reply("The answer is not correct.", "equivalent") is None
    True
    """
    lines = [line for line in text.splitlines() if line.strip(_DECORATION)]
    if not lines or (last := _grade(lines[-1], kind)) is None:
        return None
    told = {grade for line in lines if (grade := _grade(line, kind)) is not None}
    return last if len(told) == 1 else None


def _grade(line: str, kind: QuestionKind) -> Decision | None:
    bare = " ".join(re.sub(r"[*_`\"']", "", line).lower().strip(_DECORATION).split())
    match = _LINE.fullmatch(bare)
    return WORDS[kind].get(match[1]) if match else None
