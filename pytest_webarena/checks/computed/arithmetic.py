"""Values of closed forms such as ``2*sqrt(3)/5`` and ``3e-4*pi^2``: exact where they can be, always bounded."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from pytest_webarena.checks.computed.spelled import SCALES
from pytest_webarena.checks.numbers import numeral_at

__all__ = ["NoNumber", "Written", "read_form"]

Real = Fraction | float

_DEEPEST = 40
_BITS = 8_000
"""Of exact numbers: about 2,400 digits."""
_NAME = re.compile(r"[A-Za-z]+(?:_\(?\w+\)?)?")
_FACTORIAL = re.compile(r"!(?![!=])")
_E_POWER = re.compile(r"[eE]([-+]?)(\d{1,5})(?![\d_]|\.\d)")
_SPACE = re.compile(r"\s*")
_DECIMALS = re.compile(r"[.,](\d+)$")
_CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e}
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": math.exp, "ln": math.log, "sin": math.sin, "cos": math.cos, "tan": math.tan, "arctan": math.atan,
    "atan": math.atan, "arcsin": math.asin, "asin": math.asin, "arccos": math.acos, "acos": math.acos,
    "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "cbrt": math.cbrt, "log": math.log,
}  # fmt: skip
_ANGLES = {"sin", "cos", "tan"}
_DEGREES = re.compile(r"\s?(?:°(?!\s?[CFK])|deg(?:rees?|s)?\b)")
_BASED = re.compile(r"logq([a-j]{1,3})$")
"""A logarithm with its base, whose digits are letters here (`wording.rewritten`): nothing else is named so."""
_SCALED = re.compile(rf"\s?({'|'.join(SCALES)}|hundred|dozen)(?!\w)|(k|bn)(?!\w)", re.IGNORECASE)
_SCALES = SCALES | {"hundred": 2, "k": 3, "bn": 9}
_LAST_DIGITS = re.compile(r"\(\d{1,2}\)(?!\s*[\d(])")
"""How sure the last digits are: ``6.67430(15)``."""


class NoNumber(Exception):
    """Why a text has no value."""


class _Stop(Exception):
    """Here the form ends."""


@dataclass(frozen=True, slots=True)
class Written:
    """A number as somebody wrote it."""

    value: Real
    digit: Real = Fraction(0)
    """What its last digit counts; 0 for what is exact."""
    percent: bool = False
    text: str = ""
    worked_out: bool = True
    """Whether nothing is left to do: ``3 + 4`` and ``12*34`` are questions, ``3/4``, ``2^10`` and ``1+sqrt(2)`` not."""

    @property
    def meanings(self) -> tuple[tuple[Real, Real], ...]:
        """What it may mean, each with what its last digit counts: a percentage is its hundredth part too."""
        return ((self.value, self.digit), *([(self.value / 100, self.digit / 100)] if self.percent else []))


def read_form(text: str, start: int = 0) -> tuple[Written, int] | None:
    """The longest closed form that begins at ``start``, and where it ends; None when there is none.

    `NoNumber` for one without a value: a division by zero, a root of a negative number, too large a power.
    """
    reader = _Reader(text, start)
    try:
        value = reader.sum(0)
    except _Stop:
        return None
    except RecursionError:
        raise NoNumber("it is nested too deeply") from None
    except OverflowError:  # an exact factor too large for a float meets an irrational one
        raise NoNumber("it is too large a number") from None
    if not _finite(value):
        raise NoNumber("it is too large a number")
    end, percent = reader.at, False
    if match := re.match(r"\s?(?:%|per\s?cent\b|percent\b|pct\b)", text[end:]):
        end, percent = end + match.end(), True
    elif match := re.match(r"\s?(?:‰|per\s?mille?\b)", text[end:]):
        end, value = end + match.end(), value / 1000
    open_sum = reader.open_sum and isinstance(value, Fraction)
    digit = reader.digit if reader.plain else Fraction(0)
    return Written(value, digit, percent, text[start:end].strip(), not open_sum), end


def _finite(value: Real) -> bool:
    return isinstance(value, Fraction) or math.isfinite(value)


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        raise NoNumber("it is too large a number") from None


class _Reader:
    """Recursive descent. After `_Stop`, `at` is where the last whole part ended."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at
        self.digit: Real = Fraction(0)
        self.plain = True
        """Whether it is one numeral, with a power of ten at most."""
        self.open_sum = False
        """Whether plain numbers are to be added or multiplied."""
        self._numerals = 0
        self._counts = False
        """Whether factorials are multiplied: a closed form."""
        self._angle = False
        """Whether the sine or the like of it is taken."""

    def _peek(self, *signs: str) -> str:
        after = _SPACE.match(self._text, self.at).end()  # type: ignore[union-attr]
        return next((sign for sign in signs if self._text.startswith(sign, after)), "")

    def _take(self, sign: str) -> None:
        self.at = _SPACE.match(self._text, self.at).end() + len(sign)  # type: ignore[union-attr]

    def sum(self, depth: int) -> Real:
        value = self._product(depth)
        while sign := self._peek("+", "-"):
            before = self.at
            self._take(sign)
            try:
                other = self._product(depth)
            except _Stop:
                self.at = before
                return value
            self.plain = False
            self.open_sum |= isinstance(value, Fraction) and isinstance(other, Fraction)
            value = _bounded(value + other if sign == "+" else value - other)
        return value

    def _product(self, depth: int) -> Real:
        value = self._power(depth)
        while True:
            before = self.at
            sign = self._peek("**", "*", "/")
            if sign == "**":
                return value
            if sign:
                self._take(sign)
            elif not self._juxtaposed():
                return value
            try:
                other = self._power(depth)
            except _Stop:
                self.at = before
                return value
            if sign == "/":
                if not other:
                    raise NoNumber("it divides by zero")
                value = _bounded(value / other)
                self.plain = False
            else:
                ten = _is_power_of_ten(other) and self._numerals <= 3
                if self.plain and ten:
                    self.digit *= other
                else:
                    self.plain = False
                if isinstance(value, Fraction) and isinstance(other, Fraction):
                    self.open_sum |= not (_is_power_of_ten(value) or _is_power_of_ten(other) or self._counts)
                value = _bounded(value * other)

    def _juxtaposed(self) -> bool:
        """Whether a factor without a sign follows: a bracket, a root, a constant. Never a bare number."""
        after = _SPACE.match(self._text, self.at).end()  # type: ignore[union-attr]
        if self._text.startswith("(", after):
            return bool(self._text[self.at - 1 : self.at].strip(" ")) and after == self.at
        if self._text[self.at - 1 : self.at] == "!" and after == self.at and self._text[after : after + 1].isdecimal():
            return True
        name = _NAME.match(self._text, after)
        if name is None:
            return False
        known = name[0] in _CONSTANTS or name[0] in ("sqrt", "root") or name[0] in _FUNCTIONS
        return known and not (name[0] == "e" and after > self.at)

    def _power(self, depth: int) -> Real:
        if depth > _DEEPEST:
            raise NoNumber("it is nested too deeply")
        if sign := self._peek("+", "-"):
            self._take(sign)
            value = self._power(depth + 1)
            return -value if sign == "-" else value
        value = self._atom(depth)
        if self._peek("!") and (found := _FACTORIAL.match(self._text, self.at)):
            if not isinstance(value, Fraction) or value.denominator > 1 or not 0 <= value <= 170:
                raise NoNumber("it gives a factorial without a value")
            value, self.at, self.plain = Fraction(math.factorial(int(value))), found.end(), False
            self._counts = True
        if sign := self._peek("**", "^"):
            before = self.at
            self._take(sign)
            try:
                exponent = self._power(depth + 1)
            except _Stop:
                self.at = before
                return value
            if value != 10:
                self.plain = False
            return _raise(value, exponent)
        return value

    def _atom(self, depth: int) -> Real:
        self._take("")
        if self._text.startswith("(", self.at):
            begun = self.at
            self.at += 1
            value = self.sum(depth + 1)
            value = self._in_degrees(value)
            if not self._peek(")"):
                self.at = begun
                raise _Stop
            self._take(")")
            return self._in_degrees(value)
        if (name := _NAME.match(self._text, self.at)) is not None:
            return self._named(name, depth)
        return self._in_degrees(self._numeral())

    def _in_degrees(self, value: Real) -> Real:
        """The angle, if the sine or the like of it is taken and a sign of degrees follows."""
        if not self._angle or (found := _DEGREES.match(self._text, self.at)) is None:
            return value
        self.at = found.end()
        return _float(value) * math.pi / 180

    def _named(self, name: re.Match[str], depth: int) -> Real:
        word, begun = name[0], self.at
        self.at = name.end()
        if word in _CONSTANTS:
            self.plain = False
            return _CONSTANTS[word]
        try:
            if word == "sqrt":
                self.plain = False
                return _root(self._power_free(depth), Fraction(2))
            if word == "root" and self._peek("("):
                self.plain = False
                self._take("(")
                index = self.sum(depth + 1)
                if not self._peek(";"):
                    raise _Stop
                self._take(";")
                value = self.sum(depth + 1)
                if not self._peek(")"):
                    raise _Stop
                self._take(")")
                return _root(value, index)
            if word == "abs" and self._peek("("):
                size = self._power_free(depth)
                return -size if size < 0 else size
            if (based := _BASED.match(word)) is not None:
                base = int("".join(str("abcdefghij".index(letter)) for letter in based[1]))
                self.plain = False
                return _logarithm(self._power_free(depth), base)
            if word in _FUNCTIONS:
                self.plain = False
                power: Real = Fraction(1)
                if word in _ANGLES and self._peek("^"):  # sin^2 30°
                    self._take("^")
                    power = self._atom(depth + 1)
                try:
                    value = _FUNCTIONS[word](_float(self._power_free(depth, angle=word in _ANGLES)))
                    return value if power == 1 else _raise(value, power)
                except (ValueError, OverflowError):
                    raise NoNumber(f"{word} has no value there") from None
        except _Stop:
            self.at = begun
            raise
        self.at = begun
        raise _Stop

    def _power_free(self, depth: int, *, angle: bool = False) -> Real:
        """What a function is of: a bracket or the next number alone."""
        if depth > _DEEPEST:
            raise NoNumber("it is nested too deeply")
        outer, self._angle = self._angle, angle
        try:
            return self._atom(depth + 1)
        finally:
            self._angle = outer

    def _numeral(self) -> Real:
        found = numeral_at(self._text, self.at)
        if found is None:
            raise _Stop
        value, end = found
        if value is None:
            raise NoNumber("it has too many digits")
        decimals = _DECIMALS.search(self._text[self.at : end])
        whole = value.denominator == 1
        digit = (
            Fraction(1, 10 ** len(decimals[1])) if decimals and not (whole and len(decimals[1]) == 3) else Fraction(1)
        )
        self._numerals += 1
        if decimals and (sure := _LAST_DIGITS.match(self._text, end)):
            end = sure.end()
        if power := _E_POWER.match(self._text, end):
            exponent = int(power[2])
            if exponent > 400:
                raise NoNumber("it is too large a power")
            scale = Fraction(10) ** (-exponent if power[1] == "-" else exponent)
            value, digit, end = value * scale, digit * scale, power.end()
        elif whole and (mixed := re.compile(r"\s+(\d{1,6})/(\d{1,6})(?![\d.,/])").match(self._text, end)):
            if int(mixed[2]):
                value, digit, end = value + Fraction(int(mixed[1]), int(mixed[2])), Fraction(0), mixed.end()
        elif scaled := _SCALED.match(self._text, end):
            word = (scaled[1] or scaled[2]).lower()
            scale = Fraction(12) if word == "dozen" else Fraction(10) ** _SCALES[word]
            value, digit, end = value * scale, digit * scale, scaled.end()
        if self._numerals == 1:
            self.digit = digit
        self.at = end
        return value


