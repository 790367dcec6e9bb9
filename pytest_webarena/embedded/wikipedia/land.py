"""Articles on the land: towns, villages, waters, hills, woods, buildings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zlib import crc32

from pytest_webarena.embedded import landscape, world
from pytest_webarena.embedded.wikipedia import tables
from pytest_webarena.embedded.wikipedia.draft import (
    TOWN,
    Draft,
    either,
    figure,
    listed,
    name_of,
    plural,
    table,
    the,
    town_link,
    with_article,
)

__all__ = ["drafts", "title_of", "titles_of_rivers"]

_SAME_NAME = {"Corrin Bridge": "bridge"}
"""Buildings that share the name of a town, and what tells them apart."""
_SEVERAL = ("Dunmere Kilns", "North Quay Slips", "Weaving Sheds")
"""Buildings that are more than one."""
_COUNTS = ((1850, 0.31), (1900, 0.58), (1950, 0.74), (2000, 0.93))


def titles_of_rivers() -> dict[str, str]:
    """The title of the article on each river, by its name."""
    return {river.name: river.name if "Brook" in river.name else f"River {river.name}" for river in landscape.RIVERS}


def title_of(building: landscape.Building) -> str:
    """The title of the article on a building."""
    kind = _SAME_NAME.get(building.name)
    return f"{building.name} ({kind})" if kind else building.name


def drafts() -> Iterator[Draft]:
    """Every article on the land."""
    yield from map(_town, world.TOWNS)
    yield from map(_village, landscape.VILLAGES)
    yield from map(_river, landscape.RIVERS)
    yield from map(_lake, landscape.LAKES)
    yield from map(_hill, landscape.HILLS)
    yield from map(_wood, landscape.WOODS)
    yield from map(_building, landscape.BUILDINGS)


def earlier_counts(town: world.Town) -> list[tuple[int, int]]:
    """The years and results of all counts of a town's people, the last one included."""
    found = []
    for year, share in _COUNTS:
        wobble = (crc32(f"{town.key} {year}".encode()) % 1000 - 500) / 5000
        found.append((year, round(town.population * (share + wobble))))
    return [*found, (2024, town.population)]


def _town(town: world.Town) -> Draft:
    name = town.name
    rivers = [f"[[{titles_of_rivers()[river.name]}]]" for river in landscape.RIVERS if town.key in river.towns]
    villages = [f"[[{village.name}]]" for village in landscape.VILLAGES if village.town == town.key]
    sights = [building for building in landscape.BUILDINGS if building.town == town.key]
    natives = [person for person in tables.NOTABLES if person.town == town.key]
    firms = [firm for firm in world.BUSINESSES if firm.town == town.key]
    feasts = [event for event in world.EVENTS if event.town == town.key]
    lines = [line for line in world.LINES if town.key in [stop[0] for stop in line.stops]]
    body = [
        either(
            name,
            f"**{name}** is a town in [[Tarnmark]], known for {town.known_for}.",
            f"**{name}** is one of the {len(world.TOWNS)} towns of [[Tarnmark]]. It is known for {town.known_for}.",
            f"**{name}**, a town in [[Tarnmark]] of {figure(town.population)} people, is known for {town.known_for}.",
        ),
        "## Geography",
        f"{name} lies {town.height} metres above the sea"
        + (f", on the {listed(rivers)}" if rivers else "")
        + f". Its villages are {listed(villages)}.",
        "## History",
        f"{name} was first named in {town.founded}. "
        + either(
            name + "h",
            f"Its market has been held on {town.market_day} since the [[Charter of 1297]] or soon after."
            if town.founded < 1297
            else f"Its market has always been on {town.market_day}.",
            f"Market day is {town.market_day}.",
            f"The market is held every {town.market_day}, unless that is a holiday.",
        ),
        table(f"Population of {name}", ("Count", "People"), [(year, figure(n)) for year, n in earlier_counts(town)]),
    ]
    if sights:
        body += ["## Sights"]
        body += ["\n".join(f"- [[{title_of(sight)}]], {sight.kind} ({sight.built})" for sight in sights)]
    body += ["## Daily life", f"Bins are emptied on {town.collection_day}. "
             + (f"Firms of the town include {_linked(firms)}. " if firms else "")
             + (f"Each year brings {_linked(feasts)}." if feasts else "")]  # fmt: skip
    if lines:
        served = listed([the(line.name, f"[[{line.name}]]", begin=False) for line in lines])
        body += ["## Transport", f"{name} is served by {served}."]
    if natives:
        body += ["## People born here"]
        body += ["\n".join(f"- [[{person.name}]] ({person.born} to {person.died}), {person.occupation}"
                           for person in natives)]  # fmt: skip
    facts = (
        ("Population", f"{figure(town.population)} (2024)"), ("First named", str(town.founded)),
        ("Height", f"{town.height} m"), ("Postcode", town.postcode), ("Market day", town.market_day),
        ("Position", f"{town.lat:.3f}° N, {-town.lon:.3f}° W"),
    )  # fmt: skip
    return Draft(title=name, body="\n\n".join(body), categories=("Towns", "Geography"), facts=facts)


