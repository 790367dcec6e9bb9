"""Comparing answers with references under the grading ``repaired``: one small rule per defect."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from fractions import Fraction

from pytest_webarena.checks.numbers import numbers_in
from pytest_webarena.checks.upstream.text import ALTERNATIVE, clean, equals, includes

__all__ = [
    "alternatives",
    "contains",
    "has_value",
    "is_copy",
    "is_number",
    "is_short_word",
    "is_shotgun",
    "plain",
    "same",
    "same_place_of_clone",
    "stands_alone",
    "whole_number",
]

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_FREE = re.compile(r"(?<![\w.,/-])[0-9][0-9,]*(?:\.[0-9]+)?(?![\w/-]|[.,]\d)")
_DISTANCE = re.compile(r"(?<=\d) (?=(?:km|mi|m)\b)")
_SSH = re.compile(r"(?<=ssh://git@)[^/\s]+(?=/)")
_QUOTES = str.maketrans(
    "\u2018\u2019\u201a\u201c\u201d\u201e\u2010\u2011\u2013\u2014\u2212",
    "'''\"\"\"-----",
)
_RUN = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:(?:\s*[,;]\s*|\s+(?:or|and)\s+|\s+)\d+(?:\.\d+)?(?![\w.]*\d)){3,}")
_HEDGE = re.compile(r"[\s,;/|&.!?-]|\b(?:or|and|maybe|either)\b")
LONGEST = 2000
"""Characters that an answer may have beyond ten times its reference."""

Rules = Callable[[str], bool]
"""Whether a rule is in force."""


def is_number(text: str) -> bool:
    """Whether a cleaned reference is one number."""
    return _NUMBER.fullmatch(text) is not None


def is_short_word(text: str) -> bool:
    """Whether a cleaned reference is yes, no or a word of two letters.

    Longer ones may well be right as parts of others: dry in drying, top in tops.
    """
    return text == "yes" or re.fullmatch(r"[^\W\d]{1,2}", text) is not None


def alternatives(reference: str, rules: Rules) -> list[str]:
    """``string-alternatives``: what the reference offers to choose from."""
    return reference.split(ALTERNATIVE) if rules("string-alternatives") else [reference]


def plain(text: str) -> str:
    """``plain-text``: one Unicode form, plain quotes and dashes, single spaces, no space before the unit of a distance.

    >>> plain("It\u2019s  914 km \u2013  fine")
    "It's 914km - fine"
    """
    text = " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).split())
    return _DISTANCE.sub("", text)


def _bare(text: str) -> str:
    return plain(clean(plain(text))).removesuffix(".").rstrip()


def is_copy(reference: str, answer: str) -> bool:
    """``equal-answers``: whether the answer is the reference, so that nobody has to be asked whether it means it.

    >>> is_copy("It\u2019s comfortable", '"It\'s  comfortable."'), is_copy("5 minutes", "five minutes"), is_copy("", "")
    (True, False, False)
    """
    return _bare(reference) == _bare(answer) != ""


def whole_number(reference: str, text: str) -> bool:
    """``whole-numbers``: whether the number stands by itself in ``text``, as it is written.

    >>> whole_number("170", "order 000000170"), whole_number("25", "in 1925"), whole_number("40.442", "40.44281, ")
    (True, False, True)
    """
    digits = re.escape(reference.replace(",", ""))
    more = r"\d*" if len(reference.partition(".")[2]) >= 3 else ""
    before = "" if reference.startswith("-") else r"(?<!\d-)(?<!\d)(?<!\d[.,])(?<![a-z])0*"
    return re.search(rf"{before}{digits}{more}(?!\d)(?![.,]\d)(?![a-z]*\d)", text) is not None


def has_value(reference: str, text: str) -> bool:
    """``number-values``: whether a number of this value stands by itself in ``text``; in words where it has no digits.

    >>> [has_value("0", text) for text in ("it was $0.00", "zero", "0-star", "0th", "10")]
    [True, True, False, False, False]
    """
    wanted = _value(reference)
    if not any(character.isdigit() for character in text):
        return any(token.value == wanted for token in numbers_in(text))
    return any(_value(match[0]) == wanted for match in _FREE.finditer(text))


def stands_alone(word: str, text: str) -> bool:
    """``whole-words``: whether the word is no part of another one.

    >>> stands_alone("no", "nothing known"), stands_alone("no", "No, never".lower())
    (False, True)
    """
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def is_shotgun(references: tuple[str, ...], answer: str) -> str:
    """``shotgun``: why the answer is none, if it only offers a choice; empty when it is one.

    >>> is_shotgun(("yes",), "yes or no")
    'it says yes and no'
    """
    text = clean(answer)
    if len(text) > LONGEST + 10 * sum(map(len, references)):
        return f"{len(text)} characters are no answer but a dump"
    if len(references) != 1:
        return ""
    wanted = clean(references[0])
    if wanted in ("yes", "no") and {"yes", "no"} == set(_HEDGE.sub(" ", text).split()):
        return "it says yes and no"
    if _NUMBER.fullmatch(wanted):
        outside = _RUN.sub(" ", text)
        if outside != text and not whole_number(wanted, outside):
            return "the number is only one of a list of numbers"
    return ""


def same_place_of_clone(reference: str, answer: str) -> tuple[str, str]:
    """``site-hosts``: both without the host of an SSH address, where the reference has one."""
    if not _SSH.search(reference):
        return reference, answer
    answer = re.sub(r"\bgit@([^:/\s]+):(?!\d+/)(?=\S)", r"ssh://git@\1/", answer)
    return _SSH.sub("host", reference), _SSH.sub("host", answer)


def same(reference: str, answer: str, rules: Rules) -> bool:
    """``exact_match`` as repaired."""
    for each in alternatives(reference, rules):
        wanted, given = same_place_of_clone(each, answer) if rules("site-hosts") else (each, answer)
        if rules("plain-text"):
            wanted, given = _bare(wanted), _bare(given)
        if equals(wanted, given):
            return True
        if rules("number-values") and _same_number(clean(wanted), clean(given)):
            return True
    return False


def contains(reference: str, answer: str, rules: Rules, *, tokens: bool) -> bool:
    """``must_include`` as repaired."""
    return any(_contains(each, answer, rules, tokens=tokens) for each in alternatives(reference, rules))


def _contains(reference: str, answer: str, rules: Rules, *, tokens: bool) -> bool:
    if rules("plain-text"):
        reference, answer = plain(reference), plain(answer)
    wanted, text = clean(reference), clean(clean(answer))
    if _NUMBER.fullmatch(wanted):
        if rules("number-values") and has_value(wanted, text):
            return True
        if rules("whole-numbers") and not (tokens and len(wanted) == 1):
            return whole_number(wanted, text)
    if rules("whole-words") and is_short_word(wanted):
        return stands_alone(wanted, text)
    return includes(reference, answer, tokens=tokens and len(wanted) == 1)


def _value(number: str) -> Fraction:
    return Fraction(number.replace(",", ""))


def _same_number(one: str, other: str) -> bool:
    """By value, unless it is a code, whose zeros count (06516)."""
    if not (_NUMBER.fullmatch(one) and _NUMBER.fullmatch(other)) or (len(one) > 1 and one.startswith("0")):
        return False
    return _value(one) == _value(other)
