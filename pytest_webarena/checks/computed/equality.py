"""Whether two expressions are equal: yes, no, or undecided.

The ladder, cheapest step first; a step that can't tell hands on:

1. *Normal form.* The difference, expanded, is zero. For rational functions this decides both ways and exactly.
2. *Values* at a dozen random points, to 50 digits and more (`sampling`). One clear disagreement proves "unequal".
   Agreement everywhere is taken for "equal": it comes before SymPy's simplification because that takes up to seconds
   and, where it finds zero, never contradicts it.
3. *Simplification* and SymPy's ``equals``, where values can't be had: they may find "equal" and never "unequal".

Why no false "equal" comes of the order: step 1 and 3 are identities of algebra; step 2 needs two formulas that people
wrote to agree in all digits at random points of several sizes, on both sides of zero and of every number they
contain, and once more with so many digits that nothing which came up on the way is too small to be seen.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import sympy as sp

from pytest_webarena.checks.computed.sampling import (
    REAL,
    Domains,
    Undefined,
    Unknown,
    Value,
    Verdict,
    is_zero,
    points,
)

__all__ = ["constant_apart", "equal", "factor_apart", "nearly_equal", "same_cases"]

_NO_NUMBERS = (sp.oo, -sp.oo, sp.zoo, sp.nan)
MOST_TERMS = 1500
"""Of a sum that is multiplied out."""


def equal(one: Any, other: Any, domains: Domains = REAL) -> Verdict:
    """Whether two expressions are equal.

    >>> x = sp.Symbol("x")
    >>> equal(sp.sin(x) ** 2, 1 - sp.cos(x) ** 2), equal((x + 1) ** 2, x**2 + 1)
    ('equal', 'unequal')
    """
    if one == other:
        return "undecided" if one is sp.nan else "equal"
    if any(each.has(*_NO_NUMBERS) for each in (one, other)):
        return _infinite(one, other)
    difference = one - other
    if (found := _normal_form(difference)) is not None:
        return found
    try:
        found = is_zero(difference, domains, _kinks(difference))
    except Unknown:
        found = "undecided"
    return _simplified(difference) if found == "undecided" else found


def _infinite(one: Any, other: Any) -> Verdict:
    if sp.nan in (one, other):
        return "undecided"
    infinite = [each for each in (one, other) if each in (sp.oo, -sp.oo, sp.zoo)]
    plain = [each for each in (one, other) if not each.has(*_NO_NUMBERS)]
    return "unequal" if len(infinite) + len(plain) == 2 else "undecided"


def _normal_form(difference: Any) -> Verdict | None:
    if difference == 0:
        return "equal"
    if difference.is_Rational:
        return "unequal"
    if _terms(difference) > MOST_TERMS or difference.has(sp.Sum, sp.Product):
        return None
    if difference.is_rational_function() and difference.free_symbols and not difference.has(sp.I):
        rational = all(number.is_Rational for number in difference.atoms(sp.Number, sp.NumberSymbol))
        above = sp.fraction(sp.together(difference))[0]
        if _terms(above) <= MOST_TERMS:
            above = sp.expand(above)
            if above == 0:
                return "equal"
            return "unequal" if rational and above.is_polynomial(*above.free_symbols) else None
        return None
    return "equal" if sp.expand(difference) == 0 else None


def _terms(expression: Any) -> float:
    """How many terms it may have at most when it is multiplied out."""
    if expression.is_Add:
        return sum(map(_terms, expression.args))
    if expression.is_Mul:
        product = 1.0
        for factor in expression.args:
            product *= _terms(factor)
        return min(product, 1e9)
    if expression.is_Pow and expression.exp.is_Rational:
        base = _terms(expression.base)
        if base == 1:
            return 1.0
        return float(min(base ** min(float(abs(expression.exp)), 40.0), 1e9))
    return max(map(_terms, expression.args), default=1.0)


_BENT = (sp.Abs, sp.sign, sp.Max, sp.Min, sp.floor, sp.ceiling, sp.Mod, sp.Heaviside, sp.Piecewise, sp.arg)


def _kinks(expression: Any) -> list[Fraction]:
    """The numbers in it where it may change its course, if it is one that does: ``|x - 500|`` is no longer 500 - x."""
    if not expression.has(*_BENT) and not any(_is_bent(power) for power in expression.atoms(sp.Pow)):
        return []
    found = {abs(Fraction(int(n.p), int(n.q))) for n in expression.atoms(sp.Rational)} - {Fraction(0), Fraction(1)}
    return sorted(number for number in found if number < 10**12)[:6]


def _is_bent(power: Any) -> bool:
    """Whether it is a root of something that may be a square."""
    return bool(power.exp.is_Rational and power.exp.q % 2 == 0 and not power.base.is_Symbol and power.base.free_symbols)


def _simplified(difference: Any) -> Verdict:
    try:
        if sp.simplify(difference) == 0 or difference.equals(0):
            return "equal"
    except (ValueError, TypeError, NotImplementedError, AttributeError, ZeroDivisionError, RecursionError):
        pass
    return "undecided"


def same_cases(one: Any, other: Any) -> bool:
    """Whether two expressions that are equal at random points hold at the same places, and agree where cases meet."""
    if not (one.has(sp.Piecewise) or other.has(sp.Piecewise)):
        return True
    bounds: dict[Any, set[Any]] = {}
    for case in one.atoms(sp.core.relational.Relational) | other.atoms(sp.core.relational.Relational):
        left, right = case.args if case.lhs.is_Symbol else reversed(case.args)
        if not left.is_Symbol or not right.is_number:
            return False
        bounds.setdefault(left, set()).add(right)
    if len(bounds) != 1:
        return not bounds
    [(symbol, found)] = bounds.items()
    if len(found) > 20:
        return False
    try:
        ordered = sorted(found)
    except TypeError:
        return False
    inner = [(low + high) / 2 for low, high in itertools.pairwise(ordered)]
    for place in (*ordered, *inner, ordered[0] - 1, ordered[-1] + 1):
        values = [_put_in(each, {symbol: place}) for each in (one, other)]
        undefined = [value.has(sp.nan) or value.has(sp.Piecewise) for value in values]
        if undefined[0] != undefined[1]:
            return False
        if not any(undefined) and not any(value.has(*_NO_NUMBERS) for value in values) and equal(*values) != "equal":
            return False
    return True


def constant_apart(one: Any, other: Any, constants: frozenset[str], domains: Domains = REAL) -> Verdict:
    """Whether the difference of two expressions depends on no name but ``constants``."""
    difference = one - other
    return _depends_not(difference, constants, lambda there: difference - there, domains)


def factor_apart(one: Any, other: Any, constants: frozenset[str] = frozenset(), domains: Domains = REAL) -> Verdict:
    """Whether one expression is the other one times something that is not zero and depends on no name but
    ``constants``."""
    if one == 0 or other == 0:
        return "equal" if one == other else "unequal"
    for apart, there in _ratios(one, other, constants, domains):
        if apart:
            return "unequal"
        return equal(one, there * other, domains)
    return "undecided"


def _places(expressions: list[Any], constants: frozenset[str], domains: Domains) -> Any:
    names = sorted({s.name for each in expressions for s in each.free_symbols} - constants)
    for wanted in (domains, Domains(all_positive=True, ranges=domains.ranges, integers=domains.integers)):
        for number, point in enumerate(points(names, wanted)):
            if number == 8:
                break
            yield {
                sp.Symbol(name): sp.Rational(value.numerator, value.denominator).limit_denominator(50)
                for name, value in point.items()
                if not isinstance(value, tuple)
            }


def _ratios(one: Any, other: Any, constants: frozenset[str], domains: Domains) -> Any:
    """The ratio at places where it is a number other than zero; first, whether one is zero there and the other not."""
    for place in _places([one, other], constants, domains):
        above, below = _put_in(one, place), _put_in(other, place)
        if any(each.has(*_NO_NUMBERS) for each in (above, below)):
            continue
        if not constants and not (_is_real(above) and _is_real(below)):
            continue
        zero = [equal(each, sp.Integer(0), domains) == "equal" for each in (above, below)]
        if zero == [False, False]:
            yield False, above / below
        elif True in zero and False in zero:
            yield True, None


def _put_in(expression: Any, place: dict[Any, Any]) -> Any:
    """With values for names; no number where SymPy refuses them, as double factorials do."""
    try:
        return expression.subs(place)
    except ValueError:
        return sp.nan


def _is_real(value: Any) -> bool:
    try:
        Value((value,), {}, 30, False)
    except (Undefined, Unknown):
        return bool(value.has(sp.I))
    return True


def _depends_not(expression: Any, constants: frozenset[str], rest: Any, domains: Domains) -> Verdict:
    if {symbol.name for symbol in expression.free_symbols} <= constants:
        return "equal"
    for place in _places([expression], constants, domains):
        there = _put_in(expression, place)
        if there.has(*_NO_NUMBERS) or (not constants and not _is_real(there)):
            continue
        found: Verdict = equal(expression, there, domains)
        return found
    return "undecided"


def nearly_equal(one: Any, other: Any, rel: float, domains: Domains = REAL) -> Verdict:
    """Whether two expressions are equal but for the numbers in them, each right to ``rel``.

    Polynomials are compared by their coefficients, all else by its values.
    """
    names = sorted({symbol.name for each in (one, other) for symbol in each.free_symbols})
    symbols = [sp.Symbol(name) for name in names]
    if all(each.is_polynomial(*symbols) and _terms(each) <= MOST_TERMS for each in (one, other)):
        parts = [dict(sp.Poly(each, *symbols).terms()) if symbols else {(): each} for each in (one, other)]
        if set(parts[0]) != set(parts[1]):
            return "unequal"
        return _all_close([(parts[0][key], parts[1][key]) for key in parts[0]], {}, rel)
    valid = 0
    for wanted in (domains, Domains(all_positive=True, ranges=domains.ranges, integers=domains.integers)):
        for point in points(names, wanted):
            found = _all_close([(one, other)], point, rel)
            if found == "unequal":
                return found
            valid += found == "equal"
            if valid == 12:
                return "equal"
    return "equal" if valid >= 6 else "undecided"


def _all_close(pairs: list[tuple[Any, Any]], point: dict[str, Any], rel: float) -> Verdict:
    for pair in pairs:
        imaginary = any(each.has(sp.I) for each in pair)
        try:
            first, second = (Value((each,), point, 50, imaginary).total for each in pair)
        except (Undefined, Unknown):
            return "undecided"
        with mpmath.mp.workdps(50):
            if abs(first - second) > mpmath.mpf(rel) * max(abs(first), abs(second)):
                return "unequal"
    return "equal"
