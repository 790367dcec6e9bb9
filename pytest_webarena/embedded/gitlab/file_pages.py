"""Reading a repository: folders, files, who wrote which line, commits, branches, tags, comparisons."""

from __future__ import annotations

import sqlite3
from typing import Any
from urllib.parse import quote, urlencode

from flask import Response, abort, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.gitlab.access import project, project_pages, store
from pytest_webarena.embedded.gitlab.diffs import blame as blamed
from pytest_webarena.embedded.gitlab.diffs import diff
from pytest_webarena.embedded.gitlab.objects import FOLDER, Entry
from pytest_webarena.embedded.gitlab.store import is_text
from pytest_webarena.embedded.web import database

__all__ = ["folder", "pages", "picture", "split_ref"]

pages = project_pages("files", code=True)

_PER_PAGE = 40
_PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
TEXT = "text/plain; charset=utf-8"


def split_ref(rest: str) -> tuple[str, str, str]:
    """Commit, name of branch (or tag, or hash) and path of ``BRANCH/path``; branches may have slashes themselves."""
    parts = rest.strip("/").split("/")
    for size in range(len(parts), 0, -1):
        name = "/".join(parts[:size])
        tip = store().resolve(project().id, name)
        if tip is not None:
            return tip, name, "/".join(parts[size:])
    return abort(404)


def folder(tip: str, ref: str, path: str) -> dict[str, Any]:
    """What the page of a folder shows."""
    kept = store()
    found = kept.find(kept.tree_of(tip), path)
    if found is None or found.mode != FOLDER:
        abort(404)
    entries = sorted(kept.tree(found.sha), key=lambda entry: (entry.mode != FOLDER, entry.name.lower()))
    readme = next((entry for entry in entries if entry.name.lower() in ("readme.md", "readme")), None)
    text = kept.content(readme.sha).decode("utf-8", "replace") if readme and readme.mode != FOLDER else ""
    return {
        "tip": _commit(tip), "ref": ref, "path": path, "entries": entries, "changes": kept.last_changes(tip, path),
        "readme": readme.name if readme else "", "readme_text": text, "commits": kept.count(tip),
        "base": f"{path}/" if path else "", "branches": list(kept.refs(project().id)),
        "tags": list(kept.refs(project().id, "refs/tags/")), "FOLDER": FOLDER,
    }  # fmt: skip


def _commit(sha: str) -> sqlite3.Row:
    row: sqlite3.Row = database().execute(
        "SELECT commits.*, users.username FROM commits LEFT JOIN users ON users.email = author_email WHERE sha = ?",
        (sha,),
    ).fetchone()  # fmt: skip
    return row


def picture(data: bytes) -> str:
    """Which kind of picture a file is, for those that can be shown; drawings as text may hold scripts and are not."""
    return next((kind for start, kind in _PICTURES.items() if data.startswith(start)), "")


def _entry(tip: str, path: str) -> Entry:
    found = store().find(store().tree_of(tip), path)
    if found is None:
        abort(404)
    return found


@pages.get("/-/go/<any('tree', 'commits'):kind>")
def go(kind: str) -> ResponseReturnValue:
    """Where the form that switches branches leads."""
    ref, path = request.args.get("ref", project().branch), request.args.get("path", "")
    narrowed = {key: request.args[key] for key in ("author", "search") if request.args.get(key)}
    query = f"?{urlencode(narrowed)}" if narrowed else ""
    return redirect(f"{project().url}/-/{kind}/{quote(ref)}{'/' if path else ''}{quote(path)}{query}", 302)


@pages.get("/-/tree/<path:rest>")
def tree(rest: str) -> ResponseReturnValue:
    tip, ref, path = split_ref(rest)
    if _entry(tip, path).mode != FOLDER:
        return redirect(f"{project().url}/-/blob/{quote(rest)}", 302)
    return render_template("tree.html", tab="files", **folder(tip, ref, path))


@pages.get("/-/blob/<path:rest>")
def blob(rest: str) -> ResponseReturnValue:
    tip, ref, path = split_ref(rest)
    found = _entry(tip, path)
    if found.mode == FOLDER:
        return redirect(f"{project().url}/-/tree/{quote(rest)}", 302)
    data = store().content(found.sha)
    last = store().history(tip, path=path, limit=1)
    plain = request.args.get("plain") == "1" or not path.lower().endswith(".md")
    return render_template(
        "blob.html", tab="files", ref=ref, path=path, size=len(data), binary=not is_text(data), picture=picture(data),
        text=data.decode("utf-8", "replace"), plain=plain, last=last[0] if last else None,
        on_branch=ref in store().refs(project().id), base=f"{path.rpartition('/')[0]}/".lstrip("/"),
    )  # fmt: skip


