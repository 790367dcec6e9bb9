"""The handbook that MediaWiki holds: pages about the invented world, with their history, talk and files."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from xml.sax.saxutils import escape, quoteattr

from pytest_webarena.embedded import world

__all__ = ["ADMINISTRATOR", "content", "files", "pages", "users"]

ADMINISTRATOR = "Desmond Pell"
"""Whom the wiki lets delete, protect and block."""
_WRITERS = ("Mara Linden", "Felix Adeyinka", "Jonas Brightwater", "Leopold Finch", "Noor Haddadin")
_FIRST = datetime(2024, 2, 1, 8, 0, tzinfo=UTC)
_STEP = timedelta(hours=17, minutes=23)
_YEARS = (2022, 2023, 2024)
_COLOURS = ((178, 34, 52), (20, 82, 140), (34, 110, 60), (214, 158, 30), (84, 54, 120), (40, 40, 40))


@dataclass(frozen=True, slots=True)
class _Page:
    title: str
    texts: tuple[str, ...]
    """Its revisions, the oldest first."""


def content() -> Mapping[str, bytes]:
    """All files that the wiki is filled from: name to content."""
    made = {"pages.xml": pages().encode(), "users.tsv": users().encode()}
    return made | {f"files/{name}": picture for name, picture in files().items()}


def users() -> str:
    """A line for everybody who has an account: name, password and group, between tabs."""
    lines = [
        f"{person.name}\t{person.password}\t{'sysop' if person.name == ADMINISTRATOR else ''}"
        for person in world.PEOPLE
    ]
    return "\n".join(lines) + "\n"


def pages() -> str:
    """All pages with their history, as MediaWiki imports them. The same on every machine."""
    written = _FIRST
    parts = [f'<mediawiki xml:lang="en">\n<!-- {world.CANARY} -->']
    for number, page in enumerate(_pages()):
        parts.append(f"<page><title>{escape(page.title)}</title>")
        for version, text in enumerate(page.texts):
            writer = _WRITERS[(number + version) % len(_WRITERS)]
            stamp = written + version * timedelta(days=31)
            comment = "First version" if version == 0 else "Brought up to date"
            parts.append(
                f"<revision><timestamp>{stamp:%Y-%m-%dT%H:%M:%SZ}</timestamp>"
                f"<contributor><username>{escape(writer)}</username></contributor><comment>{comment}</comment>"
                f"<model>wikitext</model><format>text/x-wiki</format>"
                f"<text xml:space={quoteattr('preserve')}>{escape(text)}</text></revision>"
            )
        parts.append("</page>")
        written += _STEP
    return "\n".join([*parts, "</mediawiki>\n"])


def files() -> Mapping[str, bytes]:
    """A picture for each town: its arms, three stripes."""
    made = {}
    for number, town in enumerate(world.TOWNS):
        colours = [_COLOURS[(number + step * (1 + number // 6)) % len(_COLOURS)] for step in range(3)]
        made[f"Arms of {town.name}.png".replace(" ", "_")] = _stripes(colours)
    return made


def _pages() -> Iterator[_Page]:
    yield _Page("Main Page", (_main_page(),))
    for town in world.TOWNS:
        yield from _of_town(town)
    for person in world.PEOPLE:
        yield _person(person)
    for business in world.BUSINESSES:
        yield _business(business)
    for project in world.PROJECTS:
        yield _project(project)
    for number, event in enumerate(world.EVENTS):
        yield from _of_event(event, number)
    for line in world.LINES:
        yield _line(line)
    for name, about in _CATEGORIES.items():
        yield _Page(f"Category:{name}", (about,))
    for person in world.PEOPLE[:20]:
        text = f"I am {person.name}, {person.occupation} in {_town(person.town)}. I write here now and then."
        yield _Page(f"User:{person.name}", (text,))


_CATEGORIES = {
    "Towns": "Towns of Tarnmark, with their councils, markets and ways to travel.",
    "Councils": "The councils of the towns.",
    "Markets": "Weekly markets.",
    "Transport": "Trains, buses and the ferry.",
    "People": "People who have told something about themselves.",
    "Businesses": "Shops and workshops.",
    "Projects": "Software written in Tarnmark.",
    "Events": "What happens once a year.",
    "Past events": "How it was in earlier years.",
}


def _main_page() -> str:
    towns = "\n".join(f"* [[{town.name}]]" for town in world.TOWNS)
    return (
        f"Welcome to the '''{world.REGION} Handbook''', which everybody with an account can edit.\n\n"
        f"== Towns ==\n{towns}\n\n== More ==\n" + "\n".join(f"* [[:Category:{name}|{name}]]" for name in _CATEGORIES)
    )


def _of_town(town: world.Town) -> Iterator[_Page]:
    lines = [line for line in world.LINES if any(stop == town.key for stop, _, _ in line.stops)]
    residents = [person for person in world.PEOPLE if person.town == town.key]
    body = (
        f"'''{town.name}''' is a town of {world.REGION}, known for {town.known_for}.\n\n"
        f"[[File:Arms of {town.name}.png|thumb|Arms of {town.name}]]\n"
        '{| class="wikitable"\n'
        f"! Founded\n| {town.founded}\n|-\n! Height\n| {town.height} m\n|-\n! Postcode\n| {town.postcode}\n|-\n"
        f"! Inhabitants\n| {{population}}\n|}}\n\n"
        f"== Life ==\nMarket is on {town.market_day}: see [[Market of {town.name}]]. "
        f"Rubbish is collected on {town.collection_day}.\n\n"
        f"== See also ==\n* [[Council of {town.name}]]\n* [[Travel to {town.name}]]\n\n[[Category:Towns]]"
    )
    former = f"{town.population - town.population // 50 // 5 * 5:,}"
    yield _Page(town.name, tuple(body.replace("{population}", count) for count in (former, f"{town.population:,}")))
    seats = 9 + 2 * (town.population // 6000)
    yield _Page(
        f"Council of {town.name}",
        (
            f"The council of [[{town.name}]] has {seats} seats and sits on the first {town.collection_day} of each "
            f"month. Its budget of the year 2025 is {town.population * 37 // 1000} thousand crowns.\n\n"
            "[[Category:Councils]]",
        ),
    )
    stalls = 12 + town.population % 47
    yield _Page(
        f"Market of {town.name}",
        (
            f"The market of [[{town.name}]] is held every {town.market_day} from 8:00 to 13:00 and has {stalls} "
            f"stalls. A stall costs {4 + town.founded % 7} crowns a day.\n\n[[Category:Markets]]",
        ),
    )
    ways = "\n".join(f"* [[{line.name}]], every {line.every} minutes" for line in lines) or "No line stops here."
    yield _Page(f"Travel to {town.name}", (f"How to come to [[{town.name}]]:\n{ways}\n\n[[Category:Transport]]",))
    names = ", ".join(person.name for person in residents)
    yield _Page(
        f"Talk:{town.name}",
        (
            f"== Who lives here ==\nShould we list them? I know of {names}. --{_WRITERS[0]}\n",
            f"== Who lives here ==\nShould we list them? I know of {names}. --{_WRITERS[0]}\n"
            f": They have pages of their own, I would not. --{_WRITERS[1]}\n",
        ),
    )


def _person(person: world.Person) -> _Page:
    text = (
        f"'''{person.name}''' (born {person.born}) is a {person.occupation} who lives in [[{_town(person.town)}]].\n\n"
        "[[Category:People]]"
    )
    return _Page(person.name, (text,))


def _business(business: world.Business) -> _Page:
    rows = "\n".join(f"|-\n| {day} || {hours or 'closed'}" for day, hours in business.hours.items())
    text = (
        f"'''{business.name}''' ({business.trade}) is at {business.street} in [[{_town(business.town)}]]. "
        f"It was founded in {business.founded}. {business.note} Telephone {business.phone}.\n\n"
        f'{{| class="wikitable"\n! Day !! Open\n{rows}\n|}}\n\n[[Category:Businesses]]'
    )
    return _Page(business.name, (text,))


def _project(project: world.Project) -> _Page:
    text = (
        f"'''{project.key}''': {project.summary}. Written in {project.language}, licence {project.licence}, "
        f"since {project.started.year}. The latest version is {project.version} of {project.released}.\n\n"
        "[[Category:Projects]]"
    )
    return _Page(project.key.capitalize(), (text,))


def _of_event(event: world.Event, number: int) -> Iterator[_Page]:
    past = "\n".join(f"* [[{event.name} {year}]]" for year in _YEARS)
    price = f"{event.price} crowns" if event.price else "nothing"
    yield _Page(
        event.name,
        (
            f"'''{event.name}''' is in [[{_town(event.town)}]], in 2025 from {event.first} to {event.last}. "
            f"{event.about} It costs {price}.\n\n== Earlier years ==\n{past}\n\n[[Category:Events]]",
        ),
    )
    for year in _YEARS:
        visitors = 400 + (number * 7919 + (year - 2000) * 6151) % 4800
        weather = ("sun", "rain", "wind", "fog")[(number + year) % 4]
        yield _Page(
            f"{event.name} {year}",
            (
                f"In {year} '''[[{event.name}]]''' had {visitors:,} visitors. There was {weather} on the first day.\n\n"
                "[[Category:Past events]]",
            ),
        )


def _line(line: world.Line) -> _Page:
    rows = "\n".join(f"|-\n| [[{_town(place)}]] || {minutes} || {far}" for place, minutes, far in line.stops)
    text = (
        f"The '''{line.name}''' ({line.mode}) runs from {line.first} to {line.last}, every {line.every} minutes. A "
        f"ticket over the whole line is {line.fare} crowns.\n\n"
        f'{{| class="wikitable"\n! Stop !! Minutes !! Kilometres\n{rows}\n|}}\n\n[[Category:Transport]]'
    )
    return _Page(line.name, (text,))


def _town(key: str) -> str:
    return next(town.name for town in world.TOWNS if town.key == key)


def _stripes(colours: list[tuple[int, int, int]]) -> bytes:
    """A picture of 180 × 120 points."""
    width, height = 180, 120
    rows = b"".join(b"\0" + bytes(colours[y * len(colours) // height]) * width for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    )
