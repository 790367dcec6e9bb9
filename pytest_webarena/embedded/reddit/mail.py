"""Private messages between two members, and the replies that wait for somebody."""

from __future__ import annotations

import sqlite3

from flask import Blueprint, abort, flash, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.reddit.accounts import me, signed_in
from pytest_webarena.embedded.reddit.users import find_user
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["pages"]

LONGEST_SUBJECT = 100
LONGEST_BODY = 4000

pages = Blueprint("mail", __name__)


@pages.get("/messages")
def messages() -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    threads = database().execute(
        "SELECT t.id, t.subject, u.name AS other, count(*) AS number, max(m.created) AS latest,"
        " sum(NOT m.seen AND m.sender <> :me) AS unread FROM threads t JOIN messages m ON m.thread = t.id"
        " JOIN users u ON u.id = CASE t.sender WHEN :me THEN t.receiver ELSE t.sender END"
        " WHERE :me IN (t.sender, t.receiver) GROUP BY t.id ORDER BY latest DESC, t.id DESC",
        {"me": me()},
    )
    return render_template("messages.html", threads=threads.fetchall())


@pages.get("/messages/thread/<int:number>")
def thread(number: int) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    return _thread(_find(number), "", "")


@pages.post("/messages/thread/<int:number>/seen")
def seen(number: int) -> ResponseReturnValue:
    """Reading changes nothing by itself: what has been read is said with a button."""
    if sent := signed_in():
        return sent
    _find(number)
    with database() as connection:
        connection.execute("UPDATE messages SET seen = 1 WHERE thread = ? AND sender <> ?", (number, me()))
    return redirect("/messages", 303)


@pages.post("/messages/thread/<int:number>")
def answer(number: int) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found = _find(number)
    body = request.form.get("body", "").replace("\r\n", "\n").strip()
    other = found["receiver"] if found["sender"] == me() else found["sender"]
    if problem := _problem(body) or _blocked(other):
        return _thread(found, body, problem), 422
    with database() as connection:
        connection.execute("UPDATE messages SET seen = 1 WHERE thread = ? AND sender <> ?", (number, me()))
        connection.execute(
            "INSERT INTO messages (thread, sender, body, created) VALUES (?, ?, ?, ?)",
            (number, me(), body, timestamp()),
        )
    return redirect(f"/messages/thread/{number}", 303)


@pages.route("/user/<name>/compose_message", methods=["GET", "POST"])
def compose(name: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    them = find_user(name)
    if them["id"] == me():
        abort(400, "Messages go to others.")
    subject = request.values.get("subject", "").strip()
    body = request.values.get("body", "").replace("\r\n", "\n").strip()
    if request.method == "GET":
        return render_template("compose.html", them=them, subject=subject, body=body, problems={})
    problems = {}
    if not subject or len(subject) > LONGEST_SUBJECT:
        problems["subject"] = f"A message needs a subject of 1 to {LONGEST_SUBJECT} characters."
    if problem := _problem(body) or _blocked(them["id"]):
        problems["body"] = problem
    if problems:
        return render_template("compose.html", them=them, subject=subject, body=body, problems=problems), 422
    with database() as connection:
        number = connection.execute(
            "INSERT INTO threads (sender, receiver, subject) VALUES (?, ?, ?)", (me(), them["id"], subject)
        ).lastrowid
        connection.execute(
            "INSERT INTO messages (thread, sender, body, created) VALUES (?, ?, ?, ?)",
            (number, me(), body, timestamp()),
        )
    flash("Your message has been sent.")
    return redirect(f"/messages/thread/{number}", 303)


def _find(number: int) -> sqlite3.Row:
    """The thread, if the visitor is one of the two; other people's messages do not exist here."""
    found: sqlite3.Row | None = database().execute(
        "SELECT t.*, u.name AS other FROM threads t"
        " JOIN users u ON u.id = CASE t.sender WHEN :me THEN t.receiver ELSE t.sender END"
        " WHERE t.id = :number AND :me IN (t.sender, t.receiver)",
        {"me": me(), "number": number},
    ).fetchone()  # fmt: skip
    if found is None:
        abort(404)
    return found


def _thread(found: sqlite3.Row, body: str, problem: str) -> str:
    written = database().execute(
        "SELECT m.*, u.name AS author FROM messages m JOIN users u ON u.id = m.sender WHERE thread = ? ORDER BY m.id",
        (found["id"],),
    ).fetchall()  # fmt: skip
    return render_template("message.html", thread=found, messages=written, body=body, problem=problem)


def _problem(body: str) -> str:
    return "" if 0 < len(body) <= LONGEST_BODY else f"A message needs a text of 1 to {LONGEST_BODY} characters."


def _blocked(them: int) -> str:
    found = database().execute("SELECT 1 FROM blocks WHERE user = ? AND blocked = ?", (them, me())).fetchone()
    return "They do not take messages from you." if found else ""


@pages.get("/notifications")
def notifications() -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    rows = database().execute(
        "SELECT n.seen, c.id, c.body, c.created, c.parent, u.name AS author, p.id AS post, p.title, f.name AS forum"
        " FROM notifications n JOIN comments c ON c.id = n.comment JOIN users u ON u.id = c.user"
        " JOIN posts p ON p.id = c.post JOIN forums f ON f.id = p.forum"
        " WHERE n.user = :me AND NOT c.deleted AND NOT c.removed AND NOT p.deleted AND NOT p.removed"
        " AND c.user NOT IN (SELECT blocked FROM blocks WHERE user = :me) ORDER BY c.id DESC LIMIT 50",
        {"me": me()},
    )
    return render_template("notifications.html", rows=rows.fetchall())


@pages.post("/notifications/clear")
def clear() -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    with database() as connection:
        connection.execute("UPDATE notifications SET seen = 1 WHERE user = ?", (me(),))
    return redirect("/notifications", 303)
