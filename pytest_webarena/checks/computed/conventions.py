"""What an answer may call or write otherwise without saying anything else: rounded values behind exact ones, ``I`` for
the imaginary unit, ``A`` for the constant ``C``, ``dy/dx`` for ``y'``, ``2i + 3j`` for a vector.

Trees in, trees out. What a name may stand for besides itself is tried only where the reference has no such name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import mpmath
import sympy as sp

from pytest_webarena.checks.computed.building import build, names_in
from pytest_webarena.checks.computed.sampling import Undefined, Unknown, Value
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Node

__all__ = ["components", "other_readings", "settled", "unzipped", "with_names"]

_DECIMAL = re.compile(r"\d*\.(\d+)")
_DERIVATIVES = (
    (re.compile(r"([A-Za-z]\w*)'"), 1),
    (re.compile(r"([A-Za-z]\w*)''"), 2),
    (re.compile(r"dot (\w+)"), 1),
    (re.compile(r"ddot (\w+)"), 2),
    (re.compile(r"d([A-Za-z])/d[A-Za-z]"), 1),
    (re.compile(r"d2([A-Za-z])/d[A-Za-z]2"), 2),
)
_FREE = re.compile(r"[CcKkABD](?:_\w+)?|const(?:ant)?")
"""Names that answers give to constants that nobody asks for."""
_ARBITRARY = re.compile(r"C(?:_\w+)?|c_\w+|const(?:ant)?")
"""Names of such constants in references."""
_WHOLE = re.compile(
    r"([a-zA-Z])\$?\s*(?:(?:\\in\b|∈|in)\s*\$?\s*(?:\\mathbb\s*\{?\s*[ZN]|[\u2124\u2115])|is\s+(?:an?|any)\s+integer)"
)
_COUNTERS = frozenset("nkmlpqjN")
MOST_CONSTANTS = 3
_UNITS = (("hat i", "hat j", "hat k"), ("hat x", "hat y", "hat z"), ("i", "j", "k"))
_ORDERS = (
    *map(tuple, ("xy", "xyz", "ab", "abc", "uv", "uvw", "pq", "rs", "mn", "st", "AB", "ABC", "XY")),
    ("r", "theta"), ("rho", "theta", "phi"), ("r", "theta", "phi"), ("r", "theta", "z"), ("alpha", "beta"),
    ("lambda", "mu"), ("mu", "sigma"),
)  # fmt: skip
"""Names in the order in which points have them."""


def with_names(tree: Node, names: Mapping[str, str]) -> Node:
    """With other names."""
    text = names.get(tree.text, tree.text) if tree.op in ("name", "diff", "sum", "prod", "int", "lim") else tree.text
    return Node(tree.op, text, tuple(with_names(part, names) for part in tree.parts))


def settled(tree: Node) -> Node:
    """With ≈ as =, and without rounded values that stand behind exact ones they are close to."""
    if tree.op == "list":
        return Node(tree.op, tree.text, tuple(map(settled, tree.parts)))
    if tree.op != "relation" or not {"~", "="}.issuperset(tree.text.split()):
        return tree
    parts = [tree.parts[0]]
    for part in tree.parts[1:]:
        if not _rounds(part, parts[-1]):
            parts.append(part)
    return parts[0] if len(parts) == 1 else Node("relation", " ".join("=" for _ in parts[1:]), tuple(parts))


def _rounds(rounded: Node, exact: Node) -> bool:
    """Whether a decimal says no more than a number before it that is none."""
    bare = rounded.parts[0] if rounded.op == "neg" else rounded
    found = _DECIMAL.fullmatch(bare.text) if bare.op == "num" else None
    if not found or exact.op in ("num", "name") or len(bare.text.replace(".", "").lstrip("0")) < 2:
        return False
    if names_in(exact) or exact.op in ("relation", "list", "set", "tuple", "matrix"):
        return False
    try:
        values = [Value((build(each),), {}, 40, imaginary=False).total for each in (exact, rounded)]
    except (Unreadable, Undefined, Unknown):
        return False
    with mpmath.mp.workdps(40):
        unit, less = mpmath.mpf(10) ** -len(found[1]), abs(values[0]) - abs(values[1])
        return bool(abs(values[0] - values[1]) <= unit and -unit * 0.5001 <= less)  # rounded, or cut off


def other_readings(wanted: Node, given: Node, text: str) -> Iterator[Node]:
    """What else an answer may mean, the likeliest first. ``text`` is the answer."""
    there = names_in(wanted)
    meant = _meant(given, wanted, there, plain="\\" not in text)
    if meant != given:
        yield meant
    given = meant
    here = names_in(given)
    if found := _derivatives(there, here):
        given = with_names(given, found)
        yield given
    whole = set(_WHOLE.findall(text)) & (here - there)
    lacking = sorted((there - here) & _COUNTERS)
    if len(whole) == 1 and len(lacking) == 1:
        yield with_names(given, {whole.pop(): lacking[0]})
    yield from _constants(wanted, given)


def _changed(tree: Node, change: Callable[[Node], Node]) -> Node:
    return change(Node(tree.op, tree.text, tuple(_changed(part, change) for part in tree.parts)))


def _holds(tree: Node, node: Node) -> bool:
    return tree == node or any(_holds(part, node) for part in tree.parts)


def _meant(given: Node, wanted: Node, there: frozenset[str], *, plain: bool) -> Node:
    """With letters as the numbers and functions that programs call so."""
    imaginary = _holds(wanted, Node("const", "i"))
    letters = {"Pi": "pi"}
    if imaginary:
        letters |= {"I": "i", "j": "i"}
    if plain:
        letters |= {"E": "e", "I": "i"}
    letters = {name: meant for name, meant in letters.items() if name not in there}

    def change(node: Node) -> Node:
        if node.op == "name" and node.text in letters:
            return Node("const", letters[node.text])
        letter = node.parts[0] if node.op == "mul" and node.text == "()" else node
        if letter is not node and letter.op == "name" and letter.text in {"gamma", "zeta"} - there:
            return Node("call", letter.text, (node.parts[1],))
        return node

    return _changed(given, change)


def _derivatives(there: frozenset[str], here: frozenset[str]) -> dict[str, str]:
    """Names of derivatives in the answer as the reference writes them."""
    wanted = {key: name for name in there - here if (key := _derivative(name))}
    return {name: wanted[key] for name in here - there if (key := _derivative(name)) in wanted and key}


def _derivative(name: str) -> tuple[str, int] | None:
    found = ((pattern.fullmatch(name), order) for pattern, order in _DERIVATIVES)
    return next(((match[1], order) for match, order in found if match), None)


def _constants(wanted: Node, given: Node) -> Iterator[Node]:
    """With the names that the reference gives to arbitrary constants, in every order.

    A constant is arbitrary when it is added to a function, or times one that solves an equation: an exponential, a sine
    or a cosine. The ``C`` in ``C V^2/2`` is not.
    """
    there, here = names_in(wanted), names_in(given)
    old = sorted(name for name in here - there if _FREE.fullmatch(name))
    new = sorted(name for name in there - here if _ARBITRARY.fullmatch(name))
    if not old or len(old) != len(new) or len(old) > MOST_CONSTANTS:
        return
    both = [each.parts[-1] if each.op == "relation" and each.text == "=" else each for each in (wanted, given)]
    try:
        if not all(arbitrary(build(tree), names) for tree, names in zip(both, (new, old), strict=True)):
            return
    except Unreadable:
        return
    for chosen in itertools.permutations(new):
        yield with_names(given, dict(zip(old, chosen, strict=True)))


def arbitrary(expression: Any, names: list[str]) -> bool:
    """Whether an expression is a sum of functions times these constants, or of one with a constant added."""
    if isinstance(expression, sp.MatrixBase):
        return False
    symbols = [sp.Symbol(name) for name in names]
    try:
        expanded = sp.expand(expression)
    except (ValueError, TypeError, RecursionError):
        return False
    rest = expanded.subs(dict.fromkeys(symbols, 0))
    for symbol in symbols:
        factor = sp.expand(expanded.coeff(symbol, 1))
        if factor == 0 or factor.has(*symbols):
            return False
        if factor in (1, -1):
            if len(symbols) == 1 and not rest.free_symbols:
                return False
        elif not any(each.free_symbols for each in factor.atoms(sp.exp, sp.sin, sp.cos, sp.sinh, sp.cosh)):
            return False
    linear = sum(symbol * expanded.coeff(symbol, 1) for symbol in symbols)
    return bool(sp.expand(expanded - linear - rest) == 0)


def components(value: Any, count: int) -> tuple[Any, ...] | None:
    """The components of a sum of unit vectors, which are called as usual; None when it is no such sum."""
    if isinstance(value, sp.MatrixBase) or count not in (2, 3):
        return None
    value = value.subs(sp.I, sp.Symbol("i"))
    names = {symbol.name for symbol in value.free_symbols}
    for units in _UNITS:
        if not names & set(units) or names & set(units) == {"i"}:
            continue
        symbols = [sp.Symbol(name) for name in units]
        expanded = sp.expand(value)
        found = [expanded.coeff(symbol, 1) for symbol in symbols]
        rest = sp.expand(expanded - sum(part * symbol for part, symbol in zip(found, symbols, strict=True)))
        if rest == 0 and not any(part.has(*symbols) for part in found) and (count == 3 or found[2] == 0):
            return tuple(found[:count])
    return None


def unzipped(tree: Node) -> tuple[Node, ...] | None:
    """The values in ``x = 1, y = 2`` in the order of the names' alphabet, as a point has them."""
    if tree.op != "list" or any(part.op != "relation" or part.text != "=" for part in tree.parts):
        return None
    names = [part.parts[0].text if part.parts[0].op == "name" else "" for part in tree.parts]
    order = next((each for each in _ORDERS if set(each) == set(names) and len(each) == len(names)), None)
    if order is None and len({name.partition("_")[0] for name in names}) == 1:
        order = tuple(f"{names[0].partition('_')[0]}_{number + 1}" for number in range(len(names)))
    if order is None or set(order) != set(names):
        return None
    return tuple(tree.parts[names.index(name)].parts[-1] for name in order)
