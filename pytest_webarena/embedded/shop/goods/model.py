"""The form in which goods are written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Leaf", "Title", "lines", "words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """One book: what stands on its cover."""

    title: str
    author: str
    genre: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One category at the end of the tree, and how its products differ."""

    department: str
    name: str
    product_class: str
    shape: str
    """The drawing in `artwork`."""
    blurb: str
    nouns: tuple[str, ...] = ()
    brands: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    version: str = ""
    """What tells look-alikes of one series apart: the attribute's code, ``size`` for sizes as variants."""
    versions: tuple[str, ...] = ()
    sizes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Versions of nouns that differ from the others', e.g. espresso cups among mugs."""
    colours: tuple[str, ...] = ()
    materials: tuple[str, ...] = ()
    price: tuple[float, float] = (10.0, 50.0)
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further attributes: code to the values that occur."""
    features: tuple[str, ...] = ()
    praise: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()
    variants: bool = False
    """Versions are children of one product instead of products of their own."""
    titles: tuple[Title, ...] = ()
    """Books are listed one by one."""
    option: str = ""
    """A choice made when adding to the basket: "engraving" or "grind"."""


def words(text: str) -> tuple[str, ...]:
    """``"a, b, c"`` as a tuple."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def lines(text: str) -> tuple[str, ...]:
    """One entry per line."""
    return tuple(line.strip() for line in text.strip().splitlines())
