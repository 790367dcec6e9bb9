r"""What stands left of an answer's equation: ``y`` and ``f(x)`` only name what is said, ``y'`` and ``v^2`` don't.

A name may be taken off if the formula itself doesn't have it: ``g = m g h`` says something of g. A derivative or
another thing that is computed may be taken off only where the task asks for it; else the answer leaves work to be done,
or is about something else.
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

import sympy as sp

from pytest_webarena.checks.computed.building import build, names_in
from pytest_webarena.checks.computed.derivatives import asked_function, asks_for, derivative_named, question_heads
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Node

__all__ = ["is_label", "near", "only_names", "said_in"]

_DERIVED = re.compile(r"(?:dot|ddot|nabla) .*|d2?.*/d.*|.*'")
_UNDOES = re.compile(
    r"anti-?derivative|primitive|integra|\bsolv|\bsolution|differential\s+equation"
    r"|(?:whose|(?:its|the)\s+(?:first\s+|second\s+)?derivative\s+is|with(?:\s+the)?\s+derivative)",
    re.IGNORECASE,
)
"""Words of tasks that speak of a derivative and ask for what has it."""
_INVERTS = re.compile(r"\binver|\^\s*\{?\s*-\s*1", re.IGNORECASE)
_FRAGMENT = re.compile(
    r"\$+([^$]{1,200})\$+|\\\((.{1,200}?)\\\)|(?<![\w\\$])(\\?[A-Za-z\u0370-\u03ff][^\s,;:?!$]{0,60})"
)
_EQUATION = re.compile(r"(?<![\w\\])(?:\\?[A-Za-z]+|[\u0370-\u03ff])(?:_\w+)?\s?=\s?[^,;:?!=]{1,80}")
_GOES_ON = re.compile(r"\s*(?:[=+*/^<>\u2264\u2265\u2260\u00b7\u00d7\u2212]|-\s*[\w\\(])")
_GOES_BEFORE = re.compile(r"[=+*/^<>\u2264\u2265\u2260\u00b7\u00d7\u2212-]\s*\Z")
"""A sign of arithmetic or of a relation: then a formula is only a part of one, and nobody asks for it."""
_MOST_FRAGMENTS = 60
_MOST_WORDS = 8
_RUNNING = frozenset({"x", "t"})
"""Variables of functions, which no value at a number has."""
_ANY_FUNCTION = ("f", "g", "y")
"""Functions by names that say nothing of what they are."""
_SQUARES = ("sigma", "chi")
"""Of which the square has a name of its own."""
_COMPUTED_INDEX = re.compile(r"_\w+[+-]\w")
"""Of the next or the last term: ``S_{n+1}``."""
_PLACES = 2
_CLOSE = 1e-6


def is_label(left: Node, others: frozenset[str], intent: str) -> bool:
    """Whether it only names what is said, whose names are ``others``; or is what the task asks for.

    >>> x, prime = Node("name", "x"), Node("name", "y'")
    >>> is_label(x, frozenset("y"), ""), is_label(x, frozenset("x"), "")
    (True, False)
    >>> is_label(prime, frozenset("x"), "Solve it for y."), is_label(prime, frozenset("x"), "What is the slope?")
    (False, True)
    """
    if names_in(left) & others and not (_is_applied(left) or _is_long_word(left) or _is_asked_word(left, intent)):
        return False
    if _COMPUTED_INDEX.search(_bare(left).text):
        return said_in(left, intent)
    if _is_asked_word(left, intent):
        return True
    if _is_plain(left, others):
        return _bare(left).text not in asked_function(intent) if _bare(left).op == "name" else True
    if derived := derivative_named(_derived(left)):
        if names_in(_bare(left)) & others:
            return False
        if not intent:  # of the function of a question that is not known
            return derived.function in _ANY_FUNCTION
        return not _UNDOES.search(intent) and asks_for(derived, intent, others)
    if _is_inverse(left) and _INVERTS.search(intent):
        return True
    return said_in(left, intent)


def _bare(left: Node) -> Node:
    return left.parts[0] if _is_applied(left) else left


def _is_applied(left: Node) -> bool:
    """Whether it is a function with its arguments, as ``f(x)``, ``P(2)`` and ``g(x, y)`` are."""
    return left.op == "mul" and left.text == "()" and left.parts[0].op in ("name", "pow")


def _is_plain(left: Node, others: frozenset[str]) -> bool:
    if left.op == "name":
        return not _DERIVED.fullmatch(left.text)
    if left.op == "tuple":
        return all(part.op == "name" and _is_plain(part, others) for part in left.parts)
    if _is_applied(left):
        head, argument = left.parts
        if head.op != "name" or _DERIVED.fullmatch(head.text) or head.text in others:
            return False
        return _is_argument(argument, others)
    if left.op == "pow" and left.parts[1] == Node("num", "2"):
        return left.parts[0].op == "name" and left.parts[0].text.startswith(_SQUARES)
    return _is_word(left)


def _is_argument(argument: Node, others: frozenset[str]) -> bool:
    """Whether functions with these names have this argument: no ``f(0) = sin x``, no ``f(t) = sin x``."""
    parts = argument.parts if argument.op == "tuple" else (argument,)
    numbers = [not names_in(part) for part in parts]
    if not all(number or part.op == "name" for number, part in zip(numbers, parts, strict=True)):
        return False
    return bool(names_in(argument) & others) or not others & _RUNNING


def _is_long_word(left: Node) -> bool:
    letters = _letters(left)
    return len(letters) > 3 and _is_word(left) and bool(re.search("[aeiouy]", letters))


def _is_word(left: Node) -> bool:
    """Whether it is letters side by side that make a word, as ``KE``, ``Area`` and ``rate``."""
    letters = _letters(left)
    if not re.fullmatch(r"[A-Za-z]{2,20}", letters):
        return False
    return letters.isupper() or (len(letters) > 3 and letters[1:].islower() and not letters.startswith("d"))


def _is_asked_word(left: Node, intent: str) -> bool:
    """Whether it is letters side by side that the task asks for as a word: ``pH``."""
    letters = _letters(left)
    return (
        len(letters) > 1
        and letters.isalpha()
        and any(re.search(rf"\b{letters}\b", head) for head in question_heads(intent))
    )


def _letters(tree: Node) -> str:
    if tree.op in ("name", "const"):
        return tree.text if len(tree.text) == 1 else "?"
    if tree.op == "mul" and tree.text == "":
        return "".join(map(_letters, tree.parts))
    return "?"


def _derived(left: Node) -> str:
    """The name of a derivative, or of one that is put on a name."""
    bare = _bare(left)
    if bare.op == "diff":
        inside = bare.parts[0]
        inside = inside.parts[0] if _is_applied(inside) else inside
        return f"d{inside.text}/d{bare.text}" if inside.op == "name" and inside.text != bare.text else ""
    return bare.text if bare.op == "name" and _DERIVED.fullmatch(bare.text) else ""


def _is_inverse(left: Node) -> bool:
    bare = _bare(left)
    inverse = (Node("neg", "", (Node("num", "1"),)), Node("num", "-1"))
    return bare.op == "pow" and bare.parts[0].op == "name" and bare.parts[1] in inverse


def said_in(tree: Node, intent: str) -> bool:
    """Whether a task has just this formula, as one whose value is asked: ``Find v^2``."""
    return bool(intent) and tree in _formulas(intent)


@lru_cache(maxsize=64)
def _formulas(intent: str) -> tuple[Node, ...]:
    from pytest_webarena.checks.computed.grammar import parse

    found = []
    for number, fragment in enumerate(_FRAGMENT.finditer(intent)):
        text = next(filter(None, fragment.groups()), "").rstrip(".")
        if number == _MOST_FRAGMENTS:
            break
        if _GOES_ON.match(intent, fragment.end()) or _GOES_BEFORE.search(intent, 0, fragment.start()):
            continue
        if text.isalpha() and len(text) > 4:
            continue
        try:
            found.append(parse(text).tree)
        except Unreadable:
            continue
    for fragment in itertools.islice(_EQUATION.finditer(intent), _MOST_FRAGMENTS):
        words = fragment[0].replace("$", " ").split()
        for end in range(len(words), max(2, len(words) - _MOST_WORDS), -1):
            try:
                found.append(parse(" ".join(words[:end])).tree)
            except Unreadable:
                continue
    return tuple(found)


def only_names(tree: Node) -> bool:
    """Whether it stands left of ∈ as what is an element: a name, or several."""
    return tree.op == "name" or (tree.op == "tuple" and all(part.op == "name" for part in tree.parts))


def near(whole: Node, value: Node) -> bool:
    """Whether an integral or a series, found by numbers, is as large as what it is said to be: that takes less time.

    An integral that swings for ever can't be found in the time there is, and is taken for the name of its value.
    """
    try:
        body, low, high, said = map(build, (*whole.parts, value))
        run = sp.Symbol(whole.text)
        if (low.is_infinite or high.is_infinite) and body.has(sp.sin, sp.cos):
            return True
        found = (sp.Integral if whole.op == "int" else sp.Sum)(body, (run, low, high))
        if whole.op == "sum" and not high.is_infinite:
            return False
        free = sorted({*found.free_symbols, *said.free_symbols}, key=str)
        for place in range(_PLACES if free else 1):
            at = {name: sp.Rational(7 + 3 * place + 2 * number, 29) for number, name in enumerate(free)}
            large, told = found.subs(at).evalf(10), said.subs(at).evalf(15)
            if not (large.is_Float and told.is_number) or not abs(large - told) <= _CLOSE * abs(told):
                return False
    except (Unreadable, ValueError, TypeError, AttributeError, NotImplementedError, ZeroDivisionError):
        return False
    return True
