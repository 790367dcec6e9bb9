"""Proposes ``state`` checks of the order of rows, for columns with positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pytest_webarena.changes import Value
from pytest_webarena.recorder.row_values import sql_literal, sql_name
from pytest_webarena.suites.writing import yaml_lines
from pytest_webarena.text import clip
from pytest_webarena.trials.written_tables import Order

__all__ = ["order_checks"]

_MOST = 50
"""Maximum number of rows of a list that a check names; of a longer one, those around the row that moved furthest."""
_AROUND = 15
"""Number of rows before and after that one."""


def order_checks(
    orders: Iterable[Order],
    table: str,
    key: str,
    site: str,
    is_chosen: Callable[[str, Value], bool],
) -> Iterator[tuple[str, list[str]]]:
    """Yield a description and the lines of a check for each order.

    Rows are named by their ``key``; by a text that differs in each, if one of them is new and its key thus generated.
    ``is_chosen`` returns whether the client chose a value of a column.
    """
    for order in orders:
        column = _label(order, key, is_chosen)
        if not column:
            continue
        rows, first = list(order.rows), 0
        if len(rows) > _MOST:
            first = max(0, min(order.moved - _AROUND, len(rows) - 2 * _AROUND - 1))
            rows = rows[first : first + 2 * _AROUND + 1]
        where = " and ".join(f"{sql_name(each)} is {sql_literal(value)}" for each, value in order.group.items())
        where = " and ".join(filter(None, (where, f"{sql_name(order.column)} is not null")))
        sql = f"select {sql_name(column)} from {sql_name(table)} where {where} order by {sql_name(order.column)}"
        if len(rows) < len(order.rows):
            sql += f" limit {len(rows)} offset {first}"
        spec: dict[str, Any] = {"site": site} if site else {}
        values = [row[column] for row in rows]
        spec |= {"sql": sql, "rows": values}
        shared = "".join(f" with {each} = {value}" for each, value in order.group.items())
        about = f"{table}: rows{shared} are in this order of {order.column}: {clip(', '.join(map(str, values)), 100)}"
        yield about, yaml_lines([{"state": spec}])


def _label(order: Order, key: str, is_chosen: Callable[[str, Value], bool]) -> str:
    """Return the column that names the rows; empty if there is none."""
    if key and not order.added:
        return key
    new = [order.rows[index] for index in sorted(order.added)]

    def fits(column: str) -> bool:
        values = [row[column] for row in order.rows]
        return all(isinstance(value, str) and value for value in values) and len({*values}) == len(values)

    names: Mapping[str, Value] = order.rows[0]
    return next((each for each in names if fits(each) and all(is_chosen(each, row[each]) for row in new)), "")
