"""Members: what they wrote, what they say about themselves, whom they block."""

from __future__ import annotations

import sqlite3

from flask import Blueprint, abort, flash, g, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.reddit import listing
from pytest_webarena.embedded.reddit.accounts import me, signed_in
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["find_user", "pages"]

LONGEST_BIOGRAPHY = 300

pages = Blueprint("users", __name__)


def find_user(name: str) -> sqlite3.Row:
    """The member of this name, in whatever case; without one, the page of 404."""
    found: sqlite3.Row | None = database().execute("SELECT * FROM users WHERE name = ?", (name,)).fetchone()
    if found is None:
        abort(404)
    return found


def _own(name: str) -> sqlite3.Row:
    found = find_user(name)
    if found["id"] != me():
        abort(403, "Only they can do that.")
    return found


@pages.get("/user/<name>", defaults={"part": "submissions"})
@pages.get("/user/<name>/<any(submissions, comments):part>")
def user(name: str, part: str) -> ResponseReturnValue:
    found = find_user(name)
    facts = database().execute(
        "SELECT (SELECT count(*) FROM posts WHERE user = :them AND NOT deleted AND NOT removed) AS posts,"
        " (SELECT count(*) FROM comments WHERE user = :them AND NOT deleted AND NOT removed) AS comments,"
        " (SELECT coalesce(sum(up - down), 0) FROM posts WHERE user = :them AND NOT deleted AND NOT removed) AS score,"
        " EXISTS (SELECT 1 FROM blocks WHERE user = :me AND blocked = :them) AS blocked",
        {"them": found["id"], "me": me()},
    ).fetchone()  # fmt: skip
    moderated = database().execute(
        "SELECT forums.name FROM moderators JOIN forums ON forums.id = forum WHERE user = ? ORDER BY forums.name",
        (found["id"],),
    )
    them = {"them": found["id"]}
    if part == "comments":
        page = listing.comments_of("c.user = :them", them)
    else:
        page = listing.posts("p.user = :them", them, sort="new", base=f"/user/{found['name']}/submissions")
    return render_template(
        "user.html", member=found, facts=facts, part=part, page=page, moderated=[row["name"] for row in moderated],
        feed=f"/user/{found['name']}.atom",
    )  # fmt: skip


@pages.get("/user/<name>/account")
def account(name: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found = _own(name)
    forums = database().execute(
        "SELECT forums.name, title FROM subscriptions JOIN forums ON forums.id = forum WHERE user = ? ORDER BY name",
        (me(),),
    )
    return render_template("account.html", member=found, forums=forums.fetchall())


@pages.route("/user/<name>/edit_biography", methods=["GET", "POST"])
def biography(name: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found = _own(name)
    if request.method == "GET":
        return render_template("biography.html", text=found["biography"], problem="", most=LONGEST_BIOGRAPHY)
    text = request.form.get("biography", "").replace("\r\n", "\n").strip()
    if len(text) > LONGEST_BIOGRAPHY:
        problem = f"A biography can have {LONGEST_BIOGRAPHY} characters; this one has {len(text)}."
        return render_template("biography.html", text=text, problem=problem, most=LONGEST_BIOGRAPHY), 422
    with database() as connection:
        connection.execute("UPDATE users SET biography = ? WHERE id = ?", (text, me()))
    flash("Your biography has been changed.")
    return redirect(f"/user/{found['name']}", 303)


@pages.get("/user/<name>/block_list")
def block_list(name: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    _own(name)
    people = database().execute(
        "SELECT users.name, since FROM blocks JOIN users ON users.id = blocked WHERE user = ? ORDER BY users.name",
        (me(),),
    )
    return render_template("block_list.html", people=people.fetchall())


@pages.post("/user/<name>/<any(block, unblock):action>")
def block(name: str, action: str) -> ResponseReturnValue:
    """Block or unblock the member of that name."""
    if sent := signed_in():
        return sent
    found = find_user(name)
    if found["id"] == me():
        abort(400, "Nobody can block themselves.")
    with database() as connection:
        if action == "block":
            connection.execute("INSERT OR IGNORE INTO blocks VALUES (?, ?, ?)", (me(), found["id"], timestamp()))
        else:
            connection.execute("DELETE FROM blocks WHERE user = ? AND blocked = ?", (me(), found["id"]))
    flash(f"You have {action}ed {found['name']}.")
    return redirect(f"/user/{g.user['name']}/block_list", 303)
