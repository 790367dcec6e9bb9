"""Whether an answer says the same as a reference: formulas, equations, inequalities, intervals, sets, tuples, matrices.

Sets and lists are compared without order, tuples in order, and each part by the ladder of `equality`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import sympy as sp

from pytest_webarena.checks.computed.building import build, names_in
from pytest_webarena.checks.computed.conventions import (
    arbitrary,
    components,
    other_readings,
    settled,
    unzipped,
    with_names,
)
from pytest_webarena.checks.computed.equality import constant_apart, equal, factor_apart, nearly_equal, same_cases
from pytest_webarena.checks.computed.grammar import parse
from pytest_webarena.checks.computed.sampling import REAL, Domains, Verdict, signs
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Node

__all__ = ["EXACTLY", "BadReference", "Finding", "Terms", "compare"]

MOST_RENAMED = 5
"""Names of which every exchange is tried."""
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What counts as the same."""

    variables: frozenset[str] = frozenset()
    """Names of more than one letter, and ``e`` or ``i`` where they are names."""
    domains: Domains = REAL
    rel: float = 0.0
    rename: bool = False
    up_to: Literal["", "constant", "factor"] = ""
    constants: frozenset[str] = field(default=frozenset())
    """Names that a constant or a factor may hold."""


EXACTLY = Terms()


class BadReference(ValueError):
    """What is wrong with a reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came of it."""

    verdict: Verdict
    why: str = ""
    partly: bool = False
    """Equal only up to the constant or the factor."""


def compare(reference: str, answer: str, terms: Terms = EXACTLY) -> Finding:
    """Compare two texts. Raises `Unreadable` when the answer is no formula, `BadReference` when the reference is none.

    >>> compare("x^2 - 1", "(x-1)(x+1)").verdict
    'equal'
    """
    try:
        asked = parse(reference, terms.variables)
        wanted = settled(asked.tree)
        _check(wanted)
    except Unreadable as error:
        raise BadReference(str(error)) from None
    known = terms.variables | names_in(wanted)
    reading = parse(answer, known)
    given = settled(reading.tree)
    found = _first_equal(wanted, given, answer, terms)
    if found.verdict == "unequal" and (reading.ambiguous or asked.ambiguous):
        wanted = settled(parse(reference, terms.variables, tight=True).tree)
        where = "it" if reading.ambiguous else "the reference"
        if _compared(wanted, settled(parse(answer, known, tight=True).tree), terms).verdict == "equal":
            return Finding(
                verdict="undecided",
                why=f"it is right if 'a/bc' in {where} means a/(bc), and wrong if (a/b)c, which is what it says",
            )
    return found


def _check(tree: Node) -> None:
    """Build all values in a tree, or raise what is wrong with them."""
    if tree.op in ("relation", "list", "set", "tuple"):
        for part in tree.parts:
            _check(part)
    elif not _plus_minus(tree):
        build(tree)


def _first_equal(wanted: Node, given: Node, answer: str, terms: Terms) -> Finding:
    """As it stands, then as it may be meant besides."""
    found, failed = None, None
    try:
        found = _compared(wanted, given, terms)
        if found.verdict == "equal" and not found.partly:
            return found
    except Unreadable as error:
        failed = error
    for other in other_readings(wanted, given, answer):
        try:
            again = _compared(wanted, other, terms)
        except Unreadable:
            continue
        if again.verdict == "equal" and (found is None or not again.partly):
            return again
    if found is None:
        raise failed or Unreadable("it is no formula")
    return found


def _compared(wanted: Node, given: Node, terms: Terms) -> Finding:
    """With the names of the answer as they are, then exchanged if that is allowed."""
    comparison = _Comparison(terms)
    verdict = comparison.same(wanted, given)
    if verdict != "equal" and terms.rename:
        verdict = _renamed(wanted, given, terms, verdict)
    partly = verdict == "equal" and comparison.partly
    return Finding(verdict=verdict, why="" if verdict == "equal" else comparison.why, partly=partly)


def _renamed(wanted: Node, given: Node, terms: Terms, verdict: Verdict) -> Verdict:
    there, here = sorted(names_in(wanted)), sorted(names_in(given))
    if len(here) > len(there) and given.op == "relation" and wanted.op != "relation":
        given = given.parts[-1]
        here = sorted(names_in(given))
    if len(there) != len(here):
        return verdict
    apart = [name for name in there if name not in here], [name for name in here if name not in there]
    tries: Iterator[tuple[list[str], tuple[str, ...]]] = (
        (apart[1], chosen) for chosen in itertools.permutations(apart[0])
    )
    if len(there) <= MOST_RENAMED:
        tries = itertools.chain(tries, ((here, chosen) for chosen in itertools.permutations(there)))
    elif len(apart[0]) > MOST_RENAMED:
        return "undecided"
    for old, new in tries:
        found = _Comparison(terms).same(wanted, with_names(given, dict(zip(old, new, strict=True))))
        if found == "equal":
            return found
        if found == "undecided":
            verdict = found
    return verdict


