"""Formulas at points: their values to as many digits as it takes, by walking the expression. No code is made of them.

By itself a point proves nothing; that two formulas agree at a dozen random ones, to digits that go beyond the largest
and the smallest number that came up on the way, does for all that isn't made to deceive, and a single point where they
clearly differ does for certain.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import mpmath
import sympy as sp
from mpmath import mp

from pytest_webarena.checks.computed.names import words

__all__ = ["REAL", "Domains", "Undefined", "Unknown", "Value", "Verdict", "is_zero", "points", "signs"]

Verdict = Literal["equal", "unequal", "undecided"]

POINTS = 12
TRIES = 30
DIGITS = 50
MOST_DIGITS = 2500
MOST_TERMS = 300
"""Of a sum or a product."""
SEED = 20231
_LARGEST_ANGLE = 60
"""In bits: of what is put into functions that need all digits before the point."""


class Undefined(Exception):
    """Here it has no value, or none among the numbers that are meant."""


class Unknown(Exception):
    """It holds something whose value is not known how to find."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domains:
    """What the names may stand for; otherwise any real number."""

    positive: frozenset[str] = frozenset()
    integers: frozenset[str] = frozenset()
    complex: frozenset[str] = frozenset()
    ranges: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    all_positive: bool = False
    all_integers: bool = False


REAL = Domains()

Point = dict[str, Any]


