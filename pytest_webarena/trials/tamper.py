"""Deletes a row from a site's database directly: the unrelated damage of an audit's deliberately wrong agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_webarena.errors import TaskError
from pytest_webarena.sites.ledger.dialects import read_columns
from pytest_webarena.trials.row_places import dialect_in

if TYPE_CHECKING:
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Task

__all__ = ["tamper_with"]


def tamper_with(lease: Lease, task: Task) -> str:
    """Delete a row that the task does not mention, on the first site that forbids side effects.

    Return the statement, for the record.

    Tries further tables while the ledger shows no change, because it may ignore a table. `TaskError` when no table
    works.
    """
    site = next((name for name in task.sites if name in lease.sites and lease.sites[name].forbid_side_effects), None)
    if site is None:
        raise TaskError(f"expected a site of {task.id} with 'forbid_side_effects', found none")
    before = _removed(lease)
    for database, statement in _candidates(lease, site):
        try:
            lease.query(site, statement, database=database, write=True)
        except TaskError:
            continue  # a trigger of the app may refuse the deletion
        if _removed(lease) != before:
            return f"{site}: {statement}"
    raise TaskError(f"expected a table of {site} with rows that can be deleted, found none")


def _removed(lease: Lease) -> int:
    """Number of rows that the ledger lists as removed. The total of changed rows would stay the same when a changed row
    is deleted."""
    return sum(table.removed for app in lease.changes() for table in app.tables)


def _candidates(lease: Lease, site: str) -> Iterator[tuple[str, str]]:
    """Databases, and statements that delete a row of a table with a key; tables that the trial has changed come
    last."""
    touched = {table.table for app in lease.changes() for table in app.tables}
    for database in lease.sites[site].engines:
        dialect = dialect_in(lease, site, database)
        tables = read_columns(lease.query(site, dialect.declaration(), database=database).rows)
        for table in sorted(tables, key=lambda name: (name in touched, name)):
            source = dialect.table(table)
            key = [column for column in tables[table] if column.place]
            quotes = ", ".join(dialect.as_literal(column.name, column.kind) for column in key)
            first = f"select {quotes} from {source} limit 1"
            if key and (rows := lease.query(site, first, database=database).rows):
                values = zip((column.name for column in key), map(str, rows[0]), strict=True)
                yield database, f"delete from {source} where {dialect.condition(dict(values))}"
