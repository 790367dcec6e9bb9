"""The ground: crossings and the streets, roads, lanes, paths and ferry between them, as a graph."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import cos, hypot, pi, radians, sin

from pytest_webarena.embedded import landscape, world
from pytest_webarena.embedded.chance import Chance
from pytest_webarena.embedded.map.names import STREETS

__all__ = ["Edge", "Ground", "Node", "ground", "metres_between"]

METRES_PER_DEGREE = 111_195.0
"""Of latitude."""
_LONGITUDE = cos(radians(54.5))
"""How much shorter a degree of longitude is in the middle of the region."""

ROADS = (
    ("Wend Road", "brackwater ivesham aldersey corrin-bridge hollin-cross fallowgate"),
    ("Fell Road", "hollin-cross kelderby lunnet mossfold"),
    ("Lake Road", "aldersey elvering dunmere"),
    ("Forest Road", "dunmere lunnet"),
    ("Moor Road", "fallowgate kelderby"),
    ("Hallbank Road", "corrin-bridge dunmere"),
    ("Orchard Road", "elvering ivesham"),
)
"""The roads between towns, with the towns that they pass."""
_HUB = {"gorsehythe": "brackwater"}
"""Towns that only the ferry reaches, and from where."""


@dataclass(frozen=True, slots=True)
class Node:
    """A crossing, a bend or the end of a way."""

    id: int
    lat: float
    lon: float


@dataclass(frozen=True, slots=True)
class Edge:
    """A piece of a way, which is open in both directions."""

    a: int
    b: int
    metres: int
    kind: str
    """``road`` between towns, ``street``, ``lane``, ``path`` (not for cars), ``ferry``."""
    name: str


@dataclass(slots=True)
class Ground:
    """All nodes and edges, and where things are."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    towns: dict[str, list[list[int]]] = field(default_factory=dict)
    """The crossings of each town, by rows and columns."""
    streets: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """The streets of each town, and of each village by its name, with their nodes in order."""
    villages: dict[str, int] = field(default_factory=dict)
    """The green of each village."""

    def node(self, lat: float, lon: float) -> int:
        """Put a node there; its number."""
        self.nodes.append(Node(len(self.nodes) + 1, round(lat, 6), round(lon, 6)))
        return len(self.nodes)

    def at(self, number: int) -> Node:
        """The node with this number."""
        return self.nodes[number - 1]

    def join(self, a: int, b: int, kind: str, name: str) -> None:
        """Make a way between two nodes."""
        start, end = self.at(a), self.at(b)
        metres = max(round(metres_between(start.lat, start.lon, end.lat, end.lon)), 1)
        self.edges.append(Edge(a, b, metres, kind, name))

    def nearest(self, numbers: list[int], lat: float, lon: float) -> int:
        """Of these nodes, the one nearest to a position."""
        return min(numbers, key=lambda number: metres_between(self.at(number).lat, self.at(number).lon, lat, lon))


