"""The values that a check may want as an answer, by type: each knows where an answer states it."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from pytest_webarena.checks.answer_types.accounting import LABELS, counts, denials, is_content, is_negation, is_neutral
from pytest_webarena.checks.answer_types.amounts import Amount, amounts_in, contains_digits, durations_in, vague
from pytest_webarena.checks.answer_types.dates import Parts, dates_in, times_in
from pytest_webarena.checks.answer_types.tokens import Token, tokens
from pytest_webarena.checks.answer_types.units import (
    COMMON_UNITS,
    convert,
    currencies,
    is_time_unit,
    is_unit,
    seconds_of,
)
from pytest_webarena.checks.urls import parse_url

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


@dataclass(frozen=True, slots=True)
class Finding:
    """Where an answer states a value."""

    stated: frozenset[int] = frozenset()
    """Indices of the tokens that state it; empty if the answer does not state it."""
    in_part: str = ""
    """Why the answer may state it in a way that is not read; empty if it does not state it at all."""
    negated: bool = False
    """Whether the value is an absence, so that words of negation belong to it."""


class Value(Protocol):
    """A wanted value."""

    @property
    def count(self) -> int:
        """Number of names that it consists of; 0 for numbers and the like, whose count says nothing."""

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        """Returns where the answer states the value."""

    def instruction(self) -> str:
        """Returns the sentence that asks an agent for a value of this type. It must not depend on the value."""


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
            if end < 0:
                unread = " ".join(token.text for token in answer[amount.start : amount.end])
            else:
                stated.update(range(amount.start - self._code_before(amount, answer), end))
        if is_time_unit(self.unit):
            for seconds, start, stop in durations_in(answer):
                if self.equals(seconds / seconds_of(self.unit)):
                    stated.update(range(start, stop))
        if stated or unread:
            return Finding(frozenset(stated), unread)
        if not self.value and any(is_negation(token.plain) for token in answer):
            return Finding(in_part="it speaks of an absence")
        if vague(answer):
            return Finding(in_part="it may give the number in words")
        if self.value and any(self.equals(-amount.value) for amount in amounts_in(answer)):
            return Finding(in_part="it may give the sign in words")
        digits = "".join(filter(str.isdigit, f"{self.value:f}"))
        return Finding(in_part=f"{self.value:f}" if contains_digits(answer, digits) else "")

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
            words = self.unit.split()
            if [token.plain for token in answer[end : end + len(words)]] == [word.casefold() for word in words]:
                unit, end = self.unit, end + len(words)
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
class Name:
    """A name, a code or a text, which the answer must contain as whole tokens."""

    count = 1

    forms: tuple[str, ...]
    """The value and its other spellings."""
    is_text: bool = False
    """Whether it is a text to be quoted."""
    cased: bool = False
    """Whether the case must be the same in any form; for codes it must always be."""

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        stated: set[int] = set()
        places = [index for index, token in enumerate(answer) if token.text != "?"]
        for form in self.forms:
            wanted = [token for token in tokens(form) if token.text != "?"]
            if all(map(is_neutral, wanted)) and len(places) > len(wanted):
                return Finding(in_part=form)  # It, The Who: such words are in any sentence
            for start in range(len(places) - len(wanted) + 1):
                part = places[start : start + len(wanted)]
                given = [answer[place] for place in part]
                if not wanted or not all(map(self._same, given, wanted)):
                    continue
                if any(
                    mine.new_clause and not theirs.new_clause
                    for mine, theirs in zip(given[1:], wanted[1:], strict=True)
                ):
                    continue  # parts of a list, not one name
                end = part[-1] + 1
                following = answer[end] if end < len(answer) else None
                if form.isdigit() and following and not following.new_clause and is_content(following):
                    return Finding(in_part=f"{answer[part[0]].text} {following.text}")  # a count, and no code
                stated.update(range(part[0], end + ("?" in form and following == Token("?"))))
        return Finding(frozenset(stated)) if stated else Finding(in_part=self._part(answer, question))

    def _same(self, token: Token, wanted: Token) -> bool:
        text, form = token.text, wanted.text
        if text[:1] in "@#" and form[:1] != text[:1]:
            text = text[1:]
        cased = self.cased or is_code(form) or (form.isupper() and is_neutral(wanted))  # IT is not it
        return text == form if cased else text.casefold() == form.casefold()

    def _part(self, answer: Sequence[Token], question: str) -> str:
        """Returns words of the answer that may be a part of the name."""
        asked = set(_words(question))
        given = {word for token in answer for word in _words(token.text)}
        wanted = [
            {t for word in tokens(form) for t in _words(word.text) if len(t) > 1 and not is_neutral(word)}
            for form in self.forms
        ]
        digits = [re.sub(r"\D", "", form) for form in self.forms]
        if any(words and words <= given for words in wanted) or any(d and contains_digits(answer, d) for d in digits):
            return " ".join(self.forms[:1])
        words = set().union(*wanted)
        new = words - asked or words
        return " ".join([token.text for token in answer if new & set(_words(token.text))][:3])

    def __str__(self) -> str:
        return " or ".join(f'"{form}"' for form in self.forms)

    def instruction(self) -> str:
        return "Answer with the text alone." if self.is_text else "Answer with the name alone."


def is_code(text: str) -> bool:
    """Whether a token is a code, whose case counts: it mixes letters with digits, or capitals with small letters after
    the first one.

    >>> is_code("glft_aBC"), is_code("B42a"), is_code("Acme"), is_code("ACME"), is_code("v2.1")
    (True, True, False, False, False)
    """
    letters = [character for character in text if character.isalpha()]
    mixed = any(map(str.isupper, letters[1:])) and any(map(str.islower, letters))
    return mixed or (len(letters) > 1 and any(map(str.isdigit, text)))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Several names, all of which the answer must give."""

    names: tuple[Name, ...]
    ordered: bool = False

    @property
    def count(self) -> int:
        return len(self.names)

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        findings = [name.find(answer, question) for name in self.names]
        missing = [finding for finding in findings if not finding.stated]
        if missing:
            in_part = next((finding.in_part for finding in missing if finding.in_part), "")
            return Finding(in_part=in_part if all(finding.in_part for finding in missing) else "")
        places = [min(finding.stated) for finding in findings]
        stated = frozenset().union(*(finding.stated for finding in findings))
        labelled = any(is_content(answer[place]) for place in range(min(stated), max(stated)) if place not in stated)
        if places != sorted(places):
            if self.ordered:
                return Finding()
            if labelled:
                return Finding(in_part="it gives the names in another order, each for something")
        return Finding(frozenset().union(*(finding.stated for finding in findings)))

    def __str__(self) -> str:
        return ("in this order: " if self.ordered else "all of ") + ", ".join(map(str, self.names))

    def instruction(self) -> str:
        return "Answer with the names alone, one on each line, in the order that is asked for, if any."


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A length of time."""

    count = 0

    seconds: Fraction
    tolerance: Fraction = Fraction(0)

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        stated: set[int] = set()
        for seconds, start, end in durations_in(answer):
            if abs(seconds - self.seconds) <= self.tolerance:
                stated.update(range(start, end))
        if stated:
            return Finding(frozenset(stated))
        unread = next((token.text for token in answer if re.fullmatch(r"\d+(?::\d\d){1,2}h?", token.text)), "")
        bare = any(amount for amount in amounts_in(answer)) and not any(durations_in(answer))
        return Finding(in_part=unread or ("it may give the length in another way" if bare or vague(answer) else ""))

    def __str__(self) -> str:
        return f"a length of {float(self.seconds):g} seconds"

    def instruction(self) -> str:
        return "Answer with the length of time alone, such as '1 h 25 min'."


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNo:
    """Yes or no."""

    count = 0

    value: bool

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        stated = {index: _YES_NO[token.plain] for index, token in enumerate(answer) if _is_reply(answer, index)}
        if not stated or len(set(stated.values())) > 1:
            return Finding(in_part="it does not say yes or no alone" if answer else "")
        if self.value not in stated.values():
            return Finding()
        rest = [token for index, token in enumerate(answer) if index not in stated]
        affirms = any(map(is_content, rest)) and not any(is_negation(token.plain) for token in rest)
        if not self.value and (affirms or any(_YES_NO.get(token.plain) for token in rest)):
            return Finding(in_part="it says no, and then something else")
        return Finding(frozenset(stated), negated=not self.value)

    def __str__(self) -> str:
        return "yes" if self.value else "no"

    def instruction(self) -> str:
        return "Answer with 'yes' or 'no' alone."


_YES_NO = {"yes": True, "true": True, "no": False, "false": False}
_SUBJECTS = frozenset("it they he she you there that this we i".split())  # noqa: SIM905


def _is_reply(answer: Sequence[Token], index: int) -> bool:
    """Whether the token at ``index`` is a reply of its own, and not part of ``no reviews``."""
    if answer[index].plain not in _YES_NO:
        return False
    following = answer[index + 1] if index + 1 < len(answer) else None
    alone = following is None or following.new_clause
    return alone or (answer[index].new_clause and following is not None and following.plain in _SUBJECTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """The address of a page."""

    count = 0

    value: str

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        wanted, scheme = _place(self.value), self.value.partition("://")[0]
        stated: set[int] = set()
        unread = ""
        for index, token in enumerate(answer):
            places = (_place(token.text), _place(f"{scheme}://{token.text}"))
            if token.text == self.value or (wanted is not None and wanted in places):
                stated.add(index)
            elif "/" in token.text and (bare := token.text.rpartition("://")[2].strip("/")) in self.value:
                whole = "://" in token.text and bare != self.value.rpartition("://")[2].strip("/")
                unread = unread if whole else token.text
        return Finding(frozenset(stated), unread)

    def __str__(self) -> str:
        return f"the address {self.value}"

    def instruction(self) -> str:
        return "Answer with the full address of the page alone."


def _place(address: str) -> object:
    if "://" not in address:
        return None
    try:
        parts = parse_url(address)
    except ValueError:
        return None
    return parts and (parts.scheme, parts.host, parts.port, parts.path, parts.query, parts.fragment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """The statement that there is no such thing, or that the task can't be done."""

    count = 0

    reason: str
    """Why; its words are accounted for."""

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        for length in (1, 2):
            alone = len(answer) <= length or answer[length].new_clause or answer[length].plain in _REASONS
            if " ".join(token.plain for token in answer[:length]) in _IMPOSSIBLE and alone:
                return Finding(frozenset(range(length)), negated=True)
        if any(token.plain in _FIRST_PERSON for token in answer):
            return Finding(in_part="it says what the agent did or could not do")
        denying = denials(answer, question)
        if not denying and any(is_negation(token.plain) for token in answer):
            return Finding(in_part="it denies in the words of the question")
        if any(index + 1 < len(answer) and answer[index + 1].plain in _EVERY for index in denying):
            return Finding(in_part="it denies that all are so")
        detached = [index for index in denying if index + 1 == len(answer) or answer[index + 1].new_clause]
        if denying and detached == denying and len(answer) > len(denying):
            return Finding(in_part="it says no, and then something else")
        clauses = itertools.accumulate(token.new_clause for token in answer)
        per_clause = Counter(clause for token, clause in zip(answer, clauses, strict=True) if is_negation(token.plain))
        if max(per_clause.values(), default=0) > 1:
            return Finding(in_part="it denies twice")
        return Finding(frozenset(denying), negated=True)

    def __str__(self) -> str:
        return f'"N/A" ({self.reason})'

    def instruction(self) -> str:
        return ""


_IMPOSSIBLE = frozenset(
    {
        "n/a", "na", "none", "null", "not achievable", "unachievable", "infeasible", "not feasible", "impossible",
        "not possible", "not available", "not applicable",
    }
)  # fmt: skip
_REASONS = frozenset("because since as".split())  # noqa: SIM905
_EVERY = frozenset("all every each everything everyone".split())  # noqa: SIM905
_FIRST_PERSON = frozenset("i me my we our i'm i've we've".split())  # noqa: SIM905


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


_LONGEST_TO_MATCH = 80
"""Tokens in which words are looked for that match a regular expression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A text that matches a regular expression."""

    count = 0

    regex: str

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        pattern = re.compile(self.regex)
        if len(answer) > _LONGEST_TO_MATCH:
            return Finding(in_part="it is too long to be matched")
        for length in range(len(answer), 0, -1):
            for start in range(len(answer) - length + 1):
                if pattern.fullmatch(" ".join(token.text for token in answer[start : start + length])):
                    return Finding(frozenset(range(start, start + length)))
        return Finding()

    def __str__(self) -> str:
        return f"words that match /{self.regex}/"

    def instruction(self) -> str:
        return ""
