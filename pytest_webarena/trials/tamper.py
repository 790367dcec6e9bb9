"""Deletes a row from a site's database directly: the unrelated damage of an audit's deliberately wrong agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_webarena.errors import TaskError

if TYPE_CHECKING:
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Task

__all__ = ["tamper_with"]

_TABLES = """
select m.name, group_concat(p.name) from sqlite_master m join pragma_table_info(m.name) p on p.pk
where m.type = 'table' and m.name not like 'sqlite%' and m.sql not like 'create virtual%'
group by m.name order by m.name
"""


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
    for table, key in _candidates(lease, site):
        statement = f'delete from "{table}" where ({key}) in (select {key} from "{table}" limit 1)'
        try:
            lease.query(site, statement, write=True)
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
    """Tables with rows and the columns of their keys; tables that the trial has changed come last."""
    touched = {table.table for app in lease.changes() for table in app.tables}
    tables = [(str(name), str(key)) for name, key in lease.query(site, _TABLES).rows]
    for table, key in sorted(tables, key=lambda pair: pair[0] in touched):
        if lease.query(site, f'select 1 from "{table}" limit 1').rows:
            yield table, ", ".join(f'"{column}"' for column in key.split(","))
