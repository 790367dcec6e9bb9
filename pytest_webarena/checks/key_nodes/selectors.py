"""Selectors as values: CSS, and those of Playwright's forms that can be evaluated on a recorded element."""

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
    """An element of this tag; empty: any."""

    name: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """A condition on an attribute; without an operator, the attribute must exist."""

    name: str
    operator: Literal["", "=", "~=", "|=", "^=", "$=", "*="] = ""
    value: str = ""
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Nth:
    """A position among the parent's children of ``step * n + offset`` for an n from 0."""

    step: int
    offset: int
    of_type: bool = False
    from_end: bool = False


@dataclass(frozen=True, slots=True)
class Pseudo:
    """``not``, ``is`` and similar, with their arguments; ``root``; ``true`` for what holds for every event target."""

    name: Literal["not", "is", "root", "only-child", "only-of-type", "true"]
    of: tuple[Complex, ...] = ()


@dataclass(frozen=True, slots=True)
class TextIs:
    """A condition on the text of an element and its descendants."""

    text: str
    exact: bool = False
    smallest: bool = False
    """Whether only the innermost such element matches."""


@dataclass(frozen=True, slots=True)
class Role:
    """An ARIA role, and optionally the accessible name."""

    role: str
    name: str | None = None
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition that no record can decide, and why."""

    why: str


Test = Tag | Attribute | Nth | Pseudo | TextIs | Role | Opaque
Compound = tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Complex:
    """Compounds from the outermost to the matched element, with the combinators between them."""

    compounds: tuple[Compound, ...]
    combinators: tuple[str, ...]
    """Combinators between adjacent compounds: space, ``>``, ``+`` or ``~``."""


Css = tuple[Complex, ...]
"""Alternative selectors."""
Part = Css


@dataclass(frozen=True, slots=True)
class ParsedSelector:
    """Parts from the outermost: each is searched within the result of the previous one."""

    parts: tuple[Part, ...]
    frame: ParsedSelector | None = None
    """The element of the frame that contains the result; None: any document."""

    @property
    def undecidable(self) -> str:
        """Why no record can ever decide the selector; empty when some can."""
        own = next(filter(None, (_never(part) for part in self.parts)), "")
        return own or (self.frame.undecidable if self.frame is not None else "")


def _never(part: Part) -> str:
    """Returns why a match can never be certain; empty when it can."""
    reasons = [_never_complex(each) for each in part]
    return reasons[0] if all(reasons) else ""


def _never_complex(found: Complex) -> str:
    if any(each in "+~" for each in found.combinators):
        return "the elements next to a target and those around it are not recorded"
    tests = [test for compound in found.compounds for test in compound]
    return next((test.why for test in tests if isinstance(test, Opaque)), "")
