"""Seeds the pristine database: people, groups, projects with their histories, issues, merge requests."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pytest_webarena.embedded.gitlab.schema import SCHEMA
from pytest_webarena.embedded.gitlab.seeding.drafts import all_drafts, groups
from pytest_webarena.embedded.gitlab.seeding.filling import Filling
from pytest_webarena.embedded.web import write_seed

__all__ = ["seed"]


def seed(data_dir: Path) -> None:
    """Write the database into ``data_dir``, atomically replacing an existing one."""
    write_seed(data_dir, _fill)


def _fill(connection: sqlite3.Connection) -> None:
    connection.executescript(SCHEMA)
    filling = Filling(connection)
    filling.people()
    for group in groups():
        filling.group(group)
    for draft in all_drafts():
        filling.project(draft)
    filling.forks()
    filling.follows()
    filling.todos()
