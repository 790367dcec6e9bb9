"""An article as it is written, and the small words that articles are written with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

from pytest_webarena.embedded import world

__all__ = [
    "TOWN",
    "Draft",
    "either",
    "figure",
    "listed",
    "name_of",
    "plural",
    "row",
    "table",
    "the",
    "town_link",
    "with_article",
]

TOWN = {town.key: town for town in world.TOWNS}

_WITHOUT_THE = (
    "Aldersey Abbey", "Aldersey University", "Bandry Brass", "Bus 12", "Bus 7", "Cairn Hut", "Charter Hall",
    "Corrin Bridge", "Fell Rescue", "Hallmere Castle", "Kettle Chapel", "Mossfold Church", "Radio Sall",
    "Raven Scar Quarry", "Sall Light", "Wendgate",
)  # fmt: skip
"""What is called without an article, unlike most buildings, lines and institutions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An article before its text is turned into HTML. Links are ``[[Title]]`` or ``[[Title|text]]``."""

    title: str
    body: str
    """The lead, then sections with headings ``## …``."""
    categories: tuple[str, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """What the box beside the text says."""
    also: tuple[str, ...] = ()
    """Other titles that lead here."""


def either(title: str, *sentences: str) -> str:
    """One of several ways to say a thing, always the same for the same article."""
    return sentences[crc32(title.encode()) % len(sentences)]


def figure(number: float) -> str:
    """``12,870``; ``6.8``"""
    return f"{number:,}"


def with_article(noun: str) -> str:
    """``a bridge``; ``an abbey``; ``a university``"""
    return f"{'an' if noun[0] in 'aeiou' and not noun.startswith('uni') else 'a'} {noun}"


def plural(noun: str) -> str:
    """``bridges``; ``abbeys``; ``libraries``; ``churches``; ``quarrymen``"""
    if noun in ("fish", "pottery kilns"):
        return noun
    if noun.endswith("man"):
        return f"{noun[:-3]}men"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return noun + ("es" if noun.endswith(("s", "ch", "sh", "x")) else "s")


def the(name: str, marked: str, *, begin: bool = True) -> str:
    """``marked``, behind an article if what is called ``name`` has one."""
    return marked if name in _WITHOUT_THE else f"{'The' if begin else 'the'} {marked}"


def name_of(town: str) -> str:
    """The name of a town, by its key."""
    return TOWN[town].name


def town_link(town: str) -> str:
    """A link to a town, by its key."""
    return f"[[{name_of(town)}]]"


def listed(items: Sequence[str]) -> str:
    """``a, b and c``"""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def row(*cells: object) -> str:
    """A row of a table."""
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table, as the text format has it."""
    return "\n".join([f"Table: {caption}", row(*head), *(row(*cells) for cells in rows)])
