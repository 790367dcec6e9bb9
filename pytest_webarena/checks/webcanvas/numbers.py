"""The number in a judge model's reply as WebCanvas' evaluator gets it, without running what the model wrote.

The original hands the text between the first pair of triple backticks to Python. What comes of sums and comparisons of
numbers is worked out here to the same end; anything else, names and calls first of all, is read as no number.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Replies", "judged", "number_in"]

Replies = Callable[[str, str], str]
"""A judge model: told what was found and the rule, it gives one reply. May raise, which counts as a reply without a
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
    ast.Is: operator.eq,  # of small numbers, which are one object
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
    """The score that a judge gives, from 0 to 1 with two decimals: of the first reply with a number, of three; else 0.

    What is not below 1 is 1: ``85``, ``True`` and a float that is no number.
    """
    for _ in range(ATTEMPTS):
        try:
            found = number_in(replies(subject, rule))
        except Exception:  # any error of the call, as there
            continue
        if found is None:
            continue
        score = max(0, min(1, found))
        return float(score if score in (0, 1) else round(score, 2))
    return 0.0


def number_in(reply: str) -> Number | None:
    """What stands between the first pair of triple backticks, if it comes to a number.

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
    """`ValueError` for what is no number or is not worked out."""
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
    """The first part that decides, as Python gives it; those after it are not looked at."""
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
