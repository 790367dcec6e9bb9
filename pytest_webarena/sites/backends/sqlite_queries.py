"""Queries in SQLite files of replicas."""

from __future__ import annotations

import base64
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import SiteBusy, SiteError, TaskError, TooLarge
from pytest_webarena.sites.backends.base import Rows
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.evidence import JsonValue

__all__ = ["query_sqlite"]

_MAX_ROWS = 10_000
_QUERY_SECONDS = 30.0
_BUSY_SECONDS = 5.0
_PROGRESS = 10_000
_NOT_THE_STATEMENT = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
    }
)


def query_sqlite(path: Path, sql: str, *, write: bool) -> Rows:
    """Run ``sql`` in the SQLite file at ``path``: one statement, or a script of several when ``write``.

    Raises `TaskError` with SQLite's own words when the statement is at fault, `SiteError` when the file is.
    """
    mode = "rw" if write else "ro"
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_BUSY_SECONDS)
    except sqlite3.Error as error:
        raise SiteError(f"the database {path.name} can't be opened: {error}") from error
    try:
        deadline = time.monotonic() + _QUERY_SECONDS
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)  # ATTACH would make files even when this one is read-only
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS)
        with connection:
            return _run(connection, sql, write=write)
    except (sqlite3.Error, sqlite3.Warning) as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in _NOT_THE_STATEMENT:
            kind = SiteBusy if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) else SiteError
            raise kind(f"the database {path.name} can't be used: {error}") from error
        took = f" (after {_QUERY_SECONDS:g} s)" if code == sqlite3.SQLITE_INTERRUPT else ""
        raise TaskError(f"the SQL statement failed: {error}{took}: {shorten(sql)}") from error
    finally:
        connection.close()


def _run(connection: sqlite3.Connection, sql: str, *, write: bool) -> Rows:
    try:
        cursor = connection.execute(sql)
    except (sqlite3.ProgrammingError, sqlite3.Warning) as error:
        if not write or "one statement" not in str(error):
            raise
        connection.executescript(sql)
        return Rows(columns=(), rows=())
    rows = cursor.fetchmany(_MAX_ROWS + 1)
    if len(rows) > _MAX_ROWS:
        raise TooLarge(f"the SQL statement gave more than {_MAX_ROWS} rows; add a LIMIT: {shorten(sql)}")
    columns = tuple(column[0] for column in cursor.description or ())
    return Rows(columns=columns, rows=tuple(tuple(_plain(value) for value in row) for row in rows))


def _plain(value: Any) -> JsonValue:
    return f"base64:{base64.b64encode(value).decode()}" if isinstance(value, bytes) else value
