"""SQL of tasks that is prepared and not executed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.sites.backends.sqlite_queries import query_sqlite
from pytest_webarena.sites.catalogues.manifest import AppManifest, DatabaseManifest, SiteManifest
from pytest_webarena.sites.catalogues.units import Unit
from pytest_webarena.sites.client.lease import Lease
from pytest_webarena.tasks.model import Location
from pytest_webarena.validation.places import Places
from pytest_webarena.validation.statements import Statement, database_problems, statement_problems, statements_of
from tests.cases import each_case
from tests.unit.tasks.helpers import task

PLACE = Location(path="t.yaml", line=7)
FILE = Location(path="sites.yaml", line=4)


class _Database:
    """The part of a lease that runs SQL."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def query(self, site: str, sql: str, *, database: str = "") -> Any:
        if database not in ("", "main"):
            raise UsageError(f"no database {database!r}")
        return query_sqlite(self.path, sql, write=False)


@pytest.fixture
def lease(tmp_path: Path) -> Lease:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript("create table notes (id, title text not null); insert into notes values (1, 'Tea')")
    return cast("Lease", _Database(path))


def _app(*ignore: str, engine: Any = "sqlite") -> AppManifest:
    database = DatabaseManifest(name="main", engine=engine, path="shop.db", ignore=ignore)
    site = SiteManifest(name="shop", host="shop.test", app="shop")
    return AppManifest(name="shop", sites=(site,), backend="process", databases={"main": database})


def _found(lease: Lease, sql: str, database: str = "") -> list[str]:
    statement = Statement(site="shop", database=database, sql=sql, location=PLACE)
    app = _app()
    return [str(each).partition("found ")[2] for each in statement_problems(Unit((app,)), app, lease, [statement])]


def test_statement_is_prepared_in_the_database_of_a_dependency(lease: Lease) -> None:
    db = replace(_app(), name="db", backend="docker")
    app = replace(_app(), databases={}, backend="docker", depends_on=("db",))
    right, wrong = (
        Statement(site="shop", database="", sql=f"select {each} from notes", location=PLACE)
        for each in ("title", "titel")
    )
    [problem] = statement_problems(Unit((db, app)), app, lease, [right, wrong])
    assert "no such column: titel (did you mean 'title'?)" in str(problem)


@each_case(
    ("sql", "problem"),
    [
        ("select title from note", "no such table: note (did you mean 'notes'?)"),
        ("select tilte from notes", "no such column: tilte (did you mean 'title'?)"),
        ("insert into notes (titel) values ('x')", "table notes has no column named titel (did you mean 'title'?)"),
        ("delete from notes; delete from zebras;", "no such table: zebras"),
        ("select fold('a; b') from notes", "no such function: fold"),
    ],
)
def test_wrong_statement_is_a_problem(lease: Lease, sql: str, problem: str) -> None:
    assert _found(lease, sql) == [problem]


@each_case(
    "sql",
    [
        "select title from notes where title = 'a; b'",
        "with t as (select 1) select * from t;",
        "delete from notes; insert into notes values (2, 'Rye')",
        "create table more (id); insert into more values (1)",
    ],
)
def test_right_statement_is_valid_and_not_executed(lease: Lease, sql: str) -> None:
    assert _found(lease, sql) == []
    assert lease.query("shop", "select count(*), max(title) from notes").rows == ((1, "Tea"),)
    assert lease.query("shop", "select count(*) from sqlite_master").rows == ((1,),)


def test_unknown_database_is_a_problem(lease: Lease) -> None:
    assert _found(lease, "select 1", "mian") == [
        "the app 'shop' has no database 'mian'; did you mean 'main'? known: main"
    ]


def test_each_text_of_a_task_is_prepared_once_at_its_place() -> None:
    checks = "[{any: [{state: {sql: select 1, equals: 1}}, {not: {state: {sql: select 2, equals: 1}}}]}]"
    found = statements_of([task("setup: [{sql: select 3}]", checks=checks)] * 2, Places())
    assert [each.sql for each in found] == ["select 1", "select 2", "select 3"]


def test_database_that_cannot_be_read_or_lacks_ignored_names_is_a_problem(lease: Lease, tmp_path: Path) -> None:
    app = _app("notes", "+notes", "*.title", "note", "notes.titel")
    found = [each.found + each.hint for each in database_problems(app, lease, [("main", FILE)])]
    assert found == ["'note'did you mean 'notes'?", "'notes.titel'did you mean 'notes.title'?"]
    (tmp_path / "shop.db").unlink()
    [problem] = database_problems(app, lease, [("main", FILE)])
    assert "unable to open database file" in problem.found
