"""Properties of reading: bare values are met, values that are a part of something longer never."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.checks.answer_types.reading import read
from pytest_webarena.checks.answer_types.values import (
    Date,
    Duration,
    Name,
    Names,
    NumberValue,
    Time,
    Url,
    Value,
    YesNo,
)

QUESTION = "What is it?"
NUMBERS = st.decimals(min_value=-(10**6), max_value=10**6, places=2, allow_nan=False)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
NAMES = st.lists(
    st.text("bcdfghjklmpqrstvwxz", min_size=3, max_size=8).map(str.capitalize), min_size=1, max_size=3
).map(" ".join)
CODES = st.from_regex(r"[A-Z]{2}[0-9]{2}-[a-z]{2}", fullmatch=True)
GLUE = st.text(LETTERS + "0123456789_", min_size=1, max_size=4)
DATES = st.dates(min_value=datetime.date(1900, 1, 1), max_value=datetime.date(2100, 1, 1))
FORMS = ("{}", "**{}**", "`{}`", '"{}"', "{}.", "- {}", "It is {}.", "Answer: {}", " {}\n")


def outcome(value: Value, answer: str) -> str:
    return read(answer, [value], QUESTION).outcome


@given(NUMBERS, st.sampled_from(FORMS))
def test_bare_numbers_are_met(number: Decimal, form: str) -> None:
    value = NumberValue(value=number)
    assert outcome(value, form.format(f"{number:f}")) == "met"
    assert outcome(value, form.format(f"{number:,f}")) == "met"
    assert outcome(value, json.dumps({"answer": float(number)})) == "met"


@given(NUMBERS, NUMBERS)
def test_other_numbers_are_not_met(number: Decimal, other: Decimal) -> None:
    if number != other:
        assert outcome(NumberValue(value=number), f"{other:f}") != "met"
        assert outcome(NumberValue(value=number), f"{number:f} {other:f}") != "met"


@given(NUMBERS, GLUE)
def test_numbers_with_something_joined_are_not_met(number: Decimal, glue: str) -> None:
    value = NumberValue(value=number)
    if number and glue.strip("0"):  # more zeros are the same number
        assert outcome(value, f"{number:f}{glue}") != "met"
        assert outcome(value, f"{glue}{number:f}") != "met"


@given(NAMES | CODES, st.sampled_from(FORMS))
def test_bare_names_are_met(name: str, form: str) -> None:
    assert outcome(Name(forms=(name,)), form.format(name)) == "met"


@given(NAMES | CODES, GLUE, st.sampled_from(FORMS))
def test_names_with_something_joined_are_not_met(name: str, glue: str, form: str) -> None:
    value = Name(forms=(name,))
    assert outcome(value, form.format(f"{name}{glue}")) != "met"
    assert outcome(value, form.format(f"{glue}{name}")) != "met"
    assert outcome(value, form.format(f"{name}-{glue}")) != "met"
    assert outcome(value, form.format(f"{glue}/{name}")) != "met"


@given(st.lists(CODES, min_size=2, max_size=4, unique=True), st.sampled_from([", ", "\n", "; ", " and "]))
def test_bare_lists_are_met_and_shorter_ones_are_not(names: list[str], between: str) -> None:
    value = Names(names=tuple(Name(forms=(name,)) for name in names))
    ordered = Names(names=value.names, ordered=True)
    assert outcome(value, between.join(reversed(names))) == "met"
    assert outcome(ordered, between.join(names)) == "met"
    assert outcome(ordered, between.join(reversed(names))) == "not met"
    assert outcome(value, between.join(names[1:])) != "met"
    assert outcome(value, json.dumps(names)) == "met"


@given(DATES, st.sampled_from(["{:%Y-%m-%d}", "{:%d %B %Y}", "{:%B %d, %Y}", "{:%a, %d %b %Y}", "{:%Y/%m/%d}"]))
def test_bare_dates_are_met(day: datetime.date, form: str) -> None:
    value = Date(value=(day.year, day.month, day.day))
    assert outcome(value, form.format(day)) == "met"
    assert outcome(value, form.format(day + datetime.timedelta(days=1))) == "not met"


@given(DATES, GLUE)
def test_dates_with_something_joined_are_not_met(day: datetime.date, glue: str) -> None:
    value = Date(value=(day.year, day.month, day.day))
    assert outcome(value, f"{day:%Y-%m-%d}{glue}") != "met"
    assert outcome(value, f"{glue}{day:%Y-%m-%d}") != "met"


@given(st.times(), GLUE)
def test_bare_times_are_met_and_joined_ones_are_not(time: datetime.time, glue: str) -> None:
    value = Time(minutes=time.hour * 60 + time.minute)
    assert outcome(value, f"{time:%I:%M %p}") == "met"
    if not 1 <= time.hour <= 11 or time.hour < 10:  # "10:30" may be in the evening
        assert outcome(value, f"{time:%H:%M}") == "met"
    if glue not in ("am", "pm", "h"):
        assert outcome(value, f"{time:%H:%M}{glue}") != "met"
    assert outcome(value, f"{glue}{time:%H:%M}") != "met"


@given(st.booleans(), GLUE)
def test_bare_replies_are_met_and_joined_ones_are_not(reply: bool, glue: str) -> None:
    word, value = "yes" if reply else "no", YesNo(value=reply)
    assert outcome(value, word) == "met"
    assert outcome(YesNo(value=not reply), word) == "not met"
    assert outcome(value, word + glue) != "met"
    assert outcome(value, glue + word) != "met"


@given(st.text("abcxyz/-_0123456789", max_size=20), GLUE)
def test_bare_addresses_are_met_and_longer_ones_are_not(path: str, glue: str) -> None:
    address = f"http://shop.test/a{path}"
    value = Url(value=address)
    assert outcome(value, address) == "met"
    assert outcome(value, f"See {address}.") == "met"
    assert outcome(value, address + glue) != "met"


@given(st.integers(1, 23), st.integers(1, 59), GLUE)
def test_bare_lengths_of_time_are_met_and_joined_ones_are_not(hours: int, minutes: int, glue: str) -> None:
    value = Duration(length=Fraction(hours * 3600 + minutes * 60))
    assert outcome(value, f"{hours} h {minutes} min") == "met"
    assert outcome(value, f"{hours * 60 + minutes} minutes") == "met"
    assert outcome(value, f"{hours} h {minutes + 1} min") == "not met"
    assert outcome(value, f"{hours} h {minutes} {glue}x") != "met"
    if glue.strip("0"):
        assert outcome(value, f"{glue}{hours} h {minutes} min") != "met"