def _linked(targets: Sequence[world.Business | world.Event]) -> str:
    return listed([f"[[{target.name}]]" for target in targets])


def _village(village: landscape.Village) -> Draft:
    name, town = village.name, town_link(village.town)
    people = figure(village.population)
    lead = either(
        name,
        f"**{name}** is a village near {town} in [[Tarnmark]]. {people} people lived there in 2024.",
        f"**{name}**, a village of {people} people, belongs to {town}.",
        f"**{name}** is one of the villages round {town}. At the count of 2024 it had {people} people.",
    )
    town_name = name_of(village.town)
    school = either(
        name + "s",
        f"Its children go to school in {town_name}.",
        f"A bus takes its children to school in {town_name}.",
        f"Its own school closed long ago; pupils go to {town_name}.",
    )
    body = f"{lead}\n\n{village.note}\n\n## History\n\nThe village was first named in {village.founded}. {school}"
    facts = (("Population", f"{people} (2024)"), ("First named", str(village.founded)), ("Town", town_name))
    return Draft(title=name, body=body, categories=("Villages", f"Round {town_name}"), facts=facts)


def _river(river: landscape.River) -> Draft:
    title = titles_of_rivers()[river.name]
    into = [titles_of_rivers()[each.name] for each in landscape.RIVERS if f"the {river.name} at" in each.mouth]
    towns = listed([town_link(key) for key in river.towns])
    course = f"It rises at {river.source}, passes {towns}, and ends in {river.mouth}."
    body = [
        f"The **{title}** is a river of {river.length} kilometres in [[Tarnmark]]. {river.note}",
        "## Course",
        course,
    ]
    if into:
        body += ["## Tributaries", "\n".join(f"- [[{each}]]" for each in into)]
    facts = (("Length", f"{river.length} km"), ("Source", river.source), ("Mouth", river.mouth))
    also = (f"{river.name} (river)",) if river.name != title else ()
    return Draft(title=title, body="\n\n".join(body), categories=("Rivers", "Geography"), facts=facts, also=also)


def _lake(lake: landscape.Lake) -> Draft:
    body = (
        f"**{lake.name}** is a lake near {town_link(lake.town)}. {lake.note}\n\n## Measures\n\nIt covers {lake.area} "
        f"square kilometres and is {lake.depth} metres deep at its deepest. Its surface lies {lake.height} "
        f"{'metre' if lake.height == 1 else 'metres'} above the sea."
    )
    facts = (("Area", f"{lake.area} km²"), ("Depth", f"{lake.depth} m"), ("Height", f"{lake.height} m"))
    return Draft(title=lake.name, body=body, categories=("Lakes", "Geography"), facts=facts)


def _hill(hill: landscape.Hill) -> Draft:
    lead = either(
        hill.name,
        f"**{hill.name}** is a hill of {figure(hill.height)} metres near {town_link(hill.town)}.",
        f"**{hill.name}** ({figure(hill.height)} metres) rises near {town_link(hill.town)}.",
    )
    higher = sum(other.height > hill.height for other in landscape.HILLS)
    rank = "the highest of all" if not higher else f"number {higher + 1} in the [[List of hills by height]]"
    facts = (("Height", f"{figure(hill.height)} m"), ("Nearest town", name_of(hill.town)))
    body = f"{lead} {hill.note}\n\n## Height\n\nWith {figure(hill.height)} metres it is {rank}."
    return Draft(title=hill.name, body=body, categories=("Hills", "Geography"), facts=facts)


def _wood(wood: landscape.Wood) -> Draft:
    body = (
        f"{'The ' if wood.name.startswith('Great') else ''}**{wood.name}** is a wood of {figure(wood.area)} hectares "
        f"near {town_link(wood.town)}. Most of its trees are of one kind: {wood.tree}.\n\n{wood.note}"
    )
    facts = (("Area", f"{figure(wood.area)} ha"), ("Main tree", wood.tree), ("Nearest town", name_of(wood.town)))
    return Draft(title=wood.name, body=body, categories=("Woods", "Geography"), facts=facts)


def _building(building: landscape.Building) -> Draft:
    known = {person.name for person in tables.NOTABLES}
    maker = f"[[{building.by}]]" if building.by in known else building.by
    age = TOWN[building.town]
    name = the(building.name, f"**{building.name}**")
    are, were = ("are", "They were") if building.name in _SEVERAL else ("is", "It was")
    kind = building.kind if building.kind == plural(building.kind) else with_article(building.kind)
    body = (
        f"{name} {are} {kind} in {town_link(building.town)}. {building.note}\n\n## Building\n\n{were} made in "
        f"{building.built} by {maker}; {building.size}. {age.name} was "
        + (f"then {building.built - age.founded} years old." if building.built > age.founded else "hardly a town then.")
    )
    facts = (("Kind", building.kind), ("Built", str(building.built)), ("By", building.by), ("Town", age.name))
    return Draft(
        title=title_of(building), body=body, categories=("Buildings", plural(building.kind).capitalize()), facts=facts
    )
