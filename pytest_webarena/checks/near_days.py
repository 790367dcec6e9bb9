"""Dates in a task that are right near one day only: the day of its recording, or of a trial."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date

from pytest_webarena.checks.answer_types.dates import dates_in
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.tasks.model import Check, Task

__all__ = ["NEAR", "dates_of", "fixed_days", "in_days", "near_days", "relative_words"]

NEAR = 31
"""Number of days before and after today within which a date may have been chosen because of today."""
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


def dates_of(text: str) -> set[date]:
    """Return the dates that a text has, each in all its readings (day or month first).

    >>> sorted(map(str, dates_of("due = '2026-12-04' or 5 March 2027")))
    ['2026-12-04', '2027-03-05']
    """
    spaced = re.sub(r"['\"(),;=<>]|(?<=\d)T(?=\d)", " ", text)
    return {
        date(*parts) for readings, _, _ in dates_in(tokens(spaced)) for parts in readings if all(parts)
    }  # fmt: skip


def fixed_days(task: Task) -> Mapping[date, list[str]]:
    """Return the dates in the steps and checks of a task that its intent does not name, with their places."""
    named = dates_of(task.intent)
    places: dict[date, list[str]] = {}
    for place, text in (*_steps(task), *_checks(task.every_check)):
        for each in sorted(dates_of(text) - named):
            if place not in places.setdefault(each, []):
                places[each].append(place)
    return places


def near_days(task: Task, today: date) -> Iterator[str]:
    """Yield a sentence for each date near ``today`` that the intent does not name."""
    for each, places in fixed_days(task).items():
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
        yield f"step {number}", " ; ".join(_texts(step))


def _checks(checks: Collection[Check]) -> Iterator[tuple[str, str]]:
    for check in checks:
        yield from _checks(check.children)
        if check.spec is not None:
            yield check.path, " ; ".join((*_texts(check.spec), str(check.spec)))


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
