"""Writing: posts and comments, changing and deleting one's own, votes."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from flask import Blueprint, abort, flash, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.reddit import accounts, listing
from pytest_webarena.embedded.reddit.accounts import back, find_forum, me, signed_in
from pytest_webarena.embedded.reddit.prose import is_web_address, slug
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["pages"]

LONGEST_TITLE = 200
LONGEST_BODY = 10_000
LONGEST_IMAGE = 200_000
_IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}

pages = Blueprint("posting", __name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What the form of a post holds."""

    forum: str = ""
    title: str = ""
    url: str = ""
    body: str = ""
    description: str = ""

    @classmethod
    def given(cls, forum: str) -> _Draft:
        values = {field: request.values.get(field, "").strip() for field in ("title", "url", "body", "description")}
        values["body"] = values["body"].replace("\r\n", "\n")
        return cls(forum=forum or request.values.get("forum", ""), **values)

    def problems(self) -> dict[str, str]:
        """Field name to what is wrong with it."""
        found = {}
        if not self.title:
            found["title"] = "A post needs a title."
        elif len(self.title) > LONGEST_TITLE:
            found["title"] = f"A title can have {LONGEST_TITLE} characters; this one has {len(self.title)}."
        if self.url and (not is_web_address(self.url) or len(self.url) > 500):
            found["url"] = "This is no web address; it has to begin with http:// or https://."
        if len(self.body) > LONGEST_BODY:
            found["body"] = f"A text can have {LONGEST_BODY} characters; this one has {len(self.body)}."
        return found


@pages.route("/submit", methods=["GET", "POST"], defaults={"name": ""})
@pages.route("/submit/<name>", methods=["GET", "POST"])
def submit(name: str) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    draft = _Draft.given(find_forum(name)["name"] if name else "")
    if request.method == "GET":
        return _form(draft, {})
    problems = draft.problems()
    forum = (
        database().execute("SELECT id, name FROM forums WHERE name = ?", (request.form.get("forum", ""),)).fetchone()
    )
    if forum is None:
        problems["forum"] = "Choose the forum that it belongs to."
    elif ban := accounts.banned(forum["id"]):
        problems["forum"] = f"You are banned from {forum['name']}: {ban['reason']}"
    image = _image(problems)
    if image and draft.url:
        problems["url"] = "A post has either an address or a picture."
    if image and not draft.description:
        problems["description"] = "Describe the picture for those who can't see it."
    if problems:
        return _form(draft, problems)
    with database() as connection:
        picture = None
        if image:
            picture = connection.execute(
                "INSERT INTO images (type, bytes, description) VALUES (?, ?, ?)", (*image, draft.description)
            ).lastrowid
        now = timestamp()
        number = connection.execute(
            "INSERT INTO posts (forum, user, title, body, url, image, created, active) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (forum["id"], me(), draft.title, draft.body, draft.url, picture, now, now),
        ).lastrowid
        connection.execute("INSERT INTO post_votes VALUES (?, ?, 1)", (number, me()))
    return redirect(f"/f/{forum['name']}/{number}/{slug(draft.title)}", 303)


def _image(problems: dict[str, str]) -> tuple[str, bytes] | None:
    upload = request.files.get("image")
    if upload is None or not upload.filename:
        return None
    content = upload.read(LONGEST_IMAGE + 1)
    if len(content) > LONGEST_IMAGE:
        problems["image"] = f"A picture can have {LONGEST_IMAGE // 1000} kilobytes."
        return None
    for start, kind in _IMAGES.items():
        if content.startswith(start):
            return kind, content
    problems["image"] = "Only PNG, JPEG and GIF pictures can be shown."
    return None


def _form(draft: _Draft, problems: dict[str, str]) -> ResponseReturnValue:
    forums = database().execute("SELECT name, title FROM forums ORDER BY name").fetchall()
    page = render_template("submit.html", draft=draft, problems=problems, forums=forums)
    return page, 422 if problems else 200


def _post(number: int) -> sqlite3.Row:
    post = listing.post_row(number)
    if post is None:
        abort(404)
    return post


def _path(post: sqlite3.Row) -> str:
    return f"/f/{post['forum']}/{post['id']}/{slug(post['title'])}"


def _own_post(number: int) -> sqlite3.Row:
    post = _post(number)
    if post["user_id"] != me():
        abort(403, "Only its author can do that.")
    if post["deleted"] or post["removed"]:
        abort(404)
    return post


@pages.route("/f/<name>/<int:number>/-/edit", methods=["GET", "POST"])
def edit_post(name: str, number: int) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    post = _own_post(number)
    if request.method == "GET":
        return render_template("post_edit.html", post=post, title=post["title"], body=post["body"], problems={})
    draft = _Draft.given(post["forum"])
    if problems := draft.problems():
        page = render_template("post_edit.html", post=post, title=draft.title, body=draft.body, problems=problems)
        return page, 422
    with database() as connection:
        connection.execute(
            "UPDATE posts SET title = ?, body = ?, edited = ? WHERE id = ?",
            (draft.title, draft.body, timestamp(), number),
        )
    return redirect(f"/f/{post['forum']}/{number}/{slug(draft.title)}", 303)


@pages.route("/f/<name>/<int:number>/-/delete", methods=["GET", "POST"])
def delete_post(name: str, number: int) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    post = _own_post(number)
    if request.method == "GET":
        return render_template("delete.html", what="post", text=post["title"], back=_path(post))
    with database() as connection:
        connection.execute("UPDATE posts SET deleted = 1 WHERE id = ?", (number,))
    flash("Your post has been deleted.")
    return redirect(f"/f/{post['forum']}", 303)


