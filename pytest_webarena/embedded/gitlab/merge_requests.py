"""Merge requests: the list, one of them with commits and changes, making, approving and merging it."""

from __future__ import annotations

from typing import Any

from flask import abort, flash, g, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import Project, find_project, me, project, project_pages, store
from pytest_webarena.embedded.gitlab.diffs import diff
from pytest_webarena.embedded.gitlab.listing import items
from pytest_webarena.embedded.gitlab.merging import Conflict, merge_files
from pytest_webarena.embedded.gitlab.objects import Signature
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

__all__ = ["Unmergeable", "create_request", "merge", "pages", "standing"]

pages = project_pages("merge_requests", code=True)
talk_routes(pages, "merge_request")


class Unmergeable(Exception):
    """Why a merge request can't be merged."""


def standing(found: dict[str, Any]) -> dict[str, Any]:
    """Where the branches of a merge request stand, what is between them, and whether they can be merged."""
    kept = store()
    if found["state"] != "merged":
        head = kept.refs(found["source_project_id"]).get(found["source_branch"]) if found["source_project_id"] else None
        target = kept.refs(project().id).get(found["target_branch"])
    else:
        head, target = found["head_sha"] or None, found["base_sha"] or None
    if head is None or target is None:
        return {"head": None, "target": None, "base": None, "commits": [], "diffs": [], "conflicts": (), "why": "gone"}
    base = kept.merge_base(target, head)
    commits = kept.history(head, without=base or "")
    before, after = kept.files(base) if base else {}, kept.files(head)
    why, conflicts = "", tuple[str, ...]()
    if found["state"] == "opened":
        if not commits:
            why = "empty"
        else:
            try:
                merge_files(kept, before, kept.files(target), after, keep=False)
            except Conflict as conflict:
                why, conflicts = "conflict", conflict.paths
    return {"head": head, "target": target, "base": base, "commits": commits, "diffs": diff(kept, before, after),
            "conflicts": conflicts, "why": why}  # fmt: skip


def is_draft(title: str) -> bool:
    """Whether a title says that it is not ready."""
    return title.lower().startswith(("draft:", "[draft]", "(draft)"))


@pages.get("/-/merge_requests")
def index() -> ResponseReturnValue:
    return render_template("items.html", heading="Merge requests", tab="merge_requests",
                           **items("merge_requests", project=project().id), **choices())  # fmt: skip


def _targets() -> list[Project]:
    """Where this project's branches can be merged to."""
    found = [project()]
    if origin := project().row["forked_from"]:
        upstream = find_project(int(origin))
        if upstream and upstream.code:
            found.insert(0, upstream)
    return found


def _given(name: str) -> str:
    return request.values.get(f"merge_request[{name}]", "").strip()


@pages.get("/-/merge_requests/new")
def new() -> ResponseReturnValue:
    me()
    return _new("")


def _new(error: str) -> ResponseReturnValue:
    found, kept = project(), store()
    targets = _targets()
    wanted = _given("target_project_id")
    target = next((each for each in targets if str(each.id) == wanted), targets[0])
    source, onto = _given("source_branch"), _given("target_branch") or target.branch
    branches = {"branches": list(kept.refs(found.id)), "targets": targets, "target": target,
                "onto_branches": {each.id: list(kept.refs(each.id)) for each in targets}}  # fmt: skip
    head, base = kept.refs(found.id).get(source), kept.refs(target.id).get(onto)
    if not source or head is None or base is None:
        if source and not error:
            error = f"There is no branch '{source if head is None else onto}'."
        page = render_template("request_branches.html", tab="merge_requests", source=source, onto=onto, error=error,
                               **branches)  # fmt: skip
        return page, 422 if error else 200
    commits = kept.history(head, without=kept.merge_base(base, head) or "")
    form = form_of("merge_request")
    if request.method == "GET":
        form["title"] = form["title"] or (commits[0]["message"].partition("\n")[0] if len(commits) == 1 else
                                          source.replace("-", " ").capitalize())  # fmt: skip
    g.project = target  # people, labels and milestones are those of the target
    chosen = choices()
    g.project = found
    page = render_template("item_form.html", item="merge_request", kind="merge_requests", tab="merge_requests",
                           form=form, found=None, error=error, source=source, onto=onto, commits=commits,
                           target=target, **chosen)  # fmt: skip
    return page, 422 if error else 200


