"""Digests of data directories and queries in their databases."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.sites.backends.files import files_digest, state_digest
from pytest_webarena.sites.backends.sqlite_queries import query_sqlite


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "main.sqlite3"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table notes (id integer primary key, text)")
        connection.execute("insert into notes (text) values ('é')")
    return path


@pytest.fixture
def open_wal(database: Path) -> Iterator[sqlite3.Connection]:
    """A connection in WAL mode that stays open, like that of an app."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("pragma journal_mode=wal")
        yield connection


def test_files_digest_depends_on_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub" / "a.txt"
    file.write_text("one")
    first = files_digest(tmp_path)
    file.write_text("two")
    second = files_digest(tmp_path)
    file.write_text("one")
    assert first == files_digest(tmp_path) != second
    file.rename(tmp_path / "sub" / "b.txt")
    assert files_digest(tmp_path) not in (first, second)


def _touched(path: Path) -> None:
    os.utime(path, (0, 0))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: (data / "empty").mkdir(),
        lambda data: (data / "sub" / "empty").mkdir(),
        lambda data: (data / "sub").rename(data / "bus"),
        lambda data: (data / "sub" / "a.txt").chmod(0o400),
        lambda data: (data / "sub").chmod(0o700),
        lambda data: _touched(data / "sub" / "a.txt"),
        lambda data: os.mkfifo(data / "pipe"),
        lambda data: (data / "link").unlink() or (data / "link").symlink_to("sub"),
        lambda data: (data / "link").unlink() or (data / "link").write_text("sub/a.txt"),
        lambda data: (data / "notes-shm").write_text("no index: there is no database of that name"),
        lambda data: (data / "notes-wal").touch(),
    ],
    ids=[
        "folder",
        "subfolder",
        "renamed",
        "mode",
        "folder-mode",
        "time",
        "pipe",
        "target",
        "no-link",
        "no-index",
        "no-log",
    ],
)
def test_state_digest_depends_on_names_contents_and_attributes(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    (tmp_path / "sub").mkdir(mode=0o755)
    (tmp_path / "sub" / "a.txt").write_text("one")
    (tmp_path / "link").symlink_to("sub/a.txt")
    before = state_digest(tmp_path)
    assert state_digest(tmp_path) == before
    change(tmp_path)
    assert state_digest(tmp_path) != before


def test_files_digest_ignores_modes_and_times(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    before = files_digest(tmp_path)
    (tmp_path / "a.txt").chmod(0o600)
    _touched(tmp_path / "a.txt")
    assert files_digest(tmp_path) == before


def test_state_digest_ignores_temporary_files(tmp_path: Path) -> None:
    before = state_digest(tmp_path)
    (tmp_path / "sort.tmp").touch()
    (tmp_path / "sort.tmp").unlink()
    assert state_digest(tmp_path) == before


def test_reading_a_database_keeps_the_digest(tmp_path: Path, open_wal: sqlite3.Connection) -> None:
    open_wal.execute("pragma wal_checkpoint(truncate)")
    before = state_digest(tmp_path)
    assert query_sqlite(tmp_path / "main.sqlite3", "select count(*) from notes", write=False).rows == ((1,),)
    assert (tmp_path / "main.sqlite3-shm").exists()
    assert state_digest(tmp_path) == before


def test_change_in_wal_file_changes_the_digest(tmp_path: Path, open_wal: sqlite3.Connection) -> None:
    open_wal.execute("pragma wal_checkpoint(truncate)")
    before = files_digest(tmp_path)
    with open_wal:
        open_wal.execute("insert into notes (text) values ('new')")
    assert files_digest(tmp_path) != before


def test_large_directory_has_no_digest(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    assert files_digest(tmp_path) is None


def test_query_returns_plain_values(database: Path) -> None:
    rows = query_sqlite(database, "select id, text, x'00ff' as raw, null, 1.5 from notes", write=False)
    assert rows.columns == ("id", "text", "raw", "null", "1.5")
    assert rows.rows == ((1, "é", "base64:AP8=", None, 1.5),)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select * from note", "no such table: note"),
        ("select * form notes", 'near "form": syntax error'),
        ("insert into notes (text) values ('x')", "attempt to write a readonly database"),
        ("select 1; select 2", "one statement at a time"),
        ("attach 'other.sqlite3' as other", "too many attached databases"),
        ("with recursive n(x) as (select 1 union all select x+1 from n limit 20000) select x from n", "add a LIMIT"),
        ("select ?", "binding"),
    ],
)
def test_invalid_statement_is_a_task_error(
    database: Path, sql: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(database.parent)
    with pytest.raises(TaskError, match=message):
        query_sqlite(database, sql, write=False)
    assert [path.name for path in database.parent.iterdir()] == [database.name]


def test_write_query_accepts_a_statement_or_a_script(database: Path) -> None:
    query_sqlite(database, "insert into notes (text) values ('b')", write=True)
    query_sqlite(database, "insert into notes (text) values ('c'); delete from notes where text = 'b';", write=True)
    rows = query_sqlite(database, "select text from notes order by id", write=False).rows
    assert rows == (("é",), ("c",))
    with pytest.raises(TaskError, match="no such column: nope"):
        query_sqlite(database, "update notes set nope = 1", write=True)


def test_unusable_database_file_is_a_site_error(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match="unable to open database file"):
        query_sqlite(tmp_path / "none.sqlite3", "select 1", write=False)
    (tmp_path / "text.sqlite3").write_text("no database at all, but long enough to be looked at")
    with pytest.raises(SiteError, match="not a database"):
        query_sqlite(tmp_path / "text.sqlite3", "select * from sqlite_master", write=False)


def test_endless_statement_is_interrupted(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_webarena.sites.backends.sqlite_queries._QUERY_SECONDS", 0.05)
    endless = "with recursive n(x) as (select 1 union all select x+1 from n) select count(*) from n"
    with pytest.raises(TaskError, match=r"interrupted \(after 0\.05 s\)"):
        query_sqlite(database, endless, write=False)
