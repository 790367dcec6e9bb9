"""Seed data of the start page: reproducible and replaced atomically."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pytest_webarena.embedded import homepage, world
from pytest_webarena.embedded.homepage.notes import NOTES


def _dump(directory: Path) -> list[str]:
    with closing(sqlite3.connect(directory / "main.sqlite3")) as connection:
        return list(connection.iterdump())


def test_two_seeds_are_equal(tmp_path: Path) -> None:
    homepage.seed(tmp_path / "a")
    homepage.seed(tmp_path / "b")

    assert _dump(tmp_path / "a") == _dump(tmp_path / "b")
    assert (tmp_path / "a/main.sqlite3").read_bytes() == (tmp_path / "b/main.sqlite3").read_bytes()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["main.sqlite3"]


def test_seeding_again_restores_the_data(data_dir: Path, pristine: Path) -> None:
    with closing(sqlite3.connect(data_dir / "main.sqlite3")) as connection, connection:
        connection.execute("DELETE FROM notes")

    homepage.seed(data_dir)

    assert (data_dir / "main.sqlite3").read_bytes() == (pristine / "main.sqlite3").read_bytes()


def test_database_keeps_a_rollback_journal_and_the_canary(data_dir: Path) -> None:
    with closing(sqlite3.connect(data_dir / "main.sqlite3")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        schema = "".join(row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"))
    assert world.CANARY in schema


def test_notes_belong_to_known_people_and_past_dates() -> None:
    known = {person.username for person in world.PEOPLE} | {""}
    now = world.EPOCH.strftime("%Y-%m-%dT%H:%M:%S")

    assert len({note.owner for note in NOTES}) >= 7
    for note in NOTES:
        assert note.owner in known
        assert note.created <= note.updated < now
        assert len(note.label) <= 24
