"""The encyclopedia's pages: the front page, articles, categories, the index, search with suggestions."""

from __future__ import annotations

import functools
import json
import re
import sqlite3
from pathlib import Path
from zlib import crc32

from flask import Blueprint, Flask, abort, jsonify, redirect, render_template, request
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from pytest_webarena.embedded import clock, world
from pytest_webarena.embedded.web import Bound, database, new_site
from pytest_webarena.embedded.wikipedia.seed import path_of

__all__ = ["create_app"]

_PER_PAGE = 20
_SUGGESTED = 8
_OPEN, _CLOSE = "\x02", "\x03"
"""Around what was found in a snippet, until it is escaped."""

pages = Blueprint("pages", __name__)


def create_app(data_dir: Path) -> Bound:
    """The encyclopedia over the database in ``data_dir``."""
    return Bound(_site(), data_dir)


@functools.cache
def _site() -> Flask:
    site = new_site("wikipedia", __package__ or __name__)
    site.jinja_env.filters.update(path=path_of, category=_category_path)
    site.jinja_env.globals.update(region=world.REGION)
    site.register_blueprint(pages)
    # Compile now what forked replicas would otherwise each do on first use.
    for name in site.jinja_env.list_templates():
        site.jinja_env.get_template(name)
    return site


def _category_path(name: str) -> str:
    return path_of(name).replace("/wiki/", "/category/", 1)


@pages.get("/")
def front() -> ResponseReturnValue:
    count = database().execute("SELECT count(*) FROM articles").fetchone()[0]
    today = crc32(clock.today().isoformat().encode()) % count + 1
    featured = database().execute("SELECT title, lead FROM articles WHERE id = ?", (today,)).fetchone()
    groups = database().execute(
        "SELECT category, count(*) AS number FROM categories GROUP BY category HAVING number >= 8 ORDER BY category"
    )
    return render_template("front.html", count=count, featured=featured, groups=groups.fetchall())


@pages.get("/wiki/<path:name>")
def article(name: str) -> ResponseReturnValue:
    title = name.replace("_", " ")
    found = database().execute("SELECT * FROM articles WHERE title = ?", (title,)).fetchone()
    if found is None:
        other = _called(title)
        if other is None:
            return render_template("missing.html", wanted=title), 404
        return redirect(path_of(other["title"]), 302)
    if path_of(title) != path_of(name):
        return redirect(path_of(title), 301)
    categories = database().execute("SELECT category FROM categories WHERE article = ? ORDER BY rowid", (found["id"],))
    return render_template(
        "article.html", title=title, lead=Markup(found["lead"]), facts=json.loads(found["facts"]),
        sections=[(heading, anchor, Markup(html)) for heading, anchor, html in json.loads(found["sections"])],
        categories=[row["category"] for row in categories],
    )  # fmt: skip


@pages.get("/links/<path:name>")
def links(name: str) -> ResponseReturnValue:
    title = name.replace("_", " ")
    found = database().execute("SELECT id FROM articles WHERE title = ?", (title,)).fetchone()
    if found is None:
        return render_template("missing.html", wanted=title), 404
    sources = database().execute(
        "SELECT DISTINCT title FROM articles JOIN links ON links.source = articles.id"
        " WHERE links.target = ? ORDER BY title",
        (found["id"],),
    )
    return render_template("titles.html", heading=f"What links to “{title}”", back=title,
                           titles=[row["title"] for row in sources])  # fmt: skip


@pages.get("/categories")
def categories() -> ResponseReturnValue:
    found = database().execute(
        "SELECT category, count(*) AS number FROM categories GROUP BY category ORDER BY category"
    )
    return render_template("categories.html", categories=found.fetchall())


