"""Amounts in another unit of their kind than the one that is asked for: an hour for 60 minutes, 0.89 kg for 890 g."""

from __future__ import annotations

import re
from decimal import Decimal

from pytest_webarena.checks.asked_units import asked_unit

__all__ = ["converted"]

_TIMES = {"second": 1, "minute": 60, "hour": 3600}
_FAMILIES: tuple[dict[str, int], ...] = (
    _TIMES,
    {"millimetre": 1, "centimetre": 10, "metre": 1000, "kilometre": 1_000_000},
    {"milligram": 1, "gram": 1000, "kilogram": 1_000_000, "tonne": 1_000_000_000},
    {"millilitre": 1, "litre": 1000},
)
"""Each in its smallest unit. Miles, feet and pounds are left out: turning them into others is a task of its own."""
_SPELT = {
    "second": r"seconds?|secs?|s",
    "minute": r"minutes?|mins?",
    "hour": r"hours?|hrs?|h",
    "millimetre": r"mm|millimet(?:re|er)s?",
    "centimetre": r"cm|centimet(?:re|er)s?",
    "metre": r"m|met(?:re|er)s?",
    "kilometre": r"kms?|kilomet(?:re|er)s?",
    "milligram": r"mg|milligrams?",
    "gram": r"g|grams?",
    "kilogram": r"kgs?|kilos?|kilograms?",
    "tonne": r"t|tonnes?",
    "millilitre": r"ml|millilit(?:re|er)s?",
    "litre": r"l|lit(?:re|er)s?",
}
_HOURS_AND = re.compile(
    r"(?<![\w.,:])(\d{1,3})\s?(?:h|hrs?|hours?)\s?([0-5]?\d)(?![\w.,:]*\d|\s?[^\W\d_])", re.IGNORECASE
)
"""Minutes behind hours need no name."""
_NUMBER = r"(?<![\w.,:/-])(\d{1,6}(?:\.\d{1,6})?|an?|one|half an?)"


def converted(question: str, text: str) -> str:
    """``text`` with its only amount told in the unit that ``question`` asks for; empty when there is nothing to do.

    Hours and minutes may stand together, and are one amount then. Where there are several, none is touched.

    >>> converted("How many minutes is it?", "It takes 1 h 5 min."), converted("How many grams?", "0.89 kg")
    ('It takes 65 minute.', '890 gram')
    """
    asked = asked_unit(question)
    family = next((each for each in _FAMILIES if asked in each), None)
    if family is None or asked is None:
        return ""
    text = _HOURS_AND.sub(r"\1 h \2 min", text) if family is _TIMES else text
    units = "|".join(f"(?P<{unit}>{_SPELT[unit]})" for unit in family)
    one = re.compile(rf"{_NUMBER}[\s\u00a0-]?(?:{units})(?![\w\u00b2\u00b3^])", re.IGNORECASE)
    found = list(one.finditer(text))
    if not found or len(found) > 2 or all(match.lastgroup == asked for match in found):
        return ""
    if len(found) == 2 and not _together(text, found):
        return ""
    total = sum((_amount(match[1]) * family[match.lastgroup or asked] for match in found), Decimal(0))
    value = total / family[asked]
    return f"{text[: found[0].start()]}{value.normalize():f} {asked}{text[found[-1].end() :]}"


def _together(text: str, found: list[re.Match[str]]) -> bool:
    """Whether two amounts are one: hours and then minutes."""
    between = text[found[0].end() : found[1].start()]
    kinds = [match.lastgroup for match in found]
    return kinds == ["hour", "minute"] and re.fullmatch(r",?\s*(?:and\s+)?", between) is not None


def _amount(word: str) -> Decimal:
    if word[0].isdigit():
        return Decimal(word)
    return Decimal("0.5") if word.casefold().startswith("half") else Decimal(1)
