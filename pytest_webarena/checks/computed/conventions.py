"""What an answer may call or write otherwise without saying anything else: rounded values behind exact ones, ``I`` for
the imaginary unit, ``A`` for the constant ``C``, ``dy/dx`` for ``y'``, ``2i + 3j`` for a vector.

Trees in, trees out. What a name may stand for besides itself is tried only where the reference has no such name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import sympy as sp

from pytest_webarena.checks.computed.building import build, names_in
from pytest_webarena.checks.computed.sampling import Undefined, Unknown, Value
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Node, of_vectors

__all__ = ["components", "conventional", "explained", "other_readings", "unzipped", "with_names", "with_value"]

_DECIMAL = re.compile(r"\d+|\d*\.(\d+)")
_DERIVATIVES = (
    (re.compile(r"([A-Za-z]\w*)'()"), 1),
    (re.compile(r"([A-Za-z]\w*)''()"), 2),
    (re.compile(r"dot (\w+)()"), 1),
    (re.compile(r"ddot (\w+)()"), 2),
    (re.compile(r"d([A-Za-z]+)/d([A-Za-z]+)"), 1),
    (re.compile(r"d2([A-Za-z]+)/d([A-Za-z]+)2"), 2),
    (re.compile(r"([a-zA-Z])_([xyztr])"), 1),
    (re.compile(r"([a-zA-Z])_([xyztr])\2"), 2),
)
"""The function, by what it is derived if that is said, and how often."""
_FREE = re.compile(r"[CcKkABD](?:_\w+)?|const(?:ant)?")
"""Names that answers give to constants that nobody asks for."""
_ARBITRARY = re.compile(r"C(?:_\w+)?|c_\w+|const(?:ant)?")
"""Names of such constants in references."""
_WHOLE = re.compile(
    r"([a-zA-Z])\$?\s*(?:(?:\\in\b|∈|in)\s*\$?\s*(?:\\mathbb\s*\{?\s*[ZN]|[\u2124\u2115])|is\s+(?:an?|any)\s+integer)"
)
_COUNTERS = frozenset("nkmlpqjN")
_GENERAL = re.compile(r"\bgeneral\s+(?:real\s+)?solution|\ball\s+solutions", re.IGNORECASE)
MOST_CONSTANTS = 3
MOST_VALUES = 12
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


def with_value(tree: Node, name: str, value: Node) -> Node:
    """With a value for a name."""
    if tree == Node("name", name):
        return value
    return Node(tree.op, tree.text, tuple(with_value(part, name, value) for part in tree.parts))


def conventional(tree: Node) -> Node:
    """With ≈ as =, and without rounded values that stand behind exact ones they are close to."""
    if tree.op in ("list", "where"):
        return explained(Node(tree.op, tree.text, tuple(map(conventional, tree.parts))))
    if tree.op != "relation" or not {"~", "="}.issuperset(tree.text.split()):
        return tree
    parts = [tree.parts[0]]
    for part in tree.parts[1:]:
        if not _rounds(part, parts[-1]):
            parts.append(part)
    return parts[0] if len(parts) == 1 else Node("relation", " ".join("=" for _ in parts[1:]), tuple(parts))


def explained(tree: Node, *, labelled: bool = False) -> Node:
    """A list whose first part is a formula, and whose others say what a name in it is: ``p q, q = 1 - p``; or which
    values it goes through: ``e^{i k}, k = 0, 1, 2``. ``labelled``: the formula may have a left side, which lists
    of equations have, too."""
    first, *others = tree.parts
    if tree.op != "list" or tree.text or not others or others[0].op != "relation" or len(others[0].parts) != 2:
        return tree
    named, value = others[0].parts
    there = names_in(first.parts[-1] if first.op == "relation" else first)
    if first.op in ("set", "tuple", "list") or not names_in(named) <= there or not names_in(named):
        return tree
    if others[0].text in ("<", "<=", ">", ">=", "!=") and (labelled or first.op != "relation") and len(others) == 1:
        return Node("where", "", (first, others[0]))
    if named.op != "name":
        return tree
    values = value.parts if others[0].text == "in" and value.op == "set" else (value, *others[1:])
    if others[0].text in ("=", "in") and len(values) > 1 and all(each.op == "num" for each in values):
        if len(values) > MOST_VALUES:
            return tree
        return Node("list", "", tuple(with_value(first, named.text, each) for each in values))
    if (first.op == "relation" and not labelled) or others[0].text == "in" or not all(map(_is_definition, others)):
        return tree
    return Node("where", "", (first, *others))


def _is_definition(tree: Node) -> bool:
    return tree.op == "relation" and tree.text == "=" and tree.parts[0].op == "name"


def _rounds(rounded: Node, exact: Node) -> bool:
    """Whether a decimal says no more than a number before it that is none."""
    in_degrees = rounded.op == "mul" and rounded.parts[1].op == "degree"
    said = _decimal(rounded.parts[0] if in_degrees else rounded)
    if said is None or exact.op in ("num", "name") or names_in(exact):
        return False
    if exact.op in ("relation", "list", "set", "tuple", "matrix"):
        return False
    try:
        value = Value((build(exact),), {}, 40, imaginary=False).total
    except (Unreadable, Undefined, Unknown):
        return False
    with mpmath.mp.workdps(40):
        value = value * 180 / mpmath.pi if in_degrees else value
        near, unit = (mpmath.mpf(part.numerator) / part.denominator for part in said)
        less = abs(value) - abs(near)
        return bool(abs(value - near) <= unit and -unit * 0.5001 <= less)  # rounded, or cut off


def _decimal(tree: Node) -> tuple[Fraction, Fraction] | None:
    """The value of a decimal, maybe in per cent or times a power of ten, and what its last digit counts."""
    sign, scale = (-1 if tree.op == "neg" else 1), Fraction(1)
    bare = tree.parts[0] if tree.op == "neg" else tree
    if bare.op == "div" and bare.parts[1] == Node("num", "100"):
        bare, scale = bare.parts[0], Fraction(1, 100)
    elif bare.op == "mul" and bare.parts[1].op == "pow" and bare.parts[1].parts[0] == Node("num", "10"):
        power = bare.parts[1].parts[1]
        digits = power.parts[0] if power.op == "neg" else power
        if digits.op != "num" or not digits.text.isdigit() or len(digits.text) > 2:
            return None
        bare, scale = bare.parts[0], Fraction(10) ** (int(digits.text) * (-1 if power.op == "neg" else 1))
    found = _DECIMAL.fullmatch(bare.text) if bare.op == "num" else None
    if not found or len(bare.text.replace(".", "").lstrip("0")) < 2 or (not found[1] and scale == 1):
        return None
    return sign * Fraction(bare.text) * scale, scale / 10 ** len(found[1] or "")


def other_readings(wanted: Node, given: Node, text: str, intent: str = "") -> Iterator[Node]:
    """What else an answer may mean, the likeliest first. ``text`` is the answer, ``intent`` what the task asks."""
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
    yield from _constants(wanted, given, intent)


def _changed(tree: Node, change: Callable[[Node], Node]) -> Node:
    return change(Node(tree.op, tree.text, tuple(_changed(part, change) for part in tree.parts)))


def _has(tree: Node, op: str) -> bool:
    return tree.op == op or any(_has(part, op) for part in tree.parts)


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
    here = names_in(given)
    renamed = _unit_vectors(there, here)
    vectors = _has(wanted, "cross")

    def change(node: Node) -> Node:
        if node.op in ("name", "const") and node.text in renamed:
            return Node("name", renamed[node.text])
        if derivative := _derivative_of(node):
            return Node("name", derivative)
        if node.op == "name" and node.text in letters:
            return Node("const", letters[node.text])
        if node.op == "mul" and node.text == "\u00d7" and vectors:
            return of_vectors("cross", *node.parts)
        letter = node.parts[0] if node.op == "mul" and node.text == "()" else node
        if letter is not node and letter.op == "name" and letter.text in {"gamma", "zeta"} - there:
            return Node("call", letter.text, (node.parts[1],))
        return node

    return _changed(given, change)


def _unit_vectors(there: frozenset[str], here: frozenset[str]) -> dict[str, str]:
    """``i``, ``hat x`` and ``e_x`` for the ``hat i`` of the reference, and so on."""
    wanted = next((units for units in _UNITS[:2] if there & set(units)), None)
    if wanted is None or there & set(_UNITS[2]) or here & set(wanted):
        return {}
    return {
        name: meant for units in (*_UNITS, ("e_x", "e_y", "e_z")) for name, meant in zip(units, wanted, strict=True)
    }


def _derivative_of(node: Node) -> str:
    """The name of a derivative in what is put on a function: ``V'(x)``, ``\\frac{d}{dx} V(x)``."""
    inside = node.parts[0] if node.parts else node
    if node.op == "mul" and node.text == "()" and inside.op == node.parts[1].op == "name" and inside.text.endswith("'"):
        return inside.text
    if node.op != "diff":
        return ""
    if inside.op == "mul" and inside.text == "()" and inside.parts[1] == Node("name", node.text):
        inside = inside.parts[0]
    return f"d{inside.text}/d{node.text}" if inside.op == "name" and inside.text != node.text else ""


