"""The ledger of side effects: rows and files of a site that differ between an agent's first step and its last.

Brokers create it, evidence carries it and checks judge it. It is sent and stored as plain JSON.

>>> told = TableChanges(table="posts", added=1, rows=(RowChange(kind="added", key={"id": 7}, row={"id": 7}),))
>>> told.total, told.more, str(told.rows[0])
(1, 0, 'added id=7')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_webarena.text import clip

__all__ = [
    "FILES",
    "LONGEST_VALUE",
    "MOST_ROWS",
    "RowChange",
    "RowKind",
    "SiteChanges",
    "TableChanges",
    "Value",
    "bounded",
    "changes_from_json",
    "literal",
]

Value = None | bool | int | float | str
"""The value of one column; bytes are written as ``base64:…``."""

RowKind = Literal["added", "changed", "removed"]

FILES = "(files)"
"""Name used instead of a table for files of the data folder that are not databases. Each row is a file with the key
``path``."""

MOST_ROWS = 50
"""Maximum number of rows of a table that are stored in full; the others are only counted."""

LONGEST_VALUE = 200
"""Maximum number of characters that are stored of a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """One row that differs."""

    kind: RowKind
    key: Mapping[str, Value]
    """Primary key by column; empty if the table has none."""
    row: Mapping[str, Value] = field(default_factory=dict)
    """All columns: the current values of an added row, the former values of a changed or removed one."""
    now: Mapping[str, Value] = field(default_factory=dict)
    """Current values of the columns that differ, for a changed row."""

    def __str__(self) -> str:
        which = " ".join(f"{name}={_text(value)}" for name, value in (self.key or self.row).items())
        what = ", ".join(f"{name}: {_text(self.row.get(name))} → {_text(new)}" for name, new in self.now.items())
        return f"{self.kind} {which}" + (f" ({what})" if what else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChanges:
    """Differences in one table."""

    table: str
    database: str = ""
    """The database's name in the manifest; empty for `FILES`."""
    added: int = 0
    changed: int = 0
    removed: int = 0
    columns: tuple[str, ...] = ()
    """Columns that differ in any changed row."""
    references: tuple[str, ...] = ()
    """Columns that the database declares as foreign keys; empty in evidence of older versions."""
    rows: tuple[RowChange, ...] = ()
    """The first rows that differ, at most `MOST_ROWS`."""

    @property
    def total(self) -> int:
        """Number of rows that differ."""
        return self.added + self.changed + self.removed

    @property
    def more(self) -> int:
        """Number of differing rows that are not in `rows`."""
        return self.total - len(self.rows)

    @property
    def name(self) -> str:
        """The table's name, preceded by the database's name if there is one."""
        return f"{self.database}.{self.table}" if self.database else self.table


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteChanges:
    """Differences in one app, which may serve several sites."""

    app: str
    sites: tuple[str, ...]
    listed: bool = True
    """Whether the task lists the app. False: the app was only reachable, and was visited."""
    strict: bool = False
    """Whether the app's manifest states that only visitors change it (``forbid_side_effects: true``)."""
    tables: tuple[TableChanges, ...] = ()
    """Tables with a difference."""
    known: tuple[str, ...] = ()
    """All tables that were compared, as ``database.table``; empty if they could not all be listed."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns of each compared table. Empty if they could not be listed, and in evidence of older versions."""
    unknown: str = ""
    """Why the changes are not fully known; empty when they are."""

    @property
    def total(self) -> int:
        """Number of rows and files that differ."""
        return sum(table.total for table in self.tables)


def bounded(value: Value) -> Value:
    """Returns ``value``; of a long text its beginning and its length.

    >>> bounded(7), len(bounded("x" * 1000))
    (7, 223)
    """
    if not isinstance(value, str) or len(value) <= LONGEST_VALUE:
        return value
    return f"{value[:LONGEST_VALUE]} […] ({len(value):,} characters)"


def changes_from_json(data: Mapping[str, Any]) -> SiteChanges:
    """Build `SiteChanges` from the output of `dataclasses.asdict`. Raises `TypeError` for a missing or unknown
    field."""
    values = {**data, **{name: tuple(data.get(name, ())) for name in ("sites", "known")}}
    columns = {table: tuple(names) for table, names in data.get("columns", {}).items()}
    return SiteChanges(**{**values, "columns": columns, "tables": tuple(_tables(data.get("tables", ())))})


def _tables(data: Any) -> Iterator[TableChanges]:
    for each in data:
        rows = tuple(RowChange(**row) for row in each.get("rows", ()))
        names = {name: tuple(each.get(name, ())) for name in ("columns", "references")}
        yield TableChanges(**{**each, **names, "rows": rows})


def _text(value: Value) -> str:
    return repr(clip(value) if isinstance(value, str) and len(value) > 60 else value)


def literal(value: Value) -> str:
    """Returns a value as an SQL literal, as SQLite's ``quote`` writes it.

    >>> literal("Bob's"), literal(None), literal(True), literal(2.5)
    ("'Bob''s'", 'NULL', '1', '2.5')
    """
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else str(int(value)) if isinstance(value, bool) else repr(value)
