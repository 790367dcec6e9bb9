"""The land of the invented world: its waters, hills, woods, villages and notable buildings.

Like `world`, it is data and no generator, made up, and the same on every machine. The encyclopedia tells of it and the
map shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = [
    "BUILDINGS",
    "HILLS",
    "LAKES",
    "RIVERS",
    "VILLAGES",
    "WOODS",
    "Building",
    "Hill",
    "Lake",
    "River",
    "Village",
    "Wood",
    "rows",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class River:
    """A river; length in kilometres. ``towns`` are keys of `world.TOWNS` in the order in which it passes them."""

    name: str
    length: int
    source: str
    mouth: str
    towns: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """A lake; area in square kilometres, depth and height above the sea in metres."""

    name: str
    area: float
    depth: int
    height: int
    town: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hill:
    """A summit; height in metres above the sea."""

    name: str
    height: int
    town: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wood:
    """A wood; area in hectares."""

    name: str
    area: int
    town: str
    tree: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Village:
    """A village and the town that its children go to school in; population as of the 2024 count."""

    name: str
    town: str
    population: int
    founded: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Building:
    """A building or bridge that people come to see; ``size`` says what is measured of it."""

    name: str
    kind: str
    town: str
    built: int
    by: str
    size: str
    note: str


def rows(file: Traversable, fields: int) -> list[list[str]]:
    """The cells of a table, one row a line, cells divided by ``|``. `ValueError` for a row with another number."""
    found = [[cell.strip() for cell in line.split("|")] for line in file.read_text(encoding="utf-8").splitlines()]
    wrong = [row for row in found if len(row) != fields]
    if wrong:
        raise ValueError(f"expected {fields} cells, found {wrong[0]}")
    return found


_FOLDER = files("pytest_webarena.embedded").joinpath("land")

RIVERS = tuple(
    River(name=name, length=int(length), source=source, mouth=mouth, towns=tuple(towns.split()), note=note)
    for name, length, source, mouth, towns, note in rows(_FOLDER / "rivers.txt", 6)
)

LAKES = tuple(
    Lake(name=name, area=float(area), depth=int(depth), height=int(height), town=town, note=note)
    for name, area, depth, height, town, note in rows(_FOLDER / "lakes.txt", 6)
)

HILLS = tuple(
    Hill(name=name, height=int(height), town=town, note=note)
    for name, height, town, note in rows(_FOLDER / "hills.txt", 4)
)

WOODS = tuple(
    Wood(name=name, area=int(area), town=town, tree=tree, note=note)
    for name, area, town, tree, note in rows(_FOLDER / "woods.txt", 5)
)

VILLAGES = tuple(
    Village(name=name, town=town, population=int(population), founded=int(founded), note=note)
    for name, town, population, founded, note in rows(_FOLDER / "villages.txt", 5)
)

BUILDINGS = tuple(
    Building(name=name, kind=kind, town=town, built=int(built), by=by, size=size, note=note)
    for name, kind, town, built, by, size, note in rows(_FOLDER / "buildings.txt", 7)
)