def _derivatives(there: frozenset[str], here: frozenset[str]) -> dict[str, str]:
    """Names of derivatives in the answer as the reference writes them."""
    wanted = {name: key for name in there - here if (key := _derivative(name))}
    found = {}
    for name in here - there:
        given = _derivative(name)
        same = [other for other, key in wanted.items() if given and _same_derivative(given, key)]
        if len(same) == 1 and not (name[1:2] == "_" and same[0][1:2] == "_"):
            found[name] = same[0]
    return found if len(set(found.values())) == len(found) else {}


def _derivative(name: str) -> tuple[str, str, int] | None:
    found = ((pattern.fullmatch(name), order) for pattern, order in _DERIVATIVES)
    return next(((match[1], match[2], order) for match, order in found if match), None)


def _same_derivative(one: tuple[str, str, int], other: tuple[str, str, int]) -> bool:
    """What it is derived by may be left unsaid."""
    return one[0] == other[0] and one[2] == other[2] and (one[1] == other[1] or not (one[1] and other[1]))


def _constants(wanted: Node, given: Node, intent: str) -> Iterator[Node]:
    """With the names that the reference gives to arbitrary constants, in every order.

    A constant is arbitrary when it is added to a function, or times one that solves an equation: an exponential, a sine
    or a cosine. The ``C`` in ``C V^2/2`` is not. If a general solution is asked for, so is each name that the task does
    not have.
    """
    there, here = names_in(wanted), names_in(given)
    old = sorted(name for name in here - there if _FREE.fullmatch(name))
    general = _GENERAL.search(intent) is not None
    new = sorted(
        name
        for name in there - here
        if _ARBITRARY.fullmatch(name)
        or (general and _FREE.fullmatch(name) and not re.search(rf"(?<![A-Za-z]){name}(?![A-Za-z])", intent))
    )
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
