"""Rows that an audit's wrong agent deletes directly in a site's database."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.changes import SiteChanges
from pytest_webarena.errors import TaskError
from pytest_webarena.sites.backends.base import Rows
from pytest_webarena.sites.backends.sqlite_queries import query_sqlite
from pytest_webarena.sites.catalogues.manifest import AppManifest, DatabaseManifest, SiteManifest
from pytest_webarena.sites.ledger.comparing import between
from pytest_webarena.sites.ledger.snapshot import flipped, moment_below
from pytest_webarena.tasks import parse_tasks
from pytest_webarena.trials.tamper import tamper_with

[TASK] = parse_tasks("tasks: [{id: t, intent: Do it, sites: [shop], checks: [{answer: x}]}]")


class Leased:
    """A lease of one site with a local database file."""

    def __init__(self, folder: Path, *, ignore: tuple[str, ...] = (), forbid_side_effects: bool = True) -> None:
        database = DatabaseManifest(name="main", engine="sqlite", path="main.sqlite3", ignore=ignore)
        site = SiteManifest(name="shop", host="shop.test", app="shop")
        self._app = AppManifest(name="shop", sites=(site,), backend="process", databases={"main": database})
        self._folder = folder
        self.sites = {"shop": SimpleNamespace(forbid_side_effects=forbid_side_effects, engines={"main": "sqlite"})}
        self._before = moment_below(folder, self._app)

    def changes(self) -> tuple[SiteChanges, ...]:
        return (between(self._app, self._before, moment_below(self._folder, self._app)),)

    def flip(self, site: str, path: str) -> None:
        file = self._folder / path
        file.write_bytes(flipped(file.read_bytes(), path))

    def query(self, site: str, sql: str, *, database: str = "", write: bool = False) -> Rows:
        return query_sqlite(self._folder / "main.sqlite3", sql, write=write)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    connection = sqlite3.connect(tmp_path / "main.sqlite3")
    connection.executescript(
        """
        create table empty (id integer primary key);
        create table hits (id integer primary key, at text);
        create table posts (id integer primary key, title text);
        create table votes (post integer, user text, primary key (post, user)) without rowid;
        create trigger keep before delete on posts begin select raise(abort, 'posts stay'); end;
        insert into hits values (1, 'now'); insert into posts values (1, 'Tea'); insert into votes values (1, 'mara');
        """
    )
    connection.close()
    return tmp_path


def lease(folder: Path, **options: Any) -> Any:
    return Leased(folder, **options)


def test_meddle_deletes_one_row_and_reports_it(folder: Path) -> None:
    leased = lease(folder)
    assert tamper_with(leased, TASK) == 'shop: delete from "hits" where "id" is 1'
    assert [(table.table, table.removed, table.total) for table in leased.changes()[0].tables] == [("hits", 1, 1)]


def test_meddle_skips_ignored_tables_and_rows_it_cannot_delete(folder: Path) -> None:
    leased = lease(folder, ignore=("hits",))
    assert tamper_with(leased, TASK).startswith('shop: delete from "votes" where "post" is 1 and')
    assert [table.table for table in leased.changes()[0].tables] == ["votes"]


def test_meddle_without_a_deletable_row_is_a_task_error(folder: Path) -> None:
    with pytest.raises(TaskError, match="rows that can be deleted"):
        tamper_with(lease(folder, ignore=("hits", "votes")), TASK)
    with pytest.raises(TaskError, match="with 'forbid_side_effects'"):
        tamper_with(lease(folder, forbid_side_effects=False), TASK)


def test_meddle_may_delete_the_row_that_the_task_changed(folder: Path) -> None:
    """As many rows differ as before, but one is deleted."""
    leased = lease(folder, ignore=("votes",))
    leased.query("shop", "update hits set at = 'then'", write=True)
    assert "hits" in tamper_with(leased, TASK)
