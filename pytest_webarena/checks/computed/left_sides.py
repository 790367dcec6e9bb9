"""The left side of an equation that gives a number: a name of what is sought, or a working that can be computed."""

from __future__ import annotations

import re

from pytest_webarena.checks.computed.arithmetic import NoNumber, read_form
from pytest_webarena.checks.computed.contrasts import another_quantity, another_state, another_symbol
from pytest_webarena.checks.computed.framing import sentences
from pytest_webarena.checks.computed.latex import plain_math
from pytest_webarena.checks.computed.names import GREEK_QUANTITIES
from pytest_webarena.checks.computed.signs import GREEK_LETTERS
from pytest_webarena.checks.computed.units import read_unit
from pytest_webarena.text import clip

__all__ = ["check_left_side", "check_subject", "computed", "denies_equality", "measured"]

_UNEQUAL = re.compile(
    r"(?<![\d)!\s])\s?[!\uff01]\s{0,3}[=\uff1d]|\s[!\uff01]\s{0,3}[=\uff1d]|[=\uff1d]\s{0,3}[!\uff01]|[!\uff01][=\uff1d]{2}"
    r"|[=\uff1d]?\s{0,3}[/\u2215\uff0f]\s{0,3}[=\uff1d]|=\s{0,3}\\\s{0,3}=|¬\s{0,3}="
)
"""Signs of "not equal" in letters of a keyboard; ``5!=120`` is a factorial."""
_OTHER_EVENT = re.compile(r"(?:≠|\\neq?\b)[^()=]{0,20}\)\s*\$?\s*[=≈]")
"""``P(X ≠ 2) =``."""
_CLAUSE = re.compile(
    r"[,;:]\s|[.]\s|[⇒→∴]|\b(?:and|so|thus|hence|therefore|then|where|with|is|are|gives|from)\b", re.IGNORECASE
)
_GREEK = f"(?:{GREEK_QUANTITIES})"
_INDEX = re.compile(r"_\s*(?:\([^()]*\)|\w+)|(?<=(?<![A-Za-z\d])[A-Za-z])\d+")
"""``V_2``, ``V2``."""
_OF = re.compile(r"(?<![A-Za-z])(?:[A-Za-z\u0370-\u03ff]'*|" + _GREEK + r")\s?\([^()]*\)")
"""``f(2)``."""
_SYMBOL = r"(?:(?<![A-Za-z])(?!pi)(?:[A-Za-z]{1,2}|" + _GREEK + r")(?![A-Za-z])|[\u0370-\u03ffµ])"
_TERM = re.compile(rf"(?:{_SYMBOL}|[-+*/^!()'\s\d.])+$")
_EVENT = re.compile(r"\b(?:Pr?|[A-Za-z])\s?\([^()]*[=≈≠<>≤≥][^()]*\)")
"""``P(X=2)``."""
_COVERED = re.compile(r"\b(?:int|oint|iint|sum|prod|lim|binom)\b|[∫∑∏]")
_WORKED_ON = re.compile(r"[!^]|\d|^\s*-")
_BESIDE_UNIT = re.compile(r"\d+(?:\.\d+)?\s?/?\s?[A-Za-z]")


_CALLED = re.compile(
    rf"(?:^|[,;:]\s|\b(?:so|thus|hence|therefore|then|is|are|that)\b:?)\s*({_GREEK}|[A-Za-z\u0370-\u03ff])'*(?:_\w+|_?\([^()]*\)|\d)?\s*[=≈:](?![^=≈]*[=≈]\s*[A-Za-z]*\s*$)"
)
"""A single symbol that the number is said to be."""
_CONCENTRATION = re.compile(r"\W*\[\s*[A-Z][\w\s^+()-]*\]\s*[=≈:]")


def denies_equality(text: str, question: str = "") -> bool:
    """Whether a sign says that the sides are not equal, ``=/=``, or stands in an event that nobody asked for."""
    if _OTHER_EVENT.search(text) and not re.search(r"\bnot\b|\bother\b|\bdifferent|n't\b|≠|\\ne|!=", question):
        return True
    return _UNEQUAL.search(text) is not None


def computed(text: str) -> bool:
    """Whether a left side is a working without symbols: ``sqrt(13)``; ``e`` and ``pi(20)`` are rather names."""
    if re.fullmatch(r"\s*(?:e|pi\s*\(\d+\))\s*", text):
        return False
    form = read_form(text)
    return form is not None and not text[form[1] :].strip()


def check_left_side(plain: str, question: str) -> None:
    """`NoNumber` if what the last equation gives a value of is no name: ``2A =``, ``A^2 =``, ``1/A =``, ``n! =``.

    Unless the question has that very formula.
    """
    clause = next((part for part in reversed(_CLAUSE.split(_EVENT.sub("f", plain))) if re.search("[=≈]", part)), "")
    sides = [side.strip() for side in re.split("[=≈]", clause)]
    if len(sides) < 2 or _COVERED.search(sides[0]) or computed(sides[0]):
        return
    bare = _OF.sub("f", _INDEX.sub("", sides[0]))
    found = _TERM.search(bare[-80:])
    if found is None or not re.search(_SYMBOL, found[0]) or _WORKED_ON.search(found[0]) is None:
        return
    if _BESIDE_UNIT.fullmatch(bare) and re.search("[A-Za-z]", sides[-1].replace("sqrt", "").replace("pi", "")):
        return
    if not _BESIDE_UNIT.fullmatch(bare) and measured(bare):
        return
    asked = re.sub(r"[\s()]", "", plain_math(question))
    if re.sub(r"[\s()]", "", sides[0]) not in asked:
        raise NoNumber(f"it gives the value of a formula, not of a name: {clip(found[0].strip(), 30)}")


def check_subject(plain: str, question: str) -> None:
    """`NoNumber` if the answer calls its value another thing than the one asked for: ``quotient 9``, ``f =``."""
    said = sentences(plain)[-1] if plain.strip() else ""
    if (apart := another_quantity(said, question)) is not None:
        raise NoNumber(f"it speaks of '{apart[0]}', the question of '{apart[1]}'")
    if _CONCENTRATION.match(said) and not re.search(r"\bconcentrat|\bmolar|\[", question, re.IGNORECASE):
        raise NoNumber("it gives a concentration")
    if why := another_state(said, question):
        raise NoNumber(why)
    for found in _CALLED.finditer(said):
        name = GREEK_LETTERS.get(found[1], found[1])
        if usual := another_symbol(name, question):
            raise NoNumber(f"it gives the value of {found[1]}, which is no usual name for the {usual} asked for")


def measured(text: str) -> bool:
    """Whether it is a number with its unit, or a working with such: ``45 m / 9 s``."""
    at = 0
    for _ in range(12):
        form = read_form(text, at)
        if form is None:
            return False
        unit = read_unit(text, form[1])
        at = form[1] if unit is None else unit[1]
        if not (joined := re.compile(r"\s*[-+*/]\s*|\s*$").match(text, at)):
            return False
        if (at := joined.end()) == len(text):
            return True
    return False
