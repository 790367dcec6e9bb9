"""Texts that agents write on the sites: shipped tasks accept plausible right forms only."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pytest_webarena.checks import collect, judge
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks import load_tasks
from tests.cases import each_case

from .live import Page, Rows, rows_of

_TASKS = Path(__file__).parents[3] / "tasks"


class _OneNote:
    """A start page that contains one note only."""

    sites: Mapping[str, str] = {"homepage": "http://homepage.test"}

    def __init__(self, *note: str) -> None:
        self.note = note

    def read_page(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> Page:
        raise AssertionError

    def fetch(self, *_: object, **__: object) -> tuple[int, str]:
        raise AssertionError

    def query(self, site: str, sql: str, *, database: str = "") -> Rows:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("create table notes (owner, title, body)")
            connection.execute("insert into notes values (?, ?, ?)", self.note)
            return rows_of(connection, sql)


def passes(file: str, name: str, text: str) -> bool:
    """Return whether a note with ``text`` passes the task's checks of notes; other changes are ignored."""
    task = next(task for task in load_tasks(_TASKS / file) if task.id == name)
    task = replace(task, checks=tuple(check for check in task.checks if "from notes where" in str(check.spec)))
    note = _OneNote(str(task.user["homepage"]), str(task.filling["title"]), text)
    probes = collect(task.checks, note, state="end")
    return judge(task, Evidence(answer="", stop_reason="answered", sites=note.sites, probes=probes)).passed is True


@each_case(
    ("name", "text", "right"),
    [
        ("bicycle", "17 May, Hollin Cross", True),
        ("bicycle", "Saturday 17 May 2025, Hollin Cross", True),
        ("bicycle", "Saturday, 17 May\nHollin Cross, 10:00-14:00", True),
        ("bicycle", "Free check of bicycles: 17 May, 10 to 14, in Hollin Cross", True),
        ("bicycle", "17 May 2024, Hollin Cross", False),
        ("bicycle", "Sunday 17 May, Hollin Cross", False),
        ("bicycle", "17 May or 14 May, Hollin Cross", False),
        ("bicycle", "18 May, Hollin Cross", False),
        ("bicycle", "117 May, Hollin Cross", False),
        ("talk", "22 May, 19:30, Charter Hall", True),
        ("talk", "Thursday 22 May 2025 at 19:30 in Charter Hall", True),
        ("talk", "Friday 22 May 2025 at 19:30 in Charter Hall", False),
        ("talk", "22 May, 19:30 or 20:00, Charter Hall", False),
    ],
)
def test_date_in_a_note_is_accepted_in_right_forms_only(name: str, text: str, right: bool) -> None:
    assert passes("cross_site/forum_and_others.yaml", f"cross-note-of-post.{name}", text) is right


_MUSEUMS = "Engine Hall, {}\nHarbour Museum\nPaper and Binding Museum\nSlate Museum\nWeaving Sheds"


@each_case(
    ("text", "right"),
    [
        (_MUSEUMS.format("Brackwater"), True),
        (_MUSEUMS.format("Hollin Cross"), True),
        (f"Rainy Sundays:\n{_MUSEUMS.format('Hollin Cross')}", True),
        (_MUSEUMS.format("Kettle Chapel"), False),
        (_MUSEUMS.format("Regional Library"), False),
    ],
)
def test_list_in_a_note_is_accepted_in_right_forms_only(text: str, right: bool) -> None:
    assert passes("cross_site/encyclopedia_and_homepage.yaml", "cross-category-into-note.museums", text) is right
