"""Pages across projects: exploring, one's own lists, groups, people, search."""

from __future__ import annotations

import re
from typing import Any

from flask import Blueprint, abort, flash, g, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded import clock
from pytest_webarena.embedded.gitlab.access import ROLES, me, visible
from pytest_webarena.embedded.gitlab.listing import items, paged, readable, visible_events
from pytest_webarena.embedded.gitlab.records import insert
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["NAME", "events_of", "pages"]

NAME = re.compile(r"[A-Za-z0-9_](?:[\w.-]*[A-Za-z0-9_])?", flags=re.ASCII)
"""What paths of groups and projects are made of."""
RESERVED = frozenset({"explore", "dashboard", "users", "groups", "projects", "search", "api", "oauth", "static", "-",
                      "healthz", "help", "admin"})  # fmt: skip

pages = Blueprint("explore", __name__)

_SORTS = {
    "latest_activity_desc": ("Last updated", "projects.updated DESC"),
    "stars_desc": ("Most stars", "stars DESC"),
    "name_asc": ("Name", "lower(projects.name)"),
    "created_desc": ("Newest", "projects.created DESC"),
    "created_asc": ("Oldest", "projects.created"),
}


def _projects(condition: str = "1", values: dict[str, Any] | None = None) -> dict[str, Any]:
    """What lists of projects show, by the parameters of this request."""
    visible_condition, more = visible()
    name, sort = request.args.get("name", "").strip()[:100], request.args.get("sort", "")
    _, order = _SORTS.get(sort, _SORTS["latest_activity_desc"])
    topic = request.args.get("topic", "").strip()[:100]
    where = (
        f"({condition}) AND {visible_condition} AND (:name = ''"
        " OR instr(lower(projects.name || ' ' || projects.full_path), lower(:name)))"
        " AND (:topic = '' OR instr(',' || topics || ',', ',' || :topic || ','))"
    )
    query = (
        "SELECT projects.*, namespaces.name AS namespace, namespaces.path AS namespace_path,"
        " (SELECT count(*) FROM stars WHERE project_id = projects.id) AS stars,"
        " (SELECT count(*) FROM projects AS forks WHERE forks.forked_from = projects.id) AS forks,"
        " (SELECT count(*) FROM issues WHERE project_id = projects.id AND state = 'opened') AS open_issues,"
        " (SELECT count(*) FROM merge_requests WHERE project_id = projects.id AND state = 'opened') AS open_requests"
        f" FROM projects JOIN namespaces ON namespaces.id = namespace_id WHERE {where} ORDER BY {order}, projects.id"
    )
    rows = database().execute(query, {**more, **(values or {}), "name": name, "topic": topic}).fetchall()
    return {**paged(rows), "name": name, "topic": topic, "sort": sort, "sorts": {k: v[0] for k, v in _SORTS.items()}}


@pages.get("/")
def front() -> ResponseReturnValue:
    return redirect("/dashboard/projects" if g.user else "/explore", 302)


@pages.get("/explore")
@pages.get("/explore/projects")
@pages.get("/explore/projects/<any('starred', 'trending'):kind>")
def explore(kind: str = "") -> ResponseReturnValue:
    return render_template("projects.html", heading="Explore projects", tab="explore", **_projects())


@pages.get("/explore/groups")
def explore_groups() -> ResponseReturnValue:
    return render_template("groups.html", heading="Explore groups", groups=_groups("1"), tab="explore_groups")


@pages.get("/dashboard/groups")
def own_groups() -> ResponseReturnValue:
    me()
    found = _groups("EXISTS (SELECT 1 FROM members WHERE namespace_id = namespaces.id AND user_id = :user)")
    return render_template("groups.html", heading="Groups", groups=found, tab="groups")


def _groups(condition: str) -> list[Any]:
    return (
        database()
        .execute(
            "SELECT namespaces.*, (SELECT count(*) FROM projects WHERE namespace_id = namespaces.id) AS projects,"
            " (SELECT count(*) FROM members WHERE namespace_id = namespaces.id) AS members,"
            " (SELECT role FROM members WHERE namespace_id = namespaces.id AND user_id = :user) AS role"
            f" FROM namespaces WHERE kind = 'group' AND ({condition}) AND (visibility = 'public'"
            " OR (visibility = 'internal' AND :user > 0) OR EXISTS"
            " (SELECT 1 FROM members WHERE namespace_id = namespaces.id AND user_id = :user)) ORDER BY lower(name)",
            {"user": g.user["id"] if g.user else 0},
        )
        .fetchall()
    )


@pages.get("/dashboard")
@pages.get("/dashboard/projects")
def own_projects() -> ResponseReturnValue:
    who = me()
    condition = (
        "namespaces.user_id = :own OR EXISTS (SELECT 1 FROM members WHERE user_id = :own"
        " AND (project_id = projects.id OR members.namespace_id = projects.namespace_id))"
    )
    if request.args.get("personal"):
        condition = "namespaces.user_id = :own"
    found = _projects(condition, {"own": who["id"]})
    return render_template("projects.html", heading="Projects", tab="own", **found)