def create_request(source: Project, branch: str, target: Project, onto: str, form: dict[str, Any]) -> int:
    """A new merge request of ``target``; its number there."""
    who, now = me(), timestamp()
    iid = next_iid("merge_requests", target.id)
    number = insert(
        "merge_requests", project_id=target.id, iid=iid, title=form["title"], description=form["description"],
        author_id=who["id"], source_project_id=source.id, source_branch=branch, target_branch=onto, created=now,
        updated=now,
    )  # fmt: skip
    before, g.project = project(), target
    if target.may("reporter") or source.id == target.id:
        save_parts("merge_request", number, form)
    notify_mentioned("merge_request", number, form["description"])
    add_event(target.id, "opened", f"!{iid}", form["title"])
    g.project = before
    return iid


def refused(source: Project, branch: str, target: Project, onto: str, form: dict[str, Any]) -> str:
    """Why there can't be such a merge request; empty if it can."""
    kept = store()
    if branch not in kept.refs(source.id) or onto not in kept.refs(target.id):
        return "Choose a branch of the source and one of the target."
    if source.id == target.id and branch == onto:
        return "Source and target branch can't be the same."
    if not source.may("developer"):
        return "You need the role of developer in the source project. Fork it, and start from your fork."
    again = (
        database()
        .execute(
            "SELECT iid FROM merge_requests WHERE project_id = ? AND source_project_id = ? AND source_branch = ?"
            " AND target_branch = ? AND state = 'opened'",
            (target.id, source.id, branch, onto),
        )
        .fetchone()
    )
    if again:
        return f"Another open merge request already exists for this source branch: !{again[0]}"
    return problem(form)


@pages.post("/-/merge_requests")
def create() -> ResponseReturnValue:
    me()
    targets = _targets()
    target = next((each for each in targets if str(each.id) == _given("target_project_id")), targets[-1])
    form = form_of("merge_request")
    branch, onto = _given("source_branch"), _given("target_branch")
    if error := refused(project(), branch, target, onto, form):
        return _new(error)
    with database():
        iid = create_request(project(), branch, target, onto, form)
    return redirect(f"{target.url}/-/merge_requests/{iid}", 303)


@pages.get("/-/merge_requests/<int:iid>")
@pages.get("/-/merge_requests/<int:iid>/<any('commits', 'diffs'):part>")
def show(iid: int, part: str = "") -> ResponseReturnValue:
    found = find("merge_request", iid)
    source = find_project(int(found["source_project_id"])) if found["source_project_id"] else None
    merger = database().execute("SELECT name FROM users WHERE id = ?", (found["merged_by_id"],)).fetchone()
    approvals = (
        database()
        .execute(
            "SELECT users.* FROM approvals JOIN users ON users.id = user_id WHERE merge_request_id = ?"
            " ORDER BY created",
            (found["id"],),
        )
        .fetchall()
    )
    return render_template(
        "item.html", item="merge_request", kind="merge_requests", tab="merge_requests", found=found, part=part,
        may=may_change("merge_request", found), source=source, standing=standing(found), draft=is_draft(found["title"]),
        merger=merger[0] if merger else "", approvals=approvals,
        approved=bool(g.user) and g.user["id"] in [person["id"] for person in approvals],
    )  # fmt: skip


@pages.route("/-/merge_requests/<int:iid>/edit", methods=["GET", "POST"])
def edit(iid: int) -> ResponseReturnValue:
    found, form, error = submitted_edit("merge_request", iid)
    if error or request.method == "GET":
        page = render_template("item_form.html", item="merge_request", kind="merge_requests", tab="merge_requests",
                               form=form, found=found, error=error, source=found["source_branch"],
                               onto=found["target_branch"], commits=None, target=project(), **choices())  # fmt: skip
        return page, 422 if error else 200
    with database():
        change("merge_requests", found["id"], title=form["title"], description=form["description"],
               updated=timestamp())  # fmt: skip
        if project().may("reporter"):
            save_parts("merge_request", found["id"], form)
        if form["title"] != found["title"]:
            add_note("merge_request", found["id"], f"changed title from {found['title']} to {form['title']}",
                     system=True)  # fmt: skip
    return redirect(f"{project().url}/-/merge_requests/{iid}", 303)


