"""Dates and times of day as wanted values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        unread = ""
        for readings, start, end in dates_in(answer):
            same = [reading for reading in readings if self._equals(reading, question)]
            if len(same) == len(readings):
                stated.update(range(start, end))
            elif same or any(self._equals_in_part(reading) for reading in readings):
                unread = unread or " ".join(token.text for token in answer[start:end])
        year, month, _ = self.value
        if not month:
            stated.update(index for index, token in enumerate(answer) if token.text == str(year))
        if not stated and not unread and vague(answer):
            unread = "it may give the date in words"
        return Finding(frozenset(stated), unread)

    def _equals_in_part(self, parts: Parts) -> bool:
        """Whether a date without a year may be the wanted one."""
        return not parts[0] and parts[1:] == self.value[1:]

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
    def _digits(self) -> str:
        return f"{self.minutes // 60:02}{self.minutes % 60:02}"

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        stated: set[int] = set()
        unread = ""
        for readings, start, end in times_in(answer):
            if readings == {self.minutes}:
                stated.update(range(start, end))
            elif self.minutes in readings:
                unread = unread or " ".join(token.text for token in answer[start:end])
        if (
            not stated
            and not unread
            and (
                vague(answer)
                or any(token.text == self._digits for token in answer)
                or contains_digits(answer, self._digits)
            )
        ):
            unread = "it may give the time in another way"
        return Finding(frozenset(stated), unread)

    def __str__(self) -> str:
        return f"the time {self._digits[:2]}:{self._digits[2:]}"

    def instruction(self) -> str:
        return "Answer with the time alone, as HH:MM (24 hours)."
