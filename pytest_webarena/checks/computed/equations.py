"""Equations that say the same: up to a factor, or solved for another name.

``y = e^x`` and ``x = ln y`` have the same solutions, ``y = x^2`` and ``x = sqrt(y)`` have not.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from pytest_webarena.checks.computed.equality import equal, factor_apart
from pytest_webarena.checks.computed.sampling import REAL, Domains, Verdict

__all__ = ["same_solutions"]

MOST_NAMES = 6
MOST_OPERATIONS = 80


def same_solutions(wanted: Any, given: Any, domains: Domains = REAL) -> Verdict:
    """Whether two expressions are zero at the same places.

    >>> x, y = sp.symbols("x y")
    >>> same_solutions(y - sp.exp(x), x - sp.log(y)), same_solutions(y - x**2, x - sp.sqrt(y))
    ('equal', 'unequal')
    """
    found = factor_apart(wanted, given, domains=domains)
    if found != "unequal" or _large(wanted) or _large(given):
        return found
    # each solved for a name has to solve the other one: so the places of one are places of the other
    return "equal" if _solves(wanted, given, domains) and _solves(given, wanted, domains) else "unequal"


def _large(expression: Any) -> bool:
    return len(expression.free_symbols) > MOST_NAMES or bool(expression.count_ops() > MOST_OPERATIONS)


def _solves(one: Any, other: Any, domains: Domains) -> bool:
    """Whether the first, solved for a name that it has but once and alone, makes the second one zero."""
    for symbol in sorted(one.free_symbols & other.free_symbols, key=str):
        if not one.is_polynomial(symbol):
            continue
        powers = sp.Poly(one, symbol)
        if powers.degree() != 1:
            continue
        factor, rest = powers.all_coeffs()
        if not _coprime(factor, rest):
            return False  # it is zero wherever the common part is
        try:
            put_in = other.subs(symbol, -rest / factor)
        except ValueError:  # of which it has no value, as double factorials
            return False
        return equal(put_in, sp.Integer(0), domains) == "equal"
    return False


def _coprime(factor: Any, rest: Any) -> bool:
    """Whether no factor that may be zero is in both."""
    if not factor.free_symbols:
        return True
    try:
        return not sp.gcd(factor, rest).free_symbols
    except (sp.PolynomialError, NotImplementedError, ValueError):
        return False
