"""All pages that links lead to are sound; search, suggestions, paging and redirects."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import wikipedia
from tests.unit.embedded.crawling import StrictPage, crawl, faults

SITE = "http://wikipedia.test"


def test_all_pages_are_sound(reader: Client) -> None:
    first = ("/", "/search", "/search?q=river", "/search?q=xyzzy", "/search?q=crown&go=1")
    pages = {page.url: page for page in crawl(reader, SITE, first)}

    assert sum(url.startswith("/wiki/") for url in pages) > 300
    assert faults(pages, SITE) == []


@pytest.mark.parametrize(
    ("requested", "leads_to"),
    [
        ("/wiki/Wend_(river)", "/wiki/River_Wend"),
        ("/wiki/river_wend", "/wiki/River_Wend"),
        ("/wiki/Aldersey Charter", "/wiki/Charter_of_1297"),
        ("/search?q=corrin+bridge&go=1", "/wiki/Corrin_Bridge"),
        ("/search?q=aldersey+charter&go=1", "/wiki/Charter_of_1297"),
    ],
)
def test_other_titles_redirect_to_the_article(reader: Client, requested: str, leads_to: str) -> None:
    response = reader.get(requested)

    assert response.status_code in (301, 302, 303)
    assert response.location == leads_to


def test_missing_article_offers_a_search(reader: Client) -> None:
    response = reader.get("/wiki/Atlantis & <b>more</b>")
    html = response.get_data(as_text=True)

    assert response.status_code == 404
    assert not StrictPage("x", html).problems
    assert "<b>" not in html
    assert "/search?q=Atlantis%20%26%20%3Cb%3Emore%3C/b%3E" in html


def _hits(reader: Client, query: str) -> list[str]:
    html = reader.get("/search", query_string={"q": query}).get_data(as_text=True)
    return re.findall(r'<li><h2><a href="[^"]+">([^<]+)</a>', html)


def test_search_requires_all_words_and_ranks_titles_first(reader: Client) -> None:
    assert _hits(reader, "salt tower")[0] == "Salt Tower"
    assert _hits(reader, "tamsin orrow lighthouse")[:1] == ["Tamsin Orrow"]
    assert _hits(reader, "xyzzy") == []
    assert set(_hits(reader, '"dry escapement"')) == {"Dry escapement", "Thomasina Hale"}
    assert "Great Sallow" in _hits(reader, "sallo")  # the last word may be a prefix


@pytest.mark.parametrize(
    "query", ['"', '""', "*", "AND OR NOT", "title:x", "a-b", "(", "'; DROP TABLE words; --", "é", "🙂"]
)
def test_search_accepts_any_text(reader: Client, query: str) -> None:
    assert reader.get("/search", query_string={"q": query}).status_code == 200
    assert reader.get("/suggest", query_string={"q": query}).status_code == 200


def test_search_results_are_paged(reader: Client) -> None:
    first = reader.get("/search?q=town").get_data(as_text=True)
    total = int(re.findall(r"(\d+) articles for", first)[0])
    pages = int(re.findall(r"Page 1 of (\d+)", first)[0])

    assert pages == -(-total // 20)
    found: list[str] = []
    for page in range(1, pages + 1):
        found += re.findall(r'<h2><a href="([^"]+)"', reader.get(f"/search?q=town&page={page}").text)
    assert len(found) == len(set(found)) == total
    assert reader.get(f"/search?q=town&page={pages + 1}").status_code == 404


def test_suggestions_start_with_the_typed_text(reader: Client) -> None:
    assert reader.get("/suggest?q=sal").json == [
        "Sall", "Saltern", "Sallwick", "Sall Down", "Sall Goat", "Salt Mere", "Sall Ferry", "Sall Light",
    ]  # fmt: skip
    assert reader.get("/suggest?q=%25").json == []
    assert reader.get("/suggest?q=").json == []


def test_links_page_lists_linking_articles(reader: Client) -> None:
    html = reader.get("/links/Duke_Leofric").get_data(as_text=True)

    assert {"/wiki/1740", "/wiki/Forest_School", "/wiki/Timeline_of_Tarnmark"} & set(
        re.findall(r'href="(/wiki/[^"]+)"', html)
    )
    assert reader.get("/links/Nobody").status_code == 404


def test_reading_changes_nothing(reader: Client, data_dir: Path) -> None:
    before = (data_dir / "main.sqlite3").read_bytes()
    for path in ("/", "/wiki/Sall", "/search?q=salt", "/index"):
        reader.get(path)
    assert reader.post("/wiki/Sall", data={"x": "y"}).status_code == 405
    assert (data_dir / "main.sqlite3").read_bytes() == before
    assert wikipedia.__all__ == ["create_app", "on_fork", "seed"]


def test_wide_tables_can_be_scrolled_with_the_keyboard(reader: Client) -> None:
    wide = reader.get("/wiki/Climate_of_Tarnmark").get_data(as_text=True)
    narrow = reader.get("/wiki/Crown").get_data(as_text=True)

    assert '<div class="table" role="group" tabindex="0" aria-label="Averages from 1991 to 2020"><table>' in wide
    assert '<div class="table"><table>' in narrow
