"""Atom and RSS feeds, and the API."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any

import pytest
from werkzeug.test import Client

_ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.mark.parametrize("path", ["/all/new", "/featured/hot", "/f/books", "/f/books/active", "/user/mara.linden"])
def test_atom_feed_has_required_elements(visitor: Client, path: str) -> None:
    response = visitor.get(f"{path}.atom")
    feed = ET.fromstring(response.get_data())
    entries = feed.findall(f"{_ATOM}entry")

    assert response.mimetype == "application/atom+xml"
    assert feed.findtext(f"{_ATOM}title")
    assert feed.findtext(f"{_ATOM}id", "").startswith("http://")
    assert 1 <= len(entries) <= 25
    assert len({entry.findtext(f"{_ATOM}id") for entry in entries}) == len(entries)
    for entry in entries:
        link = entry.find(f"{_ATOM}link[@rel='alternate']")
        assert link is not None
        assert visitor.get(link.attrib["href"].removeprefix("http://localhost")).status_code == 200
        assert datetime.fromisoformat(entry.findtext(f"{_ATOM}updated", "").replace("Z", "+00:00")).year >= 2022
        assert entry.findtext(f"{_ATOM}author/{_ATOM}name")
        assert "<p>" in entry.findtext(f"{_ATOM}content", "<p>")
    assert feed.findtext(f"{_ATOM}updated", "") >= max(entry.findtext(f"{_ATOM}updated", "") for entry in entries)


def test_rss_feed_has_required_elements(visitor: Client, mara: Client) -> None:
    mara.post("/submit", data={"forum": "books", "title": "A < B & C", "body": "**x** ]]> <y>"})
    channel = ET.fromstring(visitor.get("/f/books.rss").get_data()).find("channel")
    assert channel is not None
    items = channel.findall("item")

    assert items[0].findtext("title") == "A < B & C"
    assert items[0].findtext("description") == "<p><strong>x</strong> ]]&gt; &lt;y&gt;</p>"
    assert parsedate_to_datetime(items[0].findtext("pubDate", "")).isoformat() == "2025-05-14T09:00:00+00:00"
    assert len(items) == 25


def test_feedparser_reads_the_feeds(visitor: Client) -> None:
    feedparser = import_module("feedparser")  # it has no types
    for path, version in (("/f/books.atom", "atom10"), ("/f/books.rss", "rss20"), ("/all/new.atom", "atom10")):
        parsed = feedparser.parse(visitor.get(path).get_data())
        assert not parsed.bozo, parsed.get("bozo_exception")
        assert parsed.version == version
        assert all(entry.title and entry.link and entry.published_parsed for entry in parsed.entries)


def test_api_equals_the_pages(mara: Client, visitor: Client, rows: Callable[..., list[tuple[Any, ...]]]) -> None:
    created = mara.post("/submit", data={"forum": "books", "title": "New", "body": "b", "url": "http://a.test/"})
    number = int(created.location.split("/")[3])
    visitor_sees = visitor.get(f"/api/posts/{number}").json
    mara.post(f"/f/books/{number}/-/comment", data={"body": "first"})
    ((comment,),) = rows("select max(id) from comments")
    mara.post(f"/f/books/{number}/-/comment", data={"body": "second", "parent": comment})
    mara.post(f"/comment/{comment}/delete")

    assert visitor_sees is not None
    assert visitor_sees["comments"] == []
    assert {key: visitor_sees[key] for key in ("forum", "author", "title", "body", "url", "score", "picture")} == {
        "forum": "books", "author": "mara.linden", "title": "New", "body": "b", "url": "http://a.test/", "score": 1,
        "picture": None,
    }  # fmt: skip
    tree = visitor.get(f"/api/posts/{number}").json
    assert tree is not None
    (top,) = tree["comments"]
    assert (top["author"], top["body"], top["replies"][0]["body"]) == (None, None, "second")
    forum = visitor.get("/api/forums/books").json
    assert forum is not None
    assert forum["moderators"] == ["mara.linden", "ilse.varnholt"]
    listed = visitor.get("/api/forums/books/posts").json
    assert listed is not None
    assert (listed["posts"][0]["id"], listed["more"]) == (number, True)
    member = visitor.get("/api/users/mara.linden").json
    assert member is not None
    assert member["posts"][0]["path"] == f"/f/books/{number}/new"
    for path in ("/api/posts/1", "/api/forums/none", "/api/users/nobody", "/api/forums/books/posts/best"):
        assert visitor.get(path).status_code == 404