@pages.get("/dashboard/projects/starred")
def starred() -> ResponseReturnValue:
    who = me()
    condition = "EXISTS (SELECT 1 FROM stars WHERE project_id = projects.id AND user_id = :own)"
    return render_template("projects.html", heading="Starred projects", tab="starred",
                           **_projects(condition, {"own": who["id"]}))  # fmt: skip


@pages.get("/dashboard/<any('issues', 'merge_requests'):kind>")
def own_items(kind: str) -> ResponseReturnValue:
    who = me()
    narrowed = {name for name in ("assignee_username", "author_username", "reviewer_username", "search")
                if request.args.get(name)}  # fmt: skip
    fixed = {} if narrowed else {"assignee_username": who["username"]}
    found = items(kind, **fixed)
    return render_template("items.html", heading="Issues" if kind == "issues" else "Merge requests", across=True,
                           **found)  # fmt: skip


@pages.get("/dashboard/activity")
def own_activity() -> ResponseReturnValue:
    me()
    visible_condition, values = visible()
    return render_template("activity.html", heading="Activity", events=events_of(visible_condition, values))


def events_of(condition: str, values: dict[str, Any], limit: int = 30) -> list[Any]:
    """The newest events in projects that meet an SQL condition, as far as who asks may know of them."""
    return (
        database()
        .execute(
            "SELECT events.*, users.name, users.username, projects.full_path, projects.name AS project"
            " FROM events JOIN users ON users.id = events.user_id JOIN projects ON projects.id = project_id"
            f" WHERE {condition} AND {visible_events()} ORDER BY events.created DESC, events.id DESC LIMIT {limit}",
            values,
        )
        .fetchall()
    )


@pages.route("/groups/new", methods=["GET", "POST"])
def new_group() -> ResponseReturnValue:
    who = me()
    form = {name: request.values.get(name, "").strip()[:255] for name in ("name", "path", "description", "visibility")}
    error = ""
    if request.method == "POST":
        form["path"] = form["path"] or "-".join(re.findall(r"[a-z0-9]+", form["name"].lower()))
        taken = database().execute("SELECT 1 FROM namespaces WHERE path = ?", (form["path"],)).fetchone()
        if not form["name"] or not NAME.fullmatch(form["path"]):
            error = "A group needs a name, and a path of letters, digits, dots, dashes and underscores."
        elif taken or form["path"].lower() in RESERVED:
            error = "Path has already been taken."
        elif form["visibility"] not in ("public", "internal", "private"):
            error = "Choose who can see the group."
        else:
            with database():
                number = insert("namespaces", kind="group", created=timestamp(), **form)
                insert("members", namespace_id=number, user_id=who["id"], role="owner", created=timestamp())
            flash(f"Group {form['name']} was successfully created.")
            return redirect(f"/{form['path']}", 303)
    return render_template("group_form.html", form=form, error=error), 422 if error else 200


@pages.get("/<namespace>")
def namespace(namespace: str) -> ResponseReturnValue:
    row = database().execute("SELECT * FROM namespaces WHERE path = ?", (namespace,)).fetchone()
    if row is None:
        abort(404)
    if row["kind"] == "group":
        return _group(row)
    return _person(row)


def group_role(number: int) -> str:
    """The role of who asks in a group."""
    if g.user is None:
        return ""
    row = (
        database()
        .execute(
            "SELECT role FROM members WHERE namespace_id = ? AND user_id = ? AND (expires = '' OR expires > ?)",
            (number, g.user["id"], clock.today().isoformat()),
        )
        .fetchone()
    )
    return row[0] if row else ""


def may_see_group(row: Any) -> bool:
    """Whether who asks may see a group."""
    return row["visibility"] == "public" or bool(group_role(row["id"])) or (row["visibility"] == "internal" and g.user)


def _group(row: Any) -> ResponseReturnValue:
    if not may_see_group(row):
        abort(404)
    role = group_role(row["id"])
    found = _projects("projects.namespace_id = :namespace", {"namespace": row["id"]})
    members = database().execute("SELECT count(*) FROM members WHERE namespace_id = ?", (row["id"],)).fetchone()[0]
    return render_template("group.html", group=row, members=members, may_create=ROLES.get(role, 0) >= 40, **found)


def _person(row: Any) -> ResponseReturnValue:
    person = database().execute("SELECT * FROM users WHERE id = ?", (row["user_id"],)).fetchone()
    found = _projects("projects.namespace_id = :namespace", {"namespace": row["id"]})
    visible_condition, values = visible()
    events = events_of(f"events.user_id = :person AND {visible_condition}", {**values, "person": person["id"]}, 12)
    follows = (
        database()
        .execute(
            "SELECT (SELECT count(*) FROM follows WHERE followed_id = :person) AS followers,"
            " (SELECT count(*) FROM follows WHERE follower_id = :person) AS following,"
            " EXISTS (SELECT 1 FROM follows WHERE followed_id = :person AND follower_id = :viewer) AS followed",
            {"person": person["id"], "viewer": g.user["id"] if g.user else 0},
        )
        .fetchone()
    )
    own = f"SELECT 1 FROM members WHERE namespace_id = namespaces.id AND user_id = {int(person['id'])}"
    groups = _groups(f"EXISTS ({own})")
    return render_template("person.html", person=person, follows=follows, events=events, groups=groups, **found)


