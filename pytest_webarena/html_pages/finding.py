"""Finds words and numbers on a page: in passages, in labels of controls, and as sums of columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pytest_webarena.checks.answer_types.amounts import amounts_in
from pytest_webarena.checks.answer_types.tokens import Token, tokens
from pytest_webarena.checks.ground import Ground, Term
from pytest_webarena.html_pages.page_text import PageText

__all__ = ["MASK", "Hit", "Way", "hits", "is_about", "masked", "mentions"]

Way = Literal["text", "control", "sum"]

MASK = "\N{WHITE SQUARE}"
"""What `masked` puts in place of the words."""
_WORD = re.compile(r"[^\W_]+")
_SIGN = re.compile(r"#(?=\d)")
"""What marks the number of an order or an issue."""
_LEAST_SUMMED = 2
"""A column with fewer numbers has no sum that differs from them."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a page has what was looked for."""

    term: Term
    way: Way
    passage: str
    """The text, the label, or the heading of the column."""


def hits(page: PageText, ground: Ground, *, everywhere: bool) -> Iterator[Hit]:
    """Yields where the page has the words and numbers that should be absent; several times if it has them so.

    Without ``everywhere``, only passages count that name what the ground is about.
    """
    relevant = [everywhere or _has(passage, ground.about) for passage in page.passages]
    for passage, counts in zip(page.passages, relevant, strict=True):
        if counts:
            yield from (Hit(term, "text", passage) for term in ground.absent if mentions(passage, term))
    for control in page.controls:
        if everywhere or relevant[min(control.passage, len(relevant) - 1)]:
            label = control.label
            yield from (Hit(term, "control", label) for term in ground.controls if _names(label, term))
    if everywhere and any(term.number is not None for term in ground.absent):
        for column in page.columns:
            total = _total(column)
            name = next((cell for cell in column if cell and _number(cell) is None), "")
            yield from (Hit(term, "sum", name) for term in ground.absent if total is not None and term.number == total)


def is_about(page: PageText, name: str, *, counts: Callable[[str], bool] = lambda heading: True) -> bool:
    """Whether the title or a main heading of a page has the name. ``counts`` selects among those that have it."""
    return any(_has(heading, name) and counts(heading) for heading in page.headings)


def mentions(text: str, term: Term) -> bool:
    """Whether a text has the words, or a number of this value.

    >>> mentions("It weighs 1,204.50 g.", Term("1204.5", Fraction("1204.5"))), mentions("Cabins", Term("cabin"))
    (True, False)
    """
    if term.number is None:
        return _has(text, term.text)
    if not any(map(str.isalnum, text)):
        return False
    return any(amount.value == term.number for amount in amounts_in(_words(_SIGN.sub("", text))))


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
    plain = unicodedata.normalize("NFKD", text)
    return "".join(each for each in plain if not unicodedata.combining(each)).casefold().replace("&", " and ")


def _number(cell: str) -> Fraction | None:
    """Returns the number that a cell consists of, apart from its unit; None if it is something else."""
    words = tokens(cell)
    amounts = list(amounts_in(words))
    if len(amounts) != 1 or len(words) - (amounts[0].end - amounts[0].start) > 1:
        return None
    return amounts[0].value


def _total(column: Sequence[str]) -> Fraction | None:
    numbers = [number for cell in column if (number := _number(cell)) is not None]
    return sum(numbers, Fraction(0)) if len(numbers) >= _LEAST_SUMMED else None
