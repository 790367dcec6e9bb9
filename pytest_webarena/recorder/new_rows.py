"""Former rows of a table: those that are like an added row, and those that are left of a removed one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_webarena.changes import TableChanges, Value
from pytest_webarena.trials.sent_values import is_same

__all__ = ["FormerRows", "former_rows", "left_rows"]

_MOST_EXCLUDED = 20
"""Maximum number of former rows that a query excludes by their keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerRows:
    """The rows of a table before the steps, and the keys of those that the steps added."""

    rows: Sequence[Mapping[str, Value]] | None = ()
    """None if they are too many, or not all known."""
    added: Sequence[Mapping[str, Value]] = ()

    def matching(self, columns: Mapping[str, Value]) -> Sequence[Mapping[str, Value]]:
        """Return the known rows that have these values."""
        return [
            row for row in self.rows or ()
            if all(name in row and is_same(row[name], value) for name, value in columns.items())
        ]  # fmt: skip

    def first_new(self) -> tuple[str, int] | None:
        """Return the key column and the lowest new key, if new keys are integers above all known former ones."""
        names = {tuple(key) for key in self.added}
        if len(names) != 1 or len(columns := names.pop()) != 1:
            return None
        [name] = columns
        new = [value for key in self.added if isinstance(value := key[name], int)]
        old = [row.get(name) for row in self.rows or ()]
        if len(new) < len(self.added) or not all(isinstance(each, int) and each < min(new) for each in old):
            return None
        return name, min(new)

    def excluded(self, columns: Mapping[str, Value]) -> Sequence[Mapping[str, Value]] | None:
        """Return the keys of the former rows with these values; None if they can't be listed."""
        matching = self.matching(columns)
        names = tuple(self.added[0]) if self.added else ()
        if self.rows is None or len(matching) > _MOST_EXCLUDED or (matching and not names):
            return None
        return [{name: row[name] for name in names} for row in matching]


def former_rows(table: TableChanges, rows: Sequence[Mapping[str, Value]] | None) -> FormerRows:
    return FormerRows(rows=rows, added=[row.key for row in table.rows if row.kind == "added"])


def left_rows(
    table: TableChanges, former: Sequence[Mapping[str, Value]] | None, columns: Mapping[str, Value]
) -> int | None:
    """Return the number of rows that have these values after rows of a table without a key were removed; None if the
    former rows are not all known."""
    if table.more or not former:
        return None

    def count(rows: Sequence[Mapping[str, Value]]) -> int:
        return len(FormerRows(rows=rows).matching(columns))

    changed = [row for row in table.rows if row.kind != "added"]
    present = [{**row.row, **row.now} for row in table.rows if row.kind != "removed"]
    return count(former) - count([row.row for row in changed]) + count(present)
