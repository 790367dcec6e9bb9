"""A project's own pages: overview, making one, forking, starring, settings."""

from __future__ import annotations

import re
from typing import Any

from flask import Blueprint, abort, flash, g, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import find_project, me, need, project, project_pages, store
from pytest_webarena.embedded.gitlab.explore import NAME, events_of
from pytest_webarena.embedded.gitlab.file_pages import folder
from pytest_webarena.embedded.gitlab.objects import Signature
from pytest_webarena.embedded.gitlab.records import add_event, change, insert
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["fork_project", "make_project", "pages", "problem_with", "signature"]

pages = Blueprint("projects", __name__)
inside = project_pages("inside")


def signature() -> Signature:
    """Who asks, as an author of commits, now."""
    who = g.user
    return Signature(name=who["name"], email=who["email"], time=timestamp())


def namespaces() -> list[Any]:
    """Where who asks may make projects: their own namespace first."""
    return (
        database()
        .execute(
            "SELECT namespaces.* FROM namespaces WHERE user_id = :user OR EXISTS (SELECT 1 FROM members"
            " WHERE namespace_id = namespaces.id AND user_id = :user AND role IN ('maintainer', 'owner', 'developer'))"
            " ORDER BY kind DESC, lower(name)",
            {"user": me()["id"]},
        )
        .fetchall()
    )


def problem_with(namespace: Any, path: str, name: str, visibility: str) -> str:
    """Why there can't be such a project; empty if it can."""
    if not name or not NAME.fullmatch(path) or path.endswith((".git", ".atom")):
        return "A project needs a name, and a path of letters, digits, dots, dashes and underscores."
    if namespace is None:
        return "Choose a namespace that you may create projects in."
    if visibility not in ("public", "internal", "private"):
        return "Choose who can see the project."
    found = database().execute("SELECT 1 FROM projects WHERE namespace_id = ? AND path = ?", (namespace["id"], path))
    return "Path has already been taken." if found.fetchone() else ""


def make_project(
    namespace: Any, path: str, name: str, description: str, visibility: str, *, readme: bool, topics: str = ""
) -> int:
    """A new project; its number."""
    now = timestamp()
    number = insert(
        "projects", namespace_id=namespace["id"], path=path, full_path=f"{namespace['path']}/{path}", name=name,
        description=description, visibility=visibility, topics=topics, creator_id=g.user["id"], created=now,
        updated=now,
    )  # fmt: skip
    if namespace["kind"] == "group":
        database().execute(
            "INSERT OR IGNORE INTO members (project_id, user_id, role, created) VALUES (?, ?, 'owner', ?)",
            (number, g.user["id"], now),
        )
    if readme:
        text = f"# {name}\n" + (f"\n{description}\n" if description else "")
        sha = store().commit({"README.md": store().blob(text)}, [], signature(), "Initial commit")
        store().set_ref(number, "refs/heads/main", sha)
    add_event(number, "created project")
    return number


def fork_project(source: int, namespace: Any, path: str, name: str, visibility: str, description: str) -> int:
    """A copy of a project's branches and tags; its number."""
    row = database().execute("SELECT * FROM projects WHERE id = ?", (source,)).fetchone()
    number = make_project(namespace, path, name, description, visibility, readme=False, topics=row["topics"])
    change("projects", number, forked_from=source, default_branch=row["default_branch"])
    for ref, sha in store().refs(source, "refs/").items():
        store().set_ref(number, f"refs/{ref}", sha)
    return number


@pages.route("/projects/new", methods=["GET", "POST"])
def new() -> ResponseReturnValue:
    me()
    choices = namespaces()
    form = {name: request.values.get(name, "").strip()[:255]
            for name in ("name", "path", "description", "visibility", "namespace")}  # fmt: skip
    error = ""
    if request.method == "POST":
        form["path"] = form["path"] or "-".join(re.findall(r"[a-z0-9._]+", form["name"].lower()))
        chosen = next((each for each in choices if str(each["id"]) == form["namespace"]), None)
        error = problem_with(chosen, form["path"], form["name"], form["visibility"])
        if not error and chosen is not None:
            with database():
                make_project(chosen, form["path"], form["name"], form["description"], form["visibility"],
                             readme="readme" in request.form)  # fmt: skip
            flash(f"Project '{form['name']}' was successfully created.")
            return redirect(f"/{chosen['path']}/{form['path']}", 303)
    page = render_template("project_form.html", heading="Create a project", form=form, namespaces=choices, error=error,
                           action="/projects/new", button="Create project", fork=None)  # fmt: skip
    return page, 422 if error else 200


@inside.get("/")
def overview() -> ResponseReturnValue:
    found = project()
    tip = store().resolve(found.id, found.branch) if found.code else None
    numbers = (
        database()
        .execute(
            "SELECT (SELECT count(*) FROM stars WHERE project_id = :project) AS stars,"
            " EXISTS (SELECT 1 FROM stars WHERE project_id = :project AND user_id = :user) AS starred,"
            " (SELECT count(*) FROM projects WHERE forked_from = :project) AS fork_count",
            {"project": found.id, "user": g.user["id"] if g.user else 0},
        )
        .fetchone()
    )
    origin = find_project(int(found.row["forked_from"])) if found.row["forked_from"] else None
    return render_template("project.html", tab="project", origin=origin, **dict(numbers),
                           **(folder(tip, found.branch, "") if tip else {"tip": None}))  # fmt: skip


