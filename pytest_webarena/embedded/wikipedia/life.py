"""Articles on what lives in the region: people of the past, animals, plants, dishes, firms, feasts, software."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_webarena.embedded import world
from pytest_webarena.embedded.wikipedia import tables
from pytest_webarena.embedded.wikipedia.draft import (
    Draft,
    either,
    listed,
    name_of,
    plural,
    table,
    the,
    town_link,
    with_article,
)

__all__ = ["drafts"]

_PERSON = {person.username: person for person in world.PEOPLE}


def drafts() -> Iterator[Draft]:
    """Every article on what lives."""
    yield from map(_notable, tables.NOTABLES)
    yield from map(_living, tables.LIVING)
    yield from map(_food, tables.FOODS)
    yield from map(_institution, tables.INSTITUTIONS)
    yield from map(_firm, world.BUSINESSES)
    yield from map(_event, world.EVENTS)
    yield from map(_project, world.PROJECTS)
    yield from map(_line, world.LINES)
    yield from _stations()


def _notable(person: tables.Notable) -> Draft:
    age = person.died - person.born
    trade = with_article(person.occupation)
    lead = either(
        person.name,
        f"**{person.name}** ({person.born} to {person.died}) was {trade} from {town_link(person.town)}.",
        f"**{person.name}**, born in {town_link(person.town)} in {person.born}, was {trade}.",
    )
    body = (
        f"{lead} {person.note}\n\n## Life\n\n{person.more} The year of death was {person.died}, at the age of about "
        f"{age}."
    )
    group = person.occupation.split(" and ")[0].split(" ")[-1]
    facts = (
        ("Born", str(person.born)), ("Died", str(person.died)), ("From", name_of(person.town)),
        ("Occupation", person.occupation),
    )  # fmt: skip
    century = f"People of the {(person.born + 30) // 100 + 1}th century"
    return Draft(title=person.name, body=body, categories=("People", century, plural(group).capitalize()), facts=facts)


def _living(being: tables.Living) -> Draft:
    name = being.name.removesuffix(" (bird)")
    measure = "weight" if being.size.endswith("g") else "size"
    body = (
        f"The **{name}** is {with_article(being.kind)} of [[Tarnmark]]. {being.note}\n\n## Where and when\n\n"
        f"It is to be found here: {being.where}. "
        f"Its usual {measure} is {being.size}. "
        + either(name, f"For the calendar: {being.season}.", f"Its time: {being.season}.")
    )
    facts = (("Kind", being.kind), (measure.capitalize(), being.size), ("Where", being.where), ("Season", being.season))
    group = "Breeds" if being.kind.startswith("breed") else plural(being.kind).capitalize()
    return Draft(title=being.name, body=body, categories=("Nature", group), facts=facts)


def _food(food: tables.Food) -> Draft:
    body = (
        f"**{food.name}** is a {food.kind} from {town_link(food.town)}.\n\n{food.note}\n\n## What is in it\n\n"
        f"It is made of {food.made_of}."
    )
    facts = (("Kind", food.kind), ("From", name_of(food.town)), ("Made of", food.made_of))
    return Draft(title=food.name, body=body, categories=("Food and drink",), facts=facts)


def _institution(body: tables.Institution) -> Draft:
    text = (
        f"{the(body.name, f'**{body.name}**')} is {with_article(body.kind)} in {town_link(body.town)}, founded in "
        f"{body.founded}. {body.note}\n\n## Size\n\nAs of 2024 it has {body.members}."
    )
    facts = (("Kind", body.kind), ("Founded", str(body.founded)), ("Seat", name_of(body.town)), ("Size", body.members))
    return Draft(
        title=body.name, body=text, categories=("Institutions", f"Founded in the {body.founded // 100}00s"), facts=facts
    )


def _firm(firm: world.Business) -> Draft:
    owner = _PERSON[firm.owner].name
    hours = [(day, firm.hours[day] or "closed") for day in world.WEEKDAYS]
    body = (
        f"**{firm.name}** ({firm.trade}) is a firm at {firm.street}, {town_link(firm.town)}. {firm.note}\n\n"
        f"## History\n\nIt was founded in {firm.founded}. Its owner today is {owner}.\n\n## Hours\n\n"
        + table(f"Opening hours of {firm.name}", ("Day", "Open"), hours)
    )
    facts = (
        ("Trade", firm.trade), ("Founded", str(firm.founded)), ("Address", f"{firm.street}, {name_of(firm.town)}"),
        ("Telephone", firm.phone), ("Owner", owner),
    )  # fmt: skip
    return Draft(title=firm.name, body=body, categories=("Firms",), facts=facts)


def _event(event: world.Event) -> Draft:
    when = f"{event.first.day} {event.first:%B %Y}"
    until = f"{event.last.day} {event.last:%B %Y}"
    span = f"on {when}" if event.first == event.last else f"from {when} to {until}"
    price = "Entry is free." if not event.price else f"A ticket costs {event.price} [[crown]]s."
    body = (
        f"**{event.name}** is held in {town_link(event.town)} once a year. {event.about}\n\n## This year\n\n"
        f"It takes place {span}. {price}"
    )
    facts = (("Place", name_of(event.town)), ("First day", when), ("Last day", until),
             ("Entry", f"{event.price} kr" if event.price else "free"))  # fmt: skip
    return Draft(title=event.name, body=body, categories=("Events",), facts=facts)


def _project(project: world.Project) -> Draft:
    maker = _PERSON[project.maintainer].name
    body = (
        f"**{project.key}** is free software: {project.summary[0].lower()}{project.summary[1:]}. It is written in "
        f"{project.language} and looked after by {maker}.\n\n## Versions\n\nThe project began on "
        f"{project.started.day} {project.started:%B %Y}. Version {project.version} came out on "
        f"{project.released.day} {project.released:%B %Y}, under the licence {project.licence}."
    )
    facts = (("Language", project.language), ("Licence", project.licence), ("Version", project.version),
             ("Maintainer", maker))  # fmt: skip
    return Draft(title=project.key, body=body, categories=("Software",), facts=facts)


_MODES: Mapping[str, str] = {"train": "railway line", "ferry": "ferry line", "bus": "bus line"}


def _line(line: world.Line) -> Draft:
    stops = [town_link(key) for key, *_ in line.stops]
    minutes, kilometres = line.stops[-1][1], line.stops[-1][2]
    body = (
        f"{the(line.name, f'**{line.name}**')} is a {_MODES[line.mode]} of {kilometres} kilometres in [[Tarnmark]]. It "
        f"runs between {listed([stops[0], stops[-1]])}, every {line.every} minutes.\n\n## Stops\n\n"
        + table(
            f"Stops of {the(line.name, line.name, begin=False)}", ("Stop", "Minutes", "Kilometres"),
            [(name_of(key), after, far) for key, after, far in line.stops],
        )
        + f"\n\n## Times\n\nThe first one leaves at {line.first}, the last one at {line.last}. The whole way takes "
        f"{minutes} minutes and costs {line.fare} kr."
    )  # fmt: skip
    facts = (("Kind", _MODES[line.mode]), ("Length", f"{kilometres} km"), ("Every", f"{line.every} minutes"),
             ("Whole way", f"{minutes} minutes"), ("Fare", f"{line.fare} kr"))  # fmt: skip
    return Draft(title=line.name, body=body, categories=("Transport",), facts=facts)


def _stations() -> Iterator[Draft]:
    trains = [line for line in world.LINES if line.mode == "train"]
    for key in dict.fromkeys(stop for line in trains for stop, *_ in line.stops):
        here = [line for line in trains if key in [stop for stop, *_ in line.stops]]
        name = name_of(key)
        opened = "1873" if {line.key for line in here} == {"fell"} else "1849"
        lines = listed([f"[[{line.name}]]" for line in here])
        platforms = 2 * len(here) + (key == "aldersey")
        body = (
            f"**{name} station** serves {town_link(key)}. It lies on the {lines}."
            f"\n\n## Building\n\nThe station was opened in {opened}. It has {platforms} platforms."
        )
        facts = (("Opened", opened), ("Platforms", str(platforms)), ("Lines", ", ".join(line.name for line in here)))
        yield Draft(title=f"{name} station", body=body, categories=("Stations", "Transport"), facts=facts)
