"""Changing a repository in the browser: files, branches, tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from flask import abort, flash, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import me, need, project, project_pages, store
from pytest_webarena.embedded.gitlab.file_pages import split_ref
from pytest_webarena.embedded.gitlab.objects import FOLDER, SUBMODULE
from pytest_webarena.embedded.gitlab.projects import signature
from pytest_webarena.embedded.gitlab.records import add_event, change
from pytest_webarena.embedded.gitlab.store import is_text, valid_branch
from pytest_webarena.embedded.web import database

__all__ = ["Refused", "branch_of", "commit_change", "done", "pages", "valid_path", "writer"]

pages = project_pages("web_edit", code=True)


class Refused(Exception):
    """Why something can't be committed."""


def valid_path(path: str) -> bool:
    """Whether a file may be called so."""
    return bool(path) and all(
        part not in ("", ".", "..", ".git") and not re.search(r"[\x00-\x1f\\]", part) for part in path.split("/")
    )


def commit_change(
    branch: str, onto: str, changes: Mapping[str, str | bytes | None], message: str, expected: str = ""
) -> str:
    """Commit what files hold (None: deleted) on top of ``branch``, into ``onto``; the commit. Raises `Refused`."""
    found, kept = project(), store()
    refs = kept.refs(found.id)
    tip = refs.get(branch)
    if not message.strip():
        raise Refused("A commit needs a message.")
    if onto != branch and onto in refs:
        raise Refused(f"A branch called '{onto}' already exists. Choose another name.")
    if not valid_branch(onto):
        raise Refused(f"'{onto}' can't be the name of a branch.")
    if not found.may_push(onto) or (not refs and not found.may("maintainer")):
        raise Refused(f"You are not allowed to push into the branch '{onto}'.")
    if expected and tip != expected and onto == branch:
        raise Refused("Somebody changed the branch while you were writing. Look at the newest version and try again.")
    files = kept.files(tip) if tip else {}
    for path, text in changes.items():
        if not valid_path(path) or any(each.startswith(f"{path}/") or path.startswith(f"{each}/") for each in files):
            raise Refused(f"'{path}' can't be the path of a file.")
        if text is None:
            files.pop(path, None)
        else:
            files[path] = kept.blob(text)
    sha = kept.commit(files, [tip] if tip else [], signature(), message.strip().replace("\r\n", "\n"))
    kept.set_ref(found.id, f"refs/heads/{onto}", sha)
    if not refs:
        change("projects", found.id, default_branch=onto)
    add_event(found.id, "pushed to", onto, message.strip().partition("\n")[0])
    return sha


def branch_of(rest: str) -> tuple[str, str, str]:
    """Commit, name and path of ``BRANCH/path``; 404 for what is no branch."""
    tip, branch, path = split_ref(rest)
    if branch not in store().refs(project().id):
        abort(404)
    return tip, branch, path


def writer() -> None:
    """Who asks must be able to push somewhere; others are told to fork."""
    me()
    if not project().may("developer"):
        abort(403, description="You are not allowed to edit files in this project directly. Fork it, and make your"
              " changes there.")  # fmt: skip


def _page(kind: str, branch: str, path: str, text: str, tip: str, error: str = "", message: str = "", onto: str = "",
          ) -> ResponseReturnValue:  # fmt: skip
    page = render_template(
        "edit.html", tab="files", kind=kind, branch=branch, path=path, text=text, tip=tip, error=error,
        message=message, onto=onto or (branch if project().may_push(branch) else f"patch-{tip[:5] or '1'}"),
    )  # fmt: skip
    return page, 422 if error else 200


@pages.route("/-/new/<path:rest>", methods=["GET", "POST"])
def new(rest: str) -> ResponseReturnValue:
    writer()
    if not store().refs(project().id):
        tip, branch, folder = "", rest, ""
    else:
        tip, branch, folder = branch_of(rest)
    if request.method == "GET":
        start = f"{folder}/" if folder else ""
        return _page("new", branch, start + request.args.get("file_name", ""), "", tip)
    path = request.form.get("path", "").strip().strip("/")
    if tip and store().find(store().tree_of(tip), path):
        return _page("new", branch, path, request.form.get("text", ""), tip, "A file with this name already exists.",
                     request.form.get("message", ""), request.form.get("branch", ""))  # fmt: skip
    return _commit("new", branch, path, path, tip)


@pages.route("/-/edit/<path:rest>", methods=["GET", "POST"])
def edit(rest: str) -> ResponseReturnValue:
    writer()
    tip, branch, path = branch_of(rest)
    entry = store().find(store().tree_of(tip), path)
    if entry is None or not path or entry.mode in (FOLDER, SUBMODULE):
        abort(404)
    data = store().get(entry.sha)[1]
    if not is_text(data):
        flash("This file is no text, so it can't be edited here. It can be replaced by another one.")
        return redirect(f"{project().url}/-/replace/{quote(rest)}", 303)
    if request.method == "GET":
        return _page("edit", branch, path, data.decode(), tip)
    renamed = request.form.get("path", path).strip().strip("/")
    if renamed != path and store().find(store().tree_of(tip), renamed):
        error = "A file with this name already exists."
        return _page("edit", branch, renamed, request.form.get("text", ""), tip, error,
                     request.form.get("message", ""), request.form.get("branch", ""))  # fmt: skip
    return _commit("edit", branch, path, renamed, tip)


