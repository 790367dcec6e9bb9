"""Dates in a task that are right near one day only: the day of its recording, or of a trial."""

from __future__ import annotations

import calendar
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from pytest_webarena.checks.answer_types.dates import dates_in
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.tasks.model import Check, Task

__all__ = ["HALF_YEAR", "NEAR", "dates_of", "fixed_days", "in_days", "near_days", "relative_words"]

NEAR = 31
"""Number of days before and after today within which a date may have been chosen because of today."""
HALF_YEAR = 182
"""Number of days before and after a day within which a day and month without a year mean one date."""
_WORD = r"[^\W_]"
_DAY_OF_WEEK = re.compile(r"-[1-7](?!\d)")
_OTHER_YEAR = re.compile(r",?\s*(\d{4})(?!\d)")
_BEFORE_NUMBER = re.compile(r"(?:\A|['\"=<>(,\[]|[=<>(,:]\s)\Z")
_AFTER_NUMBER = re.compile(r"\s*(?:\Z|['\"),\];}]|(?:and|or)\b)", re.IGNORECASE)
_COUNT = r"(?:an?|one|two|three|four|five|six|seven|ten|a\s+few|\d+)"
_UNIT = r"(?:business\s+|working\s+)?(?:days?|weeks?|months?)"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_RELATIVE = re.compile(
    rf"\b(?:today|tomorrow|yesterday|tonight|in\s+{_COUNT}\s+{_UNIT}|{_COUNT}\s+{_UNIT}\s+(?:ago|from\s+(?:now|today))"
    rf"|(?:next|last|this|past|coming)\s+(?:days?|weeks?|weekend|months?|years?|{_WEEKDAY}))\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d")


def relative_words(intent: str) -> str:
    """Return the words of an intent, outside quotes, that mean another day on each day; empty if there are none.

    >>> relative_words("Book a table in 3 days"), relative_words('Open the note "Tomorrow"')
    ('in 3 days', '')
    """
    found = _RELATIVE.search(_QUOTED.sub(" ", intent))
    return " ".join(found[0].split()) if found else ""


def dates_of(text: str, today: date | None = None, window: int = NEAR) -> set[date]:
    """Return the dates that a text has, each in all its readings (day or month first).

    Within ``window`` days of ``today`` it also finds those without a year, in paths, as ISO weeks (their Monday), and
    as numbers: ``20261204``, or a midnight (UTC) in seconds since 1970.

    >>> sorted(map(str, dates_of("due = '2026-12-04' or 5 March 2027")))
    ['2026-12-04', '2027-03-05']
    >>> sorted(map(str, dates_of("letters/2026-12-01-a.txt, Thu 3 Dec, 2026-W51", date(2026, 12, 1))))
    ['2026-12-01', '2026-12-03', '2026-12-14']
    """
    spaced = re.sub(r"['\"(),;=<>]|(?<=\d)T(?=\d)", " ", text)
    found = {date(*parts) for readings, _, _ in dates_in(tokens(spaced)) for parts in readings if all(parts)}
    if today is not None and re.search(r"\d", text):
        folded = text.casefold()
        found |= {day for form, days in _forms(today, window).items() if form in folded
                  for day in days if _has_form(folded, form, day)}  # fmt: skip
    return found


@lru_cache(maxsize=8)
def _forms(today: date, window: int) -> Mapping[str, Collection[date]]:
    """Return the days around ``today`` by the forms in which apps write them, in lower case."""
    found: dict[str, set[date]] = {}
    for number in range(-window, window + 1):
        day = today + timedelta(days=number)
        for form in _written(day):
            found.setdefault(form.casefold(), set()).add(day)
    return found


