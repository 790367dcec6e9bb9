"""Issues: the list, one of them, writing and changing it."""

from __future__ import annotations

from typing import Any

from flask import abort, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import me, project, project_pages
from pytest_webarena.embedded.gitlab.listing import items
from pytest_webarena.embedded.gitlab.records import add_event, add_note, change, insert, next_iid, notify_mentioned
from pytest_webarena.embedded.gitlab.talking import (
    choices,
    find,
    form_of,
    may_change,
    problem,
    save_parts,
    submitted_edit,
    talk_routes,
)
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["create_issue", "pages", "update_issue"]

pages = project_pages("issues")
talk_routes(pages, "issue")


def create_issue(form: dict[str, Any]) -> int:
    """A new issue of this project; its number there. Labels and the like are for members."""
    who, now = me(), timestamp()
    iid = next_iid("issues", project().id)
    number = insert(
        "issues", project_id=project().id, iid=iid, title=form["title"], description=form["description"],
        author_id=who["id"], due_date=form["due_date"] if project().may("guest") else "",
        confidential=int(bool(form["confidential"])), created=now, updated=now,
    )  # fmt: skip
    if project().may("guest"):
        save_parts("issue", number, form)
    notify_mentioned("issue", number, form["description"])
    add_event(project().id, "opened", f"#{iid}", form["title"])
    return iid


def update_issue(found: dict[str, Any], form: dict[str, Any]) -> None:
    """Other contents; the site tells of a changed title."""
    change("issues", found["id"], title=form["title"], description=form["description"], updated=timestamp())
    if project().may("reporter"):
        change("issues", found["id"], due_date=form["due_date"], confidential=int(bool(form["confidential"])))
        save_parts("issue", found["id"], form)
    if form["title"] != found["title"]:
        add_note("issue", found["id"], f"changed title from {found['title']} to {form['title']}", system=True)


@pages.get("/-/issues")
def index() -> ResponseReturnValue:
    return render_template("items.html", heading="Issues", tab="issues", **items("issues", project=project().id),
                           **choices())  # fmt: skip


@pages.route("/-/issues/new", methods=["GET"])
def new() -> ResponseReturnValue:
    me()
    return _form(form_of("issue"))


@pages.post("/-/issues")
def create() -> ResponseReturnValue:
    me()
    form = form_of("issue")
    if error := problem(form):
        return _form(form, error=error)
    with database():
        iid = create_issue(form)
    return redirect(f"{project().url}/-/issues/{iid}", 303)


def _form(form: dict[str, Any], *, found: dict[str, Any] | None = None, error: str = "") -> ResponseReturnValue:
    page = render_template("item_form.html", item="issue", kind="issues", tab="issues", form=form, found=found,
                           error=error, **choices())  # fmt: skip
    return page, 422 if error else 200


@pages.get("/-/issues/<int:iid>")
def show(iid: int) -> ResponseReturnValue:
    found = find("issue", iid)
    return render_template("item.html", item="issue", kind="issues", tab="issues", found=found,
                           may=may_change("issue", found))  # fmt: skip


@pages.route("/-/issues/<int:iid>/edit", methods=["GET", "POST"])
def edit(iid: int) -> ResponseReturnValue:
    found, form, error = submitted_edit("issue", iid)
    if error or request.method == "GET":
        return _form(form, found=found, error=error)
    with database():
        update_issue(found, form)
    return redirect(f"{project().url}/-/issues/{iid}", 303)


@pages.post("/-/issues/<int:iid>/delete")
def delete(iid: int) -> ResponseReturnValue:
    me()
    found = find("issue", iid)
    if not project().may("owner"):
        abort(403, description="Only owners may delete issues.")
    with database() as connection:
        for table in ("notes", "labelled", "assigned", "todos"):
            connection.execute(f"DELETE FROM {table} WHERE item = 'issue' AND item_id = ?", (found["id"],))
        connection.execute("DELETE FROM issues WHERE id = ?", (found["id"],))
    return redirect(f"{project().url}/-/issues", 303)
