"""The places of the map: some two thousand, with what they are, where they stand, when they are open."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import cos, pi, sin
from types import MappingProxyType

from pytest_webarena.embedded import landscape, world
from pytest_webarena.embedded.chance import Chance
from pytest_webarena.embedded.map.ground import ground, metres_between, moved
from pytest_webarena.embedded.map.names import ANIMALS, GOODS, SAINTS, SURNAMES, THINGS, TREES

__all__ = ["CATEGORIES", "Place", "places"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place. What is not known is empty."""

    name: str
    category: str
    town: str
    """The town's name, also of a village's places."""
    street: str
    number: str
    postcode: str
    hours: str
    phone: str
    website: str
    wheelchair: str
    """``yes``, ``no`` or empty."""
    note: str
    lat: float
    lon: float
    node: int
    """The node of the ground from which one goes there."""

    @property
    def address(self) -> str:
        """``14 Wendgate, Aldersey TM1``"""
        street = f"{self.number} {self.street}".strip()
        return ", ".join(part for part in (street, f"{self.town} {self.postcode}".strip()) if part)


_SHOP = ("Mon-Fri 09:00-18:00, Sat 09:00-16:00", "Mon-Sat 09:00-18:30", "Tue-Fri 10:00-18:00, Sat 10:00-15:00")
_FOOD = ("Mon-Sat 07:00-20:00", "Mon-Sat 08:00-21:00, Sun 10:00-16:00", "Mon-Sun 08:00-20:00")
_TABLE = ("Tue-Sun 17:00-22:30", "Wed-Sun 12:00-22:00", "Mon-Sun 11:30-23:00")
_CUP = ("Tue-Sun 09:00-18:00", "Mon-Fri 07:30-17:00", "Mon-Sun 08:00-19:00")
_OFFICE = ("Mon-Fri 09:00-17:00", "Mon-Thu 08:30-16:30, Fri 08:30-13:00")
_DAY = ("Mon-Sun 00:00-24:00",)

CATEGORIES: Mapping[str, tuple[float, tuple[str, ...]]] = MappingProxyType({
    "restaurant": (1.0, _TABLE), "café": (1.0, _CUP), "pub": (0.8, _TABLE), "bakery": (0.7, _FOOD),
    "hotel": (0.5, _DAY), "supermarket": (0.5, _FOOD), "pharmacy": (0.4, _SHOP),
    "bank": (0.3, _OFFICE), "post office": (0.25, _OFFICE),
    "school": (0.45, ()), "kindergarten": (0.3, ()), "doctor": (0.5, _OFFICE), "dentist": (0.4, _OFFICE),
    "church": (0.45, ()), "library": (0.12, _SHOP), "park": (0.5, ()), "playground": (0.6, ()), "bus stop": (2.2, ()),
    "bicycle parking": (0.8, ()), "car park": (0.6, _DAY), "fuel": (0.3, _DAY), "charging station": (0.4, _DAY),
    "hairdresser": (0.6, _SHOP), "bookshop": (0.3, _SHOP), "butcher": (0.4, _SHOP), "greengrocer": (0.4, _SHOP),
    "hardware shop": (0.3, _SHOP), "florist": (0.3, _SHOP), "clothes shop": (0.5, _SHOP), "bicycle shop": (0.2, _SHOP),
    "cash machine": (0.6, _DAY), "toilets": (0.4, _DAY), "hostel": (0.12, _DAY), "cinema": (0.1, _TABLE),
    "swimming pool": (0.1, _CUP), "police": (0.1, _DAY), "fire station": (0.1, _DAY), "veterinarian": (0.2, _OFFICE),
    "laundrette": (0.2, _FOOD), "optician": (0.2, _SHOP),
})  # fmt: skip
"""What there is in every town, how often for each 2,900 people, and when it may be open."""

