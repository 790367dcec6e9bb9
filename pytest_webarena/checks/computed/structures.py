"""Trees seen as what they are written for: lists, points, intervals, inequalities, matrices, labels in front."""

from __future__ import annotations

import re
from typing import Any

import sympy as sp

from pytest_webarena.checks.computed.building import build, names_in
from pytest_webarena.checks.computed.conventions import unzipped
from pytest_webarena.checks.computed.tree import Node

__all__ = [
    "as_greater",
    "as_points",
    "both_ends",
    "cells_of",
    "interval_of",
    "is_header",
    "is_inequality",
    "items_of",
    "lower_end",
    "of_several",
    "plus_minus",
    "rows_of",
    "same_header",
    "spread_out",
]

_NUMBERED = re.compile(r"_(?:1,2|\+-|\+,-)$")
"""Of the two that ± stands for."""
_COUNTED = re.compile(r"_(?:1,2|\+-|\+,-|[12+-])$")
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}


def plus_minus(tree: Node) -> bool:
    """Whether it says ± or ∓ somewhere."""
    return tree.op in ("pm", "mp") or any(map(plus_minus, tree.parts))


def one_sign(tree: Node, sign: str) -> Node:
    """With + or - for ±, and the other one for ∓."""
    parts = tuple(one_sign(part, sign) for part in tree.parts)
    if tree.op in ("pm", "mp"):
        return Node(sign if tree.op == "pm" else {"add": "sub", "sub": "add"}[sign], "", parts)
    return Node(tree.op, tree.text, parts)


def spread_out(tree: Node) -> Node:
    """With ± as two values."""
    if tree.op in ("list", "set") or not plus_minus(tree):
        return tree
    both = tuple(one_sign(tree, sign) for sign in ("add", "sub"))
    return Node("list", "", both)


def of_several(tree: Node) -> bool:
    """Whether a list gives values to several names; ``x_1`` and ``x_2`` are one name here."""
    named = [part.parts[0] for part in tree.parts if part.op == "relation" and part.text == "="]
    return tree.op == "list" and len({part.text.partition("_")[0] for part in named if part.op == "name"}) > 1


def as_points(wanted: Node, given: Node) -> tuple[tuple[Node, ...], tuple[Node, ...]] | None:
    """Where one is a point and the other says its coordinates by their names."""
    for one, other in ((wanted, given), (given, wanted)):
        named = unzipped(one)
        if named is None:
            continue
        if other.op == "relation" and other.text == "=" and other.parts[0].op == "tuple":
            names = [part.text for part in other.parts[0].parts]
            other = other.parts[1] if names == sorted(part.parts[0].text for part in one.parts) else other
        if other.op == "tuple" and other.text == "()" and len(other.parts) == len(named):
            return (named, other.parts) if one is wanted else (other.parts, named)
    return None


def both_ends(tree: Node) -> Node:
    """``x > 1 and x < 3`` as the interval that it is."""
    if tree.op != "list" or tree.text != "and" or len(tree.parts) != 2:
        return tree
    found = [interval_of(part) if part.op == "relation" else None for part in tree.parts]
    if not (found[0] and found[1] and found[0][0] == found[1][0]):
        return tree
    infinite = Node("const", "oo")
    lower = [each for _, each in filter(None, found) if each.parts[1] == infinite]
    upper = [each for _, each in filter(None, found) if each.parts[0] == Node("neg", "", (infinite,))]
    if len(lower) != 1 or len(upper) != 1:
        return tree
    inside = Node("tuple", lower[0].text[0] + upper[0].text[1], (lower[0].parts[0], upper[0].parts[1]))
    return Node("relation", "in", (Node("name", found[0][0]), inside))


def items_of(tree: Node) -> tuple[Node, ...]:
    """The parts of a set or a list, lists in it spread; anything else is a set of one."""
    if tree.op not in ("set", "list"):
        return (tree,)
    flat: list[Node] = []
    for part in tree.parts:
        spread = spread_out(part)
        flat += spread.parts if spread.op == "list" else (spread,)
    return with_header(tuple(flat))


def with_header(items: tuple[Node, ...]) -> tuple[Node, ...]:
    """``x = 1, 2`` says ``x = 1`` and ``x = 2``."""
    first = items[0] if items else None
    if first and first.op == "relation" and first.text == "=" and first.parts[0].op == "name":
        plain = [each.op not in ("relation", "set", "tuple") for each in items[1:]]
        if plain and all(plain):
            return (first, *(Node("relation", "=", (first.parts[0], each)) for each in items[1:]))
    return items


def rows_of(wanted: Node, given: Node) -> tuple[Node, Node] | None:
    """A matrix and a tuple of tuples, which is one as well."""
    made = []
    for each in (wanted, given):
        if each.op == "set" and wanted.op == "matrix" and all(part.op == "set" for part in each.parts):
            each = Node("matrix", "", tuple(Node("row", "", part.parts) for part in each.parts))  # {{1, 2}, {3, 4}}
        if each.op == "tuple" and all(part.op == "tuple" for part in each.parts):
            each = Node("matrix", "", tuple(Node("row", "", part.parts) for part in each.parts))
        made.append(each)
    return (made[0], made[1]) if made[0].op == made[1].op == "matrix" else None