@pages.post("/-/merge_requests/<int:iid>/<any('approve', 'unapprove'):action>")
def approve(iid: int, action: str) -> ResponseReturnValue:
    who = me()
    found = find("merge_request", iid)
    if not project().may("developer") or found["state"] != "opened":
        abort(403, description="Approving takes the role of developer, and an open merge request.")
    with database() as connection:
        if action == "approve":
            connection.execute(
                "INSERT OR IGNORE INTO approvals VALUES (?, ?, ?)", (found["id"], who["id"], timestamp())
            )
        else:
            connection.execute(
                "DELETE FROM approvals WHERE merge_request_id = ? AND user_id = ?", (found["id"], who["id"])
            )
        add_note("merge_request", found["id"], f"{action}d this merge request", system=True)
        add_event(project().id, f"{action}d", f"!{iid}", found["title"])
    return redirect(f"{project().url}/-/merge_requests/{iid}", 303)


def merge(found: dict[str, Any], message: str, *, squash: bool = False, remove: bool = False) -> str:
    """Merge it; the commit. Raises `Unmergeable`."""
    who, kept = me(), store()
    if found["state"] != "opened":
        raise Unmergeable("It is not open.")
    if is_draft(found["title"]):
        raise Unmergeable("It is a draft: mark it as ready first.")
    if not project().may_push(found["target_branch"]):
        raise Unmergeable("You are not allowed to merge into this branch.")
    now = standing(found)
    if now["why"]:
        reasons = {"conflict": f"There are conflicts in {', '.join(now['conflicts'])}.", "empty": "Nothing to merge.",
                   "gone": "One of the branches is gone."}  # fmt: skip
        raise Unmergeable(reasons[now["why"]])
    files = merge_files(kept, kept.files(now["base"]) if now["base"] else {}, kept.files(now["target"]),
                        kept.files(now["head"]))  # fmt: skip
    author = Signature(name=who["name"], email=who["email"], time=timestamp())
    head = now["head"]
    if squash and len(now["commits"]) > 1:
        writer = database().execute("SELECT name, email FROM users WHERE id = ?", (found["author_id"],)).fetchone()
        whole = kept.files(head)
        head = kept.commit(whole, [now["base"]] if now["base"] else [],
                           Signature(name=writer[0], email=writer[1], time=author.time), found["title"])  # fmt: skip
    text = message.strip().replace("\r\n", "\n") or default_message(found)
    sha = kept.commit(files, [now["target"], head], author, text)
    kept.set_ref(project().id, f"refs/heads/{found['target_branch']}", sha)
    change("merge_requests", found["id"], state="merged", base_sha=now["target"], head_sha=head, merge_sha=sha,
           merged=timestamp(), merged_by_id=who["id"])  # fmt: skip
    add_note("merge_request", found["id"], "merged this merge request", system=True)
    add_event(project().id, "merged", f"!{found['iid']}", found["title"])
    source = find_project(int(found["source_project_id"]))
    if remove and source and source.may("developer") and found["source_branch"] != source.branch:
        kept.set_ref(source.id, f"refs/heads/{found['source_branch']}", None)
    return sha


def default_message(found: dict[str, Any]) -> str:
    """How a merge is called when nothing else is said."""
    return (
        f"Merge branch '{found['source_branch']}' into '{found['target_branch']}'\n\n{found['title']}\n\n"
        f"See merge request {project().path}!{found['iid']}"
    )


@pages.post("/-/merge_requests/<int:iid>/merge")
def merge_now(iid: int) -> ResponseReturnValue:
    me()
    found = find("merge_request", iid)
    try:
        with database():
            merge(found, request.form.get("message", ""), squash="squash" in request.form,
                  remove="remove_source_branch" in request.form)  # fmt: skip
    except Unmergeable as error:
        flash(f"It could not be merged. {error}")
    return redirect(f"{project().url}/-/merge_requests/{iid}", 303)


@pages.post("/-/merge_requests/<int:iid>/<any('ready', 'draft'):action>")
def ready(iid: int, action: str) -> ResponseReturnValue:
    me()
    found = find("merge_request", iid)
    if not may_change("merge_request", found):
        abort(403, description="Only its author, its assignees and members of the project may do that.")
    title = found["title"]
    if action == "ready" and is_draft(title):
        title = title.partition(":" if title.lower().startswith("draft:") else title[6])[2].strip() or "Ready"
    elif action == "draft" and not is_draft(title):
        title = f"Draft: {title}"
    with database():
        change("merge_requests", found["id"], title=title)
        add_note("merge_request", found["id"], f"marked this merge request as **{action}**", system=True)
    return redirect(f"{project().url}/-/merge_requests/{iid}", 303)
