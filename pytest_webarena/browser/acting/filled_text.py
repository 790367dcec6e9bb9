"""Compares a field's content with the text that it was filled with."""

from __future__ import annotations

import re

__all__ = ["is_shown", "keeps_old", "without_spaces"]

_LONG = 1000
"""Number of characters above which editors may only render the visible part of a text."""
_LINES = 200
"""Maximum number of lines that are compared in parts; longer texts are compared as a whole."""
_BLANK = re.compile(r"[\s\u200b\ufeff]+")
_NUMBER = re.compile(r"\s*(\d+)")


def without_spaces(text: str) -> str:
    """Return ``text`` without white space: editors show it as other characters, and split lines anywhere."""
    return _BLANK.sub("", text)


def is_shown(text: str, shown: str, *, numbered: bool) -> bool:
    """Return whether ``shown`` is ``text``, or a part of it if it is long. ``numbered``: it may have line numbers."""
    expected = without_spaces(text)
    for each in _readings(shown, numbered):
        actual = without_spaces(each)
        if actual == expected or (len(expected) > _LONG and bool(actual) and actual in expected):
            return True
    return False


def keeps_old(old: str, text: str, shown: str, *, numbered: bool) -> bool:
    """Return whether ``shown`` is ``text`` together with ``old`` around it, or with whole lines of ``old``."""
    expected = without_spaces(text)
    for before, after in zip(_readings(old, numbered), _readings(shown, numbered), strict=True):
        actual, whole, runs = without_spaces(after), without_spaces(before), _runs(before)
        at = actual.find(expected)
        while at >= 0:
            first, last = actual[:at], actual[at + len(expected) :]
            if first + last and (first + last == whole or {first, last} <= runs | {""}):
                return True
            at = actual.find(expected, at + 1) if expected else -1
    return False


def _readings(shown: str, numbered: bool) -> tuple[str, str]:
    """Return the text as it is, and without the numbers of lines that a page shows in the same element."""
    if not numbered:
        return shown, shown
    lines = [line for line in shown.splitlines() if without_spaces(line)]
    number_lines = [line for line in lines if without_spaces(line).isdecimal()]
    if _counts_up(number_lines):
        return shown, "\n".join(line for line in lines if not without_spaces(line).isdecimal())
    numbers = [match[1] if (match := _NUMBER.match(line)) else "" for line in lines]
    if _counts_up(numbers):
        return shown, "\n".join(_NUMBER.sub("", line, count=1) for line in lines)
    return shown, shown


def _counts_up(numbers: list[str]) -> bool:
    if not numbers or not all(number.strip().isdecimal() for number in numbers):
        return False
    found = [int(number) for number in numbers]
    return found == list(range(found[0], found[0] + len(found)))


def _runs(text: str) -> set[str]:
    """Return the texts of all series of consecutive lines of ``text``."""
    lines = [without_spaces(line) for line in text.splitlines() if without_spaces(line)]
    if len(lines) > _LINES:
        return {"".join(lines)} - {""}
    return {"".join(lines[start:end]) for start in range(len(lines)) for end in range(start + 1, len(lines) + 1)}
