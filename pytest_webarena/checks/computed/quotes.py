"""Whether words that a judge quotes stand in an answer: as they are, and not cut out of a word, a number or a name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_webarena.checks.text import literal

__all__ = ["found_in"]

_SHORTEST = 3
"""Characters that a quote has at least, unless the answer has fewer: less is found in any text."""


def found_in(quote: str, answer: str) -> bool:
    r"""Whether ``quote`` is one passage of ``answer``: only the width of spaces and the shape of quotation marks and
    dashes may differ. Quotation marks around all of it, and the bar of our prompt before it, need not be there.

    >>> found_in('"Let n be  even"', "Let n be even, so"), found_in("n is … even", "n is not even")
    (True, False)
    >>> found_in("2k is even", "n = -2k is even"), found_in("n", "n=1")
    (False, False)
    """
    text = literal(answer)
    return any(
        len(each) >= min(_SHORTEST, len(text)) and any(map(str.isalnum, each)) and _stands(each, text)
        for each in dict.fromkeys(_readings(literal(quote)))
    )


def _readings(quote: str) -> Iterator[str]:
    yield quote
    bare = quote.removeprefix("| ")
    yield bare
    if len(bare) > 2 and bare[0] == bare[-1] and bare[0] in "\"'":
        yield bare[1:-1].strip()
    yield quote.replace("\\\\", "\\")  # as a program would write it


def _stands(quote: str, text: str) -> bool:
    start = text.find(quote)
    while start >= 0:
        end = start + len(quote)
        if not _cut_before(text[max(0, start - 2) : start], quote) and not _cut_after(quote, text[end : end + 2]):
            return True
        start = text.find(quote, start + 1)
    return False


def _cut_before(before: str, quote: str) -> bool:
    """Whether the quote begins within something: a word, a number, or behind the sign of one."""
    first, near, far = quote[0], before[-1:], before[:-1]
    if not first.isalnum():
        return False
    if near == "-":  # -2k, but not 5-2k
        return not (far.isalnum() or far in (")", "]", "}"))
    return _joined(near, first) or (first.isdigit() and near in (".", ",") and far.isdigit())


def _cut_after(quote: str, after: str) -> bool:
    """Whether it ends within something, or before what belongs to a name: a prime, a power, an index."""
    last, near, far = quote[-1], after[:1], after[1:]
    if near in ("^", "_") and near:
        return last.isalnum() or last in ")]}"
    if near == "'":  # don't, f'(x), but not the end of 'a quotation'
        return last.isalpha() and (far.isalnum() or re.search(r"(?<![^\W_])\w\Z", quote) is not None)
    return _joined(last, near) or (last.isdigit() and near in (".", ",") and far.isdigit())


def _joined(one: str, other: str) -> bool:
    """Whether two neighbours are of one word or number. Some scripts put no spaces between words."""
    return one.isalnum() and other.isalnum() and not (_unspaced(one) or _unspaced(other))


def _unspaced(character: str) -> bool:
    return character.isalpha() and character.lower() == character.upper()