_NONE = "-"
"""The number of a house that has none."""
_TRADES = {
    "bakery": "Bakery", "pharmacy": "Pharmacy", "hairdresser": "Hair", "bookshop": "Books", "butcher": "Butchers",
    "greengrocer": "Fruit & Vegetables", "hardware shop": "Hardware", "florist": "Flowers", "clothes shop": "Clothing",
    "bicycle shop": "Cycles", "laundrette": "Laundrette", "optician": "Opticians",
}  # fmt: skip
_CHAINS = ("Larder", "Greenbasket", "Daily & Co")
_IN_VILLAGES = ("church", "pub", "bus stop", "playground", "toilets", "bicycle parking")


@functools.cache
def places() -> tuple[Place, ...]:
    """All of them, the same at every call; numbered from 1 in this order on the site."""
    found = (*_of_the_world(), *_of_the_land(), *_of_towns(), *_of_villages())
    return tuple(_with_own_numbers(found))


def _with_own_numbers(found: tuple[Place, ...]) -> Iterator[Place]:
    """The same places, with no address twice: whoever comes later moves on to the next house."""
    taken: set[str] = set()
    for place in found:
        while place.number.isdigit() and place.address in taken:
            place = replace(place, number=str(int(place.number) + 2))
        taken.add(place.address)
        yield place


def _of_the_world() -> Iterator[Place]:
    towns = {town.key: town for town in world.TOWNS}
    for firm in world.BUSINESSES:
        number, _, street = firm.street.rpartition(", ") if "," in firm.street else firm.street.partition(" ")
        if "," in firm.street:
            number += ","
        elif not number.isdigit():
            number, street = _NONE, firm.street
        yield _place(
            towns[firm.town], Chance(firm.name), firm.name, firm.trade, street=street, number=number, phone=firm.phone,
            hours=_short(firm.hours), note=firm.note,
        )  # fmt: skip
    stops = {key: line for line in world.LINES if line.mode == "train" for key, *_ in line.stops}
    for key in stops:
        town = towns[key]
        yield _place(town, Chance(f"station {key}"), f"{town.name} station", "station", hours="Mon-Sun 05:00-23:30")
    for town in world.TOWNS:
        yield _place(town, Chance(f"town {town.key}"), town.name, "town", middle=True,
                     note=f"{town.population:,} people. Market day is {town.market_day}.")  # fmt: skip
    for key, name in (("brackwater", "Brackwater ferry terminal"), ("gorsehythe", "Gorsehythe ferry terminal")):
        yield _place(towns[key], Chance(name), name, "ferry terminal", hours="Mon-Sun 06:30-19:30")


def _short(hours: Mapping[str, str]) -> str:
    """A week's hours in short: days in a row with the same times are one piece."""
    pieces: list[tuple[str, str, str]] = []
    for day, times in hours.items():
        if pieces and pieces[-1][2] == times:
            pieces[-1] = (pieces[-1][0], day[:3], times)
        else:
            pieces.append((day[:3], day[:3], times))
    return ", ".join(f"{a if a == b else f'{a}-{b}'} {times}" for a, b, times in pieces if times)


def _of_the_land() -> Iterator[Place]:
    towns = {town.key: town for town in world.TOWNS}
    for building in landscape.BUILDINGS:
        if above := next((hill for hill in landscape.HILLS if f"way up {hill.name}" in building.note), None):
            yield _below(_hill(above), towns[building.town], building)
            continue
        chance = Chance(building.name)
        hours = "Tue-Sun 10:00-17:00" if building.kind in ("museum", "library", "castle") else ""
        yield _place(towns[building.town], chance, building.name, building.kind, hours=hours, note=building.note)
    for hill in landscape.HILLS:
        yield _hill(hill)
    for lake in landscape.LAKES:
        yield _outside(towns[lake.town], lake.name, "lake", lake.note, 1200, 3000)
    for wood in landscape.WOODS:
        yield _outside(towns[wood.town], wood.name, "wood", f"{wood.area:,} hectares. {wood.note}", 2000, 5000)


