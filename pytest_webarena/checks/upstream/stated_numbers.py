"""Whether an answer states a number, and no other: how the repairs find what is right."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from pytest_webarena.checks.upstream.claims import ranked_otherwise
from pytest_webarena.checks.upstream.counted import counts_others, predicate_of_part
from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, content_words, fold, stem
from pytest_webarena.checks.upstream.quantities import Quantity, amounts, quantities, ratings
from pytest_webarena.checks.upstream.scope import Question, dates_of, negated_words
from pytest_webarena.checks.upstream.stance import OTHER, is_asserted, is_denied, mark
from pytest_webarena.checks.upstream.stated_none import says_none, states_none

__all__ = ["closeness", "is_flood", "is_number", "number_objection", "question_of"]

_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_MONEY = re.compile(
    r"\b(?:spen[dt]|costs?|price[sd]?|pay|paid|payments?|refund|total amount|grand total|revenue|spending|money"
    r"|dollars?)\b"
)
_RATING = re.compile(r"\b(?:rating|rated|score|stars?)\b")
_COUNT = re.compile(r"\b(?:how many|number of|count of|total count|counts?)\b")
_CODES = re.compile(r"\b(?:order|invoice|ticket|customer) (?:number|id|no)\b|\bzip|\bphone|\bsku\b|\border #")


@functools.lru_cache(maxsize=1024)
def question_of(intent: str) -> Question:
    """What an intent asks for."""
    text = fold(intent).replace("\n", " ")
    coded = _CODES.search(text) and not re.search(r"\bhow many|(?<!order )\bnumber of|\bcount of", text)
    dimension = "code" if coded else "count" if _COUNT.search(text) else ""
    if not dimension and _MONEY.search(text):
        dimension = "money"
    bare = Question(text=text, words=content_words([intent]), dimension=dimension, numbers=frozenset())
    months, years = dates_of(text)
    return replace(
        bare,
        numbers=frozenset(each.value for each in quantities(text, bare)),
        negated=negated_words(text, bare.words),
        counted=_counted(text) if dimension == "count" else frozenset(),
        months=months,
        years=years,
        names=frozenset(
            word for match in re.findall(r"(?<=\s)[A-Z][\w'-]*", intent) for word in re.findall(r"\w+", fold(match))
        ),
        pairs=frozenset(
            (fold(one), fold(other)) for one, other in re.findall(r"(?<=\s)(?=([A-Z][\w]+) ([A-Z][\w]+))", intent)
        ),
    )


def is_number(reference: str) -> bool:
    """Whether a folded reference is one number."""
    return _NUMBER.fullmatch(reference) is not None


def _counted(text: str) -> frozenset[str]:
    """What "how many" and "number of" are followed by."""
    found = re.search(r"\b(?:how many|number of|count of) ((?:[a-z]+ ?){1,4})", text)
    words = []
    for word in found[1].split() if found else ():
        if word in FUNCTION_WORDS:
            break
        words.append(stem(word))
    return frozenset(words)


# --- numbers

MOST_NUMBERS = 150
"""So many numbers give none; to read them all would take long."""


def is_flood(text: str) -> bool:
    return len(re.findall(r"\d+", text)) > MOST_NUMBERS


def number_objection(
    reference: str,
    answer: str,
    question: Question,
    others: Sequence[str] = (),
    choices: Sequence[str] = (),
    *,
    loose: bool,
) -> str:
    """Why the answer does not give this number, and no other, for what is asked: a rule's name; empty when it does.

    ``others`` are the task's further references; with a text among them, other numbers belong to it. ``loose``: by
    value, in words, and "none" for 0; else only as it is written. ``choices`` are alternatives to the reference, which
    may be next to it in another unit ("3 stars, 65 %").
    """
    text, wanted = amounts(fold(answer)), Fraction(reference.replace(",", ""))
    text = ratings(text) if _RATING.search(question.text) else text
    if is_flood(text):
        return "shotgun"
    found = [each for each in quantities(text, question) if _fits(each, question)]
    numbers = [Fraction(each.replace(",", "")) for each in others if is_number(each)]
    same = [Fraction(each.replace(",", "")) for each in choices]
    long = len(reference.partition(".")[2]) >= 3
    cents = loose and long and question.dimension == "money"
    stated = [each for each in found if _means(each, reference, wanted, long=long, loose=loose, cents=cents)]
    whole = [each for each in stated if (each.exact or numbers) and not each.context]
    if not whole:
        return "" if loose and wanted == 0 and not stated and states_none(text, question, found) else "whole-numbers"
    beside = [each for each in found if _among(each, numbers, long=long, cents=cents)]
    good = [each for each in whole if is_asserted(_marked(text, each, beside), question.text)]
    if not good:
        return "asserted"
    good = [each for each in good if not ranked_otherwise(_clause_before(each, text), question)]
    if not good:
        return "asserted"
    if len(numbers) < len(others):
        return ""
    if _of_several_months(good, text):
        return "shotgun"
    named = [each for each in good if each.noun is not False]
    if (question.counted or question.dimension == "code" or _RATING.search(question.text)) and all(
        not each.unit and counts_others(each, text, question) for each in good
    ):
        return "whole-numbers"
    total = any(_singled_out(each, text) for each in good)
    none = bool(wanted) and not numbers and not total and says_none(text, question)
    if none or not (named or any(each.digits for each in good)):
        return "whole-numbers"
    others_found = [each for each in found if each not in stated]
    if any(_is_part_asked_for(each, good, text, question) for each in others_found):
        return "shotgun"
    if any(_is_by_whom_is_asked(each, text, question) for each in others_found) and not any(
        _is_by_whom_is_asked(each, text, question) for each in good
    ):
        return "shotgun"
    priced = any(each.unit == "money" for each in good)
    part = any(_PART_OF_THEM.match(text[each.end :]) for each in good)
    rivals = [
        each
        for each in found
        if not (each.context or each in stated or _labelled_less(each, named or good, text, question))
        and (not each.aside or _is_no_aside(each, good))
        and not (question.dimension == "code" and counts_others(each, text, question))
        and not (part and not _PART_OF_THEM.match(text[each.end :]))
        and (each.noun is not False or not named)
        and not _among(each, numbers, long=long, cents=cents)
        and not (each.unit == "money" and not each.exact and each.value in question.numbers)
        and not (each.unit and each.value in same)
        and not (priced and not each.unit and each.value and re.match(r" [a-z]", text[each.end :]))
        and not is_denied(mark(text, each.start, each.end))
    ]
    beside = [each for each in found if each not in stated]
    return "shotgun" if rivals and not _outweighs(named or good, rivals, beside, text) else ""


def _marked(text: str, each: Quantity, beside: Sequence[Quantity]) -> str:
    """The mark in place of the number, and theirs in place of the other references."""
    for other in beside:
        if other.start != each.start:
            text = text[: other.start] + OTHER * (other.end - other.start) + text[other.end :]
    return mark(text, each.start, each.end)


def _is_part_asked_for(rival: Quantity, good: Sequence[Quantity], text: str, question: Question) -> bool:
    """Whether it is another number that is said to be of what is asked: "346 were found, of which 341 are approved"."""
    said = predicate_of_part(rival, text)
    if not said or not question.counted or any(predicate_of_part(each, text) for each in good):
        return False
    asked = content_words([said]) & question.words
    return bool(asked) and not any(asked & content_words([_clause_around(each, text)]) for each in good)


_DOER = re.compile(r"\bdid (?P<one>[a-z]+)(?: and (?P<other>[a-z]+))? make\b")


def _doers(question: Question) -> tuple[str, ...]:
    found = _DOER.search(question.text)
    return tuple(filter(None, found.groups())) if found else ()


def _is_by_whom_is_asked(each: Quantity, text: str, question: Question) -> bool:
    by = re.match(r"(?: [a-z]+)? by ([a-z]+)", text[each.end :])
    return by is not None and by[1] in question.names | set(_doers(question))


def _clause_before(each: Quantity, text: str) -> str:
    return re.split(r"[.;,\n]| and | but ", text[max(0, each.start - 80) : each.start])[-1]


def _clause_around(each: Quantity, text: str) -> str:
    before, after = text[max(0, each.start - 80) : each.start], text[each.end : each.end + 80]
    return re.split(r"[.;,\n]", before)[-1] + re.split(r"[.;,\n]", after)[0]


_PART_OF_THEM = re.compile(r"(?: [a-z]+)? of (?:them|these|those|which)\b")


def _is_no_aside(each: Quantity, good: Sequence[Quantity]) -> bool:
    """Whether what may be of the whole ("the two") is what is counted all the same."""
    if all(other.aside for other in good):
        return True
    return each.noun is True and all(other.noun is False for other in good)


def _of_several_months(good: Sequence[Quantity], text: str) -> bool:
    """Whether it is given for one month after the other: "one in January and one in March"."""
    ends = [*(each.start for each in good[1:]), len(text)]
    months = [dates_of(text[each.end : min(end, each.end + 40)])[0] for each, end in zip(good, ends, strict=True)]
    return len(good) > 1 and all(months) and len(set(months)) == len(months)


def _fits(each: Quantity, question: Question) -> bool:
    """Whether its unit may be that of what is asked."""
    if not each.unit:
        if question.dimension != "money":
            return True
        if not each.digits and each.value == 1:
            return False  # "you can get one for …"
        return each.noun is None or (each.noun and each.value.denominator > 1)
    if each.unit in question.text.split() or (each.unit.startswith("star") and "rating" in question.text):
        return not (each.unit.startswith("star") and "rating" in question.text and each.value > 5)
    if each.unit == "money":
        return question.dimension in ("money", "")
    return (
        each.unit == "percent"
        and not question.dimension
        and re.search(r"\b(?:rat(?:e|ing)|percent\w*|share|discount)\b", question.text) is not None
    )


_CENT = Fraction(1, 100)


def _means(each: Quantity, reference: str, wanted: Fraction, *, long: bool, loose: bool, cents: bool = False) -> bool:
    if cents and _is_rounded(each, wanted):
        return True
    if (each.value < 0) == (wanted < 0) and long and _begins(each, reference, wanted):
        return True
    if loose or each.value != wanted:
        return each.value == wanted
    return each.digits.lstrip("0") == reference.replace(",", "").lstrip("-").lstrip("0")


def _is_rounded(each: Quantity, wanted: Fraction) -> bool:
    """Whether it is an amount to the nearest cent."""
    return len(each.digits.partition(".")[2]) == 2 and 2 * abs(each.value - wanted) <= _CENT


def _begins(each: Quantity, reference: str, wanted: Fraction) -> bool:
    """Whether it only has further decimals."""
    step = Fraction(1, 10 ** len(reference.partition(".")[2]))
    return each.digits.startswith(reference.lstrip("-")) and abs(each.value - wanted) < step


def _among(each: Quantity, numbers: Iterable[Fraction], *, long: bool, cents: bool) -> bool:
    if each.value in numbers or (cents and any(_is_rounded(each, other) for other in numbers)):
        return True
    return long and any(abs(each.value - other) < Fraction(1, 1000) for other in numbers)


_LABEL = re.compile(r"(?:^|[\n,;.]|\band\b)\s*([a-z][a-z '-]*?): ?\Z")


def _labelled_less(rival: Quantity, good: Sequence[Quantity], text: str, question: Question) -> bool:
    """Whether both stand after labels ("approved: 346, pending: 5") and the other's is less what is asked."""
    other, own = (_LABEL.search(text[: each.start]) for each in (rival, good[-1]))
    if other is None or own is None:
        return False
    return closeness(own[1], question) > closeness(other[1], question)


