"""What tables that a trial wrote to are like: orders of rows, numbers that the site counts on, links to new rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_webarena.changes import FILES, RowChange, SiteChanges, TableChanges, Value
from pytest_webarena.checks.unread_columns import CLOCK_NAMES
from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.sites.ledger.dialects import Column
from pytest_webarena.trials.other_values import Table, is_clock, read_table
from pytest_webarena.trials.row_places import dialect_in, site_with

if TYPE_CHECKING:
    from pytest_webarena.sites.client.lease import Lease

__all__ = [
    "Order",
    "WrittenTable",
    "WrittenTables",
    "counted_columns",
    "orders",
    "read_written_tables",
    "written_table",
]

_MOST_ROWS = 5000
"""Maximum number of rows of a table that is examined."""
_ORDER_NAMES = re.compile(
    r"(?:\A|_)(?:position|pos|rank|ranking|order|ordering|ordinal|sort|sorting|seq|sequence|index|idx|place|weight)\Z",
    re.IGNORECASE,
)
"""Names of columns that order rows. A column without such a name orders them if it was renumbered."""
_NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>\d{1,15})", re.DOTALL)
_OPTIONS = 12
"""Maximum number of distinct values of a column that divides rows into lists, if it is no foreign key."""

_GROUPS = 3
"""Number of groups of rows from which on a number that no group repeats is no coincidence."""

_Key = tuple[Value, ...]
_Number = tuple[str, int]
"""What is before a number, and the number."""
_Row = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The rows of a table, or of one list in it, whose order a trial changed."""

    column: str
    """The column by which they are ordered. Its values are different in each row."""
    group: _Row
    """Column and value that the rows share; empty if the table is one list."""
    rows: tuple[_Row, ...]
    """The rows in their order."""
    moved: int
    """Index of the row that moved furthest."""
    added: frozenset[int] = frozenset()
    """Indices of the rows that are new, whose keys the database generated."""

    @property
    def neighbours(self) -> tuple[int, int]:
        """Index of the row that moved furthest, and of the one next to it."""
        return self.moved, self.moved + 1 if self.moved + 1 < len(self.rows) else self.moved - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTable:
    """A table that a trial wrote to."""

    orders: tuple[Order, ...] = ()
    counted: frozenset[str] = frozenset()
    """Columns in which new rows have the next number: one more than the largest."""
    references: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Table and column that a foreign key refers to, by column."""
    former: Sequence[_Row] | None = ()
    """The rows before the trial wrote; None if they are too many, or not all known."""

    @property
    def ordering(self) -> frozenset[str]:
        """Columns of `orders`."""
        return frozenset(order.column for order in self.orders)


WrittenTables = Mapping[tuple[str, str], WrittenTable]
"""Written tables by app and name."""


def read_written_tables(lease: Lease, changes: Iterable[SiteChanges]) -> WrittenTables:
    """Return what is known of the written tables by app and table name. Tables that can't be read are left out."""
    found: dict[tuple[str, str], WrittenTable] = {}
    for app in changes:
        for table in app.tables:
            site = site_with(lease, app, table.database)
            if table.table == FILES or not site:
                continue

            def ask(sql: str, site: str = site, table: TableChanges = table) -> Any:
                return lease.query(site, sql, database=table.database)

            with suppress(SiteError, TaskError):
                dialect = dialect_in(lease, site, table.database)
                declared = read_table(lambda sql, ask=ask: ask(sql).rows, table.table, dialect)  # type: ignore[misc]
                found[app.app, table.name] = written_table(ask, table, declared)
    return found


