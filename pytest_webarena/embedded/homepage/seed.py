"""Seeds the start page's database with notes and calculations."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pytest_webarena.embedded.homepage.arithmetic import calculate
from pytest_webarena.embedded.homepage.notes import CALCULATIONS, NOTES
from pytest_webarena.embedded.web import write_seed
from pytest_webarena.embedded.world import CANARY

__all__ = ["seed"]

_SCHEMA = f"""
CREATE TABLE notes (  -- {CANARY}
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,  -- user name; '' is the pad of all who are not signed in
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    label TEXT NOT NULL DEFAULT '',
    pinned INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL,  -- 2025-05-14T09:00:00
    updated TEXT NOT NULL
);
CREATE INDEX notes_by_owner ON notes (owner);
CREATE TABLE calculations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    expression TEXT NOT NULL,
    result TEXT NOT NULL,
    created TEXT NOT NULL
);
CREATE INDEX calculations_by_owner ON calculations (owner);
"""


def seed(data_dir: Path) -> None:
    """Write the pristine database into ``data_dir``, atomically replacing an existing one."""
    write_seed(data_dir, _fill)


def _fill(connection: sqlite3.Connection) -> None:
    connection.executescript(_SCHEMA)
    connection.executemany(
        "INSERT INTO notes (owner, title, body, label, pinned, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (note.owner, note.title, note.body, note.label, note.pinned, note.created, note.updated)
            for note in sorted(NOTES, key=lambda note: note.created)
        ],
    )
    connection.executemany(
        "INSERT INTO calculations (owner, expression, result, created) VALUES (?, ?, ?, ?)",
        [(owner, expression, calculate(expression), created) for owner, expression, created in CALCULATIONS],
    )
