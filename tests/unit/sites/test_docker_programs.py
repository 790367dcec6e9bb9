"""Programs that run in containers, run locally with the same command line."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.sites.backends.docker.inside import program
from pytest_webarena.sites.backends.files import files_digest, state_digest, state_listing
from pytest_webarena.sites.backends.sqlite_queries import query_sqlite


def call(name: str, *arguments: str) -> tuple[int, str]:
    interpreter, *rest = program(name)
    assert interpreter == "python3"
    done = subprocess.run([sys.executable, *rest, *arguments], capture_output=True, text=True, timeout=30, check=False)
    return done.returncode, done.stdout


def query(path: Path, sql: str, *, write: bool = False, seconds: str = "5") -> tuple[int, Any]:
    code, output = call("query", str(path), "rw" if write else "ro", seconds, sql)
    return code, json.loads(output)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a b?.sqlite3"  # must not be parsed as part of the URI
    connection = sqlite3.connect(path)
    connection.executescript("create table notes (title); insert into notes values ('ä'), (null), (x'ff'), (2.5)")
    connection.close()
    return path


@pytest.mark.parametrize(
    ("sql", "write"),
    [
        ("select title from notes order by rowid", False),
        ("select 1 as one, 'two' as two", False),
        ("insert into notes values (1); delete from notes where title = 1", True),
        ("update notes set title = 'x' returning title", True),
    ],
)
def test_query_program_equals_the_process_backend(database: Path, sql: str, write: bool) -> None:
    expected = query_sqlite(database, sql, write=write)
    code, result = query(database, sql, write=write)
    assert code == 0
    assert tuple(result["columns"]) == expected.columns
    assert tuple(map(tuple, result["rows"])) == expected.rows


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("delete from notes", "readonly"),
        ("select * from nots", "no such table: nots"),
        ("select 1; select 2", "one statement"),
        ("select json('{')", "malformed JSON"),
        ("with recursive c(x) as (select 1 union all select x + 1 from c limit 10001) select x from c", "10000 rows"),
    ],
)
def test_query_program_reports_statement_errors(database: Path, sql: str, reason: str) -> None:
    with pytest.raises(TaskError, match=reason):
        query_sqlite(database, sql, write=False)
    code, result = query(database, sql)
    assert code == 2
    assert reason in result["error"]


def test_query_program_interrupts_endless_statement(database: Path) -> None:
    endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select max(x) from c"
    code, result = query(database, endless, seconds="0.2")
    assert (code, result["error"]) == (2, "interrupted (after 0.2 s)")


def test_query_program_reports_missing_and_broken_database(tmp_path: Path) -> None:
    absent = tmp_path / "absent.sqlite3"
    assert query(absent, "select 1", write=True) == (3, {"error": f"there is no file {absent}"})
    assert not absent.exists()
    torn = tmp_path / "torn.sqlite3"
    torn.write_bytes(b"no database" * 100)
    with pytest.raises(SiteError, match="not a database"):
        query_sqlite(torn, "select * from sqlite_master", write=False)
    code, result = query(torn, "select * from sqlite_master")
    assert code == 3
    assert "not a database" in result["error"]


def test_digest_program_depends_on_names_and_contents(tmp_path: Path) -> None:
    def digest() -> str:
        code, output = call("digest", str(tmp_path), "contents")
        assert code == 0
        assert len(output.strip()) == 32
        return output

    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a").write_text("one")
    (tmp_path / "b").write_text("two")
    pristine = digest()
    (tmp_path / "b-shm").write_text("an index of shared memory")
    (tmp_path / "b-wal").touch()
    (tmp_path / "b").touch()
    assert digest() == pristine
    (tmp_path / "b-wal").write_text("changes that are not in the main file yet")
    assert digest() != pristine
    (tmp_path / "b-wal").unlink()
    (tmp_path / "folder" / "a").rename(tmp_path / "a")
    assert digest() != pristine
    (tmp_path / "a").rename(tmp_path / "folder" / "a")
    (tmp_path / "b").write_text("owt")
    assert digest() != pristine
    (tmp_path / "b").write_text("two")
    assert digest() == pristine


def test_digest_program_equals_the_process_backend(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "ä").write_text("one")
    (tmp_path / "link").symlink_to("ä")
    assert call("digest", str(tmp_path), "exact") == (0, f"{state_digest(tmp_path)}\n")
    assert call("digest", str(tmp_path), "contents") == (0, f"{files_digest(tmp_path)}\n")
    code, listing = call("digest", str(tmp_path), "list")
    assert (code, listing.splitlines()) == (0, [json.dumps(entry) for entry in state_listing(tmp_path)])


def test_digest_program_fails_for_missing_directory(tmp_path: Path) -> None:
    code, output = call("digest", str(tmp_path / "absent"), "exact")
    assert code != 0
    assert output == ""
