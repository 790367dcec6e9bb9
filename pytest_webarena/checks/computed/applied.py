"""Reading what is put on something else: functions, calls, fractions, roots, binomials."""

from __future__ import annotations

from pytest_webarena.checks.computed.calculus import Calculus
from pytest_webarena.checks.computed.calls import made_by
from pytest_webarena.checks.computed.names import words
from pytest_webarena.checks.computed.tokens import Token, Unreadable
from pytest_webarena.checks.computed.tree import Node

__all__ = ["Applied"]

_MANY = frozenset({"min", "max", "gcd", "lcm", "binomial"})
"""Functions of several values."""
_INVERSES = frozenset(f"a{name}" for name in words("sin cos tan cot sec csc sinh cosh tanh coth sech csch"))


class Applied(Calculus):
    """The part of the parser that knows them; the rules for all else are the parser's."""

    def starts(self) -> bool:
        """Whether a factor begins here, with no sign before it."""
        raise NotImplementedError

    def factor(self) -> Node:
        """A power with an optional sign."""
        raise NotImplementedError

    def power(self) -> Node:
        """What binds more closely than a product."""
        raise NotImplementedError

    def postfix(self) -> Node:
        """A value with the marks behind it."""
        raise NotImplementedError

    def atom(self) -> Node:
        """A single value."""
        raise NotImplementedError

    def called(self, name: str) -> Node:
        closing = {"(": ")", "[": "]"}[self.take().kind]
        arguments = [self.inner(self.argument)]
        while self.has(","):
            arguments.append(self.inner(self.argument))
        self.expect(closing)
        return made_by(name, tuple(arguments))

    def argument(self) -> Node:
        return Node("true") if self.has("else") else self.clause()

    def function(self, name: str) -> Node:
        base = power = None
        while self.kind in ("_", "^"):
            if self.take().kind == "_":
                base = self.postfix_one()
            else:
                power = self.exponent()
        if name == "sqrt":
            return self.sqrt() if power is None else Node("pow", "", (self.sqrt(), power))
        arguments = self.arguments(name)
        if base is not None:
            if name != "log":
                raise Unreadable(f"'{name}' has a subscript")
            arguments = (arguments[0], base)
        inverse = power is not None and power in (Node("neg", "", (Node("num", "1"),)), Node("num", "-1"))
        if inverse and f"a{name}" in _INVERSES:
            return Node("call", f"a{name}", arguments)
        value = Node("call", name, arguments)
        return value if power is None else Node("pow", "", (value, power))

    def postfix_one(self) -> Node:
        """What a subscript of a function is: a single thing."""
        return self.atom()

    def arguments(self, name: str) -> tuple[Node, ...]:
        if self.kind in ("(", "[", "{", "\\{"):
            value = self.atom()
            if value.op in ("tuple", "set") and name in _MANY | {"log"}:
                return value.parts
            if value.op == "set" and len(value.parts) == 1:
                return value.parts
            if name in _MANY and self.kind == "{":
                return (value, self.atom())
            return (value,)
        if self.kind in ("-", "+"):
            return (self.factor(),)
        if not self.starts():
            raise Unreadable(f"'{name}' has no argument")
        value = self.power()
        while self.kind in ("num", "name", "const", "frac", "sqrt", "{") and not self.variable:
            if self.kind == "name" and self.tokens[self.at].text == "d" and self.variable == "":
                break
            value = Node("mul", "", (value, self.power()))
        return (value,)

    def group(self) -> Node:
        """What a command takes: a group, or one digit or name, as in ``\\frac12``."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if token and token.kind == "num" and len(token.text) > 1 and token.text.isdigit():
            self.tokens[self.at : self.at + 1] = [Token("num", digit) for digit in token.text]
        return self.atom()

    def frac(self) -> Node:
        start = self.at
        if name := self.differential_quotient():
            return Node("name", name)
        if operator := self.differential_operator():
            return operator
        self.at = start
        above = self.group()
        variable = self.variable  # of dx above the line, which does not end what is below it
        self.variable = variable and None
        below = self.group()
        self.variable = variable or self.variable
        return Node("div", "", (above, below))

    def sqrt(self) -> Node:
        degree = None
        if self.has("["):
            degree = self.inner(self.sum)
            self.expect("]")
            if degree.op not in ("num", "name") or not self.starts():
                return Node("root", "", (degree,))  # it is what the root is taken of
        value = self.group() if self.kind in ("{", "(") or self.kind == "num" else self.postfix()
        return Node("root", "", (value,) if degree is None else (value, degree))

    def binom(self) -> Node:
        above, below = self.group(), self.group()
        if below.op != "set":
            return Node("call", "binomial", (above, below))
        value = Node("call", "fact", (above,))  # in more than two heaps
        for part in below.parts:
            value = Node("div", "", (value, Node("call", "fact", (part,))))
        return value
