"""Runs SQL on an SQLite file, as `backends.sqlite_queries.query_sqlite` does. Arguments: file, mode, seconds, SQL.

The mode is ``ro``, ``rw``, or ``copy``. The last one reads a copy, which SQLite may first have to recover and therefore
write.

It prints ``{"columns": [...], "rows": [[...], ...]}`` and exits with 0, or prints ``{"error": "..."}`` and exits with 2
when the statement is at fault, with 3 when the database is. It runs one statement; with ``rw`` also a script of
several.

Without arguments it reads them from stdin, one JSON list per line, until the end of input, and answers each with a line
``[exit code, output]``.
"""

import base64
import contextlib
import io
import json
import os
import sqlite3
import sys
import time
import urllib.parse

STATEMENT_FAULT, DATABASE_FAULT = 2, 3
BUSY_SECONDS, MAX_ROWS = 5, 10000
INTERRUPT = 9
# PERM, BUSY, LOCKED, NOMEM, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOTADB
DATABASE_CODES = {3, 5, 6, 7, 10, 11, 13, 14, 15, 26}
# Texts of the same errors for Pythons before 3.11, which have no error code.
DATABASE_TEXTS = ("unable to open", "is locked", "disk image is malformed", "not a database", "disk I/O", "is full")


def main(path: str, mode: str, seconds: str, sql: str) -> int:
    """Print the result or the error, and return the exit code."""
    if not os.path.isfile(path):
        return fail("there is no file " + path, DATABASE_FAULT)
    try:
        uri = "file:" + urllib.parse.quote(path) + "?mode=" + ("ro" if mode == "ro" else "rw")
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)
        deadline = time.monotonic() + float(seconds)
        if mode == "copy":
            connection.execute("PRAGMA query_only = 1")
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 10000)
        with contextlib.closing(connection), connection:
            columns, rows = run(connection, sql, mode == "rw")
    except (sqlite3.Error, sqlite3.Warning) as error:
        text, code = str(error), getattr(error, "sqlite_errorcode", None)
        if code & 0xFF in DATABASE_CODES if code is not None else any(part in text for part in DATABASE_TEXTS):
            return fail(text, DATABASE_FAULT)
        if code == INTERRUPT or text == "interrupted":
            text += " (after " + seconds + " s)"
        return fail(text, STATEMENT_FAULT)
    if len(rows) > MAX_ROWS:
        return fail("it gave more than " + str(MAX_ROWS) + " rows; add a LIMIT", STATEMENT_FAULT)
    json.dump({"columns": columns, "rows": [[plain(value) for value in row] for row in rows]}, sys.stdout)
    return 0


def run(connection: sqlite3.Connection, sql: str, write: bool) -> "tuple[list[str], list[tuple[object, ...]]]":
    """Returns columns and rows, at most one row more than the limit."""
    try:
        cursor = connection.execute(sql)
    except (sqlite3.ProgrammingError, sqlite3.Warning) as error:
        if not write or "one statement" not in str(error):
            raise
        connection.executescript(sql)
        return [], []
    return [column[0] for column in cursor.description or ()], cursor.fetchmany(MAX_ROWS + 1)


def plain(value: object) -> object:
    """Returns a value as JSON data."""
    return "base64:" + base64.b64encode(value).decode() if isinstance(value, bytes) else value


def fail(text: str, code: int) -> int:
    """Print an error, and return its exit code."""
    json.dump({"error": text}, sys.stdout)
    return code


def serve() -> None:
    """Answer questions until the end of input."""
    for line in sys.stdin:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            code = main(*json.loads(line))
        print(json.dumps([code, output.getvalue()]), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(*sys.argv[1:]))
    serve()