def _plus_minus(tree: Node) -> bool:
    return tree.op in ("pm", "mp") or any(map(_plus_minus, tree.parts))


def _one_sign(tree: Node, sign: str) -> Node:
    """With + or - for ±, and the other one for ∓."""
    parts = tuple(_one_sign(part, sign) for part in tree.parts)
    if tree.op in ("pm", "mp"):
        return Node(sign if tree.op == "pm" else {"add": "sub", "sub": "add"}[sign], "", parts)
    return Node(tree.op, tree.text, parts)


def _all(verdicts: Iterator[Verdict]) -> Verdict:
    """Equal if all are, unequal if one is."""
    found: Verdict = "equal"
    for verdict in verdicts:
        if verdict == "unequal":
            return verdict
        if verdict == "undecided":
            found = verdict
    return found


def _any(verdicts: Iterator[Verdict]) -> Verdict:
    """Equal if one is, unequal if all are not."""
    found: Verdict = "unequal"
    for verdict in verdicts:
        if verdict == "equal":
            return verdict
        if verdict == "undecided":
            found = verdict
    return found


class _Comparison:
    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.partly = False
        self.why = ""

    def no(self, why: str) -> Verdict:
        self.why = self.why or why
        return "unequal"

    def same(self, wanted: Node, given: Node) -> Verdict:
        wanted, given = _spread(wanted), _spread(given)
        if points := _as_points(wanted, given):
            return self.in_order(*points)
        given = _both_ends(given)
        if _is_inequality(wanted) or _is_inequality(given):
            return self.inequalities(wanted, given)
        if given.op == "relation" and given.text == "in" and wanted.op != "relation":
            given = given.parts[1]
        if wanted.op == "relation" and wanted.text == "in":
            if given.op == "relation" and given.text == "in":
                return _all(self.same(*pair) for pair in zip(wanted.parts, given.parts, strict=True))
            return self.same(wanted.parts[1], given)
        if wanted.op == "relation" or given.op == "relation":
            return self.equations(wanted, given)
        if wanted.op in ("set", "list") or given.op in ("set", "list"):
            if "tuple" in (wanted.op, given.op) and "list" in (wanted.op, given.op):
                return self.unnamed(wanted.parts, given.parts)
            if wanted.op == "set" and _of_several(given):
                return self.no("the parts are values of different names")
            return self.without_order(_items(wanted), _items(given))
        if "tuple" in (wanted.op, given.op):
            return self.tuples(wanted, given)
        return self.values(build(wanted), build(given))

    # Values

    def values(self, wanted: Any, given: Any) -> Verdict:
        matrices = [isinstance(each, sp.MatrixBase) for each in (wanted, given)]
        if all(matrices):
            if wanted.shape != given.shape:
                return self.no("the matrices have different shapes")
            return _all(self.single(*pair) for pair in zip(wanted, given, strict=True))
        if any(matrices):
            return self.no("one of them is a matrix, the other is none")
        return self.single(wanted, given)

    def single(self, wanted: Any, given: Any) -> Verdict:
        """Two expressions."""
        terms = self.terms
        found = equal(wanted, given, terms.domains)
        if found == "equal":
            return found if same_cases(wanted, given) else self.no("the cases differ in where they hold")
        if terms.rel and nearly_equal(wanted, given, terms.rel, terms.domains) == "equal":
            return "equal"
        if terms.up_to:
            apart = constant_apart if terms.up_to == "constant" else factor_apart
            if apart(wanted, given, terms.constants, terms.domains) == "equal":
                self.partly = not (terms.up_to == "constant" and _free_constant(wanted, given, terms.constants))
                return "equal"
        return found if found == "undecided" else self.no("the formulas differ")

    # Several values

    def in_order(self, wanted: tuple[Node, ...], given: tuple[Node, ...]) -> Verdict:
        if len(wanted) != len(given):
            return self.no(f"it has {len(given)} parts, not {len(wanted)}")
        return _all(self.same(*pair) for pair in zip(wanted, given, strict=True))

    def unnamed(self, wanted: tuple[Node, ...], given: tuple[Node, ...]) -> Verdict:
        """A list beside a tuple; what has names has no order of its own."""
        if any(part.op == "relation" for part in (*wanted, *given)):
            return self.no("one of them is a tuple, the other is none")
        return self.in_order(wanted, given)

    def without_order(self, wanted: tuple[Node, ...], given: tuple[Node, ...]) -> Verdict:
        """Each part of one is a part of the other."""
        table = [[self.same(one, other) for other in given] for one in wanted]
        columns = [[row[number] for row in table] for number in range(len(given))]
        found = _all(_any(iter(line)) for line in (*table, *columns))
        return self.no("the parts differ") if found == "unequal" else found

    def tuples(self, wanted: Node, given: Node) -> Verdict:
        if wanted.op != given.op:
            if wanted.op in ("tuple", "matrix") and given.op not in ("tuple", "matrix"):
                return self.vector(wanted, build(given))
            if nested := _rows(wanted, given):
                return self.values(*map(build, nested))
            one, other = (_cells(each) for each in (wanted, given))
            if one is None or other is None:
                return self.no("one of them is a tuple, the other is none")
            return self.in_order(one, other)
        if wanted.text != given.text and len(wanted.parts) == 2:
            return self.no(f"the brackets differ: {wanted.text} is not {given.text}")
        return self.in_order(wanted.parts, given.parts)

    def vector(self, wanted: Node, given: Any) -> Verdict:
        """The answer is a sum of unit vectors."""
        cells = _cells(wanted)
        if cells and isinstance(given, sp.MatrixBase) and 1 in given.shape and len(given) == len(cells):
            return _all(self.single(build(cell), part) for cell, part in zip(cells, given, strict=True))
        found = components(given, len(cells)) if cells else None
        if not cells or found is None:
            return self.no("one of them is a tuple, the other is none")
        return _all(self.single(build(cell), part) for cell, part in zip(cells, found, strict=True))

    # Equations

    def equations(self, wanted: Node, given: Node) -> Verdict:
        if wanted.op in ("list", "set"):
            if given.text == "=" and given.parts[-1].op == "set" and _is_header(given.parts[0]):
                return self.same(wanted, given.parts[-1])
            return self.without_order(wanted.parts, _items(given))
        if given.op in ("list", "set"):
            return self.without_order(_items(wanted), given.parts)
        if wanted.op != "relation":
            return self.value_of(wanted, given)
        if given.op != "relation":
            if _is_header(wanted.parts[0], strict=True):
                return self.same(wanted.parts[-1], given)
            return self.no("the reference is an equation, the answer is none")
        if _same_header(wanted.parts[0], given.parts[0]):
            return self.last(wanted.parts[-1], given)
        if any(part.op in ("set", "tuple", "list") for part in (*wanted.parts, *given.parts)):
            return self.no("the equations name different things")
        if len(wanted.parts) > 2 or len(given.parts) > 2:
            return "undecided"
        sides = [_above(each) for each in (wanted, given)]
        if sides[0] is None or sides[1] is None:
            return self.no("one of them is an equation of matrices")
        found = factor_apart(sides[0], sides[1], domains=self.terms.domains)
        return self.no("the equations differ by more than a factor") if found == "unequal" else found

    def value_of(self, wanted: Node, given: Node) -> Verdict:
        """The answer is an equation, the reference is a value: ``y = …`` is taken off."""
        if not _is_header(given.parts[0]):
            first, last = given.parts[0], given.parts[-1]
            if _Comparison(replace(self.terms, up_to="", rel=0.0)).same(first, last) != "equal":
                return self.no("the answer is an equation, the reference is a value")
        return self.last(wanted, given)

    def last(self, wanted: Node, given: Node) -> Verdict:
        """In ``y = a = b`` both are said, so both must be the same, and the last one counts."""
        for part in given.parts[1:-1]:
            try:
                found = _Comparison(replace(self.terms, up_to="")).same(part, given.parts[-1])
            except Unreadable:
                continue
            if found == "unequal":
                return self.no("the answer says several different things, one after the other")
        return self.same(wanted, given.parts[-1])

    # Inequalities

    def inequalities(self, wanted: Node, given: Node) -> Verdict:
        if wanted.op in ("list", "set") or given.op in ("list", "set"):
            return self.without_order(_items(wanted), _items(given))
        one, other = (_interval(each) for each in (wanted, given))
        if one and other:
            if one[0] and other[0] and one[0] != other[0]:
                return self.no("the inequalities are about different names")
            return self.tuples(one[1], other[1])
        if not (_is_inequality(wanted) and _is_inequality(given)):
            return self.no("one of them is an inequality, the other is none")
        if len(wanted.parts) > 2 or len(given.parts) > 2:
            return "undecided"
        return self.directions(_greater(wanted), _greater(given))

    def directions(self, wanted: tuple[Any, str], given: tuple[Any, str]) -> Verdict:
        """Two inequalities as differences that are above zero."""
        if wanted[1] != given[1]:
            return self.no("the signs of the inequalities differ")
        domains = self.terms.domains
        told = list(itertools.islice(signs([wanted[0], given[0]], domains), 12))
        if len(told) < 6:
            return "undecided"
        if wanted[1] == "!=":
            found = factor_apart(wanted[0], given[0], domains=domains)
            return self.no("the inequalities differ") if found == "unequal" else found
        if any(one != other for one, other in told):
            return self.no("the inequalities differ")
        return "equal" if factor_apart(wanted[0], given[0], domains=domains) == "equal" else "undecided"


