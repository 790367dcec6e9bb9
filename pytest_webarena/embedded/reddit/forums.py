"""Forums as such: their lists, subscribing, making one, changing what it says about itself."""

from __future__ import annotations

import re
import sqlite3

from flask import Blueprint, abort, flash, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.reddit.accounts import back, find_forum, me, must_moderate, signed_in
from pytest_webarena.embedded.reddit.reading import about
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["pages"]

_LISTS = {
    "by_subscribers": ("Most subscribers", "subscribers DESC, name"),
    "by_submissions": ("Most posts", "posts DESC, name"),
    "by_name": ("Name", "name"),
    "by_title": ("Title", "title COLLATE NOCASE"),
    "newest": ("Newest", "created DESC, name"),
}
_MOST = {"name": 25, "title": 100, "description": 300, "sidebar": 1500}

pages = Blueprint("forums", __name__)


def _forums(order: str) -> list[sqlite3.Row]:
    return database().execute(
        "SELECT *, (SELECT count(*) FROM subscriptions WHERE forum = forums.id) AS subscribers,"
        " (SELECT count(*) FROM posts WHERE forum = forums.id AND NOT deleted AND NOT removed) AS posts,"
        " EXISTS (SELECT 1 FROM subscriptions WHERE forum = forums.id AND user = :me) AS subscribed"
        f" FROM forums ORDER BY {order}",
        {"me": me()},
    ).fetchall()  # fmt: skip


@pages.get("/forums", defaults={"order": "by_subscribers"})
@pages.get("/forums/<any(by_subscribers, by_submissions, by_name, by_title, newest):order>")
def table(order: str) -> ResponseReturnValue:
    orders = {key: name for key, (name, _) in _LISTS.items()}
    return render_template("forums.html", forums=_forums(_LISTS[order][1]), order=order, orders=orders)


@pages.get("/forums/all")
def every() -> ResponseReturnValue:
    """Names alone, by letter."""
    letters: dict[str, list[sqlite3.Row]] = {}
    for row in _forums("name"):
        letters.setdefault(row["name"][0].upper(), []).append(row)
    return render_template("forums_all.html", letters=letters)


@pages.get("/forums/by_category")
def categories() -> ResponseReturnValue:
    groups: dict[str, list[sqlite3.Row]] = {}
    for row in _forums("category = '', category, name"):
        groups.setdefault(row["category"] or "Others", []).append(row)
    return render_template("forums_by_category.html", groups=groups)


@pages.post("/f/<name>/<any(subscribe, unsubscribe):action>")
def subscribe(name: str, action: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found = find_forum(name)
    with database() as connection:
        if action == "subscribe":
            connection.execute("INSERT OR IGNORE INTO subscriptions VALUES (?, ?, ?)", (found["id"], me(), timestamp()))
        else:
            connection.execute("DELETE FROM subscriptions WHERE forum = ? AND user = ?", (found["id"], me()))
    return back(f"/f/{found['name']}")


@pages.route("/create_forum", methods=["GET", "POST"])
def create() -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    draft = {field: request.form.get(field, "").replace("\r\n", "\n").strip() for field in _MOST}
    if request.method == "GET":
        return _form(draft, {})
    problems = _problems(draft)
    if not re.fullmatch(r"\w{3,25}", draft["name"], re.ASCII):
        problems["name"] = "A name has 3 to 25 letters, digits and underscores."
    elif database().execute("SELECT 1 FROM forums WHERE name = ?", (draft["name"],)).fetchone():
        problems["name"] = "There is a forum of that name."
    if problems:
        return _form(draft, problems)
    now = timestamp()
    with database() as connection:
        forum = connection.execute(
            "INSERT INTO forums (name, title, description, sidebar, created) VALUES (?, ?, ?, ?, ?)",
            (draft["name"], draft["title"], draft["description"], draft["sidebar"], now),
        ).lastrowid
        connection.execute("INSERT INTO moderators VALUES (?, ?, ?)", (forum, me(), now))
        connection.execute("INSERT INTO subscriptions VALUES (?, ?, ?)", (forum, me(), now))
    flash("The forum has been created, and you are its moderator.")
    return redirect(f"/f/{draft['name']}", 303)


@pages.route("/f/<name>/edit", methods=["GET", "POST"])
def edit(name: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found = find_forum(name)
    must_moderate(found["id"])
    if request.method == "GET":
        return _form({field: found[field] for field in _MOST}, {}, found)
    draft = {field: request.form.get(field, "").replace("\r\n", "\n").strip() for field in _MOST}
    if problems := _problems(draft):
        return _form(draft, problems, found)
    with database() as connection:
        connection.execute(
            "UPDATE forums SET title = ?, description = ?, sidebar = ? WHERE id = ?",
            (draft["title"], draft["description"], draft["sidebar"], found["id"]),
        )
    flash("The forum has been changed.")
    return redirect(f"/f/{found['name']}", 303)


def _problems(draft: dict[str, str]) -> dict[str, str]:
    problems = {field: "This must not be empty." for field in ("title", "description") if not draft[field]}
    for field, most in _MOST.items():
        if len(draft[field]) > most:
            problems[field] = f"The {field} can have {most} characters; this one has {len(draft[field])}."
    return problems


def _form(draft: dict[str, str], problems: dict[str, str], found: sqlite3.Row | None = None) -> ResponseReturnValue:
    page = render_template("forum_form.html", draft=draft, problems=problems, forum=found, most=_MOST)
    return page, 422 if problems else 200


@pages.get("/f/<name>/moderators")
def moderators(name: str) -> ResponseReturnValue:
    found = find_forum(name)
    people = database().execute(
        "SELECT users.name, since FROM moderators JOIN users ON users.id = user WHERE forum = ? ORDER BY since, name",
        (found["id"],),
    )
    return render_template("moderators.html", people=people.fetchall(), **about(found))


@pages.post("/f/<name>/moderators/<any(add, remove):action>")
def appoint(name: str, action: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found = find_forum(name)
    must_moderate(found["id"])
    wanted = request.form.get("username", "").strip()
    person = database().execute("SELECT id, name FROM users WHERE name = ?", (wanted,)).fetchone()
    if person is None:
        flash(f"Nobody is called “{wanted}”.")
        return redirect(f"/f/{found['name']}/moderators", 303)
    with database() as connection:
        if action == "add":
            connection.execute(
                "INSERT OR IGNORE INTO moderators VALUES (?, ?, ?)", (found["id"], person["id"], timestamp())
            )
        else:
            count = connection.execute("SELECT count(*) FROM moderators WHERE forum = ?", (found["id"],)).fetchone()[0]
            if count < 2:
                abort(400, "A forum needs a moderator; appoint another one first.")
            connection.execute("DELETE FROM moderators WHERE forum = ? AND user = ?", (found["id"], person["id"]))
    flash(f"{person['name']} is now a moderator." if action == "add" else f"{person['name']} is no moderator any more.")
    return redirect(f"/f/{found['name']}/moderators", 303)
