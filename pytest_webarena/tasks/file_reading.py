"""State of reading one task file: collects problems and fills templates."""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from pytest_webarena.errors import Problem
from pytest_webarena.tasks.comments import TextForm, is_suspicious, left_open
from pytest_webarena.tasks.known_sites import KnownSites
from pytest_webarena.tasks.model import Location
from pytest_webarena.tasks.nodes import PLAIN, QUOTED, RENDERED, ListNode, MapNode, Node, ScalarNode, near
from pytest_webarena.tasks.scalars import BOOLS, NULLS, json_scalar
from pytest_webarena.tasks.templates import TemplateProblem, Variable, fill_text, undefined, whole_name
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Location

__all__ = ["INVALID", "MAX_PROBLEMS", "Entries", "Invalid", "Reading", "TooManyProblems", "shown"]

MAX_PROBLEMS = 200
"""Maximum number of problems; reading stops there, because further ones mostly result from earlier ones."""

Entries = dict[str, tuple[Node, Node]]
"""Maps a key's text to its key node and value node."""


class Invalid(enum.Enum):
    """The result of reading a faulty value, after its problem was noted."""

    INVALID = 0


INVALID: Final[Literal[Invalid.INVALID]] = Invalid.INVALID


class TooManyProblems(Exception):
    """Reading stopped at `MAX_PROBLEMS`."""


