"""Finding places: by name, category and address, by number, by where they are."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import hypot

from pytest_webarena.embedded.map.ground import metres_between
from pytest_webarena.embedded.web import database

__all__ = ["Found", "by_id", "find", "near", "street_at"]

_COLUMNS = "id, name, category, town, address, hours, phone, website, wheelchair, note, lat, lon, node"
_JOINING = {"in", "at", "near", "the", "of", "to", "from"}
"""Words of a search that say nothing of the place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A place as pages show it."""

    id: int
    name: str
    category: str
    town: str
    address: str
    hours: str
    phone: str
    website: str
    wheelchair: str
    note: str
    lat: float
    lon: float
    node: int
    metres: float = 0.0
    """How far it is from where one looks."""

    @property
    def title(self) -> str:
        """Name and town."""
        return self.name if self.town in self.name else f"{self.name}, {self.town}"

    @property
    def opening(self) -> list[tuple[str, str]]:
        """Days and times, a row each."""
        if not self.hours:
            return []
        rows = [piece.split(" ", 1) for piece in self.hours.split(", ")]
        return [(days, "open day and night" if times == "00:00-24:00" else times) for days, times in rows]

    def at(self, lat: float, lon: float) -> Found:
        """A point there, from which one goes as from this place."""
        return replace(
            self, id=0, name=f"{lat:.5f}, {lon:.5f}", category="position", address="", hours="", lat=lat, lon=lon
        )


def _found(rows: Iterable[sqlite3.Row]) -> list[Found]:
    return [Found(**dict(row)) for row in rows]


def by_id(number: int) -> Found | None:
    """The place with this number."""
    found = _found(database().execute(f"SELECT {_COLUMNS} FROM places WHERE id = ?", (number,)))
    return found[0] if found else None


def find(wanted: str, skip: int, most: int) -> tuple[int, list[Found]]:
    """How many places have all words of ``wanted``, and ``most`` of them; exact names come first, then towns."""
    words = re.findall(r"\w+", wanted.lower())
    words = [word for word in words if word not in _JOINING] or words
    if not words:
        return 0, []
    query = " ".join(f'"{word}"' for word in words[:-1]) + f' "{words[-1]}"*'
    total = database().execute("SELECT count(*) FROM words WHERE words MATCH ?", (query,)).fetchone()[0]
    columns = ", ".join(f"places.{column.strip()}" for column in _COLUMNS.split(","))
    rows = database().execute(
        f"SELECT {columns} FROM words JOIN places ON places.id = words.rowid WHERE words MATCH :query"
        " ORDER BY lower(places.name) != :name AND lower(places.name || ', ' || places.town) != :name,"
        " places.category NOT IN ('town', 'village'), bm25(words, 8.0, 5.0, 1.0), places.id LIMIT :most OFFSET :skip",
        {"query": query, "name": wanted.lower(), "most": most, "skip": skip},
    )
    return total, _found(rows)


def near(lat: float, lon: float, most: int) -> list[Found]:
    """The places nearest to a position, with how far they are."""
    database().create_function("metres_from", 4, metres_between, deterministic=True)
    rows = database().execute(
        f"SELECT {_COLUMNS}, metres_from(lat, lon, ?, ?) AS metres FROM places ORDER BY metres, id LIMIT ?",
        (lat, lon, most),
    )
    return _found(rows)


def street_at(lat: float, lon: float) -> tuple[str, float] | None:
    """The name of the nearest way within 400 metres, and how far that is."""
    rows = database().execute(
        "SELECT edges.name, a.lat AS lat, a.lon AS lon, b.lat AS to_lat, b.lon AS to_lon FROM edges"
        " JOIN nodes a ON a.id = edges.a JOIN nodes b ON b.id = edges.b WHERE kind != 'ferry'"
    )
    best: tuple[str, float] | None = None
    for row in rows:
        metres = _to_line(lat, lon, row)
        if best is None or metres < best[1]:
            best = (row["name"], metres)
    return best if best and best[1] <= 400 else None


def _to_line(lat: float, lon: float, row: sqlite3.Row) -> float:
    """From a position to the nearest point of a piece of way, in metres."""
    x, y = metres_between(0, lon, 0, row["lon"]), metres_between(lat, 0, row["lat"], 0)
    x, y = (x if lon > row["lon"] else -x), (y if lat > row["lat"] else -y)
    u, v = metres_between(0, row["to_lon"], 0, row["lon"]), metres_between(row["to_lat"], 0, row["lat"], 0)
    u, v = (u if row["to_lon"] > row["lon"] else -u), (v if row["to_lat"] > row["lat"] else -v)
    share = min(max((x * u + y * v) / ((u * u + v * v) or 1), 0), 1)
    return hypot(x - share * u, y - share * v)
