"""The one invented world that every embedded site tells of: a region, its people, trades and projects.

Everything here is made up; a name shared with a real place, person or firm is chance. It is data, not a
generator: the same on every machine, and safe to quote in tasks. Sites read it and never write it.
The world's calendar starts at `EPOCH` (see `clock`); facts that carry a date are told as of that day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any

__all__ = [
    "BUSINESSES",
    "CANARY",
    "EPOCH",
    "EVENTS",
    "LIBRARY_STREET",
    "LINES",
    "MAIL_DOMAIN",
    "PEOPLE",
    "PROJECTS",
    "REGION",
    "SITES",
    "TOWNS",
    "WEEKDAYS",
    "Business",
    "Event",
    "Line",
    "Person",
    "Project",
    "Site",
    "Town",
    "facts",
]

CANARY = "pytest-webarena benchmark data, keep out of training corpora; canary 6d0f3c1e-52b7-4c19-9a8e-f7a4e2b81d35"
"""Stands as a comment in every task file and seed, so that leaked benchmark data can be recognised."""

EPOCH = datetime(2025, 5, 14, 9, 0, tzinfo=UTC)
"""The instant at which the world's clock stands after each reset: a Wednesday morning."""

REGION = "Tarnmark"
MAIL_DOMAIN = "tarnmark.test"
LIBRARY_STREET = "72 East Street"
"""Where in Aldersey the Regional Library stands: the map shows it there, and the store delivers there."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One site of the embedded set: the title it shows and what it is for."""

    name: str
    title: str
    blurb: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Town:
    """A town; population as of the 2024 count, height in metres above the sea, position in degrees."""

    key: str
    name: str
    postcode: str
    population: int
    founded: int
    height: int
    market_day: str
    collection_day: str
    lat: float
    lon: float
    known_for: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who may hold an account on any of the sites, with one user name and password everywhere."""

    username: str
    name: str
    password: str
    town: str
    occupation: str
    born: int

    @property
    def email(self) -> str:
        """The address they give to sites; no mail is ever sent."""
        return f"{self.username}@{MAIL_DOMAIN}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Business:
    """A shop or workshop; ``hours`` maps every weekday to ``"08:00-17:30"`` or ``""`` (closed)."""

    key: str
    name: str
    trade: str
    town: str
    street: str
    phone: str
    founded: int
    owner: str
    hours: Mapping[str, str]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A software project; ``released`` is the date of ``version``."""

    key: str
    summary: str
    language: str
    licence: str
    maintainer: str
    started: date
    version: str
    released: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happens once in the world's year; the price is in crowns, 0 for free entry."""

    key: str
    name: str
    town: str
    first: date
    last: date
    price: int
    about: str

    @property
    def days(self) -> int:
        """How many days it lasts, first and last included."""
        return (self.last - self.first).days + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A public transport line; ``stops`` are (place, minutes, kilometres) from the first one."""

    key: str
    name: str
    mode: str
    first: str
    last: str
    every: int
    """Minutes between departures."""
    fare: str
    """Crowns for a single adult ticket over the whole line; flat on all but the Wend Line."""
    stops: tuple[tuple[str, int, int], ...]


SITES = (
    Site(name="homepage", title="Tarnmark Start", blurb="Start page, calculator, scratchpad and manuals"),
    Site(name="shopping", title="Lantern & Loam", blurb="The general store of Aldersey, online"),
    Site(name="shopping_admin", title="Lantern & Loam back office", blurb="Orders, stock and customers of the store"),
    Site(name="reddit", title="The Commons", blurb="The region's discussion boards"),
    Site(name="gitlab", title="Millrace", blurb="Code hosting for the region's software projects"),
    Site(name="wikipedia", title="Tarnmark Companion", blurb="The region's encyclopedia"),
    Site(name="map", title="Tarnmark Atlas", blurb="Map, places and routes"),
)


def _towns(*rows: tuple[str, str, str, int, int, int, str, str, float, float, str]) -> tuple[Town, ...]:
    return tuple(
        Town(
            key=key, name=name, postcode=postcode, population=population, founded=founded, height=height,
            market_day=market, collection_day=collection, lat=lat, lon=lon, known_for=known_for,
        )
        for key, name, postcode, population, founded, height, market, collection, lat, lon, known_for in rows
    )  # fmt: skip


TOWNS = _towns(
    ("aldersey", "Aldersey", "TM1", 48210, 1187, 62, "Saturday", "Monday", 54.412, -1.905, "the Regional Library"),
    ("brackwater", "Brackwater", "TM2", 31460, 1243, 4, "Friday", "Tuesday", 54.351, -1.382, "its harbour"),
    ("corrin-bridge", "Corrin Bridge", "TM3", 12870, 1311, 88, "Wednesday", "Wednesday", 54.447, -2.087, "bookbinding"),
    ("dunmere", "Dunmere", "TM4", 8940, 1276, 141, "Thursday", "Thursday", 54.541, -1.962, "Lake Hallmere"),
    ("elvering", "Elvering", "TM5", 6325, 1402, 97, "Tuesday", "Thursday", 54.476, -1.871, "orchards and cider"),
    ("fallowgate", "Fallowgate", "TM6", 9710, 1358, 118, "Wednesday", "Friday", 54.502, -2.391, "its brass bands"),
    ("gorsehythe", "Gorsehythe", "TM7", 5480, 1290, 7, "Monday", "Friday", 54.398, -1.174, "wooden boats"),
    ("hollin-cross", "Hollin Cross", "TM8", 14155, 1849, 105, "Saturday", "Tuesday", 54.481, -2.243, "railway works"),
    ("ivesham", "Ivesham", "TM9", 18630, 1264, 41, "Friday", "Wednesday", 54.377, -1.655, "the Wend Regatta"),
    ("kelderby", "Kelderby", "TM10", 7260, 1333, 203, "Tuesday", "Monday", 54.578, -2.276, "slate and clocks"),
    ("lunnet", "Lunnet", "TM11", 3890, 1447, 256, "Thursday", "Tuesday", 54.633, -2.318, "the Great Forest"),
    ("mossfold", "Mossfold", "TM12", 1745, 1521, 318, "Sunday", "Wednesday", 54.691, -2.364, "wool"),
)


def _people(*rows: tuple[str, str, str, str, int]) -> tuple[Person, ...]:
    people = []
    for name, password, town, occupation, born in rows:
        username = name.lower().replace(" ", ".")
        people.append(
            Person(username=username, name=name, password=password, town=town, occupation=occupation, born=born)
        )
    return tuple(people)


PEOPLE = _people(
    ("Mara Linden", "paper-lantern-86", "aldersey", "librarian", 1986),
    ("Tobin Ashgrove", "slack-tide-79", "brackwater", "ferry pilot", 1979),
    ("Ilse Varnholt", "linen-thread-68", "corrin-bridge", "bookbinder", 1968),
    ("Dario Penhallow", "green-branch-91", "aldersey", "software developer", 1991),
    ("Wren Castellane", "heather-honey-94", "dunmere", "beekeeper", 1994),
    ("Osric Fell", "blue-slate-57", "kelderby", "stonemason", 1957),
    ("Priya Nandakumar", "quiet-ward-83", "aldersey", "physician", 1983),
    ("Hamish Dorrow", "north-buoy-62", "gorsehythe", "harbour master", 1962),
    ("Lucia Ferrant", "russet-press-75", "elvering", "cider maker", 1975),
    ("Jonas Brightwater", "chalk-dust-88", "lunnet", "teacher", 1988),
    ("Noor Haddadin", "tall-column-92", "aldersey", "data analyst", 1992),
    ("Callum Reedy", "old-bellwether-81", "mossfold", "shepherd", 1981),
    ("Anneke Voss", "eelgrass-bed-85", "brackwater", "marine biologist", 1985),
    ("Felix Adeyinka", "late-edition-90", "aldersey", "journalist", 1990),
    ("Greta Solbakken", "blue-ewer-72", "ivesham", "café owner", 1972),
    ("Tomasz Wilk", "signal-box-77", "hollin-cross", "railway engineer", 1977),
    ("Saoirse Quill", "india-ink-96", "fallowgate", "illustrator", 1996),
    ("Bertram Hale", "verge-fusee-51", "kelderby", "clockmaker", 1951),
    ("Yuki Morishige", "cedar-joint-87", "aldersey", "architect", 1987),
    ("Edda Thornquist", "ash-glaze-66", "dunmere", "potter", 1966),
    ("Rafael Montserin", "saffron-pot-84", "brackwater", "cook", 1984),
    ("Ottilie Crane", "pippin-graft-70", "elvering", "orchardist", 1970),
    ("Samuel Abara", "night-round-89", "corrin-bridge", "nurse", 1989),
    ("Linnea Marsh", "silver-fir-93", "lunnet", "forester", 1993),
    ("Viktor Halloran", "larch-plank-60", "gorsehythe", "boatbuilder", 1960),
    ("Zainab Rahmani", "green-mortar-80", "ivesham", "pharmacist", 1980),
    ("Piers Lockhart", "second-post-74", "hollin-cross", "postman", 1974),
    ("Maeve Tolliver", "madder-root-69", "mossfold", "weaver", 1969),
    ("Andrei Vasilache", "spruce-top-78", "aldersey", "violin maker", 1978),
    ("Hanne Kirkeby", "rye-crust-82", "fallowgate", "baker", 1982),
    ("Desmond Pell", "red-tape-64", "aldersey", "town clerk", 1964),
    ("Ines Caldeira", "false-friend-95", "brackwater", "translator", 1995),
    ("Rufus Godbold", "amber-malt-76", "kelderby", "brewer", 1976),
    ("Thea Winslade", "spare-key-03", "dunmere", "student", 2003),
    ("Milan Dravec", "three-phase-86", "corrin-bridge", "electrician", 1986),
    ("Agnes Birtwhistle", "penny-stamp-47", "elvering", "retired postmistress", 1947),
    ("Kofi Asantewa", "true-wheel-97", "hollin-cross", "bicycle mechanic", 1997),
    ("Sunniva Dale", "high-cairn-90", "lunnet", "ranger", 1990),
    ("Leopold Finch", "glass-case-59", "aldersey", "museum curator", 1959),
    ("Clementine Rusk", "brass-scales-71", "aldersey", "shopkeeper", 1971),
)


def _hours(text: str) -> Mapping[str, str]:
    """``"Mon-Fri 09:00-18:00, Sat 10:00-14:00"`` as a full week."""
    short = [day[:3] for day in WEEKDAYS]
    week = dict.fromkeys(WEEKDAYS, "")
    for part in text.split(", "):
        days, times = part.split(" ")
        first, _, last = days.partition("-")
        for index in range(short.index(first), short.index(last or first) + 1):
            week[WEEKDAYS[index]] = times
    return MappingProxyType(week)


def _business(key: str, name: str, trade: str, town: str, street: str, phone: str, founded: int, owner: str,
              hours: str, note: str) -> Business:  # fmt: skip
    return Business(
        key=key, name=name, trade=trade, town=town, street=street, phone=phone, founded=founded, owner=owner,
        hours=_hours(hours), note=note,
    )  # fmt: skip


BUSINESSES = (
    _business("lantern-loam", "Lantern & Loam", "general store", "aldersey", "14 Wendgate", "01 240 118", 1923,
              "clementine.rusk", "Mon-Fri 09:00-18:30, Sat 09:00-17:00", "Also sells online."),
    _business("quill-binding", "Quill & Binding", "books and stationery", "corrin-bridge", "3 Ropewalk", "03 551 902",
              1988, "ilse.varnholt", "Tue-Fri 10:00-17:30, Sat 10:00-16:00", "Rebinds a book in about three weeks."),
    _business("halloran-boats", "Halloran Boatyard", "boat building and repair", "gorsehythe", "Slip 2, North Quay",
              "07 336 415", 1961, "viktor.halloran", "Mon-Fri 07:30-16:00", "Hires out rowing skiffs from May on."),
    _business("blue-ewer", "The Blue Ewer", "café", "ivesham", "27 Regatta Row", "09 713 640", 2004,
              "greta.solbakken", "Tue-Sun 08:00-18:00", "Known for cardamom buns; no bookings taken."),
    _business("kirkeby-bakery", "Kirkeby's Bakery", "bakery", "fallowgate", "8 Bandstand Square", "06 428 077", 1974,
              "hanne.kirkeby", "Mon-Fri 06:00-13:00, Sat 06:00-12:00", "Rye loaves on order until the day before."),
    _business("rahmani-pharmacy", "Rahmani Pharmacy", "pharmacy", "ivesham", "5 Mill Lane", "09 713 205", 2011,
              "zainab.rahmani", "Mon-Fri 08:30-19:00, Sat 08:30-13:30, Sun 10:00-12:00", "The region's duty pharmacy."),
    _business("chainstay", "Chainstay Cycles", "bicycle shop and hire", "hollin-cross", "41 Station Parade",
              "08 602 384", 2019, "kofi.asantewa", "Wed-Sun 09:30-17:30", "Hire bicycles from 18 crowns a day."),
    _business("hale-clocks", "Hale Clocks", "clocks and repairs", "kelderby", "1 Quarry Street", "10 197 560", 1946,
              "bertram.hale", "Mon-Thu 10:00-16:30", "Looks after the town clocks of seven places."),
    _business("merrow-cider", "Merrow Cider House", "cider press and tasting room", "elvering", "Merrow Farm",
              "05 884 231", 1957, "lucia.ferrant", "Thu-Fri 13:00-19:00, Sat 11:00-19:00", "Tours start on the hour."),
)  # fmt: skip


def _project(key: str, summary: str, language: str, licence: str, maintainer: str, started: str, version: str,
             released: str) -> Project:  # fmt: skip
    return Project(
        key=key, summary=summary, language=language, licence=licence, maintainer=maintainer,
        started=date.fromisoformat(started), version=version, released=date.fromisoformat(released),
    )  # fmt: skip


PROJECTS = (
    _project("tideclock", "Tide tables for small harbours", "Python", "MIT", "anneke.voss", "2019-03-02", "2.4.1",
             "2025-04-11"),
    _project("wendline", "Plans journeys over trains, buses and ferries", "Go", "Apache-2.0", "tomasz.wilk",
             "2017-09-18", "5.0.2", "2025-02-27"),
    _project("hivebook", "A logbook for beekeepers", "JavaScript", "MIT", "wren.castellane", "2021-04-25", "1.9.0",
             "2025-05-06"),
    _project("pagefold", "Imposition of pages for bookbinders", "Python", "BSD-3-Clause", "dario.penhallow",
             "2020-11-07", "0.8.3", "2024-12-19"),
    _project("fellmap", "Draws walking maps from survey data", "Rust", "MPL-2.0", "sunniva.dale", "2018-06-30",
             "3.1.0", "2025-03-21"),
    _project("quern", "Scales recipes and costs menus", "Python", "MIT", "rafael.montserin", "2022-01-15", "1.2.5",
             "2025-01-30"),
    _project("inkwash", "A style sheet with a drawn look", "CSS", "ISC", "saoirse.quill", "2023-02-11", "0.6.0",
             "2024-10-03"),
    _project("escapement", "Simulates mechanical clocks", "C", "GPL-3.0-or-later", "yuki.morishige", "2016-08-22",
             "4.7.0", "2025-04-29"),
)  # fmt: skip


def _event(key: str, name: str, town: str, first: str, last: str, price: int, about: str) -> Event:
    return Event(
        key=key, name=name, town=town, first=date.fromisoformat(first), last=date.fromisoformat(last), price=price,
        about=about,
    )  # fmt: skip


EVENTS = (
    _event("boats", "Blessing of the Boats", "gorsehythe", "2025-05-18", "2025-05-18", 0,
           "Every boat of the island is rowed past the North Quay."),
    _event("book-market", "Ropewalk Book Market", "corrin-bridge", "2025-06-01", "2025-06-01", 3,
           "Second-hand books under the old rope roof."),
    _event("regatta", "Wend Regatta", "ivesham", "2025-06-14", "2025-06-15", 12,
           "Skiff races between the two bridges; finals on the second day."),
    _event("stone-week", "Stone Week", "kelderby", "2025-07-07", "2025-07-13", 8,
           "Open quarries, dry-stone courses and a splitting contest."),
    _event("swim", "Hallmere Swim", "dunmere", "2025-07-19", "2025-07-19", 15,
           "Across the lake, 2,600 metres; 400 places."),
    _event("steam", "Steam Days", "hollin-cross", "2025-08-09", "2025-08-10", 10,
           "The works open and two old engines run to Kelderby."),
    _event("sheep-walk", "Sheep Walk", "mossfold", "2025-08-30", "2025-08-30", 0,
           "Flocks come down from the high pasture through the town."),
    _event("brass", "Brass Evening", "fallowgate", "2025-09-13", "2025-09-13", 9,
           "Eleven bands, one bandstand."),
    _event("apple-day", "Apple Day", "elvering", "2025-09-27", "2025-09-27", 4,
           "Pressing, tasting and the naming of unknown apples."),
    _event("lantern-fair", "Lantern Fair", "aldersey", "2025-10-24", "2025-10-26", 6,
           "Three evenings of paper lanterns along Wendgate."),
    _event("wool-market", "Wool Market", "mossfold", "2025-11-08", "2025-11-08", 0,
           "Fleeces, yarn and cloth straight from the farms."),
    _event("harbour-lights", "Harbour Lights", "brackwater", "2025-12-13", "2025-12-21", 0,
           "Lit ships and a choir on the fish quay each night."),
)  # fmt: skip


LINES = (
    Line(key="wend", name="Wend Line", mode="train", first="05:40", last="22:40", every=60, fare="11.80",
         stops=(("brackwater", 0, 0), ("ivesham", 19, 21), ("aldersey", 36, 40), ("corrin-bridge", 48, 53),
                ("hollin-cross", 61, 66), ("fallowgate", 73, 77))),
    Line(key="fell", name="Fell Line", mode="train", first="06:15", last="20:15", every=120, fare="6.20",
         stops=(("hollin-cross", 0, 0), ("kelderby", 17, 14), ("lunnet", 29, 22))),
    Line(key="sall", name="Sall Ferry", mode="ferry", first="07:00", last="19:00", every=90, fare="8.50",
         stops=(("brackwater", 0, 0), ("gorsehythe", 35, 14))),
    Line(key="bus-12", name="Bus 12", mode="bus", first="06:30", last="21:30", every=30, fare="3.80",
         stops=(("aldersey", 0, 0), ("elvering", 18, 8), ("dunmere", 34, 18))),
    Line(key="bus-7", name="Bus 7", mode="bus", first="07:00", last="19:00", every=120, fare="3.10",
         stops=(("lunnet", 0, 0), ("mossfold", 22, 9))),
)  # fmt: skip


def facts() -> dict[str, Any]:
    """All of the world by short names, for templates: tuples to loop over, mappings to look up in."""
    return {
        "region": REGION,
        "sites": SITES,
        "towns": TOWNS,
        "people": PEOPLE,
        "businesses": BUSINESSES,
        "projects": PROJECTS,
        "events": EVENTS,
        "lines": LINES,
        "weekdays": WEEKDAYS,
        "town": {town.key: town for town in TOWNS},
        "person": {person.username: person for person in PEOPLE},
        "business": {business.key: business for business in BUSINESSES},
        "event": {event.key: event for event in EVENTS},
        "line": {line.key: line for line in LINES},
    }