class Reading:
    """One file being read. Problems are collected, never raised, so that one pass finds them all."""

    def __init__(self, path: str, *, catalogue: Collection[str] | None = None) -> None:
        self.path = path
        self.catalogue = catalogue
        """Names of the existing sites; a mapping also has their accounts. None when they are not known here."""
        self.problems: list[Problem] = []
        self.variables: Mapping[str, Variable] = {}
        """Variables of templates in the instance being read."""
        self.sites: tuple[str, ...] | None = None
        """Sites of the task being read; None while unknown or faulty."""
        self.imported = False
        """Whether the task being read is from a published suite: it may name sites that the catalogue lacks."""
        self.warnings: dict[tuple[int, int], Problem] = {}
        """Values that are valid but may be a mistake, by line and column."""
        self._seen: set[Problem] = set()

    def problem(self, node: Node | Location, expected: str, found: str, hint: str = "") -> Literal[Invalid.INVALID]:
        """Note a problem at ``node``, unless it is already noted, and return `INVALID` for the caller to return."""
        problem = self._problem(node, expected, found, hint)
        if problem not in self._seen:
            self._seen.add(problem)
            self.problems.append(problem)
            if len(self.problems) >= MAX_PROBLEMS:
                raise TooManyProblems
        return INVALID

    def _problem(self, node: Node | Location, expected: str, found: str, hint: str) -> Problem:
        if len(expected + found + hint) > 300 or not (expected + found + hint).isprintable():
            expected, found, hint = (clip(text, 300) for text in (expected, found, hint))  # they may quote the file
        return Problem(path=self.path, line=node.line, column=node.column, expected=expected, found=found, hint=hint)

    def is_whole(self, node: ScalarNode, form: TextForm = "prose") -> bool:
        """Returns whether the text of ``node`` is complete. Notes a problem if a comment cut it, or a warning if one
        may have."""
        if node.comment is None or form == "word":
            return True
        found = f"'{clip(node.value)}' before the comment '{clip(f'#{node.comment}', 40)}'"
        if left_open(node.value, node.comment, form):
            expected = "closed quotes and brackets before a comment"
            self.problem(node, expected, found, "put the whole text in quotes: without them YAML ends it at ' #'")
            return False
        if is_suspicious(node.value, node.comment, form):
            hint = "without quotes YAML ends a text at ' #': put it in quotes, or the comment on a line of its own"
            self.warning(node, "text in quotes before a comment", found, hint)
        return True

    def accounts(self, *sites: str) -> Collection[str] | None:
        """Returns the names of all accounts of ``sites``; None when they are not known here."""
        if not isinstance(self.catalogue, Mapping):
            return None
        if self.imported and not all(site in self.catalogue for site in sites):
            return None
        known = [self.catalogue.get(site, ()) for site in sites]
        if any(names is None for names in known):
            return None
        return dict.fromkeys(name for names in known for name in names)

    def may_name(self, site: str) -> bool:
        """Whether the task being read may name this site: it is in the catalogue, or the catalogue is not known
        here."""
        return self.catalogue is None or site in self.catalogue or self.imported

    def foreign_host(self, url: str) -> tuple[str, str] | None:
        """Returns the host of a full address that no site of the catalogue has, and a hint; None when one may have
        it."""
        if self.imported or not isinstance(self.catalogue, KnownSites):
            return None
        return self.catalogue.foreign_host(url)

    def wrong_database(self, site: str, database: str) -> tuple[str, str, str] | None:
        """Returns the problem with ``database`` (``""``: the main one) for SQL on ``site``; None when there is none."""
        return self.catalogue.wrong_database(site, database) if isinstance(self.catalogue, KnownSites) else None

    def warning(self, node: Node, expected: str, found: str, hint: str) -> None:
        """Note a value at ``node`` that is valid but may be a mistake."""
        self.warnings.setdefault((node.line, node.column), self._problem(node, expected, found, hint))

    def location(self, node: Node) -> Location:
        """Returns the location of ``node``, as tasks and checks record it."""
        from pytest_webarena.tasks.model import Location

        return Location(path=self.path, line=node.line, column=node.column)

    def fill(self, node: ScalarNode) -> Node | None:
        """Returns the value of a template scalar; None, with a problem noted, when it can't be filled.

        A string that is a single variable becomes that variable's value of any type; otherwise the variables are
        inserted into the text.
        """
        try:
            name = whole_name(node.value)
            if name is None:
                text = fill_text(node.value, self.variables)
                return ScalarNode(text, RENDERED, False, node.line, node.column)
            if name not in self.variables:
                raise undefined(name, self.variables)
            return self.variables[name].node
        except TemplateProblem as problem:
            self.problem(node, problem.expected, problem.found, problem.hint)
            return None

    def entries(self, node: MapNode) -> Entries:
        """Returns the keys and values of a mapping with merges resolved. Notes keys that are not text or occur
        twice."""
        if node.entries is not None:
            return node.entries
        entries: Entries = {}
        merged: list[tuple[Node, Node]] = []
        items = node.items
        for index in range(0, len(items), 2):
            key, value = items[index], items[index + 1]
            if key.__class__ is not ScalarNode:
                hint = "put text that starts with '{{' in quotes" if isinstance(key, MapNode) else ""
                self.problem(key, "a key", shown(key), hint)
                continue
            name = key.value
            if name == "<<" and key.style == PLAIN:
                merged.append((key, value))
            elif name in entries:
                first = entries[name][0].line
                self.problem(key, "each key once", f"'{clip(name)}' again", f"first in line {first}")
            else:
                entries[name] = (key, value)
        for key, value in merged:
            for source in value.items if isinstance(value, ListNode) else [value]:
                if not isinstance(source, MapNode) or source is node:
                    self.problem(key, "a mapping to merge with '<<'", shown(source))
                    continue
                for name, pair in self.entries(source).items():
                    entries.setdefault(name, pair)
        node.entries = entries
        return entries

    def unknown_key(self, key: Node, name: str, owner: str, known: Collection[str], hint: str = "") -> None:
        """Note a key that its owner does not have. ``hint`` is for one that is like no known key."""
        close = near(name, known)
        self.problem(
            key, f"a key of {owner}", f"'{clip(name)}'", hint if hint and close.startswith("known:") else close
        )

    def json(self, node: Node) -> Any:
        """Returns ``node`` as plain data; `INVALID` when a template in it can't be filled."""
        if node.dynamic and node.__class__ is ScalarNode:
            if not self.is_whole(node):
                return INVALID
            filled = self.fill(node)
            if filled is None:
                return INVALID
            node = filled
        if node.__class__ is ScalarNode:
            if not self.is_whole(node):
                return INVALID
            if node.style == PLAIN and _NO_JSON.fullmatch(node.value):
                return self.problem(node, "a JSON value", f"'{node.value}'", "JSON has no such number; quote a text")
            return json_scalar(node.value) if node.style == PLAIN else node.value
        if node.__class__ is ListNode:
            values = [self.json(item) for item in node.items]
            return INVALID if any(value is INVALID for value in values) else values
        assert isinstance(node, MapNode)
        pairs = {name: self.json(value) for name, (_, value) in self.entries(node).items()}
        return INVALID if any(value is INVALID for value in pairs.values()) else pairs


_NO_JSON = re.compile(r"[-+]?\.(?:inf|nan)", re.IGNORECASE)
"""Numbers of YAML that JSON does not have."""


def shown(node: Node) -> str:
    """Returns a short description of ``node`` for a message."""
    if isinstance(node, ListNode):
        return f"a list of {len(node.items)}" if node.items else "an empty list"
    if isinstance(node, MapNode):
        keys = [clip(item.value, 20) for item in node.items[::2] if isinstance(item, ScalarNode)]
        more = ", …" if len(keys) > 3 else ""
        return f"a mapping with {', '.join(keys[:3])}{more}" if keys else "a mapping"
    text = node.value
    if node.style == QUOTED:
        return f"the text '{clip(text)}'" if text else "an empty text"
    if text in NULLS:
        return "nothing"
    if text in BOOLS:
        return text
    kind = "the number " if isinstance(json_scalar(text), int | float) else ""
    return f"{kind}{clip(text)}" if kind else f"'{clip(text)}'"
