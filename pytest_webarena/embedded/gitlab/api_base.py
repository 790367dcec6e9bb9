"""Common parts of the API: authentication, the project of a request, errors, and the form of responses."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Any

from flask import Blueprint, Response, abort, g, jsonify, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from pytest_webarena.embedded.gitlab.access import (
    Project,
    by_password,
    by_token,
    find_project,
    load_user,
    project,
    store,
)
from pytest_webarena.embedded.web import database

__all__ = [
    "commit_json",
    "item_json",
    "pages",
    "paginated",
    "person",
    "project_json",
    "request_value",
    "require_role",
    "v4",
]

pages = Blueprint("api", __name__)
v4 = Blueprint("v4", __name__, url_prefix="/api/v4")

_KEY = b"every replica must accept this"


def _session_token(username: str) -> str:
    """Return the access token that ``/oauth/token`` issues. It contains the user, so that every replica accepts it."""
    return f"{username}~{hmac.new(_KEY, username.encode(), hashlib.sha256).hexdigest()[:32]}"


@pages.post("/oauth/token")
def oauth() -> ResponseReturnValue:
    form = request.get_json(silent=True) or request.form
    found = by_password(str(form.get("username", "")), str(form.get("password", "")))
    if form.get("grant_type") != "password" or found is None:
        return jsonify(error="invalid_grant", error_description="The provided authorization grant is invalid."), 400
    return jsonify(access_token=_session_token(found["username"]), token_type="Bearer", scope="api")


@v4.before_request
def identify() -> ResponseReturnValue | None:
    """Set the requesting user from the token in a header or parameter, else from the browser's session."""
    token = request.headers.get("PRIVATE-TOKEN", "") or request.args.get("private_token", "")
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    token = token or (bearer if scheme.lower() == "bearer" else "")
    reading = request.method in ("GET", "HEAD")
    load_user()
    if not token:
        # Pages of other sites can send requests with the browser's session, so it only permits reading.
        return None if reading else (jsonify(message="401 Unauthorized"), 401)
    username = token.partition("~")[0]
    if hmac.compare_digest(token.encode(), _session_token(username).encode()):
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
def error_response(error: HTTPException) -> ResponseReturnValue:
    """Return an error as JSON, and a redirection to the login page as 401."""
    if error.code in (301, 302, 303) or error.response is not None:
        return jsonify(message="401 Unauthorized"), 401
    return jsonify(message=f"{error.code} {error.description if error.code in (400, 403) else error.name}"), (
        error.code or 500
    )


def _project(which: str) -> Project | None:
    return find_project(int(which) if which.isdigit() else which)


@v4.url_value_preprocessor
def take_project(_endpoint: str | None, values: dict[str, Any] | None) -> None:
    """Take the project out of the address's values, because `load_project` handles it for all views."""
    g.which = (values or {}).pop("which", None)


@v4.before_request
def load_project() -> ResponseReturnValue | None:
    """Set the project that the address names by id or path; return an error if the user may not use it."""
    if g.which is None:
        return None
    found = _project(g.which)
    if found is None:
        return jsonify(message="404 Project Not Found"), 404
    if not found.code and re.search("/(repository|merge_requests|fork)(/|$)", request.path):
        return jsonify(message="403 Forbidden"), 403
    if found.row["archived"] and request.method not in ("GET", "HEAD"):
        return jsonify(message="403 Forbidden: the project is archived"), 403
    g.project = found
    return None


def require_role(role: str) -> None:
    """Answer 403 unless the user has this role in the project."""
    if not project().may(role):
        abort(403, description="Forbidden")


def request_value(name: str, default: Any = "") -> Any:
    """Return a parameter of the request: from its JSON, form or query."""
    body = request.get_json(silent=True)
    if isinstance(body, dict) and name in body:
        return body[name]
    return request.values.get(name, default)


def paginated(rows: list[Any]) -> Response:
    """Return the requested page of ``rows``, with GitLab's pagination headers."""
    size = min(max(request.args.get("per_page", 20, type=int) or 20, 1), 100)
    page = max(request.args.get("page", 1, type=int) or 1, 1)
    answer = jsonify(rows[(page - 1) * size : page * size])
    answer.headers["X-Total"] = str(len(rows))
    answer.headers["X-Page"] = str(page)
    answer.headers["X-Total-Pages"] = str(max(-(-len(rows) // size), 1))
    return answer


def person(row: Any) -> dict[str, Any]:
    """Return a user as GitLab's API does."""
    return {"id": row["id"], "username": row["username"], "name": row["name"], "state": "active"}


def _person_by_id(user_id: int | None) -> dict[str, Any] | None:
    row = database().execute("SELECT * FROM users WHERE id = ?", (user_id,)).fetchone()
    return person(row) if row else None


def project_json(row: Any) -> dict[str, Any]:
    """Return a project as GitLab's API does."""
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


def item_json(row: Any, kind: str) -> dict[str, Any]:
    """Return an issue or merge request (``kind``) as GitLab's API does."""
    base = {
        "id": row["id"], "iid": row["iid"], "project_id": row["project_id"], "title": row["title"],
        "description": row["description"], "state": row["state"], "created_at": f"{row['created']}Z",
        "updated_at": f"{row['updated']}Z", "author": _person_by_id(row["author_id"]),
        "labels": [label["title"] for label in row["labels"]],
        "assignees": [person(each) for each in row["assignees"]],
        "milestone": {"title": row["milestone"]} if row["milestone"] else None,
    }  # fmt: skip
    if kind == "issues":
        return {**base, "due_date": row["due_date"] or None, "confidential": bool(row["confidential"])}
    return {**base, "source_branch": row["source_branch"], "target_branch": row["target_branch"],
            "source_project_id": row["source_project_id"], "merge_commit_sha": row["merge_sha"] or None,
            "merged_by": _person_by_id(row["merged_by_id"])}  # fmt: skip


def commit_json(row: Any) -> dict[str, Any]:
    """Return a commit as GitLab's API does."""
    return {
        "id": row["sha"], "short_id": row["sha"][:8], "title": row["message"].partition("\n")[0],
        "message": row["message"], "author_name": row["author"], "author_email": row["author_email"],
        "authored_date": f"{row['authored']}Z", "committed_date": f"{row['committed']}Z",
        "parent_ids": store().parents(row["sha"]),
    }  # fmt: skip
