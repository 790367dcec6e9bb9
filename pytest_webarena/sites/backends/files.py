"""Data directories of replicas: their digest, and queries in the SQLite files they hold."""

from __future__ import annotations

import base64
import hashlib
import sqlite3
import time
from pathlib import Path
from typing import Any

from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.evidence import JsonValue
from pytest_webarena.sites.backends.base import Rows

__all__ = ["files_digest", "query_sqlite"]

_CHEAP = 64 * 1024 * 1024
"""Bytes up to which reading everything is cheap."""
_CHUNK = 1024 * 1024
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


def files_digest(directory: Path) -> str | None:
    """Digest of names and contents of all files below ``directory``; None when reading them is not cheap.

    SQLite's ``-shm`` files and empty ``-wal`` and ``-journal`` files come and go with readers and don't count; ones
    with content do: they may hold changes that are not in the main file yet.
    """
    total = hashlib.blake2b(digest_size=16)
    size = 0
    for path in sorted(path for path in directory.rglob("*") if path.is_file() or path.is_symlink()):
        if path.name.endswith("-shm"):
            continue
        length = path.lstat().st_size
        if length == 0 and path.name.endswith(("-wal", "-journal")):
            continue
        size += length
        if size > _CHEAP:
            return None
        total.update(f"{path.relative_to(directory)}\0".encode("utf-8", "surrogateescape"))
        total.update(_file_digest(path))
    return total.hexdigest()


def _file_digest(path: Path) -> bytes:
    if path.is_symlink():
        return hashlib.blake2b(str(path.readlink()).encode("utf-8", "surrogateescape"), digest_size=16).digest()
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.digest()


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
            raise SiteError(f"the database {path.name} can't be used: {error}") from error
        took = f" (after {_QUERY_SECONDS:g} s)" if code == sqlite3.SQLITE_INTERRUPT else ""
        raise TaskError(f"the SQL statement failed: {error}{took}: {_short(sql)}") from error
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
        raise TaskError(f"the SQL statement gave more than {_MAX_ROWS} rows; add a LIMIT: {_short(sql)}")
    columns = tuple(column[0] for column in cursor.description or ())
    return Rows(columns=columns, rows=tuple(tuple(_plain(value) for value in row) for row in rows))


def _plain(value: Any) -> JsonValue:
    return f"base64:{base64.b64encode(value).decode()}" if isinstance(value, bytes) else value


def _short(sql: str) -> str:
    text = " ".join(sql.split())
    return text if len(text) <= 200 else f"{text[:200]}…"
