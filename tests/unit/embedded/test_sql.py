"""Queries for checks and set-up steps, as a function and as a command."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.embedded import sql
from pytest_webarena.errors import SiteError, TaskError


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "main.sqlite3"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a, b)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2.5, None), (None, b"\x00\xff")])
    return path


def test_rows_are_plain_values(database: Path) -> None:
    columns, rows = sql.run(database, "SELECT a, b AS other FROM t")

    assert columns == ["a", "other"]
    assert rows == [[1, "x"], [2.5, None], [None, "base64:AP8="]]


def test_reading_can_not_write(database: Path) -> None:
    before = database.read_bytes()

    with pytest.raises(TaskError, match="a check may only read"):
        sql.run(database, "DELETE FROM t")
    assert database.read_bytes() == before


def test_writing(database: Path) -> None:
    assert sql.run(database, "DELETE FROM t WHERE a = 1", write=True) == ([], [])
    assert sql.run(database, "SELECT count(*) FROM t")[1] == [[2]]


@pytest.mark.parametrize("statement", ["SELECT nothing FROM t", "SELEKT 1", "SELECT 1; SELECT 2"])
def test_faulty_statement_is_the_tasks_fault(database: Path, statement: str) -> None:
    with pytest.raises(TaskError, match="can't be run"):
        sql.run(database, statement)


def test_endless_statement_is_cut_off(database: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    with pytest.raises(TaskError, match=r"longer than 0\.05 s"):
        sql.run(database, endless, timeout=0.05)


def test_broken_or_missing_database_is_the_sites_fault(tmp_path: Path) -> None:
    (tmp_path / "main.db").write_bytes(b"this is no database" * 100)

    with pytest.raises(SiteError, match="can't be read"):
        sql.run(tmp_path / "main.db", "SELECT 1 FROM t")
    with pytest.raises(SiteError, match="found none"):
        sql.run(tmp_path / "gone.db", "SELECT 1")


def test_database_is_found_by_name(tmp_path: Path, database: Path) -> None:
    assert sql.find_database(tmp_path, "main") == database
    assert sql.find_database(tmp_path, "") == database
    (tmp_path / "other.db").touch()
    assert sql.find_database(tmp_path, "other") == tmp_path / "other.db"
    with pytest.raises(SiteError, match=r"no database 'mian'.*did you mean 'main'"):
        sql.find_database(tmp_path, "mian")


def test_command(database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*arguments: str) -> tuple[int, Any]:
        code = sql.main(["--data", str(database.parent), "--database", "main", *arguments])
        return code, json.loads(capsys.readouterr().out)

    assert call("SELECT a FROM t WHERE a = 1") == (0, {"columns": ["a"], "rows": [[1]]})
    code, answer = call("SELECT wrong FROM t")
    assert code == 2
    assert "no such column: wrong" in answer["error"]
    assert call("--write", "INSERT INTO t VALUES (7, 'é')")[0] == 0

    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT b FROM t WHERE a = 7"))
    assert call("-") == (0, {"columns": ["b"], "rows": [["é"]]})
    database.unlink()
    assert call("SELECT 1")[0] == 3
