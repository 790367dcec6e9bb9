"""The ledger of side effects: which rows and files of a site differ between an agent's first step and its last.

Brokers make it, evidence carries it, checks judge it, and it is plain JSON on the way.

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
]

Value = None | bool | int | float | str
"""What one column holds; of bytes ``base64:…``."""

RowKind = Literal["added", "changed", "removed"]

FILES = "(files)"
"""In place of a table: files of the data folder that are no database. A row of it is a file, its key the ``path``."""

MOST_ROWS = 50
"""Rows of a table that are told in full; more are counted."""

LONGEST_VALUE = 200
"""Characters of a value that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """One row that is not as it was."""

    kind: RowKind
    key: Mapping[str, Value]
    """Primary key, by column; empty where the table has none."""
    row: Mapping[str, Value] = field(default_factory=dict)
    """All columns: of an added row as it is, of others as it was."""
    now: Mapping[str, Value] = field(default_factory=dict)
    """Of a changed row: the columns that differ, as they are."""

    def __str__(self) -> str:
        which = " ".join(f"{name}={_said(value)}" for name, value in (self.key or self.row).items())
        what = ", ".join(f"{name}: {_said(self.row.get(name))} → {_said(new)}" for name, new in self.now.items())
        return f"{self.kind} {which}" + (f" ({what})" if what else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChanges:
    """What differs in one table."""

    table: str
    database: str = ""
    """As the manifest calls it; empty for `FILES`."""
    added: int = 0
    changed: int = 0
    removed: int = 0
    columns: tuple[str, ...] = ()
    """Those that differ in changed rows, in all of them together."""
    rows: tuple[RowChange, ...] = ()
    """The first of them, at most `MOST_ROWS`."""

    @property
    def total(self) -> int:
        """How many rows differ."""
        return self.added + self.changed + self.removed

    @property
    def more(self) -> int:
        """How many of them are not among `rows`."""
        return self.total - len(self.rows)

    @property
    def name(self) -> str:
        """With the database's name."""
        return f"{self.database}.{self.table}" if self.database else self.table


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteChanges:
    """What differs in one app, which may serve several sites."""

    app: str
    sites: tuple[str, ...]
    listed: bool = True
    """Whether the trial was given it; False: it was in reach, and visited."""
    strict: bool = False
    """Whether its manifest says that nothing in it changes by itself (``forbid_side_effects: true``)."""
    tables: tuple[TableChanges, ...] = ()
    """Those with a difference."""
    known: tuple[str, ...] = ()
    """All tables that were compared, as ``database.table``; empty where nobody could list all of them."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those of each of these tables. Empty where nobody could list them, and in evidence of older versions."""
    unknown: str = ""
    """Why there is no telling what changed, or what else; empty when all is known."""

    @property
    def total(self) -> int:
        """How many rows and files differ."""
        return sum(table.total for table in self.tables)


def bounded(value: Value) -> Value:
    """``value``, or the beginning of a long text and how long it was.

    >>> bounded(7), len(bounded("x" * 1000))
    (7, 223)
    """
    if not isinstance(value, str) or len(value) <= LONGEST_VALUE:
        return value
    return f"{value[:LONGEST_VALUE]} […] ({len(value):,} characters)"


def changes_from_json(data: Mapping[str, Any]) -> SiteChanges:
    """Read what `dataclasses.asdict` made of `SiteChanges`. `TypeError` when a field is missing or unknown."""
    values = {**data, **{name: tuple(data.get(name, ())) for name in ("sites", "known")}}
    columns = {table: tuple(names) for table, names in data.get("columns", {}).items()}
    return SiteChanges(**{**values, "columns": columns, "tables": tuple(_tables(data.get("tables", ())))})


def _tables(data: Any) -> Iterator[TableChanges]:
    for each in data:
        rows = tuple(RowChange(**row) for row in each.get("rows", ()))
        yield TableChanges(**{**each, "columns": tuple(each.get("columns", ())), "rows": rows})


def _said(value: Value) -> str:
    return repr(clip(value) if isinstance(value, str) and len(value) > 60 else value)