def _free_constant(wanted: Any, given: Any, constants: frozenset[str]) -> bool:
    """Whether both have the same arbitrary constant added, so that their difference is no difference."""
    shared = [s.name for s in wanted.free_symbols & given.free_symbols if s.name in constants]
    return len(shared) == 1 and all(
        sp.diff(each, sp.Symbol(shared[0])) in (1, -1) and arbitrary(each, shared) for each in (wanted, given)
    )


def _spread(tree: Node) -> Node:
    """With ± as two values."""
    if tree.op in ("list", "set") or not _plus_minus(tree):
        return tree
    both = tuple(_one_sign(tree, sign) for sign in ("add", "sub"))
    return Node("list", "", both)


def _of_several(tree: Node) -> bool:
    """Whether a list gives values to several names; ``x_1`` and ``x_2`` are one name here."""
    named = [part.parts[0] for part in tree.parts if part.op == "relation" and part.text == "="]
    return tree.op == "list" and len({part.text.partition("_")[0] for part in named if part.op == "name"}) > 1


def _as_points(wanted: Node, given: Node) -> tuple[tuple[Node, ...], tuple[Node, ...]] | None:
    """Where one is a point and the other says its coordinates by their names."""
    for one, other in ((wanted, given), (given, wanted)):
        named = unzipped(one)
        if named is None:
            continue
        if other.op == "relation" and other.text == "=" and other.parts[0].op == "tuple":
            names = [part.text for part in other.parts[0].parts]
            other = other.parts[1] if names == sorted(part.parts[0].text for part in one.parts) else other
        if other.op == "tuple" and other.text == "()" and len(other.parts) == len(named):
            return (named, other.parts) if one is wanted else (other.parts, named)
    return None


