"""Names, codes, texts, addresses and patterns as wanted values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pytest_webarena.checks.answer_types.accounting import PREPOSITIONS, is_content, is_neutral
from pytest_webarena.checks.answer_types.amounts import contains_digits
from pytest_webarena.checks.answer_types.finding import Finding
from pytest_webarena.checks.answer_types.tokens import Token, fold, tokens
from pytest_webarena.checks.urls import parse_url

__all__ = ["Name", "Names", "Pattern", "Url", "is_code"]


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
        if any(_spaced_otherwise(form, answer) for form in self.forms):
            return self.forms[0]
        if any(words and words <= given for words in wanted) or any(d and contains_digits(answer, d) for d in digits):
            return " ".join(self.forms[:1])
        words = set().union(*wanted)
        new = words - asked or words
        return " ".join([token.text for token in answer if new & set(_words(token.text))][:3])

    def __str__(self) -> str:
        return " or ".join(f'"{form}"' for form in self.forms)

    def instruction(self) -> str:
        return "Answer with the text alone." if self.is_text else "Answer with the name alone."


def _spaced_otherwise(form: str, answer: Sequence[Token]) -> bool:
    """Whether tokens of an answer have the letters and digits of a name, divided in another way: ``AnnLee``."""
    wanted = "".join(_words(form))
    joined = ["".join(_words(token.text)) for token in answer]
    ends = range(1, len(answer) + 1)
    return any(wanted == "".join(joined[start:end]) for end in ends for start in range(max(end - 6, 0), end) if wanted)


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
        used: set[int] = set()
        for finding in sorted(findings, key=lambda each: len(each.stated), reverse=True):
            if not finding.stated - used:
                return Finding(in_part="it gives one name for two")  # Pro in Pro Max
            used |= finding.stated
        places = [min(finding.stated) for finding in findings]
        stated = frozenset().union(*(finding.stated for finding in findings))
        labelled = any(is_content(answer[place]) for place in range(min(stated), max(stated)) if place not in stated)
        between = {answer[place].plain for place in range(min(stated), max(stated)) if place not in stated}
        if not self.ordered and between & PREPOSITIONS:
            return Finding(in_part="it gives each name a role, and the names have no order")
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
class Url:
    """The address of a page."""

    count = 0

    value: str

    def find(self, answer: Sequence[Token], question: str) -> Finding:
        value = fold(self.value).rstrip(".,;:!")  # as a token is split
        wanted, scheme = _place(value), value.partition("://")[0]
        stated: set[int] = set()
        unread = ""
        for index, token in enumerate(answer):
            places = (_place(token.text), _place(f"{scheme}://{token.text}"))
            if token.text == value or (wanted is not None and wanted in places):
                stated.add(index)
            elif sorted(value) == sorted(token.text):
                unread = token.text  # parameters in another order
            elif "/" in token.text and (bare := token.text.rpartition("://")[2].strip("/")) in value:
                whole = "://" in token.text and bare != value.rpartition("://")[2].strip("/")
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
        parts, account = parse_url(address), urlsplit(address).netloc.rpartition("@")[0]
    except ValueError:
        return None
    return parts and (account, parts.scheme, parts.host, parts.port, parts.path, parts.query, parts.fragment)


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
