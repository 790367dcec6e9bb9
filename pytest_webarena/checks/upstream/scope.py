"""What a question asks about, and whether a clause of an answer speaks of that or of something else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from pytest_webarena.checks.upstream.folding import stem

__all__ = ["MONTH", "Question", "dates_of", "negated_words", "of_something_else"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, as far as it tells which numbers of an answer could answer it."""

    text: str
    """Folded."""
    words: frozenset[str]
    """Stems of its words."""
    dimension: str
    """``count``, ``money``, ``code`` (order numbers and the like) or nothing known."""
    numbers: frozenset[Fraction]
    """That it says itself."""
    negated: frozenset[str] = frozenset()
    """Those of its words that it negates: "not approved", "non-cancelled"."""
    counted: frozenset[str] = frozenset()
    """What it asks the number of."""
    months: frozenset[str] = frozenset()
    years: frozenset[str] = frozenset()


MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
"""A month's name in folded text."""

_CLAUSES = re.compile(r"[.;:!?\n()]\s?|,\s|\s(?:but|and|while|whereas|hence|so)\s")
_NEGATED = re.compile(r"(?:\bnot(?: yet| been)?|n't(?: been)?|\bnon|\bun|\bnever)[ -]?([a-z]{3,})")
_LEFT_OUT = re.compile(
    r"\b(?:not|non|never|without|excluding|except|other than|leaving out|ignoring|skipping|no)\b|n't\b|\bun"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def dates_of(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The months (three letters) and years that folded ``text`` names, in words or in dates."""
    months = {named[0][:3] for named in re.finditer(rf"\b{MONTH}", text)}
    if "may" in months and not re.search(r"\bmay\b,? ?\d|(?:in|of|during|to|and|from|mid|until) may\b", text):
        months.discard("may")
    for match in re.finditer(
        r"(?<!\d)(\d{1,2})/(?:\d{1,2}(?:/\d{2,4})?|\d{4})(?!\d)|(?<!\d)\d{4}[/-](\d{1,2})(?!\d)", text
    ):
        number = int(match[1] or match[2])
        if 1 <= number <= 12:
            months.add(_MONTHS[number - 1])
    return frozenset(months), frozenset(re.findall(r"(?<![\d.$])(?:19|20)\d\d(?![\d.])", text))


def negated_words(text: str, words: frozenset[str]) -> frozenset[str]:
    """Those of ``words`` that folded ``text`` negates directly."""
    return frozenset(stem(match[1]) for match in _NEGATED.finditer(text)) & words


def of_something_else(before: str, after: str, question: Question) -> bool:
    """Whether the clause is of another year or month than the question, or of the contrary ("not approved")."""
    start = max((match.end() for match in _CLAUSES.finditer(before)), default=0)
    end = _CLAUSES.search(after)
    clause = before[start:] + " \x01 " + (after[: end.start()] if end else after)
    months, years = dates_of(clause)
    if (question.years and years and not years & question.years) or (
        question.months and months and not months & question.months
    ):
        return True
    denied = negated_words(clause, question.words)
    if denied - question.negated:
        return True
    said = {stem(word) for word in re.findall(r"[a-z]+", clause)}
    return bool((question.negated & said) - denied) and not _LEFT_OUT.search(clause)