@pages.get("/category/<path:name>")
def category(name: str) -> ResponseReturnValue:
    wanted = name.replace("_", " ")
    found = database().execute(
        "SELECT title FROM articles JOIN categories ON article = id WHERE category = ? ORDER BY title", (wanted,)
    )
    titles = [row["title"] for row in found]
    if not titles:
        abort(404)
    return render_template("titles.html", heading=f"Category: {wanted}", titles=titles, back="")


@pages.get("/index")
def index() -> ResponseReturnValue:
    letters: dict[str, list[str]] = {}
    for row in database().execute("SELECT title FROM articles ORDER BY title COLLATE NOCASE"):
        first = row["title"][0].upper()
        letters.setdefault(first if first.isalpha() else "0–9", []).append(row["title"])
    return render_template("index.html", letters=letters)


@pages.get("/search")
def search() -> ResponseReturnValue:
    wanted = request.args.get("q", "").strip()[:200]
    exact = _called(wanted)
    if exact is not None and request.args.get("go"):
        return redirect(path_of(exact["title"]), 303)
    page = max(request.args.get("page", 1, type=int) or 1, 1)
    query = _query(wanted)
    total, hits = _find(query, page) if query else (0, [])
    last = max(-(-total // _PER_PAGE), 1)
    if page > last:
        abort(404)
    return render_template("search.html", wanted=wanted, exact=exact, total=total, hits=hits, page=page, last=last,
                           first=(page - 1) * _PER_PAGE + 1)  # fmt: skip


def _called(title: str) -> sqlite3.Row | None:
    """The article with this title, or with this other title, in whatever case."""
    found: sqlite3.Row | None = database().execute(
        "SELECT articles.title FROM articles LEFT JOIN other_titles ON articles.id = other_titles.article"
        " WHERE lower(articles.title) = lower(:title) OR lower(other_titles.title) = lower(:title)"
        " ORDER BY lower(articles.title) <> lower(:title) LIMIT 1",
        {"title": title},
    ).fetchone()  # fmt: skip
    return found


@pages.get("/suggest")
def suggest() -> ResponseReturnValue:
    """Titles that begin with what was typed, then those with a word that does."""
    typed = request.args.get("q", "").strip()[:100]
    if not typed:
        return jsonify([])
    escaped = re.sub(r"([\\%_])", r"\\\1", typed)
    found = database().execute(
        "SELECT title FROM articles WHERE title LIKE :start ESCAPE '\\' OR title LIKE :word ESCAPE '\\'"
        " ORDER BY title NOT LIKE :start ESCAPE '\\', length(title), title LIMIT :most",
        {"start": f"{escaped}%", "word": f"% {escaped}%", "most": _SUGGESTED},
    )
    return jsonify([row["title"] for row in found])


def _query(text: str) -> str:
    """What people type, as FTS5 wants it: all words, and phrases in quotes; the last word may go on."""
    pieces = [piece or word for piece, word in re.findall(r'"([^"]+)"|(\w+)', text)]
    words = [" ".join(re.findall(r"\w+", piece)) for piece in pieces]
    quoted = [f'"{word}"' for word in words if word]
    if quoted and not text.endswith('"'):
        quoted[-1] += "*"
    return " ".join(quoted)


def _find(query: str, page: int) -> tuple[int, list[dict[str, object]]]:
    total = database().execute("SELECT count(*) FROM words WHERE words MATCH ?", (query,)).fetchone()[0]
    found = database().execute(
        "SELECT articles.title AS title, snippet(words, 1, ?, ?, '…', 28) AS snippet FROM words"
        " JOIN articles ON articles.id = words.rowid WHERE words MATCH ?"
        " ORDER BY bm25(words, 12.0, 1.0), articles.title LIMIT ? OFFSET ?",
        (_OPEN, _CLOSE, query, _PER_PAGE, (page - 1) * _PER_PAGE),
    )
    return total, [{"title": row["title"], "snippet": _marked(row)} for row in found]


def _marked(row: sqlite3.Row) -> Markup:
    return Markup(str(escape(row["snippet"])).replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>"))
