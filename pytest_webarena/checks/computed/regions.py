r"""Sets of real numbers, however they are said: ``|x| > 1``, ``x < -1 or x > 1``, ``\mathbb{R} \setminus [-1, 1]``.

A region is a set of SymPy's and the name that it is about. Only bounds that are numbers make one: with names in them
nobody can say which comes first.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from pytest_webarena.checks.computed.building import build
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Node

__all__ = ["Region", "region_of", "same_region"]

Region = tuple[str, Any]
"""The name, empty where there is none, and the set."""
MOST_PARTS = 12
_SIGNS = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "!=": "!=", "=": "="}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!=", "=": "="}


def same_region(wanted: Node, given: Node) -> bool:
    """Whether both say the same set of numbers, about the same name, and one of them at least says it as a region."""
    if not (_is_region(wanted) or _is_region(given)):
        return False
    try:
        one, other = region_of(wanted), region_of(given)
    except (Unreadable, TypeError):  # also bounds of which SymPy can't say which is the larger one
        return False
    if one is None or other is None or (one[0] and other[0] and one[0] != other[0]):
        return False
    return bool(one[1] == other[1])


def _is_region(tree: Node) -> bool:
    """Whether it is no mere pair or list of numbers, which may stand for a point or for some values."""
    if tree.op in ("list", "set"):
        return any(map(_is_region, tree.parts))
    if tree.op == "relation":
        return tree.text != "="
    return tree.op in ("setminus", "cap") or (tree.op == "tuple" and tree.text != "()")


def region_of(tree: Node) -> Region | None:
    """The region, or None if it is none. Raises `Unreadable`."""
    if tree.op in ("list", "set"):
        return _several(tree)
    if tree.op in ("setminus", "cap"):
        one, other = (region_of(part) for part in tree.parts)
        point = _bound(tree.parts[1]) if other is None else None
        other = ("", sp.FiniteSet(point)) if point is not None else other
        if one is None or other is None:
            return None
        return "", one[1] - other[1] if tree.op == "setminus" else one[1] & other[1]
    if tree.op == "tuple" and len(tree.parts) == 2:
        low, high = map(_bound, tree.parts)
        if low is None or high is None or not low < high:
            return None
        return "", sp.Interval(low, high, tree.text[0] == "(", tree.text[1] == ")")
    return _related(tree) if tree.op == "relation" else None


def _several(tree: Node) -> Region | None:
    if len(tree.parts) > MOST_PARTS:
        return None
    points = [_bound(part) for part in tree.parts] if tree.op == "set" else [None]
    if points and None not in points:
        return "", sp.FiniteSet(*points)
    found = [region_of(part) for part in tree.parts]
    if not found or None in found:
        return None
    regions = [each for each in found if each is not None]
    names = {name for name, _ in regions} - {""}
    if len(names) > 1:
        return None
    combine = sp.Intersection if tree.text == "and" else sp.Union
    return "".join(names), combine(*(region for _, region in regions))


def _related(tree: Node) -> Region | None:
    signs = tree.text.split()
    if signs == ["in"]:
        within = region_of(tree.parts[1])
        return (tree.parts[0].text, within[1]) if within and tree.parts[0].op == "name" else None
    name, found = "", sp.S.Reals
    for left, sign, right in zip(tree.parts, signs, tree.parts[1:], strict=False):
        if sign not in _SIGNS:
            return None
        bound = _bound(right)
        if bound is None:
            left, sign, bound = right, _FLIPPED[sign], _bound(left)
        distance = left.op == "call" and left.text == "abs"
        inside, middle = _distance(left.parts[0]) if distance else (left, sp.Integer(0))
        if bound is None or inside.op != "name" or name not in ("", inside.text):
            return None
        name = inside.text
        found &= _around(middle, sign, bound) if distance else _beyond(sign, bound)
    return name, found


def _distance(tree: Node) -> tuple[Node, Any]:
    """The name and the number in ``x - 3``."""
    if tree.op in ("sub", "add") and (middle := _bound(tree.parts[1])) is not None:
        return tree.parts[0], middle if tree.op == "sub" else -middle
    return tree, sp.Integer(0)


def _beyond(sign: str, bound: Any) -> Any:
    if sign == "=":
        return sp.FiniteSet(bound)
    if sign == "!=":
        return sp.S.Reals - sp.FiniteSet(bound)
    if sign in ("<", "<="):
        return sp.Interval(-sp.oo, bound, True, sign == "<")
    return sp.Interval(bound, sp.oo, sign == ">", True)


def _around(middle: Any, sign: str, bound: Any) -> Any:
    """The numbers whose distance from the middle is below or above the bound."""
    if not bound >= 0:
        return sp.S.EmptySet if sign in ("<", "<=", "=") else sp.S.Reals
    near = sp.Interval(middle - bound, middle + bound, sign in ("<", ">="), sign in ("<", ">="))
    if sign in ("=", "!="):
        near = sp.FiniteSet(middle - bound, middle + bound)
    return near if sign in ("<", "<=", "=") else sp.S.Reals - near


def _bound(tree: Node) -> Any | None:
    """The real number, or infinity, that it is."""
    if tree.op in ("relation", "list", "set", "tuple", "name", "setminus", "cap", "matrix"):
        return None
    value = build(tree)
    if isinstance(value, sp.MatrixBase) or value.free_symbols:
        return None
    return value if value in (sp.oo, -sp.oo) or value.is_real else None
