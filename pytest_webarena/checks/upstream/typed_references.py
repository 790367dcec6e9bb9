"""Reference answers of WebArena as typed values, for the grading ``repaired``.

The type of a reference is seen from its form, and for bare numbers from the question: references are texts in the data.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from decimal import Decimal

from pytest_webarena.checks.answer_types.amounts import amounts_in, durations_in
from pytest_webarena.checks.answer_types.dates import dates_in
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.answer_types.units import COMMON_UNITS, currencies
from pytest_webarena.checks.answer_types.values import (
    AnyOf,
    Date,
    Digits,
    Duration,
    Name,
    NumberValue,
    Pattern,
    Url,
    Value,
    YesNo,
)
from pytest_webarena.checks.upstream.text import ALTERNATIVE

__all__ = ["is_copy", "typed"]

_COUNTS = re.compile(r"\bhow many\b|\b(?:number|count) of\b", re.IGNORECASE)
_AMOUNTS = re.compile(
    r"\bhow (?:much|long|far|old)\b|\b(?:total|price|cost|amount|average|spen[dt]|refund|distance|difference|time)\b",
    re.IGNORECASE,
)
_CODES = re.compile(r"\b(?:order|phone|invoice) number\b|\bid\b", re.IGNORECASE)
_CLONE = re.compile(r"(?P<command>.*)ssh://git@(?P<host>[^/\s]+)/(?P<path>\S+)")


def typed(
    references: Sequence[str], question: str, *, any_host: bool = False, padded: bool = True
) -> tuple[Value, ...]:
    """Returns the values that references stand for.

    Args:
        references: texts of the reference answer, all of which are wanted; ``|OR|`` separates alternatives.
        question: the task's intent.
        any_host: whether an address to clone from may name any host (the repair ``site-hosts``).
        padded: whether an order number may be written with nine digits, as the shop does.

    >>> [type(value).__name__ for value in typed(["Hyatt", "2.0km", "1h 5min"], "What is near?")]
    ['Name', 'NumberValue', 'Duration']
    """
    has_names = any(re.search(r"[^\W\d_]{3}", reference) for reference in references)
    found = []
    for reference in references:
        choices = [_value(each, question, has_names, any_host, padded) for each in reference.split(ALTERNATIVE)]
        found.append(choices[0] if len(choices) == 1 else AnyOf(values=tuple(choices)))
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def _value(reference: str, question: str, has_names: bool, any_host: bool, padded: bool) -> Value:
    text = reference.strip()
    words = tokens(text)
    if text.casefold() in ("yes", "no"):
        return YesNo(value=text.casefold() == "yes")
    lengths = list(durations_in(words))
    if len(lengths) == 1 and lengths[0][1:] == (0, len(words)):
        return Duration(length=lengths[0][0])
    if re.fullmatch(r"\d{7,}", text):
        return Digits(digits=text)
    if (number := _number(text, question, has_names)) is not None:
        return number
    dates = list(dates_in(words))
    if len(dates) == 1 and dates[0][1:] == (0, len(words)) and len(dates[0][0]) == 1:
        return Date(value=next(iter(dates[0][0])))
    if any_host and (clone := _CLONE.fullmatch(text)):
        command, path = re.escape(clone["command"]), re.escape(clone["path"])
        return Pattern(regex=rf"{command}(?:ssh://)?git@[^/:\s]+(?::\d+)?[/: ]{path}")
    if re.match(r"https?://\S+$", text):
        return Url(value=text)
    order = padded and text.isdigit() and text[0] != "0" and bool(_CODES.search(question))
    return Name(forms=(text, text.zfill(9)) if order else (text,))


def _number(text: str, question: str, has_names: bool) -> NumberValue | AnyOf | None:
    words = tokens(text)
    amounts = list(amounts_in(words))
    if len(amounts) != 1 or (amounts[0].start, amounts[0].end) != (0, len(words)) or not text[-1:].isalnum():
        return None
    amount = amounts[0]
    if not re.search(r"\d", text) or (text[0] == "0" and text.isdigit() and len(text) > 1):
        return None
    counted = bool(_COUNTS.search(question)) and not _CODES.search(question)
    if text.isdigit() and (has_names or not (counted or _AMOUNTS.search(question))):
        return None  # a house number, a postal code, an order
    if amount.unit and not (amount.unit in COMMON_UNITS or currencies(amount.unit)):
        return None  # a size such as 16x24
    unit = "USD" if amount.unit == "$" else amount.unit or ("" if counted else "USD")
    value = Decimal(amount.value.numerator) / Decimal(amount.value.denominator)
    if len(text.partition(".")[2]) < 3 or amount.unit:
        return NumberValue(value=value, unit=unit)
    if not _AMOUNTS.search(question):  # coordinates, which are cut to three decimals and may be given with more
        return NumberValue(value=value, tolerance=Decimal("0.0009999"))
    return AnyOf(values=tuple(NumberValue(value=each, unit=unit) for each in (value, round(value, 2))))  # in cents


def is_copy(reference: str, answer: str) -> bool:
    """``equal-answers``: whether the answer is the reference, so that nobody has to be asked whether it means it. Case,
    Markdown, accents and punctuation at the ends make no difference.

    >>> is_copy("It\u2019s fine", "*It's  fine.*"), is_copy("5 minutes", "five minutes"), is_copy("", "")
    (True, False, False)
    """
    if len(answer) > 4 * len(reference) + 1000:
        return False
    wanted, given = ([token.plain for token in tokens(text)] for text in (reference, answer))
    return wanted == given != []