def _hill(hill: landscape.Hill) -> Place:
    town = next(town for town in world.TOWNS if town.key == hill.town)
    return _outside(town, hill.name, "hill", f"{hill.height} metres. {hill.note}", 2500, 7000)


def _below(hill: Place, town: world.Town, building: landscape.Building) -> Place:
    """What stands on the way up a hill from the town, in no street."""
    lat, lon = hill.lat + (town.lat - hill.lat) / 4, hill.lon + (town.lon - hill.lon) / 4
    node = ground().nearest([each.id for each in ground().nodes], lat, lon)
    return _made(town, building.name, building.kind, "", "", "", "", building.note, lat, lon, node, "", "")


def _of_towns() -> Iterator[Place]:
    for town in world.TOWNS:
        chance = Chance(f"places of {town.key}")
        size = 2.0 + town.population / 2900
        used_names: set[str] = set()
        for category, (often, hours) in CATEGORIES.items():
            for _ in range(max(round(often * size), 1)):
                street = chance.one_of(list(ground().streets[town.key]))
                name = _fresh(used_names, chance, category, town, street)
                yield _place(town, chance, name, category, street=street, hours=chance.one_of(hours) if hours else "")


def _fresh(used_names: set[str], chance: Chance, category: str, town: world.Town, street: str) -> str:
    """A name that nothing else in the town has."""
    for _ in range(40):
        name = _name(chance, category, town, street)
        if name not in used_names:
            break
    else:
        name = f"{name} {sum(each.startswith(name) for each in used_names) + 1}"
    used_names.add(name)
    return name


def _name(chance: Chance, category: str, town: world.Town, street: str) -> str:
    surname, thing, animal = chance.one_of(SURNAMES), chance.one_of(THINGS), chance.one_of(ANIMALS)
    good, tree, saint = chance.one_of(GOODS), chance.one_of(TREES), chance.one_of(SAINTS)
    match category:
        case "restaurant":
            return chance.one_of((f"{surname}'s Table", f"The {good} {animal}", f"{tree} & {thing}"))
        case "café":
            return chance.one_of((f"Café {surname}", f"The {good} {thing}", f"{tree} Coffee"))
        case "pub":
            return chance.one_of((f"The {animal} and {thing}", f"The {good} {animal}", f"The {thing}"))
        case "hotel":
            return chance.one_of((f"Hotel {tree}", f"The {town.name} {thing} Hotel", f"{surname} House"))
        case "supermarket":
            return f"{chance.one_of(_CHAINS)} {street}"
        case "school":
            return f"{chance.one_of((tree, 'North', 'South', 'East', 'West', surname))} School {town.name}"
        case "kindergarten":
            return f"The {good} {animal} Kindergarten"
        case "doctor" | "dentist" | "veterinarian":
            return f"Dr {chance.one_of('ABCDEFGHJKLMNPRST')}. {surname}"
        case "church":
            return f"St {saint}'s Church"
        case "park":
            return f"{tree} Park"
        case "bank":
            return f"Crown Bank {street}"
        case "post office" | "library" | "police" | "fire station" | "cinema" | "swimming pool" | "hostel":
            return f"{town.name} {category}"
        case "bus stop" | "bicycle parking" | "car park" | "playground" | "toilets" | "cash machine":
            return f"{street} {category}"
        case "fuel" | "charging station":
            return f"{chance.one_of(('Wend', 'Fell', 'Harbour'))} {'Fuel' if category == 'fuel' else 'Charge'} {street}"
        case _:
            return f"{surname} {_TRADES[category]}"


