"""What Redmine holds: the region's works, with their issues, notes, hours, wiki, files and repositories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pytest_webarena.embedded import world
from pytest_webarena.embedded.chance import Chance
from pytest_webarena.embedded.works_data import NOTES, WORKS, Work

__all__ = ["ADMINISTRATOR", "API_KEY", "content", "tracker"]

ADMINISTRATOR = "desmond.pell"
"""Whom Redmine lets do everything."""
API_KEY = "6d3f0c1e52b747c19a8ef7a4e2b81d3517c0ffee"
"""The administrator's key for Redmine's REST API."""
_EACH = 40
"""Issues of a project."""
_FIRST = datetime(2024, 9, 2, 8, 0, tzinfo=UTC)
_LAST = datetime(2025, 5, 13, 16, 0, tzinfo=UTC)
_TRACKERS = ("Bug", "Feature", "Support")
_PRIORITIES = ("Low", "Normal", "High", "Urgent", "Immediate")
_DEEDS = {
    "Bug": ("is broken", "is loose", "leans", "makes a noise", "has gone missing"),
    "Feature": ("needs a second one", "should be painted", "should be wider", "needs a number plate"),
    "Support": ("who looks after it?", "how old is it?", "may visitors use it?", "when was it last seen to?"),
}

Row = dict[str, Any]


def content() -> Mapping[str, bytes]:
    """All files that Redmine is filled from: name to content."""
    made = {"works.json": json.dumps(tracker(), indent=1).encode()}
    for work in WORKS:
        made[f"git/{work.key}"] = _history(work).encode()
        for name, text in _files(work).items():
            made[f"files/{work.key}/{name}"] = text.encode()
    return made


def tracker() -> Row:
    """Everything but the files and repositories, as the program inside reads it. The same on every machine."""
    issues = _issues()
    return {
        "canary": world.CANARY,
        "administrator": ADMINISTRATOR,
        "api_key": API_KEY,
        "people": [
            {"login": person.username, "name": person.name, "mail": person.email, "password": person.password}
            for person in world.PEOPLE
        ],
        "projects": [_project(work) for work in WORKS],
        "issues": issues,
        "notes": _notes(issues),
        "hours": _hours(issues),
        "relations": _relations(issues),
    }


def _project(work: Work) -> Row:
    return {
        "key": work.key,
        "name": work.name,
        "about": work.about,
        "public": work.public,
        "members": [
            [work.manager, "Manager"],
            *([login, "Developer"] for login in work.developers),
            *([login, "Reporter"] for login in work.reporters),
        ],
        "categories": list(work.categories),
        "versions": [
            {"name": name, "status": status, "due": due}
            for name, status, due in zip(
                work.versions, ("closed", "open", "open"), ("2025-01-31", "2025-05-30", "2025-08-29"), strict=True
            )
        ],
        "wiki": _wiki(work),
        "news": [
            {
                "title": f"{work.versions[0]} is done", "summary": "Thank you all.", "author": work.manager,
                "text": f"All that was planned for {work.versions[0]} is done. Next comes {work.versions[1]}.",
                "on": "2025-02-03T09:00:00Z", "comments": [[work.reporters[0], "Well done!"]],
            },
            {
                "title": f"Meeting about {work.versions[1]}", "summary": "Friday at ten.", "author": work.manager,
                "text": f"We meet at the {work.places[0]} to look at what is open.", "on": "2025-05-05T09:00:00Z",
                "comments": [],
            },
        ],
    }  # fmt: skip


def _wiki(work: Work) -> list[Row]:
    """Pages with their texts, the oldest first, and who wrote them."""
    chance = Chance(f"wiki {work.key}")
    before, now = chance.whole(12, 40), chance.whole(41, 90)
    start = f"h1. {work.name}\n\n{work.about}\n\n* [[Places]]\n* [[Rules]]\n* [[Contacts]]"
    places = "h1. Places\n\n" + "\n".join(f"* *{place}*" for place in work.places)
    rules = (
        "h1. Rules\n\n# Say where it is.\n# One issue for one thing.\n# Whoever closes an issue has seen it done.\n\n"
        "We have {count} crowns a week for small things."
    )
    contacts = "h1. Contacts\n\n|_. Who |_. What |\n" + "\n".join(
        f"| {_name(login)} | {world.facts()['person'][login].occupation} |"
        for login in (work.manager, *work.developers)
    )
    return [
        {"title": "Wiki", "texts": [start], "author": work.manager},
        {"title": "Places", "texts": [places], "author": work.developers[0]},
        {"title": "Rules", "texts": [rules.replace("{count}", str(n)) for n in (before, now)], "author": work.manager},
        {"title": "Contacts", "texts": [contacts], "author": work.developers[1]},
    ]


def _issues() -> list[Row]:
    """In the order in which they were reported; the first one has the number 1."""
    drafts = [draft for work in WORKS for draft in _drafts(work)]
    drafts.sort(key=lambda draft: (draft["created"], draft["project"]))
    return [{"id": number, **draft} for number, draft in enumerate(drafts, 1)]


def _drafts(work: Work) -> list[Row]:
    chance = Chance(f"issues {work.key}")
    pairs = [(thing, place) for place in work.places for thing in work.things]
    team = (work.manager, *work.developers)
    made = []
    for thing, place in chance.some_of(pairs, _EACH):
        kind = chance.one_of(_TRACKERS)
        created = _FIRST + timedelta(minutes=chance.whole(0, int((_LAST - _FIRST).total_seconds()) // 60))
        created = created.replace(hour=8 + created.hour % 9)
        age = (_LAST - created).days
        status = _status(chance, age)
        over = status in ("Closed", "Rejected")
        version = work.versions[0] if over and created.year == 2024 else work.versions[1 + chance.whole(0, 1)]
        starts = created.date() + timedelta(days=chance.whole(0, 9))
        done = {"New": 0, "In Progress": 10 * chance.whole(1, 8), "Feedback": 50, "Resolved": 100}.get(status, 100)
        updated = created + timedelta(days=chance.whole(0, max(0, min(age, 40))), minutes=chance.whole(0, 50))
        made.append(
            {
                "project": work.key, "tracker": kind, "status": status,
                "subject": f"{place}: {thing} {chance.one_of(_DEEDS[kind])}",
                "description": f"The {thing} at *{place}*. Seen by {_name(chance.one_of(work.reporters))}.",
                "priority": _PRIORITIES[min(4, int(chance.between(0, 1) ** 2 * 5))],
                "category": work.categories[chance.whole(0, 2)] if chance.happens(0.8) else None,
                "author": chance.one_of((*team, *work.reporters)),
                "assignee": chance.one_of(team) if status != "New" or chance.happens(0.4) else None,
                "version": version if over or chance.happens(0.6) else None,
                "start": str(starts), "due": _due(chance, starts, over=over),
                "done": 0 if status == "Rejected" else done,
                "hours": chance.whole(1, 24), "cost": 5 * chance.whole(2, 160) if chance.happens(0.7) else None,
                "private": chance.happens(0.04),
                "created": _stamp(created), "updated": _stamp(min(updated, _LAST)),
                "closed": _stamp(min(updated, _LAST)) if over else None,
                "watchers": chance.some_of(team, chance.whole(0, 2)),
            }
        )  # fmt: skip
    return made


def _status(chance: Chance, age: int) -> str:
    """Old ones are mostly done."""
    drawn = chance.between(0, 1)
    if age > 90:
        steps = ((0.66, "Closed"), (0.76, "Rejected"), (0.86, "Resolved"), (0.94, "In Progress"), (1.0, "New"))
    else:
        steps = ((0.2, "Closed"), (0.25, "Rejected"), (0.5, "In Progress"), (0.6, "Feedback"), (1.0, "New"))
    return next(name for bound, name in steps if drawn <= bound)


def _due(chance: Chance, starts: date, *, over: bool) -> str | None:
    if not chance.happens(0.6):
        return None
    return str(starts + timedelta(days=chance.whole(5, 60 if over else 120)))


def _notes(issues: Sequence[Row]) -> list[Row]:
    """What was said below issues, and how their status changed."""
    chance = Chance("notes")
    made: list[Row] = []
    for issue in issues:
        work = _work(issue["project"])
        team = (work.manager, *work.developers, *work.reporters)
        for _ in range(chance.whole(0, 2)):
            made.append(
                {
                    "issue": issue["id"],
                    "author": chance.one_of(team),
                    "text": chance.one_of(NOTES),
                    "on": issue["updated"],
                }
            )
        if issue["status"] != "New":
            made.append(
                {
                    "issue": issue["id"], "author": work.manager, "text": "", "on": issue["updated"],
                    "to": issue["status"],
                }
            )  # fmt: skip
    return made


def _hours(issues: Sequence[Row]) -> list[Row]:
    """Hours that were spent, booked by those who work on it."""
    chance = Chance("hours")
    made = []
    for issue in issues:
        if issue["assignee"] is None or not chance.happens(0.6):
            continue
        for _ in range(chance.whole(1, 2)):
            spent = date.fromisoformat(issue["start"]) + timedelta(days=chance.whole(0, 5))
            made.append(
                {
                    "issue": issue["id"], "user": issue["assignee"], "hours": chance.whole(1, 16) / 2,
                    "on": str(min(spent, _LAST.date())), "comment": chance.one_of(("On site", "Drawings", "Parts", "")),
                }
            )  # fmt: skip
    return made


def _relations(issues: Sequence[Row]) -> list[Row]:
    """Some issues of one project that have to do with each other."""
    chance = Chance("relations")
    made = []
    for work in WORKS:
        own = [issue["id"] for issue in issues if issue["project"] == work.key]
        picked = chance.some_of(own, 8)
        for kind, first, second in zip(
            ("relates", "blocks", "precedes", "duplicates"), picked[::2], picked[1::2], strict=True
        ):
            made.append({"from": min(first, second), "to": max(first, second), "type": kind})
    return made


def _history(work: Work) -> str:
    """The project's repository as `git fast-import` reads it: a table that grows, a plan, notes; issues are named."""
    chance = Chance(f"git {work.key}")
    numbers = [issue["id"] for issue in _issues() if issue["project"] == work.key]
    rows = {place: [chance.whole(2, 60) for _ in work.sheet[1:]] for place in work.places}
    parts: list[str] = []
    for number in range(12):
        place = work.places[number % len(work.places)]
        if number == 0:
            files = {"README.md": f"# {work.name}\n\n{work.about}\n"}
            subject = "Begin"
        elif number % 3 == 0:
            column = chance.whole(0, len(work.sheet) - 2)
            rows[place][column] += chance.whole(1, 9)
            files = {"data/places.csv": _csv(work, rows)}
            subject = f"Count {work.sheet[1 + column].replace('_', ' ')} at {place} again"
        elif number % 3 == 1:
            files = {"data/places.csv": _csv(work, rows), f"plans/{_slug(place)}.md": f"# {place}\n\nRound {number}.\n"}
            subject = f"Draw the plan of {place}, refs #{chance.one_of(numbers)}"
        else:
            files = {"NOTES.md": f"# Notes\n\nThe {chance.one_of(work.things)} at {place} comes first.\n"}
            subject = f"Note what comes first at {place}"
        who = world.facts()["person"][(work.manager, *work.developers)[number % 4]]
        at = int((_FIRST + timedelta(days=20 * number, hours=number)).timestamp())
        parts.append(f"commit refs/heads/main\ncommitter {who.name} <{who.email}> {at} +0000\n{_data(subject)}")
        parts.extend(f"M 100644 inline {name}\n{_data(text)}" for name, text in files.items())
    return "".join(parts)


def _files(work: Work) -> dict[str, str]:
    """What stands under "Files" of a project."""
    chance = Chance(f"files {work.key}")
    budget = "\n".join(f"{name},{50 * chance.whole(20, 200)}" for name in work.categories)
    return {
        "budget.csv": f"category,crowns\n{budget}\n",
        "telephone-list.txt": "".join(
            f"{_name(login)}: 01 24{chance.whole(1000, 9999)}\n" for login in (work.manager, *work.developers)
        ),
    }


def _csv(work: Work, rows: Mapping[str, Sequence[int]]) -> str:
    lines = [",".join((place, *map(str, numbers))) for place, numbers in rows.items()]
    return "\n".join((",".join(work.sheet), *lines)) + "\n"


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"


def _stamp(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def _slug(text: str) -> str:
    return text.lower().replace(" ", "-").replace("'", "")


def _work(key: str) -> Work:
    return next(work for work in WORKS if work.key == key)


def _name(login: str) -> str:
    return str(world.facts()["person"][login].name)
