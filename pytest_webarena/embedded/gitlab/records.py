"""What pages and API write alike: events, to-dos, comments, and the numbers of issues and merge requests."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from datetime import date

from flask import g

from pytest_webarena.embedded import clock
from pytest_webarena.embedded.gitlab.access import ROLES, level_of
from pytest_webarena.embedded.gitlab.text import mentioned
from pytest_webarena.embedded.web import database, timestamp

__all__ = [
    "add_event",
    "add_note",
    "add_todo",
    "change",
    "coming_day",
    "day",
    "insert",
    "next_iid",
    "people_of",
    "set_assignees",
    "set_labels",
    "set_reviewers",
]

TABLES = {"issue": "issues", "merge_request": "merge_requests"}


def insert(table: str, **values: object) -> int:
    """A new row; its number."""
    marks = ", ".join("?" * len(values))
    cursor = database().execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def change(table: str, number: int, **values: object) -> None:
    """Other values in a row."""
    pairs = ", ".join(f"{name} = ?" for name in values)
    database().execute(f"UPDATE {table} SET {pairs} WHERE id = ?", (*values.values(), number))


def day(text: str) -> str:
    """A day as it is stored: ``2025-12-31``; empty for an empty text. `ValueError` when it is none."""
    return date.fromisoformat(text).isoformat() if text else ""


def coming_day(text: str) -> str:
    """The last day of something that begins today. A `ValueError` says to visitors what is wrong."""
    try:
        found = day(text)
    except ValueError:
        raise ValueError("The expiration date must be a day, as 2025-12-31.") from None
    if found and found <= clock.today().isoformat():
        raise ValueError("The expiration date must be after today.")
    return found


def next_iid(table: str, project: int) -> int:
    """The number of the next issue, merge request or milestone of a project."""
    row = (
        database().execute(f"SELECT coalesce(max(iid), 0) + 1 FROM {table} WHERE project_id = ?", (project,)).fetchone()
    )
    return int(row[0])


def add_event(project: int, action: str, target: str = "", title: str = "") -> None:
    """Tell the project's activity what who asks has done."""
    insert("events", project_id=project, user_id=g.user["id"], action=action, target=target, title=title,
           created=timestamp())  # fmt: skip
    change("projects", project, updated=timestamp())


def add_note(
    item: str, number: int, text: str, *, system: bool = False, path: str = "", line: int | None = None
) -> int:
    """A comment, or a remark of the site itself, on an issue or merge request."""
    now = timestamp()
    change(TABLES[item], number, updated=now)
    if not system:
        notify_mentioned(item, number, text)
    return insert("notes", item=item, item_id=number, author_id=g.user["id"], text=text, system=int(system), path=path,
                  line=line, created=now, updated=now)  # fmt: skip


def notify_mentioned(item: str, number: int, text: str) -> None:
    """A to-do for everybody whom a text calls by ``@name``."""
    for name in mentioned(text):
        row = database().execute("SELECT id FROM users WHERE username = ?", (name,)).fetchone()
        if row is not None:
            add_todo(row[0], "mentioned", item, number)


def add_todo(user: int, action: str, item: str, number: int) -> None:
    """Something to do for somebody who may see it and did not cause it."""
    project = (
        database()
        .execute(
            f"SELECT projects.* FROM projects JOIN {TABLES[item]} AS items ON items.project_id = projects.id"
            " WHERE items.id = ?",
            (number,),
        )
        .fetchone()
    )
    person = database().execute("SELECT * FROM users WHERE id = ?", (user,)).fetchone()
    if not _may_see(project, person, item, number) or (user == g.user["id"] and action != "marked"):
        return
    insert("todos", user_id=user, author_id=g.user["id"], project_id=project["id"], action=action, item=item,
           item_id=number, created=timestamp())  # fmt: skip


def _may_see(project: sqlite3.Row, person: sqlite3.Row, item: str, number: int) -> bool:
    """Whether somebody may see an issue or merge request."""
    level = level_of(project, person)
    if level >= ROLES["reporter"]:
        return True
    if project["visibility"] == "private" and (not level or item == "merge_request"):
        return False
    if item == "merge_request":
        return True
    own = "SELECT 1 FROM issues WHERE id = :item AND (NOT confidential OR author_id = :person OR EXISTS (SELECT 1"
    own += " FROM assigned WHERE item = 'issue' AND item_id = issues.id AND user_id = :person))"
    return database().execute(own, {"item": number, "person": person["id"]}).fetchone() is not None


def set_labels(item: str, number: int, labels: Collection[int]) -> None:
    """Give an item these labels and no others."""
    database().execute("DELETE FROM labelled WHERE item = ? AND item_id = ?", (item, number))
    database().executemany("INSERT INTO labelled VALUES (?, ?, ?)", [(item, number, label) for label in sorted(labels)])


def set_assignees(item: str, number: int, people: Collection[int]) -> None:
    """Give an item to these people and no others; those who did not have it get a to-do."""
    rows = database().execute("SELECT user_id FROM assigned WHERE item = ? AND item_id = ?", (item, number)).fetchall()
    before = {row[0] for row in rows}
    database().execute("DELETE FROM assigned WHERE item = ? AND item_id = ?", (item, number))
    for person in sorted(people):
        database().execute("INSERT INTO assigned VALUES (?, ?, ?)", (item, number, person))
        if person not in before:
            add_todo(person, "assigned", item, number)


def set_reviewers(number: int, people: Collection[int]) -> None:
    """Ask these people, and no others, to review a merge request."""
    rows = database().execute("SELECT user_id FROM reviewers WHERE merge_request_id = ?", (number,)).fetchall()
    before = {row[0] for row in rows}
    database().execute("DELETE FROM reviewers WHERE merge_request_id = ?", (number,))
    for person in sorted(people):
        database().execute("INSERT INTO reviewers VALUES (?, ?)", (number, person))
        if person not in before:
            add_todo(person, "review_requested", "merge_request", number)


def people_of(project: int) -> list[dict[str, object]]:
    """Everybody with a role in a project or its group, each once with the highest one."""
    rows = database().execute(
        "SELECT users.id, users.username, users.name, role, members.created, members.expires,"
        " namespaces.name AS source, namespaces.path AS source_path, members.id AS member_id,"
        " members.project_id IS NOT NULL AS direct"
        " FROM projects JOIN members ON members.project_id = projects.id"
        " OR members.namespace_id = projects.namespace_id JOIN users ON users.id = members.user_id"
        " LEFT JOIN namespaces ON namespaces.id = members.namespace_id"
        " WHERE projects.id = :project"
        " UNION ALL SELECT users.id, users.username, users.name, 'owner', namespaces.created, '', namespaces.name,"
        " namespaces.path, NULL, 1 FROM projects JOIN namespaces ON namespaces.id = namespace_id"
        " JOIN users ON users.id = namespaces.user_id WHERE projects.id = :project",
        {"project": project},
    )
    order = ("owner", "maintainer", "developer", "reporter", "guest")
    found: dict[int, dict[str, object]] = {}
    for row in sorted(rows, key=lambda row: order.index(row["role"])):
        found.setdefault(row["id"], dict(row))
    return sorted(found.values(), key=lambda row: str(row["name"]))
