"""What formulas are read into, and the place in the tokens that reading has come to."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_webarena.checks.computed.tokens import Token, Unreadable
from pytest_webarena.checks.computed.units import Unit

__all__ = ["Cursor", "Node", "Reading", "of_vectors", "stands_alone"]


@dataclass(frozen=True, slots=True)
class Node:
    """A number, a name or an operation on others; relations, lists, sets, tuples and matrices are operations too."""

    op: str
    text: str = ""
    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a text says."""

    tree: Node
    ambiguous: bool = False
    """Whether a product stands behind a division line, as in ``a/bc``."""
    signs: bool = False
    """Whether it has a ±."""
    sure: bool = True
    """Whether it is the only formula in the text."""
    unit: Unit | None = None
    """The unit behind the formula."""
    label: str | None = None
    """The words of the formula's clause before it, if it is in a sentence."""


def of_vectors(sign: str, left: Node, right: Node) -> Node:
    """A product of vectors, of which the first may be the last factor of a product."""
    if left.op == "mul":
        return Node("mul", left.text, (left.parts[0], Node(sign, "", (left.parts[1], right))))
    return Node(sign, "", (left, right))


def stands_alone(tree: Node) -> bool:
    """Whether there is an integral without limits that is not said to be equal to something behind it."""
    if tree.op == "anti":
        return True
    if tree.op == "relation" and tree.text.strip("= ") == "":
        *before, last = tree.parts
        parts = [part.parts[0] if part.op == "anti" else part for part in before]
        return any(map(stands_alone, (*parts, last)))
    return any(map(stands_alone, tree.parts))


class Cursor:
    """Tokens, and how far they are read."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def kind(self) -> str:
        return self.tokens[self.at].kind if self.at < len(self.tokens) else ""

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def has(self, kind: str) -> bool:
        """Take a token if it is of this kind."""
        if self.kind == kind:
            self.at += 1
            return True
        return False

    def expect(self, kind: str) -> None:
        if not self.has(kind):
            raise Unreadable(f"expected '{kind}', found {self.found()}")

    def found(self) -> str:
        return f"'{self.tokens[self.at]}'" if self.at < len(self.tokens) else "the end"

    def ahead(self, *kinds: str) -> list[Token] | None:
        """The next tokens if they are of these kinds."""
        found = self.tokens[self.at : self.at + len(kinds)]
        return found if [token.kind for token in found] == list(kinds) else None
