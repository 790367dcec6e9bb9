"""The one number that an answer gives, with its unit: from a bare formula or from a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from pytest_webarena.checks.computed.arithmetic import NoNumber, Written, read_form
from pytest_webarena.checks.computed.contrasts import contrast
from pytest_webarena.checks.computed.framing import (
    CURRENCIES,
    named_before,
    sentences,
    understood_before,
    understood_behind,
)
from pytest_webarena.checks.computed.harmless import HAZARDS, MATHEMATICS, is_known, words_in, words_of_question
from pytest_webarena.checks.computed.latex import plain_math
from pytest_webarena.checks.computed.left_sides import (
    check_left_side,
    check_subject,
    computed,
    denies_equality,
    measured,
)
from pytest_webarena.checks.computed.measures import (
    Found,
    agree,
    alike,
    contradict,
    nearly,
    same_quantity,
    same_value,
    works_out,
)
from pytest_webarena.checks.computed.number_clauses import stating_clause
from pytest_webarena.checks.computed.number_places import LEFT_OVER, PlacedNumber, found_in, merged
from pytest_webarena.checks.computed.spelled import spelled_numbers
from pytest_webarena.checks.computed.substances import without_substance
from pytest_webarena.checks.computed.units import read_unit
from pytest_webarena.checks.computed.wording import objection, rewritten
from pytest_webarena.checks.numbers import mask_words, numbers_in
from pytest_webarena.text import clip

__all__ = ["may_be_number", "read_number"]

_HALF_INDEX = re.compile(r"(?<=[A-Za-z\u0370-\u03ff])\s?½(?=\s*[=≈])")
"""An index: of a half-life."""
_LONGEST = 4_000
"""Characters of a final answer; what is longer is none."""

_NO_VALUE = re.compile(
    r"^\W*(nan|not a number|(?:positive |negative |plus |minus )?(?:inf|infinity)|∞)\W*$", re.IGNORECASE
)
_COMPARED = re.compile(r"[<>≤≥≠]|[\[(]\s*[-+]?∞\s*,|,\s*[-+]?∞\s*[\])]")
_NAME = re.compile(r"[A-Za-zͰ-Ͽ'|\s.,*/^()Å:]+")
_SUBSCRIPT = re.compile(r"_\s*\(?\w+\)?|\((?:[\w\s.,;]*)\)")
_NOUNS = re.compile(r"[A-Za-z]{2,}(?:[ -][A-Za-z]{2,}){0,4}")
_BEYOND_WORDS = re.compile(
    r"\b(?:half|halves|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?|hundred|thousand"
    r"|million|billion|dozen|minus|negative|point)\b",
    re.IGNORECASE,
)
_COVERED = re.compile(r"(?:int|oint|iint|sum|prod|lim|binom|∫|∑|∏)(?![A-Za-z])")
"""What names the left side of an equation, whatever it is of."""
_PAIR = re.compile(r"[(\[]\s*[-+]?\d+,\s*[-+]?\d+\s*[)\]]")
_MONEY = re.compile(rf"\\\$|[{CURRENCIES.removeprefix('$')}]")
_DOLLAR = re.compile(r"\$(?=\s?[-+]?\d)")
_STRAY = re.compile(r"\(?[-+]?[\d.,]+\)?\s*[-+*/^]|[*/^]\s*\(?[-+]?[\d.,]+\)?")
"""A number and a sign of a sum without its other side: ``8 -``, ``/8``."""


class _LeftOver(NoNumber):
    """A formula of symbols, where a number is looked for."""


def read_number(text: str, *, question: str = "", quoting: bool = True) -> Found:
    """The number that a final answer gives. `NoNumber` says why there is none, or which of several.

    A clause that states what follows from others counts; if these give another number, there are several.

    ``question`` is what was asked: its words are understood beside a number, and with ``quoting`` numbers that are
    quoted from it don't count beside another one.
    """
    if len(text) > _LONGEST:
        raise NoNumber(f"it is longer than {_LONGEST:,} characters")
    clause, before = stating_clause(text)
    found = _read(clause, question, quoting)
    if before.strip():
        try:
            other = _read(before, question, quoting)
        except NoNumber:
            return found
        if not agree(found.written, other.written):
            raise NoNumber(f"it gives several numbers: {other}, {found}")
    return found


def _read(text: str, question: str, quoting: bool) -> Found:
    if denies_equality(text, question):
        raise NoNumber("it says what the number is not equal to")
    plain = plain_math(_HALF_INDEX.sub("_{1/2}", text.replace("\u2019", "'")))
    if _NO_VALUE.match(plain):
        raise NoNumber("it is no finite number")
    if plain.strip() and (why := contrast(sentences(plain)[-1], question)):
        raise NoNumber(why)
    plain = rewritten(plain)
    if "±" in plain:
        raise NoNumber("it gives a range, or two numbers")
    if _COMPARED.search(plain):
        raise NoNumber("it compares numbers and gives none")
    if _PAIR.fullmatch(plain):
        raise NoNumber("it gives two numbers, or one with a comma for a point in brackets")
    plain = without_substance(plain, question)
    check_left_side(plain, question)
    check_subject(plain, question)
    if _STRAY.fullmatch(plain.strip()):
        raise NoNumber("it leaves something to be worked out: a sign has nothing on one side")
    asked = words_of_question(question)
    found = _formula(plain, asked) or _sentence(plain, question if quoting else "", asked)
    money = _MONEY.search(text) or (_DOLLAR.search(text) if text.count("$") % 2 else None)
    return replace(found, strange=money[0].strip("\\")) if money and not found.strange else found


def may_be_number(text: str) -> bool:
    """Whether a text has anything that may be a number: a digit, a closed form, or a word for a number.

    >>> [may_be_number(text) for text in ("x^2", "a dozen", "pi", "I give up.")]
    [True, True, True, False]
    """
    if any(map(str.isnumeric, text)) or _BEYOND_WORDS.search(text) or next(spelled_numbers(text), None):
        return True
    plain = plain_math(text[:_LONGEST])
    try:
        return any(read_form(plain, word.start()) is not None for word in re.finditer(r"[^\W\d_]+", plain))
    except NoNumber:
        return True


def _formula(plain: str, asked: frozenset[str]) -> Found | None:
    """A number, or a chain like ``x = 2/3 ≈ 0.667``; None when it is something else: a sentence, perhaps."""
    parts = [part.strip().strip(",;: ") for part in re.split(r"[=≈]", plain)]
    if len(parts) > 1 and not parts[0]:
        parts = parts[1:]
    if len(parts) > 8:
        return None
    equals = plain.rfind("=") > plain.rfind("≈")
    named = len(parts) > 1 and _is_name(parts[0]) and not computed(parts[0])
    found: list[Found] = []
    for number, part in enumerate(parts[named:], 1):
        try:
            one = _part(part, asked)
        except _LeftOver:
            if number + named < len(parts) and (named or measured(re.sub("[()]", "", part))):
                continue  # what follows gives its value
            raise
        if one is not None:
            found.append(one)
        elif number + named == len(parts) or not (
            measured(re.sub("[()]", "", part)) or (named and not _is_prose(part, asked))
        ):
            return None
    if not found:
        return None
    if named and (against := objection(f"{parts[0]} ", "")).endswith("against"):
        raise NoNumber(f"{against} {found[0]}")
    stated = found[-1]
    if not stated.written.worked_out:
        raise NoNumber(f"it leaves something to be worked out: {clip(stated.written.text, 40)}")
    for working in found:
        same = agree(working.written, stated.written) and not contradict(working, stated)
        if equals and same and _coarse(stated.written) and not nearly(working.written, stated.written):
            raise NoNumber(f"it gives several numbers: {working}, {stated}")  # √3 is not 2, if it is about that
        if not same and not same_quantity(working, stated) and not works_out(working, stated):
            raise NoNumber(f"it gives several numbers: {working}, {stated}")
    found = [each for each in found if each.written.worked_out]
    if any(same_quantity(found[0], other) for other in found[1:]):
        return found[0]
    for other in found[1:]:
        if not agree(found[0].written, other.written) and not works_out(found[0], other):
            raise NoNumber(f"it gives several numbers: {found[0]}, {other}")
    exact = next((each for each in found if not each.written.digit), None)
    best = exact or min(found, key=lambda each: each.written.digit)
    best = stated if works_out(best, stated) else best
    unit = next((each.unit for each in reversed(found) if each.unit), None)
    if named and (stated_unit := named_before(parts[0], asked)) is not None:
        if unit is not None and contradict(Found(best.written, stated_unit), Found(best.written, unit)):
            raise NoNumber(f"it gives two units: {stated_unit}, {unit}")
        unit = unit or stated_unit
    strange = next((each.strange for each in found if each.strange), "")
    return Found(best.written, unit, strange)


def _coarse(written: Written) -> bool:
    """Whether it has but one significant digit."""
    return bool(written.digit) and abs(Fraction(written.value)) < 10 * Fraction(written.digit)


def _is_name(text: str) -> bool:
    """Whether it names what is sought: ``x``, ``v_0``, ``f(2)``; not ``2x``."""
    if _COVERED.match(text):
        return True
    return bool(text) and _NAME.fullmatch(_SUBSCRIPT.sub("", text) or "x") is not None and text[0] not in "0123456789("


def _is_prose(text: str, asked: frozenset[str]) -> bool:
    """Whether a link of a chain is rather words than workings."""
    if re.search(r"[,;]|\band\b|\bor\b", text):
        return True
    words = [word for word in words_in(text) if word in text]  # in lower case: nRT is a product
    return any(
        word in HAZARDS
        or (len(word) > 2 and re.search("[aeiouy]", word) and not is_known(word, asked) and word not in MATHEMATICS)
        for word in words
    )


def _part(text: str, asked: frozenset[str]) -> Found | None:
    """One number with its unit and nothing else."""
    text = re.sub(rf"^([-+]?)\s*[{CURRENCIES}]\s*", r"\1", text)
    form = read_form(text)
    if form is None:
        return None
    written, end = form
    rest = text[end:].strip(f" {CURRENCIES}")
    if not rest:
        return Found(written)
    return _measured(written, rest.removeprefix("1" if rest.startswith("1/") else "").strip("[]"), asked)


def _measured(written: Written, rest: str, asked: frozenset[str]) -> Found | None:
    if objection("", rest):
        return None
    rest = rest.lstrip("* ")
    if (unit := read_unit(rest)) is not None:
        further = rest[unit[1] :].strip(" ,")
        if further.startswith("_"):
            raise _LeftOver(f"a symbol is left over: {clip(rest, 20)}")
        if further and not (_NOUNS.fullmatch(further)):
            return None
        understood_behind(further, asked, measured=True)
        return Found(written, unit[0])
    if (over := LEFT_OVER.match(rest)) is not None:
        raise _LeftOver(f"a symbol is left over: {clip(over[0].strip(), 20)}")
    if not _NOUNS.fullmatch(rest):
        return None
    return Found(written, None, understood_behind(rest, asked, measured=False))


def _sentence(plain: str, question: str, asked: frozenset[str]) -> Found:
    masked = mask_words(plain)
    found = list(found_in(masked))
    if not found:
        return _in_words(plain, asked)
    kept = merged(masked, found)
    if len(kept) > 1 and question:
        quoted = [token.value for token in numbers_in(plain_math(question)[:_LONGEST])]
        kept = [
            each for each in kept if not any(same_value(each.found.written.value, value) for value in quoted)
        ] or kept
    for place in kept:
        before, behind = (
            masked[max(0, place.start - 80) : place.start + (masked[place.start] == "(")],
            masked[place.end :],
        )
        if why := objection(before, behind[:80]):
            raise NoNumber(f"{why} {clip(place.found.written.text, 20)}")
    if len(kept) > 1:
        raise NoNumber(f"it gives several numbers: {', '.join(str(each.found) for each in kept[:4])}")
    return _framed(masked, kept[0], found, asked)


_HERE, _QUOTED = "\x01", "\x02"
_AGAIN = re.compile(
    rf"(?:[,;(]?\s*\b(?:or|also|i\.e\.,?|that\s+is,?|which\s+is)\s+(?:(?:about|approximately|equivalently)\s+)?)?"
    rf"(?:[A-Za-z]\w*\s*[=≈]\s*)?{_HERE}"
)


def _framed(
    text: str,
    stated: PlacedNumber,
    others: Sequence[PlacedNumber],
    asked: frozenset[str],
) -> Found:
    """The number, once all around it is understood. `NoNumber` says what is not."""
    marks = [(stated, _HERE)]
    for place in others:
        if not stated.start <= place.start < stated.end:
            same = alike(place.found.written, stated.found.written) or same_quantity(place.found, stated.found)
            marks.append((place, _HERE if same else _QUOTED))
    for place, mark in sorted(marks, key=lambda each: each[0].start, reverse=True):
        text = text[: place.start] + mark + text[place.end :]
    before, _, behind = text.replace(_QUOTED, " ").partition(_HERE)
    return _placed(stated.found, before, _AGAIN.sub(" ", behind), asked)


def _placed(found: Found, before: str, behind: str, asked: frozenset[str]) -> Found:
    unit_before = understood_before(before, asked)
    strange = understood_behind(behind, asked, measured=found.unit is not None)
    units = [unit for unit in (found.unit, unit_before) if unit is not None]
    if len(units) > 1 and contradict(Found(found.written, units[0]), Found(found.written, units[1])):
        raise NoNumber(f"it gives two units: {units[0]}, {units[1]}")
    return Found(found.written, units[0] if units else None, strange)


def _in_words(plain: str, asked: frozenset[str]) -> Found:
    words = [] if any(map(str.isdigit, plain)) else list(spelled_numbers(plain))
    if len({value for value, *_ in words}) > 1:
        raise NoNumber(f"it gives several numbers: {', '.join(plain[start:end] for _, _, start, end in words[:4])}")
    if not words:
        raise NoNumber(
            "it gives a number in words that are not understood"
            if _BEYOND_WORDS.search(plain)
            else "there is no number in it"
        )
    value, percent, start, end = words[0]
    for _, _, begun, after in words:
        if why := objection(plain[max(0, begun - 80) : begun], plain[after : after + 80]):
            raise NoNumber(f"{why} {plain[begun:after]}")
    if _BEYOND_WORDS.search(plain[:start] + plain[words[-1][3] :]):
        raise NoNumber("it gives a number in words that are not understood")
    unit = read_unit(plain, end)
    for _, _, begun, after in reversed(words[1:]):
        plain = f"{plain[:begun]} {plain[after:]}"
    found = Found(Written(value, Fraction(0), percent, plain[start:end]), unit[0] if unit else None)
    return _placed(found, plain[:start], plain[unit[1] if unit else end :], asked)
