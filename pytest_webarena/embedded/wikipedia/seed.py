"""The encyclopedia's database: articles as HTML, their categories, other titles, and the words they can be found by."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from pytest_webarena.embedded.markup import Section, parse
from pytest_webarena.embedded.web import write_seed
from pytest_webarena.embedded.wikipedia import land, life, lists
from pytest_webarena.embedded.wikipedia.draft import Draft
from pytest_webarena.embedded.world import CANARY

__all__ = ["all_drafts", "linked", "path_of", "seed"]

_SCHEMA = f"""
CREATE TABLE articles (  -- {CANARY}
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL UNIQUE,
    lead TEXT NOT NULL,  -- HTML
    sections TEXT NOT NULL,  -- JSON: heading, anchor, HTML of each
    facts TEXT NOT NULL,  -- JSON: pairs of the box
    summary TEXT NOT NULL  -- the lead without marks
);
CREATE TABLE other_titles (title TEXT PRIMARY KEY, article INTEGER NOT NULL REFERENCES articles);
CREATE TABLE categories (category TEXT NOT NULL, article INTEGER NOT NULL REFERENCES articles);
CREATE INDEX categories_by_name ON categories (category);
CREATE INDEX categories_by_article ON categories (article);
CREATE TABLE links (source INTEGER NOT NULL REFERENCES articles, target INTEGER NOT NULL REFERENCES articles);
CREATE INDEX links_by_target ON links (target);
CREATE VIRTUAL TABLE words USING fts5(title, text, tokenize = 'porter unicode61 remove_diacritics 2');
"""

_LINK = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\](s?)")


def all_drafts() -> tuple[Draft, ...]:
    """Every article, in the order of their titles."""
    return tuple(sorted((*land.drafts(), *life.drafts(), *lists.drafts()), key=lambda draft: draft.title))


def path_of(title: str) -> str:
    """The path of an article: ``/wiki/River_Wend``."""
    return "/wiki/" + quote(title.replace(" ", "_"), safe="'&:,!()")


def linked(text: str, titles: Mapping[str, str]) -> str:
    """``text`` with its links in the form of the text format. `ValueError` for a link that leads nowhere."""

    def link(found: re.Match[str]) -> str:
        wanted, shown, plural = found[1], found[2] or found[1], found[3]
        title = titles.get(wanted) or titles.get(wanted[:1].upper() + wanted[1:])
        if title is None:
            raise ValueError(f"no article is called {wanted!r}")
        # Brackets would end the address in the text format.
        address = path_of(title).replace("(", "%28").replace(")", "%29")
        return f"[{shown}{plural}]({address})"

    return _LINK.sub(link, text)


def seed(data_dir: Path) -> None:
    """Write the database into ``data_dir``, replacing what is there at once."""
    write_seed(data_dir, _fill)


def _fill(connection: sqlite3.Connection) -> None:
    connection.executescript(_SCHEMA)
    drafts = all_drafts()
    titles = {also: draft.title for draft in drafts for also in draft.also} | {
        each.title: each.title for each in drafts
    }
    numbers = {draft.title: number for number, draft in enumerate(drafts, 1)}
    for draft in drafts:
        number = numbers[draft.title]
        lead, sections = _read(linked(draft.body, titles))
        connection.execute(
            "INSERT INTO articles VALUES (?, ?, ?, ?, ?, ?)",
            (number, draft.title, lead.html, json.dumps([[each.heading, each.anchor, each.html] for each in sections]),
             json.dumps(draft.facts, ensure_ascii=False), lead.text),
        )  # fmt: skip
        connection.executemany("INSERT INTO other_titles VALUES (?, ?)", [(also, number) for also in draft.also])
        connection.executemany("INSERT INTO categories VALUES (?, ?)", [(each, number) for each in draft.categories])
        targets = {titles[wanted] for wanted, *_ in _LINK.findall(draft.body) if wanted in titles} - {draft.title}
        connection.executemany("INSERT INTO links VALUES (?, ?)", [(number, numbers[each]) for each in sorted(targets)])
        text = " ".join([lead.text, *(f"{each.heading}: {each.text}" for each in sections),
                         *(f"{key} {value}" for key, value in draft.facts)])  # fmt: skip
        connection.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", (number, draft.title, text))
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")


def _read(body: str) -> tuple[Section, tuple[Section, ...]]:
    _, sections = parse(f"x: x\n---\n{body}")
    return sections[0], sections[1:]
