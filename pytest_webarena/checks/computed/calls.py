"""What calls of computer algebra stand for: ``Rational(1, 2)``, ``Interval(0, 1)``, ``Piecewise((x, x > 0), …)``."""

from __future__ import annotations

import functools

from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Node

__all__ = ["made_by"]

_BRACKETS = {"Interval": "[]", "Intervalopen": "()", "IntervalLopen": "(]", "IntervalRopen": "[)"}
_RELATIONS = {"Eq": "=", "Ne": "!=", "Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">="}
_ARITHMETIC = {"Divide": "div", "Plus": "add", "Times": "mul"}
_LIMITED = {"Integral": "int", "Sum": "sum", "Product": "prod"}


def made_by(name: str, arguments: tuple[Node, ...]) -> Node:
    """The tree of a call. Raises `Unreadable`."""
    count = len(arguments)
    if name == "same" and count == 1:
        return arguments[0]
    if name == "Rational" and count in (1, 2):
        return arguments[0] if count == 1 else Node("div", "", arguments)
    if name == "Pow" and count == 2:
        return Node("pow", "", arguments)
    if name == "root" and count == 2:
        return Node("root", "", arguments)
    if name in _RELATIONS and count == 2:
        return Node("relation", _RELATIONS[name], arguments)
    if name in _BRACKETS and count == 2:
        return Node("tuple", _BRACKETS[name], arguments)
    if name in ("Union", "FiniteSet"):
        parts = (
            part
            for each in arguments
            for part in (each.parts if each.op == "set" or (name == "FiniteSet" and each.text == "[]") else (each,))
        )
        return Node("set", "", tuple(parts))
    if name in ("Or", "And") and count > 1:
        return Node("list", "and" if name == "And" else "", arguments)
    if name == "binomial" and count == 2:
        return Node("call", "binomial", arguments)
    if name == "Piecewise" and all(each.op == "tuple" and len(each.parts) == 2 for each in arguments):
        return Node("piecewise", "", tuple(Node("piece", "", each.parts) for each in arguments))
    if name == "diag" and count <= 12:
        zero = Node("num", "0")
        rows = (tuple(arguments[i] if i == j else zero for j in range(count)) for i in range(count))
        return Node("matrix", "", tuple(Node("row", "", row) for row in rows))
    if name == "Matrix" and count == 1:
        return _matrix(arguments[0])
    if name in ("Divide", "Plus", "Times") and count > 1:
        return functools.reduce(lambda one, other: Node(_ARITHMETIC[name], "", (one, other)), arguments)
    if name == "LogBase" and count == 2:
        return Node("call", "log", arguments[::-1])
    if name == "Complex" and count == 2:
        return Node("add", "", (arguments[0], Node("mul", "", (arguments[1], Node("const", "i")))))
    if name == "Derivative" and count == 2 and arguments[1].op == "name":
        return Node("diff", arguments[1].text, (arguments[0],))
    if name == "Limit" and count == 3 and arguments[1].op == "name":
        return Node("lim", arguments[1].text, (arguments[0], arguments[2]))
    if name in _LIMITED and count == 2 and arguments[1].op in ("tuple", "set") and len(arguments[1].parts) == 3:
        index, low, high = arguments[1].parts
        if index.op == "name":
            return Node(_LIMITED[name], index.text, (arguments[0], low, high))
    raise Unreadable(f"'{name}' is called with {count} arguments, which is not understood")


def _matrix(value: Node) -> Node:
    if value.op == "matrix":
        return value
    if value.op == "tuple" and not any(part.op == "tuple" for part in value.parts):
        return Node("matrix", "", tuple(Node("row", "", (part,)) for part in value.parts))
    raise Unreadable("a matrix has rows of different lengths, or none")