def _is_power_of_ten(value: Real) -> bool:
    if not isinstance(value, Fraction) or value <= 0:
        return False
    number = value.numerator if value.denominator == 1 else value.denominator
    return min(value.numerator, value.denominator) == 1 and str(number).strip("0") == "1"


def _bounded(value: Real) -> Real:
    if isinstance(value, Fraction):
        if value.numerator.bit_length() + value.denominator.bit_length() > _BITS:
            return _float(value)
    elif not math.isfinite(value):
        raise NoNumber("it is too large a number")
    return value


def _raise(base: Real, exponent: Real) -> Real:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        power = int(exponent)
        if not base and power < 0:
            raise NoNumber("it divides by zero")
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(power) * bits <= _BITS or base in (0, 1, -1):
            return base**power if abs(power) <= _BITS else (base if power % 2 else base * base)
    if base < 0 and isinstance(exponent, Fraction) and exponent.denominator % 2 and exponent.denominator < 100:
        sign = -1.0 if exponent.numerator % 2 else 1.0
        return sign * _positive_power(-base, exponent)
    if base < 0:
        raise NoNumber("it is no real number")
    return _positive_power(base, exponent)


def _positive_power(base: Real, exponent: Real) -> float:
    try:
        return math.pow(_float(base), _float(exponent))
    except (ValueError, OverflowError):
        raise NoNumber("it is too large a power") from None


def _logarithm(value: Real, base: int) -> Real:
    if value <= 0 or base < 2:
        raise NoNumber("a logarithm has no value there")
    found = math.log(_float(value), base)
    whole = round(found)
    exact = isinstance(value, Fraction) and abs(whole) < 400 and Fraction(base) ** whole == value
    return Fraction(whole) if exact else found


def _root(value: Real, index: Real) -> Real:
    if not index:
        raise NoNumber("it divides by zero")
    if value < 0 and index == 2:
        raise NoNumber("it is no real number")
    if index == 2 and isinstance(value, Fraction):
        over, under = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if over * over == value.numerator and under * under == value.denominator:
            return Fraction(over, under)
        return math.sqrt(_float(value))
    return _raise(value, 1 / index)
