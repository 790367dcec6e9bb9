"""The API at ``/api/v4``, in the form that programs know: JSON, tokens, numbers of pages in headers."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

from flask import Blueprint, Response, abort, g, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from pytest_webarena.embedded.gitlab.access import (
    ROLES,
    Project,
    by_password,
    by_token,
    find_project,
    load_user,
    project,
    store,
    visible,
)
from pytest_webarena.embedded.gitlab.issues import create_issue, update_issue
from pytest_webarena.embedded.gitlab.listing import items
from pytest_webarena.embedded.gitlab.members import add_member
from pytest_webarena.embedded.gitlab.merge_requests import Unmergeable, create_request, merge, refused
from pytest_webarena.embedded.gitlab.objects import FOLDER
from pytest_webarena.embedded.gitlab.projects import fork_project, make_project, namespaces, problem_with
from pytest_webarena.embedded.gitlab.records import add_note, insert, people_of
from pytest_webarena.embedded.gitlab.talking import find, may_change, problem, set_state
from pytest_webarena.embedded.gitlab.web_edit import Refused, commit_change
from pytest_webarena.embedded.web import database

__all__ = ["pages"]

pages = Blueprint("api", __name__)
v4 = Blueprint("v4", __name__, url_prefix="/api/v4")

_KEY = b"every replica must accept this"


def _session_token(username: str) -> str:
    """What ``/oauth/token`` gives: it says who it is for, so that every replica accepts it."""
    return f"{username}~{hmac.new(_KEY, username.encode(), hashlib.sha256).hexdigest()[:32]}"


@pages.post("/oauth/token")
def oauth() -> ResponseReturnValue:
    sent = request.get_json(silent=True) or request.form
    found = by_password(str(sent.get("username", "")), str(sent.get("password", "")))
    if sent.get("grant_type") != "password" or found is None:
        return jsonify(error="invalid_grant", error_description="The provided authorization grant is invalid."), 400
    return jsonify(access_token=_session_token(found["username"]), token_type="Bearer", scope="api")


@v4.before_request
def identify() -> ResponseReturnValue | None:
    """Who asks, by token in a header, or by the browser's session for reading."""
    token = request.headers.get("PRIVATE-TOKEN", "") or request.args.get("private_token", "")
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    token = token or (bearer if scheme.lower() == "bearer" else "")
    reading = request.method in ("GET", "HEAD")
    load_user()
    if not reading:
        g.user = None
    if not token:
        return None if reading else (jsonify(message="401 Unauthorized"), 401)
    username = token.partition("~")[0]
    if hmac.compare_digest(token, _session_token(username)):
        g.user = database().execute("SELECT * FROM users WHERE username = ?", (username,)).fetchone()
        return None
    found = by_token(token)
    if found is None or not ({"api"} | ({"read_api"} if reading else set())) & found[1]:
        return jsonify(message="401 Unauthorized" if found is None else "403 Forbidden: insufficient scope"), (
            401 if found is None else 403
        )
    g.user = found[0]
    return None


@v4.errorhandler(HTTPException)
def told(error: HTTPException) -> ResponseReturnValue:
    """Errors as JSON."""
    if error.code in (301, 302, 303) or error.response is not None:
        return jsonify(message="401 Unauthorized"), 401
    return jsonify(message=f"{error.code} {error.description if error.code in (400, 403) else error.name}"), (
        error.code or 500
    )


def _sent(name: str, default: Any = "") -> Any:
    body = request.get_json(silent=True)
    if isinstance(body, dict) and name in body:
        return body[name]
    return request.values.get(name, default)