def _both_ends(tree: Node) -> Node:
    """``x > 1 and x < 3`` as the interval that it is."""
    if tree.op != "list" or tree.text != "and" or len(tree.parts) != 2:
        return tree
    found = [_interval(part) if part.op == "relation" else None for part in tree.parts]
    if not (found[0] and found[1] and found[0][0] == found[1][0]):
        return tree
    infinite = Node("const", "oo")
    lower = [each for _, each in filter(None, found) if each.parts[1] == infinite]
    upper = [each for _, each in filter(None, found) if each.parts[0] == Node("neg", "", (infinite,))]
    if len(lower) != 1 or len(upper) != 1:
        return tree
    inside = Node("tuple", lower[0].text[0] + upper[0].text[1], (lower[0].parts[0], upper[0].parts[1]))
    return Node("relation", "in", (Node("name", found[0][0]), inside))


def _items(tree: Node) -> tuple[Node, ...]:
    """The parts of a set or a list, lists in it spread; anything else is a set of one."""
    if tree.op not in ("set", "list"):
        return (tree,)
    flat: list[Node] = []
    for part in tree.parts:
        spread = _spread(part)
        flat += spread.parts if spread.op == "list" else (spread,)
    return _with_header(tuple(flat))


def _with_header(items: tuple[Node, ...]) -> tuple[Node, ...]:
    """``x = 1, 2`` says ``x = 1`` and ``x = 2``."""
    first = items[0] if items else None
    if first and first.op == "relation" and first.text == "=" and first.parts[0].op == "name":
        plain = [each.op not in ("relation", "set", "tuple") for each in items[1:]]
        if plain and all(plain):
            return (first, *(Node("relation", "=", (first.parts[0], each)) for each in items[1:]))
    return items


