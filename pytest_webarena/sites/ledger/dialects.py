"""SQL of the database engines whose data are compared and changed: names, literals, declarations, typed rows."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pytest_webarena.changes import Value, literal

__all__ = ["Column", "Dialect", "dialect_of", "read_columns"]

_Row = dict[str, Any]

_BINARY = re.compile(r"bytea|blob|binary", re.IGNORECASE)
_BITS = re.compile(r"bit\b", re.IGNORECASE)
_LARGEST = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as its database declares it."""

    table: str
    name: str
    kind: str = ""
    """Declared type; empty if there is none."""
    place: int = 0
    """Place in the primary key, from 1; 0: not part of it."""
    target: tuple[str, str] | None = None
    """Table and column that a foreign key refers to."""


class Dialect:
    """SQLite, and what the engines have in common."""

    same = "is"
    """Operator for equal values, of which NULL is one."""
    _mark = '"'

    def name(self, name: str) -> str:
        """Return the name of a column as SQL.

        >>> Dialect().name("order"), dialect_of("mysql").name("order")
        ('"order"', '`order`')
        """
        return self._mark + name.replace(self._mark, self._mark * 2) + self._mark

    def table(self, name: str) -> str:
        """Return the name of a table as SQL."""
        return self.name(name)

    def literal(self, value: Value) -> str:
        """Return a value as `as_literal` returns it.

        >>> [Dialect().literal(each) for each in ("Bob's", None, True, 2.5)]
        ["'Bob''s'", 'NULL', '1', '2.5']
        """
        return literal(value)

    def as_literal(self, column: str, kind: str = "") -> str:
        """Return the expression for a column's value as a literal; ``kind`` is the column's declared type."""
        return f"quote({self.name(column)})"

    def condition(self, values: Mapping[str, str]) -> str:
        """Return the condition that columns have the values of these literals."""
        return " and ".join(f"{self.name(column)} {self.same} {value}" for column, value in values.items())

    def one_of(self, table: str, where: str) -> str:
        """Return the end of an ``update`` or ``delete`` statement for one of the equal rows of a table without a
        key."""
        return f"where _rowid_ in (select _rowid_ from {self.table(table)} where {where} limit 1)"

    def insert(self, table: str, values: Mapping[str, str]) -> str:
        """Return the statement that adds a row of these literals."""
        columns = ", ".join(map(self.name, values))
        return f"insert into {self.table(table)} ({columns}){self._overriding} values ({', '.join(values.values())})"

    _overriding = ""

    def declaration(self, table: str = "") -> str:
        """Return the query for the columns of one table, or of all, which `read_columns` parses. Of a server, the last
        value of each row is the size of all tables in bytes."""
        which = f"m.name is {self.literal(table)}" if table else "m.sql not like 'create virtual%'"
        return (
            'select m.name, p.name, p.type, p.pk, f."table", coalesce(f."to",'
            ' (select name from pragma_table_info(f."table") where pk))'
            " from sqlite_master m join pragma_table_info(m.name) p"
            ' left join pragma_foreign_key_list(m.name) f on f."from" = p.name collate nocase'
            f" where m.type = 'table' and m.name not like 'sqlite%' and {which} order by m.name, p.cid"
        )

    def tables(self) -> str:
        """Return the query for the names of all tables."""
        return "select name from sqlite_master where type = 'table'"

    def whole(self, table: str, columns: Sequence[Column], limit: int) -> str:
        """Return the query for the first rows of a table, which `rows` parses."""
        return f"select * from {self.table(table)} limit {limit}"

    def rows(self, columns: Sequence[Column], names: Sequence[str], found: Iterable[Sequence[Any]]) -> list[_Row]:
        """Return the rows of `whole` by column."""
        return [dict(zip(names, row, strict=True)) for row in found]


class _Server(Dialect):
    """What servers have in common. Their clients print all values as texts, so rows are read as JSON."""

    def literal(self, value: Value) -> str:
        """Return a value as a quoted text, which the server converts to the column's type."""
        text = str(int(value)) if isinstance(value, bool) else str(value)
        return "NULL" if value is None else "'" + text.replace("'", "''") + "'"

    def contents(self, table: str, columns: Sequence[Column], limit: int = 0) -> str:
        """Return the query for rows of a table as its name and JSON."""
        end = f" limit {limit}" if limit else ""
        return f"(select {self.literal(table)}, {self._json(columns)} from {self.table(table)} t{end})"

    def _json(self, columns: Sequence[Column]) -> str:
        raise NotImplementedError

    def whole(self, table: str, columns: Sequence[Column], limit: int) -> str:
        return self.contents(table, columns, limit)

    def rows(self, columns: Sequence[Column], names: Sequence[str], found: Iterable[Sequence[Any]]) -> list[_Row]:
        return [dict(zip((each.name for each in columns), map(_printed, self.values(columns, row[1])), strict=True))
                for row in found]  # fmt: skip

    def values(self, columns: Sequence[Column], content: str) -> list[Any]:
        """Return the values of a row of `contents`, as SQLite stores them.

        Raises `ValueError` for what is no JSON.
        """
        found = json.loads(content, parse_float=_exact)
        values = [found[each.name] for each in columns] if isinstance(found, dict) else found
        return [_stored(value, each.kind) for value, each in zip(values, columns, strict=True)]


