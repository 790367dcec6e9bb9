"""Links that the crawl follows."""

from __future__ import annotations

import itertools

from pytest_webarena.html_pages.links import Frontier, links_of
from tests.cases import each_case

HOME = "http://shop.test"


def followed(*links: str, sites: tuple[str, ...] = (HOME,), most: int = 50) -> list[str]:
    frontier = Frontier(sites)
    frontier.add(f"{HOME}{link}" if link.startswith("/") else link for link in links)
    return list(itertools.islice(frontier, most))


@each_case(
    ("html", "found"),
    [
        ('<a href="b">', f"{HOME}/a/b"),
        ('<A HREF=" /c?x=1&amp;y=2#z ">', f"{HOME}/c?x=1&y=2"),
        ('<base href="/other/"><a href="b">', f"{HOME}/other/b"),
        ('<area href="/map">', f"{HOME}/map"),
        ('<a href="/export" download>', None),
        ('<a href="/notes/3" data-method="delete">', None),
        ('<a href="http://[broken">', None),
        ("<a name=x><link href=/style.css>", None),
        (f'<a href="/{"x" * 3000}">', None),
    ],
)
def test_links_come_from_anchors(html: str, found: str | None) -> None:
    assert links_of(html, f"{HOME}/a/page") == ((found,) if found else ())


@each_case(
    "link",
    [
        "http://elsewhere.test/", "https://shop.test/", "http://shop.test:81/", "mailto:a@b.c", "javascript:alert(1)",
        "/logout", "/accounts/log-out/", "/users/sign_out", "/?do=Signoff", "/picture.PNG", "/feed.rss",
        "http://mara:secret@shop.test/", "http://shop.test:port/",
    ],
)  # fmt: skip
def test_external_sign_out_and_file_links_are_not_followed(link: str) -> None:
    assert followed(link, "/fine") == [f"{HOME}/fine"]


def test_equivalent_addresses_are_visited_once() -> None:
    assert followed("/a?y=2&x=1", "/a?x=1&y=2", "http://SHOP.test/a?x=1&y=2") == [f"{HOME}/a?x=1&y=2"]


def test_few_of_many_similar_pages_are_visited() -> None:
    goods = [f"/catalogue/thing_{number}/" for number in range(9)]
    pages = [f"/list?page={number}" for number in range(9)]
    assert followed(*goods, *pages, "/about", "/help") == [
        *(f"{HOME}{each}" for each in (*goods[:3], *pages[:3], "/about", "/help"))
    ]


def test_frontier_alternates_sites_and_queues_new_links() -> None:
    frontier = Frontier((HOME, "http://wiki.test"))
    frontier.add([f"{HOME}/a", f"{HOME}/b", "http://wiki.test/c"])
    coming = iter(frontier)
    assert [next(coming), next(coming)] == [f"{HOME}/a", "http://wiki.test/c"]
    frontier.add(["http://wiki.test/d"])
    assert list(coming) == [f"{HOME}/b", "http://wiki.test/d"]
