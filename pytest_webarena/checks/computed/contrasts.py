"""What an answer calls its value, where that is another thing than the one asked for: ``quotient 9`` for a remainder.

Words that are told apart wherever they are used stand in sets. An answer contradicts its question if the question has
one of a set and the answer only another one. A symbol does so if it usually names another quantity than the one asked
for (``f =`` for a period), unless the question uses it itself.
"""

from __future__ import annotations

import functools
import re

from pytest_webarena.checks.answer_types.accounting import other_modifier, otherwise_qualified
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.computed.derivatives import question_heads
from pytest_webarena.checks.computed.harmless import STATING

__all__ = ["another_quantity", "another_state", "another_symbol", "contrast"]

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
parallel | perpendicular
real | imaginary
electron | proton | neutron
edge | vertex vertice | face | diagonal
permutation | combination
sine | cosine | tangent
profit | loss | revenue
asset | liability liabilitie
anode | cathode
"""
_PRODUCTS = """
ma mg kx qE qvB: force tension weight | mv Ft: momentum impulse | mgh Fd qV mc^2: mass energy work heat | IR: voltage
IV: power
"""
"""Products that are quantities of their own, as every textbook writes them."""
_STATES = (
    (re.compile(r"\bground[\s-]+state|\blowest\s+(?:energy\s+)?(?:level|state)", re.IGNORECASE), (0, 1)),
    (re.compile(r"\bfirst\s+excited", re.IGNORECASE), (1, 2)),
    (re.compile(r"\bsecond\s+excited", re.IGNORECASE), (2, 3)),
    (re.compile(r"\bthird\s+excited", re.IGNORECASE), (3, 4)),
)
"""States by their names, with the indices that they have, counted from 0 or from 1."""
_AT_ONCE = re.compile(r"\b(?:ground[\s-]+state|excited\s+state|initial|final|total)\b", re.IGNORECASE)
_CHANGING = re.compile(
    r"\\?Delta|[\u0394\u2206]|\b(?:chang|differ|increas|decreas|ris|fall|drop|gain|los[est]|transition|gap|shift|displac"
    r"|between|releas|absorb|emit|photon|requir|need|work|heat|by\s+how)",
    re.IGNORECASE,
)
_INDEXED = re.compile(r"(?<![A-Za-z\\])([A-Za-z])_?\s?[({]?(\d{1,2})[)}]?\s*[=\u2248]")
_DIFFERENCE = re.compile(r"(?:\\?Delta|[\u0394\u2206])\s?[A-Za-z](?:_\w+)?\s*[=\u2248]")
_MADE_OF = re.compile(r"(?:^|[,;:]\s)\s*([A-Za-z]{2,3}(?:\^2)?)\s*[=\u2248][^=\u2248]*$")
_ANY = frozenset({"long", "far", "high", "deep", "fast", "hot", "heavy", "work", "angular", "amount"})
"""Words that have other meanings, too."""
_FORMULA = re.compile(r"(?<![\w/*+-])[A-Za-z]\w?(?:[-+*/][A-Za-z]\w?)+(?![\w/*+-])")
"""Symbols that are joined by signs: ``a/b``."""
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


def contrast(said: str, question: str) -> str:
    """Returns why an answer that repeats words or symbols of the question says something else with them; empty if it
    does not.

    >>> contrast("the initial speed is 20", "Its initial speed is 3. What is its final speed?")
    "it speaks of 'initial speed', the question of 'final speed'"
    >>> contrast("b/a = 2", "What is a/b?"), contrast("P(red) =", "How likely is it not red?")
    ("it gives 'b/a', the question has 'a/b'", "it says 'P red', and the question says something else of it")
    """
    given = tokens(said)
    if qualified := otherwise_qualified(given, question):
        return f"it says '{qualified}', and the question says something else of it"
    for head in question_heads(question):
        if other := other_modifier(given, tokens(head), ignored=STATING):
            return f"it speaks of '{other[0]}', the question of '{other[1]}'"
    for formula in _FORMULA.findall(question):
        for other in _FORMULA.findall(said):
            if other != formula and sorted(other) == sorted(formula) and other not in question:
                return f"it gives '{other}', the question has '{formula}'"
    return ""


def another_symbol(name: str, question: str) -> str:
    """The quantity that is asked for, where a symbol usually is another one; else nothing.

    >>> another_symbol("f", "What is the period of a pendulum?"), another_symbol("T", "What is the period?")
    ('period', '')
    """
    if name not in _STRONG or re.search(rf"(?<![\w\d'])(?<!\d\s)\$?\\?{name}(?![\w'/^])", question):
        return ""
    asked = [*_words(" ".join(question_heads(question))), *(found[1].lower() for found in _HOW.finditer(question))]
    asked = ["angular"] if "angular" in asked else asked  # an angular frequency is none
    usual = [(word, letters) for word in asked for words, letters in _measured() if word in words]
    return usual[0][0] if usual and not any(name in letters for _, letters in usual) else ""


@functools.cache
def _products() -> dict[str, tuple[str, ...]]:
    """The words for each product."""
    members = (member.partition(":") for member in re.split(r"[|\n]", _PRODUCTS.strip()))
    return {name: _words(words) for names, _, words in members for name in names.split()}


def another_state(said: str, question: str) -> str:
    """Why what stands left of ``=`` is not what is asked for: another state, a difference, or a product with it.

    >>> another_state("E_2 = 4", "Find the ground state energy.")
    'it gives E_2, which is not the state asked for'
    >>> another_state("ma = 4.9", "What is its acceleration?"), another_state("E_2 = 4", "Find E_2.")
    ('it gives ma, which is another quantity than the one asked for', '')
    """
    asked = " ".join(question_heads(question))
    states = [counted for state, counted in _STATES if state.search(question)]
    for name, index in _INDEXED.findall(said):
        known = re.search(rf"(?<![A-Za-z])[A-Za-z]_?\s?[({{=]?\s?{index}(?!\d)", question)
        if not known and len(states) == 1 and int(index) not in states[0]:
            return f"it gives {name}_{index}, which is not the state asked for"
    if _DIFFERENCE.search(said) and _AT_ONCE.search(asked) and not _CHANGING.search(question):
        return "it gives a difference, which is not asked for"
    made = _MADE_OF.search(said)
    meant = _products().get(made[1]) if made else None
    if made and meant and made[1] not in re.sub(r"[\s$]", "", question):
        usual = [word for word in _words(asked) for words, _ in _measured() if word in words]
        if usual and not any(word in meant for word in usual):
            return f"it gives {made[1]}, which is another quantity than the one asked for"
    return ""


def _words(text: str) -> tuple[str, ...]:
    found = (word.lower() for word in _WORD.findall(text))
    return tuple(word.removesuffix("s") if len(word) > 4 and not word.endswith("ss") else word for word in found)
