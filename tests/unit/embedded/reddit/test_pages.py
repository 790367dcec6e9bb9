"""All pages that links lead to are sound; sort orders, time windows, search and paging."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import Client

from tests.unit.embedded.crawling import StrictPage, crawl, faults

SITE = "http://reddit.test"


class _Elsewhere:
    """Allowed external links: other sites of the world only."""

    def __contains__(self, link: object) -> bool:
        return bool(re.match(r"http://(wikipedia|map|shopping|homepage)\.test/", str(link)))

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


_BY_FORM = re.compile(
    r"^/[sc]v/|/(un)?(subscribe|lock|pin|block|ban)$|/(restore|add|clear|seen|-/comment|logout)$|/unban/"
)
_AGAIN = re.compile(
    r"/(controversial|most_commented|active|top)(\?|$)|sort=|[?]next=|/comment/\d+$|\.atom$"
    r"|/user/[b-zB-Z]|/f/(?!books|birds)\w+/[a-z]"
)


def _repeats(path: str) -> bool:
    """Leave out form targets, further sort orders, and most pages of long lists."""
    if _BY_FORM.search(path) or _AGAIN.search(path) or path.endswith("/moderators/remove"):
        return True
    page, thread = re.search(r"page=(\d+)", path), re.search(r"/f/\w+/(\d+)/", path)
    return bool((page and int(page[1]) > 2) or (thread and "/-/" not in path and int(thread[1]) % 40))


def test_all_pages_are_sound_for_guests(visitor: Client) -> None:
    first = ("/", "/search", "/search?q=ferry", "/search?q=honey&type=comments", "/search?q=xyzzy", "/all/top?t=week",
             "/search?q=bo&type=forums", "/all/controversial", "/f/books/top?t=day", "/login?next=/submit")  # fmt: skip
    pages = {
        page.url: page for page in crawl(visitor, SITE, first, left_out=lambda path: "/-/" in path or _repeats(path))
    }

    assert sum(bool(re.match(r"/f/\w+/\d+/", url)) for url in pages) >= 20
    assert sum(url.startswith("/user/") for url in pages) >= 5
    assert faults(pages, SITE, _Elsewhere()) == []


@pytest.mark.parametrize("name", ["mara.linden", "desmond.pell"])
def test_all_pages_are_sound_for_members(signed_in: Callable[[str], Client], name: str) -> None:
    client = signed_in(name)
    book = _first(client, "/api/forums/books/posts")
    first = (
        "/", "/messages", "/notifications", f"/user/{name}", f"/user/{name}/comments", f"/user/{name}/account",
        f"/user/{name}/edit_biography", f"/user/{name}/block_list", "/user/thea.winslade/compose_message", "/submit",
        "/create_forum", "/f/books/edit", "/f/books/bans", "/f/books/moderators", "/f/books/moderation_log",
        f"/f/books/{book}/-/remove", f"/f/books/{book}/-", "/moderated", "/subscribed", "/forums",
    )  # fmt: skip

    def beyond(path: str) -> bool:
        return _repeats(path) or (path.startswith(("/f/", "/user/")) and "/books" not in path and name not in path)

    pages = {page.url: page for page in crawl(client, SITE, first, left_out=beyond)}

    assert any("/-/edit" in url or "/-/reply" in url for url in pages)
    assert faults(pages, SITE, _Elsewhere()) == []


def _first(client: Client, path: str) -> int:
    response = client.get(path)
    assert response.json is not None
    return int(response.json["posts"][0]["id"])


def _posts(client: Client, path: str) -> list[int]:
    html = client.get(path).get_data(as_text=True)
    return [int(number) for number in re.findall(r'<li id="post-(\d+)">', html)]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("hot", "heat desc, id desc"),
        ("new", "created desc, id desc"),
        ("active", "active desc, id desc"),
        ("top", "up - down desc, id desc"),
        ("most_commented", "comments desc, id desc"),
    ],
)
def test_post_sort_orders(visitor: Client, rows: Callable[..., list[tuple[Any, ...]]], sort: str, order: str) -> None:
    there = rows(f"select id from posts where not removed and not deleted order by {order} limit 50")

    assert _posts(visitor, f"/all/{sort}") + _posts(visitor, f"/all/{sort}?page=2") == [number for (number,) in there]


def test_controversial_order_prefers_balanced_votes(
    visitor: Client, rows: Callable[..., list[tuple[Any, ...]]]
) -> None:
    votes = {number: (up, down) for number, up, down in rows("select id, up, down from posts where not removed")}

    def divided(number: int) -> tuple[float, int]:
        up, down = votes[number]
        return (up + down) * min(up, down) / max(up, down), number

    assert _posts(visitor, "/all/controversial") == sorted(votes, key=divided, reverse=True)[:25]


@pytest.mark.parametrize(("window", "since"), [("day", "2025-05-13"), ("week", "2025-05-07"), ("year", "2024-05-14")])
def test_top_time_windows(visitor: Client, rows: Callable[..., list[tuple[Any, ...]]], window: str, since: str) -> None:
    there = rows(
        "select id from posts where created >= ? and not removed order by up - down desc, id desc limit 25",
        f"{since}T09:00:00",
    )

    assert _posts(visitor, f"/all/top?t={window}") == [number for (number,) in there]


def test_front_page_shows_subscribed_forums(
    visitor: Client, mara: Client, rows: Callable[..., list[tuple[Any, ...]]]
) -> None:
    (own_vote,) = rows(
        "select count(*) from posts join json_each(?) shown on shown.value = posts.id where forum not in"
        " (select forum from subscriptions join users on users.id = user where name = 'mara.linden')",
        json.dumps(_posts(mara, "/")),
    )

    assert own_vote == (0,)
    assert _posts(visitor, "/") == _posts(visitor, "/featured")


def test_short_addresses_redirect_to_canonical_ones(visitor: Client) -> None:
    number = _first(visitor, "/api/forums/books/posts")

    assert visitor.get("/f/BOOKS").location == "/f/books"
    assert re.fullmatch(rf"/f/books/{number}/[a-z0-9-]+", visitor.get(f"/f/books/{number}").location or "")
    assert visitor.get(f"/f/birds/{number}").status_code == 404
    assert visitor.get(f"/f/books/{number}/-").status_code == 200
    for path in ("/f/nothing", "/user/nobody", "/f/books/1", "/pictures/99999", "/all/best", "/messages/thread/99"):
        assert visitor.get(path).status_code in (303, 404), path
    assert visitor.get("/all/top?t=hour").status_code == 400


def test_search_requires_and_marks_all_words(visitor: Client) -> None:
    html = visitor.get("/search?q=good+bread").get_data(as_text=True)
    found = int(re.findall(r"(\d+) posts for", html)[0])
    fewer = visitor.get("/search?q=good+bread&forum=baking&sort=top").get_data(as_text=True)

    assert found > 3
    assert "<mark>" in html
    assert 0 < int(re.findall(r"(\d+) posts? for", fewer)[0]) <= found
    for odd in ('"', "a AND", "*", "NEAR(", "<b>", "' OR 1=1"):
        page = visitor.get("/search", query_string={"q": odd})
        assert page.status_code == 200, odd
        assert not StrictPage("x", page.get_data(as_text=True)).problems


def test_reading_changes_nothing(mara: Client, data_dir: Any) -> None:
    before = (data_dir / "main.sqlite3").read_bytes()
    for path in ("/", "/messages/thread/2", "/notifications", "/f/books", "/user/mara.linden", "/search?q=bread"):
        assert mara.get(path).status_code == 200
    assert (data_dir / "main.sqlite3").read_bytes() == before
