"""Dates and times of day as wanted values."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_webarena.checks.answer_types.accounting import is_neutral
from pytest_webarena.checks.answer_types.amounts import contains_digits, vague
from pytest_webarena.checks.answer_types.dates import Parts, dates_in, times_in
from pytest_webarena.checks.answer_types.finding import Finding
from pytest_webarena.checks.answer_types.tokens import Token, tokens

__all__ = ["Date", "Time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Date:
    """A date, a month or a year."""

    count = 0

    value: Parts

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        stated: set[int] = set()
        read: set[int] = set()
        unread = ""
        for readings, start, end in dates_in(answer):
            same = [reading for reading in readings if self._equals(reading, question)]
            read.update(range(start, end))
            if len(same) == len(readings):
                stated.update(range(start, end))
            elif same or any(self._equals_in_part(reading) for reading in readings):
                unread = unread or " ".join(token.text for token in answer[start:end])
        year, month, _ = self.value
        if not month:
            stated.update(index for index, token in enumerate(answer) if token.text == str(year))
        if not stated and not unread:
            unread = "it may give the date in words" if vague(answer) else self._written_otherwise(answer, read)
        return Finding(frozenset(stated), unread)

    def _written_otherwise(self, answer: Sequence[Token], read: set[int]) -> str:
        """Returns why words and numerals that are not read may be the date: its numerals are next to a word, such as a
        month in another language, or within one."""
        year, month, day = self.value
        rest = [Token("") if place in read else token for place, token in enumerate(answer)]
        numerals = [[int(each) for each in re.findall(r"\d+", token.text)] for token in rest]
        if any(1000 <= each <= 2999 and each != year for each in itertools.chain(*numerals)):
            return ""
        wanted = {day} if day else {year, year % 100}
        for place, found in enumerate(numerals):
            near = rest[max(place - 1, 0) : place + 2]
            if found == [year * 10000 + month * 100 + day] or (found == [year % 100] and not month):
                return f'"{rest[place].text}" may mean it'
            if wanted & {*found} and any(
                re.search(r"[^\W\d_]", token.text) and not is_neutral(token) for token in near
            ):
                return " ".join(token.text for token in near if token.text)
        return ""

    def _equals_in_part(self, parts: Parts) -> bool:
        """Whether a date without a year, or without a day, may be the wanted one."""
        pairs = zip(parts, self.value, strict=True)
        return bool(parts[1]) and all(part in (0, wanted) for part, wanted in pairs)

    def _equals(self, parts: Parts, question: str) -> bool:
        year, month, day = self.value
        known_year = not parts[0] and str(year) in {token.text for token in tokens(question)}
        if not known_year and parts[0] != year:
            return False
        return parts[1:] == (month, day)

    def __str__(self) -> str:
        return "the date " + "-".join(f"{part:02}" for part in self.value if part)

    def instruction(self) -> str:
        return "Answer with the date alone, as YYYY-MM-DD; with a month as YYYY-MM, with a year as YYYY."


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """A time of day."""

    count = 0

    minutes: int
    """Minutes since midnight."""

    @property
    def _asked_form(self) -> str:
        """The form that agents are asked for, so that 10:00 is no 22:00."""
        return f"{self.minutes // 60:02}:{self.minutes % 60:02}"

    @property
    def _digits(self) -> str:
        return self._asked_form.replace(":", "")

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        stated: set[int] = set()
        unread = ""
        read: set[int] = set()
        for readings, start, end in times_in(answer):
            read.update(range(start, end))
            asked = self.minutes in readings and " ".join(token.text for token in answer[start:end]) == self._asked_form
            if asked or readings == {self.minutes}:
                stated.update(range(start, end))
            elif self.minutes in readings:
                unread = unread or " ".join(token.text for token in answer[start:end])
        if (
            not stated
            and not unread
            and (
                vague(answer)
                or any(self._is_within(token) for place, token in enumerate(answer) if place not in read)
                or contains_digits(answer, self._digits)
            )
        ):
            unread = "it may give the time in another way"
        return Finding(frozenset(stated), unread)

    def _is_within(self, token: Token) -> bool:
        """Whether a token that is not read contains the hour and the minutes; full hours may be alone."""
        hour, minute = divmod(self.minutes, 60)
        minutes = rf"\D?{minute:02}" if minute else r"(?:\D?00)?"
        return bool(re.search(rf"(?<!\d)0?(?:{hour}|{hour % 12 or 12}){minutes}(?!\d)", token.text))

    def __str__(self) -> str:
        return f"the time {self._asked_form}"

    def instruction(self) -> str:
        return "Answer with the time alone, as HH:MM (24 hours)."
