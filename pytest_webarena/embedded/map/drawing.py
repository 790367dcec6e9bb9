"""What the map draws below its markers, as GeoJSON: sea, woods, lakes, rivers, ways."""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import Any

from pytest_webarena.embedded import landscape, world
from pytest_webarena.embedded.chance import Chance
from pytest_webarena.embedded.map.ground import Ground, moved
from pytest_webarena.embedded.map.places import Place

__all__ = ["ground_layer"]

_COAST = (
    (56.5, -1.1),
    (54.80, -1.27),
    (54.62, -1.31),
    (54.50, -1.29),
    (54.42, -1.34),
    (54.355, -1.372),
    (54.30, -1.41),
    (54.15, -1.36),
    (52.5, -1.2),
)
_SEA_EAST = 4.0


def ground_layer(ground: Ground, places: tuple[Place, ...]) -> dict[str, Any]:
    """All of it as one feature collection. Positions have longitude first, as GeoJSON wants them."""
    features = [_sea(), _island()]
    features += [_patch(place, "wood", _wood_metres(place)) for place in places if place.category == "wood"]
    features += [_patch(place, "lake", _lake_metres(place)) for place in places if place.category == "lake"]
    features += [_river(river) for river in landscape.RIVERS]
    features += _ways(ground)
    return {"type": "FeatureCollection", "features": features}


def _feature(kind: str, name: str, geometry: str, coordinates: Any) -> dict[str, Any]:
    return {
        "type": "Feature",
        "properties": {"kind": kind, "name": name},
        "geometry": {"type": geometry, "coordinates": coordinates},
    }


def _sea() -> dict[str, Any]:
    ring = [[lon, lat] for lat, lon in _COAST]
    ring += [[_SEA_EAST, _COAST[-1][0]], [_SEA_EAST, _COAST[0][0]], ring[0]]
    return _feature("sea", "the sea", "Polygon", [ring])


def _island() -> dict[str, Any]:
    town = next(town for town in world.TOWNS if town.key == "gorsehythe")
    return _feature("island", "Sall", "Polygon", [_ring("Sall", town.lat, town.lon, 6400)])


def _patch(place: Place, kind: str, metres: float) -> dict[str, Any]:
    return _feature(kind, place.name, "Polygon", [_ring(place.name, place.lat, place.lon, metres)])


def _wood_metres(place: Place) -> float:
    area = next(wood.area for wood in landscape.WOODS if wood.name == place.name)
    return sqrt(area * 10_000 / pi)


def _lake_metres(place: Place) -> float:
    area = next(lake.area for lake in landscape.LAKES if lake.name == place.name)
    return sqrt(area * 1_000_000 / pi)


def _ring(name: str, lat: float, lon: float, metres: float) -> list[list[float]]:
    """A closed line round a place that looks as if nature had drawn it."""
    chance, ring = Chance(f"shore of {name}"), []
    for step in range(28):
        far = metres * chance.between(0.82, 1.12)
        north, east = far * sin(step / 28 * 2 * pi), far * cos(step / 28 * 2 * pi)
        y, x = moved(lat, lon, north, east)
        ring.append([round(x, 5), round(y, 5)])
    return [*ring, ring[0]]


def _river(river: landscape.River) -> dict[str, Any]:
    towns = {town.key: town for town in world.TOWNS}
    chance = Chance(f"river {river.name}")
    first = towns[river.towns[0]]
    line = [moved(first.lat, first.lon, chance.between(2500, 7000), -chance.between(1500, 6000))]
    for key in river.towns:
        lat, lon = towns[key].lat, towns[key].lon
        before = line[-1]
        line += [(before[0] + (lat - before[0]) * share + chance.between(-0.006, 0.006),
                  before[1] + (lon - before[1]) * share + chance.between(-0.006, 0.006))
                 for share in (0.25, 0.5, 0.75)]  # fmt: skip
        line.append(moved(lat, lon, -260, 120))
    if "sea" in river.mouth:
        line.append(moved(line[-1][0], line[-1][1], -300, 2600))
    return _feature("river", river.name, "LineString", [[round(lon, 5), round(lat, 5)] for lat, lon in line])


def _ways(ground: Ground) -> list[dict[str, Any]]:
    """Ways of one kind and name are one line of several pieces."""
    grouped: dict[tuple[str, str], list[list[list[float]]]] = {}
    for edge in ground.edges:
        a, b = ground.at(edge.a), ground.at(edge.b)
        grouped.setdefault((edge.kind, edge.name), []).append(
            [[round(a.lon, 5), round(a.lat, 5)], [round(b.lon, 5), round(b.lat, 5)]]
        )
    return [_feature(kind, name, "MultiLineString", pieces) for (kind, name), pieces in grouped.items()]
