"""What the articles say: always the same, in accord with the world and with each other; every link leads somewhere."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from pytest_webarena.embedded import landscape, wikipedia, world
from pytest_webarena.embedded.markup import parse
from pytest_webarena.embedded.wikipedia import tables
from pytest_webarena.embedded.wikipedia.draft import Draft
from pytest_webarena.embedded.wikipedia.land import earlier_counts
from pytest_webarena.embedded.wikipedia.seed import all_drafts, linked, path_of

DRAFTS = {draft.title: draft for draft in all_drafts()}
TOWNS = {town.key for town in world.TOWNS}


def test_there_are_a_few_hundred_with_titles_of_their_own() -> None:
    titles = Counter(draft.title for draft in all_drafts())
    others = Counter(also for draft in DRAFTS.values() for also in draft.also)

    assert len(titles) > 300
    assert max(titles.values()) == 1
    assert max(others.values()) == 1
    assert not set(others) & set(titles)
    assert len({title.lower() for title in titles}) == len(titles)


def test_two_seeds_are_equal(tmp_path: Path, data_dir: Path) -> None:
    wikipedia.seed(tmp_path)
    with closing(sqlite3.connect(tmp_path / "main.sqlite3")) as connection:
        schema = "".join(row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"))

    assert (tmp_path / "main.sqlite3").read_bytes() == (data_dir / "main.sqlite3").read_bytes()
    assert world.CANARY in schema


def test_a_link_to_nothing_is_found() -> None:
    assert linked("the [[crown]]s of [[Sall|an isle]]", {"Crown": "Crown", "Sall": "Sall"}) == (
        "the [crowns](/wiki/Crown) of [an isle](/wiki/Sall)"
    )
    with pytest.raises(ValueError, match="no article is called 'Atlantis'"):
        linked("[[Atlantis]]", {"Sall": "Sall"})


def test_articles_are_whole() -> None:
    for draft in DRAFTS.values():
        _is_whole(draft)


def _is_whole(draft: Draft) -> None:
    _, (lead, *sections) = parse(f"x: x\n---\n{draft.body}")

    assert not lead.heading
    assert lead.text.endswith((".", "!", ";"))
    assert len({section.anchor for section in sections}) == len(sections)
    assert draft.categories
    assert not re.search(r"\{\{|\}\}|\[\[[^\]]*$|  +[a-z]|None|\.\.", draft.body)
    assert path_of(draft.title).startswith("/wiki/")


def test_towns_are_told_of_as_the_world_has_them() -> None:
    for town in world.TOWNS:
        facts = dict(DRAFTS[town.name].facts)
        assert facts["Population"] == f"{town.population:,} (2024)"
        assert facts["Postcode"] == town.postcode
        assert facts["Market day"] == town.market_day
        counts = [people for _, people in earlier_counts(town)]
        assert min(counts) > 100
        assert counts[-1] == town.population
    # Article 1 of the Charter, as its article has it.
    assert max(Counter(town.market_day for town in world.TOWNS).values()) == 2


def test_the_land_belongs_to_towns_that_there_are() -> None:
    for group in (landscape.LAKES, landscape.HILLS, landscape.WOODS):
        assert {each.town for each in group} <= TOWNS
    assert {village.town for village in landscape.VILLAGES} == TOWNS
    assert {building.town for building in landscape.BUILDINGS} == TOWNS
    assert {key for river in landscape.RIVERS for key in river.towns} <= TOWNS
    for table in (tables.NOTABLES, tables.FOODS, tables.INSTITUTIONS):
        assert {each.town for each in table} <= TOWNS
    assert len(landscape.VILLAGES) == 50  # the article on the region says so
    assert max(landscape.HILLS, key=lambda hill: hill.height).name == "Carrow Fell"
    assert max(landscape.RIVERS, key=lambda river: river.length).name == "Wend"
    heights = [hill.height for hill in landscape.HILLS]
    assert len(set(heights)) == len(heights)


def test_people_lived_before_they_died_and_built_while_they_lived() -> None:
    people = {person.name: person for person in tables.NOTABLES}
    for person in people.values():
        assert 15 < person.died - person.born < 95, person.name
    for building in landscape.BUILDINGS:
        if building.by in people:
            assert people[building.by].born + 14 < building.built <= people[building.by].died, building.name
    for year in tables.YEARS:
        assert year.year <= world.EPOCH.year
