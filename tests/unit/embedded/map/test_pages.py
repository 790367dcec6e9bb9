"""All pages of the map that links lead to are sound; search and directions."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import map as atlas
from pytest_webarena.embedded.map.app import _network_of
from tests.unit.embedded.crawling import StrictPage, crawl, faults

SITE = "http://map.test"
FIRST = (
    "/", "/search", "/search?query=xyzzy", "/search?query=54.41,-1.9", "/reverse?lat=0&lon=0", "/about", "/directions",
    "/directions?engine=bike&from=Aldersey&to=nowhere", "/directions?engine=foot&from=Charter+Hall&to=54.6,-2.3",
)  # fmt: skip


def _left_out(path: str) -> bool:
    """Leave out all but every thirtieth of two thousand places, which have two links to directions each."""
    number = re.search(r"place[:/](\d+)$", path)
    return bool((number and int(number[1]) % 30) or re.search(r"[?&](from|to)=5", path))


def test_all_pages_are_sound(visitor: Client) -> None:
    pages = {page.url: page for page in crawl(visitor, SITE, FIRST, left_out=_left_out)}

    assert sum(url.startswith("/place/") for url in pages) > 40
    assert sum(url.startswith("/search") for url in pages) > 50
    assert faults(pages, SITE) == []


def test_place_page_shows_its_data(visitor: Client) -> None:
    html = visitor.get("/search?query=Rahmani+Pharmacy").get_data(as_text=True)
    number = re.findall(r'href="/place/(\d+)">Rahmani Pharmacy', html)[0]
    page = visitor.get(f"/place/{number}").get_data(as_text=True)

    for text in ("5 Mill Lane, Ivesham TM9", "09 713 205", "Mon-Fri: 08:30-19:00", "Sun: 10:00-12:00"):
        assert text in page


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Aldersey", "Aldersey"),
        ("14 Wendgate", "Lantern &amp; Loam"),
        ("Kirkeby bakery in Fallowgate", "Kirkeby&#39;s Bakery"),
        ("hallmere castle", "Hallmere Castle"),
        ("The Green", None),
    ],
)
def test_search_by_name_kind_and_address(visitor: Client, query: str, first: str | None) -> None:
    html = visitor.get("/search", query_string={"query": query}).get_data(as_text=True)
    hits = re.findall(r'<li><a href="/place/\d+">([^<]+)</a>', html)

    assert hits
    assert first is None or first in hits[:3]


@pytest.mark.parametrize(
    "query", ['"', "*", "AND OR", "name:x", "-", "()", "'; DROP TABLE places; --", "🙂", "999,999"]
)
def test_search_accepts_any_text(visitor: Client, query: str) -> None:
    assert visitor.get("/search", query_string={"query": query}).status_code == 200
    assert visitor.get("/directions", query_string={"from": query, "to": query}).status_code == 200


def test_position_finds_places_nearby(visitor: Client) -> None:
    redirect = visitor.get("/search?query=54.412, -1.905")
    assert redirect.location == "/reverse?lat=54.412&lon=-1.905"
    html = visitor.get(redirect.location).get_data(as_text=True)

    assert re.search(r"The nearest way is <strong>[A-Z][^<]+</strong>, \d+ m away", html)
    assert "There is no way within 400 metres" in visitor.get("/reverse?lat=54.0&lon=-3").get_data(as_text=True)
    for wrong in ("/reverse", "/reverse?lat=x&lon=1", "/reverse?lat=91&lon=1", "/reverse?lat=nan&lon=1"):
        assert visitor.get(wrong).status_code == 400


def _total(visitor: Client, engine: str, start: str, end: str) -> tuple[str, str]:
    html = visitor.get("/directions", query_string={"engine": engine, "from": start, "to": end}).get_data(as_text=True)
    found = re.findall(r"Distance: ([^.]+(?:\.\d)? k?m)\. Time: (\d+:\d\d)\.", html)
    assert found, html
    distance, time = found[0]
    return distance, time


def test_directions_depend_on_the_engine(visitor: Client) -> None:
    times = {engine: _total(visitor, engine, "Aldersey", "Dunmere")[1] for engine in ("car", "bike", "foot")}
    minutes = [int(time.split(":")[0]) * 60 + int(time.split(":")[1]) for time in times.values()]

    assert minutes == sorted(minutes)
    assert len(set(minutes)) == 3
    assert _total(visitor, "foot", "Aldersey", "Dunmere") == _total(visitor, "foot", "Dunmere", "Aldersey")


def test_only_the_ferry_step_says_take(visitor: Client) -> None:
    def way(start: str, end: str) -> str:
        query = {"engine": "foot", "from": start, "to": end}
        return visitor.get("/directions", query_string=query).get_data(as_text=True)

    assert "Start on Ferry Road" in way("Brackwater station", "Harbour Museum")
    assert "Take the Sall Ferry" in way("Brackwater", "Gorsehythe")


def test_unknown_place_or_engine_is_reported(visitor: Client) -> None:
    html = visitor.get("/directions?from=Atlantis&to=Aldersey").get_data(as_text=True)

    assert "Nothing is called that." in html
    assert not StrictPage("x", html).problems
    assert visitor.get("/directions?engine=rocket").status_code == 400
    assert visitor.get("/place/999999").status_code == 404
    assert visitor.get("/layers/none.json").status_code == 404


def test_ground_layer_is_geojson(visitor: Client) -> None:
    response = visitor.get("/layers/ground.json")
    features = json.loads(response.get_data())["features"]

    assert response.mimetype == "application/geo+json"
    assert {"sea", "island", "wood", "lake", "river", "road", "street", "lane", "path", "ferry"} == {
        feature["properties"]["kind"] for feature in features
    }


def test_markers_are_escaped(visitor: Client) -> None:
    html = visitor.get("/search?query=Lantern").get_data(as_text=True)
    page = StrictPage("x", html)
    marks = re.findall(r'data-markers="([^"]*)"', html)

    assert not page.problems
    assert "Lantern &amp; Loam" in marks[0]


def test_reading_changes_nothing(visitor: Client, data_dir: Path) -> None:
    before = (data_dir / "main.sqlite3").read_bytes()
    for path in ("/", "/search?query=inn", "/directions?from=Sall&to=Aldersey", "/reverse?lat=54.4&lon=-1.9"):
        visitor.get(path)
    assert (data_dir / "main.sqlite3").read_bytes() == before
    assert atlas.__all__ == ["create_app", "on_fork", "seed"]


def test_copied_data_reuse_the_cached_network(data_dir: Path, tmp_path: Path) -> None:
    way = "/directions?engine=foot&from=Charter+Hall&to=Regional+Library"
    Client(atlas.create_app(data_dir)).get(way)
    known = _network_of.cache_info().misses
    shutil.copytree(data_dir, tmp_path / "copy")

    page = Client(atlas.create_app(tmp_path / "copy")).get(way)

    assert page.status_code == 200
    assert _network_of.cache_info().misses == known
