"""Queries that are asked again as if a table had no rows, or each twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.checks import judge
from pytest_webarena.checks.proof import failed_subjects
from pytest_webarena.errors import TaskError
from pytest_webarena.trials.other_tables import other_tables, probes_of_other_tables
from tests.unit.checks.helpers import evidence, task


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript("create table notes (owner text); insert into notes values ('ann'), ('bob');")
        yield connection


def test_tables_take_the_place_of_a_table_in_any_query(database: sqlite3.Connection) -> None:
    for sql in (
        "select count(*) from notes",
        "with n as (select * from notes) select count(*) from n",
        "with recursive n(i) as (select 1 union select i from n) select count(*) from notes, n",
    ):
        found = [database.execute(each).fetchone()[0] for each in other_tables(sql, "notes")]
        assert [*database.execute(sql)] == [(2,)]
        assert found == [0, 4]


def test_guards_are_seen_to_fail_and_misspelt_absences_are_not(database: sqlite3.Connection) -> None:
    def query(site: str, sql: str, database: str = "") -> Any:
        try:
            cursor = connection.execute(sql)
        except sqlite3.Error as error:
            raise TaskError(str(error)) from None
        return SimpleNamespace(columns=["n"], rows=cursor.fetchall())

    connection = database
    checks = task("""
    - state: {sql: "select count(*) from notes where owner != 'ann'", equals: 1}
    - state: {sql: "select count(*) from notes where owner = 'amn'", equals: 0}
    - state: {sql: "select count(*) from notes", count: {max: 3}}
    """)
    failed = set[str]()
    live: Any = SimpleNamespace(query=query)
    for probes in probes_of_other_tables(checks.checks, live, lambda check: check.path not in failed):
        failed.update(failed_subjects(checks.checks, judge(checks, evidence(probes=probes))))
    assert failed == {"checks[0]"}
