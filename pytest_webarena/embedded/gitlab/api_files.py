"""The API of repositories: branches, commits, folders, files."""

from __future__ import annotations

import base64

from flask import Response, jsonify, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import project, store
from pytest_webarena.embedded.gitlab.api_base import commit_json, paginated, request_value, v4
from pytest_webarena.embedded.gitlab.objects import FOLDER
from pytest_webarena.embedded.gitlab.web_edit import Refused, commit_change
from pytest_webarena.embedded.web import database

__all__: list[str] = []


@v4.get("/projects/<path:which>/repository/branches")
def branches() -> ResponseReturnValue:
    found = store().refs(project().id)
    default = project().branch
    return paginated(
        [
            {
                "name": name,
                "default": name == default,
                "protected": name == default,
                "commit": commit_json(store().history(sha, limit=1)[0]),
            }
            for name, sha in found.items()
        ]
    )


@v4.get("/projects/<path:which>/repository/commits")
def commits() -> ResponseReturnValue:
    tip = store().resolve(project().id, request.args.get("ref_name", project().branch))
    if tip is None:
        return jsonify(message="404 Not Found"), 404
    rows = store().history(tip, path=request.args.get("path", ""), author=request.args.get("author", ""))
    return paginated([commit_json(row) for row in rows])


@v4.get("/projects/<path:which>/repository/tree")
def tree() -> ResponseReturnValue:
    tip = store().resolve(project().id, request.args.get("ref", project().branch))
    path = request.args.get("path", "").strip("/")
    found = store().find(store().tree_of(tip), path) if tip else None
    if found is None or found.mode != FOLDER:
        return jsonify(message="404 Tree Not Found"), 404
    return paginated([{"id": entry.sha, "name": entry.name, "type": "tree" if entry.mode == FOLDER else "blob",
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
    data = store().content(found.sha)
    if raw:
        return Response(data, content_type="text/plain; charset=utf-8")
    return jsonify(file_path=path, size=len(data), blob_id=found.sha, encoding="base64",
                   content=base64.b64encode(data).decode())  # fmt: skip


def _change_file(path: str) -> ResponseReturnValue:
    branch = str(request_value("branch"))
    files = store().files(sha) if (sha := store().refs(project().id).get(branch)) else {}
    content: str | bytes = str(request_value("content"))
    if request_value("encoding") == "base64":
        try:
            content = base64.b64decode(content)
        except ValueError:
            return jsonify(message="400 content is not base64"), 400
    if (path in files) is (request.method == "POST"):
        return jsonify(message="A file with this name " + ("already exists" if path in files else "doesn't exist")), 400
    try:
        with database():
            commit_change(branch, branch, {path: None if request.method == "DELETE" else content},
                          str(request_value("commit_message")))  # fmt: skip
    except Refused as error:
        return jsonify(message=str(error)), 400
    return jsonify(file_path=path, branch=branch), 201 if request.method == "POST" else 200
