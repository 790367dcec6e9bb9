"""Selectors as values: CSS, and of Playwright's forms those that a recorded element can answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Attribute",
    "Complex",
    "Compound",
    "Css",
    "Nth",
    "Opaque",
    "ParsedSelector",
    "Part",
    "Pseudo",
    "Role",
    "Tag",
    "Test",
    "TextIs",
]


@dataclass(frozen=True, slots=True)
class Tag:
    """An element of this name; empty: any."""

    name: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """A condition on an attribute; without an operator: it is there."""

    name: str
    operator: Literal["", "=", "~=", "|=", "^=", "$=", "*="] = ""
    value: str = ""
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Nth:
    """Its place among its parent's children is ``step * n + offset`` for an n from 0."""

    step: int
    offset: int
    of_type: bool = False
    from_end: bool = False


@dataclass(frozen=True, slots=True)
class Pseudo:
    """``not``, ``is`` and their like, with what they hold; ``root``; ``true`` for what every target of an event is."""

    name: Literal["not", "is", "root", "only-child", "only-of-type", "true"]
    of: tuple[Complex, ...] = ()


@dataclass(frozen=True, slots=True)
class TextIs:
    """A condition on the text of an element and all in it."""

    text: str
    exact: bool = False
    smallest: bool = False
    """Whether the innermost such element is meant."""


@dataclass(frozen=True, slots=True)
class Role:
    """An ARIA role, and the accessible name if one is asked for."""

    role: str
    name: str | None = None
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """What no record can answer, and why."""

    why: str


Test = Tag | Attribute | Nth | Pseudo | TextIs | Role | Opaque
Compound = tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Complex:
    """Compounds from the outermost to the one that is meant, with what is between them."""

    compounds: tuple[Compound, ...]
    combinators: tuple[str, ...]
    """One between each two: space, ``>``, ``+`` or ``~``."""


Css = tuple[Complex, ...]
"""Alternatives."""
Part = Css


@dataclass(frozen=True, slots=True)
class ParsedSelector:
    """Parts from the outermost: each is within what the one before it found."""

    parts: tuple[Part, ...]
    frame: ParsedSelector | None = None
    """The element that shows the document in which all this is; None: whichever document."""

    @property
    def undecidable(self) -> str:
        """Why no record can ever answer it; empty when some can."""
        own = next(filter(None, (_never(part) for part in self.parts)), "")
        return own or (self.frame.undecidable if self.frame is not None else "")


def _never(part: Part) -> str:
    """Why no element can be known to be meant; empty when one can."""
    reasons = [_never_complex(each) for each in part]
    return reasons[0] if all(reasons) else ""


def _never_complex(found: Complex) -> str:
    if any(each in "+~" for each in found.combinators):
        return "the elements next to a target and those around it are not recorded"
    tests = [test for compound in found.compounds for test in compound]
    return next((test.why for test in tests if isinstance(test, Opaque)), "")
