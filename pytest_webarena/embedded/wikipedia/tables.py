"""What the encyclopedia knows beside the world's own facts: people of the past, living things, dishes, institutions."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from pytest_webarena.embedded.landscape import rows

__all__ = ["FOODS", "INSTITUTIONS", "LIVING", "NOTABLES", "YEARS", "Food", "Institution", "Living", "Notable", "Year"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notable:
    """Somebody of the past; ``town`` is where they were born."""

    name: str
    born: int
    died: int
    town: str
    occupation: str
    note: str
    more: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Living:
    """A plant or an animal of the region, or a breed."""

    name: str
    kind: str
    size: str
    where: str
    season: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Food:
    """A dish or a drink."""

    name: str
    kind: str
    town: str
    made_of: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Institution:
    """A body that outlives its members: a paper, a school, a society."""

    name: str
    kind: str
    town: str
    founded: int
    members: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Year:
    """A year that people remember, and by what."""

    year: int
    what: str


_FOLDER = files(__package__ or __name__).joinpath("data")

NOTABLES = tuple(
    Notable(name=name, born=int(born), died=int(died), town=town, occupation=occupation, note=note, more=more)
    for name, born, died, town, occupation, note, more in rows(_FOLDER / "notables.txt", 7)
)

LIVING = tuple(
    Living(name=name, kind=kind, size=size, where=where, season=season, note=note)
    for name, kind, size, where, season, note in rows(_FOLDER / "living.txt", 6)
)

FOODS = tuple(
    Food(name=name, kind=kind, town=town, made_of=made_of, note=note)
    for name, kind, town, made_of, note in rows(_FOLDER / "foods.txt", 5)
)

INSTITUTIONS = tuple(
    Institution(name=name, kind=kind, town=town, founded=int(founded), members=members, note=note)
    for name, kind, town, founded, members, note in rows(_FOLDER / "institutions.txt", 6)
)

YEARS = tuple(Year(year=int(year), what=what) for year, what in rows(_FOLDER / "years.txt", 2))
