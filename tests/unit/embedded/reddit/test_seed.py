"""Seed data of the forum: reproducible, consistent with the world, in the past, with right counts."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import reddit, wikipedia, world
from pytest_webarena.embedded.reddit.members import HANDLES, PASSWORDS
from pytest_webarena.embedded.reddit.threads import common_slots
from pytest_webarena.embedded.reddit.topics import boards, read


@pytest.fixture(scope="session")
def database(pristine: Path) -> Any:
    with closing(sqlite3.connect(pristine / "main.sqlite3")) as connection:
        yield connection


def test_two_seeds_are_equal_and_small(tmp_path: Path, pristine: Path) -> None:
    reddit.seed(tmp_path / "again")
    content = (pristine / "main.sqlite3").read_bytes()

    assert (tmp_path / "again/main.sqlite3").read_bytes() == content
    assert len(content) < 6_000_000
    assert world.CANARY.encode() in content


def test_seed_has_minimum_counts(database: Any) -> None:
    def count(sql: str) -> int:
        return int(database.execute(f"select count(*) from {sql}").fetchone()[0])

    assert count("forums") == 39
    assert count("posts") > 2000
    assert count("comments") > 8000
    assert count("posts where url <> ''") > 100
    assert count("images") > 150
    assert count("comments where parent is not null") > 2000
    assert count("posts where created >= '2025-05-13T09:00:00'") > 25
    assert count("posts where removed") >= 1
    assert count("(select forum from posts group by forum having count(*) < 12)") == 0
    assert count("(select post from (select post, count(*) as n from comments group by post) where n > 8)") > 20


def test_stored_counts_are_right(database: Any) -> None:
    for kind in ("post", "comment"):
        wrong = database.execute(
            f"select id from {kind}s where up <> (select count(*) from {kind}_votes where {kind} = id and choice = 1)"
            f" or down <> (select count(*) from {kind}_votes where {kind} = id and choice = -1)"
        )
        assert wrong.fetchall() == []
    there = "(select count(*) from comments where post = posts.id and not removed and not deleted)"
    assert database.execute(f"select id from posts where comments <> {there}").fetchall() == []
    heat = "cast(strftime('%s', created) as integer) + 1800 * min(up - down, 60)"
    assert database.execute(f"select id from posts where heat <> {heat}").fetchall() == []
    assert database.execute("pragma foreign_key_check").fetchall() == []
    for words in ("post_words", "comment_words"):
        database.execute(f"insert into {words} ({words}) values ('integrity-check')")
    database.rollback()


def test_dates_are_in_order_and_before_now(database: Any) -> None:
    now = world.EPOCH.strftime("%Y-%m-%dT%H:%M:%S")

    for table, field in (("posts", "created"), ("comments", "created"), ("messages", "created"), ("users", "joined"),
                         ("moderation", "created"), ("subscriptions", "since")):  # fmt: skip
        assert database.execute(f"select max({field}) from {table}").fetchone()[0] < now, table
    for table in ("posts", "comments"):
        times = [row[0] for row in database.execute(f"select created from {table} order by id")]
        assert times == sorted(times)
    early = "select c.id from comments c left join comments p on p.id = c.parent join posts o on o.id = c.post"
    assert database.execute(f"{early} where c.created <= coalesce(p.created, o.created)").fetchall() == []
    assert database.execute(f"{early} where p.post <> c.post").fetchall() == []
    joined = "select name from users u join posts p on p.user = u.id where p.created < u.joined"
    assert database.execute(joined).fetchall() == []


def test_texts_have_no_template_remains(database: Any) -> None:
    texts = [row[0] for row in database.execute("select title from posts union all select body from posts")]
    texts += [row[0] for row in database.execute("select body from comments")]

    assert [
        text
        for text in texts
        if re.search(r"[\[\]{}|]|\b[Aa] [aeio](?!ne\b|nce\b)\w|  |\b(the|a|an) (the|a|an)\b", text)
    ] == []
    titles = database.execute("select forum, title, count(*) as n from posts group by 1, 2 having n > 1").fetchall()
    assert titles == []
    repeated = "select title, count(*) as n from (select title from posts order by heat desc limit 50) group by 1"
    assert [title for title, n in database.execute(repeated) if n > 1] == []


def test_hottest_posts_have_different_topics(database: Any) -> None:
    """Identifies topics by the first words of the fifty hottest posts."""
    bodies = [row[0][:24] for row in database.execute("select body from posts order by heat desc limit 50")]

    assert max(bodies.count(body) for body in bodies) <= 3


def test_newest_book_posts_are_about_different_books(database: Any) -> None:
    newest = (
        "select posts.title from posts join forums f on f.id = forum where f.name = 'books'"
        " order by posts.id desc limit 16"
    )
    titles = " ".join(row[0] for row in database.execute(newest))

    assert max(titles.count(book) for book in common_slots()["book"]) <= 3


def test_people_are_those_of_the_world(database: Any) -> None:
    names = {row[0] for row in database.execute("select name from users")}

    assert names == {*PASSWORDS, *HANDLES}
    assert len({name.lower() for name in names}) == len(names)
    assert set(PASSWORDS) == {person.username for person in world.PEOPLE}
    silent = "select count(*) from users where id not in (select user from comments union select user from posts)"
    assert database.execute(silent).fetchone()[0] < 12


def test_links_lead_to_articles(database: Any, tmp_path: Path) -> None:
    wikipedia.seed(tmp_path)
    reader = Client(wikipedia.create_app(tmp_path))
    links = [
        row[0] for row in database.execute("select distinct url from posts where url like 'http://wikipedia.test/%'")
    ]

    assert len(links) > 10
    assert [link for link in links if reader.get(link.removeprefix("http://wikipedia.test")).status_code == 404] == []


def test_every_topic_is_complete() -> None:
    for board in boards():
        assert board.name == "towns" or {"title", "category", "about", "mods"} <= set(board.head), board.name
        for topic in board.topics:
            assert topic.bodies, board.name
            assert len(topic.comments) >= 2, board.name
            assert topic.comments[0].depth == 1, board.name


def test_invalid_topic_files_are_reported() -> None:
    with pytest.raises(ValueError, match="x: expected a head"):
        read("x", "title: X")
    with pytest.raises(ValueError, match="x: no telling what this line is: 'What now'"):
        read("x", "title: X\n---\n? A title\nWhat now")
    with pytest.raises(ValueError, match="x: a topic without a title"):
        read("x", "title: X\n---\n> Only a body")