def cells_of(tree: Node) -> tuple[Node, ...] | None:
    """The parts of a tuple, or of a matrix of one row or column."""
    if tree.op == "tuple":
        return tree.parts
    if tree.op == "matrix" and len(tree.parts) == 1:
        return tree.parts[0].parts
    if tree.op == "matrix" and all(len(row.parts) == 1 for row in tree.parts):
        return tuple(row.parts[0] for row in tree.parts)
    return None


def is_inequality(tree: Node) -> bool:
    if tree.op in ("list", "set"):
        return any(map(is_inequality, tree.parts))
    return tree.op == "relation" and any(sign in _FLIPPED and sign != "=" for sign in tree.text.split())


def is_header(tree: Node) -> bool:
    """Whether a reference only names what follows by it, as ``y`` and ``f(x)`` do."""
    if tree.op == "name":
        return True
    if tree.op == "tuple":
        return all(part.op == "name" for part in tree.parts)
    inverse = Node("neg", "", (Node("num", "1"),))
    if tree.op == "mul" and tree.parts[0].op == "pow" and tree.text == "()":  # f^{-1}(x)
        base, exponent = tree.parts[0].parts
        return base.op == "name" and exponent == inverse and tree.parts[1].op == "name"
    if tree.op == "pow" and tree.parts[1] == Node("num", "2"):  # a variance
        return tree.parts[0].op == "name" and tree.parts[0].text.startswith("sigma")
    if tree.op == "mul" and tree.parts[0].op == "name" and tree.text == "()":
        return all(part.op in ("name", "tuple", "num") for part in tree.parts)
    return False


def same_header(wanted: Node, given: Node) -> bool:
    if not (is_header(wanted) and is_header(given)):
        return False
    one, other = (each.parts[0] if each.op == "mul" else each for each in (wanted, given))
    if wanted.op != given.op and {wanted.op, given.op} == {"name", "mul"}:  # a(n) is a_n
        applied, named = (wanted, given) if wanted.op == "mul" else (given, wanted)
        if f"{applied.parts[0].text}_{applied.parts[1].text}" == named.text:
            return True
    counted = any(_NUMBERED.search(each.text) for each in (one, other))
    one, other = (
        Node(each.op, (_COUNTED if counted else _NUMBERED).sub("", each.text), each.parts) for each in (one, other)
    )
    return one == other or {one.text, other.text} == {"y", "f"}


def lower_end(relation: Node) -> Any | None:
    """Left side less right side, over a common denominator without it."""
    left, right = (build(part) for part in relation.parts)
    if isinstance(left, sp.MatrixBase) or isinstance(right, sp.MatrixBase):
        return None
    return sp.fraction(sp.together(left - right))[0]


def as_greater(relation: Node) -> tuple[Any, str]:
    """An inequality as a difference that is above zero, or not below."""
    left, right = (build(part) for part in relation.parts)
    sign = relation.text
    return (right - left, _FLIPPED[sign]) if sign in ("<", "<=") else (left - right, sign)


def interval_of(tree: Node) -> tuple[str, Node] | None:
    """The name and the interval of inequalities in one name; an interval is one without a name."""
    if tree.op == "tuple":
        return ("", tree) if len(tree.parts) == 2 else None
    if tree.op != "relation":
        return None
    if tree.text == "in":
        inside = interval_of(tree.parts[1]) if tree.parts[0].op == "name" else None
        return (tree.parts[0].text, inside[1]) if inside else None
    low: tuple[Node, str] | None = None
    high: tuple[Node, str] | None = None
    name = ""
    for left, sign, right in zip(tree.parts, tree.text.split(), tree.parts[1:], strict=False):
        if sign not in ("<", "<=", ">", ">="):
            return None
        if right.op == "name" and left.op != "name":
            left, sign, right = right, _FLIPPED[sign], left
        if left.op == "call" and left.text == "abs" and left.parts[0].op == "name" and sign in ("<", "<="):
            if len(tree.parts) > 2:
                return None
            closing = "]" if sign == "<=" else ")"
            name, low = left.parts[0].text, (Node("neg", "", (right,)), "[" if sign == "<=" else "(")
            high = (right, closing)
            continue
        if left.op != "name" or left.text in names_in(right) or name not in ("", left.text):
            return None
        name = left.text
        if sign in ("<", "<=") and high is None:
            high = (right, "]" if sign == "<=" else ")")
        elif sign in (">", ">=") and low is None:
            low = (right, "[" if sign == ">=" else "(")
        else:
            return None
    infinite = Node("const", "oo")
    low = low or (Node("neg", "", (infinite,)), "(")
    high = high or (infinite, ")")
    return name, Node("tuple", low[1] + high[1], (low[0], high[0]))
