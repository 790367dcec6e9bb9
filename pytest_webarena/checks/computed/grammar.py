"""Formulas as trees: the tokens of a text, read by precedence.

A tree is plain data, so that task files can be checked without SymPy. Why a reader of our own: `latex2sympy2-extended`
reads plain ``sin(x)`` as s·i·n·x and takes ``C`` and ``c`` for one name, and SymPy's own readers run what they read.

What is ambiguous is read as most people mean it, and noted: ``a/bc`` is (a/b)·c, and `Reading.ambiguous` says that it
may be a/(bc).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace

from pytest_webarena.checks.computed.applied import Applied
from pytest_webarena.checks.computed.calculus import counted_sum
from pytest_webarena.checks.computed.phrasing import bare_formula
from pytest_webarena.checks.computed.prose import statement
from pytest_webarena.checks.computed.tokens import LONGEST, Token, Unreadable, tokenise, unwrap
from pytest_webarena.checks.computed.tree import Node, Reading, of_vectors, stands_alone

__all__ = ["parse"]

DEEPEST = 40
"""Brackets within brackets."""


_STRUCK = re.compile(r"~~(?![\s~=<>]|\\(?:text|mathrm|quad|to|Right|implies))[^~]*[^\s~=<>]~~|<(?:s|del|strike)>")
_STARTS = frozenset(
    {"num", "name", "const", "func", "(", "[", "{", "\\{", "|(", "floor(", "ceil(", "<(", "frac", "sqrt", "binom"}
    | {"int", "sum", "prod", "lim", "begin", "empty", "call"}
)
_CLOSING = {"(": (")", "]"), "[": ("]", ")"), "{": ("}",), "\\{": ("\\}",), "<(": (">)",)}
_ROUND = {"|(": ("|)", "abs"), "floor(": ("floor)", "floor"), "ceil(": ("ceil)", "ceil")}


def parse(text: str, known: Collection[str] = (), *, tight: bool = False, question: str = "") -> Reading:
    """Read a formula. ``tight``: a product without a sign binds more closely than a division. ``question``: what was
    asked, whose words may be around it.

    >>> parse("x + 1").tree
    Node(op='add', text='', parts=(Node(op='name', text='x', parts=()), Node(op='num', text='1', parts=())))
    >>> parse("1/2 x").ambiguous, parse("a/b c").ambiguous
    (False, True)

    Raises `Unreadable`.
    """
    if _STRUCK.search(text):
        raise Unreadable("part of it is struck out")
    bare, unit = bare_formula(text[-LONGEST:], known)
    said = statement(bare, question)
    formula, sure = (said.formula, said.sure) if said is not None else (text, True)
    unit = unit or bare_formula(unwrap(formula), known)[1]
    return replace(_read(formula, known, tight), sure=sure, unit=unit, label=said.label if said else None)


def _read(text: str, known: Collection[str], tight: bool) -> Reading:
    tokens = tokenise(text, known)
    if not tokens:
        raise Unreadable("it is empty")
    return _Parser(tokens, tight).reading()


class _Parser(Applied):
    def __init__(self, tokens: list[Token], tight: bool) -> None:
        super().__init__(tokens)
        self.tight = tight
        self.depth = 0
        self.bars = 0
        self.ambiguous = self.signs = False

    # Statements

    def reading(self) -> Reading:
        tree = self.choosing()
        if self.has("where"):
            said = self.listed()
            tree = Node("where", "", (tree, *(said.parts if said.op == "list" else (said,))))
        if self.kind:
            raise Unreadable(f"expected an end or an operator, found {self.found()}")
        if stands_alone(tree):
            raise Unreadable("an integral without limits stands for no value")
        return Reading(tree=tree, ambiguous=self.ambiguous, signs=self.signs)

    def listed(self) -> Node:
        items = [self.argument()]
        joined = set()
        while self.kind in (",", ";", "or", "and"):
            sign = self.take().kind
            while self.kind in ("or", "and"):
                sign = self.take().kind
            joined.add(sign)
            items.append(self.argument())
        return items[0] if len(items) == 1 else Node("list", "and" if joined == {"and"} else "", tuple(items))

    def clause(self) -> Node:
        """Sums between relations, and unions of intervals."""
        sides = [self.union()]
        signs: list[str] = []
        while self.kind == "rel":
            sign = self.take().text
            if sign == "=>":  # what counts is what is concluded
                sides, signs = [self.union()], []
                continue
            signs.append(sign)
            sides.append(self.union())
        if self.has("pmod"):
            return Node("congruence", "", (*sides, self.group()))
        return sides[0] if not signs else Node("relation", " ".join(signs), tuple(sides))

    def union(self) -> Node:
        first = self.sum()
        while self.kind in ("setminus", "cap", "cup"):
            sign = self.take().kind
            items = [first, self.sum()]
            while sign == "cup" and self.has("cup"):
                items.append(self.sum())
            first = Node("set" if sign == "cup" else sign, "", tuple(items))
        return first

    # Expressions

    def sum(self) -> Node:
        left = self.signed()
        while not self.variable and self.kind in ("+", "-", "pm", "mp"):
            sign = self.take().kind
            if sign == "+" and self.has("..."):
                self.expect("+")
                left = counted_sum(left, self.product(self.factor()))
                continue
            right = self.product(self.factor())
            if sign in ("pm", "mp"):
                self.signs = True
            left = Node({"+": "add", "-": "sub"}.get(sign, sign), "", (left, right))
        return left

    def signed(self) -> Node:
        sign = self.take().kind if self.kind in ("+", "-", "pm", "mp") else ""
        value = self.product(self.factor())
        if not sign or sign == "+":
            return value
        if sign == "-":
            return Node("neg", "", (value,))
        self.signs = True
        return Node(sign, "", (Node("num", "0"), value))

    def whole_product(self) -> Node:
        return self.product(self.factor())

    def product(self, left: Node) -> Node:
        last_number = left.op == "num"
        while not self.variable:
            if self.kind == "*":
                left = Node("mul", self.take().text, (left, self.factor()))
            elif self.has("/"):
                left = Node("div", "", (left, self.divisor(left)))
            elif self.kind in ("cross", "dotted"):
                left = of_vectors(self.take().kind, left, self.power())
            elif self.has("mod"):
                left = Node("mod", "", (left, self.factor()))
            elif self.starts():
                if last_number and self.kind == "num":
                    raise Unreadable("two numbers stand side by side")
                mixed = last_number and self.kind == "frac"
                applied = "()" if self.kind == "(" and left.op in ("name", "pow") else ""
                right = self.power()
                if mixed and "." not in left.text and _is_proper(right):
                    left = Node("add", "", (left, right))  # 2½
                else:
                    left = Node("mul", applied, (left, right))
                last_number = False
                continue
            else:
                break
            last_number = False
        return left

    def divisor(self, left: Node) -> Node:
        right = self.factor()
        plain = left.op == "num" and right.op == "num" and not self.at_pi()
        if self.starts() and not plain:
            self.ambiguous = True
            while self.tight and self.starts():
                right = Node("mul", "", (right, self.power()))
        elif self.starts() and right.op == "num" and self.tight:
            self.ambiguous = True
        return right

    def at_pi(self) -> bool:
        """Whether a π comes next, which in ``1/2π`` most people mean to be below the line."""
        return self.kind == "const" and self.tokens[self.at].text == "pi"

    def starts(self) -> bool:
        """Whether a factor begins here, with no sign before it."""
        return self.kind in _STARTS or (self.kind == "|" and not self.bars)

    def factor(self) -> Node:
        """A power with an optional sign."""
        if self.kind in ("-", "+"):
            sign = self.take().kind
            self.deeper()
            value = self.factor()
            self.depth -= 1
            return Node("neg", "", (value,)) if sign == "-" else value
        return self.power()

    def power(self) -> Node:
        base = self.postfix()
        while self.kind == "^":
            self.take()
            base = self.raised(base)
        return base

    def raised(self, base: Node) -> Node:
        if self.kind == "deg" and _is_standard(base):
            self.take()
            return Node("name", f"{base.text}°")
        if self.ahead("{", "deg", "}") and _is_standard(base):
            self.at += 3
            return Node("name", f"{base.text}°")
        if self.has("deg"):
            return Node("mul", "", (base, Node("degree")))
        if self.ahead("{", "deg", "}"):
            self.at += 3
            return Node("mul", "", (base, Node("degree")))
        for count in (1, 2, 3):
            if self.ahead("{", *"'" * count, "}"):
                self.at += count + 2
                return self.marked(base, "'" * count)
        if self.ahead("{", "*", "}"):
            self.at += 3
            return self.marked(base, "*")
        if self.kind == "'":
            marks = ""
            while self.has("'"):
                marks += "'"
            return self.marked(base, marks)
        if self.has("*"):
            return self.marked(base, "*")
        if base.op == "tuple" and base.text in ("()", "[]"):
            if self.exponent() != Node("name", "T"):
                raise Unreadable("a tuple is raised to a power")
            return Node("matrix", "", tuple(Node("row", "", (part,)) for part in base.parts))
        return Node("pow", "", (base, self.exponent()))

    def marked(self, base: Node, marks: str) -> Node:
        """A name with primes, or with a star."""
        if base.op != "name":
            raise Unreadable(f"{marks} stands behind something that is no name")
        return Node("name", base.text + marks)

    def exponent(self) -> Node:
        if self.kind in ("-", "+"):
            sign = self.take().kind
            value = self.exponent()
            return Node("neg", "", (value,)) if sign == "-" else value
        self.deeper()
        value = self.postfix()
        if self.kind == "^":
            self.take()
            value = Node("pow", "", (value, self.exponent()))
        self.depth -= 1
        return value

    def postfix(self) -> Node:
        value = self.atom()
        while self.kind in ("!", "deg", "%"):
            mark = self.take().kind
            if mark == "%":
                value = Node("div", "", (value, Node("num", "100")))
            elif mark == "deg" and _is_standard(value):
                value = Node("name", f"{value.text}°")
            elif mark == "deg":
                value = Node("mul", "", (value, Node("degree")))
            elif self.has("!"):
                value = Node("call", "fact2", (value,))
            else:
                value = Node("call", "fact", (value,))
        return value

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unreadable(f"it is nested more than {DEEPEST} deep")

    def atom(self) -> Node:
        if not self.kind:
            raise Unreadable("it breaks off")
        self.deeper()
        value = self._atom()
        self.depth -= 1
        return value

    def _atom(self) -> Node:
        token = self.take()
        kind = token.kind
        if kind == "name" and token.text == "d" and self.variable == "" and self.kind in ("name", "const"):
            self.variable = self.take().text
            return Node("num", "1")
        if kind in ("num", "name", "const"):
            return Node(kind, token.text)
        if kind == "func":
            return self.function(token.text)
        if kind in _CLOSING:
            return self.bracketed(kind)
        if kind == "|":
            return self.bar()
        if kind in _ROUND:
            closing, name = _ROUND[kind]
            value = self.inner(self.sum)
            self.expect(closing)
            return Node("call", name, (value,))
        if kind == "empty":
            return Node("set")
        if kind == "call":
            return self.called(token.text)
        if kind in ("frac", "binom", "sqrt"):
            return getattr(self, kind)()  # type: ignore[no-any-return]
        if kind in ("sum", "prod"):
            return self.series(kind)
        if kind == "int":
            return self.integral()
        if kind == "lim":
            return self.limit()
        if kind == "begin":
            return self.matrix(token.text)
        raise Unreadable(f"expected a value, found '{token}'")

    def inner(self, rule: Callable[[], Node]) -> Node:
        bars, self.bars = self.bars, 0
        variable, self.variable = self.variable, None
        value = rule()
        self.bars, self.variable = bars, variable
        return value

    def bracketed(self, opening: str) -> Node:
        if opening == "\\{" and self.has("\\}"):
            return Node("set")
        value = self.inner_list(opening)
        closing = self.take().kind if self.kind else ""
        if closing not in _CLOSING[opening]:
            raise Unreadable(f"a bracket '{opening}' is not closed")
        many = value.op == "list"
        if opening == "\\{" or (opening == "{" and many):
            return Node("set", "", value.parts if many else (value,))
        if many:
            rows = opening == "[" and all(part.op == "tuple" and part.text == "[]" for part in value.parts)
            if rows:
                return Node("matrix", "", tuple(Node("row", "", part.parts) for part in value.parts))
            return Node("tuple", "()" if opening == "<(" else opening + closing, value.parts)
        if opening == "<(":
            return Node("tuple", "()", (value,))
        if {opening, closing} == {"(", "]"} or {opening, closing} == {"[", ")"}:
            raise Unreadable("a bracket is closed by one of another form")
        if opening == "[" and value.op == "tuple" and value.text == "[]":
            return Node("matrix", "", (Node("row", "", value.parts),))
        return value

    def inner_list(self, opening: str) -> Node:
        if opening == "{":  # grouping, which an integral's d may be inside of
            bars, self.bars = self.bars, 0
            value = self.choosing()
            self.bars = bars
            return value
        return self.inner(self.listed)

    def choosing(self) -> Node:
        value = self.listed()
        if self.has("choose"):
            return Node("call", "binomial", (value, self.sum()))
        if self.has("over"):
            return Node("div", "", (value, self.sum()))
        return value

    def bar(self) -> Node:
        bars, self.bars = self.bars, 1
        variable, self.variable = self.variable, None
        value = self.sum()
        self.expect("|")
        self.bars, self.variable = bars, variable
        return Node("call", "abs", (value,))


def _is_standard(base: Node) -> bool:
    """Whether a ring above it says that it is one under standard conditions, and no angle."""
    return base.op == "name" and base.text.partition("_")[0].removeprefix("Delta ") in ("E", "G", "H", "K", "S")


def _is_proper(node: Node) -> bool:
    """Whether it is a fraction of two whole numbers, below one."""
    if node.op != "div" or any(part.op != "num" or not part.text.isdigit() for part in node.parts):
        return False
    above, below = (int(part.text[:20]) for part in node.parts)
    return above < below
