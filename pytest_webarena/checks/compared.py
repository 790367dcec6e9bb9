"""Which of two is said to be more where a question compares them, and whether one alone is told of."""

from __future__ import annotations

import re

__all__ = ["SAME_WAY", "wrong_way_round"]

SAME_WAY = {
    **dict.fromkeys(("bike", "cycle", "cycles", "cycling"), "bicycle"),
    **dict.fromkeys(("drive", "drives", "driving"), "car"),
    **dict.fromkeys(("walk", "walks", "walking"), "foot"),
}
"""Words for a way of getting somewhere, by the one that is said behind "by" or "on"."""
_THAN = re.compile(r"\bthan\b")
_MORE = (
    r"more|fewer|less|longer|shorter|higher|lower|taller|older|younger|further|farther|bigger|larger|greater|deeper"
    r"|dearer|cheaper|heavier|lighter|faster|slower|quicker|sooner|earlier|later"
)
_COMPARES = re.compile(rf"\b(?:by )?how (?:many|much) (?:[\w-]+ ){{0,3}}?({_MORE})\b")
_COMPARED = re.compile(rf"\W?(?:\s?[^\W\d_]+){{0,4}}?\s(?:{_MORE})\b")
_ANY = re.compile(
    rf"\b(?:{_MORE}|differ\w*|gap|ahead|exceed\w*|beats?|above|below|margin|another|saves?|saving|surplus|additional"
    r"|extra|minus|than|over|versus|vs|so|subtract\w*|remain\w*|left|between)\b|[-\u2212\u2013=+]|->|\u2192"
)
_ALONE = re.compile(
    r"\b(?:has|have|had|is|are|was|were|costs?|asks?|shows?|lists?|counts?)\s(?:only\s|just\s|got\s)?\W?\Z"
)
_INVERTED = re.compile(r"\A(.+?)\s(?:does|do|did|has|have|is|are|was|were)\s(.+)\Z")
_SAVED = re.compile(
    r"\bsaves?\b.*\bby (?:taking|using|going by|buying) (?:the |a |an )?(\w+)"
    r" (?:instead of|rather than) (?:the |a |an )?(\w+)"
)
_SLOWER, _FASTER = r"longer|more|slower|later|dearer", r"faster|quicker|shorter|less|fewer|sooner|cheaper"
_COMMON = frozenset(
    """
    the and for way was are has had how its one does did many much more from with that this than have there which their
    map open
    """.split()  # noqa: SIM905 - a list is no easier to read
)
_PARALLEL = re.compile(r"\b(for|by|on|in|of|with|from) (?:the |a |an )?([\w./-]+)\W*\Z")


def wrong_way_round(asked: str, text: str, start: int, end: int) -> str:
    """Why a number at this place compares two things the other way round, or is of one alone; else empty.

    Both texts, that of the question and that of the answer, are in small letters.

    >>> asked = "how many more stars has wren than heron?"
    >>> [wrong_way_round(asked, text, text.index("4"), text.index("4") + 1) for text in (
    ...     "heron has 4 more.", "wren has 4 stars", "wren has 4 more than heron")]
    ['it says the comparison the other way round', 'it is said of one of them, and the difference is asked for', '']
    """
    subject = re.split(r"[.;:!\n]\s|,\s", text[:start])[-1]
    rest = re.split(r"[.;!\n](?=\s|\Z)", text[end:])[0]
    if saved := _SAVED.search(asked):
        return _not_saved(_way(saved[1]), _way(saved[2]), subject, rest)
    sides = _sides(asked)
    if sides is None:
        return ""
    ours, theirs = sides
    about, said = _words(subject), _THAN.split(rest)
    other = _words(said[1]) if len(said) == 2 else set()
    turned = other & ours or (not other and len(said) == 1 and _COMPARED.match(rest))
    if about & theirs and not about & ours and not other & theirs and turned:
        return "it says the comparison the other way round"
    one = bool(about & theirs) != bool(about & ours)
    if (
        _COMPARES.search(asked)
        and one
        and _ALONE.search(subject)
        and not _ANY.search(_ALONE.sub("", text[:start]) + rest)
    ):
        return "it is said of one of them, and the difference is asked for"
    return ""


def _not_saved(ours: str, theirs: str, subject: str, rest: str) -> str:
    """Whether the one that saves is said to take longer."""
    about, said = _words(subject), re.match(rf"\s?[^\W\d_]*\s({_SLOWER}|{_FASTER})\b", rest)
    if said is None or (ours in about) == (theirs in about):
        return ""
    slower = re.fullmatch(_SLOWER, said[1]) is not None
    return "it says the comparison the other way round" if slower == (ours in about) else ""


def _sides(asked: str) -> tuple[set[str], set[str]] | None:
    """The words that only one side of a comparison has: what is more, and what it is more than."""
    halves = _THAN.split(asked)
    if len(halves) != 2:
        return None
    first, second = re.split(r"[?]", halves[0])[-1], re.split(r"[?]|\.\s", halves[1])[0]
    if inverted := _INVERTED.match(second):  # how many more than A has B
        second, first = inverted[1], inverted[2]
    elif (one := _PARALLEL.search(first.strip())) and (
        two := re.match(rf"\W*{one[1]} (?:the |a |an )?([\w./-]+)\W*\Z", second)
    ):
        first, second = one[2], two[1]  # for a car than for a bicycle
    ours, theirs = _words(first), _words(second)
    return (ours - theirs, theirs - ours) if theirs - ours else None


def _words(text: str) -> set[str]:
    return {_way(word) for word in re.findall(r"[^\W\d_]{3,}", text)} - _COMMON


def _way(word: str) -> str:
    return SAME_WAY.get(word, word)
