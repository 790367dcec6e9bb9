"""Files from a visitor's own machine: put into a folder of a repository, or in place of a file that is there."""

from __future__ import annotations

from urllib.parse import quote

from flask import abort, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import project, project_pages, store
from pytest_webarena.embedded.gitlab.objects import FOLDER, SUBMODULE
from pytest_webarena.embedded.gitlab.web_edit import Refused, branch_of, commit_change, done, writer
from pytest_webarena.embedded.web import database

__all__ = ["LARGEST", "pages"]

LARGEST = 2_000_000
"""Bytes of a file that can be uploaded."""

pages = project_pages("uploading", code=True)


@pages.before_request
def take_large_ones() -> None:
    """A file may be larger than what forms send elsewhere on this site."""
    request.max_content_length = LARGEST + 100_000


@pages.route("/-/upload/<path:rest>", methods=["GET", "POST"])
def upload(rest: str) -> ResponseReturnValue:
    """A new file in the folder of the address, or in the one that the form names."""
    writer()
    tip, branch, folder = branch_of(rest) if store().refs(project().id) else ("", rest, "")
    if folder:
        entry = store().find(store().tree_of(tip), folder)
        if entry is None or entry.mode != FOLDER:
            abort(404)
    if request.method == "GET":
        return _page(branch, folder, tip, replaced=False)
    folder = request.form.get("path", "").strip().strip("/")
    try:
        name, content = _file()
        path = f"{folder}/{name}" if folder else name
        if tip and store().find(store().tree_of(tip), path):
            raise Refused(f"'{path}' is there already. Open it and choose Replace.")
        return _commit(branch, path, content, f"Upload {name}")
    except Refused as refused:
        return _page(branch, folder, tip, replaced=False, error=str(refused))


@pages.route("/-/replace/<path:rest>", methods=["GET", "POST"])
def replace(rest: str) -> ResponseReturnValue:
    """Another file under the name of one that is there."""
    writer()
    tip, branch, path = branch_of(rest)
    entry = store().find(store().tree_of(tip), path)
    if entry is None or entry.mode in (FOLDER, SUBMODULE):
        abort(404)
    if request.method == "GET":
        return _page(branch, path, tip, replaced=True)
    try:
        return _commit(branch, path, _file()[1], f"Replace {path.rpartition('/')[2]}")
    except Refused as refused:
        return _page(branch, path, tip, replaced=True, error=str(refused))


def _file() -> tuple[str, bytes]:
    """Name and content of what was sent. Raises `Refused`."""
    sent = request.files.get("file")
    # Some browsers have sent whole paths; what counts is the name.
    name = (sent.filename or "").replace("\\", "/").rpartition("/")[2].strip() if sent else ""
    if sent is None or not name:
        raise Refused("Choose a file.")
    content = sent.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Refused(f"A file can have {LARGEST // 1000} kilobytes.")
    return name, content


def _commit(branch: str, path: str, content: bytes, default: str) -> ResponseReturnValue:
    onto = request.form.get("branch", branch).strip() or branch
    message = request.form.get("message", "").strip() or default
    with database():
        commit_change(branch, onto, {path: content}, message, request.form.get("tip", ""))
    return done(branch, onto, f"{project().url}/-/blob/{quote(onto)}/{quote(path)}")


def _page(branch: str, path: str, tip: str, *, replaced: bool, error: str = "") -> ResponseReturnValue:
    onto = request.form.get("branch", "") or (branch if project().may_push(branch) else f"patch-{tip[:5] or '1'}")
    page = render_template(
        "upload.html", tab="files", branch=branch, path=path, tip=tip, replaced=replaced, error=error, onto=onto,
        message=request.form.get("message", ""), most=LARGEST // 1000,
    )  # fmt: skip
    return page, 422 if error else 200
