"""All pages that links lead to: sound HTML, no external resources, no writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import homepage
from tests.unit.embedded.crawling import StrictPage, crawl, faults

_SITE = "http://homepage.test"
_SIBLINGS = ("http://shopping.test/",)


_FIRST = (
    "/",
    "/manuals/?q=bicycle+ferry",
    "/manuals/?q=xyzzy",
    "/scratchpad/?q=the&sort=title",
    "/scratchpad/?q=xyzzy",
    "/calculator?expression=1/0",
    "/calculator?expression=2^10",
    "/converter?value=3&from=league&to=km",
    "/converter?value=3&from=league&to=kg",
    "/passwords?q=xyzzy",
    "/account",
)


def _left_out(path: str) -> bool:
    return path in ("/signout", "/calculator/clear") or path.endswith("/pin")


@pytest.fixture(params=["visitor", "mara"])
def somebody(request: pytest.FixtureRequest) -> Client:
    client: Client = request.getfixturevalue(request.param)
    return client


def test_all_pages_are_sound(somebody: Client, data_dir: Path) -> None:
    before = {path.name: path.read_bytes() for path in data_dir.iterdir()}

    pages = {page.url: page for page in crawl(somebody, _SITE, _FIRST, left_out=_left_out)}

    assert len(pages) > 70
    assert faults(pages, _SITE, _SIBLINGS) == []
    assert before == {path.name: path.read_bytes() for path in data_dir.iterdir()}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/scratchpad/9999", 404),
        ("GET", "/scratchpad/9999/edit", 404),
        ("POST", "/scratchpad/9999/delete", 404),
        ("GET", "/manuals/nowhere", 404),
        ("GET", "/calendar/2025-13", 404),
        ("GET", "/calendar/1999-01", 404),
        ("GET", "/calendar/events/nowhere", 404),
        ("POST", "/manuals/", 405),
        ("GET", "/signout", 405),
    ],
)
def test_errors_are_proper_pages(visitor: Client, method: str, path: str, status: int) -> None:
    response = visitor.open(path, method=method)

    page = StrictPage(path, response.get_data(as_text=True))
    assert response.status_code == status
    assert not page.problems
    assert page.headings == [1]
    assert "/" in page.links


def test_too_large_form_is_refused_with_a_page(visitor: Client) -> None:
    response = visitor.post("/scratchpad/new", data={"title": "a", "body": "x" * 300_000})

    assert response.status_code == 413
    assert "<h1>" in response.get_data(as_text=True)


def test_server_error_shows_a_page(data_dir: Path) -> None:
    (data_dir / "main.sqlite3").unlink()
    client = Client(homepage.create_app(data_dir))

    response = client.get("/")

    assert response.status_code == 500
    assert "Something went wrong on our side." in response.get_data(as_text=True)


def test_forms_with_mistakes_are_sound_pages(mara: Client) -> None:
    for path, data in [
        ("/signin", {"username": "mara.linden", "password": "wrong"}),
        ("/scratchpad/new", {"title": "", "body": "kept", "label": "x" * 25}),
        ("/calculator", {"expression": "1/0"}),
    ]:
        response = mara.post(path, data=data)
        page = StrictPage(path, response.get_data(as_text=True))
        assert response.status_code == 422, path
        assert not page.problems, path
        assert 'role="alert"' in response.get_data(as_text=True), path
        assert not page.unlabelled, path


def test_static_files_have_no_external_references(visitor: Client) -> None:
    for name in ("style.css", "calculator.js", "icon.svg"):
        with visitor.get(f"/static/{name}") as response:
            text = response.get_data(as_text=True).replace('xmlns="http://www.w3.org/2000/svg"', "")
            assert response.status_code == 200
        assert not re.search(r"https?:|//[a-z]|@import|url\(", text), name


def test_pages_forbid_other_sources_and_are_never_reused(visitor: Client) -> None:
    response = visitor.get("/")

    assert response.headers["Content-Security-Policy"].startswith("default-src 'self'")
    assert response.headers["Cache-Control"] == "no-store"
    with visitor.get("/static/style.css") as static:
        assert "max-age" in static.headers["Cache-Control"]


def test_user_texts_are_escaped(mara: Client) -> None:
    nasty = "<script>alert(1)</script>\"'&amp;"
    mara.post("/scratchpad/new", data={"title": nasty, "body": nasty, "label": '"><b>'})
    for path in ("/scratchpad/", "/", f"/scratchpad/?q={quote(nasty)}", f"/manuals/?q={quote(nasty)}"):
        html = mara.get(path).get_data(as_text=True)
        assert "<script>alert" not in html, path
        assert "<b>" not in html, path


def test_only_configured_sites_are_linked(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def links(**options: Any) -> set[str]:
        html = Client(homepage.create_app(data_dir, **options)).get("/").get_data(as_text=True)
        return {link for link in re.findall(r'href="([^"]+)"', html) if link.startswith("http")}

    both = {"shopping": "http://shopping.test/", "reddit": "http://reddit.test/"}
    assert links(sites=both) == set(both.values())
    assert links(sites={}) == set()

    monkeypatch.setenv("WEBARENA_SITES", "homepage=http://homepage.test/, shopping=http://shopping.test/")
    assert links() == {"http://shopping.test/"}
    monkeypatch.delenv("WEBARENA_SITES")
    assert links() == set()


def test_start_page_shows_what_comes_next(visitor: Client) -> None:
    html = visitor.get("/").get_data(as_text=True)

    assert "Wednesday 14 May 2025" in html
    assert re.findall(r'/calendar/events/([a-z-]+)"', html) == ["boats", "book-market", "regatta", "stone-week"]


def test_passwords_lists_everybody_and_can_be_narrowed(visitor: Client) -> None:
    html = visitor.get("/passwords").get_data(as_text=True)
    assert all(f"<code>{password}</code>" in html for password in homepage.ACCOUNTS.values())

    html = visitor.get("/passwords?q=Shepherd").get_data(as_text=True)
    assert "1 account for" in html
    assert "callum.reedy" in html
    assert "mara.linden" not in html


def test_password_page_has_webarenas_address(visitor: Client) -> None:
    there, here = (visitor.get(f"{path}?q=Shepherd").text for path in ("/password.html", "/passwords"))
    # The sign-in link returns to the current page.
    assert there.replace("next=/password.html", "next=/passwords") == here


def test_too_large_note_number_is_404(visitor: Client) -> None:
    response = visitor.get(f"/scratchpad/{'9' * 30}")
    assert response.status_code == 404
    assert "nothing at this address" in response.text


def test_calendar_opens_at_this_month_and_pages_through_the_year(visitor: Client) -> None:
    response = visitor.get("/calendar/")
    assert response.status_code == 303
    assert response.location == "/calendar/2025-05"

    html = visitor.get("/calendar/2025-05").get_data(as_text=True)
    assert re.search(r'class="today" aria-current="date"><span>14</span>', html)

    html = visitor.get("/calendar/2025-12").get_data(as_text=True)
    assert html.count('href="/calendar/events/harbour-lights"') == 10  # nine days and the list
    assert "/calendar/2025-11" in html
    assert "/calendar/2026-01" in html
    assert "2024-12" not in visitor.get("/calendar/2025-01").get_data(as_text=True)


def test_event_page_shows_place_days_and_price(visitor: Client) -> None:
    text = re.sub(r"<[^>]+>", " ", visitor.get("/calendar/events/regatta").get_data(as_text=True))

    assert "Ivesham, TM9" in text
    assert "Saturday 14 June 2025" in text
    assert "Sunday 15 June 2025" in text
    assert "12 crowns" in text


def test_healthz_needs_the_data_and_leaves_the_clock_alone(
    visitor: Client, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> None:
        raise AssertionError("the clock was read")

    monkeypatch.setattr("pytest_webarena.embedded.clock.now", read)
    assert visitor.get("/healthz").get_data(as_text=True) == "ok\n"

    monkeypatch.undo()
    (data_dir / "main.sqlite3").unlink()
    assert visitor.get("/healthz").status_code == 500


def test_labels_that_contain_special_characters_lead_back_to_their_notes(
    mara: Client, rows: Callable[..., list[tuple[Any, ...]]]
) -> None:
    mara.post("/scratchpad/new", data={"title": "Tea", "label": "milk & sugar?"})
    html = mara.get("/scratchpad/").get_data(as_text=True)
    [link] = re.findall(r'href="(/scratchpad/\?label=milk[^"]+)"', html)

    assert rows("SELECT label FROM notes WHERE title = 'Tea'") == [("milk & sugar?",)]
    assert "1 note labelled" in mara.get(link).get_data(as_text=True)


def test_only_reachable_sites_are_linked(visitor: Client) -> None:
    def links(path: str, **headers: str) -> bool:
        return "http://shopping.test/" in visitor.get(path, headers=headers).text

    for path in ("/", "/passwords"):
        assert links(path)  # reachable sites are unknown
        assert links(path, **{"X-Webarena-Sites": "homepage, shopping"})
        assert not links(path, **{"X-Webarena-Sites": "homepage, wikipedia"})
