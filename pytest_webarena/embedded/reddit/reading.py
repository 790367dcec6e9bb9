"""Pages that are read: the front page in its orders, a forum, a thread, the newest comments, pictures."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from flask import Blueprint, abort, make_response, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.reddit import accounts, listing
from pytest_webarena.embedded.reddit.accounts import find_forum, me
from pytest_webarena.embedded.reddit.prose import slug
from pytest_webarena.embedded.web import database

__all__ = ["Node", "pages", "thread_of"]

_ORDERS = {
    "best": ("Best", lambda node: (-(node.row["score"]), node.row["id"])),
    "new": ("Newest", lambda node: (-node.row["id"],)),
    "old": ("Oldest", lambda node: (node.row["id"],)),
}
_DEEPEST = 8
"""Deeper replies are shown at this depth."""

pages = Blueprint("reading", __name__)


@pages.get("/")
def front() -> ResponseReturnValue:
    return _front("hot")


@pages.get("/<any(hot, new, active, top, controversial, most_commented):sort>")
def front_sorted(sort: str) -> ResponseReturnValue:
    return _front(sort)


def _front(sort: str) -> ResponseReturnValue:
    """What a member subscribes to; for all others, the featured forums."""
    if me() and database().execute("SELECT 1 FROM subscriptions WHERE user = ? LIMIT 1", (me(),)).fetchone():
        return _posts("subscribed", sort, base="")
    return _posts("featured", sort, base="")


_SELECTIONS = {
    "all": ("All posts", "1"),
    "featured": ("Featured forums", "p.forum IN (SELECT id FROM forums WHERE featured)"),
    "subscribed": ("Your subscriptions", "p.forum IN (SELECT forum FROM subscriptions WHERE user = :me)"),
    "moderated": ("Forums you moderate", "p.forum IN (SELECT forum FROM moderators WHERE user = :me)"),
}


@pages.get("/<any(all, featured, subscribed, moderated):selection>", defaults={"sort": "hot"})
@pages.get(
    "/<any(all, featured, subscribed, moderated):selection>"
    "/<any(hot, new, active, top, controversial, most_commented):sort>"
)
def selected(selection: str, sort: str) -> ResponseReturnValue:
    if selection in ("subscribed", "moderated") and (sent := accounts.signed_in()):
        return sent
    return _posts(selection, sort, base=f"/{selection}")


def _posts(selection: str, sort: str, *, base: str) -> ResponseReturnValue:
    title, where = _SELECTIONS[selection]
    page = listing.posts(where, sort=sort, base=base)
    busy = database().execute(
        "SELECT name, title FROM forums ORDER BY (SELECT count(*) FROM subscriptions WHERE forum = forums.id) DESC,"
        " name LIMIT 10"
    )
    return render_template("front.html", page=page, selection=selection, heading=title, busy=busy.fetchall(),
                           feed=f"/{selection}/new.atom" if selection in ("all", "featured") else "")  # fmt: skip


@pages.get("/f/<name>", defaults={"sort": "hot"})
@pages.get("/f/<name>/<any(hot, new, active, top, controversial, most_commented):sort>")
def forum(name: str, sort: str) -> ResponseReturnValue:
    found = find_forum(name)
    if found["name"] != name:
        return redirect(f"/f/{found['name']}", 301)
    page = listing.posts(
        "p.forum = :forum", {"forum": found["id"]}, sort=sort, base=f"/f/{name}", pinned_first=sort == "hot"
    )
    return render_template("forum.html", page=page, feed=f"/f/{name}/new.atom", **about(found))


def about(found: sqlite3.Row) -> dict[str, object]:
    """What stands beside the pages of a forum."""
    facts = database().execute(
        "SELECT (SELECT count(*) FROM subscriptions WHERE forum = :forum) AS subscribers,"
        " (SELECT count(*) FROM posts WHERE forum = :forum AND NOT deleted AND NOT removed) AS posts,"
        " EXISTS (SELECT 1 FROM subscriptions WHERE forum = :forum AND user = :me) AS subscribed",
        {"forum": found["id"], "me": me()},
    ).fetchone()  # fmt: skip
    moderators = database().execute(
        "SELECT users.name FROM moderators JOIN users ON users.id = user WHERE forum = ? ORDER BY since, name",
        (found["id"],),
    )
    return {
        "forum": found, "facts": facts, "moderators": [row["name"] for row in moderators],
        "moderates": accounts.moderates(found["id"]), "ban": accounts.banned(found["id"]) if me() else None,
    }  # fmt: skip


@dataclass(slots=True)
class Node:
    """A comment with the replies below it."""

    row: sqlite3.Row
    blocked: bool = False
    replies: list[Node] = field(default_factory=list)

    @property
    def is_removed(self) -> bool:
        return bool(self.row["deleted"] or self.row["removed"])


def thread_of(post: int, order: str = "best", *, all_rows: bool = False) -> list[Node]:
    """The comments on a post as trees; what is gone stands there only where replies hang on it."""
    rows = database().execute(
        "SELECT c.*, c.up - c.down AS score, u.name AS author, coalesce(v.choice, 0) AS mine,"
        " c.user IN (SELECT blocked FROM blocks WHERE user = :me) AS blocked FROM comments c"
        " JOIN users u ON u.id = c.user LEFT JOIN comment_votes v ON v.comment = c.id AND v.user = :me"
        " WHERE c.post = :post ORDER BY c.id",
        {"me": me(), "post": post},
    )
    nodes = {row["id"]: Node(row, bool(row["blocked"])) for row in rows}
    roots: list[Node] = []
    for node in nodes.values():
        above = nodes.get(node.row["parent"])
        (above.replies if above else roots).append(node)
    return _arranged(roots, order, all_rows)


def _arranged(nodes: list[Node], order: str, all_rows: bool) -> list[Node]:
    for node in nodes:
        node.replies = _arranged(node.replies, order, all_rows)
    return sorted((node for node in nodes if all_rows or node.replies or not node.is_removed), key=_ORDERS[order][1])


@pages.get("/f/<name>/<int:number>", defaults={"words": ""})
@pages.get("/f/<name>/<int:number>/<words>")
def thread(name: str, number: int, words: str) -> ResponseReturnValue:
    post = _post(name, number)
    if words not in (slug(post["title"]), "-") or name != post["forum"]:
        return redirect(f"/f/{post['forum']}/{number}/{slug(post['title'])}", 301)
    return _thread(post, None)


@pages.get("/f/<name>/<int:number>/<words>/comment/<int:comment>")
def one_comment(name: str, number: int, words: str, comment: int) -> ResponseReturnValue:
    return _thread(_post(name, number), comment)


def _post(name: str, number: int) -> sqlite3.Row:
    post = listing.post_row(number)
    if post is None or post["forum"].lower() != name.lower():
        abort(404)
    return post


def _thread(post: sqlite3.Row, only: int | None) -> ResponseReturnValue:
    order = request.args.get("sort", "best")
    if order not in _ORDERS:
        abort(400)
    known = about(find_forum(post["forum"]))
    nodes = thread_of(post["id"], order, all_rows=bool(known["moderates"]))
    if only is not None:
        nodes = _below(nodes, only)
        if not nodes:
            abort(404)
    image = database().execute("SELECT description FROM images WHERE id = ?", (post["image"],)).fetchone()
    return render_template(
        "thread.html", post=post, nodes=nodes, order=order, orders={key: name for key, (name, _) in _ORDERS.items()},
        only=only, image=image, deepest=_DEEPEST, **known,
    )  # fmt: skip


def _below(nodes: list[Node], wanted: int) -> list[Node]:
    for node in nodes:
        if node.row["id"] == wanted:
            return [node]
        if found := _below(node.replies, wanted):
            return found
    return []


@pages.get("/comments")
def comments() -> ResponseReturnValue:
    return render_template("comments.html", page=listing.comments_of("1"))


@pages.get("/pictures/<int:number>")
def picture(number: int) -> ResponseReturnValue:
    found = database().execute("SELECT type, bytes FROM images WHERE id = ?", (number,)).fetchone()
    if found is None:
        abort(404)
    response = make_response(found["bytes"])
    response.mimetype = found["type"]
    # A drawing that somebody sent in must not run anything, wherever it is opened.
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
