"""Amounts in another unit of their kind than the one that is asked for: an hour for 60 minutes, 0.89 kg for 890 g."""

from __future__ import annotations

import re
from decimal import Decimal

from pytest_webarena.checks.asked_units import asked_unit
from pytest_webarena.checks.compared import SAME_WAY
from pytest_webarena.checks.numbers import numbers_in

__all__ = ["converted", "summed"]

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
_TOGETHER = re.compile(
    r"(?<![\w.,:/-])(\d{1,3})[\s\u00a0-]?(?:hours?|hrs?|h),?\s*(?:and\s+)?([0-5]?\d)[\s\u00a0-]?(?:minutes?|mins?|m)"
    r"(?![\w\u00b2\u00b3^])",
    re.IGNORECASE,
)
_DIGITS = r"(?<![\w.,:/-])\d{1,6}(?:\.\d{1,6})?"
_WORDED = r"(?<![\w-])(?:half an?|an?|one)"
_CAPITALS = {"KM", "Km", "KG", "Kg", "L", "H"}
"""Of short signs with a capital those that can't be others: M may be millions, Mg is no mg."""
_PLAIN = frozenset(
    """
    answer it it's that that's this the is takes took take lasts weighs weigh need needs for of to from by on so you
    will exactly long altogether
    """.split()  # noqa: SIM905 - a list is no easier to read
)
"""What may be next to an amount without making another one of it."""
_TURNS = frozenset(
    """
    a an or not no nor than per each every half quarter quarters third thirds almost nearly about around roughly over
    under above below more less fewer longer shorter further between within before after if would could once twice
    double maybe perhaps probably without only most least first second other instead but
    """.split()  # noqa: SIM905 - a list is no easier to read
)
"""What may not stand there, even if the question has it."""
_COMPARED = re.compile(r"\b(?:than|per|each|every|more|less|fewer|longer|shorter|either|or)\b")


def converted(question: str, text: str) -> str:
    """``text`` with its only amount told in the unit that ``question`` asks for; empty when there is nothing to do.

    Only where nobody can take it for anything else: there is no other number, and beside the amount only words of the
    question and a few that say nothing. Hours and minutes may stand together, and are one amount then.

    >>> converted("How many minutes is it?", "It takes 1 h 5 min."), converted("How many grams?", "0.89 kg")
    ('It takes 65 minute.', '890 gram')
    >>> converted("How many minutes?", "It takes an hour and a half."), converted("How many minutes?", "28; 1 h by bus")
    ('', '')
    """
    asked = asked_unit(question)
    family = next((each for each in _FAMILIES if asked in each), None)
    if family is None or asked is None or _COMPARED.search(question.casefold()) or _asks_several(question, family):
        return ""
    text = _HOURS_AND.sub(r"\1 h \2 min", text) if family is _TIMES else text
    units = "|".join(f"(?P<{unit}>{_SPELT[unit]})" for unit in family)
    one = re.compile(rf"(?P<number>{_DIGITS}|{_WORDED})[\s\u00a0-]?(?:{units})(?![\w\u00b2\u00b3^])", re.IGNORECASE)
    found = list(one.finditer(text))
    if not found or len(found) > 2 or all(match.lastgroup == asked for match in found):
        return ""
    if len(found) == 2 and not _together(text, found):
        return ""
    before, behind = text[: found[0].start()], text[found[-1].end() :]
    worded = any(not match["number"][0].isdigit() for match in found)
    if not (_says_nothing(before, question) and _says_nothing(behind, "" if worded else question)):
        return ""
    if any(map(_is_unclear, found)) or (worded and (len(found) > 1 or re.search(r"\w", behind))):
        return ""
    total = sum((_amount(match["number"]) * family[match.lastgroup or asked] for match in found), Decimal(0))
    return f"{before}{(total / family[asked]).normalize():f} {asked}{behind}"


def summed(question: str, text: str) -> str:
    """``text`` with all its hours and minutes together in the unit that is asked for; empty when it has none.

    So that the minutes of an hour and some are no number of their own, whatever else is said.

    >>> summed("How many minutes is it by bicycle?", "By bus 1 h 28 min, else 2 h.")
    'By bus 88 minute, else 2 h.'
    """
    if (asked := asked_unit(question)) not in _TIMES or _asks_several(question, _TIMES):
        return ""

    def told(found: re.Match[str]) -> str:
        value = Decimal(60 * (60 * int(found[1]) + int(found[2]))) / _TIMES[str(asked)]
        return f"{value.normalize():f} {asked}"

    other = _TOGETHER.sub(told, _HOURS_AND.sub(r"\1 h \2 min", text))
    return "" if other == text else other


def _asks_several(question: str, family: dict[str, int]) -> bool:
    """Whether a question names several units of a kind, as hours and minutes."""
    text = question.casefold()
    return sum(re.search(rf"(?<!\w)(?:{_SPELT[unit]})(?!\w)", text) is not None for unit in family) > 1


def _says_nothing(text: str, question: str) -> bool:
    """Whether what is next to an amount leaves it as it is: of the question's words, and plain ones."""
    if re.search(r"[^\w\s.,:!'\"()]|[\d_]", text) or numbers_in(text):
        return False
    known = _PLAIN | {SAME_WAY.get(word, word) for word in _words(question)} | set(_words(question))
    return all(word in known and word not in _TURNS for word in _words(text))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.casefold())


def _is_unclear(match: re.Match[str]) -> bool:
    """Whether the sign of a unit may be that of another one."""
    unit = match[match.lastgroup or 0]
    return len(unit) <= 2 and not unit.islower() and unit not in _CAPITALS


def _together(text: str, found: list[re.Match[str]]) -> bool:
    """Whether two amounts are one: hours and then minutes."""
    between = text[found[0].end() : found[1].start()]
    kinds = [match.lastgroup for match in found]
    whole = all(match["number"].isdigit() for match in found) and int(found[1]["number"]) < 60
    return kinds == ["hour", "minute"] and whole and re.fullmatch(r",?\s*(?:and\s+)?", between) is not None


def _amount(word: str) -> Decimal:
    if word[0].isdigit():
        return Decimal(word)
    return Decimal("0.5") if word.casefold().startswith("half") else Decimal(1)
