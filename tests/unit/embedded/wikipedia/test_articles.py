"""Articles: reproducible, consistent with the world and each other, with valid links."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from pytest_webarena.embedded import landscape, wikipedia, world
from pytest_webarena.embedded.homepage.manuals import articles
from pytest_webarena.embedded.markup import parse
from pytest_webarena.embedded.wikipedia import tables
from pytest_webarena.embedded.wikipedia.draft import Draft
from pytest_webarena.embedded.wikipedia.land import earlier_counts
from pytest_webarena.embedded.wikipedia.seed import all_drafts, linked, path_of
from tests.cases import each_case

DRAFTS = {draft.title: draft for draft in all_drafts()}
TOWNS = {town.key for town in world.TOWNS}


def test_there_are_over_300_articles_with_unique_titles() -> None:
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


def test_link_to_a_missing_article_is_refused() -> None:
    assert linked("the [[crown]]s of [[Sall|an isle]]", {"Crown": "Crown", "Sall": "Sall"}) == (
        "the [crowns](/wiki/Crown) of [an isle](/wiki/Sall)"
    )
    with pytest.raises(ValueError, match="no article is called 'Atlantis'"):
        linked("[[Atlantis]]", {"Sall": "Sall"})


def test_articles_are_complete() -> None:
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


def test_town_articles_equal_the_world() -> None:
    for town in world.TOWNS:
        facts = dict(DRAFTS[town.name].facts)
        assert facts["Population"] == f"{town.population:,} (2024)"
        assert facts["Postcode"] == town.postcode
        assert facts["Market day"] == town.market_day
        counts = [people for _, people in earlier_counts(town)]
        assert min(counts) > 100
        assert counts[-1] == town.population
    # Article 1 of the Charter, as in its article.
    assert max(Counter(town.market_day for town in world.TOWNS).values()) == 2


def test_landscape_belongs_to_existing_towns() -> None:
    for group in (landscape.LAKES, landscape.HILLS, landscape.WOODS):
        assert {each.town for each in group} <= TOWNS
    assert {village.town for village in landscape.VILLAGES} == TOWNS
    assert {building.town for building in landscape.BUILDINGS} == TOWNS
    assert {key for river in landscape.RIVERS for key in river.towns} <= TOWNS
    for table in (tables.NOTABLES, tables.FOODS, tables.INSTITUTIONS):
        assert {each.town for each in table} <= TOWNS
    assert len(landscape.VILLAGES) == 50  # as in the article on the region
    assert max(landscape.HILLS, key=lambda hill: hill.height).name == "Great Sallow"
    assert max(landscape.RIVERS, key=lambda river: river.length).name == "Wend"
    heights = [hill.height for hill in landscape.HILLS]
    assert len(set(heights)) == len(heights)


def test_dates_of_people_and_buildings_are_consistent() -> None:
    people = {person.name: person for person in tables.NOTABLES}
    for person in people.values():
        assert 15 < person.died - person.born < 95, person.name
    for building in landscape.BUILDINGS:
        if building.by in people:
            assert people[building.by].born + 14 < building.built <= people[building.by].died, building.name
    for year in tables.YEARS:
        assert year.year <= world.EPOCH.year
    founded = {town.key: town.founded for town in world.TOWNS}
    for person in people.values():
        assert person.born >= founded[person.town], person.name


@each_case(
    ("manual", "there", "title", "here"),
    [
        (
            "at-a-glance",
            r"Great Sallow, highest fell, ([\d,]+) m",
            "Great Sallow",
            r"With ([\d,]+) metres it is the highest",
        ),
        ("at-a-glance", r"Kelder Edge, fell, (\d+) m", "Kelder Edge", r"With (\d+) metres"),
        ("at-a-glance", r"Hare Seat, fell, (\d+) m", "Hare Seat", r"With (\d+) metres"),
        ("at-a-glance", r"largest lake, ([\d.]+) square", "Lake Hallmere", r"covers ([\d.]+) square"),
        ("at-a-glance", r"Tarn of Lunn, lake, ([\d.]+) square", "Tarn of Lunn", r"covers ([\d.]+) square"),
        ("at-a-glance", r"square km, (\d+) m deep", "Lake Hallmere", r"is (\d+) metres deep"),
        ("at-a-glance", r"Isle of Sall, island, (\d+)", "Sall", r"island of (\d+)"),
        ("at-a-glance", r"Wend, river, (\d+) km", "River Wend", r"river of (\d+)"),
        ("at-a-glance", r"signed the Regional Charter on 5 July (\d+)", "Regional Council", r"founded in (\d+)"),
        ("town-halls", r"council has (\d+) members", "Regional Council", r"it has (\d+) members"),
        ("health", r"Charter Hospital in Aldersey has (\d+) beds", "Charter Hospital", r"it has (\d+) beds"),
        ("walking", r"Cairn Hut, (\d+), 560 m", "Cairn Hut", r"it has (\d+) beds"),
        ("weather-and-tides", r"January, 6 °C, 1 °C, (\d+) mm", "Climate of Tarnmark", r"\| January .* (\d+) \|\n"),
        ("festivals", r"skiff crews of four, ([\w ]+),", "Ivesham Rowing Club", r"\*\*([\w ]+)\*\*"),
        ("waste", r"Kelderby, (\w+), odd", "Kelderby", r"Bins are emptied on (\w+)"),
    ],
)
def test_manuals_and_encyclopedia_agree(manual: str, there: str, title: str, here: str) -> None:
    in_manual = re.search(there, " ".join(section.text for section in articles()[manual].sections))
    written = re.search(here, DRAFTS[title].body)

    assert in_manual is not None
    assert written is not None
    assert written[1] == in_manual[1]


def test_money_article_agrees_with_the_manuals() -> None:
    money = next(section.text for section in articles()["at-a-glance"].sections if section.heading == "Money")
    coins = re.search(r"coins of (.*?) pence and of (.*?) crowns, and notes of (.*?)\.", money)
    written = re.findall(r"\| (\d+) (pence|crown)s? \| (coin|note)", DRAFTS["Crown"].body)

    assert coins is not None
    for (unit, form), values in zip(
        (("pence", "coin"), ("crown", "coin"), ("crown", "note")), coins.groups(), strict=True
    ):
        assert [value for value, *kind in written if kind == [unit, form]] == re.findall(r"\d+", values)


def test_generated_texts_are_grammatical() -> None:
    for draft in DRAFTS.values():
        assert not re.search(r"\b[Aa] (?=[aeio])|\b[Aa]n (?=uni|[bcdfgjk-np-tv-z])|\b1 metres\b", draft.body), (
            draft.title
        )
        for category in draft.categories:
            assert not re.search(r"sss$|chs$|[bcdfgklmnprstv]ys$|mans$", category), category
    assert DRAFTS["Marguerite Lockhart"].categories[-1] == "Postmistresses"
    assert DRAFTS["Bus 12"].body.startswith("**Bus 12** is a bus line")
    assert DRAFTS["Dunmere Kilns"].body.startswith("The **Dunmere Kilns** are pottery kilns")
