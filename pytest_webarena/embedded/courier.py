"""What WordPress holds: the region's paper, with its articles, comments, pictures, drafts and writers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_webarena.embedded import handbook, world
from pytest_webarena.embedded.chance import Chance

__all__ = ["ADMINISTRATOR", "content", "paper"]

ADMINISTRATOR = "desmond.pell"
_ROLES = {
    ADMINISTRATOR: "administrator",
    "felix.adeyinka": "editor",
    "saoirse.quill": "author",
    "thea.winslade": "author",
    "jonas.brightwater": "contributor",
}
"""Everybody else reads."""
_WRITERS = ("felix.adeyinka", "saoirse.quill", "thea.winslade")
_FIRST = datetime(2024, 6, 3, 7, 30, tzinfo=UTC)
_STEP = timedelta(days=4, hours=5, minutes=17)
_CATEGORIES = ("Events", "Markets", "Trades", "Software", "Transport", "People")
_SAID = (
    "Thank you, I had been looking for this.",
    "Is that still true in the rain?",
    "My neighbour says the same.",
    "You have forgotten the bus from {town}.",
    "I was there and saw it differently.",
    "More of this, please.",
    "Who took the picture?",
    "The price was lower last year.",
)
_UNWANTED = "Cheap watches, cheap boats, cheap everything. Write to me."

Row = dict[str, Any]


def content() -> Mapping[str, bytes]:
    """All files that the paper is filled from: name to content."""
    made = {"paper.json": json.dumps(paper(), indent=1).encode()}
    return made | {f"media/{name}": picture for name, picture in handbook.files().items()}


def paper() -> Row:
    """All but the pictures, as the program inside reads it. The same on every machine."""
    articles = list(_articles())
    return {
        "canary": world.CANARY,
        "title": f"{world.REGION} Courier",
        "categories": list(_CATEGORIES),
        "people": [
            {
                "login": person.username, "name": person.name, "mail": person.email, "password": person.password,
                "role": _ROLES.get(person.username, "subscriber"),
            }
            for person in world.PEOPLE
        ],
        "articles": articles,
        "pages": [
            {"title": "About us", "text": f"The {world.REGION} Courier comes out twice a week, on paper and here."},
            {"title": "Advertise", "text": "A line costs 4 crowns, a picture 30. Write to Felix Adeyinka."},
            {"title": "Imprint", "text": "Printed in Aldersey, 14 Wendgate, second floor."},
        ],
    }  # fmt: skip


def _articles() -> Iterator[Row]:
    drafts = [*_published(), *_unpublished()]
    for number, draft in enumerate(drafts):
        chance = Chance(f"article {number}")
        written = _FIRST + number * _STEP
        yield {
            "author": _WRITERS[chance.whole(0, 2)], "state": "publish", "tags": [], "on": _stamp(written),
            "comments": _comments(chance, written) if draft.get("state", "publish") == "publish" else [],
            **draft,
        }  # fmt: skip


def _published() -> Iterator[Row]:
    for event, town in ((event, _town(event.town)) for event in world.EVENTS):
        chance = Chance(f"report {event.key}")
        yield {
            "title": f"{event.name}: how it was last year", "category": "Events", "tags": [town.name],
            "text": f"{event.about} We counted {chance.whole(300, 5200)} visitors in {town.name} last year.",
        }  # fmt: skip
        yield {
            "title": f"What is new at the {event.name}", "category": "Events", "tags": [town.name],
            "text": f"It begins on {event.first:%d %B %Y} in {town.name}. "
            f"{chance.whole(3, 30)} helpers are still wanted; they get soup.",
        }  # fmt: skip
    for town in world.TOWNS:
        chance = Chance(f"market {town.key}")
        yield {
            "title": f"Prices on the market of {town.name}", "category": "Markets", "tags": [town.name],
            "picture": f"Arms_of_{town.name.replace(' ', '_')}.png",
            "text": f"On {town.market_day} we paid {chance.whole(2, 6)} crowns for a loaf, {chance.whole(3, 9)} for a "
            f"pound of butter and {chance.whole(1, 4)} for six eggs.",
        }  # fmt: skip
    for business in world.BUSINESSES:
        yield {
            "title": f"A morning at {business.name}", "category": "Trades", "tags": [_town(business.town).name],
            "text": f"{_person(business.owner).name} opens the door of the {business.trade}. {business.note}",
        }  # fmt: skip
    for project in world.PROJECTS:
        yield {
            "title": f"{project.key.capitalize()} {project.version} is out", "category": "Software",
            "text": f"{project.summary}: {_person(project.maintainer).name} tells what took so long.",
        }  # fmt: skip
    for line in world.LINES:
        yield {
            "title": f"{line.name}: what changes in summer", "category": "Transport",
            "text": f"From June on it runs every {line.every} minutes until {line.last}. "
            f"The fare stays {line.fare} crowns.",
        }  # fmt: skip
    for person in world.PEOPLE[10:20]:
        yield {
            "title": f"Three questions to {person.name}", "category": "People", "tags": [_town(person.town).name],
            "text": f"We asked the {person.occupation} what the morning smells of, whom to ask, and what is missing.",
        }  # fmt: skip


def _unpublished() -> Iterator[Row]:
    for number, town in enumerate(world.TOWNS[:6]):
        yield {
            "title": f"A walk around {town.name}", "category": "People", "tags": [town.name], "state": "draft",
            "author": _WRITERS[number % 3], "text": f"From {town.height} metres up. To be continued.",
        }  # fmt: skip
    for name in ("School garden", "Choir tour", "Bell in the fog"):
        yield {
            "title": f"{name}, a reader writes", "category": "People", "state": "pending",
            "author": "jonas.brightwater", "text": "I have written this down as I remember it.",
        }  # fmt: skip


def _comments(chance: Chance, written: datetime) -> list[Row]:
    """Two in three are approved, some wait, a few are spam."""
    made = []
    for _ in range(chance.whole(0, 3)):
        person = chance.one_of(world.PEOPLE)
        kind = chance.between(0, 1)
        state = "1" if kind < 0.7 else "0" if kind < 0.9 else "spam"
        unwanted = state == "spam"
        text = _UNWANTED if unwanted else chance.one_of(_SAID).replace("{town}", _town(person.town).name)
        made.append(
            {
                "who": "Best Prices" if unwanted else person.name, "login": person.username if state == "1" else "",
                "text": text, "state": state, "on": _stamp(written + timedelta(hours=chance.whole(1, 60))),
            }
        )  # fmt: skip
    return made


def _town(key: str) -> world.Town:
    return next(town for town in world.TOWNS if town.key == key)


def _person(username: str) -> world.Person:
    return next(person for person in world.PEOPLE if person.username == username)


def _stamp(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}"
