"""Two trees beside each other: formulas, equations, inequalities, intervals, sets, tuples, matrices.

Sets and lists are compared without order, tuples in order, and each part by the ladder of `equality`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import sympy as sp

from pytest_webarena.checks.computed.building import build, names_in
from pytest_webarena.checks.computed.contrasts import another_state, another_symbol
from pytest_webarena.checks.computed.conventions import (
    arbitrary,
    components,
)
from pytest_webarena.checks.computed.equality import constant_apart, equal, factor_apart, nearly_equal, same_cases
from pytest_webarena.checks.computed.equations import same_solutions
from pytest_webarena.checks.computed.labels import is_label, near, only_names
from pytest_webarena.checks.computed.regions import same_region
from pytest_webarena.checks.computed.sampling import REAL, Domains, Verdict, signs
from pytest_webarena.checks.computed.structures import (
    as_greater,
    as_points,
    both_ends,
    cells_of,
    interval_of,
    is_header,
    is_inequality,
    items_of,
    lower_end,
    of_several,
    plus_minus,
    rows_of,
    same_header,
    spread_out,
)
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Node

__all__ = ["EXACTLY", "Comparison", "Terms"]


_SEVERAL = ("relation", "list", "set", "tuple", "matrix", "congruence", "setminus", "cap")
_BOUNDED = re.compile(r"inequal|\binterval|\bdomain\b|\bconverge|[<>\u2264\u2265]|\\(?:le|ge|lt|gt)q?\b", re.IGNORECASE)
"""How a task asks for an interval."""


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
    intent: str = ""
    """What the task asks, as far as it is known."""


EXACTLY = Terms()


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


class Comparison:
    """One comparison, and what it found besides its verdict."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.partly = False
        self.why = ""

    def no(self, why: str) -> Verdict:
        self.why = self.why or why
        return "unequal"

    def same(self, wanted: Node, given: Node) -> Verdict:
        ends = plus_minus(wanted) and given.op == "tuple" and len(given.parts) == 2
        wanted, given = spread_out(wanted), spread_out(given)
        if ends and wanted.op == "list":
            return self.without_order(
                tuple(each.parts[-1] if each.op == "relation" else each for each in wanted.parts), given.parts
            )
        if points := as_points(wanted, given):
            return self.in_order(*points)
        bounded = interval_of(given) if given.op == "relation" != wanted.op else None
        if bounded and (why := self.another_unknown(Node("name", bounded[0]))):
            return self.no(why)
        if same_region(wanted, given):
            return "equal"
        if {wanted.op, given.op} & {"setminus", "cap", "congruence"}:
            if wanted.op == given.op == "congruence":
                return self.congruences(wanted.parts, given.parts)
            if wanted.op != given.op:
                return self.no("the sets differ")
            pair = wanted.parts, given.parts
            return self.without_order(*pair) if wanted.op == "cap" else self.in_order(*pair)
        given = both_ends(given)
        if is_inequality(wanted) or is_inequality(given):
            return self.inequalities(wanted, given)
        if given.op == "relation" and given.text == "in" and wanted.op != "relation":
            if not only_names(given.parts[0]):
                return self.no("it is said of something else than a name")
            given = given.parts[1]
        if wanted.op == "relation" and wanted.text == "in":
            if given.op == "relation" and given.text == "in":
                return _all(self.same(*pair) for pair in zip(wanted.parts, given.parts, strict=True))
            return self.same(wanted.parts[1], given)
        if wanted.op == "relation" or given.op == "relation":
            return self.equations(wanted, given)
        if wanted.op == "matrix" and given.op == "set" and (nested := rows_of(wanted, given)):
            return self.values(*map(build, nested))
        if wanted.op in ("set", "list") or given.op in ("set", "list"):
            if "tuple" in (wanted.op, given.op) and "list" in (wanted.op, given.op):
                return self.unnamed(wanted.parts, given.parts)
            if wanted.op == "set" and of_several(given):
                return self.no("the parts are values of different names")
            return self.without_order(items_of(wanted), items_of(given))
        if "tuple" in (wanted.op, given.op):
            return self.tuples(wanted, given)
        value = build(wanted)
        if wanted.op == "matrix" and given.op != "matrix" and not isinstance(meant := build(given), sp.MatrixBase):
            return self.vector(wanted, meant)
        if given.op == "matrix" and not isinstance(value, sp.MatrixBase) and (cells := cells_of(given)):
            return self.units(value, cells)
        return self.values(value, build(given))

    def congruences(self, wanted: tuple[Node, ...], given: tuple[Node, ...]) -> Verdict:
        """The same but for a multiple of what they are taken by."""
        if len(wanted) > len(given):
            wanted = wanted[-len(given) :]
        if len(given) > len(wanted) > 2:
            first, *steps, modulus = given
            if not all(((build(one) - build(steps[-1])) / build(modulus)).is_Integer for one in steps):
                return self.no("the answer says several different things, one after the other")
            given = (first, steps[-1], modulus)
        if self.in_order((*wanted[:-2], wanted[-1]), (*given[:-2], given[-1])) != "equal":
            return self.no("the congruences are about different things")
        apart = (build(wanted[-2]) - build(given[-2])) / build(wanted[-1])
        return "equal" if apart.is_Integer else self.same(wanted[-2], given[-2])

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
        if len(wanted) == 2 and _BOUNDED.search(self.terms.intent) and not any(map(names_in, (*wanted, *given))):
            return self.no("it lists values where an interval is asked for")
        if any(part.op == "relation" for part in (*wanted, *given)):
            return self.no("one of them is a tuple, the other is none")
        return self.in_order(wanted, given)

    def without_order(self, wanted: tuple[Node, ...], given: tuple[Node, ...]) -> Verdict:
        """Each part of one is a part of the other."""
        table = [[self.same(one, other) for other in given] for one in wanted]
        columns = [[row[number] for row in table] for number in range(len(given))]
        found = _all(_any(iter(line)) for line in (*table, *columns))
        if found == "unequal" and self.as_pairs(wanted, given) == "equal":
            return "equal"
        return self.no("the parts differ") if found == "unequal" else found

    def as_pairs(self, wanted: tuple[Node, ...], given: tuple[Node, ...]) -> Verdict:
        """Two values that are the same two, but which is which depends on signs: by their sum and their product."""
        wanted, given = _unnamed(wanted), _unnamed(given)
        if not len(wanted) == len(given) == 2 or any(each.op in _SEVERAL for each in (*wanted, *given)):
            return "unequal"
        if not names_in(Node("list", "", (*wanted, *given))):
            return "unequal"
        return _all(self.same(Node(sign, "", wanted), Node(sign, "", given)) for sign in ("add", "mul"))

    def tuples(self, wanted: Node, given: Node) -> Verdict:
        if wanted.op != given.op:
            if wanted.op in ("tuple", "matrix") and given.op not in ("tuple", "matrix"):
                return self.vector(wanted, build(given))
            if given.op == "tuple" and wanted.op not in ("tuple", "matrix", "set", "list"):
                return self.units(build(wanted), given.parts)
            if nested := rows_of(wanted, given):
                return self.values(*map(build, nested))
            one, other = (cells_of(each) for each in (wanted, given))
            if one is None or other is None:
                return self.no("one of them is a tuple, the other is none")
            return self.in_order(one, other)
        if wanted.text != given.text and len(wanted.parts) == 2:
            return self.no(f"the brackets differ: {wanted.text} is not {given.text}")
        return self.in_order(wanted.parts, given.parts)

    def vector(self, wanted: Node, given: Any) -> Verdict:
        """The answer is a sum of unit vectors."""
        cells = cells_of(wanted)
        if cells and isinstance(given, sp.MatrixBase) and 1 in given.shape and len(given) == len(cells):
            return _all(self.single(build(cell), part) for cell, part in zip(cells, given, strict=True))
        found = components(given, len(cells)) if cells else None
        if not cells or found is None:
            return self.no("one of them is a tuple, the other is none")
        return _all(self.single(build(cell), part) for cell, part in zip(cells, found, strict=True))

    def units(self, wanted: Any, given: tuple[Node, ...]) -> Verdict:
        """The reference is a sum of unit vectors, the answer has its components."""
        found = components(wanted, len(given))
        if found is None:
            return self.no("one of them has several parts, the other is one")
        return _all(self.single(part, build(cell)) for part, cell in zip(found, given, strict=True))

    # Equations

    def equations(self, wanted: Node, given: Node) -> Verdict:
        if wanted.op in ("list", "set"):
            if given.text == "=" and given.parts[-1].op == "set" and self.labelled(wanted, given):
                return self.same(wanted, given.parts[-1])
            return self.without_order(wanted.parts, items_of(given))
        if given.op in ("list", "set"):
            return self.without_order(items_of(wanted), given.parts)
        if wanted.op != "relation":
            return self.value_of(wanted, given)
        if given.op != "relation":
            if is_header(wanted.parts[0]):
                return self.same(wanted.parts[-1], given)
            return self.no("the reference is an equation, the answer is none")
        if given.parts[0].op == "anti" and is_header(wanted.parts[0]):
            return self.value_of(wanted.parts[-1], given)
        if same_header(wanted.parts[0], given.parts[0]):
            return self.last(wanted.parts[-1], given)
        if any(part.op in ("set", "tuple", "list") for part in (*wanted.parts, *given.parts)):
            return self.no("the equations name different things")
        if len(wanted.parts) > 2 or len(given.parts) > 2:
            return "undecided"
        sides = [lower_end(each) for each in (wanted, given)]
        if sides[0] is None or sides[1] is None:
            return self.no("one of them is an equation of matrices")
        found = same_solutions(sides[0], sides[1], self.terms.domains)
        return self.no("the equations have different solutions") if found == "unequal" else found

    def labelled(self, wanted: Node, given: Node) -> bool:
        """Whether the left side of an answer is no more than a name for the right one."""
        others = frozenset().union(*map(names_in, given.parts[1:]))
        if not self.terms.rename:
            others |= names_in(wanted)
        return is_label(given.parts[0], others, self.terms.intent)

    def another_unknown(self, name: Node) -> str:
        """Why an inequality is not solved: for a name that the task does not have. Capitals may name the set."""
        intent = self.terms.intent
        if name.op != "name" or not re.fullmatch("[a-z]", name.text) or not _BOUNDED.search(intent):
            return ""
        if re.search(rf"(?<![A-Za-z\\]){name.text}(?![A-Za-z])", intent):
            return ""
        return f"it is said of {name.text}, which the task does not have"

    def value_of(self, wanted: Node, given: Node) -> Verdict:
        """The answer is an equation, the reference is a value: ``y = …`` is taken off, what is computed is checked."""
        first = given.parts[0]
        name = re.split(r"[_' (]", first.text)[0] if first.op == "name" else ""
        if usual := another_symbol(name, self.terms.intent):
            return self.no(f"it gives the value of {name}, which is no usual name for the {usual} asked for")
        if why := another_state(f"{first.text} =", self.terms.intent) or self.another_unknown(first):
            return self.no(why)
        found = self.last(wanted, given)
        if found == "unequal" or self.labelled(wanted, given):
            return found
        last = given.parts[-1]
        exact = Comparison(replace(self.terms, up_to="", rel=0.0))
        try:
            left = "equal" if first.op == "int" and near(first, last) else exact.same(*_undone(first, last))
            if left == "undecided" and first.op == "sum" and near(first, last):
                left = "equal"
        except Unreadable:
            left = "unequal"
        if left == "unequal":
            return self.no("the answer is an equation, the reference is a value: only a name may stand left of it")
        return found if left == "equal" else left

    def last(self, wanted: Node, given: Node) -> Verdict:
        """In ``y = a = b`` both are said, so both must be the same, and the last one counts."""
        others = names_in(wanted) | names_in(given.parts[-1]) | names_in(given.parts[0])
        for part in given.parts[1:-1]:
            if names_in(part) - others:
                continue  # one more name for it, or a step by way of names that are not in the result
            try:
                found = Comparison(replace(self.terms, up_to="")).same(*_undone(part, given.parts[-1]))
            except Unreadable:
                continue
            if found == "unequal":
                return self.no("the answer says several different things, one after the other")
        return self.same(wanted, given.parts[-1])

    # Inequalities

    def inequalities(self, wanted: Node, given: Node) -> Verdict:
        if wanted.op in ("list", "set") or given.op in ("list", "set"):
            return self.without_order(items_of(wanted), items_of(given))
        one, other = (interval_of(each) for each in (wanted, given))
        if one and other:
            if one[0] and other[0] and one[0] != other[0]:
                return self.no("the inequalities are about different names")
            return self.tuples(one[1], other[1])
        if not (is_inequality(wanted) and is_inequality(given)):
            return self.no("one of them is an inequality, the other is none")
        if len(wanted.parts) > 2 or len(given.parts) > 2:
            return "undecided"
        return self.directions(as_greater(wanted), as_greater(given))

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


def _undone(left: Node, right: Node) -> tuple[Node, Node]:
    """Two formulas; an integral without limits is undone on both sides."""
    if left.op != "anti":
        return left, right
    return left.parts[0], Node("diff", left.text, (right,))


def _free_constant(wanted: Any, given: Any, constants: frozenset[str]) -> bool:
    """Whether both have the same arbitrary constant added, so that their difference is no difference."""
    shared = [s.name for s in wanted.free_symbols & given.free_symbols if s.name in constants]
    return len(shared) == 1 and all(
        sp.diff(each, sp.Symbol(shared[0])) in (1, -1) and arbitrary(each, shared) for each in (wanted, given)
    )


def _unnamed(values: tuple[Node, ...]) -> tuple[Node, ...]:
    """Without the one name that all have on their left."""
    equations = [each for each in values if each.op == "relation" and each.text == "="]
    if len(equations) != len(values) or len({each.parts[0] for each in equations}) != 1:
        return values
    return tuple(each.parts[1] for each in equations) if is_header(values[0].parts[0]) else values
