"""Other values for one cell of a site's database: a near miss of what a solution wrote there."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_webarena.changes import Value
from pytest_webarena.checks.changes import holds_something
from pytest_webarena.sites.ledger.dialects import Dialect, dialect_of, read_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Ask = Callable[[str], Sequence[Sequence[Any]]]
    """Runs a read-only statement and returns its rows."""

__all__ = [
    "SQLITE",
    "Table",
    "epoch_day",
    "is_clock",
    "is_set_or_cleared",
    "is_state",
    "near_misses",
    "other_values",
    "read_table",
]

SQLITE = dialect_of("sqlite")

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d[T ]00:00(:00(\.0*)?)?(Z|[+-]00:?00)?\Z")
_NUMBER = re.compile(r"\d{9,16}(?:\.\d+)?", re.ASCII)
_DAY = 86400
"""Seconds."""
_HEXADECIMAL = re.compile(r"(?P<before>\s*(?:[xX]'|E'\\\\x)[0-9a-fA-F]*)(?P<last>[0-9a-fA-F])'")
"""Literals of bytes: ``X'00FF'`` and PostgreSQL's `` E'\\\\x00ff'``."""
_OPTIONS = 12
"""Maximum number of distinct values of a column that is a choice of options."""
_LETTERS = string.ascii_lowercase + string.ascii_uppercase
_NEXT_LETTERS = str.maketrans(_LETTERS, _LETTERS[1:26] + "a" + _LETTERS[27:] + "A")
_OTHERS = 3
"""Number of values of other rows that are tried."""


class Table:
    """A table's declaration, as far as other values depend on it."""

    def __init__(
        self,
        name: str,
        key: Sequence[str],
        references: Mapping[str, tuple[str, str]],
        kinds: Mapping[str, str] = MappingProxyType({}),
        others: Sequence[str] = (),
        dialect: Dialect = SQLITE,
    ) -> None:
        self.name = name
        self.key = tuple(key)
        """Columns of the primary key."""
        self.references = references
        """Table and column that a foreign key refers to, by column."""
        self.kinds = kinds
        """Declared type by column."""
        self.others = tuple(others)
        """Names of the database's other tables."""
        self.dialect = dialect

    @property
    def generated(self) -> str:
        """The column whose value the database generates for a new row; empty for a key of several columns."""
        return self.key[0] if len(self.key) == 1 and self.key[0] not in self.references else ""

    def as_literal(self, column: str) -> str:
        """Return the expression for a column's value as a literal."""
        return self.dialect.as_literal(column, self.kinds.get(column, ""))


def read_table(ask: Ask, name: str, dialect: Dialect = SQLITE) -> Table:
    """Returns the declaration of a table."""
    columns = read_columns(ask(dialect.declaration(name))).get(name, ())
    key = sorted((each for each in columns if each.place), key=lambda each: each.place)
    return Table(
        name,
        [each.name for each in key],
        {each.name: each.target for each in columns if each.target is not None},
        {each.name: each.kind for each in columns},
        [str(row[0]) for row in ask(dialect.tables()) if row[0] != name],
        dialect,
    )


def is_state(ask: Ask, table: Table, column: str, value: Value) -> bool:
    """Whether a column has a state: a foreign key, a flag or one of few texts. Others count, measure, or are derived
    like the hash of a file."""
    if column in table.references:
        return True
    source = table.dialect.table(table.name)
    if isinstance(value, str):
        return len(ask(f"select distinct {table.as_literal(column)} from {source} limit {_OPTIONS + 1}")) <= _OPTIONS
    flags = ", ".join(map(table.dialect.literal, (0, 1)))
    return not ask(f"select 1 from {source} where {table.dialect.name(column)} not in ({flags}) limit 1")


