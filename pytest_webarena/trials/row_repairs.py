"""Statements that give rows the values of an earlier comparison again, as after a change that triggers answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_webarena.changes import FILES, LONGEST_VALUE, RowChange, SiteChanges, TableChanges, Value, literal
from pytest_webarena.trials.other_values import quoted

__all__ = ["is_cut", "repairs"]

_Key = tuple[tuple[str, Value], ...]


def repairs(before: SiteChanges, now: SiteChanges) -> dict[str, list[str]]:
    """Return the statements by database. Rows that the comparisons do not have in full, and rows of tables without a
    key, are left out: who runs the statements compares again."""
    was = {(table.database, table.table): table for table in before.tables}
    found: dict[str, list[str]] = {}
    tables = {(table.database, table.table): table for table in now.tables}
    for database, name in was.keys() | tables.keys():
        one, other = was.get((database, name)), tables.get((database, name))
        if name == FILES or any(table is not None and table.more for table in (one, other)):
            continue
        statements = [*_statements(name, _rows(one), _rows(other))]
        if statements:
            found.setdefault(database, []).extend(statements)
    return found


def is_cut(value: Value) -> bool:
    """Return whether a comparison does not have a value in full."""
    return isinstance(value, str) and (len(value) > LONGEST_VALUE or value.startswith("base64:"))


def _rows(table: TableChanges | None) -> dict[_Key, RowChange]:
    return {tuple(row.key.items()): row for row in table.rows if row.key} if table is not None else {}


def _statements(name: str, was: Mapping[_Key, RowChange], now: Mapping[_Key, RowChange]) -> Iterator[str]:
    for key in {**was, **now}:
        if was.get(key) == now.get(key):
            continue
        first = was.get(key) or now[key]
        untouched = None if first.kind == "added" else first.row  # as at the start, which both are compared with
        target, present = (_values(each.get(key), untouched) for each in (was, now))
        where = " and ".join(f"{quoted(column)} is {literal(value)}" for column, value in key)
        if target is None:
            yield f"delete from {quoted(name)} where {where}"
            continue
        changed = {column: value for column, value in target.items() if present is None or present.get(column) != value}
        if not changed or any(is_cut(value) for value in changed.values()):
            continue
        columns, values = [quoted(each) for each in changed], [literal(each) for each in changed.values()]
        if present is None:
            yield f"insert into {quoted(name)} ({', '.join(columns)}) values ({', '.join(values)})"
        else:
            settings = ", ".join(f"{column} = {value}" for column, value in zip(columns, values, strict=True))
            yield f"update {quoted(name)} set {settings} where {where}"


def _values(row: RowChange | None, untouched: Mapping[str, Value] | None) -> Mapping[str, Value] | None:
    """Return the values of a row; None if it does not exist."""
    if row is None:
        return untouched
    return None if row.kind == "removed" else {**row.row, **row.now}