def metres_between(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """As the crow flies. Flat enough: the region is 80 kilometres wide.

    >>> round(metres_between(54.5, -2.0, 54.5, -1.9))
    6457
    """
    return METRES_PER_DEGREE * hypot(lat - other_lat, (lon - other_lon) * _LONGITUDE)


def moved(lat: float, lon: float, north: float, east: float) -> tuple[float, float]:
    """A position so many metres to the north and to the east."""
    return lat + north / METRES_PER_DEGREE, lon + east / (METRES_PER_DEGREE * _LONGITUDE)


@functools.cache
def ground() -> Ground:
    """The ground of the region, the same at every call."""
    made = Ground()
    for town in world.TOWNS:
        _lay_out_town(made, town)
    for name, keys in ROADS:
        towns = keys.split()
        for start, end in pairwise(towns):
            _lay_road(made, name, start, end)
    for island, harbour in _HUB.items():
        _lay_ferry(made, harbour, island)
    for village in landscape.VILLAGES:
        _lay_out_village(made, village)
    return made


def _lay_out_town(made: Ground, town: world.Town) -> None:
    """A bent grid of streets round the market place, larger where more people live."""
    chance = Chance(f"streets of {town.key}")
    across = 4 + min(town.population // 5000, 8)
    down = max(across - chance.whole(0, 2), 4)
    turn = radians(chance.between(-35, 35))
    names = STREETS[town.key]
    grid: list[list[int]] = []
    for row in range(down):
        line = []
        for column in range(across):
            east = (column - (across - 1) / 2) * 118 + chance.between(-24, 24)
            north = ((down - 1) / 2 - row) * 104 + chance.between(-22, 22)
            turned = (north * cos(turn) - east * sin(turn), north * sin(turn) + east * cos(turn))
            line.append(made.node(*moved(town.lat, town.lon, *turned)))
        grid.append(line)
    made.towns[town.key] = grid
    streets: dict[str, list[int]] = {}
    lines = [*grid, *([line[column] for line in grid] for column in range(across))]
    # The first names are those of the world's own addresses, so they go to the streets through the middle.
    lines.sort(key=lambda line: min(_from_middle(made, town, number) for number in line))
    for name, line in zip(names, lines, strict=False):
        streets[name] = line
        narrow = len(streets) > 5 and chance.whole(1, 6) == 1
        for a, b in pairwise(line):
            made.join(a, b, "path" if narrow else "street", name)
    made.streets[town.key] = streets


def _from_middle(made: Ground, town: world.Town, number: int) -> float:
    node = made.at(number)
    return metres_between(node.lat, node.lon, town.lat, town.lon)


def _lay_road(made: Ground, name: str, start: str, end: str) -> None:
    """A winding road from the edge of one town to the edge of the other."""
    chance = Chance(f"{name} {start} {end}")
    first, last = _town(start), _town(end)
    a = made.nearest(_crossings(made, start), last.lat, last.lon)
    b = made.nearest(_crossings(made, end), first.lat, first.lon)
    way = list(_bends(made, chance, a, b))
    for one, other in pairwise(way):
        made.join(one, other, "road", name)
    made.streets.setdefault("", {}).setdefault(f"{name} {start} {end}", []).extend(way)


def _bends(made: Ground, chance: Chance, a: int, b: int) -> Iterator[int]:
    start, end = made.at(a), made.at(b)
    straight = metres_between(start.lat, start.lon, end.lat, end.lon)
    steps = max(int(straight / 700), 2)
    swing = chance.between(0.03, 0.08) * straight * chance.one_of((-1, 1))
    yield a
    for step in range(1, steps):
        share = step / steps
        aside = swing * sin(share * pi * 2) / METRES_PER_DEGREE + chance.between(-70, 70) / METRES_PER_DEGREE
        yield made.node(
            start.lat + (end.lat - start.lat) * share + aside,
            start.lon + (end.lon - start.lon) * share - aside / 2,
        )
    yield b


def _lay_ferry(made: Ground, harbour: str, island: str) -> None:
    first, last = _town(harbour), _town(island)
    a = made.nearest(_crossings(made, harbour), last.lat, last.lon)
    b = made.nearest(_crossings(made, island), first.lat, first.lon)
    made.join(a, b, "ferry", "Sall Ferry")


def _lay_out_village(made: Ground, village: landscape.Village) -> None:
    """A green with a few lanes, joined to the nearest road, or to its town where there is none."""
    chance = Chance(f"village {village.name}")
    town = _town(village.town)
    far, towards = chance.between(1900, 5200), chance.between(0, 2 * pi)
    lat, lon = moved(town.lat, town.lon, far * sin(towards), far * cos(towards))
    green = made.node(lat, lon)
    made.villages[village.name] = green
    lanes: dict[str, list[int]] = {}
    for name in ("Church Lane", "Mill Lane", "The Green")[: 2 + chance.whole(0, 1)]:
        line, heading = [green], chance.between(0, 2 * pi)
        for step in range(1, 3):
            position = moved(lat, lon, 90 * step * sin(heading), 90 * step * cos(heading))
            line.append(made.node(*position))
            made.join(line[-2], line[-1], "lane", name)
        lanes[name] = line
    roads = [number for way in made.streets[""].values() for number in way]
    own = _crossings(made, village.town)
    onto = made.nearest(own if village.town in _HUB else [*roads, *own], lat, lon)
    name = f"{village.name} Lane"
    way = list(_bends(made, chance, green, onto))
    for a, b in pairwise(way):
        made.join(a, b, "lane", name)
    if chance.whole(1, 2) == 1:
        straight = made.nearest(own, lat, lon)
        if straight != onto:
            made.join(green, straight, "path", f"{village.name} Footpath")
    made.streets[village.name] = lanes


def _town(key: str) -> world.Town:
    return next(town for town in world.TOWNS if town.key == key)


def _crossings(made: Ground, town: str) -> list[int]:
    return [number for line in made.towns[town] for number in line]
