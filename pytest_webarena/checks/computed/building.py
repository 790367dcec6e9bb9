"""Trees of formulas as SymPy expressions, as they stand: nothing that is large is computed on the way.

SymPy computes while it builds: ``10**10**10``, ``(10**9)!`` and the like would never end. So powers, factorials and
their kin of plain numbers are measured first, and refused when they are too large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import sympy as sp

from pytest_webarena.checks.computed.indexed import at_index, is_counted, over_all
from pytest_webarena.checks.computed.names import words
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Node

__all__ = ["build", "names_in"]

MOST_BITS = 12_000
"""Of a whole number."""
LARGEST_POWER = 10_000
LARGEST_ARGUMENT = 1000
"""Of factorials and other functions that are computed as whole numbers."""
MOST_TERMS = 200
"""Of sums and products that are written out."""

_CONSTANTS = {"pi": sp.pi, "e": sp.E, "i": sp.I, "oo": sp.oo}
_PLAIN: Mapping[str, Any] = {
    **{
        name: getattr(sp, name)
        for name in words(
            "sin cos tan cot sec csc sinh cosh tanh coth sech csch asin acos atan acot asec acsc "
            "asinh acosh atanh acoth asech acsch exp sign erf erfc re im arg"
        )
    },
    "ln": sp.log,
    "sgn": sp.sign,
    "abs": sp.Abs,
    "min": sp.Min,
    "max": sp.Max,
    "floor": sp.floor,
    "ceil": sp.ceiling,
    "conj": sp.conjugate,
    "heaviside": sp.Heaviside,
    "lambertw": sp.LambertW,
    "cbrt": sp.cbrt,
}
_COMPARED = {"=": sp.Eq, "!=": sp.Ne, "<": sp.Lt, "<=": sp.Le, ">": sp.Gt, ">=": sp.Ge}
_SINGLE = frozenset(_PLAIN) - {"min", "max"}


def names_in(tree: Node) -> frozenset[str]:
    """The names that a tree holds."""
    found = {tree.text} if tree.op == "name" else set()
    return frozenset(found.union(*map(names_in, tree.parts)))


def build(tree: Node) -> Any:
    """The expression (or the matrix) of a tree.

    Raises `Unreadable`, also for what is no single value: relations, lists, sets.
    """
    try:
        return _fitting(_Builder().value(tree))
    except (ValueError, TypeError, AttributeError, NotImplementedError, ZeroDivisionError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable("SymPy makes no expression of it") from None


class _Builder:
    def value(self, tree: Node) -> Any:
        rule: Callable[[Node], Any] | None = getattr(self, f"_{tree.op}", None)
        if rule is None:
            raise Unreadable(f"a {tree.op} stands where a value is expected")
        return rule(tree)

    def both(self, tree: Node) -> tuple[Any, Any]:
        left, right = (self.value(part) for part in tree.parts)
        return left, right

    def _num(self, tree: Node) -> Any:
        digits, _, power = tree.text.partition("e")
        if power and abs(int(power)) > LARGEST_ARGUMENT:
            raise Unreadable(f"the number {tree.text} is too large or too small")
        exact = Fraction(digits) * Fraction(10) ** int(power or 0)
        return sp.Rational(exact.numerator, exact.denominator)

    def _name(self, tree: Node) -> Any:
        mark, _, name = tree.text.partition(" ")
        return sp.Symbol({"dot": f"d{name}/dt", "ddot": f"d2{name}/dt2"}.get(mark, tree.text))

    def _const(self, tree: Node) -> Any:
        return _CONSTANTS[tree.text]

    def _degree(self, tree: Node) -> Any:
        return sp.pi / 180

    def _add(self, tree: Node) -> Any:
        return _checked(sum, self.both(tree))

    def _sub(self, tree: Node) -> Any:
        left, right = self.both(tree)
        return _checked(sum, (left, -right))

    def _neg(self, tree: Node) -> Any:
        return -self.value(tree.parts[0])

    def _mul(self, tree: Node) -> Any:
        left, right = self.both(tree)
        return _checked(lambda both: both[0] * both[1], (left, right))

    def _div(self, tree: Node) -> Any:
        left, right = self.both(tree)
        if right == 0:
            raise Unreadable("it divides by zero")
        if isinstance(right, sp.MatrixBase):
            raise Unreadable("it divides by a matrix")
        return left / right

    def _cross(self, tree: Node) -> Any:
        left, right = self.both(tree)
        if isinstance(left, sp.MatrixBase) and isinstance(right, sp.MatrixBase) and len(left) == len(right) == 3:
            return left.cross(right)
        if not (left.is_Symbol and right.is_Symbol):
            raise Unreadable("a product of vectors is understood of two names alone")
        if left == right:
            return sp.Integer(0)
        one, other = sorted((left.name, right.name))
        return sp.Symbol(f"{one} \u00d7 {other}") * (1 if one == left.name else -1)

    def _dotted(self, tree: Node) -> Any:
        left, right = self.both(tree)
        if not (left.is_Symbol and right.is_Symbol):
            raise Unreadable("a product of vectors is understood of two names alone")
        one, other = sorted((left.name, right.name))
        return left**2 if left == right else sp.Symbol(f"{one} \u00b7 {other}")

    def _mod(self, tree: Node) -> Any:
        return sp.Mod(*self.both(tree))

    def _pow(self, tree: Node) -> Any:
        base, exponent = self.both(tree)
        if isinstance(base, sp.MatrixBase):
            if exponent == sp.Symbol("T"):
                return base.T
            if not exponent.is_Integer or not -20 <= exponent <= 20:
                raise Unreadable("a matrix is raised to something else than a small whole number")
            try:
                return base**exponent
            except (sp.matrices.exceptions.NonInvertibleMatrixError, sp.matrices.exceptions.NonSquareMatrixError):
                raise Unreadable("a matrix has no such power") from None
        return power(base, exponent)

    def _root(self, tree: Node) -> Any:
        value = self.value(tree.parts[0])
        degree = self.value(tree.parts[1]) if len(tree.parts) > 1 else sp.Integer(2)
        if degree == 0:
            raise Unreadable("a root has the degree 0")
        if degree.is_Integer and degree % 2 and value.is_Rational and value < 0:
            return -power(-value, 1 / degree)  # the real root
        return power(value, 1 / degree)

    def _call(self, tree: Node) -> Any:
        name = tree.text
        values = [self.value(part) for part in tree.parts]
        if name in _SINGLE and len(values) != 1:
            raise Unreadable(f"'{name}' has {len(values)} arguments")
        if any(isinstance(value, sp.MatrixBase) for value in values) and name != "det":
            raise Unreadable(f"'{name}' is put on a matrix")
        if name in ("log", "log10", "log2"):
            return self.logarithm(name, values)
        if name == "det":
            return _determinant(values[0])
        if name in ("fact", "fact2"):
            _small(values[0], name)
            return sp.factorial(values[0]) if name == "fact" else sp.factorial2(values[0])
        if name == "binomial" and len(values) == 2:
            return _binomial(*values)
        if name in ("gcd", "lcm"):
            if not all(value.is_Integer for value in values):
                raise Unreadable(f"'{name}' is put on something else than whole numbers")
            return getattr(sp, name)(values)
        if name == "zeta" and len(values) == 1:
            _small(values[0], name)
            if values[0] == 1 or (values[0].is_Integer and values[0] > 60):
                raise Unreadable("the zeta function has no such argument")
            return sp.zeta(values[0])
        if name == "gamma" and len(values) == 1:
            _small_gamma(values[0])
            return sp.gamma(values[0])
        if name == "heaviside":
            return sp.Heaviside(values[0], sp.Rational(1, 2))
        if name in _PLAIN and values:
            return _PLAIN[name](*values)
        raise Unreadable(f"'{name}' is not understood here")

    def logarithm(self, name: str, values: list[Any]) -> Any:
        base = {"log10": sp.Integer(10), "log2": sp.Integer(2)}.get(name)
        if len(values) == 2 and base is None:
            base = values[1]
        if len(values) > 2 or values[0] == 0 or base in (0, 1):
            raise Unreadable("a logarithm has no such argument")
        return sp.log(values[0]) if base is None or base == sp.E else sp.log(values[0]) / sp.log(base)

    def _matrix(self, tree: Node) -> Any:
        rows = [[self.value(cell) for cell in row.parts] for row in tree.parts]
        if len({len(row) for row in rows}) != 1 or any(isinstance(c, sp.MatrixBase) for row in rows for c in row):
            raise Unreadable("a matrix has rows of different lengths")
        return sp.ImmutableMatrix(rows)

    def _piecewise(self, tree: Node) -> Any:
        pieces = [(self.value(each.parts[0]), self.condition(each.parts[1])) for each in tree.parts]
        if any(isinstance(value, sp.MatrixBase) for value, _ in pieces):
            raise Unreadable("a case is a matrix")
        return sp.Piecewise(*pieces, evaluate=False)

    def condition(self, tree: Node) -> Any:
        if tree.op == "true":
            return sp.true
        if tree.op == "list":
            combine = sp.And if tree.text == "and" else sp.Or
            return combine(*map(self.condition, tree.parts))
        if tree.op != "relation":
            raise Unreadable("a case has no condition")
        if tree.text == "in" and tree.parts[1].op == "tuple" and len(tree.parts[1].parts) == 2:
            name, (low, high) = self.value(tree.parts[0]), map(self.value, tree.parts[1].parts)
            above = name >= low if tree.parts[1].text[0] == "[" else name > low
            return sp.And(above, name <= high if tree.parts[1].text[1] == "]" else name < high)
        values = [self.value(part) for part in tree.parts]
        found = []
        for left, sign, right in zip(values, tree.text.split(), values[1:], strict=False):
            if sign not in _COMPARED or isinstance(left, sp.MatrixBase) or isinstance(right, sp.MatrixBase):
                raise Unreadable("the condition of a case is not understood")
            found.append(_COMPARED[sign](left, right))
        return sp.And(*found)

    def _diff(self, tree: Node) -> Any:
        variable, real = sp.Symbol(tree.text), sp.Dummy(real=True)  # else |x| has no derivative
        inside = tree.parts[0]
        if inside.op == "mul" and inside.text == "()" and inside.parts[1] == Node("name", tree.text):
            inside = inside.parts[0] if inside.parts[0].op == "name" else inside  # of f(x)
        value = self.value(inside)
        if value.has(variable):
            return sp.diff(value.subs(variable, real), real).subs(real, variable)
        # nothing says that its names do not depend on the variable: by the chain rule
        each = (
            sp.diff(value, name) * sp.Symbol(f"d{name}/d{tree.text}") for name in sorted(value.free_symbols, key=str)
        )
        return sum(each, value * 0)

    def _sum(self, tree: Node) -> Any:
        return self.series(tree, sp.Sum, sum)

    def _prod(self, tree: Node) -> Any:
        return self.series(tree, sp.Product, sp.prod)

    def series(self, tree: Node, symbolic: Any, plain: Callable[[Any], Any]) -> Any:
        index = sp.Symbol(tree.text)
        body, *ends = (self.value(part) for part in tree.parts)
        plainly = len(ends) == 2 and all(end.is_Integer for end in ends) and ends[1] - ends[0] < MOST_TERMS
        if isinstance(body, sp.MatrixBase) or (not plainly and (not ends or is_counted(body, tree.text))):
            return over_all(tree.op, body, tree.text, tuple(ends))
        low, high = ends
        if plainly:
            terms = [_fitting(at_index(body, tree.text, number)) for number in range(int(low), int(high) + 1)]
            return plain(terms) if terms else sp.Integer(0 if symbolic is sp.Sum else 1)
        series = symbolic(body, (index, low, high))
        return series.doit() if low.is_infinite or high.is_infinite else series

    def _int(self, tree: Node) -> Any:
        body, low, high = (self.value(part) for part in tree.parts)
        return sp.Integral(body, (sp.Symbol(tree.text), low, high)).doit()

    def _lim(self, tree: Node) -> Any:
        return sp.limit(self.value(tree.parts[0]), sp.Symbol(tree.text), self.value(tree.parts[1]))


def power(base: Any, exponent: Any) -> Any:
    """A power, unless it is too large to be written out."""
    if base == 0 and exponent.is_number and (exponent.is_real is False or exponent.is_negative):
        raise Unreadable("it divides by zero")
    if exponent.is_Rational and abs(exponent) > LARGEST_POWER:
        raise Unreadable("it has a power that is too large")
    if exponent.is_Rational and not base.is_infinite:
        inside = base if base.is_number else base.as_coeff_Mul()[0]
        bits = max((_bits(number) for number in inside.atoms(sp.Rational)), default=1)
        if bits * abs(exponent) > MOST_BITS:
            raise Unreadable("it has a power that is too large")
    if exponent.is_number and any(_bits(number) > 64 for number in exponent.atoms(sp.Rational)):
        raise Unreadable("it has a power that is too large")
    return base**exponent


def _bits(number: Any) -> int:
    return max(int(number.p).bit_length(), int(number.q).bit_length())


def _fitting(value: Any) -> Any:
    """``value``, unless it holds a number that is too large."""
    if not isinstance(value, sp.MatrixBase) and value.is_Rational and _bits(value) > 2 * MOST_BITS:
        raise Unreadable("it has a number that is too large")
    return value


def _checked(combine: Callable[[tuple[Any, Any]], Any], both: tuple[Any, Any]) -> Any:
    """Sums and products, of which matrices know only some."""
    if not any(isinstance(each, sp.MatrixBase) for each in both):
        return _fitting(combine(both))
    try:
        if combine is sum:
            return both[0] + both[1]
        return combine(both)
    except (sp.matrices.exceptions.ShapeError, TypeError):
        raise Unreadable("matrices of different shapes are added or multiplied") from None


def _small(value: Any, name: str) -> None:
    if value.is_number and not (value.is_Rational and abs(value) <= LARGEST_ARGUMENT):
        raise Unreadable(f"'{name}' is put on a number that is too large, or none that it is for")
    if value.is_Integer and value < 0:
        raise Unreadable(f"'{name}' is put on a negative number")


def _small_gamma(value: Any) -> None:
    if value.is_number and not (value.is_Rational and abs(value) <= LARGEST_ARGUMENT and value.q <= LARGEST_ARGUMENT):
        raise Unreadable("the gamma function is put on a number that is too large, or none that it is for")


def _binomial(above: Any, below: Any) -> Any:
    for value in (above, below):
        _small(abs(value) if value.is_Rational else value, "binomial")
    if above.is_Integer and below.is_Integer:
        return sp.binomial(above, below)
    if below.is_Integer and 0 <= below <= 12:
        return sp.ff(above, below) / sp.factorial(below)
    return sp.gamma(above + 1) / (sp.gamma(below + 1) * sp.gamma(above - below + 1))


def _determinant(value: Any) -> Any:
    if not isinstance(value, sp.MatrixBase) or value.rows != value.cols or value.rows > 6:
        raise Unreadable("a determinant of something else than a small square matrix")
    return value.det(method="berkowitz")
