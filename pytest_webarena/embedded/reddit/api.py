"""What pages show, as JSON: for checks, solutions and tools. It reads only, and says no more than the pages do."""

from __future__ import annotations

import sqlite3

from flask import Blueprint, abort, jsonify
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.reddit import listing
from pytest_webarena.embedded.reddit.accounts import find_forum, moderates
from pytest_webarena.embedded.reddit.prose import slug
from pytest_webarena.embedded.reddit.reading import Node, about, thread_of
from pytest_webarena.embedded.reddit.users import find_user

__all__ = ["pages"]

pages = Blueprint("api", __name__, url_prefix="/api")


@pages.get("/forums/<name>")
def forum(name: str) -> ResponseReturnValue:
    found = find_forum(name)
    known = about(found)
    facts = known["facts"]
    assert isinstance(facts, sqlite3.Row)
    fields = ("name", "title", "description", "sidebar", "category", "created")
    return jsonify(
        {field: found[field] for field in fields}
        | {"moderators": known["moderators"], "subscribers": facts["subscribers"], "posts": facts["posts"]}
    )


@pages.get("/forums/<name>/posts", defaults={"sort": "new"})
@pages.get("/forums/<name>/posts/<any(hot, new, active, top, controversial, most_commented):sort>")
def posts(name: str, sort: str) -> ResponseReturnValue:
    found = find_forum(name)
    page = listing.posts("p.forum = :forum", {"forum": found["id"]}, sort=sort)
    return jsonify({"posts": [_post(row) for row in page.rows], "more": page.more})


@pages.get("/posts/<int:number>")
def post(number: int) -> ResponseReturnValue:
    row = listing.post_row(number)
    if row is None or ((row["deleted"] or row["removed"]) and not moderates(row["forum_id"])):
        abort(404)
    return jsonify(_post(row) | {"comments": [_comment(node) for node in thread_of(number, "old")]})


@pages.get("/users/<name>")
def user(name: str) -> ResponseReturnValue:
    found = find_user(name)
    page = listing.posts("p.user = :them", {"them": found["id"]}, sort="new")
    fields = ("name", "role", "joined", "biography")
    return jsonify({field: found[field] for field in fields} | {"posts": [_post(row) for row in page.rows]})


def _post(row: sqlite3.Row) -> dict[str, object]:
    fields = ("id", "forum", "author", "title", "body", "url", "created", "edited", "up", "down", "score")
    return {field: row[field] for field in fields} | {
        "path": f"/f/{row['forum']}/{row['id']}/{slug(row['title'])}",
        "picture": f"/pictures/{row['image']}" if row["image"] else None,
        "number_of_comments": row["comments"],
        "pinned": bool(row["pinned"]), "locked": bool(row["locked"]),
    }  # fmt: skip


def _comment(node: Node) -> dict[str, object]:
    row = node.row
    return {
        "id": row["id"],
        "author": None if node.is_removed else row["author"], "body": None if node.is_removed else row["body"],
        "created": row["created"], "edited": row["edited"], "score": row["score"],
        "replies": [_comment(reply) for reply in node.replies],
    }  # fmt: skip
