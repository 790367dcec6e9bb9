"""Run one SQL statement on an app's data: ``python -m pytest_webarena.embedded.sql --data DIR "select …"``.

Prints ``{"columns": [...], "rows": [[...], ...]}`` and ends with 0, or prints ``{"error": "..."}`` and
ends with 2 when the statement is at fault, with 3 when the database is. The same runs in a container.
"""

from __future__ import annotations

import argparse
import base64
import json
import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pytest_webarena.errors import SiteError, TaskError, closest
from pytest_webarena.evidence import JsonValue

__all__ = ["find_database", "main", "run"]

_SUFFIXES = (".sqlite3", ".sqlite", ".db")
_STATEMENT_FAULT = 2
_DATABASE_FAULT = 3


def find_database(directory: Path, name: str) -> Path:
    """The file of the database called ``name``. `SiteError` when ``directory`` holds no such thing."""
    found = {path.stem: path for path in sorted(directory.glob("*")) if path.suffix in _SUFFIXES}
    if name in found:
        return found[name]
    if not name and len(found) == 1:
        return next(iter(found.values()))
    raise SiteError(f"no database {name!r} in {directory}: {closest(name, found)}")


def run(path: Path, sql: str, *, write: bool = False, timeout: float = 10) -> tuple[list[str], list[list[JsonValue]]]:
    """Column names and rows of one statement; blobs come as ``base64:...``.

    Without ``write`` nothing can be changed. Raises `TaskError` when the statement is wrong, would write
    or takes longer than ``timeout`` seconds, `SiteError` when the database can't be opened or read.
    """
    if not path.is_file():
        raise SiteError(f"expected a database at {path}, found none")
    deadline = time.monotonic() + timeout
    mode = "rw" if write else "ro"
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=timeout)
    try:
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        cursor = connection.execute(sql)
        columns = [column[0] for column in cursor.description or ()]
        rows: list[list[JsonValue]] = [[_json(value) for value in row] for row in cursor]
        connection.commit()
    except sqlite3.Error as error:
        raise _fault(error, sql, write, timeout) from error
    finally:
        connection.close()
    return columns, rows


def _fault(error: sqlite3.Error, sql: str, write: bool, timeout: float) -> TaskError | SiteError:
    name = getattr(error, "sqlite_errorname", "") or ""
    shown = " ".join(sql.split())
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_BUSY")):
        return SiteError(f"the database can't be read: {error}")
    if name.startswith("SQLITE_READONLY") and not write:
        return TaskError(f"a check may only read, but this statement writes: {shown}")
    if name.startswith("SQLITE_INTERRUPT"):
        return TaskError(f"the statement took longer than {timeout:g} s: {shown}")
    return TaskError(f"the statement can't be run: {error}: {shown}")


def _json(value: object) -> JsonValue:
    if isinstance(value, bytes):
        return "base64:" + base64.b64encode(value).decode("ascii")
    assert value is None or isinstance(value, int | float | str)
    return value


def main(argv: Sequence[str] | None = None) -> int:
    """Run the statement of the command line; the statement ``-`` is read from standard input."""
    parser = argparse.ArgumentParser(prog="python -m pytest_webarena.embedded.sql", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="data directory of the app")
    parser.add_argument("--database", default="", help="database name (default: the only one there is)")
    parser.add_argument("--write", action="store_true", help="allow changes")
    parser.add_argument("--timeout", type=float, default=10, help="seconds (default: %(default)s)")
    parser.add_argument("sql", help="one statement, or - for standard input")
    arguments = parser.parse_args(argv)
    sql = sys.stdin.read() if arguments.sql == "-" else arguments.sql
    try:
        path = find_database(arguments.data, arguments.database)
        columns, rows = run(path, sql, write=arguments.write, timeout=arguments.timeout)
    except (TaskError, SiteError) as error:
        print(json.dumps({"error": str(error)}))
        return _STATEMENT_FAULT if isinstance(error, TaskError) else _DATABASE_FAULT
    print(json.dumps({"columns": columns, "rows": rows}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
