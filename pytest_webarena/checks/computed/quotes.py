"""Whether words that a judge quotes stand in an answer: as they are, and not cut out of a word, a number or a name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_webarena.checks.text import literal

__all__ = ["found_in"]

_SHORT = 2
"""Characters up to which a quote has to stand by itself: less is found within any text."""
_BEGINS_ALONE = re.compile(r"(?:\A|[\s\"'$|]|\*\*|(?<![\w)\]}])[(\[]|\\boxed\{)\Z")
_ENDS_ALONE = re.compile(r"\Z|[\s\"')\]$|]|\*\*|\\[)\]]|\}(?!\w)|[.,;:?!](?:\W|\Z)")
_TURNED = re.compile(
    r"(?:[\u2260\u2262\u2209\u00ac\u221a\u00b7\u00d7\u22c5\u2215]|!=|=[/\\!]=|/=|<>|=\s?-"
    r"|\\neq?|\\not\s?=|\\neg|\\cdot|\\times|\\sqrt\s?\{?) ?\Z"
    r"|(?:\u00ac|\\neg ?)\(\Z|[\w)\]}] ?/ ?\Z|[\w)\]}]\*\Z|(?:\b(?:not|never|cannot)|n't) \Z",
    re.IGNORECASE,
)
"""What makes something else of that before which it stands: a denial, a root, a share or a multiple of it."""
_FURTHER = re.compile(r" ?[/\u00b7\u00d7\u22c5\u2215] ?[\w(\\]|\*[\w(\\]")
_SYMBOL = re.compile(r"(?:(?<![^\W_])\w|\w*\d\w*|[)\]}])\Z")
"""A letter, a number or a bracket: what a prime or a factorial may belong to."""
_BEHIND = 12
"""Characters before a quote, and of its end, that are looked at."""


def found_in(quote: str, answer: str) -> bool:
    r"""Whether ``quote`` is one passage of ``answer``: only the width of spaces and the shape of quotation marks and
    dashes may differ. Quotation marks around all of it, and the bar of our prompt before it, need not be there.

    >>> found_in('"Let n be  even"', "Let n be even, so"), found_in("n is … even", "n is not even")
    (True, False)
    >>> found_in("2k is even", "n = -2k is even"), found_in("n", "n=1")
    (False, False)
    """
    text = literal(answer)
    return any(any(map(str.isalnum, each)) and _stands(each, text) for each in dict.fromkeys(_readings(literal(quote))))


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
        before, after = text[max(0, start - _BEHIND) : start], text[end : end + 4]
        cited = before[-1:] == after[:1] == "'"
        if not _cut_before(before, quote) and (cited or not _cut_after(quote, after)) and _whole(before, quote, after):
            return True
        start = text.find(quote, start + 1)
    return False


def _whole(before: str, quote: str, after: str) -> bool:
    """Whether a short quote stands by itself, between spaces, brackets or the signs of a sentence."""
    return len(quote) > _SHORT or (_BEGINS_ALONE.search(before) is not None and _ENDS_ALONE.match(after) is not None)


def _cut_before(before: str, quote: str) -> bool:
    """Whether the quote begins within something: a word, a number, or behind the sign or the denial of one."""
    first, near, far = quote[0], before[-1:], before[-2:-1]
    if not first.isalnum():
        return False
    if _TURNED.search(before):
        return True
    if near == "-":  # -2k, but not 5-2k
        return not (far.isalnum() or far in (")", "]", "}"))
    return _joined(near, first) or (first.isdigit() and near in (".", ",") and far.isdigit())


def _cut_after(quote: str, after: str) -> bool:
    """Whether it ends within something, or before what belongs to a name: a prime, a power, an index."""
    last, near, far = quote[-1], after[:1], after[1:2]
    if near == "!" and _SYMBOL.search(quote[-_BEHIND:]):
        return True
    if _FURTHER.match(after) and (last.isalnum() or last in ")]}"):
        return True
    if near in ("^", "_") and near:
        return last.isalnum() or last in ")]}"
    if near == "'":  # don't, f'(x), but not the end of 'a quotation'
        return last.isalpha() and (far.isalnum() or _SYMBOL.search(quote[-_BEHIND:]) is not None)
    return _joined(last, near) or (last.isdigit() and near in (".", ",") and far.isdigit())


def _joined(one: str, other: str) -> bool:
    """Whether two neighbours are of one word or number. Some scripts put no spaces between words."""
    return one.isalnum() and other.isalnum() and not (_unspaced(one) or _unspaced(other))


def _unspaced(character: str) -> bool:
    return character.isalpha() and character.lower() == character.upper()