def _listed(rows: list[Any]) -> Response:
    size = min(max(request.args.get("per_page", 20, type=int) or 20, 1), 100)
    page = max(request.args.get("page", 1, type=int) or 1, 1)
    answer = jsonify(rows[(page - 1) * size : page * size])
    answer.headers["X-Total"] = str(len(rows))
    answer.headers["X-Page"] = str(page)
    answer.headers["X-Total-Pages"] = str(max(-(-len(rows) // size), 1))
    return answer


def _person(row: Any) -> dict[str, Any]:
    return {"id": row["id"], "username": row["username"], "name": row["name"], "state": "active"}


def _one_person(number: int | None) -> dict[str, Any] | None:
    row = database().execute("SELECT * FROM users WHERE id = ?", (number,)).fetchone()
    return _person(row) if row else None


def _told(row: Any) -> dict[str, Any]:
    stars, forks = (
        database()
        .execute(
            "SELECT (SELECT count(*) FROM stars WHERE project_id = :p),"
            " (SELECT count(*) FROM projects WHERE forked_from = :p)",
            {"p": row["id"]},
        )
        .fetchone()
    )
    return {
        "id": row["id"], "name": row["name"], "path": row["path"], "path_with_namespace": row["full_path"],
        "description": row["description"], "visibility": row["visibility"], "default_branch": row["default_branch"],
        "topics": [topic for topic in row["topics"].split(",") if topic], "star_count": stars, "forks_count": forks,
        "archived": bool(row["archived"]), "created_at": f"{row['created']}Z", "last_activity_at": f"{row['updated']}Z",
        "web_url": f"{request.host_url}{row['full_path']}",
        "http_url_to_repo": f"{request.host_url}{row['full_path']}.git",
        "forked_from_project": {"id": row["forked_from"]} if row["forked_from"] else None,
    }  # fmt: skip


def _item(row: Any, kind: str) -> dict[str, Any]:
    base = {
        "id": row["id"], "iid": row["iid"], "project_id": row["project_id"], "title": row["title"],
        "description": row["description"], "state": row["state"], "created_at": f"{row['created']}Z",
        "updated_at": f"{row['updated']}Z", "author": _one_person(row["author_id"]),
        "labels": [label["title"] for label in row["labels"]],
        "assignees": [_person(person) for person in row["assignees"]],
        "milestone": {"title": row["milestone"]} if row["milestone"] else None,
    }  # fmt: skip
    if kind == "issues":
        return {**base, "due_date": row["due_date"] or None, "confidential": bool(row["confidential"])}
    return {**base, "source_branch": row["source_branch"], "target_branch": row["target_branch"],
            "source_project_id": row["source_project_id"], "merge_commit_sha": row["merge_sha"] or None,
            "merged_by": _one_person(row["merged_by_id"])}  # fmt: skip


def _commit(row: Any) -> dict[str, Any]:
    return {
        "id": row["sha"], "short_id": row["sha"][:8], "title": row["message"].partition("\n")[0],
        "message": row["message"], "author_name": row["author"], "author_email": row["author_email"],
        "authored_date": f"{row['authored']}Z", "committed_date": f"{row['committed']}Z",
        "parent_ids": store().parents(row["sha"]),
    }  # fmt: skip


@v4.get("/version")
def version() -> ResponseReturnValue:
    return jsonify(version="millrace", revision="1")


@v4.get("/user")
def user() -> ResponseReturnValue:
    if g.user is None:
        return jsonify(message="401 Unauthorized"), 401
    return jsonify({**_person(g.user), "email": g.user["email"], "bio": g.user["bio"]})


@v4.get("/users")
def users() -> ResponseReturnValue:
    name, search = request.args.get("username", ""), request.args.get("search", "")
    rows = database().execute(
        "SELECT * FROM users WHERE (? = '' OR username = ?) AND instr(lower(name || ' ' || username), lower(?))"
        " ORDER BY id",
        (name, name, search),
    )
    return _listed([_person(row) for row in rows])


@v4.get("/projects")
def projects() -> ResponseReturnValue:
    seen, values = visible()
    search = request.args.get("search", "")
    rows = database().execute(
        f"SELECT * FROM projects WHERE {seen} AND instr(lower(name || ' ' || full_path), lower(:search))"
        " ORDER BY id DESC",
        {**values, "search": search},
    )
    return _listed([_told(row) for row in rows.fetchall()])


@v4.get("/groups")
def groups() -> ResponseReturnValue:
    rows = database().execute(
        "SELECT * FROM namespaces WHERE kind = 'group' AND (visibility = 'public' OR EXISTS (SELECT 1 FROM members"
        " WHERE namespace_id = namespaces.id AND user_id = ?)) ORDER BY id",
        (g.user["id"] if g.user else 0,),
    )
    return _listed([{"id": row["id"], "path": row["path"], "name": row["name"], "description": row["description"],
                     "visibility": row["visibility"]} for row in rows])  # fmt: skip


@v4.post("/projects")
def create_project() -> ResponseReturnValue:
    choices = namespaces()
    wanted = str(_sent("namespace_id", ""))
    chosen = next((each for each in choices if str(each["id"]) == wanted), None if wanted else choices[0])
    name = str(_sent("name"))
    path = str(_sent("path")) or "-".join(name.lower().split())
    visibility = str(_sent("visibility", "private"))
    if error := problem_with(chosen, path, name, visibility):
        return jsonify(message=error), 400
    with database():
        number = make_project(chosen, path, name, str(_sent("description")), visibility,
                              readme=bool(_sent("initialize_with_readme", False)))  # fmt: skip
    return jsonify(_told(database().execute("SELECT * FROM projects WHERE id = ?", (number,)).fetchone())), 201


def _project(which: str) -> Project | None:
    return find_project(int(which) if which.isdigit() else which)


@v4.url_value_preprocessor
def note_project(_endpoint: str | None, values: dict[str, Any] | None) -> None:
    g.which = (values or {}).pop("which", None)


@v4.before_request
def load_project() -> ResponseReturnValue | None:
    """The project of the address, by number or path."""
    if g.which is None:
        return None
    found = _project(g.which)
    if found is None:
        return jsonify(message="404 Project Not Found"), 404
    if not found.code and "/repository/" in request.path:
        return jsonify(message="403 Forbidden"), 403
    g.project = found
    return None


@v4.get("/projects/<path:which>")
def one_project() -> ResponseReturnValue:
    return jsonify(_told(project().row))


@v4.post("/projects/<path:which>/fork")
def fork() -> ResponseReturnValue:
    row = project().row
    wanted = str(_sent("namespace_path", g.user["username"]))
    chosen = next((each for each in namespaces() if each["path"] == wanted), None)
    if error := problem_with(chosen, row["path"], row["name"], row["visibility"]):
        return jsonify(message=error), 409
    with database():
        number = fork_project(row["id"], chosen, row["path"], row["name"], row["visibility"], row["description"])
    return jsonify(_told(database().execute("SELECT * FROM projects WHERE id = ?", (number,)).fetchone())), 201


@v4.post("/projects/<path:which>/<any('star', 'unstar'):action>")
def star(action: str) -> ResponseReturnValue:
    query = (
        "INSERT OR IGNORE INTO stars VALUES (?, ?)"
        if action == "star"
        else "DELETE FROM stars WHERE project_id = ? AND user_id = ?"
    )
    with database() as connection:
        connection.execute(query, (project().id, g.user["id"]))
    return jsonify(_told(project().row)), 201


@v4.get("/projects/<path:which>/members")
@v4.get("/projects/<path:which>/members/all")
def members() -> ResponseReturnValue:
    return _listed([{**_person(each), "access_level": ROLES[str(each["role"])]} for each in people_of(project().id)])


@v4.post("/projects/<path:which>/members")
def invite() -> ResponseReturnValue:
    _need("maintainer")
    levels = {str(value): name for name, value in ROLES.items()}
    row = (
        database()
        .execute("SELECT username FROM users WHERE id = ? OR username = ?", (_sent("user_id", 0), _sent("username")))
        .fetchone()
    )
    with database():
        error = add_member(
            "project_id", project().id, row[0] if row else "", levels.get(str(_sent("access_level")), ""),
            str(_sent("expires_at") or ""), project().level,
        )  # fmt: skip
    return (jsonify(message=error), 400) if error else (jsonify(message="created"), 201)


def _need(role: str) -> None:
    if not project().may(role):
        abort(403, description="Forbidden")


@v4.get("/projects/<path:which>/labels")
def labels() -> ResponseReturnValue:
    rows = database().execute("SELECT * FROM labels WHERE project_id = ? ORDER BY title", (project().id,))
    return _listed([{"id": row["id"], "name": row["title"], "color": row["color"], "description": row["description"]}
                    for row in rows])  # fmt: skip


@v4.post("/projects/<path:which>/labels")
def create_label() -> ResponseReturnValue:
    _need("reporter")
    title, color = str(_sent("name")), str(_sent("color", "#2a5a94"))
    taken = database().execute("SELECT 1 FROM labels WHERE project_id = ? AND title = ?", (project().id, title))
    if not title or taken.fetchone():
        return jsonify(message="Label already exists" if title else "name is missing"), 409 if title else 400
    with database():
        number = insert("labels", project_id=project().id, title=title, color=color,
                        description=str(_sent("description")))  # fmt: skip
    return jsonify(id=number, name=title, color=color), 201


@v4.get("/projects/<path:which>/milestones")
def milestones() -> ResponseReturnValue:
    rows = database().execute("SELECT * FROM milestones WHERE project_id = ? ORDER BY iid", (project().id,))
    names = ("id", "iid", "title", "description", "state", "due_date", "start_date")
    return _listed([{name: row[name] for name in names} for row in rows])


@v4.get("/projects/<path:which>/<any('issues', 'merge_requests'):kind>")
def listed_items(kind: str) -> ResponseReturnValue:
    if kind == "merge_requests" and not project().code:
        abort(403, description="Forbidden")
    state = request.args.get("state", "all")
    return _listed([_item(row, kind) for row in items(kind, project=project().id, every=True, state=state)["rows"]])


@v4.get("/<any('issues', 'merge_requests'):kind>")
def own_items(kind: str) -> ResponseReturnValue:
    if g.user is None:
        return jsonify(message="401 Unauthorized"), 401
    whose = {} if request.args.get("scope") == "all" else {"author_username": g.user["username"]}
    if request.args.get("scope") == "assigned_to_me":
        whose = {"assignee_username": g.user["username"]}
    state = request.args.get("state", "all")
    return _listed([_item(row, kind) for row in items(kind, every=True, state=state, **whose)["rows"]])


def _sent_form(found: dict[str, Any] | None) -> dict[str, Any]:
    """The fields of an item as they were sent, the others as they are."""
    blank: dict[str, Any] = {
        "title": "", "description": "", "assignees": [], "labels": [], "milestone": None, "due_date": "",
        "confidential": False, "reviewers": [],
    }  # fmt: skip
    form = blank if found is None else _as_is(found)
    for name in ("title", "description", "due_date"):
        form[name] = str(_sent(name, form[name]) or "")
    form["confidential"] = str(_sent("confidential", form["confidential"])).lower() in ("1", "true")
    form["assignees"] = _numbers("assignee", form["assignees"])
    form["reviewers"] = _numbers("reviewer", form["reviewers"])
    form["milestone"] = _sent("milestone_id", form["milestone"]) or None
    named = _sent("labels", None)
    if named is not None:
        titles = named if isinstance(named, list) else [each.strip() for each in str(named).split(",")]
        rows = database().execute("SELECT id, title FROM labels WHERE project_id = ?", (project().id,))
        form["labels"] = [row["id"] for row in rows if row["title"] in titles]
    return form


def _as_is(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": found["title"], "description": found["description"], "milestone": found["milestone_id"],
        "assignees": [person["id"] for person in found["assignees"]], "due_date": found.get("due_date", ""),
        "labels": [label["id"] for label in found["labels"]], "confidential": found.get("confidential", 0),
        "reviewers": [person["id"] for person in found["reviewers"]],
    }  # fmt: skip


def _numbers(name: str, before: list[int]) -> list[int]:
    value = _sent(f"{name}_ids", None)
    if value is None:
        value = _sent(f"{name}_id", None)
    if value is None:
        return before
    values = value if isinstance(value, list) else [value]
    return [int(each) for each in values if str(each).isdigit() and int(each)]


@v4.post("/projects/<path:which>/issues")
def new_issue() -> ResponseReturnValue:
    form = _sent_form(None)
    if error := problem(form):
        return jsonify(message=error), 400
    with database():
        iid = create_issue(form)
    return jsonify(_item(find("issue", iid), "issues")), 201


@v4.get("/projects/<path:which>/<any('issues', 'merge_requests'):kind>/<int:iid>")
def one_item(kind: str, iid: int) -> ResponseReturnValue:
    return jsonify(_item(find(kind[:-1], iid), kind))


@v4.put("/projects/<path:which>/issues/<int:iid>")
def change_issue(iid: int) -> ResponseReturnValue:
    found = find("issue", iid)
    if not may_change("issue", found):
        abort(403, description="Forbidden")
    form = _sent_form(found)
    if error := problem(form):
        return jsonify(message=error), 400
    event = _sent("state_event")
    with database():
        update_issue(found, form)
        if (event, found["state"]) in (("close", "opened"), ("reopen", "closed")):
            set_state("issue", found, "closed" if event == "close" else "opened")
    return jsonify(_item(find("issue", iid), "issues"))


@v4.route("/projects/<path:which>/<any('issues', 'merge_requests'):kind>/<int:iid>/notes", methods=["GET", "POST"])
def notes(kind: str, iid: int) -> ResponseReturnValue:
    found = find(kind[:-1], iid)
    if request.method == "POST":
        if not str(_sent("body")).strip():
            return jsonify(message="body is missing"), 400
        with database():
            add_note(kind[:-1], found["id"], str(_sent("body")).strip())
        found = find(kind[:-1], iid)
    rows = [
        {
            "id": note["id"],
            "body": note["text"],
            "system": bool(note["system"]),
            "created_at": f"{note['created']}Z",
            "author": {"username": note["username"], "name": note["name"]},
        }
        for note in found["notes"]
    ]
    return (jsonify(rows[-1]), 201) if request.method == "POST" else _listed(rows)


@v4.post("/projects/<path:which>/merge_requests")
def new_request() -> ResponseReturnValue:
    source = project()
    target = find_project(int(_sent("target_project_id"))) if str(_sent("target_project_id")).isdigit() else source
    if target is None or not target.code:
        return jsonify(message="404 Project Not Found"), 404
    form = _sent_form(None)
    branch, onto = str(_sent("source_branch")), str(_sent("target_branch"))
    if error := refused(source, branch, target, onto, form):
        return jsonify(message=error), 409 if "already" in error else 400
    with database():
        iid = create_request(source, branch, target, onto, form)
    g.project = target
    return jsonify(_item(find("merge_request", iid), "merge_requests")), 201


@v4.put("/projects/<path:which>/merge_requests/<int:iid>/merge")
def merge_request(iid: int) -> ResponseReturnValue:
    found = find("merge_request", iid)
    try:
        with database():
            merge(found, str(_sent("merge_commit_message")), squash=str(_sent("squash")).lower() == "true",
                  remove=str(_sent("should_remove_source_branch")).lower() == "true")  # fmt: skip
    except Unmergeable as error:
        return jsonify(message=str(error)), 405
    return jsonify(_item(find("merge_request", iid), "merge_requests"))


@v4.get("/projects/<path:which>/repository/branches")
def branches() -> ResponseReturnValue:
    found = store().refs(project().id)
    return _listed([{"name": name, "default": name == project().branch, "protected": name == project().branch,
                     "commit": _commit(store().history(sha, limit=1)[0])} for name, sha in found.items()])  # fmt: skip


@v4.get("/projects/<path:which>/repository/commits")
def commits() -> ResponseReturnValue:
    tip = store().resolve(project().id, request.args.get("ref_name", project().branch))
    if tip is None:
        return jsonify(message="404 Not Found"), 404
    rows = store().history(tip, path=request.args.get("path", ""), author=request.args.get("author", ""))
    return _listed([_commit(row) for row in rows])


@v4.get("/projects/<path:which>/repository/tree")
def tree() -> ResponseReturnValue:
    tip = store().resolve(project().id, request.args.get("ref", project().branch))
    path = request.args.get("path", "").strip("/")
    found = store().find(store().tree_of(tip), path) if tip else None
    if found is None or found.mode != FOLDER:
        return jsonify(message="404 Tree Not Found"), 404
    return _listed([{"id": entry.sha, "name": entry.name, "type": "tree" if entry.mode == FOLDER else "blob",
                     "path": f"{path}/{entry.name}".lstrip("/"), "mode": entry.mode.zfill(6)}
                    for entry in store().tree(found.sha)])  # fmt: skip


@v4.route("/projects/<path:which>/repository/files/<path:file>", methods=["GET", "POST", "PUT", "DELETE"])
def file(file: str) -> ResponseReturnValue:
    raw = file.endswith("/raw") and request.method == "GET"
    path = file.removesuffix("/raw") if raw else file
    if request.method != "GET":
        return _change_file(path)
    tip = store().resolve(project().id, request.args.get("ref", project().branch))
    found = store().find(store().tree_of(tip), path) if tip else None
    if found is None or found.mode == FOLDER:
        return jsonify(message="404 File Not Found"), 404
    data = store().get(found.sha)[1]
    if raw:
        return Response(data, content_type="text/plain; charset=utf-8")
    return jsonify(file_path=path, size=len(data), blob_id=found.sha, encoding="base64",
                   content=base64.b64encode(data).decode())  # fmt: skip


def _change_file(path: str) -> ResponseReturnValue:
    branch = str(_sent("branch"))
    files = store().files(sha) if (sha := store().refs(project().id).get(branch)) else {}
    text: str | None = str(_sent("content"))
    if _sent("encoding") == "base64":
        text = base64.b64decode(str(text)).decode("utf-8", "replace")
    if (path in files) is (request.method == "POST"):
        return jsonify(message="A file with this name " + ("already exists" if path in files else "doesn't exist")), 400
    try:
        with database():
            commit_change(branch, branch, {path: None if request.method == "DELETE" else text},
                          str(_sent("commit_message")))  # fmt: skip
    except Refused as error:
        return jsonify(message=str(error)), 400
    return jsonify(file_path=path, branch=branch), 201 if request.method == "POST" else 200


pages.register_blueprint(v4)