def _written(day: date) -> Iterator[str]:
    """Yield the forms of a day. Weekdays and years next to the day and month need no forms of their own."""
    year, week, weekday = day.isocalendar()
    days, months = ({f"{each}", f"{each:02}"} for each in (day.day, day.month))
    for mark in "-/._":
        yield f"{day.year}{mark}{day.month:02}{mark}{day.day:02}"
    yield from (f"{year}-W{week:02}-{weekday}", f"{year}W{week:02}{weekday}")
    if weekday == 1:
        yield from (f"{year}-W{week:02}", f"{year}W{week:02}")
    name = calendar.month_name[day.month]
    for month in {name, name[:3], f"{name[:3]}.", "Sept" if day.month == 9 else name}:
        for number in (*days, f"{day.day}."):
            yield from (f"{number} {month}", f"{number}-{month}", f"{month} {number}")
        for end in ("st", "nd", "rd", "th"):
            yield from (f"{day.day}{end} {month}", f"{day.day}{end} of {month}", f"{month} {day.day}{end}")
    for one in days:
        for other in months:
            yield f"{one}.{other}."
            for mark in "-/.":
                for full in (f"{day.year}", f"{day.year % 100:02}"):
                    yield from (f"{one}{mark}{other}{mark}{full}", f"{other}{mark}{one}{mark}{full}")
    yield from _numbers(day)


def _numbers(day: date) -> Iterator[str]:
    """Yield the forms of a day that may be other numbers: compact, and its midnight (UTC) in seconds since 1970."""
    yield f"{day:%Y%m%d}"
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    yield from (f"{midnight * unit}" for unit in (1, 1000, 1000000))


def _has_form(text: str, form: str, day: date) -> bool:
    """Whether a text has a form as whole words, without another year after it; a mere number, as a whole literal."""
    for found in re.finditer(re.escape(form), text):
        before, after = text[: found.start()], text[found.end() :]
        if form.isdecimal():
            if _BEFORE_NUMBER.search(before[-2:]) and _AFTER_NUMBER.match(after):
                return True
            continue
        other = _OTHER_YEAR.match(after)
        if form[-3:-2] == "w" and _DAY_OF_WEEK.match(after):
            continue
        whole = not re.match(_WORD, before[-1:]) and (not re.match(_WORD, after) or re.match(r"t\d", after))
        if whole and (other is None or int(other[1]) == day.year):
            return True
    return False


def fixed_days(task: Task, today: date, window: int = NEAR) -> Mapping[date, list[str]]:
    """Return the dates in the steps and checks of a task that its intent does not name, with their places. See
    `dates_of` for ``today``."""
    named = dates_of(task.intent, today, window)
    places: dict[date, list[str]] = {}
    for place, text in (*_steps(task), *_checks(task.every_check)):
        for each in sorted(dates_of(text, today, window) - named):
            if place not in (known := places.setdefault(each, [])):
                known.append(place)
    return places


def near_days(task: Task, today: date) -> Iterator[str]:
    """Yield a sentence for each date near ``today`` that the intent does not name."""
    for each, places in fixed_days(task, today).items():
        if abs(days := (each - today).days) <= NEAR:
            yield (
                f"{each} ({', '.join(places)}) is {in_days(days)}, and the intent does not name it: if it depends on "
                f"the day, the task is wrong tomorrow. Name it in the intent, or compare with {_sql(days)}"
            )


def in_days(days: int) -> str:
    """Return a number of days in words.

    >>> in_days(0), in_days(1), in_days(-3)
    ('today', 'in 1 day', '3 days ago')
    """
    number = f"{abs(days)} day{'s' * (abs(days) != 1)}"
    return "today" if not days else f"in {number}" if days > 0 else f"{number} ago"


def _sql(days: int) -> str:
    return f"date('now', '{days:+} days')" if days else "date('now')"


def _steps(task: Task) -> Iterator[tuple[str, str]]:
    for number, step in enumerate(task.solution or (), 1):
        for text in _texts(step):
            yield f"step {number}", text


def _checks(checks: Collection[Check]) -> Iterator[tuple[str, str]]:
    for check in checks:
        yield from _checks(check.children)
        if check.spec is not None:
            for text in (*_texts(check.spec), str(check.spec)):
                yield check.path, text


def _texts(value: object) -> Iterator[str]:
    """Yield all texts in a value of plain data, dates, and dataclasses."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, date):
        yield value.isoformat()[:10]
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _texts(each)
    elif is_dataclass(value):
        for each in fields(value):
            yield from _texts(getattr(value, each.name))
