"""The values that a check may want as an answer, by type: each knows where an answer states it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_webarena.checks.answer_types.finding import Finding, Value
from pytest_webarena.checks.answer_types.moments import Date, Time
from pytest_webarena.checks.answer_types.names import Name, Names, Pattern, Url
from pytest_webarena.checks.answer_types.quantities import Digits, Duration, NumberValue
from pytest_webarena.checks.answer_types.statements import Absence, YesNo
from pytest_webarena.checks.answer_types.tokens import Token

__all__ = [
    "Absence",
    "AnyOf",
    "Date",
    "Digits",
    "Duration",
    "Finding",
    "Name",
    "Names",
    "NumberValue",
    "Pattern",
    "Time",
    "Url",
    "Value",
    "YesNo",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """One of several values."""

    count = 0

    values: tuple[Value, ...]

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        findings = [value.find(answer, question) for value in self.values]
        stated = [finding for finding in findings if finding.stated]
        if len(stated) > 1 and len({finding.stated for finding in stated}) > 1:
            return Finding(in_part="it gives more than one of the values")
        unread = next((finding for finding in findings if finding.in_part), Finding())
        return stated[0] if stated else unread

    def __str__(self) -> str:
        return " or ".join(map(str, self.values))

    def instruction(self) -> str:
        return self.values[0].instruction()
