"""Gives new rows other generated values than the database and the site gave them, on which no verdict may depend."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_webarena.changes import FILES, RowChange, TableChanges, Value, literal
from pytest_webarena.trials.other_values import Table, quoted, read_table
from pytest_webarena.trials.sent_values import is_alike

if TYPE_CHECKING:
    from pytest_webarena.trials.other_values import Ask

__all__ = ["Renumbering", "renumberings"]

_FURTHER = 1000
"""How much higher the other number is, as if others had added rows before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renumbering:
    """Statements that give one new row another number, and its references, too."""

    column: str
    do: tuple[str, ...]
    undo: tuple[str, ...]


def renumberings(
    ask: Ask, table: Table, row: RowChange, counted: frozenset[str], written: Sequence[TableChanges]
) -> Iterator[Renumbering]:
    """Yield what to try with one row. ``counted`` are columns with the next number, ``written`` the tables of the same
    app that were written to, of which those in the same database may refer to the row."""
    source = quoted(table.name)
    for column in sorted({table.generated, *counted} - {""}):
        value = row.row.get(column)
        other = _further(value)
        if other is None:
            continue
        old, new = literal(value), literal(other)
        name = quoted(column)
        places = [(source, name)]
        if column == table.generated:
            places += [
                (quoted(child), quoted(reference)) for child, reference in _references(ask, table, value, written)
            ]
        yield Renumbering(
            column=column,
            do=tuple(f"update {where} set {what} = {new} where {what} is {old}" for where, what in places),
            undo=tuple(f"update {where} set {what} = {old} where {what} is {new}" for where, what in places),
        )


def _references(ask: Ask, table: Table, key: Value, written: Sequence[TableChanges]) -> Iterator[tuple[str, str]]:
    """Yield the written tables and columns that refer to a new row: as declared, else by the column's name."""
    for child in written:
        if child.table in (FILES, table.name):
            continue
        declared = read_table(ask, child.table).references
        columns = dict.fromkeys(column for row in child.rows for column in (row.now or row.row))
        for column in columns:
            refers = any({**row.row, **row.now}.get(column) == key for row in child.rows)
            target = declared[column][0] == table.name if column in declared else is_alike(column, table.name)
            if refers and target:
                yield child.table, column


def _further(value: Value) -> Value:
    """Return a number that is much higher, in the same text around it; None for other values.

    >>> _further(7), _further("INV-0043"), _further("x"), _further(1.5)
    (1007, 'INV-1043', None, None)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value + _FURTHER
    found = re.fullmatch(r"(.*?)(\d{1,15})", value, re.DOTALL) if isinstance(value, str) else None
    return None if found is None else found[1] + str(int(found[2]) + _FURTHER).zfill(len(found[2]))
