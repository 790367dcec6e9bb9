"""What issues and merge requests have in common: the form's fields, comments, closing, to-dos."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, abort, flash, g, redirect, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import me, project
from pytest_webarena.embedded.gitlab.listing import labels_of
from pytest_webarena.embedded.gitlab.records import (
    TABLES,
    add_event,
    add_note,
    add_todo,
    change,
    day,
    people_of,
    set_assignees,
    set_labels,
    set_reviewers,
)
from pytest_webarena.embedded.web import database, timestamp

__all__ = [
    "choices",
    "current_form",
    "find",
    "form_of",
    "may_change",
    "parts",
    "problem",
    "save_parts",
    "set_state",
    "submitted_edit",
    "talk_routes",
]

MARKS = {"issue": "#", "merge_request": "!"}


def find(item: str, iid: int) -> dict[str, Any]:
    """The issue or merge request with a number, with what its page shows."""
    row = (
        database()
        .execute(
            "SELECT items.*, users.name AS author, users.username AS author_username, milestones.title AS milestone,"
            " milestones.iid AS milestone_iid, closers.name AS closer FROM"
            f" {TABLES[item]} AS items JOIN users ON users.id = author_id LEFT JOIN milestones"
            " ON milestones.id = milestone_id LEFT JOIN users AS closers ON closers.id = closed_by_id"
            " WHERE items.project_id = ? AND items.iid = ?",
            (project().id, iid),
        )
        .fetchone()
    )
    if row is None:
        abort(404)
    found = {**dict(row), **parts(item, row["id"])}
    if found.get("confidential") and not project().may("reporter"):
        who = g.user["id"] if g.user else 0
        if who != row["author_id"] and who not in [person["id"] for person in found["assignees"]]:
            abort(404)
    return found


def parts(item: str, number: int) -> dict[str, Any]:
    """Labels, people and comments of an item."""
    database_ = database()
    return {
        "labels": labels_of(item, [number])[0],
        "assignees": database_.execute(
            "SELECT users.* FROM assigned JOIN users ON users.id = user_id WHERE item = ? AND item_id = ?"
            " ORDER BY name",
            (item, number),
        ).fetchall(),
        "notes": database_.execute(
            "SELECT notes.*, users.name, users.username FROM notes JOIN users ON users.id = author_id"
            " WHERE item = ? AND item_id = ? ORDER BY notes.created, notes.id",
            (item, number),
        ).fetchall(),
        "reviewers": database_.execute(
            "SELECT users.*, approvals.created AS approved FROM reviewers JOIN users ON users.id = reviewers.user_id"
            " LEFT JOIN approvals ON approvals.merge_request_id = reviewers.merge_request_id"
            " AND approvals.user_id = users.id WHERE reviewers.merge_request_id = ? ORDER BY name",
            (number if item == "merge_request" else 0,),
        ).fetchall(),
    }  # fmt: skip


def choices() -> dict[str, Any]:
    """What can be chosen in forms of this project."""
    number = project().id
    return {
        "people": people_of(number),
        "all_labels": database().execute(
            "SELECT * FROM labels WHERE project_id = ? ORDER BY lower(title)", (number,)
        ).fetchall(),
        "milestones": database().execute(
            "SELECT * FROM milestones WHERE project_id = ? AND state = 'active' ORDER BY due_date = '', due_date, iid",
            (number,),
        ).fetchall(),
    }  # fmt: skip


def form_of(item: str, found: dict[str, Any] | None = None) -> dict[str, Any]:
    """What stands in the form: as it was sent, as the address says (``issue[title]=…``), as the item has it."""
    if request.method == "POST":
        source = request.form
        return {
            "title": source.get("title", "").strip()[:255], "description": source.get("description", ""),
            "assignees": source.getlist("assignee", type=int), "labels": source.getlist("label", type=int),
            "milestone": source.get("milestone", type=int), "due_date": source.get("due_date", "").strip(),
            "confidential": "confidential" in source, "reviewers": source.getlist("reviewer", type=int),
        }  # fmt: skip
    if found is not None:
        return current_form(found)
    given = request.args
    return {
        "title": given.get(f"{item}[title]", "")[:255], "description": given.get(f"{item}[description]", ""),
        "assignees": given.getlist(f"{item}[assignee_ids][]", type=int), "labels": given.getlist(
            f"{item}[label_ids][]", type=int), "milestone": given.get(f"{item}[milestone_id]", type=int),
        "due_date": given.get(f"{item}[due_date]", ""), "confidential": False,
        "reviewers": given.getlist(f"{item}[reviewer_ids][]", type=int),
    }  # fmt: skip


def current_form(found: dict[str, Any]) -> dict[str, Any]:
    """The form of an item as it stands."""
    return {
        "title": found["title"], "description": found["description"], "milestone": found["milestone_id"],
        "assignees": [person["id"] for person in found["assignees"]], "due_date": found.get("due_date", ""),
        "labels": [label["id"] for label in found["labels"]], "confidential": found.get("confidential", 0),
        "reviewers": [person["id"] for person in found["reviewers"]],
    }  # fmt: skip


def submitted_edit(item: str, iid: int) -> tuple[dict[str, Any], dict[str, Any], str]:
    """What this request edits, its form as it was filled in, and what is wrong with that; for those alone who may."""
    me()
    found = find(item, iid)
    if not may_change(item, found):
        abort(403, description="Only its author, its assignees and members of the project may edit it.")
    form = form_of(item, found)
    return found, form, problem(form)


def problem(form: dict[str, Any]) -> str:
    """What is wrong with what was sent; empty if nothing. Days are put into their usual form."""
    if not form["title"]:
        return "Title can't be blank."
    try:
        form["due_date"] = day(form["due_date"])
    except ValueError:
        return "The due date must be a day, as 2025-12-31."
    return ""


def save_parts(item: str, number: int, form: dict[str, Any]) -> None:
    """Labels, people and milestone of an item as the form says, as far as there are such."""
    known = choices()
    set_labels(item, number, {row["id"] for row in known["all_labels"]} & set(form["labels"]))
    people = {int(person["id"]) for person in known["people"]} | {g.user["id"]}
    set_assignees(item, number, people & set(form["assignees"]))
    row = database().execute("SELECT milestone_id FROM " + TABLES[item] + " WHERE id = ?", (number,)).fetchone()
    allowed = {row["id"] for row in known["milestones"]} | {row[0]}
    change(TABLES[item], number, milestone_id=form["milestone"] if form["milestone"] in allowed else None)
    if item == "merge_request":
        set_reviewers(number, people & set(form["reviewers"]))


def may_change(item: str, found: dict[str, Any]) -> bool:
    """Whether who asks may edit and close it: its author, its assignees, and members with a say."""
    if g.user is None:
        return False
    own = g.user["id"] == found["author_id"] or g.user["id"] in [person["id"] for person in found["assignees"]]
    return own or project().may("reporter" if item == "issue" else "developer")


def set_state(item: str, found: dict[str, Any], state: str) -> None:
    """Close or reopen it."""
    closed = state == "closed"
    change(TABLES[item], found["id"], state=state, closed=timestamp() if closed else "",
           closed_by_id=g.user["id"] if closed else None)  # fmt: skip
    word = "closed" if closed else "reopened"
    add_note(item, found["id"], f"{word} this {item.replace('_', ' ')}", system=True)
    add_event(project().id, word, f"{MARKS[item]}{found['iid']}", found["title"])


def talk_routes(pages: Blueprint, item: str) -> None:
    """Comments, closing, reopening and to-dos of issues or merge requests."""
    kind = TABLES[item]

    def back(iid: int, anchor: str = "") -> ResponseReturnValue:
        return redirect(f"{project().url}/-/{kind}/{iid}{anchor}", 303)

    @pages.post(f"/-/{kind}/<int:iid>/<any('close', 'reopen'):action>")
    def close(iid: int, action: str) -> ResponseReturnValue:
        me()
        found = find(item, iid)
        if not may_change(item, found):
            abort(403, description="Only its author, its assignees and members of the project may do that.")
        if found["state"] != ("opened" if action == "close" else "closed"):
            return back(iid)
        with database():
            if request.form.get("text", "").strip():
                add_note(item, found["id"], request.form["text"].strip())
            set_state(item, found, "closed" if action == "close" else "opened")
        return back(iid)

    @pages.post(f"/-/{kind}/<int:iid>/notes")
    def comment(iid: int) -> ResponseReturnValue:
        me()
        found = find(item, iid)
        text = request.form.get("text", "").strip()
        path, line = request.form.get("path", ""), request.form.get("line", type=int)
        if not text:
            flash("A comment can't be empty.")
            return back(iid)
        with database():
            number = add_note(item, found["id"], text, path=path, line=line if path else None)
            add_event(project().id, "commented on", f"{MARKS[item]}{iid}", found["title"])
        return back(iid, f"#note_{number}")

    @pages.post(f"/-/{kind}/<int:iid>/notes/<int:number>/<any('edit', 'delete'):action>")
    def change_note(iid: int, number: int, action: str) -> ResponseReturnValue:
        who = me()
        found = find(item, iid)
        note = next((each for each in found["notes"] if each["id"] == number and not each["system"]), None)
        if note is None:
            abort(404)
        if note["author_id"] != who["id"] and not project().may("maintainer"):
            abort(403, description="That is somebody else's comment.")
        text = request.form.get("text", "").strip()
        with database() as connection:
            if action == "delete":
                connection.execute("DELETE FROM notes WHERE id = ?", (number,))
            elif text:
                change("notes", number, text=text, updated=timestamp())
        return back(iid)

    @pages.post(f"/-/{kind}/<int:iid>/todo")
    def todo(iid: int) -> ResponseReturnValue:
        who = me()
        found = find(item, iid)
        with database():
            add_todo(who["id"], "marked", item, found["id"])
        flash("Added to your To-Do List.")
        return back(iid)

    @pages.post(f"/-/{kind}/<int:iid>/assign_self")
    def assign_self(iid: int) -> ResponseReturnValue:
        who = me()
        found = find(item, iid)
        if not project().may("reporter"):
            abort(403, description="That takes the role of reporter in this project.")
        with database():
            set_assignees(item, found["id"], {person["id"] for person in found["assignees"]} | {who["id"]})
            add_note(item, found["id"], f"assigned to @{who['username']}", system=True)
        return back(iid)