def written_table(ask: Callable[[str], Any], changes: TableChanges, declared: Table) -> WrittenTable:
    """Return what is known of one table. ``ask`` runs a statement and returns its result."""
    columns = [Column(table=declared.name, name=name, kind=kind) for name, kind in declared.kinds.items()]
    result = ask(declared.dialect.whole(changes.table, columns, _MOST_ROWS + 1))
    if len(result.rows) > _MOST_ROWS:
        return WrittenTable(references=declared.references, former=None)
    rows = declared.dialect.rows(columns, result.columns, result.rows)
    return WrittenTable(
        orders=tuple(orders(changes, declared, rows)),
        counted=frozenset(counted_columns(changes, rows)) if declared.key else frozenset(),
        references=declared.references,
        former=None if changes.more else tuple(_former(changes, rows)),
    )


def _former(changes: TableChanges, rows: Sequence[_Row]) -> Iterator[_Row]:
    """Yield the rows as they were before the changes."""

    def identity(row: _Row, names: Iterable[str]) -> frozenset[tuple[str, Value]]:
        return frozenset((name, row.get(name)) for name in names)

    present = [row for row in changes.rows if row.kind != "removed"]
    names = {tuple(row.key or row.row) for row in present}
    touched = defaultdict[frozenset[tuple[str, Value]], list[RowChange]](list)
    for change in present:
        touched[identity(change.key or change.row, change.key or change.row)].append(change)
    for row in rows:
        found = next((each for of in names if (each := touched.get(identity(row, of)))), None)
        if not found:
            yield row
        elif (change := found.pop()).kind == "changed":  # without a key, equal rows existed before
            yield {**row, **{name: change.row.get(name) for name in change.now}}
    yield from (row.row for row in changes.rows if row.kind == "removed")


def orders(changes: TableChanges, declared: Table, rows: Sequence[_Row]) -> Iterator[Order]:
    """Yield the orders that changed, from the present ``rows`` of a table."""
    if not declared.key:
        return
    touched = {_key(row.key, declared): row for row in changes.rows if row.kind != "removed"}
    for column in changes.columns:
        listed = [row for row in rows if row.get(column) is not None]
        if column in declared.key or column in declared.references or not _may_order(column, listed):
            continue
        present = [row for row in listed if _key(row, declared) in touched]
        for by in _groupings(column, declared, listed, present):
            for group in dict.fromkeys(row.get(by) for row in present) if by else [None]:
                members = [row for row in listed if not by or row.get(by) == group]
                found = _order(column, {by: group} if by else {}, members, declared, touched, bool(changes.more))
                if found is not None:
                    yield found


def counted_columns(changes: TableChanges, rows: Sequence[_Row]) -> Iterator[str]:
    """Yield the columns in which the new rows have the numbers after the largest one, as ``INV-0043`` after
    ``INV-0042``; of the whole table, or of the rows with the same foreign key."""
    new = [row for row in changes.rows if row.kind == "added" and row.key]
    if not new or changes.more:
        return
    names = tuple(new[0].key)
    added = {tuple(row.key.get(name) for name in names) for row in new}
    others = [row for row in rows if tuple(row.get(name) for name in names) not in added]
    links = [column for column in new[0].row if column in changes.references or column.endswith("_id")]
    for column in new[0].row:
        if column in links:
            continue
        mine = [_numbered(row.row.get(column)) for row in new]
        if _counts_on(mine, [row.get(column) for row in others]) or any(
            _counts_on_in_groups(mine, [row.row.get(link) for row in new], column, link, others) for link in links
        ):
            yield column


def _counts_on(mine: Sequence[_Number | None], others: Iterable[Value]) -> bool:
    """Whether numbers are those after the largest of ``others``, none of which is there twice."""
    taken = [each for each in map(_numbered, others) if each is not None]
    if len(taken) < 2 or len({*taken}) < len(taken) or any(each is None for each in mine):
        return False  # numbers that repeat are quantities, or refer to other rows
    before, first = max((each for each in taken if mine[0] is not None and each[0] == mine[0][0]), default=("", -1))
    return first >= 0 and sorted(each for each in mine if each) == [(before, first + 1 + n) for n in range(len(mine))]