def _rows(wanted: Node, given: Node) -> tuple[Node, Node] | None:
    """A matrix and a tuple of tuples, which is one as well."""
    made = []
    for each in (wanted, given):
        if each.op == "tuple" and all(part.op == "tuple" for part in each.parts):
            each = Node("matrix", "", tuple(Node("row", "", part.parts) for part in each.parts))
        made.append(each)
    return (made[0], made[1]) if made[0].op == made[1].op == "matrix" else None


def _cells(tree: Node) -> tuple[Node, ...] | None:
    """The parts of a tuple, or of a matrix of one row or column."""
    if tree.op == "tuple":
        return tree.parts
    if tree.op == "matrix" and len(tree.parts) == 1:
        return tree.parts[0].parts
    if tree.op == "matrix" and all(len(row.parts) == 1 for row in tree.parts):
        return tuple(row.parts[0] for row in tree.parts)
    return None


def _is_inequality(tree: Node) -> bool:
    if tree.op in ("list", "set"):
        return any(map(_is_inequality, tree.parts))
    return tree.op == "relation" and any(sign in _FLIPPED and sign != "=" for sign in tree.text.split())


def _is_header(tree: Node, *, strict: bool = False) -> bool:
    """Whether it only names what follows, as ``y`` and ``f(x)`` do; an integral or the like does, too, unless
    ``strict``."""
    if tree.op == "name":
        return True
    if tree.op == "tuple":
        return all(part.op == "name" for part in tree.parts)
    inverse = Node("neg", "", (Node("num", "1"),))
    if tree.op == "mul" and tree.parts[0].op == "pow" and tree.text == "()":  # f^{-1}(x)
        base, exponent = tree.parts[0].parts
        return base.op == "name" and exponent == inverse and tree.parts[1].op == "name"
    if tree.op == "mul" and tree.parts[0].op == "name":
        applied = tree.text == "()"
        return (applied or not strict) and all(
            part.op in ("name", "tuple") or (applied and part.op == "num") for part in tree.parts
        )
    return not strict and tree.op in ("int", "sum", "prod", "lim", "diff")


def _same_header(wanted: Node, given: Node) -> bool:
    if not (_is_header(wanted, strict=True) and _is_header(given, strict=True)):
        return False
    one, other = (each.parts[0] if each.op == "mul" else each for each in (wanted, given))
    return one == other or {one.text, other.text} == {"y", "f"}


def _above(relation: Node) -> Any | None:
    """Left side less right side, over a common denominator without it."""
    left, right = (build(part) for part in relation.parts)
    if isinstance(left, sp.MatrixBase) or isinstance(right, sp.MatrixBase):
        return None
    return sp.fraction(sp.together(left - right))[0]


def _greater(relation: Node) -> tuple[Any, str]:
    """An inequality as a difference that is above zero, or not below."""
    left, right = (build(part) for part in relation.parts)
    sign = relation.text
    return (right - left, _FLIPPED[sign]) if sign in ("<", "<=") else (left - right, sign)


def _interval(tree: Node) -> tuple[str, Node] | None:
    """The name and the interval of inequalities in one name; an interval is one without a name."""
    if tree.op == "tuple":
        return ("", tree) if len(tree.parts) == 2 else None
    if tree.op != "relation":
        return None
    if tree.text == "in":
        inside = _interval(tree.parts[1])
        return (tree.parts[0].text, inside[1]) if inside else None
    low: tuple[Node, str] | None = None
    high: tuple[Node, str] | None = None
    name = ""
    for left, sign, right in zip(tree.parts, tree.text.split(), tree.parts[1:], strict=False):
        if sign not in ("<", "<=", ">", ">="):
            return None
        if right.op == "name" and left.op != "name":
            left, sign, right = right, _FLIPPED[sign], left
        if left.op == "call" and left.text == "abs" and left.parts[0].op == "name" and sign in ("<", "<="):
            if len(tree.parts) > 2:
                return None
            closing = "]" if sign == "<=" else ")"
            name, low = left.parts[0].text, (Node("neg", "", (right,)), "[" if sign == "<=" else "(")
            high = (right, closing)
            continue
        if left.op != "name" or left.text in names_in(right) or name not in ("", left.text):
            return None
        name = left.text
        if sign in ("<", "<=") and high is None:
            high = (right, "]" if sign == "<=" else ")")
        elif sign in (">", ">=") and low is None:
            low = (right, "[" if sign == ">=" else "(")
        else:
            return None
    infinite = Node("const", "oo")
    low = low or (Node("neg", "", (infinite,)), "(")
    high = high or (infinite, ")")
    return name, Node("tuple", low[1] + high[1], (low[0], high[0]))