def _of_villages() -> Iterator[Place]:
    towns = {town.key: town for town in world.TOWNS}
    for village in landscape.VILLAGES:
        chance, town = Chance(f"places of {village.name}"), towns[village.town]
        green = ground().at(ground().villages[village.name])
        yield Place(
            name=village.name, category="village", town=town.name, street="", number="", postcode=town.postcode,
            hours="", phone="", website="", wheelchair="", note=f"{village.population:,} people. {village.note}",
            lat=green.lat, lon=green.lon, node=green.id,
        )  # fmt: skip
        for category in _IN_VILLAGES:
            lane = chance.one_of(list(ground().streets[village.name]))
            name = (
                f"{village.name} {category}"
                if category not in ("church", "pub")
                else _name(chance, category, town, lane)
            )
            hours = chance.one_of(_TABLE) if category == "pub" else ""
            yield _place(town, chance, name, category, street=lane, hours=hours, village=village.name)


def _place(
    town: world.Town, chance: Chance, name: str, category: str, *, street: str = "", number: str = "", hours: str = "",
    phone: str = "", note: str = "", village: str = "", middle: bool = False,
) -> Place:  # fmt: skip
    streets = ground().streets[village or town.key]
    street = street if street in streets else chance.one_of(list(streets))
    line = streets[street]
    if middle:
        node = ground().at(ground().nearest(line, town.lat, town.lon))
        return _made(town, name, category, "", "", hours, phone, note, node.lat, node.lon, node.id, "", "")
    index = chance.whole(0, len(line) - 2)
    a, b, share = ground().at(line[index]), ground().at(line[index + 1]), chance.between(0.12, 0.88)
    aside, towards = chance.one_of((-1, 1)) * chance.between(9, 16), chance.between(0, 2 * pi)
    lat, lon = moved(a.lat + (b.lat - a.lat) * share, a.lon + (b.lon - a.lon) * share,
                     aside * sin(towards), aside * cos(towards))  # fmt: skip
    along = sum(_metres(line[step], line[step + 1]) for step in range(index)) + share * _metres(a.id, b.id)
    plain = category in ("bus stop", "bicycle parking", "playground", "park", "toilets", "station")
    number = "" if plain or number == _NONE else number or str(max(int(along / 9) * 2 + (aside > 0), 1))
    shop = bool(hours) and category not in ("cash machine", "car park", "toilets", "fuel", "charging station")
    phone = phone or (f"{int(town.postcode[2:]):02} {chance.whole(200, 899)} {chance.whole(100, 999)}" if shop else "")
    label = "".join(letter for letter in name.lower() if letter.isalnum() and letter.isascii())
    site = f"https://{label}.example/" if shop and chance.whole(1, 3) > 1 else ""
    wheelchair = chance.one_of(("yes", "yes", "no", "")) if shop or category == "toilets" else ""
    near = a.id if share < 0.5 else b.id
    return _made(town, name, category, street, number, hours, phone, note or (f"In {village}." if village else ""),
                 lat, lon, near, site, wheelchair)  # fmt: skip


def _metres(a: int, b: int) -> float:
    one, other = ground().at(a), ground().at(b)
    return metres_between(one.lat, one.lon, other.lat, other.lon)


def _made(
    town: world.Town, name: str, category: str, street: str, number: str, hours: str, phone: str, note: str, lat: float,
    lon: float, node: int, website: str, wheelchair: str,
) -> Place:  # fmt: skip
    return Place(
        name=name, category=category, town=town.name, street=street, number=number, postcode=town.postcode, hours=hours,
        phone=phone, website=website, wheelchair=wheelchair, note=note, lat=round(lat, 6), lon=round(lon, 6), node=node,
    )  # fmt: skip


def _outside(town: world.Town, name: str, category: str, note: str, low: float, high: float) -> Place:
    """Something in the open; one goes there from the nearest node."""
    chance = Chance(f"place {name}")
    far, towards = chance.between(low, high), chance.between(0, 2 * pi)
    lat, lon = moved(town.lat, town.lon, far * sin(towards), far * cos(towards))
    node = ground().nearest([each.id for each in ground().nodes], lat, lon)
    return _made(town, name, category, "", "", "", "", note, lat, lon, node, "", "")
