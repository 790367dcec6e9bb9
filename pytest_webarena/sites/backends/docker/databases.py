"""SQL for database servers inside containers, run by their own command-line clients."""

from __future__ import annotations

import csv
import io
import re
from textwrap import shorten
from xml.etree import ElementTree

from pytest_webarena.errors import SiteError, TaskError, TooLarge
from pytest_webarena.sites.backends.base import Rows
from pytest_webarena.sites.backends.docker.containers import Executed
from pytest_webarena.sites.catalogues.manifest import DatabaseManifest

__all__ = ["query_argv", "rows_from"]

_MAX_ROWS = 10_000
"""Maximum number of rows, the same as for SQLite (`inside/query.py`)."""
_NULL = "\x01null\x01"
"""Text that psql prints for NULL, because an empty text and the word are possible values."""
_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_ESCAPE = "\ue000"
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\ue000\ufffe\uffff]")
_ESCAPED = re.compile(_ESCAPE + "([0-9a-f]{4})")
_MYSQL_ERROR = re.compile(r"^ERROR (\d+)\b", re.M)
_MYSQL_NOT_THE_STATEMENT = frozenset({1040, 1044, 1045, 1049, 1129, 1130, 1203, 1226})
"""Too many connections, access denied, no such database …; codes from 2000 on are the client's own."""


def query_argv(database: DatabaseManifest, sql: str, *, write: bool, seconds: float) -> tuple[str, ...]:
    """Returns program and arguments that run ``sql`` in ``database`` and print what `rows_from` parses.

    PostgreSQL cancels a statement after ``seconds``.
    """
    if database.engine == "mysql":
        guarded = sql if write else f"SET SESSION TRANSACTION READ ONLY; {sql}"
        return (*database.client_argv, "--xml", "--default-character-set=utf8mb4", f"--execute={guarded}")
    settings = f"SET statement_timeout = {seconds * 1000:.0f}"
    if not write:
        settings += "; SET default_transaction_read_only = on"
    options = ("--no-psqlrc", "--quiet", "--csv", f"--pset=null={_NULL}", "--set=ON_ERROR_STOP=1")
    return (*database.client_argv, *options, f"--command={settings}", f"--command={sql}")


def rows_from(database: DatabaseManifest, done: Executed, sql: str, replica: str, *, most: float = _MAX_ROWS) -> Rows:
    """Parse the client's output of at most ``most`` rows, with all values as texts; None is NULL.

    Raises `TaskError` when the statement is at fault, `SiteError` when the server or its client is.
    """
    if done.code != 0:
        message = _without_warnings(done.stderr) or done.stdout.strip() or "it said nothing"
        if _statement_fault(database, done):
            raise TaskError(f"the SQL statement failed: {message}: {shorten(sql, 200, placeholder='…')}")
        raise SiteError(f"can't query the database {database.name} of {replica}: exit code {done.code}: {message}")
    columns, rows = _from_xml(done.stdout) if database.engine == "mysql" else _from_csv(done.stdout)
    if len(rows) > most:
        raise TooLarge(f"the SQL statement failed: it gave more than {most} rows; add a LIMIT")
    return Rows(columns=tuple(columns), rows=tuple(tuple(row) for row in rows))


def _statement_fault(database: DatabaseManifest, done: Executed) -> bool:
    if database.engine == "mysql":
        code = _MYSQL_ERROR.search(done.stderr)
        return code is not None and int(code[1]) < 2000 and int(code[1]) not in _MYSQL_NOT_THE_STATEMENT
    # psql exits with 1 and 3 for statements, 2 for a lost connection; its own start fails with "psql: error:".
    return done.code in (1, 3) and "ERROR:" in done.stderr and not done.stderr.lstrip().startswith("psql: error")


def _without_warnings(text: str) -> str:
    return "\n".join(line for line in text.strip().splitlines() if "[Warning]" not in line)


def _from_xml(text: str) -> tuple[list[str], list[list[str | None]]]:
    """Returns the last result of ``mysql --xml``, which prints one document for each statement with a result."""
    documents = [part for part in re.split(r"<\?xml[^>]*\?>", text) if part.strip()]
    if not documents:
        return [], []
    try:
        # SQL texts may have characters that XML can't represent, or that XML parsers change.
        root = ElementTree.fromstring(_UNWRITABLE.sub(_escaped, documents[-1]))
    except ElementTree.ParseError as error:
        raise SiteError(f"mysql --xml printed what is no XML ({error}): {documents[-1][:200]}") from None
    rows = root.findall("row")
    columns = [_restored(field.get("name", "")) for field in rows[0]] if rows else []
    return columns, [
        [None if field.get(_NIL) == "true" else _restored(field.text or "") for field in row] for row in rows
    ]


def _escaped(found: re.Match[str]) -> str:
    return f"{_ESCAPE}{ord(found[0]):04x}"


def _restored(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _from_csv(text: str) -> tuple[list[str], list[list[str | None]]]:
    lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    if not lines:
        return [], []
    if len(lines[0]) == 1:  # an empty text alone is an empty line, which the reader returns without fields
        lines = [line or [""] for line in lines]
    return lines[0], [[None if value == _NULL else value for value in line] for line in lines[1:]]
