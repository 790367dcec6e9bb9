"""Finds words and numbers on a page: in passages, in labels of controls, and as sums of columns."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pytest_webarena.checks.answer_types.amounts import amounts_in, other_readings
from pytest_webarena.checks.answer_types.tokens import Token, tokens
from pytest_webarena.checks.ground import Ground, Term
from pytest_webarena.checks.numbers import numbers_in
from pytest_webarena.html_pages.page_text import PageText
from pytest_webarena.html_pages.page_tree import visible
from pytest_webarena.html_pages.relations import belongs

__all__ = ["MASK", "Hit", "Way", "hits", "is_about", "masked", "mentions"]

Way = Literal["text", "control", "sum"]

MASK = "\N{WHITE SQUARE}"
"""What `masked` puts in place of the words."""
_WORD = re.compile(r"[^\W_]+")
_SIGN = re.compile(r"#(?=\d)")
"""What marks the number of an order or an issue."""
_MOST_UNITS = 1
"""Maximum number of words next to the number of a cell."""
_LEAST_SUMMED = 2
"""A column with fewer numbers has no sum that differs from them."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a page has what was looked for."""

    term: Term
    way: Way
    passage: str
    """The text, the label, or the heading of the column."""


def hits(
    page: PageText, ground: Ground, *, everywhere: bool, counts: Callable[[str], bool] = lambda text: True
) -> Iterator[Hit]:
    """Yields where the page has the words and numbers that should be absent; several times if it has them so.

    Without ``everywhere``, only passages count that belong to one that names what the ground is about. ``counts``
    selects among those.
    """
    subjects: list[int] | None = None

    def is_relevant(place: int) -> bool:
        nonlocal subjects
        if everywhere:
            return True
        if subjects is None:
            named = ((at, text) for at, text in enumerate(page.passages) if _has(text, ground.about))
            subjects = [at for at, text in named if counts(text)]
        return any(_is_about(page, subject, place, ground.about) for subject in subjects)

    for place, passage in enumerate(page.passages):
        for term in ground.absent:
            if mentions(passage, term) and is_relevant(place):
                yield Hit(term, "text", passage)
    for control in page.controls:
        label = control.label
        for term in ground.controls:
            if _names(label, term) and is_relevant(min(control.passage, len(page.passages) - 1)):
                yield Hit(term, "control", label)
    if everywhere and any(term.number is not None for term in ground.absent):
        for column in page.columns:
            total = _total(column)
            name = next((cell for cell in column if cell and _number(cell) is None), "")
            yield from (Hit(term, "sum", name) for term in ground.absent if total is not None and term.number == total)


def _is_about(page: PageText, subject: int, place: int, about: str) -> bool:
    text = page.passages[subject]
    first = _has(text.partition("\n")[0], about)
    return belongs(page.structure, page.places, subject, place, text=text, first=first)


def is_about(page: PageText, name: str, *, counts: Callable[[str], bool] = lambda heading: True) -> bool:
    """Whether the title or a main heading of a page has the name. ``counts`` selects among those that have it."""
    return any(_has(heading, name) and counts(heading) for heading in page.headings)


def mentions(text: str, term: Term) -> bool:
    """Whether a text has the words, or a number of this value.

    >>> mentions("It weighs 1,204.50 g.", Term("1204.5", Fraction("1204.5"))), mentions("Cabins", Term("cabin"))
    (True, False)
    >>> mentions("$1.25M", Term("1250000", Fraction(1250000))), mentions("45 %", Term("0.45", Fraction("0.45")))
    (True, True)
    """
    if term.number is None:
        return _has(text, term.text)
    return not term.values.isdisjoint(_values(_SIGN.sub("", text)))


@functools.lru_cache(maxsize=4096)
def _values(text: str) -> frozenset[Fraction]:
    """Returns the numbers that a text may state, by each reading."""
    if not any(map(str.isalnum, text)):
        return frozenset()
    words = _words(text)
    read = {amount.value for amount in amounts_in(words)} | other_readings(words)
    return frozenset(read.union(*(number.values for line in text.split("\n") for number in numbers_in(line))))


def _names(label: str, term: Term) -> bool:
    """Whether a label is the word, apart from numbers, or contains the words: "Merge requests" is not "Merge"."""
    single = len(tokens(term.text)) == 1
    return mentions(label, term) and (not single or set(masked(label, term.text)) <= {MASK, "#"})


def masked(text: str, words: str) -> tuple[str, ...]:
    """Returns the words of a text in small letters, without a plural's s, with a mask for the given ones and for each
    number, so that two answers to different searches can be compared."""
    text_tokens, wanted = _words(text), tokens(words)
    found: list[str] = []
    index = 0
    while index < len(text_tokens):
        if _begins(text_tokens[index:], wanted):
            found.append(MASK)
            index += len(wanted)
        else:
            token = text_tokens[index]
            found.append("#" if token.has_digit else token.plain.removesuffix("s"))
            index += 1
    return tuple(found)


def _has(text: str, words: str) -> bool:
    folded = _folded(text)
    if not all(word in folded for word in _WORD.findall(_folded(words))):
        return False  # splitting into tokens takes long
    wanted = tokens(words)
    found = _words(text)
    return any(_begins(found[start:], wanted) for start in range(len(found) - len(wanted) + 1))


def _words(text: str) -> list[Token]:
    """Returns the tokens of a text. Line by line, because some words at the start of an answer's line (``Answer:``)
    have a meaning for all of it."""
    return [token for line in text.split("\n") for token in tokens(line)]


def _begins(found: Sequence[Token], wanted: Sequence[Token]) -> bool:
    """Whether the tokens begin with the wanted ones, in one clause where these are."""
    return len(found) >= len(wanted) and all(
        mine.plain.lstrip("#") == theirs.plain.lstrip("#") and (number == 0 or theirs.new_clause or not mine.new_clause)
        for number, (mine, theirs) in enumerate(zip(found, wanted, strict=False))
    )


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", visible(text))
    return "".join(each for each in plain if not unicodedata.combining(each)).casefold().replace("&", " and ")


def _number(cell: str) -> Fraction | None:
    """Returns the number that a cell consists of, apart from its unit; None if it is something else."""
    numbers = numbers_in(cell)
    rest = len(cell.split()) - len(numbers[0].text.split()) if len(numbers) == 1 else _MOST_UNITS + 1
    return numbers[0].value if rest <= _MOST_UNITS else None


def _total(column: Sequence[str]) -> Fraction | None:
    numbers = [number for cell in column if (number := _number(cell)) is not None]
    return sum(numbers, Fraction(0)) if len(numbers) >= _LEAST_SUMMED else None
