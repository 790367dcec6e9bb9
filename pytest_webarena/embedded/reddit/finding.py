"""Search: all words, phrases in quotes, the last word may go on; posts, comments and forums."""

from __future__ import annotations

import re
import sqlite3

from flask import Blueprint, abort, render_template, request
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from pytest_webarena.embedded.reddit import listing
from pytest_webarena.embedded.reddit.accounts import me
from pytest_webarena.embedded.web import database

__all__ = ["pages"]

_KINDS = {"posts": "Posts", "comments": "Comments", "forums": "Forums"}
_SORTS = {"relevance": "Relevance", "new": "Newest", "top": "Highest score"}
_PREFIX = 3
"""From so many letters on the last word may go on: fewer would find half of everything."""
_OPEN, _CLOSE = "\x02", "\x03"
"""Around what was found in a snippet, until it is escaped."""

pages = Blueprint("finding", __name__)


@pages.get("/search")
def search() -> ResponseReturnValue:
    wanted = request.args.get("q", "").strip()[:200]
    kind = request.args.get("type", "posts")
    sort = request.args.get("sort", "relevance")
    forum = request.args.get("forum", "").strip()
    if kind not in _KINDS or sort not in _SORTS:
        abort(400)
    number = listing.page_number()
    query = _query(wanted)
    total, hits = _find(kind, wanted, query, sort, forum, number) if query else (0, [])
    names = [row["name"] for row in database().execute("SELECT name FROM forums ORDER BY name")]
    return render_template(
        "search.html", wanted=wanted, kind=kind, kinds=_KINDS, sort=sort, sorts=_SORTS, within=forum, names=names,
        total=total, hits=hits, number=number, more=number * listing.PER_PAGE < total,
    )  # fmt: skip


def _query(text: str) -> str:
    pieces = [piece or word for piece, word in re.findall(r'"([^"]+)"|(\w+)', text)]
    words = [" ".join(re.findall(r"\w+", piece)) for piece in pieces]
    quoted = [f'"{word}"' for word in words if word]
    if quoted and len(words[-1]) >= _PREFIX and not text.endswith('"'):
        quoted[-1] += "*"
    return " ".join(quoted)


def _find(
    kind: str, wanted: str, query: str, sort: str, forum: str, number: int
) -> tuple[int, list[dict[str, object]]]:
    if kind == "forums":
        return _forums(wanted)
    words, of = ("post_words", "p") if kind == "posts" else ("comment_words", "c")
    joined = (
        "posts p ON p.id = w.rowid" if kind == "posts" else "comments c ON c.id = w.rowid JOIN posts p ON p.id = c.post"
    )
    is_visible = f"NOT {of}.deleted AND NOT {of}.removed AND NOT p.deleted AND NOT p.removed"
    given = {"query": query, "me": me(), "forum": forum}
    where = (
        f"{words} MATCH :query AND {is_visible} AND (:forum = '' OR f.name = :forum)"
        f" AND {of}.user NOT IN (SELECT blocked FROM blocks WHERE user = :me)"
    )
    source = f"{words} w JOIN {joined} JOIN forums f ON f.id = p.forum JOIN users u ON u.id = {of}.user"
    weights = "8.0, 1.0" if kind == "posts" else "1.0"
    order = {
        "relevance": f"bm25({words}, {weights})", "new": f"{of}.created DESC", "top": f"{of}.up - {of}.down DESC"
    }[sort]  # fmt: skip
    column = 1 if kind == "posts" else 0
    total = database().execute(f"SELECT count(*) FROM {source} WHERE {where}", given).fetchone()[0]
    rows = database().execute(
        f"SELECT p.id, p.title, f.name AS forum, u.name AS author, {of}.created, {of}.up - {of}.down AS score,"
        f" p.comments, {of}.id AS number, snippet({words}, {column}, '{_OPEN}', '{_CLOSE}', '…', 30) AS snippet"
        f" FROM {source} WHERE {where} ORDER BY {order}, {of}.id DESC"
        f" LIMIT {listing.PER_PAGE} OFFSET {(number - 1) * listing.PER_PAGE}",
        given,
    )
    return total, [dict(row) | {"snippet": _marked(row)} for row in rows]


def _forums(wanted: str) -> tuple[int, list[dict[str, object]]]:
    like = "%" + re.sub(r"([\\%_])", r"\\\1", wanted) + "%"
    rows = database().execute(
        "SELECT name, title, description FROM forums WHERE name LIKE :like ESCAPE '\\' OR title LIKE :like ESCAPE '\\'"
        " OR description LIKE :like ESCAPE '\\' ORDER BY name",
        {"like": like},
    )
    found = [dict(row) for row in rows]
    return len(found), found


def _marked(row: sqlite3.Row) -> Markup:
    return Markup(str(escape(row["snippet"] or "")).replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>"))