class _PostgreSQL(_Server):
    same = "is not distinct from"
    _overriding = " overriding system value"

    def table(self, name: str) -> str:
        return ".".join(map(self.name, name.split(".", 1)))

    def as_literal(self, column: str, kind: str = "") -> str:
        return f"quote_nullable({self.name(column)}{'::int' if kind == 'boolean' else ''}::text)"

    def one_of(self, table: str, where: str) -> str:
        return f"where ctid in (select ctid from {self.table(table)} where {where} limit 1)"

    _NAME = "case n.nspname when current_schema() then c.relname else n.nspname || '.' || c.relname end"
    _TABLES = (
        "pg_class c join pg_namespace n on n.oid = c.relnamespace and c.relkind = 'r'"
        " and n.nspname !~ '^(pg_|information_schema$)'"
    )

    def declaration(self, table: str = "") -> str:
        which = f" where {self._NAME} = {self.literal(table)}" if table else ""
        other = self._NAME.replace("n.", "rn.").replace("c.", "rc.")
        return (
            f"select {self._NAME}, a.attname, format_type(a.atttypid, a.atttypmod),"
            f" coalesce(array_position(p.conkey, a.attnum), 0), {other}, ra.attname,"
            f" (select sum(pg_table_size(c.oid)) from {self._TABLES}) from {self._TABLES}"
            " join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped"
            " left join pg_constraint p on p.conrelid = c.oid and p.contype = 'p'"
            " left join pg_constraint f on f.conrelid = c.oid and f.contype = 'f' and a.attnum = any(f.conkey)"
            " left join pg_class rc on rc.oid = f.confrelid left join pg_namespace rn on rn.oid = rc.relnamespace"
            " left join pg_attribute ra on ra.attrelid = f.confrelid"
            f" and ra.attnum = f.confkey[array_position(f.conkey, a.attnum)]{which} order by 1, a.attnum"
        )

    def tables(self) -> str:
        return f"select {self._NAME} from {self._TABLES}"

    def _json(self, columns: Sequence[Column]) -> str:
        return "to_json(t.*)::text"


class _MySQL(_Server):
    same = "<=>"
    _mark = "`"

    def literal(self, value: Value) -> str:
        return super().literal(value.replace("\\", "\\\\") if isinstance(value, str) else value)

    def as_literal(self, column: str, kind: str = "") -> str:
        name = self.name(column)
        if _BINARY.search(kind):
            return f"if({name} is null, 'NULL', concat('x''', hex({name}), ''''))"
        return f"quote({name}{' + 0' if _BITS.match(kind) else ''})"

    def one_of(self, table: str, where: str) -> str:
        return f"where {where} limit 1"

    def declaration(self, table: str = "") -> str:
        which = f" and c.table_name = {self.literal(table)}" if table else ""
        return (
            "select c.table_name, c.column_name, c.column_type, coalesce(p.ordinal_position, 0),"
            " f.referenced_table_name, f.referenced_column_name,"
            " (select sum(data_length) from information_schema.tables where table_schema = database())"
            " from information_schema.columns c"
            " join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name"
            " and t.table_type = 'BASE TABLE'"
            " left join information_schema.key_column_usage p on p.table_schema = c.table_schema"
            " and p.table_name = c.table_name and p.column_name = c.column_name and p.constraint_name = 'PRIMARY'"
            " left join information_schema.key_column_usage f on f.table_schema = c.table_schema"
            " and f.table_name = c.table_name and f.column_name = c.column_name"
            " and f.referenced_table_name is not null"
            f" where c.table_schema = database(){which} order by c.table_name, c.ordinal_position"
        )

    def tables(self) -> str:
        return (
            "select table_name from information_schema.tables"
            " where table_schema = database() and table_type = 'BASE TABLE'"
        )

    def _json(self, columns: Sequence[Column]) -> str:
        return f"json_array({', '.join(map(self._value, columns))})"

    def _value(self, column: Column) -> str:
        name = f"t.{self.name(column.name)}"
        if _BINARY.search(column.kind):
            return f"hex({name})"
        return f"{name} + 0" if _BITS.match(column.kind) else name


_DIALECTS: Mapping[str, Dialect] = {
    "sqlite": Dialect(), "postgresql": _PostgreSQL(), "gitlab-psql": _PostgreSQL(), "mysql": _MySQL(),
}  # fmt: skip


def dialect_of(engine: str) -> Dialect:
    """Return the SQL of a manifest's ``engine``."""
    return _DIALECTS[engine]


def read_columns(rows: Iterable[Sequence[Any]]) -> dict[str, tuple[Column, ...]]:
    """Return the columns by table from the result of `Dialect.declaration`."""
    found: dict[str, dict[str, Column]] = {}
    for table, name, kind, place, other, to, *_ in rows:
        target = (other, to) if other and to else None
        column = Column(table=table, name=name, kind=kind or "", place=int(place or 0), target=target)
        columns = found.setdefault(table, {})
        if name not in columns or columns[name].target is None:
            columns[name] = column
    return {table: tuple(columns.values()) for table, columns in found.items()}


def _exact(text: str) -> float | str:
    """Return a number; as text if a float would lose digits."""
    value = float(text)
    return value if Decimal(repr(value)) == Decimal(text) else text


def _stored(value: Any, kind: str) -> Any:
    if isinstance(value, str) and _BINARY.search(kind):
        return bytes.fromhex(value.removeprefix("\\x"))
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value) if type(value) is int and not -_LARGEST <= value < _LARGEST else value


def _printed(value: Any) -> Value:
    printed: Value = f"base64:{base64.b64encode(value).decode()}" if isinstance(value, bytes) else value
    return int(printed) if isinstance(printed, bool) else printed
