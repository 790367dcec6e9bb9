"""The API of issues and merge requests."""

from __future__ import annotations

from typing import Any

from flask import abort, g, jsonify, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import find_project, project
from pytest_webarena.embedded.gitlab.api_base import item_json, paginated, request_value, v4
from pytest_webarena.embedded.gitlab.issues import create_issue, update_issue
from pytest_webarena.embedded.gitlab.listing import items
from pytest_webarena.embedded.gitlab.merge_requests import Unmergeable, create_request, merge, refused
from pytest_webarena.embedded.gitlab.records import add_note
from pytest_webarena.embedded.gitlab.talking import current_form, find, may_change, problem, set_state
from pytest_webarena.embedded.web import database

__all__: list[str] = []


@v4.get("/projects/<path:which>/<any('issues', 'merge_requests'):kind>")
def listed_items(kind: str) -> ResponseReturnValue:
    state = request.args.get("state", "all")
    return paginated(
        [item_json(row, kind) for row in items(kind, project=project().id, every=True, state=state)["rows"]]
    )


@v4.get("/<any('issues', 'merge_requests'):kind>")
def own_items(kind: str) -> ResponseReturnValue:
    if g.user is None:
        return jsonify(message="401 Unauthorized"), 401
    person_filter = {} if request.args.get("scope") == "all" else {"author_username": g.user["username"]}
    if request.args.get("scope") == "assigned_to_me":
        person_filter = {"assignee_username": g.user["username"]}
    state = request.args.get("state", "all")
    return paginated([item_json(row, kind) for row in items(kind, every=True, state=state, **person_filter)["rows"]])


def _sent_form(found: dict[str, Any] | None) -> dict[str, Any]:
    """The fields of an item as they were sent, the others as they are."""
    blank: dict[str, Any] = {
        "title": "", "description": "", "assignees": [], "labels": [], "milestone": None, "due_date": "",
        "confidential": False, "reviewers": [],
    }  # fmt: skip
    form = blank if found is None else current_form(found)
    for name in ("title", "description", "due_date"):
        form[name] = str(request_value(name, form[name]) or "")
    form["confidential"] = str(request_value("confidential", form["confidential"])).lower() in ("1", "true")
    form["assignees"] = _numbers("assignee", form["assignees"])
    form["reviewers"] = _numbers("reviewer", form["reviewers"])
    form["milestone"] = request_value("milestone_id", form["milestone"]) or None
    named = request_value("labels", None)
    if named is not None:
        titles = named if isinstance(named, list) else [each.strip() for each in str(named).split(",")]
        rows = database().execute("SELECT id, title FROM labels WHERE project_id = ?", (project().id,))
        form["labels"] = [row["id"] for row in rows if row["title"] in titles]
    return form


def _numbers(name: str, before: list[int]) -> list[int]:
    value = request_value(f"{name}_ids", None)
    if value is None:
        value = request_value(f"{name}_id", None)
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
    return jsonify(item_json(find("issue", iid), "issues")), 201


@v4.get("/projects/<path:which>/<any('issues', 'merge_requests'):kind>/<int:iid>")
def one_item(kind: str, iid: int) -> ResponseReturnValue:
    return jsonify(item_json(find(kind[:-1], iid), kind))


@v4.put("/projects/<path:which>/issues/<int:iid>")
def change_issue(iid: int) -> ResponseReturnValue:
    found = find("issue", iid)
    if not may_change("issue", found):
        abort(403, description="Forbidden")
    form = _sent_form(found)
    if error := problem(form):
        return jsonify(message=error), 400
    event = request_value("state_event")
    with database():
        update_issue(found, form)
        if (event, found["state"]) in (("close", "opened"), ("reopen", "closed")):
            set_state("issue", found, "closed" if event == "close" else "opened")
    return jsonify(item_json(find("issue", iid), "issues"))


@v4.route("/projects/<path:which>/<any('issues', 'merge_requests'):kind>/<int:iid>/notes", methods=["GET", "POST"])
def notes(kind: str, iid: int) -> ResponseReturnValue:
    found = find(kind[:-1], iid)
    if request.method == "POST":
        if not str(request_value("body")).strip():
            return jsonify(message="body is missing"), 400
        with database():
            add_note(kind[:-1], found["id"], str(request_value("body")).strip())
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
    return (jsonify(rows[-1]), 201) if request.method == "POST" else paginated(rows)


@v4.post("/projects/<path:which>/merge_requests")
def new_request() -> ResponseReturnValue:
    source = project()
    target = (
        find_project(int(request_value("target_project_id")))
        if str(request_value("target_project_id")).isdigit()
        else source
    )
    if target is None or not target.code:
        return jsonify(message="404 Project Not Found"), 404
    form = _sent_form(None)
    branch, onto = str(request_value("source_branch")), str(request_value("target_branch"))
    if error := refused(source, branch, target, onto, form):
        return jsonify(message=error), 409 if "already" in error else 400
    with database():
        iid = create_request(source, branch, target, onto, form)
    g.project = target
    return jsonify(item_json(find("merge_request", iid), "merge_requests")), 201


@v4.put("/projects/<path:which>/merge_requests/<int:iid>/merge")
def merge_request(iid: int) -> ResponseReturnValue:
    found = find("merge_request", iid)
    try:
        with database():
            merge(
                found,
                str(request_value("merge_commit_message")),
                squash=str(request_value("squash")).lower() == "true",
                remove=str(request_value("should_remove_source_branch")).lower() == "true",
            )
    except Unmergeable as error:
        return jsonify(message=str(error)), 405
    return jsonify(item_json(find("merge_request", iid), "merge_requests"))
