"""What an answer calls its value, where that is another thing than the one asked for: ``quotient 9`` for a remainder.

Words that are told apart wherever they are used stand in sets. An answer contradicts its question if the question has
one of a set and the answer only another one. A symbol does so if it usually names another quantity than the one asked
for (``f =`` for a period), unless the question uses it itself.
"""

from __future__ import annotations

import functools
import re

from pytest_webarena.checks.computed.derivatives import question_heads

__all__ = ["another_quantity", "another_symbol"]

_QUANTITIES = """
time period duration long: t T tau P | frequency: f nu n omega | angular: omega Omega w theta alpha | wavelength: lambda
position displacement distance far length high height deep depth: x y z s d r h l L D H R a b c f ell
velocity speed fast: v u c V w omega | acceleration: a g alpha | force tension weight: F f T N W R w
mass heavy: m M mu
energy work heat: E W Q K U T V H q w epsilon | power: P p W | momentum impulse: p P J I L | pressure: p P
temperature hot: T t theta
current: I i J j | voltage: V U E epsilon v phi | resistance resistivity: R r rho | charge: q Q e Z | capacitance: C
amount: n N nu | concentration molarity: c C M n | density: rho d n lambda sigma | torque: tau M T N
"""
"""What is measured, with the letters that it is usually called by."""
_STRONG = frozenset({*"vfmFaTn", "nu", "omega", "lambda"})
"""Letters of which each has one usual meaning."""
_OPPOSED = """
prime | composite
probability chance likelihood | odds
remainder | quotient | divisor
ph | poh | pka | pkb
numerator | denominator
mean average | median | mode | variance
minimum | maximum
area | perimeter circumference | volume | diameter | radius
kinetic | potential
real | imaginary
electron | proton | neutron
edge | vertex vertice | face | diagonal
permutation | combination
sine | cosine | tangent
profit | loss | revenue
asset | liability liabilitie
anode | cathode
"""
_ANY = frozenset({"long", "far", "high", "deep", "fast", "hot", "heavy", "work", "angular", "amount"})
"""Words that have other meanings, too."""
_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")
_HOW = re.compile(r"\bhow\s+(far|long|fast|high|deep|hot|heavy)\b", re.IGNORECASE)


@functools.cache
def _measured() -> tuple[tuple[tuple[str, ...], frozenset[str]], ...]:
    """Words and letters of each quantity."""
    members = (member.partition(":") for member in re.split(r"[|\n]", _QUANTITIES.strip()))
    return tuple((_words(words), frozenset(letters.split())) for words, _, letters in members)


@functools.cache
def _opposed() -> tuple[dict[str, int], ...]:
    """Each set: its words, with the number of what they stand for."""
    lines = _OPPOSED.strip().splitlines()
    return tuple(
        {word: number for number, part in enumerate(line.split("|")) for word in _words(part)} for line in lines
    )


def another_quantity(said: str, question: str) -> tuple[str, str] | None:
    """What an answer speaks of and what the question does instead, if these are not the same.

    >>> another_quantity("the quotient is", "What is the remainder of 7 by 3?")
    ('quotient', 'remainder')
    >>> another_quantity("the remainder, not the quotient, is", "What is the remainder of 7 by 3?")
    """
    given, known = _words(said), _words(question)
    quantities = {word: number for number, (words, _) in enumerate(_measured()) for word in words if word not in _ANY}
    heads = () if _HOW.search(question) else _words(" ".join(question_heads(question)))
    for each, asked in ((quantities, heads), *((each, known) for each in _opposed())):
        there, here = ({each[word]: word for word in words if word in each} for words in (asked, given))
        if there and here and not here.keys() & {each[word] for word in known if word in each}:
            return next(iter(here.values())), next(iter(there.values()))
    return None


def another_symbol(name: str, question: str) -> str:
    """The quantity that is asked for, where a symbol usually is another one; else nothing.

    >>> another_symbol("f", "What is the period of a pendulum?"), another_symbol("T", "What is the period?")
    ('period', '')
    """
    if name not in _STRONG or re.search(rf"(?<![\w\d'])(?<!\d\s)\$?\\?{name}(?![\w'/^])", question):
        return ""
    asked = [*_words(" ".join(question_heads(question))), *(found[1].lower() for found in _HOW.finditer(question))]
    usual = [(word, letters) for word in asked for words, letters in _measured() if word in words]
    return usual[0][0] if usual and not any(name in letters for _, letters in usual) else ""


def _words(text: str) -> tuple[str, ...]:
    found = (word.lower() for word in _WORD.findall(text))
    return tuple(word.removesuffix("s") if len(word) > 4 and not word.endswith("ss") else word for word in found)
