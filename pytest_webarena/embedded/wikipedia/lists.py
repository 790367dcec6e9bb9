"""Lists, years, and the articles that were written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from pytest_webarena.embedded import landscape, world
from pytest_webarena.embedded.wikipedia import tables
from pytest_webarena.embedded.wikipedia.draft import Draft, figure, name_of, table
from pytest_webarena.embedded.wikipedia.land import title_of, titles_of_rivers

__all__ = ["drafts"]


def drafts() -> Iterator[Draft]:
    """Every list, year and hand-written article."""
    yield from _written_articles()
    yield from map(_year, tables.YEARS)
    yield from _lists()


def _written_articles() -> Iterator[Draft]:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.globals.update(world.facts())
    for file in sorted(files(__package__ or __name__).joinpath("articles").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".md"):
            head, _, body = environment.from_string(file.read_text(encoding="utf-8")).render().partition("\n---\n")
            fields = {
                key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())
            }
            also = tuple(filter(None, fields.get("also", "").split(", ")))
            yield Draft(title=fields["title"], body=body, categories=tuple(fields["categories"].split(", ")), also=also)


def _year(year: tables.Year) -> Draft:
    number = year.year
    lines = [f"**{number}** is remembered in [[Tarnmark]] for this: {year.what}"]
    built = [f"- [[{title_of(each)}]], {each.kind} in {name_of(each.town)}"
             for each in landscape.BUILDINGS if each.built == number]  # fmt: skip
    born = [f"- [[{each.name}]], {each.occupation}" for each in tables.NOTABLES if each.born == number]
    died = [f"- [[{each.name}]], {each.occupation}" for each in tables.NOTABLES if each.died == number]
    founded = [f"- [[{each.name}]]" for each in tables.INSTITUTIONS if each.founded == number]
    for heading, items in (("Built", built), ("Founded", founded), ("Born", born), ("Died", died)):
        if items:
            lines += [f"## {heading}", "\n".join(items)]
    return Draft(title=str(number), body="\n\n".join(lines), categories=("Years", "History"))


def _lists() -> Iterator[Draft]:
    yield _list(
        "List of rivers by length", "Rivers of [[Tarnmark]] from five kilometres on.", ("River", "Kilometres", "Mouth"),
        [(f"[[{titles_of_rivers()[river.name]}]]", river.length, river.mouth)
         for river in sorted(landscape.RIVERS, key=lambda river: -river.length)],
    )  # fmt: skip
    yield _list(
        "List of hills by height", "Summits of [[Tarnmark]] from one hundred metres on.",
        ("Hill", "Metres", "Nearest town"),
        [(f"[[{hill.name}]]", figure(hill.height), name_of(hill.town))
         for hill in sorted(landscape.HILLS, key=lambda hill: -hill.height)],
    )  # fmt: skip
    yield _list(
        "List of lakes", "Lakes and ponds of [[Tarnmark]].", ("Lake", "Area, km²", "Depth, m", "Height, m"),
        [(f"[[{lake.name}]]", lake.area, lake.depth, lake.height)
         for lake in sorted(landscape.LAKES, key=lambda lake: -lake.area)],
    )  # fmt: skip
    yield _list(
        "List of villages", "Villages of [[Tarnmark]] with their towns.", ("Village", "Town", "People", "First named"),
        [(f"[[{village.name}]]", name_of(village.town), figure(village.population), village.founded)
         for village in sorted(landscape.VILLAGES, key=lambda village: village.name)],
    )  # fmt: skip
    yield _list(
        "List of buildings by age", "Buildings of note in [[Tarnmark]].", ("Building", "Kind", "Town", "Built"),
        [(f"[[{title_of(each)}]]", each.kind, name_of(each.town), each.built)
         for each in sorted(landscape.BUILDINGS, key=lambda each: each.built)],
    )  # fmt: skip
    yield _list(
        "List of notable people", "People of the past with an article.", ("Name", "Born", "Died", "Occupation", "From"),
        [(f"[[{each.name}]]", each.born, each.died, each.occupation, name_of(each.town))
         for each in sorted(tables.NOTABLES, key=lambda each: each.born)],
    )  # fmt: skip
    yield _list(
        "List of events", "What happens in [[Tarnmark]] this year.", ("Event", "Town", "From", "To", "Entry, crowns"),
        [(f"[[{each.name}]]", name_of(each.town), each.first.isoformat(), each.last.isoformat(), each.price)
         for each in sorted(world.EVENTS, key=lambda each: each.first)],
    )  # fmt: skip
    yield _list(
        "Timeline of Tarnmark", "The history of [[Tarnmark]] by years.", ("Year", "What happened"),
        [(f"[[{year.year}]]", year.what) for year in tables.YEARS],
    )  # fmt: skip


def _list(title: str, lead: str, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> Draft:
    return Draft(title=title, body=f"{lead}\n\n{table(title, head, rows)}", categories=("Lists", "Overview"))
