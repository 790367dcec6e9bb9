"""Reads dates and times of day from the tokens of an answer."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Iterator, Sequence

from pytest_webarena.checks.answer_types.tokens import Token

__all__ = ["dates_in", "parse_date", "parse_time", "times_in"]

_MONTHS = {
    name.casefold(): number
    for names in (calendar.month_name, calendar.month_abbr, ("",) * 9 + ("sept",))
    for number, name in enumerate(names)
    if name
}
_DAYS = {name.casefold(): index for names in (calendar.day_name, calendar.day_abbr) for index, name in enumerate(names)}
_ISO = re.compile(r"(\d{4})-(\d\d?)(?:-(\d\d?))?(?:T\d\d:\d\d[\d:.Z+-]*)?", re.IGNORECASE)
_NUMERIC = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)")
_NUMERIC_YEAR_FIRST = re.compile(r"(\d{4})([./])(\d{1,2})\2(\d{1,2})")
_HYPHENATED = re.compile(r"(\d{1,2})-([a-z]+)\.?-(\d{4})")
_MONTH_YEAR = re.compile(r"(\d{1,2})[/.](\d{4})")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"\d{4}")
_TIME = re.compile(r"(\d{1,2})(?:[:.h](\d\d)(?::00)?)?(am|pm|a\.m|p\.m)?")
_NAMED = {"noon": 720, "midday": 720, "midnight": 0}
_HALF = {"am": 0, "a.m": 0, "pm": 12, "p.m": 12}

Parts = tuple[int, int, int]
"""Year, month and day; 0 where one is not stated."""


def parse_date(text: str) -> Parts:
    """Returns the parts of ``2026-03-14``, ``2026-03`` or ``2026``. Raises `ValueError` for other texts."""
    found = re.fullmatch(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", text.strip())
    parts = tuple(int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    datetime.date(parts[0], parts[1] or 1, parts[2] or 1)
    return parts[0], parts[1], parts[2]


def dates_in(answer: Sequence[Token]) -> Iterator[tuple[frozenset[Parts], int, int]]:
    """Yields dates, each with all its readings (day or month first), the index of its first token and the index after
    its last one. A weekday next to it belongs to it if it is that date's."""
    index = 0
    while index < len(answer):
        if (found := _date(answer, index)) is None:
            index += 1
            continue
        readings, start, end = found
        if start and _is_weekday(answer[start - 1], readings):
            start -= 1
        if end < len(answer) and _is_weekday(answer[end], readings):
            end += 1
        yield readings, start, end
        index = end


def _is_weekday(token: Token, readings: frozenset[Parts]) -> bool:
    day = _DAYS.get(token.plain)
    return day is not None and all(y and m and d and datetime.date(y, m, d).weekday() == day for y, m, d in readings)


def _date(answer: Sequence[Token], index: int) -> tuple[frozenset[Parts], int, int] | None:
    word = answer[index].plain
    if found := _ISO.fullmatch(word):
        return _checked({(int(found[1]), int(found[2]), int(found[3] or 0))}, index, index + 1)
    if found := _NUMERIC_YEAR_FIRST.fullmatch(word):
        return _checked({(int(found[1]), int(found[3]), int(found[4]))}, index, index + 1)
    if found := _NUMERIC.fullmatch(word):
        year = int(found[4]) + (2000 if len(found[4]) == 2 else 0)
        one, other = int(found[1]), int(found[3])
        return _checked({(year, one, other), (year, other, one)}, index, index + 1)
    if (found := _HYPHENATED.fullmatch(word)) and found[2] in _MONTHS:
        return _checked({(int(found[3]), _MONTHS[found[2]], int(found[1]))}, index, index + 1)
    if found := _MONTH_YEAR.fullmatch(word):
        return _checked({(int(found[2]), int(found[1]), 0)}, index, index + 1)
    return _written(answer, index)


def _written(answer: Sequence[Token], index: int) -> tuple[frozenset[Parts], int, int] | None:
    """Returns a date with a month's name: day and month in any order, or a month alone; then perhaps a year."""
    words = [token.plain.rstrip(".") for token in answer[index : index + 5]]
    words += [""] * (5 - len(words))
    day = month = 0
    place = 0
    if found := _DAY.fullmatch(words[0]):
        after = 1 + (words[1] == "of")
        if words[after] in _MONTHS:
            day, month, place = int(found[1]), _MONTHS[words[after]], after + 1
    elif words[0] in _MONTHS:
        month, place = _MONTHS[words[0]], 1
        first = 1 + (words[1] == "the")
        if (found := _DAY.fullmatch(words[first])) and not _YEAR.fullmatch(words[first]):
            day, place = int(found[1]), first + 1
    if not month:
        return None
    place += words[place] == "of"
    year = int(words[place]) if _YEAR.fullmatch(words[place]) else 0
    if not (day or year) and not answer[index].text[:1].isupper():
        return None  # may, march
    return _checked({(year, month, day)}, index, index + place + bool(year))


def _checked(readings: set[Parts], start: int, end: int) -> tuple[frozenset[Parts], int, int] | None:
    valid = set()
    for year, month, day in readings:
        try:
            datetime.date(year or 2000, month, day or 1)
        except ValueError:
            continue
        valid.add((year, month, day))
    return (frozenset(valid), start, end) if valid else None


def parse_time(text: str) -> int:
    """Returns ``14:30`` as minutes since midnight. Raises `ValueError` for other texts."""
    found = re.fullmatch(r"(\d\d?):(\d\d)", text.strip())
    if not found or int(found[1]) > 23 or int(found[2]) > 59:
        raise ValueError(text)
    return int(found[1]) * 60 + int(found[2])


def times_in(answer: Sequence[Token]) -> Iterator[tuple[frozenset[int], int, int]]:
    """Yields times of day in minutes since midnight, each with all its readings (12-hour times without ``am`` or ``pm``
    have two), the index of its first token and the index after its last one."""
    index = 0
    while index < len(answer):
        if (named := _NAMED.get(answer[index].plain)) is not None:
            yield frozenset({named}), index, index + 1
        found = _TIME.fullmatch(answer[index].plain)
        half = (found[3] if found else None) or (answer[index + 1].plain if index + 1 < len(answer) else "")
        half = half if half in _HALF else ""
        if not found or not (found[2] or half) or int(found[1]) > 23 or int(found[2] or 0) > 59:
            index += 1
            continue
        hour, minute = int(found[1]), int(found[2] or 0)
        end = index + 1 + bool(half and not found[3])
        if half:
            readings = {(hour % 12 + _HALF[half]) * 60 + minute}
        elif 1 <= hour <= 11 and not found[1].startswith("0"):
            readings = {hour * 60 + minute, (hour + 12) * 60 + minute}
        else:
            readings = {hour * 60 + minute}
        yield frozenset(readings), index, end
        index = end
