"""Numbers, lengths of time and groups of digits as wanted values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from pytest_webarena.checks.answer_types.accounting import LABELS, counts, is_content, is_negation, is_neutral
from pytest_webarena.checks.answer_types.amounts import (
    Amount,
    amounts_in,
    contains_digits,
    durations_in,
    other_readings,
    vague,
)
from pytest_webarena.checks.answer_types.finding import Finding
from pytest_webarena.checks.answer_types.tokens import Token, fold, tokens
from pytest_webarena.checks.answer_types.units import (
    COMMON_UNITS,
    convert,
    currencies,
    is_unit,
    length_of,
)

__all__ = ["Digits", "Duration", "NumberValue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberValue:
    """A number, with a unit of measurement, a currency (ISO 4217) or ``%`` if it has one."""

    count = 0

    value: Decimal
    unit: str = ""
    tolerance: Decimal = Decimal(0)
    relative: bool = False
    """Whether the tolerance is a share of the value."""

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        stated: set[int] = set()
        unread = ""
        for amount in amounts_in(answer):
            if (end := self._states(amount, answer, question)) is None:
                continue
            if end < 0 or self._groups(answer[amount.start].text):
                unread = " ".join(token.text for token in answer[amount.start : amount.end])
            else:
                stated.update(range(amount.start - self._code_before(amount, answer), end))
        if (unit := length_of(self.unit)) is not None:
            for seconds, start, stop in durations_in(answer):
                if self.equals(seconds / unit):
                    stated.update(range(start, stop))
        if stated or unread:
            return Finding(frozenset(stated), unread)
        if not self.value and any(is_negation(token.plain) for token in answer):
            return Finding(in_part="it speaks of an absence")
        if vague(answer):
            return Finding(in_part="it may give the number in words")
        if self.value and any(self.equals(-amount.value) for amount in amounts_in(answer)):
            return Finding(in_part="it may give the sign in words")
        if any(self.equals(each) or (self.unit == "%" and self.equals(each * 100)) for each in self._others(answer)):
            return Finding(in_part="it may give the number in another way")
        digits = "".join(filter(str.isdigit, f"{self.value:f}"))
        return Finding(in_part=f"{self.value:f}" if contains_digits(answer, digits) else "")

    def _others(self, answer: Sequence[Token]) -> set[Fraction]:
        """Returns what the numbers of an answer may mean in other forms."""
        bare = {amount.value for amount in amounts_in(answer) if not amount.unit} if self.unit == "%" else set()
        return other_readings(answer) | {value for value in bare if abs(value) < 1}

    def _code_before(self, amount: Amount, answer: Sequence[Token]) -> bool:
        """Whether the token before a number is its currency."""
        return amount.start > 0 and bool(set(currencies(answer[amount.start - 1].text)) & set(currencies(self.unit)))

    def equals(self, value: Fraction) -> bool:
        """Whether a number is the wanted one, within the tolerance."""
        wanted = Fraction(self.value)
        return abs(value - wanted) <= Fraction(self.tolerance) * (abs(wanted) if self.relative else 1)

    def _states(self, amount: Amount, answer: Sequence[Token], question: str) -> int | None:
        """Returns the index after the tokens that state the value, unit included; None if the amount is another one, -1
        if it may be the value in a form that is not read."""
        unit, end = amount.unit, amount.end
        following = answer[end] if end < len(answer) and not answer[end].new_clause else None
        if not unit and following is not None and self.unit:
            words = tokens(self.unit)
            if [token.plain for token in answer[end : end + len(words)]] == [word.plain for word in words]:
                unit, end = self.unit, end + len(words)
            elif self._known(phrase := " ".join(token.text for token in answer[end : end + 2])):
                unit, end = phrase, min(end + 2, len(answer))
            elif not is_neutral(following) and self._known(following.text):
                unit, end = following.text, end + 1
        if unit:
            return self._with_unit(amount.value, unit, end)
        if not self.equals(amount.value):
            scaled = following is not None and self._scaled(amount.value, following.plain)
            return -1 if scaled else None
        label = not self._code_before(amount, answer) and self._is_label(amount, answer, question)
        if label or self._is_asked(amount, following, question):
            return -1
        return end

    def _groups(self, numeral: str) -> bool:
        """Whether a point may group digits: ``36.000`` is 36 or 36,000, if the value itself is not written so. A value
        that is not whole has no groups after its point."""
        if self.value % 1:
            return False
        found = re.search(r"(?<![\d.,])\d{1,3}\.\d\d0(?![\d.,]*\d)", numeral)
        return found is not None and found[0] != f"{abs(self.value):f}"

    def _scaled(self, value: Fraction, word: str) -> bool:
        """Whether a multiplier or a small unit of currency makes the value of a number."""
        factor = _MULTIPLIERS.get(word.removesuffix("s"))
        return factor is not None and self.equals(value * factor)

    @staticmethod
    def _is_asked(amount: Amount, following: Token | None, question: str) -> bool:
        """Whether the question itself has this number of the same thing: ``6 rooms`` of 6 rooms."""
        if following is None:
            return False
        words = tokens(question)
        asked = ((each.value, words[each.end].plain) for each in amounts_in(words) if each.end < len(words))
        return (amount.value, following.plain) in asked

    def _known(self, unit: str) -> bool:
        if unit.casefold() == self.unit.casefold():
            return True
        return bool(currencies(unit)) if currencies(self.unit) else is_unit(unit)

    def _with_unit(self, value: Fraction, unit: str, end: int) -> int | None:
        if not self.unit or self._scaled(value, unit.casefold()):
            return -1 if self.equals(value) or self._scaled(value, unit.casefold()) else None
        if fold(unit) == fold(self.unit):  # m² is split as m2
            return end if self.equals(value) else None
        if wanted := currencies(self.unit):
            if set(wanted) & set(currencies(unit)):
                return end if self.equals(value) else None
            return None if currencies(unit) or not self.equals(value) else -1
        converted = convert(value, unit, self.unit)
        if converted is None:
            return None if unit in COMMON_UNITS or not self.equals(value) else -1
        if self.equals(converted):
            return end
        wanted_value = Fraction(self.value)
        return -1 if abs(converted - wanted_value) <= abs(wanted_value) / 100 else None  # a rounded conversion

    @staticmethod
    def _is_label(amount: Amount, answer: Sequence[Token], question: str) -> bool:
        """Whether a number may belong to the word next to it: as its label (``page 6``, ``room 12``), or as a count of
        something else than the question counts (``6 orders`` for a number of items)."""
        following = answer[amount.end] if amount.end < len(answer) and not answer[amount.end].new_clause else None
        if following is not None and is_content(following):
            return not counts(question, following)
        before = answer[amount.start - 1] if amount.start and not answer[amount.start].new_clause else None
        if before is None or not is_content(before):
            return False
        return amount.value.denominator == 1 or before.plain in LABELS

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        within = (
            f" ± {(self.tolerance * 100).normalize() if self.relative else self.tolerance:f}" if self.tolerance else ""
        )
        return f"the number {self.value:f}{unit}{within}{' %' * self.relative}"

    def instruction(self) -> str:
        return "Answer with the number alone, in digits."


_MULTIPLIERS: dict[str, Fraction | int] = {
    "k": 1000, "thousand": 1000, "m": 10**6, "million": 10**6, "mn": 10**6, "bn": 10**9, "billion": 10**9,
    "cent": Fraction(1, 100), "¢": Fraction(1, 100), "p": Fraction(1, 100), "pence": Fraction(1, 100),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A length of time."""

    count = 0

    length: Fraction
    """In seconds, or in months if `months`."""
    months: bool = False
    """Whether it is in months and years, which have no length in seconds."""

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        stated: set[int] = set()
        read: set[int] = set()
        for length, start, end in durations_in(answer, months=self.months):
            read.update(range(start, end))
            if length == self.length:
                stated.update(range(start, end))
        if stated:
            return Finding(frozenset(stated))
        unread = any(token.has_digit and place not in read for place, token in enumerate(answer))
        spelt = vague(answer) or (not read and any(True for _ in amounts_in(answer)))
        return Finding(in_part="it may give the length in another way" if unread or spelt else "")

    def __str__(self) -> str:
        return f"a length of {float(self.length):g} {'months' if self.months else 'seconds'}"

    def instruction(self) -> str:
        return "Answer with the length of time alone, such as '1 h 25 min'."


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits:
    """A telephone or postal number: its digits count, however they are grouped."""

    count = 0

    digits: str

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        for start in range(len(answer)):
            for end in range(start + 1, min(len(answer), start + 6) + 1):
                part = answer[start:end]
                if all(_GROUP.fullmatch(token.text) for token in part):
                    found = re.sub(r"\D", "", "".join(token.text for token in part))
                    if found == self.digits or (part[0].text[0] == "+" and found.removeprefix("1") == self.digits):
                        return Finding(frozenset(range(start, end)))
        text = re.sub(r"\D", "", "".join(token.text for token in answer))
        return Finding(in_part=self.digits if self.digits in text else "")

    def __str__(self) -> str:
        return f"the number {self.digits}"

    def instruction(self) -> str:
        return "Answer with the number alone, in digits."


_GROUP = re.compile(r"[+(]?\d+(?:[-./()]+\d+)*\)?")