@pages.get("/users/<username>/<any('projects', 'starred', 'groups', 'activity', 'followers', 'following'):part>")
@pages.get("/users/<username>")
def person_part(username: str, part: str = "") -> ResponseReturnValue:
    person = database().execute("SELECT * FROM users WHERE username = ?", (username,)).fetchone()
    if person is None:
        abort(404)
    if part in ("followers", "following"):
        here, there = ("followed_id", "follower_id") if part == "followers" else ("follower_id", "followed_id")
        people = (
            database()
            .execute(
                f"SELECT users.* FROM follows JOIN users ON users.id = {there} WHERE {here} = ? ORDER BY name",
                (person["id"],),
            )
            .fetchall()
        )
        return render_template("people.html", heading=f"{part.capitalize()} of {person['name']}", people=people)
    if part == "starred":
        condition = "EXISTS (SELECT 1 FROM stars WHERE project_id = projects.id AND user_id = :person)"
        return render_template("projects.html", heading=f"Starred by {person['name']}", tab="",
                               **_projects(condition, {"person": person["id"]}))  # fmt: skip
    return redirect(f"/{person['username']}", 302)


@pages.post("/users/<username>/<any('follow', 'unfollow'):action>")
def follow(username: str, action: str) -> ResponseReturnValue:
    who = me()
    person = database().execute("SELECT * FROM users WHERE username = ?", (username,)).fetchone()
    if person is None or person["id"] == who["id"]:
        abort(404)
    query = (
        "INSERT OR IGNORE INTO follows VALUES (?, ?)"
        if action == "follow"
        else "DELETE FROM follows WHERE follower_id = ? AND followed_id = ?"
    )
    with database() as connection:
        connection.execute(query, (who["id"], person["id"]))
    return redirect(f"/{person['username']}", 303)


_SCOPES = {
    "projects": "Projects",
    "blobs": "Code",
    "commits": "Commits",
    "issues": "Issues",
    "merge_requests": "Merge requests",
    "users": "Users",
}


@pages.get("/search")
def search() -> ResponseReturnValue:
    wanted = request.args.get("search", "").strip()[:200]
    scope = request.args.get("scope", "projects")
    if scope not in _SCOPES:
        scope = "projects"
    visible_condition, values = visible()
    values |= {"wanted": wanted}
    code = f"{visible_condition} AND ({readable()})"
    path = request.args.get("project", "").strip()[:200]
    if path:
        values["path"] = path
        code, visible_condition = (
            f"{code} AND projects.full_path = :path",
            f"{visible_condition} AND projects.full_path = :path",
        )
    tip = "refs.project_id = projects.id AND refs.name = 'refs/heads/' || projects.default_branch"
    queries = {
        "projects": "SELECT projects.*, (SELECT count(*) FROM stars WHERE project_id = projects.id) AS stars"
        f" FROM projects WHERE {visible_condition}"
        " AND instr(lower(projects.name || ' ' || full_path || ' ' || description), lower(:wanted))"
        " ORDER BY lower(projects.name), projects.id",
        "users": "SELECT * FROM users WHERE instr(lower(name || ' ' || username), lower(:wanted)) ORDER BY name",
        "blobs": "SELECT projects.full_path, projects.default_branch, files.path, CAST(objects.data AS TEXT) AS text"
        " FROM files JOIN projects ON projects.id = files.project_id AND files.branch = projects.default_branch"
        f" JOIN objects ON objects.sha = files.blob WHERE {code} AND (instr(lower(text), lower(:wanted))"
        " OR instr(lower(files.path), lower(:wanted))) ORDER BY full_path, files.path",
        "commits": "WITH RECURSIVE reached(project_id, sha) AS ("
        f" SELECT projects.id, refs.sha FROM projects JOIN refs ON {tip} WHERE {code}"
        " UNION SELECT project_id, parent FROM reached JOIN parents USING (sha))"
        " SELECT commits.*, full_path FROM reached JOIN commits USING (sha) JOIN projects ON projects.id = project_id"
        " WHERE instr(lower(message), lower(:wanted)) ORDER BY committed DESC, number DESC",
    }
    rows: list[Any] = []
    if wanted:
        if scope in queries:
            rows = database().execute(queries[scope], values).fetchall()
        else:
            rows = items(scope, search=wanted, state="all", project_path=path, every=True)["rows"]
    found = paged(rows)
    if scope == "blobs":
        found["rows"] = [{**dict(row), "lines": _lines(row["text"], wanted)} for row in found["rows"]]
    return render_template("search.html", wanted=wanted, scope=scope, scopes=_SCOPES, path=path, **found)


def _lines(text: str, wanted: str) -> list[tuple[int, str]]:
    lines = text.splitlines()
    hits = [n for n, line in enumerate(lines) if wanted.lower() in line.lower()]
    first = max((hits[0] if hits else 0) - 1, 0)
    return [(n + 1, lines[n]) for n in range(first, min(first + 4, len(lines)))]
