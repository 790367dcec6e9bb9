r"""What an answer takes from its task beside a formula, and what goes against it.

``1 + 2 + \dots + n =`` is the task's own left side, ``(small-angle approximation)`` its own words; ``radially inward``
and ``frequency =`` say something else than was asked, unless the task speaks of it, too.
"""

from __future__ import annotations

import re

from pytest_webarena.checks.computed.contrasts import another_quantity
from pytest_webarena.checks.computed.harmless import is_known, word_set, words_in, words_of_question

__all__ = ["goes_against", "without_repeated"]

_DOTS = re.compile(r"\\(?:[lc]?dots[bcmio]?)\b|\.{3}|\u2026|\u22ef")
_SUM = re.compile(r"\A([\s$(\[\\]*)([^=]{3,80}?)=")
_PRIMED = re.compile(r"\A(\W{0,4})\(([^()=]{1,60}(?:\([^()=]{1,40}\)[^()=]{0,40})?)\)\s*(?:'|\^\{?\\prime\}?)\s*=")
_DERIVES = re.compile(r"derivative|differentiat|slope", re.IGNORECASE)
_ELEMENT = re.compile(r"\A(\W{0,2})([A-Za-z])\s+in\s+(?=[(\[])")
_BRACKETED = re.compile(r"\s*\(\s*([A-Za-z][A-Za-z\s,'\u2019-]{3,80})\)[\s.$]*\Z")
_BESIDES = re.compile(
    r"\s*[,;]\s*\(?(?:(?:directed|pointing|acting)\s+)?((?:perpendicular|parallel|orthogonal|normal)\s+to\s+)[A-Za-z\s,$\\]{1,60}?\)?[\s.]*\Z"
)
_NAMED_MODELS = word_set("approximation limit regime assumption valid holds")
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


def without_repeated(answer: str, intent: str) -> str:
    r"""An answer with a left side and remarks of the task's own taken off or in a form that is read.

    >>> without_repeated("1 + 2 + ... + n = n(n+1)/2", "Evaluate 1 + 2 + \\dots + n.")
    ' n(n+1)/2'
    >>> without_repeated("x in (-1, 2)", "Solve it.")
    'x \\in (-1, 2)'
    """
    answer = _ELEMENT.sub(r"\1\2 \\in ", answer)
    if not intent:
        return answer
    left = _SUM.match(answer)
    if left is not None and _DOTS.search(left[2]) and _bare(left[2]) in _bare(intent):
        answer = left[1] + answer[left.end() :]
    if (primed := _PRIMED.match(answer)) is not None and _DERIVES.search(intent):
        names = {*re.findall(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])", primed[2])} - {"e"}
        if len(names) == 1:
            answer = f"{primed[1]}\\frac{{d}}{{d{names.pop()}}}({primed[2]}) ={answer[primed.end() :]}"
    asked = words_of_question(intent)
    if (said := _BRACKETED.search(answer)) is not None and said.start():
        words = words_in(said[1])
        if all(len(word) > 1 and (word in _NAMED_MODELS or is_known(word, asked)) for word in words):
            answer = _cut(answer, said.start())
    said = _BESIDES.search(answer)
    if said is not None and " ".join(said[1].lower().split()) in " ".join(intent.lower().split()):
        answer = _cut(answer, said.start())
    return answer


def goes_against(answer: str, intent: str) -> str:
    """Why an answer is about something else than its task; empty where it is not.

    >>> goes_against("frequency = 1/T", "What is the period?")
    "it speaks of 'frequency', the task of 'period'"
    >>> goes_against("m g downward", "Find the force of gravity.")
    ''
    """
    if not intent:
        return ""
    if (label := _LABEL.match(answer)) is not None and (apart := another_quantity(label[1], intent)) is not None:
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


def _bare(text: str) -> str:
    """A formula without spaces and signs around it."""
    return re.sub(r"[\s${}()]|\\[,;:! ()\[\]]|\\cdot|\*|\u00b7", "", _DOTS.sub("\u2026", text))


def _cut(text: str, end: int) -> str:
    kept = text[:end].rstrip()
    return f"{kept}$" if kept.count("$") % 2 else kept
