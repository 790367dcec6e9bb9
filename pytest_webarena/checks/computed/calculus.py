"""Reading what LaTeX writes with limits or in tables: sums, integrals, limits, derivatives, matrices."""

from __future__ import annotations

from collections.abc import Callable

from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Cursor, Node

__all__ = ["Calculus", "counted_sum"]

_MATRICES = frozenset({"matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "Vmatrix", "smallmatrix", "array"})


_CASES = frozenset({"cases", "dcases", "rcases"})


class Calculus(Cursor):
    """The part of the parser that knows them; the rules for all else are the parser's."""

    variable: str | None = None
    """What the integral around runs over, empty until it is known; None outside of integrals."""

    def inner(self, rule: Callable[[], Node]) -> Node:
        """Something in brackets, where bars and the integral around mean nothing."""
        raise NotImplementedError

    def whole_product(self) -> Node:
        """A product to its end."""
        raise NotImplementedError

    def power(self) -> Node:
        """What binds more closely than a product."""
        raise NotImplementedError

    def group(self) -> Node:
        """What a command takes."""
        raise NotImplementedError

    def sum(self) -> Node:
        """An expression."""
        raise NotImplementedError

    def exponent(self) -> Node:
        """What stands behind ``^``."""
        raise NotImplementedError

    def clause(self) -> Node:
        """An expression, or several with relations between them."""
        raise NotImplementedError

    def differential_quotient(self) -> str:
        r"""``\frac{dy}{dx}`` is one name."""
        found = self.ahead("{", "name", "name", "}", "{", "name", "name", "}")
        if found and found[1].text == found[5].text and found[1].text in ("d", "partial"):
            self.at += len(found)
            return f"d{found[2].text}/d{found[6].text}"
        return ""

    def differential_operator(self) -> Node | None:
        r"""``\frac{d}{dx}`` and what it is put on."""
        found = self.ahead("{", "name", "}", "{", "name", "name", "}")
        if not found or found[1].text != found[4].text or found[1].text not in ("d", "partial"):
            return None
        self.at += len(found)
        return Node("diff", found[5].text, (self.whole_product(),))

    def limits(self) -> tuple[Node | None, Node | None]:
        low = high = None
        while self.kind in ("_", "^"):
            if self.take().kind == "_":
                low = self.inner(self.clause_group)
            else:
                high = self.exponent()
        return low, high

    def clause_group(self) -> Node:
        if self.has("{"):
            value = self.clause()
            if self.has("to"):
                value = Node("to", "", (value, self.sum()))
                if self.kind == "^":
                    raise Unreadable("limits from one side are not understood")
            self.expect("}")
            return value
        return self.signed_one()

    def signed_one(self) -> Node:
        if self.has("-"):
            return Node("neg", "", (self.group(),))
        return self.group()

    def series(self, kind: str) -> Node:
        low, high = self.limits()
        if low is not None and high is None and (low.op == "name" or low == Node("const", "i")):
            low = Node("relation", "=", (low,))  # over all that has this index
        elif low is None or high is None or low.op != "relation" or low.text != "=":
            raise Unreadable("a sum or product does not say from where to where")
        if low.parts[0].op != "name" and low.parts[0] != Node("const", "i"):
            raise Unreadable("a sum or product does not say over what it runs")
        index = "i" if low.parts[0].op == "const" else low.parts[0].text
        body = self.whole_product()
        if index == "i":
            body = _as_name(body, "i")
        return Node(kind, index, (body,) if high is None else (body, low.parts[1], high))

    def integral(self) -> Node:
        low, high = self.limits()
        if (low is None) != (high is None):
            raise Unreadable("an integral has one limit alone")
        outer, self.variable = self.variable, ""
        body = self.sum()
        variable, self.variable = self.variable, outer
        if body == Node("num", "1") and self.has("/"):  # of dx/x
            body = Node("div", "", (body, self.power()))
        if not variable:
            raise Unreadable("an integral does not say over what it runs")
        if low is None or high is None:
            return Node("anti", variable, (body,))
        return Node("int", variable, (body, low, high))

    def limit(self) -> Node:
        self.expect("_")
        where = self.inner(self.clause_group)
        if where.op != "to" or where.parts[0].op != "name":
            raise Unreadable("a limit does not say what goes where")
        return Node("lim", where.parts[0].text, (self.whole_product(), where.parts[1]))

    def cases(self) -> Node:
        """Values with the conditions under which they are."""
        pieces: list[Node] = []
        while not self.has("end"):
            value = self.inner(self.clause)
            if value.op == "relation":
                return self.system(value)
            while self.kind in (",", "&"):
                self.take()
            condition = Node("true") if self.has("else") else self.inner(self.condition)
            pieces.append(Node("piece", "", (value, condition)))
            if not self.has("\\\\") and self.kind != "end":
                raise Unreadable(f"expected the next case, found {self.found()}")
        if not pieces:
            raise Unreadable("it has no cases")
        return Node("piecewise", "", tuple(pieces))

    def system(self, first: Node) -> Node:
        """Equations below each other."""
        found = [first]
        while not self.has("end"):
            self.expect("\\\\")
            if self.kind != "end":
                found.append(self.inner(self.clause))
        return Node("list", "and", tuple(found)) if len(found) > 1 else first

    def condition(self) -> Node:
        parts = [self.clause()]
        signs = set()
        while self.kind in (",", ";", "and", "or"):
            sign = self.take().kind
            if self.kind in ("\\\\", "end"):
                break
            signs.add("and" if sign != "or" else sign)
            parts.append(self.clause())
        if len(signs) > 1:
            raise Unreadable("the condition of a case is not understood")
        return parts[0] if len(parts) == 1 else Node("list", "and" if "and" in signs else "", tuple(parts))

    def matrix(self, kind: str) -> Node:
        if kind.rstrip("*") in _CASES:
            return self.cases()
        if kind.rstrip("*") not in _MATRICES:
            raise Unreadable(f"the environment {kind} is not understood")
        rows: list[Node] = []
        cells: list[Node] = []
        while not self.has("end"):
            cells.append(self.inner(self.sum))
            if self.has("&"):
                continue
            rows.append(Node("row", "", tuple(cells)))
            cells = []
            if not self.has("\\\\") and self.kind != "end":
                raise Unreadable(f"expected the next cell of a matrix, found {self.found()}")
        if not rows or len({len(row.parts) for row in rows}) > 1:
            raise Unreadable("a matrix has rows of different lengths, or none")
        table = Node("matrix", "", tuple(rows))
        return Node("call", "det", (table,)) if kind == "vmatrix" else table


def _as_name(node: Node, name: str) -> Node:
    """With a constant read as the name that it is here."""
    if node == Node("const", name):
        return Node("name", name)
    return Node(node.op, node.text, tuple(_as_name(part, name) for part in node.parts))


def counted_sum(first: Node, last: Node) -> Node:
    """``x_1 + x_2 + ... + x_n`` as the sum that it is. Raises `Unreadable` where it is not said how it goes on."""
    terms = [last]
    while first.op == "add":
        first, term = first.parts
        terms.insert(0, term)
    terms.insert(0, first)
    index = next(letter for letter in "ijklm" if letter != _below(terms[-1]))
    body, ends = _term(terms, index) if len(terms) > 1 else (None, set())
    if body is None or len(ends) != 1:
        raise Unreadable("the dots do not say how it goes on")
    low, high = ends.pop()
    return Node("sum", index, (body, Node("num", low), Node("name", high)))


def _term(alike: list[Node], index: str) -> tuple[Node | None, set[tuple[str, str]]]:
    """What terms have in common, with an index where they are counted, and from where to where."""
    first = alike[0]
    if all(node == first for node in alike):
        return first, set()
    names = [node.text.partition("_") for node in alike]
    if all(node.op == "name" for node in alike) and len({base for base, _, _ in names}) == 1:
        *before, high = (below for _, _, below in names)
        low = before[0]
        if low.isdecimal() and high.isalpha() and before == [str(int(low) + step) for step in range(len(before))]:
            return Node("name", f"{names[0][0]}_{index}"), {(low, high)}
        return None, set()
    if len({(node.op, node.text, len(node.parts)) for node in alike}) > 1:
        return None, set()
    found = [_term([node.parts[at] for node in alike], index) for at in range(len(first.parts))]
    parts = tuple(part for part, _ in found if part is not None)
    ends: set[tuple[str, str]] = set().union(*(each for _, each in found))
    return (Node(first.op, first.text, parts), ends) if len(parts) == len(found) else (None, ends)


def _below(tree: Node) -> str:
    """The first subscript in a tree."""
    below = tree.text.partition("_")[2] if tree.op == "name" else ""
    return below or next(filter(None, map(_below, tree.parts)), "")
