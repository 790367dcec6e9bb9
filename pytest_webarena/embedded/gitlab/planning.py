"""Labels and milestones of a project."""

from __future__ import annotations

import re
from typing import Any

from flask import abort, flash, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import need, project, project_pages
from pytest_webarena.embedded.gitlab.listing import items
from pytest_webarena.embedded.gitlab.records import add_event, change, day, insert, next_iid
from pytest_webarena.embedded.web import database

__all__ = ["pages"]

pages = project_pages("planning")


@pages.get("/-/labels")
def labels() -> ResponseReturnValue:
    rows = (
        database()
        .execute(
            "SELECT labels.*, (SELECT count(*) FROM labelled JOIN issues ON item = 'issue' AND item_id = issues.id"
            " WHERE label_id = labels.id AND state = 'opened') AS issues FROM labels WHERE project_id = ?"
            " ORDER BY lower(title)",
            (project().id,),
        )
        .fetchall()
    )
    return render_template("labels.html", tab="labels", rows=rows)


@pages.route("/-/labels/new", methods=["GET", "POST"])
@pages.route("/-/labels/<int:number>/edit", methods=["GET", "POST"])
def label(number: int = 0) -> ResponseReturnValue:
    need("reporter")
    found = _label(number) if number else None
    form = {name: request.form.get(name, found[name] if found else "").strip()[:255]
            for name in ("title", "description", "color")}  # fmt: skip
    form["color"] = form["color"] or "#2a5a94"
    error = ""
    if request.method == "POST":
        taken = (
            database()
            .execute(
                "SELECT 1 FROM labels WHERE project_id = ? AND title = ? AND id <> ?",
                (project().id, form["title"], number),
            )
            .fetchone()
        )
        if not form["title"]:
            error = "Title can't be blank."
        elif not re.fullmatch("#[0-9a-fA-F]{6}", form["color"]):
            error = "The colour must look like #2a5a94."
        elif taken:
            error = "Title has already been taken."
        else:
            with database():
                if found:
                    change("labels", number, **form)
                else:
                    insert("labels", project_id=project().id, **form)
            return redirect(f"{project().url}/-/labels", 303)
    return render_template("label_form.html", tab="labels", form=form, found=found, error=error), 422 if error else 200


def _label(number: int) -> Any:
    row = database().execute("SELECT * FROM labels WHERE id = ? AND project_id = ?", (number, project().id)).fetchone()
    if row is None:
        abort(404)
    return row


@pages.post("/-/labels/<int:number>/delete")
def delete_label(number: int) -> ResponseReturnValue:
    need("reporter")
    found = _label(number)
    with database() as connection:
        connection.execute("DELETE FROM labels WHERE id = ?", (found["id"],))
    flash(f"Label {found['title']} was removed.")
    return redirect(f"{project().url}/-/labels", 303)


@pages.get("/-/milestones")
def milestones() -> ResponseReturnValue:
    state = request.args.get("state", "opened")
    rows = (
        database()
        .execute(
            "SELECT milestones.*, count(issues.id) AS issues, coalesce(sum(issues.state = 'closed'), 0) AS closed"
            " FROM milestones LEFT JOIN issues ON milestone_id = milestones.id WHERE milestones.project_id = ?"
            " AND (? = 'all' OR milestones.state = ?) GROUP BY milestones.id"
            " ORDER BY milestones.due_date = '', milestones.due_date, milestones.iid",
            (project().id, state, "closed" if state == "closed" else "active"),
        )
        .fetchall()
    )
    return render_template("milestones.html", tab="milestones", rows=rows, state=state)


def _milestone(iid: int) -> Any:
    row = database().execute(
        "SELECT * FROM milestones WHERE project_id = ? AND iid = ?", (project().id, iid)
    ).fetchone()  # fmt: skip
    if row is None:
        abort(404)
    return row


@pages.get("/-/milestones/<int:iid>")
def milestone(iid: int) -> ResponseReturnValue:
    found = _milestone(iid)
    rows = {
        kind: items(kind, project=project().id, milestone_title=found["title"], state="all", every=True)["rows"]
        for kind in ("issues", "merge_requests")
    }
    return render_template("milestone.html", tab="milestones", found=found, **rows)


@pages.route("/-/milestones/new", methods=["GET", "POST"])
@pages.route("/-/milestones/<int:iid>/edit", methods=["GET", "POST"])
def edit_milestone(iid: int = 0) -> ResponseReturnValue:
    need("reporter")
    found = _milestone(iid) if iid else None
    names = ("title", "description", "start_date", "due_date")
    form = {name: request.form.get(name, found[name] if found else "").strip()[:2000] for name in names}
    error = ""
    if request.method == "POST":
        try:
            form |= {name: day(form[name]) for name in names[2:]}
            days = [form[name] for name in names[2:] if form[name]]
        except ValueError:
            error, days = "Dates must be days, as 2025-12-31.", []
        if not form["title"]:
            error = "Title can't be blank."
        elif days != sorted(days):
            error = "Due date must be after start date."
        if not error:
            with database():
                if found:
                    change("milestones", found["id"], **form)
                else:
                    iid = next_iid("milestones", project().id)
                    insert("milestones", project_id=project().id, iid=iid, **form)
                    add_event(project().id, "opened milestone", "", form["title"])
            return redirect(f"{project().url}/-/milestones/{iid}", 303)
    page = render_template("milestone_form.html", tab="milestones", form=form, found=found, error=error)
    return page, 422 if error else 200


@pages.post("/-/milestones/<int:iid>/<any('close', 'reopen', 'delete'):action>")
def change_milestone(iid: int, action: str) -> ResponseReturnValue:
    need("reporter")
    found = _milestone(iid)
    with database() as connection:
        if action == "delete":
            connection.execute("DELETE FROM milestones WHERE id = ?", (found["id"],))
        else:
            change("milestones", found["id"], state="closed" if action == "close" else "active")
    return redirect(f"{project().url}/-/milestones{'' if action == 'delete' else f'/{iid}'}", 303)
