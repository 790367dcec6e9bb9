"""What the calculator can work out: a small exact expression language, safe on any input.

    sum     = product (("+" | "-") product)*
    product = sign (("*" | "×" | "/" | "÷") sign)*
    sign    = ("-" | "−" | "+") sign | power
    power   = percent ("^" sign)?
    percent = atom "%"*
    atom    = number | "pi" | name "(" sum ("," sum)* ")" | "(" sum ")"

Every step works on decimals, so that 0.1 + 0.2 is 0.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, localcontext

__all__ = ["LONGEST", "CalculationError", "calculate"]

LONGEST = 200
"""Characters that an expression may have."""

_PLACES = 10
"""Decimal places shown."""

_LARGEST = Decimal(10) ** 18
_PI = Decimal("3.14159265358979323846264338")
_TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?|\.\d+)|(?P<name>[A-Za-z]+)|(?P<symbol>[-+*/^%(),×÷−]))")
_SAME = {"×": "*", "÷": "/", "−": "-"}
_DEEPEST = 40


class CalculationError(ValueError):
    """The expression can't be worked out; the text is for the person who typed it."""


def calculate(expression: str) -> str:
    """The result in plain digits, at most ten decimal places, without trailing zeros.

    >>> calculate("3 * (2.50 + 0.1)")
    '7.8'
    >>> calculate("15% * 80")
    '12'
    """
    if len(expression) > LONGEST:
        raise CalculationError(f"An expression can have {LONGEST} characters; this one has {len(expression)}.")
    # Exponents are bounded as well, so that no power takes long.
    with localcontext(Context(prec=34, rounding=ROUND_HALF_UP, Emax=400, Emin=-400)):
        try:
            value = _Parser(expression).result()
        except DecimalException:
            raise CalculationError("The result is too large.") from None
        return _plain(value)


def _plain(value: Decimal) -> str:
    if abs(value) >= _LARGEST:
        raise CalculationError("The result is too large.")
    rounded = round(value, _PLACES)
    text = f"{rounded:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


class _Parser:
    """Recursive descent over the tokens; works the value out as it goes."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0

    def result(self) -> Decimal:
        if not self._tokens:
            raise CalculationError("Enter something to work out, for example 12 * 3.5.")
        value = self._sum()
        if self._next < len(self._tokens):
            raise CalculationError(f"Did not expect “{self._peek()}” there.")
        return value

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._peek()
        if token and token in wanted:
            self._next += 1
            return token
        return ""

    def _sum(self) -> Decimal:
        value = self._product()
        while operator := self._take("+", "-"):
            value = value + self._product() if operator == "+" else value - self._product()
        return value

    def _product(self) -> Decimal:
        value = self._sign()
        while operator := self._take("*", "/"):
            other = self._sign()
            if operator == "*":
                value *= other
            elif other == 0:
                raise CalculationError("Nothing can be divided by zero.")
            else:
                value /= other
        return value

    def _sign(self) -> Decimal:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CalculationError("That is nested too deeply.")
        sign = self._take("-", "+")
        value = self._sign() if sign else self._power()
        self._depth -= 1
        return -value if sign == "-" else value

    def _power(self) -> Decimal:
        value = self._percent()
        if not self._take("^"):
            return value
        exponent = self._sign()
        if value == 0 and exponent <= 0:
            raise CalculationError("Zero can only be raised to a positive power.")
        if value < 0 and exponent != int(exponent):
            raise CalculationError("A negative number can only be raised to a whole power.")
        return value**exponent

    def _percent(self) -> Decimal:
        value = self._atom()
        while self._take("%"):
            value /= 100
        return value

    def _atom(self) -> Decimal:
        token = self._peek()
        if not token:
            raise CalculationError("The expression ends too early.")
        self._next += 1
        if token[0].isdigit() or token[0] == ".":
            return Decimal(token)
        if token == "(":
            value = self._sum()
            self._close()
            return value
        if token == "pi":
            return _PI
        if token.isalpha():
            return self._call(token)
        raise CalculationError(f"Did not expect “{token}” there.")

    def _call(self, name: str) -> Decimal:
        if name not in _FUNCTIONS:
            raise CalculationError(f"“{name}” is unknown; there are {', '.join(sorted(_FUNCTIONS))} and pi.")
        if not self._take("("):
            raise CalculationError(f"“{name}” needs its value in brackets, as in {name}(2).")
        values = [self._sum()]
        while self._take(","):
            values.append(self._sum())
        self._close()
        least, most, function = _FUNCTIONS[name]
        if not least <= len(values) <= most:
            raise CalculationError(f"“{name}” can't be used with {len(values)} values.")
        return function(values)

    def _close(self) -> None:
        if self._take(")"):
            return
        if self._peek() == ",":
            raise CalculationError("Write numbers without commas: 1250 or 1250.5.")
        raise CalculationError("A closing bracket is missing.")


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            rest = text[position:].strip()
            raise CalculationError(f"“{rest[0]}” can't be used in an expression.")
        token = match.group(match.lastgroup or 0)
        tokens.append(_SAME.get(token, token.lower()))
        position = match.end()
    if "," in tokens and not any(token.isalpha() for token in tokens):
        raise CalculationError("Write numbers without commas: 1250 or 1250.5.")
    return tokens


def _sqrt(values: list[Decimal]) -> Decimal:
    if values[0] < 0:
        raise CalculationError("A negative number has no square root.")
    return values[0].sqrt()


def _round(values: list[Decimal]) -> Decimal:
    places = int(values[1]) if len(values) == 2 else 0
    if not 0 <= places <= _PLACES:
        raise CalculationError(f"Numbers are rounded to 0 to {_PLACES} places.")
    return values[0].quantize(Decimal(1).scaleb(-places))


def _average(values: list[Decimal]) -> Decimal:
    return sum(values, Decimal(0)) / len(values)


_FUNCTIONS: dict[str, tuple[int, int, Callable[[list[Decimal]], Decimal]]] = {
    "abs": (1, 1, lambda values: abs(values[0])),
    "average": (1, 50, _average),
    "max": (1, 50, max),
    "min": (1, 50, min),
    "round": (1, 2, _round),
    "sqrt": (1, 1, _sqrt),
}
