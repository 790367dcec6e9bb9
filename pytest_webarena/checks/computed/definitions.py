r"""What an answer says of the names in its formula: ``p q/n, where q = 1 - p``.

A name of the answer's own is put in. A name that the reference has, too, means there what the task says, and an answer
that gives it another meaning says something else: ``m g h, where g = 2 g``. A definition can't be passed over: it is
put in, or it is the task's own, or it only gives arbitrary constants other names.
"""

from __future__ import annotations

import re

from pytest_webarena.checks.computed.building import build, names_in
from pytest_webarena.checks.computed.conventions import arbitrary, with_value
from pytest_webarena.checks.computed.labels import said_in
from pytest_webarena.checks.computed.structures import is_inequality
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Node

__all__ = ["Definitions", "Redefined"]

_CONSTANTS = re.compile(r"(?:[CcKkABD]|const)(?:_\w+)?")
_ARBITRARY = re.compile(r"[Cc](?:_\w+)?|const")
_MOST = 6
_COMPARED = ("<", "<=", ">", ">=", "!=", "in")


class Redefined(Exception):
    """What an answer says of a name of the reference."""


class Definitions:
    """A formula and what is said of its names."""

    def __init__(self, given: Node, wanted: Node, intent: str) -> None:
        self.base, *self.said = given.parts
        self.wanted = wanted
        self.there = names_in(wanted)
        self.intent = intent

    def put_in(self) -> Node:
        """The formula that is meant. Raises `Redefined`, and `Unreadable` where that can't be determined."""
        if len(self.said) > _MOST:
            raise Unreadable("it says too much of its names")
        values: dict[str, Node] = {}
        for said in self.said:
            if not self.is_condition(said) and (found := self.definition(said)) is not None:
                if found[0] in values:
                    raise Unreadable(f"it says twice what {found[0]} is")
                values[found[0]] = found[1]
        used = names_in(self.base).union(self.there, *map(names_in, values.values()))
        for name in values.keys() - used:
            if not names_in(values[name]):
                raise Redefined(f"it is said of one value of {name} alone")
        meant = self.base
        for _ in values:
            for name, value in values.items():
                meant = self.with_meaning(meant, name, value)
        for name in values.keys() & self.there:
            raise Redefined(f"it says of {name} what the reference does not")
        for name in values.keys() & names_in(meant):
            raise Unreadable(f"it explains {name} by {name}")
        return meant

    def is_condition(self, said: Node) -> bool:
        """Whether it only says where the formula holds."""
        compared = said.op == "relation" and all(sign in _COMPARED for sign in said.text.split())
        return compared and not is_inequality(self.wanted)

    def definition(self, said: Node) -> tuple[str, Node] | None:
        """The name and its meaning, unless that changes nothing."""
        if said.op != "relation" or said.text != "=":
            raise Unreadable("what it says of its names is not understood")
        named, value = said.parts[:2]
        if named.op == "pow" and named.parts[1].op == "num":
            named, value = named.parts[0], Node("root", "", (value, named.parts[1]))  # of a square
        if named.op != "name":
            raise Unreadable("what it says of its names is not understood")
        name = named.text
        if value == named or said_in(said, self.intent) or self.renames(name, value):
            return None
        if name in self.there and not names_in(value):
            raise Redefined(f"it is said of one value of {name} alone")
        if name in self.there and name in names_in(value):
            raise Redefined(f"it says that {name} is something else than {name}")
        return name, value

    def renames(self, name: str, value: Node) -> bool:
        """Whether it gives an arbitrary constant by others that nothing else has: ``A = e^C``."""
        others = names_in(value)
        if not others or not _CONSTANTS.fullmatch(name) or not all(map(_CONSTANTS.fullmatch, others)):
            return False
        formula = self.base.parts[-1] if self.base.op == "relation" else self.base
        if others & names_in(self.base) or not all(map(_ARBITRARY.fullmatch, others & self.there)):
            return False
        try:
            return arbitrary(build(formula), [name])
        except Unreadable:
            return False

    def with_meaning(self, tree: Node, name: str, value: Node) -> Node:
        """With a meaning put in on the right sides; what a name stands left of is what it is."""
        if tree.op == "relation" and tree.parts[0] == Node("name", name):
            return Node(
                tree.op, tree.text, (tree.parts[0], *(self.with_meaning(p, name, value) for p in tree.parts[1:]))
            )
        return with_value(tree, name, value)
