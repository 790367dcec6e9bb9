"""Reads numbers and durations, with their units and currencies, from the tokens of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_webarena.checks.answer_types.tokens import Token
from pytest_webarena.checks.answer_types.units import CURRENCY_SIGNS, length_of
from pytest_webarena.checks.numbers import number_in_words, numbers_in, numeral_value

__all__ = ["Amount", "amounts_in", "contains_digits", "durations_in", "other_readings", "vague"]

_SIGNS = "".join(sign for sign in CURRENCY_SIGNS if len(sign) == 1)
_AMOUNT = re.compile(
    rf"(?P<sign>[-+]?)(?P<before>[{re.escape(_SIGNS)}]|[A-Z]{{1,3}}\$|[A-Z]{{3}}|kr\.?)?(?P<inner>-?)"
    r"(?P<digits>\d[\d,.']*\d|\d|\.\d+)(?P<after>[^\d].*)?"
)
_PART = re.compile(r"(\d+(?:\.\d+)?)([a-z]+)\.?")
_PARTS = re.compile(r"(?:\d+(?:\.\d+)?[a-z]+\.?)+")
_ISO = re.compile(r"p(\d+[wd])?(?:t((?:\d+[hms])+))?")
"""A length of time as in ISO 8601: ``PT1H25M``."""
_CLOCK = re.compile(r"(\d+):(\d\d)(h?)")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?![\d.,]*\d)")
"""A number whose separator may group digits or begin decimals."""
_VAGUE = frozenset("half quarter dozen couple single twice double pair both once noon midday midnight o'clock".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Amount:
    """A number in an answer."""

    value: Fraction
    start: int
    """Index of its first token."""
    end: int
    """Index after its last token."""
    unit: str = ""
    """What is joined to it, before or after: a unit, a currency, a per cent sign, a multiplier, a label."""
    joined: bool = False
    """Whether the unit is written without a space."""


def amounts_in(answer: Sequence[Token]) -> Iterator[Amount]:
    """Yields the numbers among tokens, in digits or in words. Tokens that only contain digits are none: dates, times,
    ranges, codes."""
    index = 0
    while index < len(answer):
        if (amount := _amount(answer[index], index)) is None and (amount := _in_words(answer, index)) is None:
            index += 1
            continue
        yield amount
        index = amount.end


def _amount(token: Token, index: int) -> Amount | None:
    found = _AMOUNT.fullmatch(token.text)
    if found is None or (found["before"] and found["after"] and found["after"] not in ("-",)):
        return None
    if found["sign"] and found["inner"]:
        return None  # --5
    value = numeral_value(found["digits"])
    if value is None:
        return None
    if "-" in (found["sign"], found["inner"]):
        value = -value
    unit = found["before"] or found["after"] or ""
    return Amount(value, index, index + 1, unit, joined=bool(unit))


def _in_words(answer: Sequence[Token], index: int) -> Amount | None:
    longest = next((end for end in range(index + 1, len(answer)) if answer[end].new_clause), len(answer))
    for end in range(min(longest, index + 6), index, -1):
        words = " ".join(token.plain for token in answer[index:end])
        if (value := number_in_words(words)) is not None and not _is_pronoun(answer, index, end):
            return Amount(Fraction(value), index, end)
    return None


def _is_pronoun(answer: Sequence[Token], index: int, end: int) -> bool:
    """Whether ``one`` stands for a thing: ``one of them``, ``the red one``."""
    if answer[index].plain != "one" or end > index + 1:
        return False
    following = answer[end] if end < len(answer) else None
    before = answer[index - 1] if index and not answer[index].new_clause else None
    return (following is not None and following.plain == "of") or (
        (following is None or following.new_clause) and before is not None and before.plain not in ("is", "was", "only")
    )


def durations_in(answer: Sequence[Token], *, months: bool = False) -> Iterator[tuple[Fraction, int, int]]:
    """Yields lengths of time in seconds, each with the index of its first token and the index after its last one.

    With ``months``, yields those in months and years instead, in months: these have no length in seconds.
    """
    index = 0
    while index < len(answer):
        total, end = Fraction(0), index
        smallest: Fraction | None = None
        while (part := _duration_part(answer, end, months)) is not None and not (end > index and answer[end].new_line):
            if smallest is not None and part[2] >= smallest:
                break  # another length
            total, end, smallest = total + part[0], part[1], part[2]
            if end < len(answer) and answer[end].plain == "and" and _duration_part(answer, end + 1, months):
                end += 1
        if end > index:
            yield total, index, end
        index = max(end, index + 1)


def _duration_part(answer: Sequence[Token], index: int, months: bool) -> tuple[Fraction, int, Fraction] | None:
    """Returns a length, the index after it and its smallest unit, in seconds or months; None if there is none."""
    if index >= len(answer):
        return None
    word = answer[index].plain
    following = answer[index + 1].plain if index + 1 < len(answer) else ""
    if not months and (clock := _CLOCK.fullmatch(word)) and (clock[3] or following == "h"):
        seconds = int(clock[1]) * 3600 + int(clock[2]) * 60
        return Fraction(seconds), index + 1 + (not clock[3]), Fraction(60)
    if word in ("a", "an") and (unit := length_of(following, months=months)) is not None:
        return unit, index + 2, unit
    iso = _ISO.fullmatch(word)
    parts = _PART.findall((iso[1] or "") + (iso[2] or "")) if iso else _PART.findall(word)
    if iso or len(parts) > 1:  # an m alone is a metre
        parts = [(number, "min" if unit == "m" else unit) for number, unit in parts]
    if parts and (iso or _PARTS.fullmatch(word)):
        units = [length_of(unit, months=months) for _, unit in parts]
        known = [unit for unit in units if unit is not None]
        if len(known) < len(units):
            return None
        total = sum((Fraction(number) * unit for (number, _), unit in zip(parts, known, strict=True)), Fraction(0))
        return total, index + 1, min(known)
    amount = next(amounts_in(answer[index : index + 4]), None)
    if amount is None or amount.start or amount.unit or index + amount.end >= len(answer):
        return None
    unit = length_of(answer[index + amount.end].plain, months=months)
    return None if unit is None else (amount.value * unit, index + amount.end + 1, unit)


def vague(answer: Sequence[Token]) -> bool:
    """Whether words of an answer may state a number in a way that is not read: ``a dozen``, ``ten past two``."""
    if any(token.plain in _VAGUE for token in answer):
        return True
    return not any(token.has_digit for token in answer) and any(True for _ in amounts_in(answer))


def other_readings(answer: Sequence[Token]) -> set[Fraction]:
    """Returns numbers that an answer may give in forms that are not read: fractions, powers, sums of units, per cent as
    a share, separators with another meaning.

    >>> from pytest_webarena.checks.answer_types.tokens import tokens
    >>> [sorted(map(str, other_readings(tokens(text)))) for text in ("6/5", "1.200", "45 %", "36")]
    [['6/5'], ['1200'], ['9/20'], []]
    """
    found = {value for number in numbers_in(" ".join(token.text for token in answer)) for value in number.values}
    for token in answer:
        if numeral := _GROUPED.search(token.text):
            whole, _, rest = re.sub(r"(?<=\d)[.,](?=.*[.,])", "", numeral[0]).replace(",", ".").partition(".")
            found |= {Fraction(whole + rest), Fraction(f"{whole}.{rest}")}
    return found - {amount.value for amount in amounts_in(answer)}


def contains_digits(answer: Sequence[Token], digits: str) -> bool:
    """Whether a clause of an answer contains just these digits, other than as one number.

    >>> from pytest_webarena.checks.answer_types.tokens import tokens
    >>> [contains_digits(tokens(text), "12845") for text in ("1 284.5 t", "#12845", "12845", "128, 45")]
    [True, True, False, False]
    """
    run: list[Token] = []
    for token in (*answer, Token("", new_clause=True)):
        if run and token.new_clause:
            one = _amount(run[0], 0) if len(run) == 1 else None
            alone = one is not None and not any(map(str.isdigit, one.unit))
            if not alone and re.sub(r"\D", "", "".join(part.text for part in run)) == digits:
                return True
            run = []
        if token.has_digit:
            run.append(token)
    return False
