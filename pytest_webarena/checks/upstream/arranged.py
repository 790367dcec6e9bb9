"""Answers of several parts: orders of places, parts of an address, and which part belongs to which."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_webarena.checks.upstream.folding import abbreviated, fold, folded_reference
from pytest_webarena.checks.upstream.scope import Question
from pytest_webarena.checks.upstream.stance import is_asserted, is_refusal, mark

__all__ = ["is_misattributed", "states_address", "states_order"]

_LATITUDE = re.compile(r"\blat(?:itude)?\b")
_LONGITUDE = re.compile(r"\b(?:lon|long|lng|longitude)\b")
_BY = re.compile(r",? (?:\((?:written )?)?(?:written )?by (?:the )?")


def is_misattributed(references: Sequence[str], answer: str, question: Question) -> bool:
    """Whether parts that belong together are given to others: latitude for longitude, a book to another's author.

    The references stand in order: latitude first, and each thing next to the one who made it.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("Tell me the coordinates of the cafe")
    >>> [is_misattributed(("40.4", "-79.9"), text, asked) for text in ("lat 40.4, lon -79.9", "lon 40.4, lat -79.9")]
    [False, True]
    """
    text = fold(answer)
    wanted = [folded_reference(each) for each in references]
    if len(wanted) == 2 and "range" in question.text:
        return _ends_are_swapped(wanted, text)
    if len(wanted) == 2 and "coordinates" in question.text:
        return _is_swapped(wanted, text)
    if re.search(r"\b(?:list|what are) the (?:[a-z]+ ){0,6}top[- ]?\d", question.text) and _is_ranked_otherwise(
        wanted, answer.lower()
    ):
        return True
    if len(wanted) < 4 or len(wanted) % 2 or len(set(wanted)) < len(wanted):
        return False
    text = text.replace("\n", " ")
    for at, one in enumerate(wanted):
        for match in re.finditer(re.escape(one) + r"['\"]?", text):
            by = _BY.match(text, match.end())
            whose = [k for k, other in enumerate(wanted) if by and text.startswith(other, by.end())]
            if whose and whose[0] // 2 != at // 2:
                return True
    return False


def _is_swapped(wanted: Sequence[str], text: str) -> bool:
    labels = [pattern.search(text) for pattern in (_LATITUDE, _LONGITUDE)]
    places = [text.find(each.lstrip("-")) for each in wanted]
    if None in labels or min(places) < 0:
        return False
    latitude, longitude = (label.start() for label in labels if label)
    return (latitude < longitude) != (places[0] < places[1])


def _is_ranked_otherwise(wanted: Sequence[str], text: str) -> bool:
    """Whether the places that are given to the references, "1. Ann 2. Bob", are not theirs, which stand in order."""
    places = [re.search(rf"(?<![\w.,])(\d)[.)][ \t]+[*_\"'@]*{re.escape(each)}", text) for each in wanted]
    said = [int(place[1]) for place in places if place]
    return len(said) == len(wanted) > 1 and said != list(range(1, len(wanted) + 1))


_LOW = re.compile(r"\b(?:lowest|cheapest|minimum|min|least expensive|low)\b")
_HIGH = re.compile(
    r"\b(?:highest|priciest|maximum|max|(?<!least )most expensive|dearest|most costly|up to|high|average|median|mean)\b"
)


def _ends_are_swapped(wanted: Sequence[str], text: str) -> bool:
    """Whether the lower end of a range is called the highest, or either of them the average."""
    for each, other in ((wanted[0], _HIGH), (wanted[1], re.compile(_LOW.pattern + r"|\b(?:average|median|mean)\b"))):
        own = _LOW if other is _HIGH else _HIGH
        for match in re.finditer(rf"(?<![\d.]){re.escape(each)}(?!\d)", text):
            before = re.split(r"[.;,\n]\s|\d|\)", text[max(0, match.start() - 60) : match.start()])[-1]
            if other.search(before) and not own.search(before):
                return True
    return False


_ORDER = re.compile(r"the order is (?P<names>[^,]+(?:, [^,]+)+)")
_OTHERWISE = re.compile(
    r"\b(?:not|no|never|before|after|instead|or|maybe|perhaps|either|last|preced\w+|previous\w*|revers\w+|wrong|rather|except"
    r"|earlier|later|back|via)\b|n't\b|\?"
)


def states_order(reference: str, answer: str) -> bool:
    """Whether the answer names the places of "The order is A, B, C" one after the other, each once.

    >>> said = "the order is yale university, mit"
    >>> [states_order(said, text) for text in ("Yale, then MIT", "1. MIT\\n2. Yale", "MIT after Yale", "Yale")]
    [True, False, False, False]
    """
    given = _ORDER.fullmatch(reference)
    if given is None:
        return False
    names = given["names"].split(", ")
    firsts = [name.split()[0] for name in names]
    text = fold(answer).replace("\n", ", ")
    if len(set(firsts)) < len(firsts) or is_refusal(text) or _OTHERWISE.search(text):
        return False
    places = [match[0] for match in re.finditer(rf"(?<!\w)(?:{'|'.join(map(re.escape, firsts))})(?!\w)", text)]
    return places == firsts


PARTS = 4
"""So many parts make an address that may stand on lines of its own."""


_COUNTRY = re.compile(r"\b(?:usa|u\.s\.a?\.?|us|united states of america)(?!\w)")
_BETWEEN = r"[,\s(-]+(?:[a-z]{2,5}\)[,\s]+)?(?:(?:[a-z]+ )?[a-z]+:[,\s]*)?(?:[a-z.]+(?: [a-z]+)?[,\s]+)?"
"""Between two parts: commas, spaces, lines, dashes, a short name in brackets, a label, one more part without digits
(a state)."""


def states_address(reference: str, answer: str) -> bool:
    """Whether the answer gives this address of several parts, whatever stands between them: commas, spaces or lines.

    >>> said = "hall, 5, elm street, troy, 12345"
    >>> [states_address(said, text) for text in ("**Hall**\\n5 Elm Street\\nTroy 12345", "Hall, 6 Elm St, Troy 12345")]
    [True, False]
    """
    if reference.count(",") + 1 < PARTS:
        return False
    parts = [r"[,\s]+".join(map(re.escape, part.split())) for part in re.split(r",\s*", abbreviated(reference))]
    text = _COUNTRY.sub("united states", abbreviated(fold(answer)))
    found = re.search(r"(?<!\w)" + _BETWEEN.join(parts) + r"(?!\w)", text)
    return found is not None and is_asserted(mark(text, *found.span()), "")