@pages.get("/-/raw/<path:rest>")
def raw(rest: str) -> ResponseReturnValue:
    tip, _, path = split_ref(rest)
    found = _entry(tip, path)
    if found.mode == FOLDER:
        abort(404)
    data = store().content(found.sha)
    return Response(data, content_type=picture(data) or (TEXT if is_text(data) else "application/octet-stream"))


@pages.get("/-/blame/<path:rest>")
def blame(rest: str) -> ResponseReturnValue:
    tip, ref, path = split_ref(rest)
    found = _entry(tip, path)
    if found.mode == FOLDER:
        abort(404)
    if not is_text(store().content(found.sha)):
        return redirect(f"{project().url}/-/blob/{quote(rest)}", 302)
    lines = blamed(store(), tip, path)
    commits = {sha: _commit(sha) for sha in {sha for sha, _ in lines}}
    return render_template("blame.html", tab="files", ref=ref, path=path, lines=lines, commits=commits)


@pages.get("/-/commits")
@pages.get("/-/commits/<path:rest>")
def commits(rest: str = "") -> ResponseReturnValue:
    if not store().refs(project().id):
        return render_template("commits.html", tab="commits", ref=project().branch, path="", days=[], page=1,
                               more=False, branches=[], author="", search="", authors=[])  # fmt: skip
    tip, ref, path = split_ref(rest or project().branch)
    page = max(request.args.get("page", 1, type=int) or 1, 1)
    author, search = request.args.get("author", "").strip()[:100], request.args.get("search", "").strip()[:100]
    found = store().history(tip, path=path, author=author, search=search, limit=_PER_PAGE + 1,
                            skip=(page - 1) * _PER_PAGE)  # fmt: skip
    authors = sorted({row["author"] for row in store().history(tip)})
    return render_template(
        "commits.html", tab="commits", ref=ref, path=path, days=_by_day(found[:_PER_PAGE]), page=page,
        more=len(found) > _PER_PAGE, branches=list(store().refs(project().id)), author=author, search=search,
        authors=authors,
    )  # fmt: skip


def _by_day(rows: list[sqlite3.Row]) -> list[tuple[str, list[sqlite3.Row]]]:
    days: dict[str, list[sqlite3.Row]] = {}
    for row in rows:
        days.setdefault(row["committed"][:10], []).append(row)
    return list(days.items())


@pages.get("/-/commit/<sha>")
def commit(sha: str) -> ResponseReturnValue:
    found = store().resolve(project().id, sha)
    if found is None or not found.startswith(sha):
        abort(404)
    parents = store().parents(found)
    before = store().files(parents[0]) if parents else {}
    named = [name for name, tip in store().refs(project().id).items() if store().is_ancestor(found, tip)]
    return render_template(
        "commit.html", tab="commits", commit=_commit(found), parents=parents, branches=named,
        diffs=diff(store(), before, store().files(found)),
    )  # fmt: skip


@pages.get("/-/tags")
def tags() -> ResponseReturnValue:
    found = [
        (name, _commit(store().peeled(sha)))
        for name, sha in sorted(
            store().refs(project().id, "refs/tags/").items(),
            key=lambda pair: _commit(store().peeled(pair[1]))["committed"], reverse=True,
        )
    ]  # fmt: skip
    return render_template("tags.html", tab="tags", tags=found)


@pages.get("/-/compare")
@pages.get("/-/compare/<path:pair>")
def compare(pair: str = "") -> ResponseReturnValue:
    if "from" in request.args:
        return redirect(
            f"{project().url}/-/compare/{quote(request.args['from'])}...{quote(request.args.get('to', ''))}"
        )
    names = {"branches": list(store().refs(project().id)), "tags": list(store().refs(project().id, "refs/tags/"))}
    start, dots, end = pair.partition("...")
    if not dots:
        return render_template("compare.html", tab="branches", **names, start=project().branch, end=project().branch,
                               commits=None, diffs=[])  # fmt: skip
    ours, theirs = store().resolve(project().id, start), store().resolve(project().id, end)
    if ours is None or theirs is None:
        abort(404)
    base = store().merge_base(ours, theirs)
    return render_template(
        "compare.html", tab="branches", **names, start=start, end=end,
        commits=store().history(theirs, without=ours),
        diffs=diff(store(), store().files(base) if base else {}, store().files(theirs)),
    )  # fmt: skip


@pages.get("/-/graphs/<path:rest>")
def contributors(rest: str) -> ResponseReturnValue:
    tip, ref, _ = split_ref(rest)
    found: dict[tuple[str, str], list[sqlite3.Row]] = {}
    for row in store().history(tip):
        if len(store().parents(row["sha"])) < 2:
            found.setdefault((row["author"], row["author_email"]), []).append(row)
    people = sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return render_template("contributors.html", tab="commits", ref=ref, people=people,
                           most=len(people[0][1]) if people else 1)  # fmt: skip
