"""Rows of a lease's databases, and statements that read and change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import TaskError
from pytest_webarena.sites.ledger.dialects import Dialect, dialect_of
from pytest_webarena.trials.other_values import Table

if TYPE_CHECKING:
    from pytest_webarena.changes import SiteChanges
    from pytest_webarena.sites.client.lease import Lease

__all__ = ["Place", "Unable", "dialect_in", "site_with"]


class Unable(Exception):
    """Why something can't be tried."""


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a table; one of equal rows if the table has no key."""

    site: str
    database: str
    table: Table
    where: str

    @property
    def source(self) -> str:
        """The table's name as SQL."""
        return self.table.dialect.table(self.table.name)

    def ask(self, lease: Lease) -> Callable[[str], Sequence[Sequence[Any]]]:
        """A function that runs a read-only statement in the row's database."""
        return lambda sql: lease.query(self.site, sql, database=self.database).rows

    def update(self, values: Mapping[str, str]) -> str:
        """The statement that sets these columns to these literals."""
        settings = ", ".join(f"{self.table.dialect.name(column)} = {value}" for column, value in values.items())
        return f"update {self.source} set {settings} {self._end}"

    def delete(self) -> str:
        """The statement that removes the row."""
        return f"delete from {self.source} {self._end}"

    @property
    def _end(self) -> str:
        return f"where {self.where}" if self.table.key else self.table.dialect.one_of(self.table.name, self.where)


def site_with(lease: Lease, app: SiteChanges, database: str) -> str:
    """Return a leased site by which a database of an app is queried: of the app itself, else of one that depends on
    it; empty if there is none."""
    own = (name for name in app.sites if name in lease.sites)
    return next(own, next((name for name, site in lease.sites.items() if database in site.engines), ""))


def dialect_in(lease: Lease, site: str, database: str) -> Dialect:
    """Return the SQL of a database of a leased site. Raises `TaskError` if it has no such database."""
    engine = lease.sites[site].engines.get(database) if site in lease.sites else None
    if engine is None:
        raise TaskError(f"no site of the task can query the database {database}")
    return dialect_of(engine)