@pages.post("/f/<name>/<int:number>/-/comment")
def comment(name: str, number: int) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    post = _post(number)
    body = request.form.get("body", "").replace("\r\n", "\n").strip()
    parent = request.form.get("parent", type=int)
    above = database().execute("SELECT user, post, deleted, removed FROM comments WHERE id = ?", (parent,)).fetchone()
    if parent is not None and (above is None or above["post"] != number or above["deleted"] or above["removed"]):
        abort(404)
    problem = _refused(post) or _too_long(body)
    if problem:
        return render_template("reply.html", post=post, comment=_shown(parent), body=body, problem=problem), 422
    answered = above["user"] if above else post["user_id"]
    with database() as connection:
        made = connection.execute(
            "INSERT INTO comments (post, parent, user, body, created) VALUES (?, ?, ?, ?, ?)",
            (number, parent, me(), body, timestamp()),
        ).lastrowid
        connection.execute("INSERT INTO comment_votes VALUES (?, ?, 1)", (made, me()))
        if answered != me():
            connection.execute("INSERT INTO notifications (comment, user) VALUES (?, ?)", (made, answered))
    return redirect(f"{_path(post)}#comment-{made}", 303)


def _refused(post: sqlite3.Row) -> str:
    if post["deleted"] or post["removed"]:
        return "This post is gone."
    if post["locked"] and not accounts.moderates(post["forum_id"]):
        return "This thread is locked: it takes no more comments."
    ban = accounts.banned(post["forum_id"])
    return f"You are banned from {post['forum']}: {ban['reason']}" if ban else ""


def _too_long(body: str) -> str:
    if not body:
        return "A comment needs a text."
    return "" if len(body) <= LONGEST_BODY else f"A comment can have {LONGEST_BODY} characters; this has {len(body)}."


def _shown(number: int | None) -> sqlite3.Row | None:
    found: sqlite3.Row | None = database().execute(
        "SELECT c.*, u.name AS author FROM comments c JOIN users u ON u.id = c.user WHERE c.id = ?", (number,)
    ).fetchone()  # fmt: skip
    return found


@pages.get("/f/<name>/<int:number>/-/reply/<int:parent>")
def reply(name: str, number: int, parent: int) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    above = _shown(parent)
    if above is None or above["post"] != number or above["deleted"] or above["removed"]:
        abort(404)
    post = _post(number)
    return render_template("reply.html", post=post, comment=above, body="", problem=_refused(post))


def _own_comment(number: int) -> tuple[sqlite3.Row, sqlite3.Row]:
    found = _shown(number)
    if found is None or found["deleted"] or found["removed"]:
        abort(404)
    if found["user"] != me():
        abort(403, "Only its author can do that.")
    return found, _post(found["post"])


@pages.route("/comment/<int:number>/edit", methods=["GET", "POST"])
def edit_comment(number: int) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found, post = _own_comment(number)
    body = request.form.get("body", "").replace("\r\n", "\n").strip()
    if request.method == "GET":
        return render_template("comment_edit.html", post=post, comment=found, body=found["body"], problem="")
    if problem := _refused(post) or _too_long(body):
        return render_template("comment_edit.html", post=post, comment=found, body=body, problem=problem), 422
    with database() as connection:
        connection.execute("UPDATE comments SET body = ?, edited = ? WHERE id = ?", (body, timestamp(), number))
    return redirect(f"{_path(post)}#comment-{number}", 303)


@pages.route("/comment/<int:number>/delete", methods=["GET", "POST"])
def delete_comment(number: int) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found, post = _own_comment(number)
    if request.method == "GET":
        return render_template(
            "delete.html", what="comment", text=found["body"], back=f"{_path(post)}#comment-{number}"
        )
    with database() as connection:
        connection.execute("UPDATE comments SET deleted = 1 WHERE id = ?", (number,))
    flash("Your comment has been deleted.")
    return redirect(_path(post), 303)


@pages.post("/sv/<int:number>")
def vote_on_post(number: int) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    post = _post(number)
    return _vote("post", number, post, _path(post))


@pages.post("/cv/<int:number>")
def vote_on_comment(number: int) -> ResponseReturnValue:
    if sent := signed_in():
        return sent
    found = _shown(number)
    if found is None or found["deleted"] or found["removed"]:
        abort(404)
    post = _post(found["post"])
    return _vote("comment", number, post, f"{_path(post)}#comment-{number}")


def _vote(kind: str, number: int, post: sqlite3.Row, path: str) -> ResponseReturnValue:
    """``choice`` 1 or -1 is the vote from now on, 0 takes it back."""
    choice = request.form.get("choice", type=int)
    if choice not in (-1, 0, 1):
        abort(400)
    if post["deleted"] or post["removed"]:
        abort(404)
    if ban := accounts.banned(post["forum_id"]):
        flash(f"You are banned from {post['forum']}: {ban['reason']}")
        return back(path)
    with database() as connection:
        # What counts votes listens to rows that come, go and change; REPLACE would tell it of none that went.
        connection.execute(f"DELETE FROM {kind}_votes WHERE {kind} = ? AND user = ?", (number, me()))
        if choice:
            connection.execute(f"INSERT INTO {kind}_votes VALUES (?, ?, ?)", (number, me(), choice))
    return back(path)
