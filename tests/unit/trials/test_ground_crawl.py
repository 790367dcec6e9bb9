"""Crawls that look for what an impossible task says is absent, on a small site of functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from pytest_webarena.checks.ground import Ground, Term
from pytest_webarena.errors import SiteError
from pytest_webarena.trials.ground_crawl import Crawl, Password
from pytest_webarena.trials.site_walk import Fetched, Shown, Walk

HOME = "http://shop.test"
Site = Mapping[str, str | Callable[[str], str]]
"""Paths to HTML, or to functions of the words searched for."""
SEARCH = "<form action=/find><input type=search name=q></form>"


class Visits:
    """Answers requests from a table. ``shown`` are the pages that a browser shows in another way."""

    def __init__(self, pages: Site, shown: Mapping[str, str]) -> None:
        self.pages, self.shown = pages, shown
        self.requested: list[str] = []
        self.opened: list[str] = []

    def fetch(self, url: str) -> Fetched:
        self.requested.append(url.removeprefix(HOME))
        parts = urlsplit(url)
        page = self.pages.get(parts.path, "")
        if page == "broken":
            raise SiteError("no answer")
        if page == "ends":
            return Fetched(url, "<p>Good bye", ended=True)
        kind = {".csv": "text/csv", ".json": "application/json", ".txt": "text/plain"}.get(parts.path[-4:], "text/html")
        if parts.path.endswith(".pdf"):
            return Fetched(url, "", "application/pdf", "a file of type application/pdf")
        return Fetched(url, page if isinstance(page, str) else page(parse_qs(parts.query).get("q", [""])[0]), kind)

    def show(self, url: str) -> Shown:
        self.opened.append(url.removeprefix(HOME))
        return Shown(views=((url, self.shown.get(urlsplit(url).path, "")),))

    def type(self, url: str, field: str, word: str) -> tuple[str, str] | None:
        return url, f"<p>Nothing for {word}"


def crawl(
    pages: Site,
    *,
    absent: Sequence[Term] = (Term("bell ringing"),),
    controls: Sequence[Term] = (),
    about: str = "",
    shown: Mapping[str, str] | None = None,
    passwords: Sequence[Password] = (),
    **bounds: Any,
) -> tuple[Crawl, Visits]:
    """Crawl a site from its start page."""
    visits = Visits(pages, shown or {})
    ground = Ground(absent=tuple(absent), controls=tuple(controls), about=about)
    walk = Walk(sources=visits, sites={"shop": HOME}, **bounds)
    walk.run([f"{HOME}/"])
    found = Crawl(walk=walk, sources=visits, ground=ground, passwords=passwords)
    found.run([f"{HOME}/"])
    return found, visits


def places(found: Crawl) -> list[tuple[str, str, str]]:
    return [(each.what, each.way, each.url.removeprefix(HOME)) for each in found.found.values()]


def test_word_on_a_page_that_links_lead_to_is_found() -> None:
    found, _ = crawl({"/": "<a href=/a>a", "/a": "<a href=/b/c>c", "/b/c": "<p>The Bell Ringing club"})
    assert places(found) == [("bell ringing", "text", "/b/c")]
    assert next(iter(found.found.values())).passage == "The Bell Ringing club"


def test_absent_word_is_not_found_on_all_pages() -> None:
    found, _ = crawl({"/": "<a href=/a>a</a>", "/a": "<p>Bells"})
    assert (places(found), found.visited, found.unread) == ([], 2, [])


def test_page_that_does_not_answer_is_unread() -> None:
    found, _ = crawl({"/": "<a href=/b>b", "/b": "broken"})
    assert found.unread == [f"no answer at {HOME}/b: no answer"]


def test_control_is_found() -> None:
    page = {"/": "<p>Cancel by mail <button>Cancel order</button>"}
    assert places(crawl(page, absent=(), controls=[Term("cancel order")])[0]) == [("cancel order", "control", "/")]
    assert places(crawl({"/": "<p>Cancel order by mail"}, absent=(), controls=[Term("cancel order")])[0]) == []


def test_unlinked_page_is_found_by_search() -> None:
    pages: Site = {
        "/": SEARCH,
        "/find": lambda words: (
            f"<h1>{words}</h1><a href=/x/7>One hit</a>" if words == "bell ringing" else f"<h1>{words}"
        ),
        "/x/7": "<p>Bell ringing on Mondays",
    }
    assert places(crawl(pages)[0]) == [("bell ringing", "text", "/x/7")]


@pytest.mark.parametrize(
    "results",
    [
        lambda words: f"<title>{words}</title><p>No page has '{words}'.<input name=q value='{words}'>",
        lambda words: f"<p>{len(words)} results for {words}" if words != "zqvxkjw" else f"<p>Nothing matches {words}",
    ],
    ids=["the same for all words", "another for words with results"],
)
def test_words_that_a_search_repeats_are_not_found(results: Callable[[str], str]) -> None:
    found, visits = crawl({"/": f"<title>Shop</title>{SEARCH}", "/find": results})
    assert places(found) == []
    assert "/find?q=bell+ringing" in visits.requested


def test_number_that_a_page_calculates_with_is_not_found() -> None:
    def convert(words: str) -> str:
        return f"<p>{words} km = {int(words) * 2} leagues" if words.isdigit() else "<p>Not a number"

    assert places(crawl({"/": SEARCH, "/find": convert}, absent=[Term("100664", Fraction(100664))])[0]) == []


def test_bare_word_counts_as_often_as_it_is_there_without_being_repeated() -> None:
    def results(words: str, title: str) -> str:
        return f"<title>{words}</title><ul>" + f"<li>{title}" * (words == "bell ringing")

    assert places(crawl({"/": SEARCH, "/find": lambda words: results(words, "")})[0]) == []
    assert len(places(crawl({"/": SEARCH, "/find": lambda words: results(words, "Bell ringing")})[0])) == 1


def test_words_in_a_result_are_found_although_the_search_repeats_them() -> None:
    def results(words: str) -> str:
        return f"<p>Results for {words}" + "<p>The bell ringing club" * (words == "bell ringing")

    found, _ = crawl({"/": SEARCH, "/find": results})
    assert [find.passage for find in found.found.values()] == ["The bell ringing club"]


def test_no_form_is_sent_that_may_write() -> None:
    pages = {"/": "<form method=post action=/add><input name=q></form>", "/add": ""}
    assert crawl(pages)[1].requested == ["/"]


def test_what_looks_as_if_it_logs_out_is_visited_last_and_once_if_it_does() -> None:
    links = "<a href=/logout?to=1>x</a><a href=/logout?to=2>x</a><a href=/sign-out-history>x</a><a href=/a>a"
    pages = {"/": links, "/logout": "ends", "/a": "", "/sign-out-history": "<p>Bell ringing"}
    found, visits = crawl(pages)
    assert places(found) == [("bell ringing", "text", "/sign-out-history")]
    assert [url for url in visits.requested if url != "/"] == ["/a", "/logout?to=1", "/sign-out-history"]


def test_bound_is_unread() -> None:
    pages = {"/": "".join(f"<a href=/p/{number}>x</a>" for number in range(50))}
    found, _ = crawl(pages, most=20)
    assert (found.visited, found.unread) == (20, ["more than 20 pages"])
    found, _ = crawl(pages, most=60)
    assert (found.visited, found.unread) == (51, [])


def test_time_is_bounded() -> None:
    clock = itertools.count(0, 10).__next__
    found, _ = crawl({"/": "<a href=/a>a", "/a": "<p>Bell ringing"}, seconds=15, clock=clock)
    assert (places(found), found.unread[0]) == ([], "pages left after 15 s")


def test_page_that_scripts_draw_is_opened() -> None:
    shell = "<div id=app></div><script src=/app.js></script>"
    pages = {"/": shell, "/p/1": shell, "/p/2": shell}
    shown = {"/": "<a href=/p/1>1</a><a href=/p/2>2</a>", "/p/1": "<p>a lot of text", "/p/2": "<p>Bell ringing"}
    found, visits = crawl(pages, shown=shown)
    assert (places(found), visits.opened) == ([("bell ringing", "text", "/p/2")], ["/", "/p/1", "/p/2"])


def test_further_pages_of_a_kind_are_not_opened_if_scripts_draw_nothing() -> None:
    page = "<p>All of the text is here <script>track()</script>"
    paths = [f"/p/{number}" for number in range(6)]
    pages = {"/": "".join(f"<a href={path}>1</a>" for path in paths), **dict.fromkeys(paths, page)}
    assert crawl(pages, shown=pages)[1].opened == paths[:3]


def test_the_subject_must_be_on_a_page() -> None:
    absent = [Term("weight")]
    page: Site = {
        "/": f"{SEARCH}<a href=/a>a",
        "/find": lambda words: f"<p>Nothing for {words}",
        "/a": "<h1>Clay cup</h1>",
    }
    assert crawl(page, absent=absent, about="clay cup")[0].names_subject
    assert not crawl(page, absent=absent, about="tin cup")[0].names_subject


def test_results_of_a_search_for_the_subject_are_not_about_it() -> None:
    rows = "<table><tr><td>Clay cup<td>red</tr><tr><td>Tin cup<td>Weight: 300 g</table>"
    pages: Site = {"/": SEARCH, "/find": lambda words: f"<title>Search: {words}</title>{rows}"}
    assert places(crawl(pages, absent=[Term("weight")], about="clay cup")[0]) == []
    assert len(places(crawl(pages, absent=[Term("weight")], about="tin cup")[0])) == 1


@pytest.mark.parametrize(
    ("password", "page", "is_found"),
    [
        ("s3cret", "<p>User: owner<p>Password: s3cret", True),
        ("s3cret", "<p>Password: s3cret", False),
        ("s3cret", "<p>owner<p>xs3cret", False),
        ("kestrel", "<p>The owner writes.<p>A kestrel flies.", False),
        ("kestrel", "<table><tr><td>owner<td>kestrel</table>", True),
        ("owner", "<p>The owner writes.", False),
        ("owner", "<table><tr><td>owner<td>owner</table>", True),
    ],
)
def test_password_of_a_privileged_account_is_found(password: str, page: str, *, is_found: bool) -> None:
    found, _ = crawl({"/": page}, passwords=[Password("owner", password)])
    assert places(found) == ([("owner", "password", "/")] if is_found else [])
