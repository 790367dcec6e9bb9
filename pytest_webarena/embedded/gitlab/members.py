"""Members of projects and groups: who has which role, inviting, changing, removing."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, abort, flash, g, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import ROLES, me, need, project, project_pages
from pytest_webarena.embedded.gitlab.explore import group_role, may_see_group
from pytest_webarena.embedded.gitlab.records import add_event, coming_day, insert, people_of
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["add_member", "pages"]

pages = Blueprint("members", __name__)
inside = project_pages("members_inside")


def add_member(column: str, number: int, username: str, role: str, expires: str, level: int) -> str:
    """Give somebody a role in a project (``project_id``) or group (``namespace_id``). Why not, if that can't be."""
    name = username.strip().lstrip("@").lower()
    person = database().execute("SELECT * FROM users WHERE username = ? OR email = ?", (name, name)).fetchone()
    if person is None:
        return f"There is no user {username.strip()!r}."
    if role not in ROLES:
        return f"Choose a role: {', '.join(ROLES)}."
    if ROLES[role] > level:
        return "You can't give a role that is higher than your own."
    try:
        expires = coming_day(expires)
    except ValueError as problem:
        return str(problem)
    held = (
        database()
        .execute(f"SELECT role FROM members WHERE {column} = ? AND user_id = ?", (number, person["id"]))
        .fetchone()
    )
    if held is not None:
        return f"{person['name']} is a member already, with the role of {held['role']}."
    insert("members", **{column: number}, user_id=person["id"], role=role, expires=expires, created=timestamp())
    return ""


def _changed(member: Any, level: int, *, own: bool = False) -> str:
    """Change or remove a member as the form says. What was done, or an empty text."""
    role = request.form.get("role", "")
    if not own and (ROLES[member["role"]] > level or ROLES.get(role, 0) > level):
        abort(403, description="That takes a higher role than yours.")
    with database() as connection:
        if "remove" in request.form or own:
            connection.execute("DELETE FROM members WHERE id = ?", (member["id"],))
            return "You left." if own else "The member was removed."
        if role not in ROLES:
            abort(400)
        connection.execute("UPDATE members SET role = ? WHERE id = ?", (role, member["id"]))
    return "The role was updated."


@inside.get("/-/project_members")
def project_members() -> ResponseReturnValue:
    return _page()


def _page(error: str = "", form: Any = None) -> ResponseReturnValue:
    found = people_of(project().id)
    wanted = request.args.get("search", "").strip().lower()
    if wanted:
        found = [each for each in found if wanted in f"{each['name']} {each['username']}".lower()]
    roles = [role for role in ROLES if ROLES[role] <= project().level]
    page = render_template("members.html", members=found, roles=roles, error=error, form=form or {}, tab="members",
                           ranks=ROLES)  # fmt: skip
    return page, 422 if error else 200


@inside.post("/-/project_members")
def invite() -> ResponseReturnValue:
    need("maintainer")
    found = project()
    with database():
        error = add_member("project_id", found.id, request.form.get("username", ""), request.form.get("role", ""),
                           request.form.get("expires", ""), found.level)  # fmt: skip
        if not error:
            add_event(found.id, "invited a member to")
    if error:
        return _page(error, request.form)
    flash("Members were successfully added")
    return redirect(f"{found.url}/-/project_members", 303)


@inside.post("/-/project_members/<int:number>")
def change_member(number: int) -> ResponseReturnValue:
    who, found = me(), project()
    member = database().execute("SELECT * FROM members WHERE id = ? AND project_id = ?", (number, found.id)).fetchone()
    if member is None:
        abort(404)
    own = member["user_id"] == who["id"] and "leave" in request.form
    if not own:
        need("maintainer")
    flash(_changed(member, found.level, own=own))
    return redirect(f"{found.url}/-/project_members" if not own else "/dashboard/projects", 303)


@pages.route("/groups/<path>/-/group_members", methods=["GET", "POST"])
def group_members(path: str) -> ResponseReturnValue:
    group = database().execute("SELECT * FROM namespaces WHERE path = ? AND kind = 'group'", (path,)).fetchone()
    if group is None or not may_see_group(group):
        abort(404)
    level = ROLES.get(group_role(group["id"]), 0)
    error = ""
    if request.method == "POST":
        me()
        if level < ROLES["owner"]:
            abort(403, description="That takes the role of owner in this group.")
        with database():
            error = add_member("namespace_id", group["id"], request.form.get("username", ""),
                               request.form.get("role", ""), request.form.get("expires", ""), level)  # fmt: skip
        if not error:
            flash("Members were successfully added")
            return redirect(f"/groups/{group['path']}/-/group_members", 303)
    rows = (
        database()
        .execute(
            "SELECT users.name, users.username, role, members.created, members.expires, members.id AS member_id"
            " FROM members JOIN users ON users.id = user_id WHERE namespace_id = ? ORDER BY users.name",
            (group["id"],),
        )
        .fetchall()
    )
    page = render_template("group_members.html", group=group, members=rows, level=level, error=error, ranks=ROLES,
                           form=request.form, mine=g.user["username"] if g.user else "")  # fmt: skip
    return page, 422 if error else 200


@pages.post("/groups/<path>/-/group_members/<int:number>")
def change_group_member(path: str, number: int) -> ResponseReturnValue:
    who = me()
    member = (
        database()
        .execute(
            "SELECT members.* FROM members JOIN namespaces ON namespaces.id = namespace_id"
            " WHERE members.id = ? AND path = ?",
            (number, path),
        )
        .fetchone()
    )
    if member is None:
        abort(404)
    level = ROLES.get(group_role(member["namespace_id"]), 0)
    own = member["user_id"] == who["id"] and "leave" in request.form
    if level < ROLES["owner"] and not own:
        abort(403, description="That takes the role of owner in this group.")
    owners = (
        database()
        .execute("SELECT count(*) FROM members WHERE namespace_id = ? AND role = 'owner'", (member["namespace_id"],))
        .fetchone()[0]
    )
    if member["role"] == "owner" and owners == 1 and request.form.get("role") != "owner":
        flash("A group needs an owner.")
    else:
        flash(_changed(member, level, own=own))
    return redirect(f"/groups/{path}/-/group_members", 303)


pages.register_blueprint(inside)
