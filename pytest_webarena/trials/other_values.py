"""Other values for one cell of a site's database: a near miss of what a solution wrote there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from pytest_webarena.changes import Value, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Ask = Callable[[str], Sequence[Sequence[Any]]]
    """Runs a read-only statement and returns its rows."""

__all__ = ["Table", "is_clock", "is_state", "other_values", "quoted", "read_table"]

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d[T ]00:00(:00(\.0*)?)?(Z|[+-]00:?00)?\Z")
_OPTIONS = 12
"""Maximum number of distinct values of a column that is a choice of options."""
_OTHERS = 3
"""Number of values of other rows that are tried."""


class Table:
    """A table's declaration, as far as other values depend on it."""

    def __init__(
        self,
        name: str,
        key: Sequence[str],
        references: Mapping[str, tuple[str, str]],
        rowid: str = "",
        others: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.key = tuple(key)
        """Columns of the primary key."""
        self.references = references
        """Table and column that a foreign key refers to, by column."""
        self.rowid = rowid
        """Name of the hidden column that identifies a row of a table without a key; empty if columns hide it."""
        self.others = tuple(others)
        """Names of the database's other tables."""

    @property
    def generated(self) -> str:
        """The column whose value the database generates for a new row; empty for a key of several columns."""
        return self.key[0] if len(self.key) == 1 and self.key[0] not in self.references else ""


def read_table(ask: Ask, name: str) -> Table:
    """Returns the declaration of a table of an SQLite database."""
    text = literal(name)
    columns = [(str(row[0]), row[1]) for row in ask(f"select name, pk from pragma_table_info({text}) order by pk")]
    key = [column for column, place in columns if place]
    names = {column.lower() for column, _ in columns}
    rowid = next((each for each in ("rowid", "_rowid_", "oid") if each not in names), "") if not key else ""
    references = {}
    for column, other, to in ask(f'select "from", "table", "to" from pragma_foreign_key_list({text})'):
        keys = ask(f"select name from pragma_table_info({literal(other)}) where pk")
        found = to or next((row[0] for row in keys), "")
        if found:
            references[str(column)] = str(other), str(found)
    others = [str(row[0]) for row in ask(f"select name from sqlite_master where type = 'table' and name is not {text}")]
    return Table(name, key, references, rowid, others)


def is_state(ask: Ask, table: Table, column: str, value: Value) -> bool:
    """Whether a column has a state: a foreign key, a flag or one of few texts. Others count, measure, or are derived
    like the hash of a file."""
    if column in table.references:
        return True
    name, source = quoted(column), quoted(table.name)
    if isinstance(value, str):
        return len(ask(f"select distinct {name} from {source} limit {_OPTIONS + 1}")) <= _OPTIONS
    return not ask(f"select 1 from {source} where {name} not in (0, 1) limit 1")


def other_values(ask: Ask, table: Table, column: str, value: Value) -> Iterator[str]:
    """Yields SQL literals of other values for a column, the likeliest mistake first.

    Another row of the referenced table; another option of a column with few values; one unit, or one day, more; the
    value of another row; a text with an addition.
    """
    name, source = quoted(column), quoted(table.name)
    own = literal(value)
    if column in table.references:
        other, key = map(quoted, table.references[column])
        yield from _literals(ask(
            f"select quote({key}) from {other} where {key} is not {own} order by {key} < {own}, {key} limit {_OTHERS}"
        ))  # fmt: skip
        return
    some = f"select distinct quote({name}) from {source} where {name} is not null limit {_OPTIONS + 1}"
    options = _literals(ask(some))
    others = [each for each in options if each not in (own, "''")]
    if isinstance(value, int | float):
        if value in (0, 1) and set(options) <= {"0", "1"}:
            yield str(1 - int(value))
            return
        yield literal(value + 1)
        yield literal(value - 1)
    elif isinstance(value, str) and (day := _next_day(value)):
        yield literal(day)
        return
    if len(options) <= _OPTIONS or not isinstance(value, str):
        yield from others[:_OTHERS]
    if isinstance(value, str):
        yield literal(f"{value} 2")
        yield from others[:_OTHERS]


def _literals(rows: Sequence[Sequence[Any]]) -> list[str]:
    return [str(row[0]) for row in rows]


def _next_day(value: str) -> str:
    """The date one day later, with what follows it; empty if the text does not begin with a date.

    >>> _next_day("2026-07-09"), _next_day("2026-02-28T10:00"), _next_day("July")
    ('2026-07-10', '2026-03-01T10:00', '')
    """
    with suppress(ValueError, OverflowError):
        return (date.fromisoformat(value[:10]) + timedelta(days=1)).isoformat() + value[10:]
    return ""


def is_clock(value: Value) -> bool:
    """Whether a value is a moment: a date with a time of day other than midnight, or a number of seconds since 1970.

    >>> is_clock("2026-07-09T10:30:00"), is_clock("2026-07-09"), is_clock("2026-07-09 00:00:00"), is_clock(1783592000)
    (True, False, False, True)
    """
    if isinstance(value, str):
        return bool(_MOMENT.match(value)) and not _MIDNIGHT.match(value)
    return (
        not isinstance(value, bool)
        and isinstance(value, int | float)
        and any(9e8 * unit < value < 9e9 * unit for unit in (1, 1e3, 1e6))
    )


def quoted(name: str) -> str:
    """Returns a name as SQL.

    >>> quoted("order")
    '"order"'
    """
    return '"' + name.replace('"', '""') + '"'
