"""Reads the number in a judge model's reply as WebCanvas' evaluator does, without running what the model wrote.

The original passes the text between the first pair of triple backticks to Python. Here, sums and comparisons
of numbers are evaluated with the same result; anything else, above all names and calls, counts as no number.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Replies", "judged", "number_in"]

Replies = Callable[[str, str], str]
"""A judge model: receives the subject and the rule, and returns one reply. An exception counts as a reply without a
number."""

ATTEMPTS = 3
_FENCED = re.compile("```(.*?)```", re.DOTALL)
_LONGEST = 500
_LARGEST = 10**30
_POWER = 1000

Number = int | float

_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda base, power: base**power if abs(power) <= _POWER else _refuse(),
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Number]] = {
    ast.Invert: operator.invert,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.eq,  # of small numbers, which are single objects
    ast.IsNot: operator.ne,
}
_CALLS: Mapping[str, Callable[..., Number]] = {
    "float": float,
    "int": int,
    "round": round,
    "abs": abs,
    "min": min,
    "max": max,
    "bool": bool,
}


def judged(subject: str, rule: str, replies: Replies) -> float:
    """Returns the judge's score from 0 to 1 with two decimals, from the first reply with a number out of three; else 0.

    A value that is not below 1 counts as 1: ``85``, ``True`` and a NaN.
    """
    for _ in range(ATTEMPTS):
        try:
            found = number_in(replies(subject, rule))
        except Exception:  # any error of the call, as in the original
            continue
        if found is None:
            continue
        score = max(0, min(1, found))
        return float(score if score in (0, 1) else round(score, 2))
    return 0.0


def number_in(reply: str) -> Number | None:
    """Returns the number between the first pair of triple backticks; None if there is none.

    >>> number_in("``` 0.85 ```"), number_in("```17/20```"), number_in("```python 0.85```"), number_in("0.85")
    (0.85, 0.85, None, None)
    """
    match = _FENCED.search(reply)
    if match is None or len(match[1]) > _LONGEST:
        return None
    try:
        return _value(ast.parse(match[1].lstrip(" \t"), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> Number:
    """Evaluate an expression. Raises `ValueError` for anything that is not a number or is not supported."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return _bounded(value)
        case ast.UnaryOp() if type(node.op) in _UNARY:
            return _bounded(_UNARY[type(node.op)](_value(node.operand)))
        case ast.BinOp() if type(node.op) in _BINARY:
            return _bounded(_BINARY[type(node.op)](_value(node.left), _value(node.right)))
        case ast.Compare():
            return _compared([node.left, *node.comparators], node.ops)
        case ast.BoolOp():
            return _decided(node)
        case ast.IfExp():
            return _value(node.body if _value(node.test) else node.orelse)
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)], keywords=[]):
            return _bounded(float(text))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS and args:
            return _bounded(_CALLS[name](*map(_value, args)))
    raise ValueError("no number, or nothing that is worked out here")


def _compared(parts: Sequence[ast.expr], signs: Sequence[ast.cmpop]) -> bool:
    values = [_value(part) for part in parts]
    return all(
        _COMPARED[type(sign)](one, other) if type(sign) in _COMPARED else _refuse()
        for one, sign, other in zip(values, signs, values[1:], strict=False)
    )


def _decided(node: ast.BoolOp) -> Number:
    """Returns the first part that decides, with Python's semantics; later parts are not evaluated."""
    found = _value(node.values[0])
    for part in node.values[1:]:
        if bool(found) is isinstance(node.op, ast.Or):
            break
        found = _value(part)
    return found


def _refuse() -> Any:
    raise ValueError("no number, or nothing that is worked out here")


def _bounded(value: Any) -> Number:
    if isinstance(value, int) and abs(value) < _LARGEST:
        return value
    if isinstance(value, float):
        return value
    raise ValueError("no number, or too large a one")
