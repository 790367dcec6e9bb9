"""Signing in and out, one's profile and status, access tokens, to-dos."""

from __future__ import annotations

import secrets

from flask import Blueprint, abort, flash, redirect, render_template, request, session
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import User, by_password, me, visible
from pytest_webarena.embedded.gitlab.listing import confidence, readable
from pytest_webarena.embedded.gitlab.records import change, coming_day, insert
from pytest_webarena.embedded.web import database, local, timestamp

__all__ = ["SCOPES", "pages", "waiting"]

SCOPES = {
    "api": "Everything, by the API and by git",
    "read_api": "Reading by the API and by git",
    "read_repository": "Cloning",
    "write_repository": "Cloning and pushing",
}

pages = Blueprint("accounts", __name__)


@pages.route("/users/sign_in", methods=["GET", "POST"])
def sign_in() -> ResponseReturnValue:
    target = local(request.values.get("next", ""), "/")
    if request.method == "GET":
        return render_template("sign_in.html", target=target, username="")
    username, password = request.form.get("username", ""), request.form.get("password", "")
    found = by_password(username, password)
    if found is None:
        error = "Invalid login or password."
        return render_template("sign_in.html", target=target, username=username[:100], error=error), 422
    session["user"] = found["username"]
    return redirect(target, 303)


@pages.post("/users/sign_out")
def sign_out() -> ResponseReturnValue:
    session.clear()
    return redirect("/explore", 303)


@pages.route("/-/profile", methods=["GET", "POST"])
def profile() -> ResponseReturnValue:
    who = me()
    if request.method == "POST":
        fields = {name: request.form.get(name, who[name]).strip()[:255]
                  for name in ("name", "email", "pronouns", "job_title", "location", "website", "bio",
                               "status_emoji", "status_message")}  # fmt: skip
        taken = database().execute("SELECT 1 FROM users WHERE email = ? AND id <> ?", (fields["email"], who["id"]))
        error = "Email has already been taken." if taken.fetchone() else ""
        if not fields["name"] or "@" not in fields["email"]:
            error = "A name and an e-mail address are needed."
        if error:
            return render_template("profile.html", person={**dict(who), **fields}, error=error), 422
        with database():
            change("users", who["id"], **fields, status_busy=int("status_busy" in request.form))
        flash("Profile was successfully updated")
        return redirect("/-/profile", 303)
    return render_template("profile.html", person=who)


@pages.post("/-/profile/status")
def status() -> ResponseReturnValue:
    """Sets the status, or clears it, from the page of the person."""
    who = me()
    clear = "clear" in request.form
    with database():
        change(
            "users", who["id"], status_emoji="" if clear else request.form.get("status_emoji", "")[:8],
            status_message="" if clear else request.form.get("status_message", "").strip()[:100],
            status_busy=0 if clear else int("status_busy" in request.form),
        )  # fmt: skip
    flash("Status cleared" if clear else "Status updated")
    return redirect(f"/{who['username']}", 303)


@pages.route("/-/profile/personal_access_tokens", methods=["GET", "POST"])
def tokens() -> ResponseReturnValue:
    who = me()
    error, created, status = "", "", 200
    if request.method == "POST":
        name, expires = request.form.get("name", "").strip()[:100], request.form.get("expires", "").strip()
        chosen = [scope for scope in SCOPES if scope in request.form.getlist("scopes")]
        try:
            expires = coming_day(expires)
        except ValueError as problem:
            error = str(problem)
        if not name or not chosen:
            error = "A token needs a name and at least one scope."
        if error:
            status = 422
        else:
            created = f"glpat-{secrets.token_hex(10)}"
            with database():
                insert("tokens", user_id=who["id"], name=name, token=created, scopes=" ".join(chosen),
                       created=timestamp(), expires=expires)  # fmt: skip
    rows = database().execute("SELECT * FROM tokens WHERE user_id = ? AND NOT revoked ORDER BY id", (who["id"],))
    page = render_template("tokens.html", tokens=rows.fetchall(), scopes=SCOPES, created=created, error=error)
    return page, status


@pages.post("/-/profile/personal_access_tokens/<int:number>/revoke")
def revoke(number: int) -> ResponseReturnValue:
    who = me()
    with database() as connection:
        done = connection.execute("UPDATE tokens SET revoked = 1 WHERE id = ? AND user_id = ?", (number, who["id"]))
    if not done.rowcount:
        abort(404)
    flash("Revoked personal access token")
    return redirect("/-/profile/personal_access_tokens", 303)


@pages.post("/-/profile/reset_feed_token")
def reset_feed_token() -> ResponseReturnValue:
    who = me()
    with database():
        change("users", who["id"], feed_token=secrets.token_hex(10))
    flash("Feed token was successfully reset")
    return redirect("/-/profile/personal_access_tokens", 303)


def waiting(who: User) -> tuple[str, dict[str, object]]:
    """An SQL condition for ``todos`` (with ``projects``) of who asks, and its values: those that they may see."""
    visible_condition, values = visible()
    condition = (
        f"todos.user_id = :todo_owner AND {visible_condition} AND (todos.item <> 'merge_request' OR {readable()})"
        " AND (todos.item <> 'issue' OR EXISTS (SELECT 1 FROM issues AS items WHERE items.id = todos.item_id"
        f" AND ({confidence()})))"
    )
    return condition, {**values, "todo_owner": who["id"]}


@pages.get("/dashboard/todos")
def todos() -> ResponseReturnValue:
    state = "done" if request.args.get("state") == "done" else "pending"
    where, values = waiting(me())
    rows = (
        database()
        .execute(
            "SELECT todos.*, users.name AS author, users.username, projects.full_path,"
            " coalesce(issues.title, merge_requests.title) AS title, coalesce(issues.iid, merge_requests.iid) AS iid"
            " FROM todos JOIN users ON users.id = todos.author_id JOIN projects ON projects.id = todos.project_id"
            " LEFT JOIN issues ON item = 'issue' AND issues.id = item_id"
            " LEFT JOIN merge_requests ON item = 'merge_request' AND merge_requests.id = item_id"
            f" WHERE {where} AND todos.state = :state ORDER BY todos.created DESC, todos.id DESC",
            {**values, "state": state},
        )
        .fetchall()
    )
    numbers = dict(
        database()
        .execute(
            "SELECT todos.state, count(*) FROM todos JOIN projects ON projects.id = todos.project_id"
            f" WHERE {where} GROUP BY todos.state",
            values,
        )
        .fetchall()
    )
    return render_template("todos.html", todos=rows, state=state, numbers=numbers)


@pages.post("/dashboard/todos/<int:number>/<any('done', 'restore'):action>")
def mark(number: int, action: str) -> ResponseReturnValue:
    who = me()
    with database() as connection:
        connection.execute(
            "UPDATE todos SET state = ? WHERE id = ? AND user_id = ?",
            ("done" if action == "done" else "pending", number, who["id"]),
        )
    return redirect("/dashboard/todos" + ("" if action == "done" else "?state=done"), 303)


@pages.post("/dashboard/todos/done_all")
def all_done() -> ResponseReturnValue:
    who = me()
    with database() as connection:
        connection.execute("UPDATE todos SET state = 'done' WHERE user_id = ?", (who["id"],))
    flash("All to-do items are done")
    return redirect("/dashboard/todos", 303)
