"""GitLab's API at ``/api/v4``: users, groups and projects."""

from __future__ import annotations

from flask import g, jsonify, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab import api_files, api_items
from pytest_webarena.embedded.gitlab.access import ROLES, project, visible
from pytest_webarena.embedded.gitlab.api_base import (
    pages,
    paginated,
    person,
    project_json,
    request_value,
    require_role,
    v4,
)
from pytest_webarena.embedded.gitlab.members import add_member
from pytest_webarena.embedded.gitlab.projects import fork_project, make_project, namespaces, problem_with
from pytest_webarena.embedded.gitlab.records import insert, people_of
from pytest_webarena.embedded.web import database

__all__ = ["api_files", "api_items", "pages"]


@v4.get("/version")
def version() -> ResponseReturnValue:
    return jsonify(version="millrace", revision="1")


@v4.get("/user")
def user() -> ResponseReturnValue:
    if g.user is None:
        return jsonify(message="401 Unauthorized"), 401
    return jsonify({**person(g.user), "email": g.user["email"], "bio": g.user["bio"]})


@v4.get("/users")
def users() -> ResponseReturnValue:
    name, search = request.args.get("username", ""), request.args.get("search", "")
    rows = database().execute(
        "SELECT * FROM users WHERE (? = '' OR username = ?) AND instr(lower(name || ' ' || username), lower(?))"
        " ORDER BY id",
        (name, name, search),
    )
    return paginated([person(row) for row in rows])


@v4.get("/projects")
def projects() -> ResponseReturnValue:
    visible_condition, values = visible()
    search = request.args.get("search", "")
    rows = database().execute(
        f"SELECT * FROM projects WHERE {visible_condition} AND instr(lower(name || ' ' || full_path), lower(:search))"
        " ORDER BY id DESC",
        {**values, "search": search},
    )
    return paginated([project_json(row) for row in rows.fetchall()])


@v4.get("/groups")
def groups() -> ResponseReturnValue:
    rows = database().execute(
        "SELECT * FROM namespaces WHERE kind = 'group' AND (visibility = 'public' OR EXISTS (SELECT 1 FROM members"
        " WHERE namespace_id = namespaces.id AND user_id = ?)) ORDER BY id",
        (g.user["id"] if g.user else 0,),
    )
    return paginated([{"id": row["id"], "path": row["path"], "name": row["name"], "description": row["description"],
                        "visibility": row["visibility"]} for row in rows])  # fmt: skip


@v4.post("/projects")
def create_project() -> ResponseReturnValue:
    choices = namespaces()
    wanted = str(request_value("namespace_id", ""))
    chosen = next((each for each in choices if str(each["id"]) == wanted), None if wanted else choices[0])
    name = str(request_value("name"))
    path = str(request_value("path")) or "-".join(name.lower().split())
    visibility = str(request_value("visibility", "private"))
    if error := problem_with(chosen, path, name, visibility):
        return jsonify(message=error), 400
    with database():
        number = make_project(chosen, path, name, str(request_value("description")), visibility,
                              readme=bool(request_value("initialize_with_readme", False)))  # fmt: skip
    return jsonify(project_json(database().execute("SELECT * FROM projects WHERE id = ?", (number,)).fetchone())), 201


@v4.get("/projects/<path:which>")
def one_project() -> ResponseReturnValue:
    return jsonify(project_json(project().row))


@v4.post("/projects/<path:which>/fork")
def fork() -> ResponseReturnValue:
    row = project().row
    wanted = str(request_value("namespace_path", g.user["username"]))
    chosen = next((each for each in namespaces() if each["path"] == wanted), None)
    if error := problem_with(chosen, row["path"], row["name"], row["visibility"]):
        return jsonify(message=error), 409
    with database():
        number = fork_project(row["id"], chosen, row["path"], row["name"], row["visibility"], row["description"])
    return jsonify(project_json(database().execute("SELECT * FROM projects WHERE id = ?", (number,)).fetchone())), 201


@v4.post("/projects/<path:which>/<any('star', 'unstar'):action>")
def star(action: str) -> ResponseReturnValue:
    query = (
        "INSERT OR IGNORE INTO stars VALUES (?, ?)"
        if action == "star"
        else "DELETE FROM stars WHERE project_id = ? AND user_id = ?"
    )
    with database() as connection:
        connection.execute(query, (project().id, g.user["id"]))
    return jsonify(project_json(project().row)), 201


@v4.get("/projects/<path:which>/members")
@v4.get("/projects/<path:which>/members/all")
def members() -> ResponseReturnValue:
    return paginated([{**person(each), "access_level": ROLES[str(each["role"])]} for each in people_of(project().id)])


@v4.post("/projects/<path:which>/members")
def invite() -> ResponseReturnValue:
    require_role("maintainer")
    levels = {str(value): name for name, value in ROLES.items()}
    row = (
        database()
        .execute(
            "SELECT username FROM users WHERE id = ? OR username = ?",
            (request_value("user_id", 0), request_value("username")),
        )
        .fetchone()
    )
    with database():
        error = add_member(
            "project_id", project().id, row[0] if row else "", levels.get(str(request_value("access_level")), ""),
            str(request_value("expires_at") or ""), project().level,
        )  # fmt: skip
    return (jsonify(message=error), 400) if error else (jsonify(message="created"), 201)


@v4.get("/projects/<path:which>/labels")
def labels() -> ResponseReturnValue:
    rows = database().execute("SELECT * FROM labels WHERE project_id = ? ORDER BY title", (project().id,))
    return paginated([{"id": row["id"], "name": row["title"], "color": row["color"], "description": row["description"]}
                       for row in rows])  # fmt: skip


@v4.post("/projects/<path:which>/labels")
def create_label() -> ResponseReturnValue:
    require_role("reporter")
    title, color = str(request_value("name")), str(request_value("color", "#2a5a94"))
    taken = database().execute("SELECT 1 FROM labels WHERE project_id = ? AND title = ?", (project().id, title))
    if not title or taken.fetchone():
        return jsonify(message="Label already exists" if title else "name is missing"), 409 if title else 400
    with database():
        number = insert("labels", project_id=project().id, title=title, color=color,
                        description=str(request_value("description")))  # fmt: skip
    return jsonify(id=number, name=title, color=color), 201


@v4.get("/projects/<path:which>/milestones")
def milestones() -> ResponseReturnValue:
    rows = database().execute("SELECT * FROM milestones WHERE project_id = ? ORDER BY iid", (project().id,))
    names = ("id", "iid", "title", "description", "state", "due_date", "start_date")
    return paginated([{name: row[name] for name in names} for row in rows])


pages.register_blueprint(v4)