@inside.post("/<any('star', 'unstar'):action>")
def star(action: str) -> ResponseReturnValue:
    who = me()
    query = (
        "INSERT OR IGNORE INTO stars VALUES (?, ?)"
        if action == "star"
        else "DELETE FROM stars WHERE project_id = ? AND user_id = ?"
    )
    with database() as connection:
        connection.execute(query, (project().id, who["id"]))
    return redirect(project().url, 303)


@inside.get("/-/starrers")
def starrers() -> ResponseReturnValue:
    people = (
        database()
        .execute(
            "SELECT users.* FROM stars JOIN users ON users.id = user_id WHERE project_id = ? ORDER BY name",
            (project().id,),
        )
        .fetchall()
    )
    return render_template("people.html", heading="Starrers", people=people, within=True)


@inside.get("/-/forks")
def forks() -> ResponseReturnValue:
    rows = database().execute("SELECT id FROM projects WHERE forked_from = ? ORDER BY created", (project().id,))
    found = [each for row in rows.fetchall() if (each := find_project(int(row["id"])))]
    return render_template("forks.html", forks=found, tab="project")


@inside.route("/-/forks/new", methods=["GET", "POST"])
def fork() -> ResponseReturnValue:
    me()
    found = project()
    if not found.code:
        abort(404)
    choices = namespaces()
    row = found.row
    form = {name: request.values.get(name, "").strip()[:255] or (row[name] if name != "namespace" else "")
            for name in ("name", "path", "description", "visibility", "namespace")}  # fmt: skip
    error = ""
    if request.method == "POST":
        chosen = next((each for each in choices if str(each["id"]) == form["namespace"]), None)
        error = problem_with(chosen, form["path"], form["name"], form["visibility"])
        wider = {"private": 0, "internal": 1, "public": 2}
        if not error and wider[form["visibility"]] > wider[row["visibility"]]:
            error = f"A fork of a project that is {row['visibility']} can't be {form['visibility']}."
        if not error and chosen is not None:
            with database():
                fork_project(found.id, chosen, form["path"], form["name"], form["visibility"], form["description"])
            flash(f"The project was successfully forked to {chosen['path']}/{form['path']}.")
            return redirect(f"/{chosen['path']}/{form['path']}", 303)
    page = render_template(
        "project_form.html", heading=f"Fork {row['name']}", form=form, namespaces=choices, error=error,
        action=f"{found.url}/-/forks/new", button="Fork project", fork=found,
    )  # fmt: skip
    return page, 422 if error else 200


@inside.get("/activity")
def activity() -> ResponseReturnValue:
    events = events_of("projects.id = :project", {"project": project().id}, 40)
    return render_template("activity.html", heading="Activity", events=events, tab="project", within=True)


@inside.route("/edit", methods=["GET", "POST"])
def settings() -> ResponseReturnValue:
    need("maintainer")
    found = project()
    branches = store().refs(found.id)
    if request.method == "POST":
        fields = {name: request.form.get(name, found.row[name]).strip()[:255]
                  for name in ("name", "description", "topics", "visibility", "default_branch")}  # fmt: skip
        if (
            not fields["name"]
            or fields["visibility"] not in ("public", "internal", "private")
            or (branches and fields["default_branch"] not in branches)
        ):
            abort(400)
        if fields["visibility"] != found.row["visibility"]:
            need("owner")
        fields["topics"] = ",".join(topic.strip() for topic in fields["topics"].split(",") if topic.strip())
        with database():
            change("projects", found.id, **fields, updated=timestamp())
        flash(f"Project '{fields['name']}' was successfully updated.")
        return redirect(f"{found.url}/edit", 303)
    return render_template("settings.html", tab="settings", branches=list(branches))


@inside.post("/<any('archive', 'unarchive'):action>")
def archive(action: str) -> ResponseReturnValue:
    need("owner")
    with database():
        change("projects", project().id, archived=int(action == "archive"))
    flash(f"The project was {action}d.")
    return redirect(project().url, 303)


@inside.post("/delete")
def delete() -> ResponseReturnValue:
    need("owner")
    found = project()
    if request.form.get("confirm", "").strip() != found.path:
        flash(f"To delete the project, type {found.path} in the field.")
        return redirect(f"{found.url}/edit", 303)
    with database() as connection:
        for item, table in (("issue", "issues"), ("merge_request", "merge_requests")):
            for each in ("notes", "labelled", "assigned"):
                connection.execute(
                    f"DELETE FROM {each} WHERE item = ? AND item_id IN (SELECT id FROM {table} WHERE project_id = ?)",
                    (item, found.id),
                )
        connection.execute("DELETE FROM projects WHERE id = ?", (found.id,))
    flash(f"Project '{found.row['name']}' was deleted.")
    return redirect("/dashboard/projects", 303)


pages.register_blueprint(inside)
