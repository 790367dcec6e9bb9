"""Copies the tables of a database server into one SQLite file, so that two moments are compared as those of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.ledger.dialects import Column, Dialect, dialect_of, read_columns
from pytest_webarena.sites.ledger.snapshot import CHEAP

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import DatabaseManifest

__all__ = ["server_content"]

_Ask = Callable[[str], Awaitable[Sequence[Sequence[Any]]]]


async def server_content(database: DatabaseManifest, ask: _Ask) -> bytes:
    """Return all tables of a server's database as an SQLite file: names, keys, references and rows, without types.

    ``ask`` runs a query and returns all of its rows. Raises `SiteError` if the tables are larger than `CHEAP`.
    """
    dialect: Any = dialect_of(database.engine)
    declared = await ask(dialect.declaration())
    size = int(float(declared[0][-1])) if declared else 0
    if size > CHEAP:
        raise SiteError(f"the database {database.name} has {size >> 20} MiB, more than can be compared ({CHEAP >> 20})")
    tables = read_columns(declared)
    # One statement, so that the rows are those of one moment.
    queries = [dialect.contents(table, columns) for table, columns in tables.items()]
    rows = await ask(" union all ".join(queries)) if queries else ()
    try:
        return _as_sqlite(dialect, tables, rows)
    except (sqlite3.Error, ValueError, LookupError) as error:
        raise SiteError(f"the tables of the database {database.name} can't be copied: {error}") from error


def _as_sqlite(dialect: Any, tables: Mapping[str, Sequence[Column]], rows: Sequence[Sequence[str]]) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        for columns in tables.values():
            connection.execute(_created(columns))
        known = {table: (_inserted(table, len(columns)), columns) for table, columns in tables.items()}
        for table, content in rows:
            statement, columns = known[table]
            connection.execute(statement, dialect.values(columns, content))
        connection.commit()
        return connection.serialize()


def _created(columns: Sequence[Column]) -> str:
    name = Dialect().name
    parts = [name(each.name) for each in columns]
    if key := sorted((each for each in columns if each.place), key=lambda each: each.place):
        parts.append(f"primary key ({', '.join(name(each.name) for each in key)})")
    parts += [
        f"foreign key ({name(each.name)}) references {name(each.target[0])} ({name(each.target[1])})"
        for each in columns if each.target is not None
    ]  # fmt: skip
    return f"create table {name(columns[0].table)} ({', '.join(parts)})"


def _inserted(table: str, columns: int) -> str:
    return f"insert into {Dialect().name(table)} values ({', '.join('?' * columns)})"