def points(names: list[str], domains: Domains, near: list[Fraction] | None = None) -> Iterator[Point]:
    """Random points, always the same ones: first those where a name is close to one of the numbers ``near``, on either
    side, then some of all sizes."""
    generator = random.Random(SEED)
    names = sorted(names)

    def at_random() -> Point:
        return {name: _coordinate(name, domains, generator) for name in names}

    for number, value in enumerate(value * side for value in near or () for side in (*_SIDES, *(-s for s in _SIDES))):
        point = at_random()
        name = names[number // 2 % len(names)]
        if not (_fixed(name, domains) or (value < 0 and (domains.all_positive or name in domains.positive))):
            yield {**point, name: value}
    for _ in range(TRIES):
        yield at_random()


_SIDES = (Fraction(9767, 9973), Fraction(10243, 9973), Fraction(21011, 9973))


def _fixed(name: str, domains: Domains) -> bool:
    return domains.all_integers or name in domains.integers or name in domains.complex or name in domains.ranges


def _coordinate(name: str, domains: Domains, generator: random.Random) -> Any:
    scale = generator.choice((1, 2, 2, 3, 3, 10, 100))
    value = Fraction(generator.randint(10_000, 999_999), 999_983) * scale
    side = generator.choice((1, -1))
    if name in domains.ranges:
        low, high = domains.ranges[name]
        found = low + (high - low) * Fraction(generator.randint(1, 999_982), 999_983)
        return Fraction(round(found)) if name in domains.integers and low <= round(found) <= high else found
    positive = domains.all_positive or name in domains.positive
    if name in domains.integers or domains.all_integers:
        whole = Fraction(generator.randint(1, 12 if scale < 10 else 40))
        return whole if positive or domains.all_integers else whole * side
    if name in domains.complex:
        return (value * side, Fraction(generator.randint(10_000, 999_999), 999_983) * generator.choice((1, -1)))
    return value if positive else value * side


def is_zero(difference: Any, domains: Domains = REAL, near: list[Fraction] | None = None) -> Verdict:
    """Whether an expression is zero wherever it is defined, by its values at random points, and some ``near`` numbers.

    Real names, real values on the way: where a value leaves the reals, as ``sqrt(x)`` does, the point doesn't count,
    unless the expression holds ``i``. Where too few points count, positive ones are tried, then whole ones, then all
    that complex numbers allow. Raises `Unknown`.
    """
    names = [symbol.name for symbol in difference.free_symbols]
    imaginary = difference.has(sp.I) or bool(domains.complex & set(names))
    if not names:
        return _at(difference, [{}], imaginary=True, wanted=1)
    for each in (domains, *_narrower(domains)):
        where = list(points(names, each, near))
        found = _at(difference, where, imaginary=imaginary, wanted=POINTS + len(where) - TRIES)
        if found != "undecided":
            return found
    if imaginary:
        return "undecided"
    return _at(difference, points(names, domains), imaginary=True, wanted=POINTS)


def _narrower(domains: Domains) -> Iterator[Domains]:
    base = {"integers": domains.integers, "complex": domains.complex, "ranges": domains.ranges}
    if not domains.all_positive:
        yield Domains(**base, all_positive=True)  # type: ignore[arg-type]
    yield Domains(**base, all_positive=True, all_integers=True)  # type: ignore[arg-type]


def _at(difference: Any, where: Iterable[Point], *, imaginary: bool, wanted: int) -> Verdict:
    terms = sp.Add.make_args(difference)
    agreed = 0
    widest: tuple[float, Point] | None = None
    for point in where:
        try:
            value = Value(terms, point, DIGITS, imaginary)
            if not value.within(30):
                sure = _closely(terms, point, imaginary, value.range)
                if sure == "unequal":
                    return "unequal"
                if sure == "undecided":
                    continue
        except Undefined:
            continue
        agreed += 1
        if widest is None or value.range > widest[0]:
            widest = value.range, point
        if agreed == wanted:
            break
    if agreed < min(wanted, POINTS // 2) or widest is None:
        return "undecided"
    try:
        return _closely(terms, widest[1], imaginary, widest[0])
    except Undefined:
        return "undecided"


def _closely(terms: Any, point: Point, imaginary: bool, spread: float) -> Verdict:
    """At one point, with digits enough that neither rounding nor something tiny can hide."""
    digits = int(DIGITS + spread + 40)
    if digits > MOST_DIGITS:
        return "undecided"
    value = Value(terms, point, digits, imaginary)
    if value.range > spread + 30:  # what looked like zero was not, or the other way round
        spread, digits = value.range, int(DIGITS + value.range + 40)
        if digits > MOST_DIGITS:
            return "undecided"
        value = Value(terms, point, digits, imaginary)
    if value.within(spread + 30):
        return "equal"
    again = Value(terms, point, digits + 60, imaginary)
    with mp.workdps(DIGITS):
        if abs(again.total) <= abs(value.total) * mpmath.mpf("1e-40"):
            return "equal"  # what is left is rounding, and goes as digits come
        steady = abs(again.total - value.total) <= abs(again.total) * mpmath.mpf("1e-8")
    return "unequal" if steady else "undecided"


class Value:
    """The value of a sum at a point."""

    def __init__(self, terms: Any, point: Point, digits: int, imaginary: bool) -> None:
        with mp.workdps(digits):
            walk = _Walk(point, imaginary)
            values = [walk.value(term) for term in terms]
            self.total = mp.fsum(values)
            self.scale = max(map(abs, values))
            self.range = walk.range
            if not mp.isfinite(self.total):
                raise Undefined

    def within(self, digits: float) -> bool:
        """Whether it is zero, to so many digits of its largest term."""
        with mp.workdps(DIGITS):
            return bool(abs(self.total) <= self.scale * mpmath.mpf(10) ** -int(digits))


def signs(expressions: list[Any], domains: Domains = REAL) -> Iterator[tuple[int, ...]]:
    """The signs of some expressions at the points where all have a real value that is not close to zero."""
    names = sorted({symbol.name for expression in expressions for symbol in expression.free_symbols})
    for point in points(names, domains):
        try:
            values = [Value((expression,), point, DIGITS, False).total for expression in expressions]
        except Undefined:
            continue
        if all(abs(value) > 1e-9 for value in values):
            yield tuple(1 if value > 0 else -1 for value in values)


class _Walk:
    """Evaluates at one point, with mpmath's current precision."""

    def __init__(self, point: Point, imaginary: bool) -> None:
        self.point = point
        self.imaginary = imaginary
        self.known: dict[Any, Any] = {}
        self.low = self.high = 0

    @property
    def range(self) -> float:
        """Between the smallest and the largest number that came up, in digits."""
        return (self.high - self.low) * 0.302

    def value(self, expression: Any) -> Any:
        if expression in self.known:
            return self.known[expression]
        value = self.compute(expression)
        if isinstance(value, mpmath.mpc):
            if not value.imag:
                value = value.real
            elif not self.imaginary:
                raise Undefined
        if not mp.isfinite(value):
            raise Undefined
        if value:
            size = int(mp.mag(value))
            self.low, self.high = min(self.low, size), max(self.high, size)
        self.known[expression] = value
        return value

    def compute(self, expression: Any) -> Any:
        if expression.is_Rational:
            self.low = min(self.low, -int(expression.q).bit_length())  # something tiny may be part of it
            return mpmath.mpf(int(expression.p)) / int(expression.q)
        if expression.is_Symbol:
            return self.symbol(expression.name)
        if expression.is_Add:
            return sum(map(self.value, expression.args), mpmath.mpf(0))
        if expression.is_Mul:
            product = mpmath.mpf(1)
            for factor in expression.args:
                product *= self.value(factor)
            return product
        if expression.is_Pow:
            return self.power(*map(self.value, expression.args))
        rule = _RULES.get(type(expression).__name__)
        if rule is None:
            raise Unknown(f"how to find the value of {type(expression).__name__} is not known")
        try:
            return rule(self, *expression.args)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError, mpmath.libmp.NoConvergence):
            raise Undefined from None

    def symbol(self, name: str) -> Any:
        value = self.point[name]
        if isinstance(value, tuple):
            return mpmath.mpc(*(mpmath.mpf(part.numerator) / part.denominator for part in value))
        return mpmath.mpf(value.numerator) / value.denominator

    def power(self, base: Any, exponent: Any) -> Any:
        if not base:
            if isinstance(exponent, mpmath.mpc) or exponent < 0:
                raise Undefined
            return mpmath.mpf(0) if exponent else mpmath.mpf(1)
        if isinstance(exponent, mpmath.mpf) and exponent == int(exponent) and abs(exponent) < 1 << 40:
            if mp.mag(base) * int(exponent) > 1 << 50:
                raise Undefined
            return base ** int(exponent)
        if not self.imaginary and base < 0:
            raise Undefined
        if mp.mag(exponent) + mp.mag(mp.log(base)) > _LARGEST_ANGLE:
            raise Undefined
        return mp.power(base, exponent)


def _function(name: str, largest: int = 10**6) -> Callable[..., Any]:
    """mpmath's function of that name, on arguments that are not larger than so many bits."""
    apply = getattr(mp, name)

    def rule(walk: _Walk, *arguments: Any) -> Any:
        values = [walk.value(argument) for argument in arguments]
        if any(value and mp.mag(value) > largest for value in values):
            raise Undefined
        return apply(*values)

    return rule


def _log(walk: _Walk, argument: Any) -> Any:
    value = walk.value(argument)
    if not value or (not walk.imaginary and value < 0):
        raise Undefined
    return mp.log(value)


def _acot(walk: _Walk, argument: Any) -> Any:
    value = walk.value(argument)
    if not walk.imaginary and value <= 0:
        raise Undefined  # books differ in what it is there
    return mp.acot(value)


def _real(walk: _Walk, *arguments: Any) -> list[Any]:
    values = [walk.value(argument) for argument in arguments]
    if any(isinstance(value, mpmath.mpc) for value in values):
        raise Undefined
    return values


def _modulo(walk: _Walk, *arguments: Any) -> Any:
    value, divisor = _real(walk, *arguments)
    return value - divisor * mp.floor(value / divisor)


def _step(walk: _Walk, argument: Any, *_: Any) -> Any:
    [value] = _real(walk, argument)
    return (mp.sign(value) + 1) / 2


def _series(combine: Callable[[Any, Any], Any], start: int) -> Callable[..., Any]:
    """A sum or a product between whole numbers, term by term."""

    def rule(walk: _Walk, body: Any, *limits: Any) -> Any:
        [(index, low, high)] = limits
        first, last = _real(walk, low, high)
        if first != int(first) or last != int(last) or last - first > MOST_TERMS:
            raise Undefined
        found = mpmath.mpf(start)
        for number in range(int(first), int(last) + 1):
            inside = _Walk({**walk.point, index.name: Fraction(number)}, walk.imaginary)
            found = combine(found, inside.value(body))
            walk.low, walk.high = min(walk.low, inside.low), max(walk.high, inside.high)
        return found

    return rule


def _integral(walk: _Walk, body: Any, *bounds: Any) -> Any:
    raise Unknown("an integral has no closed form that SymPy finds")


def _piecewise(walk: _Walk, *pieces: Any) -> Any:
    for piece in pieces:
        if _holds(walk, piece.args[1]):
            return walk.value(piece.args[0])
    raise Undefined


def _holds(walk: _Walk, condition: Any) -> bool:
    if condition in (sp.true, sp.false):
        return bool(condition)
    if isinstance(condition, sp.And | sp.Or):
        held = (_holds(walk, part) for part in condition.args)
        return all(held) if isinstance(condition, sp.And) else any(held)
    if isinstance(condition, sp.Not):
        return not _holds(walk, condition.args[0])
    if not isinstance(condition, sp.core.relational.Relational):
        raise Unknown("a condition is not understood")
    left, right = _real(walk, *condition.args)
    compare = {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right, ">": left > right}
    return bool(compare.get(condition.rel_op, left >= right))


_RULES: dict[str, Callable[..., Any]] = {
    **{
        name: _function(name, _LARGEST_ANGLE)
        for name in words("exp sin cos tan cot sec csc sinh cosh tanh coth sech csch erf erfc")
    },
    **{
        name: _function(name)
        for name in words("asin acos atan asec acsc asinh acosh atanh acoth asech acsch sign floor re im arg")
    },
    **{name: _function(name, 12) for name in ("gamma", "factorial", "zeta", "loggamma")},
    "factorial2": _function("fac2", 12),
    "harmonic": _function("harmonic", 40),
    "LambertW": _function("lambertw"),
    "Abs": _function("fabs"),
    "ceiling": _function("ceil"),
    "conjugate": _function("conj"),
    "log": _log,
    "acot": _acot,
    "Max": lambda walk, *arguments: max(_real(walk, *arguments)),
    "Min": lambda walk, *arguments: min(_real(walk, *arguments)),
    "Mod": _modulo,
    "Heaviside": _step,
    "Pi": lambda walk: +mp.pi,
    "Exp1": lambda walk: +mp.e,
    "EulerGamma": lambda walk: +mp.euler,
    "Catalan": lambda walk: +mp.catalan,
    "GoldenRatio": lambda walk: +mp.phi,
    "ImaginaryUnit": lambda walk: mpmath.mpc(0, 1),
    "Integral": _integral,
    "Sum": _series(operator.add, 0),
    "Product": _series(operator.mul, 1),
    "Piecewise": _piecewise,
}
