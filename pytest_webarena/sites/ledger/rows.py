"""Finds the rows that differ between two contents of one SQLite database, by table and primary key. Pure."""

from __future__ import annotations

import base64
import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

from pytest_webarena.changes import MOST_ROWS, RowChange, RowKind, TableChanges, Value, bounded

__all__ = ["Difference", "compare"]

_PAGE_SIZE = slice(16, 18)
_NO_PAGES = -1, ""
"""First page and SQL of a table whose rows are stored elsewhere; it is compared whenever anything differs."""
_VIRTUAL = re.compile(r"create\s+virtual\s+table\b.*?\busing\s+(\w+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The result of comparing two contents."""

    tables: tuple[TableChanges, ...] = ()
    known: tuple[str, ...] = ()
    """All tables that were compared; empty if they could not be listed."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    """Columns of each compared table, if they could be listed; they do not count as a difference."""
    unknown: str = ""
    """What could not be compared, and why."""


def compare(before: bytes, after: bytes, *, database: str = "", ignore: Collection[str] = ()) -> Difference:
    """Returns what differs between two contents of the database called ``database``.

    ``ignore`` lists tables, new rows of them as ``+table``, and columns as ``table.column``; ``*`` is a wildcard.
    Indexes, key counters and data derived by full-text search are not compared, because they follow from the
    rest.
    """
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            if after:  # a file without content is a database without tables
                connection.deserialize(after)
            if before == after:  # the tables are listed even so, because checks name some
                own = _Comparing(connection, database, ignore)
                known = own.names([own.tables("main")])
                return Difference(known=known, columns=own.columns(known, ("main",)))
            connection.execute("attach ':memory:' as old")
            if before:
                connection.deserialize(before, name="old")
            return _Comparing(connection, database, ignore).all(_changed_pages(before, after))
    except (sqlite3.Error, AttributeError) as error:
        why = "" if before == after else f"the database {database} could not be compared: {error}"
        return Difference(unknown=why)


def _changed_pages(before: bytes, after: bytes) -> list[int]:
    """Returns the numbers, from 1, of the pages of ``after`` that differ from ``before``."""
    size = int.from_bytes(after[_PAGE_SIZE], "big")
    size = 65536 if size == 1 else max(size, 512)
    same_size = before[_PAGE_SIZE] == after[_PAGE_SIZE]
    return [
        at // size + 1
        for at in range(0, len(after), size)
        if not same_size or before[at : at + size] != after[at : at + size]
    ]


@dataclass(slots=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


@dataclass(slots=True)
class _Found:
    ignored_kind: str = ""
    """Kind of row change that is ignored in this table; empty: none."""
    counts: Counter[RowKind] = field(default_factory=Counter)
    columns: dict[str, None] = field(default_factory=dict)
    rows: list[RowChange] = field(default_factory=list)

    def add(self, kind: RowKind, table: _Table, row: Sequence[Any], now: dict[str, Value] | None = None) -> None:
        if kind == self.ignored_kind:
            return
        self.counts[kind] += 1
        self.columns.update(dict.fromkeys(now or ()))
        if len(self.rows) < MOST_ROWS:
            whole = {name: _value(value) for name, value in zip(table.columns, row, strict=True)}
            key = {name: whole[name] for name in table.key}
            self.rows.append(RowChange(kind=kind, key=key, row=whole, now=now or {}))


class _Comparing:
    def __init__(self, connection: sqlite3.Connection, database: str, ignore: Collection[str]) -> None:
        self.connection, self.database, self.ignore = connection, database, ignore

    def all(self, pages: Sequence[int]) -> Difference:
        """Compare every table that may differ according to the changed ``pages``."""
        new, old = self.tables("main"), self.tables("old")
        names = self.names((new, old))
        found, unknown = [], []
        touched = self.touched(pages)
        for name in names:
            if touched is not None and name not in touched and new.get(name) == old.get(name) != _NO_PAGES:
                continue
            try:
                table = self.table(name, new, old)
            except ValueError as error:
                unknown.append(str(error))
                continue
            changes = self.changes(table, name in new, name in old)
            if changes.total:
                found.append(changes)
        columns = self.columns(names, ("main", "old"))
        return Difference(tables=tuple(found), known=names, columns=columns, unknown="; ".join(unknown))

    def names(self, tables: Iterable[Iterable[str]]) -> tuple[str, ...]:
        """Returns the names of all these tables, each once, without ignored ones."""
        return tuple(name for name in dict.fromkeys(chain.from_iterable(tables)) if not self.is_noise(name))

    def columns(self, names: Iterable[str], schemas: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Returns the columns of each of these tables, in any of the ``schemas``. Those of virtual tables may not be
        listable."""
        found: dict[str, dict[str, None]] = {}
        for schema in schemas:
            for name in names:
                with suppress(sqlite3.Error):
                    found.setdefault(name, {}).update(dict.fromkeys(self.shape(schema, name).columns))
        return {name: tuple(columns) for name, columns in found.items() if columns}

    def tables(self, schema: str) -> dict[str, tuple[int, str]]:
        """Returns the tables that have rows of their own, with their first pages and SQL."""
        rows = self.connection.execute(f"select name, sql, rootpage from {schema}.sqlite_master where type = 'table'")
        every = {name: (sql or "", root) for name, sql, root in rows if not name.startswith("sqlite_")}
        kinds = {name: made[1].lower() for name, (sql, _) in every.items() if (made := _VIRTUAL.match(sql))}
        kept = {}
        for name, (sql, root) in every.items():
            owner = max((other for other in kinds if name.startswith(f"{other}_")), key=len, default=None)
            if name in kinds:
                if not kinds[name].startswith("fts"):
                    kept[name] = _NO_PAGES
            elif owner is None or (kinds[owner].startswith("fts") and name == f"{owner}_content"):
                kept[name] = root, sql
        return kept

    def touched(self, pages: Sequence[int]) -> frozenset[str] | None:
        """Returns the tables that any of these pages belongs to; None if SQLite can't report it.

        A table with unchanged pages, from the same first page on, has unchanged rows.
        """
        changed = set(pages)
        try:
            rows = self.connection.execute("select name, pageno from dbstat('main')")
            return frozenset(name for name, page in rows if page in changed)
        except sqlite3.Error:
            return None

    def table(self, name: str, new: Mapping[str, tuple[int, str]], old: Mapping[str, tuple[int, str]]) -> _Table:
        """Returns its columns and key. Raises `ValueError` when they have changed, other than by ``add column``."""
        shapes = [self.shape(schema, name) for schema, tables in (("main", new), ("old", old)) if name in tables]
        if len(shapes) == 2 and (now := shapes[0].columns) != (was := shapes[1].columns):
            in_place = new[name][0] == old[name][0] and now[: len(was)] == was
            if not in_place or not self.add_columns(name, now[len(was) :]):
                raise ValueError(f"the table {name} has other columns than before")
        return shapes[0]

    def add_columns(self, name: str, columns: Collection[str]) -> bool:
        """Add these columns to the table in ``old``, too: an app that adds one gives each row its default, which is no
        change of the row. Returns whether that was possible."""
        for row in self.connection.execute(f"pragma main.table_info({_quoted(name)})").fetchall():
            if row[1] in columns:
                default = f" default {row[4]}" if row[4] is not None else ""
                try:
                    self.connection.execute(f"alter table old.{_quoted(name)} add column {_quoted(row[1])}{default}")
                except sqlite3.Error:
                    return False
        return True

    def shape(self, schema: str, name: str) -> _Table:
        info = self.connection.execute(f"pragma {schema}.table_info({_quoted(name)})").fetchall()
        key = sorted((row for row in info if row[5]), key=lambda row: row[5])
        return _Table(name, tuple(row[1] for row in info), tuple(row[1] for row in key))

    def references(self, name: str, schema: str) -> tuple[str, ...]:
        """Returns the columns that are declared as foreign keys."""
        rows = self.connection.execute(f"pragma {schema}.foreign_key_list({_quoted(name)})").fetchall()
        return tuple(dict.fromkeys(row[3] for row in rows))

    def is_noise(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.ignore)

    def changes(self, table: _Table, in_new: bool, in_old: bool) -> TableChanges:
        found = _Found(ignored_kind="added" if self.is_noise(f"+{table.name}") else "")
        if not (in_new and in_old):
            kind: RowKind = "added" if in_new else "removed"
            for row in self.select(table, "main" if in_new else "old"):
                found.add(kind, table, row)
        elif table.key:
            self.by_key(table, found)
        else:
            before, after = (Counter(self.select(table, schema)) for schema in ("old", "main"))
            for row in (after - before).elements():
                found.add("added", table, row)
            for row in (before - after).elements():
                found.add("removed", table, row)
        return TableChanges(
            table=table.name, database=self.database, columns=tuple(found.columns), rows=tuple(found.rows),
            references=self.references(table.name, "main" if in_new else "old") if found.rows else (),
            **{kind: found.counts[kind] for kind in ("added", "changed", "removed")},
        )  # fmt: skip

    def by_key(self, table: _Table, found: _Found) -> None:
        name = _quoted(table.name)
        # Compared as bytes: a column's own collation may treat "tea" and "Tea" as equal.
        same_key = " and ".join(f"n.{_quoted(each)} is o.{_quoted(each)} collate binary" for each in table.key)
        columns = [each for each in table.columns if not self.is_noise(f"{table.name}.{each}")]
        sides: tuple[tuple[RowKind, str, str], ...] = (("added", "main", "old"), ("removed", "old", "main"))
        for kind, schema, other_schema in sides:
            rows = self.connection.execute(
                f"select {_columns(table, 'n')} from {schema}.{name} n"
                f" where not exists (select 1 from {other_schema}.{name} o where {same_key})"
            )
            for row in rows:
                found.add(kind, table, row)
        differs = " or ".join(f"n.{_quoted(each)} is not o.{_quoted(each)} collate binary" for each in columns)
        if not differs:
            return
        width = len(table.columns)
        rows = self.connection.execute(
            f"select {_columns(table, 'o')}, {_columns(table, 'n')} from main.{name} n join old.{name} o on {same_key}"
            f" where {differs}"
        )
        for row in rows:
            was, now = row[:width], row[width:]
            pairs = zip(table.columns, was, now, strict=True)
            differing = {each: _value(new) for each, old, new in pairs if old != new and each in columns}
            found.add("changed", table, was, differing)

    def select(self, table: _Table, schema: str) -> Iterator[tuple[Any, ...]]:
        return self.connection.execute(f"select {_columns(table, 'n')} from {schema}.{_quoted(table.name)} n")


def _columns(table: _Table, alias: str) -> str:
    return ", ".join(f"{alias}.{_quoted(each)}" for each in table.columns)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(value: Any) -> Value:
    return bounded(f"base64:{base64.b64encode(value).decode()}" if isinstance(value, bytes) else value)
