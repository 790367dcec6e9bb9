"""Finds what an answer lists together with the wanted value."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence

from pytest_webarena.checks.answer_types.tokens import Token

__all__ = ["ARTICLES", "listed_with_value"]

ARTICLES = frozenset({"a", "an", "the"})
_JOINING = frozenset({"and", "or", "plus"})
"""Words that join the items of a list."""


def listed_with_value(
    answer: Sequence[Token], stated: frozenset[int], names: Collection[str], claims: Callable[[Token], bool]
) -> frozenset[int]:
    """Returns the indices of tokens that an answer lists together with the value, so that it gives them as values too,
    even if the question names them: ``Tea`` in "Tea, Coffee", ``30`` in "30 4".

    Args:
        answer: tokens of the answer.
        stated: indices of the tokens that state the wanted value.
        names: names that the question mentions. Between lines, only these and numbers are values: other words may be
            the heading of a column.
        claims: whether a token is a word that may be a part of a value.
    """
    joined = {
        other
        for index in stated
        for other, later in ((index - 1, index), (index + 1, index + 1))
        if 0 <= other < len(answer) and not answer[later].new_clause and answer[other].text[:1].isdigit()
    }
    items: list[list[int]] = [[]]
    for index, token in enumerate(answer):
        joins = token.plain in _JOINING and index not in stated
        if token.new_item or token.new_line or joins:
            items.append([])
        if not joins and token.plain not in ARTICLES:
            items[-1].append(index)
    for one, other in itertools.pairwise(item for item in items if item):
        in_lines = answer[other[0]].new_line

        def is_value(word: Token, *, in_lines: bool = in_lines) -> bool:
            return word.has_digit or (word.plain in names if in_lines else claims(word))

        for item, ends_with_value in ((one, other[0] in stated), (other, one[-1] in stated)):
            words = [answer[index] for index in item]
            labelled = any(word.new_clause for word in words[1:])
            separate = stated.isdisjoint(item) and not labelled
            if ends_with_value and separate and all(map(is_value, words)):
                joined.update(item)
    return frozenset(joined) - stated
