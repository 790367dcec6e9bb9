"""The scratchpad: notes that are created, edited, pinned, labelled, searched, sorted and deleted."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.homepage.accounts import owner
from pytest_webarena.embedded.web import database, timestamp

__all__ = ["LONGEST_BODY", "LONGEST_LABEL", "LONGEST_TITLE", "MOST_NOTES", "pages"]

LONGEST_TITLE = 120
LONGEST_BODY = 5000
LONGEST_LABEL = 24
MOST_NOTES = 200
"""Notes per pad."""

_ORDERS = {
    "updated": ("Last changed", "pinned DESC, updated DESC, id DESC"),
    "created": ("Date created", "pinned DESC, created DESC, id DESC"),
    "title": ("Title", "pinned DESC, title COLLATE NOCASE, id"),
}

pages = Blueprint("scratchpad", __name__, url_prefix="/scratchpad")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """What the form holds."""

    title: str = ""
    body: str = ""
    label: str = ""
    pinned: bool = False

    @classmethod
    def from_form(cls) -> _Draft:
        return cls(
            title=request.form.get("title", "").strip(),
            body=request.form.get("body", "").replace("\r\n", "\n").strip(),
            label=request.form.get("label", "").strip(),
            pinned=request.form.get("pinned") == "yes",
        )

    def problems(self) -> dict[str, str]:
        """Field name to what is wrong with it."""
        found = {}
        if not self.title:
            found["title"] = "A note needs a title."
        for field, most in (("title", LONGEST_TITLE), ("body", LONGEST_BODY), ("label", LONGEST_LABEL)):
            length = len(getattr(self, field))
            if length > most:
                found[field] = f"The {field} can have {most} characters; this one has {length}."
        return found


@pages.get("/")
def show() -> ResponseReturnValue:
    """The notes; ``q`` searches title and text, ``label`` and ``sort`` narrow and order."""
    wanted = request.args.get("q", "").strip()
    label = request.args.get("label", "").strip()
    order = request.args.get("sort", "")
    order = order if order in _ORDERS else "updated"
    conditions, values = ["owner = ?"], [owner()]
    for word in wanted.split():
        conditions.append("(instr(lower(title), ?) OR instr(lower(body), ?))")
        values += [word.lower(), word.lower()]
    if label:
        conditions.append("label = ? COLLATE NOCASE")
        values.append(label)
    notes = database().execute(
        f"SELECT id, title, body, label, pinned, updated FROM notes WHERE {' AND '.join(conditions)}"
        f" ORDER BY {_ORDERS[order][1]}",
        values,
    )
    return render_template(
        "scratchpad.html", notes=notes.fetchall(), labels=_labels(), wanted=wanted, label=label, order=order,
        orders={key: name for key, (name, _) in _ORDERS.items()},
    )  # fmt: skip


@pages.get("/new")
def new() -> ResponseReturnValue:
    return _form(_Draft(), {})


@pages.post("/new")
def create() -> ResponseReturnValue:
    draft = _Draft.from_form()
    problems = draft.problems()
    connection = database()
    count = connection.execute("SELECT count(*) FROM notes WHERE owner = ?", (owner(),)).fetchone()[0]
    if count >= MOST_NOTES:
        problems["title"] = f"This pad is full: it holds {MOST_NOTES} notes."
    if problems:
        return _form(draft, problems)
    now = timestamp()
    with connection:
        cursor = connection.execute(
            "INSERT INTO notes (owner, title, body, label, pinned, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (owner(), draft.title, draft.body, draft.label, draft.pinned, now, now),
        )
    flash("The note has been created.")
    return redirect(url_for("scratchpad.note", number=cursor.lastrowid), 303)


@pages.get("/<int:number>")
def note(number: int) -> ResponseReturnValue:
    return render_template("note.html", note=_find(number))


@pages.get("/<int:number>/edit")
def edit(number: int) -> ResponseReturnValue:
    found = _find(number)
    draft = _Draft(title=found["title"], body=found["body"], label=found["label"], pinned=bool(found["pinned"]))
    return _form(draft, {}, number)


@pages.post("/<int:number>/edit")
def change(number: int) -> ResponseReturnValue:
    _find(number)
    draft = _Draft.from_form()
    if problems := draft.problems():
        return _form(draft, problems, number)
    with database() as connection:
        connection.execute(
            "UPDATE notes SET title = ?, body = ?, label = ?, pinned = ?, updated = ? WHERE id = ? AND owner = ?",
            (draft.title, draft.body, draft.label, draft.pinned, timestamp(), number, owner()),
        )
    flash("Your changes have been saved.")
    return redirect(url_for("scratchpad.note", number=number), 303)


@pages.post("/<int:number>/pin")
def pin(number: int) -> ResponseReturnValue:
    """Pin or unpin; that is not a change of the note, so its date stays."""
    pinned = not _find(number)["pinned"]
    with database() as connection:
        connection.execute("UPDATE notes SET pinned = ? WHERE id = ? AND owner = ?", (pinned, number, owner()))
    flash("The note is pinned to the top." if pinned else "The note is no longer pinned.")
    return redirect(url_for("scratchpad.note", number=number), 303)


@pages.get("/<int:number>/delete")
def confirm(number: int) -> ResponseReturnValue:
    return render_template("note_delete.html", note=_find(number))


@pages.post("/<int:number>/delete")
def delete(number: int) -> ResponseReturnValue:
    found = _find(number)
    with database() as connection:
        connection.execute("DELETE FROM notes WHERE id = ? AND owner = ?", (number, owner()))
    flash(f"“{found['title']}” has been deleted.")
    return redirect(url_for("scratchpad.show"), 303)


def _find(number: int) -> sqlite3.Row:
    """The note, if it is on this pad; other people's notes do not exist here."""
    row: sqlite3.Row | None = (
        database().execute("SELECT * FROM notes WHERE id = ? AND owner = ?", (number, owner())).fetchone()
    )
    if row is None:
        abort(404)
    return row


def _labels() -> list[str]:
    rows = database().execute(
        "SELECT label FROM notes WHERE owner = ? AND label != '' GROUP BY label COLLATE NOCASE ORDER BY label",
        (owner(),),
    )
    return [row["label"] for row in rows]


def _form(draft: _Draft, problems: dict[str, str], number: int | None = None) -> ResponseReturnValue:
    page = render_template(
        "note_form.html", draft=draft, problems=problems, number=number, labels=_labels(),
        longest_title=LONGEST_TITLE, longest_body=LONGEST_BODY, longest_label=LONGEST_LABEL,
    )  # fmt: skip
    return page, 422 if problems else 200
