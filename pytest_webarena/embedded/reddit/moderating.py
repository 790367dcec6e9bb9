"""Moderation: removing and restoring, locking and pinning, banning; each act is in the forum's log."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

from flask import Blueprint, abort, flash, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded import clock
from pytest_webarena.embedded.reddit import listing
from pytest_webarena.embedded.reddit.accounts import back, find_forum, me, must_moderate, signed_in
from pytest_webarena.embedded.reddit.prose import slug
from pytest_webarena.embedded.reddit.reading import about
from pytest_webarena.embedded.reddit.users import find_user
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["pages"]

_FLAGS = {"lock": ("locked", 1), "unlock": ("locked", 0), "pin": ("pinned", 1), "unpin": ("pinned", 0),
          "remove": ("removed", 1), "restore": ("removed", 0)}  # fmt: skip
_LONGEST_REASON = 200

pages = Blueprint("moderating", __name__)


def _note(
    connection: sqlite3.Connection, forum: int, action: str, *, post: int | None = None, comment: int | None = None,
    user: int | None = None, reason: str = "",
) -> None:  # fmt: skip
    connection.execute(
        "INSERT INTO moderation (forum, by_user, action, post, comment, user, reason, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (forum, me(), action, post, comment, user, reason, timestamp()),
    )


def _reason() -> str:
    return request.form.get("reason", "").strip()[:_LONGEST_REASON]


@pages.post("/f/<name>/<int:number>/-/<any(lock, unlock, pin, unpin, restore):action>")
def change_post(name: str, number: int, action: str) -> ResponseReturnValue:
    return _change_post(number, action)


@pages.route("/f/<name>/<int:number>/-/remove", methods=["GET", "POST"])
def remove_post(name: str, number: int) -> ResponseReturnValue:
    if request.method == "POST":
        return _change_post(number, "remove")
    if sent := signed_in():
        return sent
    post = _post(number)
    return render_template("remove.html", what="post", text=post["title"], author=post["author"], back=_path(post))


def _post(number: int) -> sqlite3.Row:
    post = listing.post_row(number)
    if post is None or post["deleted"]:
        abort(404)
    must_moderate(post["forum_id"])
    return post


def _path(post: sqlite3.Row) -> str:
    return f"/f/{post['forum']}/{post['id']}/{slug(post['title'])}"


def _change_post(number: int, action: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    post = _post(number)
    field, value = _FLAGS[action]
    if post[field] != value:
        with database() as connection:
            connection.execute(f"UPDATE posts SET {field} = ? WHERE id = ?", (value, number))
            log_action = f"{action}_post" if field == "removed" else action
            _note(connection, post["forum_id"], log_action, post=number, user=post["user_id"], reason=_reason())
    return redirect(_path(post), 303)


@pages.route("/comment/<int:number>/remove", methods=["GET", "POST"], defaults={"action": "remove"})
@pages.route("/comment/<int:number>/restore", methods=["POST"], defaults={"action": "restore"})
def change_comment(number: int, action: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found = database().execute(
        "SELECT c.*, u.name AS author FROM comments c JOIN users u ON u.id = c.user WHERE c.id = ? AND NOT c.deleted",
        (number,),
    ).fetchone()  # fmt: skip
    if found is None:
        abort(404)
    post = _post(found["post"])
    path = f"{_path(post)}#comment-{number}"
    if request.method == "GET":
        return render_template("remove.html", what="comment", text=found["body"], author=found["author"], back=path)
    value = _FLAGS[action][1]
    if found["removed"] != value:
        with database() as connection:
            connection.execute("UPDATE comments SET removed = ? WHERE id = ?", (value, number))
            _note(connection, post["forum_id"], f"{action}_comment", post=post["id"], comment=number,
                  user=found["user"], reason=_reason())  # fmt: skip
    return redirect(path, 303)


@pages.get("/f/<name>/bans")
def bans(name: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found = find_forum(name)
    must_moderate(found["id"])
    return _bans(found, {}, {})


def _bans(found: sqlite3.Row, draft: dict[str, str], problems: dict[str, str]) -> str:
    rows = database().execute(
        "SELECT b.*, u.name, w.name AS by_name FROM bans b JOIN users u ON u.id = b.user"
        " JOIN users w ON w.id = b.by_user WHERE forum = ? ORDER BY b.id DESC",
        (found["id"],),
    ).fetchall()  # fmt: skip
    draft = {"username": request.args.get("username", "")} | draft
    return render_template("bans.html", bans=rows, draft=draft, problems=problems, now=timestamp(), **about(found))


@pages.post("/f/<name>/bans")
def ban(name: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found = find_forum(name)
    must_moderate(found["id"])
    draft = {field: request.form.get(field, "").strip() for field in ("username", "reason", "days")}
    person = database().execute("SELECT id, name, role FROM users WHERE name = ?", (draft["username"],)).fetchone()
    problems = {}
    if person is None:
        problems["username"] = "Nobody has this name."
    elif person["role"] == "administrator" or person["id"] == me():
        problems["username"] = "They can't be banned."
    if not draft["reason"]:
        problems["reason"] = "Say why, so that they can know it."
    if draft["days"] and not (draft["days"].isdecimal() and 1 <= int(draft["days"]) <= 3650):
        problems["days"] = "Days are a whole number from 1 to 3650; empty means for good."
    if problems:
        return _bans(found, draft, problems), 422
    expires = None
    if draft["days"]:
        expires = (clock.now() + timedelta(days=int(draft["days"]))).strftime("%Y-%m-%dT%H:%M:%S")
    reason = draft["reason"][:_LONGEST_REASON]
    with database() as connection:
        connection.execute("DELETE FROM bans WHERE forum = ? AND user = ?", (found["id"], person["id"]))
        connection.execute(
            "INSERT INTO bans (forum, user, reason, by_user, created, expires) VALUES (?, ?, ?, ?, ?, ?)",
            (found["id"], person["id"], reason, me(), timestamp(), expires),
        )
        _note(connection, found["id"], "ban", user=person["id"], reason=reason)
    flash(f"{person['name']} has been banned.")
    return redirect(f"/f/{found['name']}/bans", 303)


@pages.post("/f/<name>/unban/<username>")
def unban(name: str, username: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found, person = find_forum(name), find_user(username)
    must_moderate(found["id"])
    with database() as connection:
        deleted = connection.execute("DELETE FROM bans WHERE forum = ? AND user = ?", (found["id"], person["id"]))
        if deleted.rowcount:
            _note(connection, found["id"], "unban", user=person["id"])
            flash(f"{person['name']} is no longer banned.")
    return back(f"/f/{found['name']}/bans")


@pages.get("/f/<name>/moderation_log")
def log(name: str) -> ResponseReturnValue:
    found = find_forum(name)
    number = listing.page_number()
    rows = database().execute(
        "SELECT m.action, m.reason, m.created, w.name AS by_name, u.name, p.id AS post, p.title, m.comment"
        " FROM moderation m JOIN users w ON w.id = m.by_user LEFT JOIN users u ON u.id = m.user"
        " LEFT JOIN posts p ON p.id = m.post WHERE m.forum = ? ORDER BY m.id DESC LIMIT ? OFFSET ?",
        (found["id"], listing.PER_PAGE + 1, (number - 1) * listing.PER_PAGE),
    ).fetchall()  # fmt: skip
    page = listing.Page(rows=rows[: listing.PER_PAGE], number=number, more=len(rows) > listing.PER_PAGE)
    return render_template("moderation_log.html", page=page, words=_WORDS, **about(found))


_WORDS = {
    "remove_post": "removed a post", "restore_post": "restored a post", "remove_comment": "removed a comment",
    "restore_comment": "restored a comment", "lock": "locked a thread", "unlock": "unlocked a thread",
    "pin": "pinned a post", "unpin": "unpinned a post", "ban": "banned", "unban": "lifted the ban of",
}  # fmt: skip
