"""Answers that attack a check: right ones in other forms, and plausible wrong ones by class."""

from __future__ import annotations

import calendar
import datetime
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pytest_webarena.checks.answer_types.names import is_code
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.answer_types.units import CURRENCY_SIGNS, currencies
from pytest_webarena.checks.answer_types.values import (
    Absence,
    AnyOf,
    Date,
    Digits,
    Duration,
    Name,
    Names,
    NumberValue,
    Time,
    Url,
    Value,
    YesNo,
)

__all__ = ["Mutant", "mutants", "spellings"]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One answer made from the right one."""

    answer: str
    right: bool
    kind: str
    """Class: ``bare``, ``sentence``, ``multiplier``, ``another entity``, …"""


_UNABLE = (
    "I was unable to open the page, so I could not find out.",
    "I could not log in.",
    "The page did not load.",
    "I will look this up later.",
)
_FOREIGN = "sprockets"
"""A noun that no question asks for."""


def mutants(value: Value, others: Sequence[Value] = ()) -> Iterator[Mutant]:
    """Yields right and wrong answers for a wanted value.

    Args:
        value: the wanted value.
        others: values of other tasks with the same question, which are wrong here.
    """
    forms = list(dict.fromkeys(spellings(value)))
    if not forms:
        return
    first = forms[0]
    for form in forms:
        yield Mutant(form, True, "bare")
    yield Mutant(f"**{first}**", True, "Markdown")
    if not isinstance(value, Absence):
        yield Mutant(f"The answer is {first}.", True, "sentence")
        yield Mutant(f"Answer: {first}", True, "final line")
        yield Mutant(json.dumps({"answer": first}, ensure_ascii=False), True, "JSON")
    right = {_words(form) for form in forms}
    for wrong in _wrong(value, first, others):
        if _words(wrong.answer) not in right:
            yield wrong


def _words(text: str) -> tuple[str, ...]:
    return tuple(token.text for token in tokens(text))


def _wrong(value: Value, first: str, others: Sequence[Value]) -> Iterator[Mutant]:
    for answer in _UNABLE:
        yield Mutant(answer, False, "inability")
    yield Mutant("", False, "empty")
    if isinstance(value, Absence):
        yield from (Mutant(answer, False, "a value") for answer in ("42", "Done.", "Yes", "None", f"42 {_FOREIGN}"))
    else:
        yield Mutant("N/A", False, "refusal")
        for answer in (
            f"not {first}",
            f"It is not {first}.",
            f"Maybe {first}.",
            f"{first}?",
            f"If not {first}, then I",
        ):
            yield Mutant(answer, False, "denied or doubted")
        yield Mutant(f"{first} for the {_FOREIGN}", False, "of something else")
        yield Mutant(f"Answer: {first}. Scratch that.", False, "taken back")
    for other in others:
        spelt = next(spellings(other), "")
        if not spelt or other == value or isinstance(value, Absence):
            continue
        yield Mutant(spelt, False, "another value")
        yield Mutant(f"The answer is {spelt}.", False, "another value")
        yield Mutant(f"{first} or {spelt}", False, "two values")
        yield Mutant(f"{first}. Correction: {spelt}.", False, "two values")
    yield from _typed_wrong(value, first)


def spellings(value: Value) -> Iterator[str]:
    """Yields the usual ways to write a value, the simplest first."""
    match value:
        case NumberValue():
            yield from _number_forms(value)
        case Name():
            yield from value.forms
            if not value.is_text:
                yield f'"{value.forms[0]}"'
        case Names():
            names = [name.forms[0] for name in value.names]
            yield "\n".join(names)
            yield ", ".join(names)
            yield "\n".join(f"- {name}" for name in names)
            yield json.dumps(names, ensure_ascii=False)
        case Date():
            yield from _date_forms(value)
        case Time():
            hour, minute = divmod(value.minutes, 60)
            yield f"{hour:02}:{minute:02}"
            yield f"{hour % 12 or 12}:{minute:02} {'pm' if hour >= 12 else 'am'}"
        case Duration():
            yield from _duration_forms(value)
        case YesNo():
            yield "yes" if value.value else "no"
            yield "Yes." if value.value else "No."
        case Url():
            yield value.value
        case Digits():
            yield value.digits
        case Absence():
            yield "N/A"
            yield f"N/A: {value.reason}"
        case AnyOf():
            for each in value.values:
                yield from spellings(each)


def _number_forms(value: NumberValue) -> Iterator[str]:
    plain = f"{value.value:f}"
    yield plain
    if value.value == value.value.to_integral_value() and abs(value.value) >= 1000:
        yield f"{int(value.value):,}"
    if value.unit:
        yield f"{plain} {value.unit}"
    if codes := currencies(value.unit):
        yield from (f"{sign}{plain}" for sign, known in CURRENCY_SIGNS.items() if len(sign) == 1 and codes[0] in known)


def _date_forms(value: Date) -> Iterator[str]:
    year, month, day = value.value
    if not month:
        yield str(year)
        return
    name = calendar.month_name[month]
    if not day:
        yield from (f"{year:04}-{month:02}", f"{name} {year}")
        return
    yield f"{year:04}-{month:02}-{day:02}"
    yield from (f"{day} {name} {year}", f"{name} {day}, {year}", f"{name[:3]} {day}, {year}")


def _duration_forms(value: Duration) -> Iterator[str]:
    if value.length.denominator > 1:
        yield f"{float(value.length):g} {'months' if value.months else 's'}"
        return
    rest, parts = int(value.length), []
    for size, unit in _MONTHS if value.months else _SECONDS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
    yield " ".join(parts) or "0 s"
    if value.months:
        yield f"{int(value.length)} months"
    elif value.length % 60 == 0:
        yield f"{int(value.length / 60)} minutes"


_SECONDS = ((86400, "days"), (3600, "h"), (60, "min"), (1, "s"))
_MONTHS = ((12, "years"), (1, "months"))


def _typed_wrong(value: Value, first: str) -> Iterator[Mutant]:
    match value:
        case NumberValue():
            yield from _wrong_numbers(value)
        case Name():
            yield from _wrong_names(value)
        case Names():
            yield from _wrong_lists(value)
        case Date():
            yield from _wrong_dates(value)
        case Time():
            for minutes in (value.minutes + 1, value.minutes + 720):
                yield Mutant(next(spellings(Time(minutes=minutes % 1440))), False, "another time")
        case Duration():
            longer = replace(value, length=value.length + (1 if value.months else 60))
            yield Mutant(next(_duration_forms(longer)), False, "another length")
            yield Mutant(first.replace("min", "h") if "min" in first else f"{first} 1 s", False, "another unit")
        case YesNo():
            yield Mutant("no" if value.value else "yes", False, "the contrary")
            yield Mutant("yes and no", False, "two values")
            yield Mutant(f"{first}, but only for the {_FOREIGN}", False, "of something else")
        case Url():
            yield Mutant(f"{first}2", False, "glued suffix")
            yield Mutant(first.replace("://", "://other.", 1), False, "another host")
            yield Mutant(f"{first}{'&' if '?' in first else '?'}page=2", False, "another query")
        case Digits():
            yield Mutant(f"{first}0", False, "glued suffix")


def _wrong_numbers(value: NumberValue) -> Iterator[Mutant]:
    plain = f"{value.value:f}"
    for number in (value.value + 1, value.value - 1, value.value * 10, -value.value):
        if not value.equals(Fraction(number)):
            yield Mutant(f"{number:f}", False, "another number")
    yield from (Mutant(f"{plain} {word}", False, "multiplier") for word in ("dozen", "K", "million"))
    yield from (Mutant(f"{plain}{sign}{plain}", False, "operator") for sign in ("*", "-", "^", "/"))
    yield Mutant(f"{plain}+", False, "operator")
    yield from (Mutant(f"{label}{plain}", False, "label") for label in ("page ", "#", "v", "No. "))
    if value.unit != "%":
        yield Mutant(f"{plain}%", False, "per cent")
    if not currencies(value.unit):
        yield Mutant(f"${plain}", False, "another unit")
    for unit in ("km", "kg", "°F"):
        if unit != value.unit:
            yield Mutant(f"{plain} {unit}", False, "another unit")
    yield Mutant(f"{plain} {_FOREIGN}", False, "of something else")
    yield Mutant(f"more than {plain}", False, "bound")


def _wrong_names(value: Name) -> Iterator[Mutant]:
    name = value.forms[0]
    for answer in (f"{name}2", f"{name}-2", f"{name}-old", f"un{name}", f"{name}x"):
        yield Mutant(answer, False, "glued suffix or prefix")
    yield Mutant(f"{name}'s sister", False, "possessive")
    yield Mutant(f"{name} Zebedee", False, "longer name")
    if len(name) > 3:
        yield Mutant(name[:-1], False, "shorter name")
    if any(map(is_code, name.split())):
        words = (word.swapcase() if is_code(word) else word for word in name.split())
        yield Mutant(" ".join(words), False, "case of a code")


def _wrong_lists(value: Names) -> Iterator[Mutant]:
    names = [name.forms[0] for name in value.names]
    yield Mutant("\n".join([*names, "Zebedee"]), False, "superset")
    if len(names) > 1:
        yield Mutant("\n".join(names[:-1]), False, "subset")
        yield Mutant(f"{', '.join(names[:-1])}, not {names[-1]}", False, "denied or doubted")
        if value.ordered:
            yield Mutant("\n".join(reversed(names)), False, "order")


def _wrong_dates(value: Date) -> Iterator[Mutant]:
    year, month, day = value.value
    yield Mutant(
        next(_date_forms(replace(value, value=(year + 1, month, day if day < 29 else 0)))), False, "another year"
    )
    if day:
        for days in (1, -1):
            other = datetime.date(year, month, day) + datetime.timedelta(days=days)
            yield Mutant(other.isoformat(), False, "neighbouring day")
        if day <= 12 and day != month:
            yield Mutant(f"{year:04}-{day:02}-{month:02}", False, "day and month swapped")
