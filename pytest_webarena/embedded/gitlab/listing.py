"""Lists of issues and merge requests, filtered by the parameters of a request, and paging."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import abort, g, request

from pytest_webarena.embedded.gitlab.access import holds, visible
from pytest_webarena.embedded.web import database

__all__ = ["confidence", "items", "labels_of", "paged", "readable", "visible_events"]

PER_PAGE = 20

_SORTS = {
    "created_date": ("Created date", "items.created DESC"),
    "created_asc": ("Oldest", "items.created"),
    "updated_desc": ("Updated date", "items.updated DESC"),
    "due_date": ("Due date", "due_date = '', due_date"),
    "title": ("Title", "lower(items.title)"),
}


def paged(rows: Sequence[Any]) -> dict[str, Any]:
    """The rows of the page that is asked for, and which one of how many it is."""
    page = request.args.get("page", 1, type=int) or 1
    last = max(-(-len(rows) // PER_PAGE), 1)
    if not 1 <= page <= last:
        abort(404)
    return {"rows": rows[(page - 1) * PER_PAGE : page * PER_PAGE], "page": page, "last": last, "total": len(rows)}


def items(kind: str, *, project: int = 0, every: bool = False, **fixed: str) -> dict[str, Any]:
    """Issues or merge requests that who asks may see, narrowed by parameters as WebArena's addresses have them.

    ``fixed`` are parameters that hold when the request does not give them; ``every``: without pages.
    """
    item = "issue" if kind == "issues" else "merge_request"
    filters = {name: request.args.get(name, fixed.get(name, "")).strip()
             for name in ("search", "author_username", "assignee_username", "reviewer_username", "milestone_title",
                          "sort", "project_path", "state")}  # fmt: skip
    filters = {**filters, **{name: value for name, value in fixed.items() if every}}
    labels = [label for label in (*request.args.getlist("label_name[]"), *request.args.getlist("label_name")) if label]
    state = filters["state"] = filters["state"] or "opened"
    visible_condition, values = visible()
    where = [visible_condition]
    if project:
        where.append("projects.id = :project")
    if filters["project_path"]:
        where.append("projects.full_path = :project_path")
    if filters["search"]:
        where.append("instr(lower(items.title || ' ' || items.description), lower(:search))")
    if filters["author_username"]:
        where.append("author.username = :author_username")
    assigned = f"SELECT 1 FROM assigned JOIN users ON users.id = user_id WHERE item = '{item}' AND item_id = items.id"
    if filters["assignee_username"].lower() == "none":
        where.append(f"NOT EXISTS ({assigned})")
    elif filters["assignee_username"]:
        where.append(f"EXISTS ({assigned} AND username = :assignee_username)")
    if filters["reviewer_username"] and item == "merge_request":
        reviews = "SELECT username FROM reviewers JOIN users ON users.id = user_id WHERE merge_request_id = items.id"
        where.append(f":reviewer_username IN ({reviews})")
    if filters["milestone_title"].lower() == "none":
        where.append("items.milestone_id IS NULL")
    elif filters["milestone_title"]:
        where.append("milestones.title = :milestone_title")
    for n, label in enumerate(labels):
        values[f"label{n}"] = label
        where.append(f"EXISTS (SELECT 1 FROM labelled JOIN labels ON labels.id = label_id WHERE item = '{item}'"
                     f" AND item_id = items.id AND labels.title = :label{n})")  # fmt: skip
    where.append(confidence() if item == "issue" else readable())
    values |= {**filters, "project": project}
    tables = (
        f"{kind} AS items JOIN projects ON projects.id = items.project_id JOIN users AS author"
        " ON author.id = items.author_id LEFT JOIN milestones ON milestones.id = items.milestone_id"
    )
    narrowed = " AND ".join(f"({each})" for each in where)
    numbers = dict(
        database().execute(f"SELECT items.state, count(*) FROM {tables} WHERE {narrowed} GROUP BY 1", values).fetchall()
    )
    numbers["all"] = sum(numbers.values())
    order = _SORTS.get(filters["sort"], _SORTS["created_date"])[1]
    if item == "merge_request" and filters["sort"] == "due_date":
        order = _SORTS["created_date"][1]
    rows = (
        database()
        .execute(
            "SELECT items.*, projects.full_path, author.name AS author, author.username AS author_username,"
            " milestones.title AS milestone, milestones.iid AS milestone_iid,"
            f" (SELECT count(*) FROM notes WHERE item = '{item}' AND item_id = items.id AND NOT system) AS comments"
            f" FROM {tables} WHERE ({narrowed}) AND (:state = 'all' OR items.state = :state)"
            f" ORDER BY {order}, items.id DESC",
            values,
        )
        .fetchall()
    )
    found = {"rows": rows} if every else paged(rows)
    shown = [row["id"] for row in found["rows"]]
    found["rows"] = [{**dict(row), "labels": labels, "assignees": people}
                     for row, labels, people in zip(found["rows"], labels_of(item, shown), _assignees(item, shown),
                                                    strict=True)]  # fmt: skip
    return {**found, "kind": kind, "state": state, "asked": filters, "numbers": numbers, "labels": labels,
            "sorts": {name: title for name, (title, _) in _SORTS.items()
                      if item == "issue" or name != "due_date"}}  # fmt: skip


def confidence() -> str:
    """An SQL condition: confidential issues (``items``) are for reporters and above, their authors and assignees."""
    viewer = int(g.user["id"]) if g.user else 0
    return (
        f"NOT items.confidential OR items.author_id = {viewer} OR EXISTS (SELECT 1 FROM assigned"
        f" WHERE assigned.item = 'issue' AND assigned.item_id = items.id AND assigned.user_id = {viewer})"
        f" OR {holds('reporter')}"
    )


def readable() -> str:
    """An SQL condition: files and merge requests of private projects are not for guests."""
    return f"projects.visibility <> 'private' OR {holds('reporter')}"


def visible_events() -> str:
    """An SQL condition for ``events``: what is told of a project shows nothing that its pages would not."""
    return (
        f"(substr(events.target, 1, 1) = '#' OR events.target = '' OR {readable()})"
        " AND NOT EXISTS (SELECT 1 FROM issues AS items WHERE items.project_id = projects.id"
        f" AND events.target = '#' || items.iid AND NOT ({confidence()}))"
    )


def labels_of(item: str, numbers: Sequence[int]) -> list[list[Any]]:
    """The labels of each of some items."""
    return _of(
        "SELECT item_id, labels.* FROM labelled JOIN labels ON labels.id = label_id WHERE item = ? AND item_id IN ({})"
        " ORDER BY title", item, numbers,
    )  # fmt: skip


def _assignees(item: str, numbers: Sequence[int]) -> list[list[Any]]:
    return _of(
        "SELECT item_id, users.* FROM assigned JOIN users ON users.id = user_id WHERE item = ? AND item_id IN ({})"
        " ORDER BY name", item, numbers,
    )  # fmt: skip


def _of(query: str, item: str, numbers: Sequence[int]) -> list[list[Any]]:
    found: dict[int, list[Any]] = {number: [] for number in numbers}
    for row in database().execute(query.format(", ".join("?" * len(numbers))), (item, *numbers)):
        found[row["item_id"]].append(row)
    return list(found.values())
