"""Signing in and out, and what somebody may do."""

from __future__ import annotations

import sqlite3
from urllib.parse import quote

from flask import Blueprint, abort, flash, g, redirect, render_template, request, session
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.reddit.members import right_password
from pytest_webarena.embedded.web import database, local, timestamp

__all__ = ["back", "banned", "find_forum", "load_user", "me", "moderates", "must_moderate", "pages", "signed_in"]

pages = Blueprint("accounts", __name__)


def load_user() -> None:
    """Put the signed-in member, or None, and what waits for them on ``flask.g``."""
    g.user = None
    name = session.get("user")
    if request.endpoint in (None, "static", "healthz") or not name:
        return
    g.user = database().execute("SELECT id, name, role FROM users WHERE name = ?", (name,)).fetchone()
    if g.user is not None:
        g.waiting = database().execute(
            "SELECT (SELECT count(*) FROM notifications n JOIN comments c ON c.id = n.comment"
            "  JOIN posts p ON p.id = c.post WHERE n.user = :me AND NOT n.seen"
            "  AND NOT c.deleted AND NOT c.removed AND NOT p.deleted AND NOT p.removed"
            "  AND c.user NOT IN (SELECT blocked FROM blocks WHERE user = :me)) AS replies,"
            " (SELECT count(*) FROM messages JOIN threads ON threads.id = messages.thread"
            "  WHERE NOT messages.seen AND messages.sender <> :me AND :me IN (threads.sender, threads.receiver))"
            " AS messages",
            {"me": g.user["id"]},
        ).fetchone()  # fmt: skip


def me() -> int:
    """Number of the signed-in member, 0 for a guest."""
    return int(g.user["id"]) if g.get("user") else 0


def signed_in() -> ResponseReturnValue | None:
    """Where a guest is sent who wants what only members can do; None for members."""
    if g.user is not None:
        return None
    flash("Please log in first.")
    wanted = request.full_path.rstrip("?") if request.method == "GET" else local(request.form.get("next", ""))
    # A form that an address fills in comes back filled in.
    return redirect(f"/login?next={quote(wanted)}" if wanted else "/login", 303)


def back(fallback: str) -> ResponseReturnValue:
    """Back to the page that the form stood on."""
    return redirect(local(request.form.get("next", "")) or fallback, 303)


def find_forum(name: str) -> sqlite3.Row:
    """The forum of this name, in whatever case; without one, the page of 404."""
    found: sqlite3.Row | None = database().execute("SELECT * FROM forums WHERE name = ?", (name,)).fetchone()
    if found is None:
        abort(404)
    return found


def moderates(forum: int) -> bool:
    """Whether the visitor is a moderator of the forum, or an administrator."""
    if g.user is None:
        return False
    if g.user["role"] == "administrator":
        return True
    found = database().execute("SELECT 1 FROM moderators WHERE forum = ? AND user = ?", (forum, me())).fetchone()
    return found is not None


def must_moderate(forum: int) -> None:
    """403 for everybody else."""
    if not moderates(forum):
        abort(403, "Only moderators of this forum can do that.")


def banned(forum: int) -> sqlite3.Row | None:
    """The visitor's ban from the forum, while it lasts."""
    found: sqlite3.Row | None = database().execute(
        "SELECT * FROM bans WHERE forum = ? AND user = ? AND (expires IS NULL OR expires > ?)",
        (forum, me(), timestamp()),
    ).fetchone()  # fmt: skip
    return found


@pages.route("/login", methods=["GET", "POST"])
def login() -> ResponseReturnValue:
    target = local(request.values.get("next", ""))
    if request.method == "GET":
        return render_template("login.html", target=target, username="", error="")
    username = request.form.get("username", "").strip().lower()
    if not right_password(username, request.form.get("password", "")):
        error = "No member has this username and password."
        return render_template("login.html", target=target, username=username, error=error), 422
    session.clear()
    session["user"] = username
    return redirect(target or "/", 303)


@pages.post("/logout")
def logout() -> ResponseReturnValue:
    session.clear()
    return redirect("/", 303)
