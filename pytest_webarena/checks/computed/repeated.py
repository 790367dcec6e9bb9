"""What goes against the task of an answer: another quantity, or a direction that the task does not speak of."""

from __future__ import annotations

import re

from pytest_webarena.checks.computed.contrasts import another_quantity

__all__ = ["goes_against"]

_LABEL = re.compile(
    r"\A\W*(?:\\(?:text|mathrm)\s*\{\s*)?(?:(?:so|thus|hence|therefore|the|its|a|an)\b,?\s+)*([A-Za-z-]{3,30}(?:\s+[A-Za-z-]{3,30}){0,2}?)\s*\}?\s*(?:=|:|\bis\b)",
    re.IGNORECASE,
)
_MEANS = re.compile(
    r"(?<![A-Za-z\\])\$?\\?([A-Za-z]|[a-z]{2,7})\$?\s+(?:is|denotes|being)\s+the\s+([a-z][a-z\s]{2,40})"
)
_TURNED = re.compile(
    r"(?<![A-Za-z\\])(?:radially\s+)?(inwards?|leftwards?|downwards?|backwards?|clockwise|(?:to\s+the\s+)left|west(?:wards?)?|south(?:wards?)?)(?![A-Za-z])",
    re.IGNORECASE,
)
"""Directions that usually are the negative ones."""
_DOWN = re.compile(r"\bgravit|\bweigh|\bfall|\bdrop|\bslide|\bincline|\bdown", re.IGNORECASE)
_SIZE = re.compile(r"\b(?:magnitude|size|speed|how\s+(?:large|strong|big|fast))\b", re.IGNORECASE)


def goes_against(answer: str, intent: str, label: str | None = None) -> str:
    """Why an answer is about something else than its task; empty where it is not.

    ``label``: the words before its formula, if it is in a sentence.

    >>> goes_against("frequency = 1/T", "What is the period?")
    "it speaks of 'frequency', the task of 'period'"
    >>> goes_against("m g downward", "Find the force of gravity.")
    ''
    """
    if not intent:
        return ""
    if label is None and (found := _LABEL.match(answer)) is not None:
        label = found[1]
    if label and (apart := another_quantity(label, intent)) is not None:
        return f"it speaks of '{apart[0]}', the task of '{apart[1]}'"
    for meant in _MEANS.finditer(answer):
        named = re.search(rf"\b([a-z]{{3,}})\s+\$?\\?{meant[1]}(?![A-Za-z])", intent)
        if named is not None and another_quantity(meant[2], f"Find the {named[1]}.") is not None:
            return f"it says that {meant[1]} is the {meant[2].strip()}, the task that it is the {named[1]}"
    for turned in _TURNED.finditer(answer):
        word = turned[1].lower().split()[-1]
        stem = word.removesuffix("s")
        stem = stem.removesuffix("ward") if len(stem) > 6 else stem
        if re.search(rf"\b{stem}", intent, re.IGNORECASE) or _SIZE.search(intent):
            continue
        if stem == "down" and _DOWN.search(intent):
            continue
        return f"it gives a direction, which the task does not speak of: {turned[0]}"
    return ""
