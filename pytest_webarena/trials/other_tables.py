"""Asks queries of checks again as if a table had no rows, or each twice: whether they can fail at all.

A check that guards what must not change holds before and after every trial. The data is not changed: a common table
expression takes the table's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_webarena.checks import collect
from pytest_webarena.checks.state import StateSpec
from pytest_webarena.errors import TaskError
from pytest_webarena.trials.other_values import SQLITE

if TYPE_CHECKING:
    from pytest_webarena.checks.kind import Live
    from pytest_webarena.evidence import Probe
    from pytest_webarena.tasks.model import Check

__all__ = ["other_tables", "probes_of_other_tables"]

_WITH = re.compile(r"\s*with\s+(recursive\s+)?", re.IGNORECASE)
_WORD = re.compile(r"\w+")


def other_tables(sql: str, table: str) -> Iterator[str]:
    """Yields a query of an SQLite database as if one of its tables had no rows, and as if it had each row twice.

    >>> list(other_tables("select 1 from notes", "notes"))[0]
    'with "notes" as (select * from main."notes" where 0) select 1 from notes'
    """
    name = SQLITE.name(table)
    begun = _WITH.match(sql)
    recursive, rest = (begun[1] or "", f", {sql[begun.end() :]}") if begun else ("", f" {sql}")
    every = f"select * from main.{name}"
    for rows in (f"{every} where 0", f"{every} union all {every}"):
        yield f"with {recursive}{name} as ({rows}){rest}"


def probes_of_other_tables(
    queries: Iterable[Check], live: Live, is_needed: Callable[[Check], bool]
) -> Iterator[tuple[Probe, ...]]:
    """Yields what the queries of checks find in other tables, one query at a time, while ``is_needed`` returns that its
    check was not yet seen to fail. Queries that the database refuses are left out."""
    for check in queries:
        spec = check.spec
        if not isinstance(spec, StateSpec) or not is_needed(check):
            continue
        try:
            found = live.query(spec.site, "select name from sqlite_master where type = 'table'", database=spec.database)
        except TaskError:  # another database
            continue
        words = set(_WORD.findall(spec.sql.casefold()))
        for table in (str(row[0]) for row in found.rows if str(row[0]).casefold() in words):
            for sql in other_tables(spec.sql, table):
                probes = collect((replace(check, spec=replace(spec, sql=sql)),), live, state="end")
                if is_needed(check) and not any(probe.error for probe in probes):
                    yield probes