def other_values(ask: Ask, table: Table, column: str, value: Value, own: str) -> Iterator[str]:
    """Yields SQL literals of other values for a column, the likeliest mistake first. ``own`` is the present one.

    Another row of the referenced table; another option of a column with few values; one unit, or one day, more; the
    value of another row; a text with an addition; other bytes.
    """
    dialect = table.dialect
    name, source, literal = dialect.name(column), dialect.table(table.name), dialect.literal
    if column in table.references:
        other, key = table.references[column]
        quoted = dialect.name(key)
        yield from _literals(ask(
            f"select {dialect.as_literal(key, table.kinds.get(column, ''))} from {dialect.table(other)}"
            f" where not {quoted} {dialect.same} {own} order by {quoted} < {own}, {quoted} limit {_OTHERS}"
        ))  # fmt: skip
        return
    if found := _HEXADECIMAL.fullmatch(own):
        last = f"{int(found['last'], 16) ^ 1:X}"
        yield f"{found['before']}{last}'"
        return
    some = f"select distinct {table.as_literal(column)} from {source} where {name} is not null limit {_OPTIONS + 1}"
    options = _literals(ask(some))
    others = [each for each in options if each not in (own, "''")]
    if value is not None and (day := _next_epoch_day(value)):
        yield literal(day)
        return
    if isinstance(value, int | float):
        if value in (0, 1) and set(options) <= {literal(0), literal(1)}:
            yield literal(1 - int(value))
            return
        yield literal(value + 1)
        yield literal(value - 1)
    elif isinstance(value, str) and (later := _next_day(value)):
        yield literal(later)
        return
    if len(options) <= _OPTIONS or not isinstance(value, str):
        yield from others[:_OTHERS]
    if value in (None, ""):
        yield literal(1)
        yield literal("x")
    elif isinstance(value, str):
        yield literal(f"{value} 2")
        yield from others[:_OTHERS]


def near_misses(value: Value) -> Iterator[Value]:
    """Yields other values for one that is in no column, the likeliest mistake first.

    >>> [list(near_misses(each)) for each in (True, 7, "2026-07-09", "Ada")]
    [[False], [8], ['2026-07-10'], ['Ada 2', 'Beb']]
    """
    if isinstance(value, bool):
        yield not value
    elif value is not None and (day := _next_epoch_day(value)):
        yield day
    elif isinstance(value, int | float):
        yield value + 1
    elif later := _next_day(value or ""):
        yield later
    elif value is not None and value.isdecimal():
        yield str(int(value) + 1)
    elif value:
        yield f"{value} 2"
        yield value.translate(_NEXT_LETTERS)


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


def _next_epoch_day(value: Value) -> Value:
    """The midnight one day later of a number of seconds since 1970, in the same form; None if the value is none.

    >>> _next_epoch_day("1783555200"), _next_epoch_day(1783555200000), _next_epoch_day(7)
    ('1783641600', 1783641600000, None)
    """
    if value is None or (epoch := epoch_day(value)) is None:
        return None
    return type(value)(int(float(value)) + _DAY * epoch[1])


def is_clock(value: Value) -> bool:
    """Whether a value is a moment: a date with a time of day, or a number of seconds since 1970, also as text.
    Midnights (of numbers, in UTC) are days.

    >>> is_clock("2026-07-09T10:30:00"), is_clock("2026-07-09"), is_clock("2026-07-09 00:00:00"), is_clock(1783592000)
    (True, False, False, True)
    >>> is_clock("1783592000"), is_clock(1783555200), is_clock("1783555200000")
    (True, False, False)
    """
    if isinstance(value, str) and _MOMENT.match(value):
        return not _MIDNIGHT.match(value)
    return bool(unit := _epoch_unit(value)) and float(value or 0) % (_DAY * unit) != 0


def epoch_day(value: Value) -> tuple[date, int] | None:
    """Return the day of a number of seconds since 1970 that is a midnight (UTC), and its units per second; None for
    other values.

    >>> epoch_day(1783555200000), epoch_day(1783592000)
    ((datetime.date(2026, 7, 9), 1000), None)
    """
    unit = _epoch_unit(value)
    if not unit or is_clock(value):
        return None
    return datetime.fromtimestamp(float(value or 0) / unit, UTC).date(), unit


def is_set_or_cleared(former: Value, now: Value) -> bool:
    """Whether a column was empty before, or is empty now: a moment there is a state, as of a row that was removed.

    >>> is_set_or_cleared(None, "2026-07-09T10:30:00"), is_set_or_cleared("2026-07-08T09:00:00", "2026-07-09T10:30:00")
    (True, False)
    """
    return holds_something(former) != holds_something(now)


def _epoch_unit(value: Value) -> int:
    """Return the units per second of a number of seconds, milliseconds or microseconds since 1970; 0 for others."""
    if isinstance(value, bool) or not (isinstance(value, int | float) or (value and _NUMBER.fullmatch(value))):
        return 0
    return next((unit for unit in (1, 1000, 1000000) if 9e8 * unit < float(value) < 9e9 * unit), 0)