def closeness(label: str, question: Question) -> int:
    """How many more of the label's words than not are the question's."""
    words = re.findall("[a-z]+", label)
    asked = {stem(word) for word in re.findall("[a-z]+", question.text)}
    return sum(1 if stem(word) in asked else -1 for word in words)


_CUE = (
    r"(?:\b(?:total(?:s|ling)?|altogether|in all|sum|overall|answer|result|so|therefore|thus|hence|equals|leaves"
    r"|leaving|rounded|comes to|makes)\b|=)"
)
_SUBTRACTION = re.compile(r"\b(?:minus|less|subtract\w*|difference|discount|refund\w*|deduct\w*|without|off)\b| - ")


def _singled_out(each: Quantity, text: str) -> bool:
    """Whether it is called the total or the answer."""
    before, after = text[: each.start], text[each.end :]
    return bool(
        re.search(_CUE + r"(?:[^.;\n\d(]|\([^()\d]*\)){0,40}\Z", before)
        or re.match(r"[^.;,\n\d]{0,25}\b(?:in total|altogether|in all|overall|combined)\b", after)
        or re.match(r" (?:is|was) (?:the|your|my|its|our) (?:[a-z]+ ){0,2}?(?:total|answer|sum|result)\b", after)
    )


def _outweighs(good: Sequence[Quantity], rivals: Sequence[Quantity], beside: Sequence[Quantity], text: str) -> bool:
    """Whether the other numbers only explain it: its parts, what it was made of, remarks in brackets."""
    singled = any(_singled_out(each, text) for each in good)
    value = good[-1].value
    parts = [each.value for each in rivals]
    alike = [each.value for each in beside if each.unit == good[-1].unit]
    added = any(len(each) > 1 and sum(each) == value for each in (parts, alike))
    taken_apart = added and re.match(r"\s?=", text[good[-1].end :]) is not None
    if any(_singled_out(each, text) for each in rivals) and not singled and not taken_apart:
        return False
    if added:
        return True
    if all(_bracketed(each, text) for each in (*good, *rivals)):
        return False  # nothing stands outside for the brackets to explain
    if len(parts) > 1 and 2 * max(parts) - sum(parts) == value and _SUBTRACTION.search(text):
        return True
    if re.search(r"\bround(?:s|ed|ing)?\b", text) and all(round(each) == value for each in parts):
        return True
    after = [each for each in rivals if each.start > good[-1].start]
    if (
        singled
        and not any(_singled_out(each, text) for each in rivals)
        and all(_bracketed(each, text) for each in after)
    ):
        return True
    return all(_bracketed(each, text) for each in rivals)


def _bracketed(each: Quantity, text: str) -> bool:
    before = text[: each.start]
    opened = before.rfind("(")
    if opened < 0 or ")" in before[opened:]:
        return False
    return not re.match(r"\((?:or|maybe|perhaps|possibly|not|alternatively|could|might|otherwise)\b", before[opened:])
