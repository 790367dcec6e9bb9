"""The clause of an answer that states its number: behind the reasons for it, before what follows from it."""

from __future__ import annotations

import re

from pytest_webarena.checks.computed.clauses import changes
from pytest_webarena.checks.computed.harmless import DOUBTS, HAZARDS, words_in
from pytest_webarena.checks.computed.spelled import spelled_numbers

__all__ = ["stating_clause"]

_CONCLUDES = re.compile(
    r"[,;.]\s+(?:and\s+)?(?:so|thus|hence|therefore|consequently)\b,?(?!\s+(?:far|that))|,\s+whose\s+value\b"
    r"|(?:\A|[.]\s+)(?:By\s+[^,=\d]{3,40}?\b(?:rule|law|theorem|symmetry|definition|formula|induction)\b,?"
    r"|[A-Z]\w+ing\s+[^=\d]{3,60}?\b(?:gives|yields)\b)",
)
"""Where the clause of what follows begins."""
_EXPLAINS = re.compile(
    r"[,;]?\s*\b(?:since|because|due\s+to)\b|[,;]\s+(?:so|hence|thus|therefore)\b|[,;]\s+as\s+(?:expected|required)\b"
)
"""How a reason or a consequence begins."""


def stating_clause(text: str) -> tuple[str, str]:
    """Returns the clause that states a number, and what comes before it; the whole text where that is not sure.

    >>> stating_clause("Half of 6 is left, so there are 3.")
    (' there are 3.', 'Half of 6 is left')
    >>> stating_clause("It is 5, so it is odd."), stating_clause("It is 5, so twice that is right.")[1]
    (('It is 5', ''), '')
    """
    for found in _EXPLAINS.finditer(text):
        behind = text[found.end() :]
        words = words_in(behind)
        if _has_number(text[: found.start()]) and not _has_number(behind):
            if HAZARDS.isdisjoint(words) and not changes(behind) and not any(word.endswith("n't") for word in words):
                text = text[: found.start()]
            break
    for found in reversed(list(_CONCLUDES.finditer(text))):
        before = text[: found.start()]
        if _has_number(text[found.end() :]):
            words = words_in(text[: found.end()])
            if DOUBTS.isdisjoint(words) and not any(word.endswith("n't") for word in words):
                return text[found.end() :], before
            break
    return text, ""


def _has_number(text: str) -> bool:
    return re.search(r"\d|\bpi\b|\u03c0", text) is not None or next(spelled_numbers(text), None) is not None