def _commit(kind: str, branch: str, path: str, renamed: str, tip: str) -> ResponseReturnValue:
    # Browsers send line ends as CR LF; git's files have LF.
    text = request.form.get("text", "").replace("\r\n", "\n")
    if text and not text.endswith("\n"):
        text += "\n"
    changes: dict[str, str | None] = {path: None, renamed: text} if renamed != path else {path: text}
    onto = request.form.get("branch", branch).strip() or branch
    default = f"{'Add new file' if kind == 'new' else f'Update {renamed}'}"
    message = request.form.get("message", "").strip() or default
    try:
        with database():
            commit_change(branch, onto, changes, message, request.form.get("tip", ""))
    except Refused as refused:
        return _page(kind, branch, renamed, text, tip, str(refused), message, onto)
    return done(branch, onto, f"{project().url}/-/blob/{quote(onto)}/{quote(renamed)}")


def done(branch: str, onto: str, target: str) -> ResponseReturnValue:
    """Where somebody is sent after a commit: to what they made, or to the form that proposes it."""
    flash("Your changes have been successfully committed.")
    if onto != branch and request.form.get("merge_request"):
        query = urlencode({"merge_request[source_branch]": onto, "merge_request[target_branch]": branch})
        return redirect(f"{project().url}/-/merge_requests/new?{query}", 303)
    return redirect(target, 303)


@pages.route("/-/delete/<path:rest>", methods=["GET", "POST"])
def delete(rest: str) -> ResponseReturnValue:
    writer()
    tip, branch, path = branch_of(rest)
    if not path or path not in store().files(tip):
        abort(404)
    if request.method == "GET":
        return _page("delete", branch, path, "", tip)
    onto = request.form.get("branch", branch).strip() or branch
    message = request.form.get("message", "").strip() or f"Delete {path.rpartition('/')[2]}"
    try:
        with database():
            commit_change(branch, onto, {path: None}, message)
    except Refused as refused:
        return _page("delete", branch, path, "", tip, str(refused), message, onto)
    return done(branch, onto, f"{project().url}/-/tree/{quote(onto)}")


@pages.get("/-/branches")
@pages.get("/-/branches/<any('all', 'active'):kind>")
def branches(kind: str = "") -> ResponseReturnValue:
    return _branches()


def _branches(error: str = "", name: str = "") -> ResponseReturnValue:
    found, kept = project(), store()
    refs = kept.refs(found.id)
    default = refs.get(found.branch)
    wanted = request.args.get("search", "").strip().lower()
    rows = []
    for branch, tip in refs.items():
        if wanted not in branch.lower():
            continue
        commit = kept.history(tip, limit=1)[0]
        ahead = len(kept.history(tip, without=default)) if default else 0
        behind = len(kept.history(default, without=tip)) if default else 0
        rows.append((branch, commit, ahead, behind))
    rows.sort(key=lambda row: row[1]["committed"], reverse=True)
    page = render_template("branches.html", tab="branches", rows=rows, names=list(refs), error=error, name=name)
    return page, 422 if error else 200


@pages.post("/-/branches")
def create_branch() -> ResponseReturnValue:
    need("developer")
    found, kept = project(), store()
    name, start = request.form.get("branch_name", "").strip(), request.form.get("ref", found.branch).strip()
    tip = kept.resolve(found.id, start)
    if tip is None:
        return _branches(f"There is no branch, tag or commit '{start}'.", name)
    if not valid_branch(name):
        return _branches(f"'{name}' can't be the name of a branch.", name)
    if name in kept.refs(found.id):
        return _branches(f"A branch called '{name}' already exists.", name)
    with database():
        kept.set_ref(found.id, f"refs/heads/{name}", tip)
        add_event(found.id, "pushed new branch", name)
    flash(f"Branch {name} was created.")
    return redirect(f"{found.url}/-/tree/{quote(name)}", 303)


@pages.post("/-/branches/delete")
def delete_branch() -> ResponseReturnValue:
    need("developer")
    found, name = project(), request.form.get("branch_name", "")
    if name not in store().refs(found.id):
        abort(404)
    if name == found.branch:
        abort(403, description="The default branch is protected and can't be deleted.")
    with database():
        store().set_ref(found.id, f"refs/heads/{name}", None)
        add_event(found.id, "deleted branch", name)
    flash(f"Branch {name} was deleted.")
    return redirect(f"{found.url}/-/branches", 303)


@pages.post("/-/tags")
def create_tag() -> ResponseReturnValue:
    need("developer")
    found, kept = project(), store()
    name, start = request.form.get("tag_name", "").strip(), request.form.get("ref", found.branch).strip()
    tip = kept.resolve(found.id, start)
    if tip is None or not valid_branch(name) or name in kept.refs(found.id, "refs/tags/"):
        flash(f"There can't be such a tag: '{name}' from '{start}'.")
        return redirect(f"{found.url}/-/tags", 303)
    with database():
        kept.set_ref(found.id, f"refs/tags/{name}", tip)
        add_event(found.id, "pushed new tag", name)
    flash(f"Tag {name} was created.")
    return redirect(f"{found.url}/-/tags", 303)
