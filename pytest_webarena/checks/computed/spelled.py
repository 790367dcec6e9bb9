"""Numbers in English words: ``minus two``, ``one hundred and twenty``, ``two thirds``, ``three and a half``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

__all__ = ["SCALES", "spelled_numbers"]

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: number for number, word in enumerate(_UNITS)} | {word: 20 + 10 * at for at, word in enumerate(_TENS)}
SCALES = {
    "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "quadrillion": 15, "quintillion": 18, "sextillion": 21,
    "septillion": 24,
}  # fmt: skip
"""Powers of ten."""
_PARTS = {
    "half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10, "twelfth": 12, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip
_PART = "|".join(sorted({*_PARTS, *(f"{word}s" for word in _PARTS)}, key=len, reverse=True))
_NUMBER = "|".join(sorted((*_SMALL, "hundred", *SCALES), key=len, reverse=True))
_PHRASE = re.compile(
    rf"(?P<sign>\bminus\s+|\bnegative\s+|(?<![\w-])-\s?)?\b(?P<whole>(?:an?\s+(?=hundred|dozen|{'|'.join(SCALES)}))?"
    rf"(?:{_NUMBER}|dozen)\b(?:(?:[\s-]+|\s+and\s+)(?:{_NUMBER})\b)*|an?(?=[\s-]+(?:{_PART})\b))"
    rf"(?:[\s-]+(?P<part>{_PART})\b(?!\s+(?:order|power|root)))?"
    rf"(?:\s+and\s+(?P<over>an?|one|two|three)[\s-]+(?P<further>{_PART})\b)?"
    rf"(?:\s+point(?P<digits>(?:\s+(?:{'|'.join(_UNITS[:10])})\b)+))?(?:\s+(?P<percent>per\s?cent)\b)?",
    re.IGNORECASE,
)


def spelled_numbers(text: str) -> Iterator[tuple[Fraction, bool, int, int]]:
    """Each number in words with whether it is a percentage, where it begins and where it ends.

    >>> [str(value) for value, *_ in spelled_numbers("minus two or one hundred and twenty or two thirds")]
    ['-2', '120', '2/3']
    """
    for found in _PHRASE.finditer(text):
        value = _whole(found["whole"].lower())
        if value is None:
            continue
        if found["part"]:
            value /= _part(found["part"])
        if found["over"]:
            value += Fraction(_SMALL.get(found["over"].lower(), 1), _part(found["further"]))
        if found["digits"]:
            digits = "".join(str(_SMALL[word]) for word in found["digits"].lower().split())
            value += Fraction(int(digits), 10 ** len(digits))
        yield -value if found["sign"] else value, found["percent"] is not None, found.start(), found.end()


def _part(word: str) -> int:
    word = word.lower()
    return _PARTS.get(word) or _PARTS[word.removesuffix("s")]


def _whole(words: str) -> Fraction | None:
    """The value of words for a whole number; None when they don't make one: ``two three``."""
    total = group = 0
    ready = 10**30  # how large the next word may be: each is smaller than what came before it
    for word in re.split(r"[\s-]+", words):
        if word == "and":
            continue
        if word in ("a", "an"):
            group = 1
        elif word == "dozen":
            group, ready = (group or 1) * 12, 0
        elif word == "hundred":
            if not 0 < (group or 1) < 100 or ready <= 0:
                return None
            group, ready = (group or 1) * 100, 100
        elif word in SCALES:
            total, group, ready = total + (group or 1) * 10 ** SCALES[word], 0, 1000
        else:
            number = _SMALL[word]
            if number >= ready:
                return None
            group, ready = group + number, 10 if number >= 20 else 1
    return Fraction(total + group)
