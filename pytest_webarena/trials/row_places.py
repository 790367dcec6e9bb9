"""Rows of a lease's databases, and statements that read and change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_webarena.trials.other_values import Table, quoted

if TYPE_CHECKING:
    from pytest_webarena.sites.client.lease import Lease

__all__ = ["Place", "Unable"]


class Unable(Exception):
    """Why something can't be tried."""


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a table."""

    site: str
    database: str
    table: Table
    where: str

    def ask(self, lease: Lease) -> Callable[[str], Sequence[Sequence[Any]]]:
        """A function that runs a read-only statement in the row's database."""
        return lambda sql: lease.query(self.site, sql, database=self.database).rows

    def update(self, values: Mapping[str, str]) -> str:
        """The statement that sets these columns to these literals."""
        settings = ", ".join(f"{quoted(column)} = {value}" for column, value in values.items())
        return f"update {quoted(self.table.name)} set {settings} where {self.where}"