def _counts_on_in_groups(
    mine: Sequence[_Number | None], own: Sequence[Value], column: str, link: str, others: Sequence[_Row]
) -> bool:
    """Whether the same is true of the rows with the same foreign key, and no number is there twice in any group."""
    groups = defaultdict[Value, list[Value]](list)
    for row in others:
        groups[row.get(link)].append(row.get(column))
    several = [group for group in groups.values() if len(group) > 1]
    counted = len(several) >= _GROUPS and all(len({*group}) == len(group) for group in several)
    return counted and len({*own}) == 1 and _counts_on(mine, groups[own[0]])


def _numbered(value: Value) -> _Number | None:
    if isinstance(value, bool) or value is None:
        return None
    found = _NUMBERED.fullmatch(str(value)) if isinstance(value, int | str) else None
    return (found["before"], int(found["number"])) if found is not None else None


def _may_order(column: str, rows: Sequence[_Row]) -> bool:
    """Whether the values of a column can be positions: numbers, or texts if the column's name says so; no clocks."""
    values = [row[column] for row in rows]
    if not values or CLOCK_NAMES.search(column) or any(is_clock(value) for value in values):
        return False
    if column.endswith("_id") or any(isinstance(value, bool) for value in values):
        return False
    numbers = all(isinstance(value, int | float) for value in values)
    return numbers or (bool(_ORDER_NAMES.search(column)) and all(isinstance(value, str) for value in values))


def _groupings(column: str, declared: Table, rows: Sequence[_Row], present: Sequence[_Row]) -> Iterator[str]:
    """Yield the column that divides the rows into lists with different positions; empty if there is one list. Yields
    nothing if no column does."""
    if _distinct(column, rows):
        yield ""
        return

    def options(name: str) -> int:
        return len({row.get(name) for row in rows})

    links = [name for name in rows[0] if name in declared.references or name.endswith("_id")]
    few = sorted((name for name in rows[0] if name not in links and options(name) <= _OPTIONS), key=options)
    for by in (*links, *few):
        groups = {row.get(by) for row in present}
        divided = [[row for row in rows if row.get(by) == group] for group in groups]
        if by != column and options(by) > 1 and all(_distinct(column, members) for members in divided):
            yield by
            return


def _distinct(column: str, rows: Sequence[_Row]) -> bool:
    return len({row[column] for row in rows}) == len(rows)


def _order(
    column: str, group: _Row, members: Sequence[_Row], declared: Table, touched: Mapping[_Key, RowChange], cut: bool
) -> Order | None:
    """Return the order of one list; None if it is as before. ``cut``: more rows differ than are known."""
    now = sorted(members, key=lambda row: _sortable(row[column]))
    places: dict[int, Any] = {}
    """Former values by present index, of rows that were in the same list."""
    renumbered = 0
    added = set()
    for index, row in enumerate(now):
        change = touched.get(_key(row, declared))
        if change is not None and change.kind == "added":
            added.add(index)
            continue
        former = {**row, **{name: change.row.get(name) for name in change.now}} if change is not None else row
        renumbered += former[column] != row[column]
        if former[column] is not None and all(former[name] == value for name, value in group.items()):
            places[index] = _sortable(former[column])
    before = sorted(places, key=lambda index: places[index])
    distance = {index: abs(before.index(index) - rank) for rank, index in enumerate(sorted(places))}
    entered = [index for index in range(len(now)) if index not in places and index < max(places, default=-1)]
    moved = max(distance, key=lambda index: distance[index], default=0)
    is_changed = any(distance.values()) or bool(entered) or cut
    if len(now) < 2 or not is_changed or not (renumbered > 1 or cut or _ORDER_NAMES.search(column)):
        return None
    if entered and not any(distance.values()):
        moved = entered[0]
    return Order(column=column, group=group, rows=tuple(now), moved=moved, added=frozenset(added))


def _sortable(value: Value) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _key(row: _Row, declared: Table) -> _Key:
    return tuple(row.get(name) for name in declared.key)
