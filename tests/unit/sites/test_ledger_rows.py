"""Row differences between two database contents, and between two snapshots of an app."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pytest_webarena.changes import FILES, MOST_ROWS, TableChanges, changes_from_json
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.catalogues.manifest import AppManifest, DatabaseManifest, SiteManifest
from pytest_webarena.sites.ledger.comparing import between
from pytest_webarena.sites.ledger.rows import Difference, compare
from pytest_webarena.sites.ledger.snapshot import Moment, database_file, moment_below
from pytest_webarena.sites.protocol.wire import decode, encode
from tests.cases import each_case

SCHEMA = """
create table notes (id integer primary key, title text collate nocase, body text, seen integer default 0);
create table votes (note integer, user text, up integer, primary key (note, user)) without rowid;
create table lines (text text);
create virtual table words using fts5(body, content='notes', content_rowid='id');
create virtual table kept using fts5(body);
create virtual table places using rtree(id, low, high);
create index by_title on notes (title);
create view titles as select title from notes;
insert into notes (id, title, body) values (1, 'Tea', 'green'), (2, 'Coffee', 'black'), (3, 'Milk', 'white');
insert into votes values (1, 'mara', 1), (1, 'tobin', -1);
insert into lines values ('a'), ('a'), ('b');
insert into kept values ('something');
"""


def content(*scripts: str) -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(";".join((SCHEMA, *scripts)))
        return connection.serialize()


def difference(*scripts: str, ignore: tuple[str, ...] = ()) -> Difference:
    return compare(content(), content(*scripts), database="main", ignore=ignore)


def described(found: Difference) -> list[str]:
    return [f"{table.table}: {row}" for table in found.tables for row in table.rows]


@each_case(
    ("script", "expected"),
    [
        ("update notes set body = 'red' where id = 2", ["notes: changed id=2 (body: 'black' → 'red')"]),
        ("update notes set title = 'tea' where id = 1", ["notes: changed id=1 (title: 'Tea' → 'tea')"]),
        ("update notes set seen = null where id = 1", ["notes: changed id=1 (seen: 0 → None)"]),
        ("update notes set id = 9 where id = 3", ["notes: added id=9", "notes: removed id=3"]),
        ("insert into notes (id, title) values (7, 'Salt')", ["notes: added id=7"]),
        ("delete from notes where id = 1", ["notes: removed id=1"]),
        ("update votes set up = 0 where user = 'tobin'", ["votes: changed note=1 user='tobin' (up: -1 → 0)"]),
        ("delete from votes", ["votes: removed note=1 user='mara'", "votes: removed note=1 user='tobin'"]),
        ("delete from lines where rowid = 1", ["lines: removed text='a'"]),
        ("insert into lines values ('b')", ["lines: added text='b'"]),
        ("insert into kept values ('more')", ["kept_content: added id=2"]),
        ("insert into words(words) values ('rebuild')", []),
        ("insert into places values (4, 1, 2)", ["places: added id=4 low=1.0 high=2.0"]),
        ("create table more (id integer primary key); insert into more values (1)", ["more: added id=1"]),
        ("drop table lines", ["lines: removed text='a'", "lines: removed text='a'", "lines: removed text='b'"]),
        ("create index another on notes (body)", []),
        ("update notes set title = 'Tea' where id = 1", []),
        ("insert into notes values (9, '', '', 0); delete from notes where id = 9", []),
        ("update lines set text = text; vacuum", []),
    ],
)
def test_differences_are_listed_by_table_and_key(script: str, expected: list[str]) -> None:
    found = difference(script)
    assert described(found) == expected
    assert not found.unknown


def test_equal_contents_have_no_difference() -> None:
    assert compare(content(), content()) == Difference(known=difference("delete from votes").known)
    assert compare(b"no database", b"no database") == Difference()


@pytest.mark.parametrize("script", ["select 1", "insert into votes values ('new', 9, 1)"])
def test_tables_and_columns_are_always_listed(script: str) -> None:
    found = difference(script)
    assert found.columns["notes"] == ("id", "title", "body", "seen")
    assert set(found.columns) == set(found.known)


def test_equal_unreadable_databases_are_not_unknown(tmp_path: Path) -> None:
    spoilt = Moment(databases={"main": b"no database at all" * 100}, files={})
    found = between(app(), spoilt, spoilt)
    assert (found.known, found.unknown) == ((), "")


def test_only_ignored_tables_and_columns_are_left_out() -> None:
    script = (
        "update notes set seen = 1 where id = 1; update notes set seen = 1, body = 'red' where id = 2;"
        "insert into lines values ('c'); insert into votes values (2, 'x', 1); delete from votes where user = 'mara'"
    )
    found = difference(script, ignore=("notes.seen", "lines", "+votes"))
    assert described(found) == ["notes: changed id=2 (body: 'black' → 'red')", "votes: removed note=1 user='mara'"]
    assert "lines" not in found.known
    assert {"notes", "votes"} <= set(found.known)


def test_change_in_overflow_page_of_a_long_row_is_found() -> None:
    long = "x" * 20_000
    before = content(f"insert into notes (id, body) values (50, '{long}')")
    after = content(f"insert into notes (id, body) values (50, '{long[:-1]}y')")
    assert [str(row)[:20] for table in compare(before, after).tables for row in table.rows] == ["changed id=50 (body:"]


def test_many_changed_rows_are_counted_and_partly_listed() -> None:
    numbers = "with recursive n(i) as (select 100 union all select i + 1 from n where i < 299) "
    found = difference(numbers + "insert into notes (id, title) select i, i from n")
    [table] = found.tables
    assert (table.added, len(table.rows), table.more) == (200, MOST_ROWS, 200 - MOST_ROWS)


@pytest.mark.parametrize(
    "script",
    [
        "alter table votes drop column up",
        "alter table votes rename column up to worth",
        "create table later as select *, 5 as why from votes; drop table votes; alter table later rename to votes",
    ],
)
def test_changed_columns_make_the_table_unknown(script: str) -> None:
    found = difference(script, "delete from notes where id = 1")
    assert found.unknown == "the table votes has other columns than before"
    assert described(found) == ["notes: removed id=1"]


def test_added_column_changes_only_rows_without_its_default() -> None:
    """Apps may migrate at a request."""
    script = "alter table votes add column why text; alter table notes add column stars integer not null default 3"
    assert (described(found := difference(script)), found.unknown) == ([], "")
    assert found.columns["notes"] == ("id", "title", "body", "seen", "stars")
    found = difference(script, "update notes set stars = 5 where id = 1; delete from votes where user = 'mara'")
    assert described(found) == ["notes: changed id=1 (stars: 3 → 5)", "votes: removed note=1 user='mara'"]


def test_invalid_database_is_unknown() -> None:
    assert "could not be compared" in compare(content(), b"no database at all" * 100).unknown


def test_differences_are_found_without_page_ownership(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_webarena.sites.ledger.rows._Comparing.touched", lambda self, pages: None)
    assert described(difference("delete from notes where id = 1")) == ["notes: removed id=1"]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_database_file_includes_its_journal(tmp_path: Path, journal: str) -> None:
    path = tmp_path / "main.sqlite3"
    path.write_bytes(content())
    before = database_file(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma journal_mode = {journal}")
        connection.execute("insert into lines values ('z')")
        connection.commit()
        assert described(compare(before, database_file(path))) == ["lines: added text='z'"]


def test_missing_or_too_large_database_is_a_site_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SiteError, match="can't be read"):
        database_file(tmp_path / "none.sqlite3")
    (tmp_path / "main.sqlite3").write_bytes(content())
    monkeypatch.setattr("pytest_webarena.sites.ledger.snapshot.CHEAP", 1000)
    with pytest.raises(SiteError, match="more than can be compared"):
        database_file(tmp_path / "main.sqlite3")


def app(**more: object) -> AppManifest:
    databases = {"main": DatabaseManifest(name="main", engine="sqlite", path="main.sqlite3")}
    sites = (SiteManifest(name="shop", host="shop.test", app="shop"),)
    values = {
        "name": "shop",
        "sites": sites,
        "backend": "process",
        "databases": databases,
        "forbid_side_effects": True,
        **more,
    }
    return AppManifest(**values)  # type: ignore[arg-type]


def moments(folder: Path, act: Callable[[], object], shop: AppManifest) -> tuple[Moment, Moment]:
    (folder / "main.sqlite3").write_bytes(content())
    (folder / "uploads").mkdir()
    (folder / "uploads" / "a.png").write_bytes(b"a")
    before = moment_below(folder, shop)
    act()
    return before, moment_below(folder, shop)


def test_changed_files_are_listed(tmp_path: Path) -> None:
    def act() -> None:
        (tmp_path / "uploads" / "a.png").unlink()
        (tmp_path / "uploads" / "b.png").write_bytes(b"b")
        (tmp_path / "log.txt").write_text("noise")

    found = between(app(ignore_files=("*.txt",)), *moments(tmp_path, act, app()))
    assert [str(row) for table in found.tables for row in table.rows] == [
        "removed path='uploads/a.png'",
        "added path='uploads/b.png'",
    ]
    assert found.tables[0].table == FILES
    assert found.sites == ("shop",)
    assert found.strict
    assert not found.unknown


def test_file_rewritten_within_a_second_has_changed(tmp_path: Path) -> None:
    picture = tmp_path / "uploads" / "a.png"

    def act() -> None:
        modified = picture.stat().st_mtime_ns
        picture.write_bytes(b"b")  # as long as before
        os.utime(picture, ns=(modified, modified ^ 1 << 20))  # a millisecond earlier or later

    (table,) = between(app(), *moments(tmp_path, act, app())).tables
    assert [str(row) for row in table.rows] == ["changed path='uploads/a.png'"]


def test_deleted_database_is_unknown(tmp_path: Path) -> None:
    found = between(app(), *moments(tmp_path, lambda: (tmp_path / "main.sqlite3").unlink(), app()))
    assert "main.sqlite3 can't be read" in found.unknown


def test_databases_other_than_sqlite_are_unknown(tmp_path: Path) -> None:
    shop = app(databases={"main": DatabaseManifest(name="main", engine="mysql", database="shop")})
    found = between(shop, moment_below(tmp_path, shop), moment_below(tmp_path, shop))
    assert found.unknown == "the database main could not be read at both times"


def test_changes_round_trip_through_the_wire(tmp_path: Path) -> None:
    def act() -> None:
        with closing(sqlite3.connect(tmp_path / "main.sqlite3")) as connection:
            connection.executescript("update notes set body = x'00ff' where id = 1; delete from votes")

    found = between(app(), *moments(tmp_path, act, app()))
    assert changes_from_json(encode(found)) == found
    assert decode(TableChanges, encode(found.tables[0])) == found.tables[0]
    assert found.tables[0].rows[0].now == {"body": "base64:AP8="}


def test_declared_foreign_keys_are_listed_with_changed_tables() -> None:
    columns = "id integer primary key, note references notes, by_user text, foreign key (by_user) references users"
    schema = f"create table marks ({columns})"
    [table] = compare(content(schema), content(schema, "insert into marks values (1, 2, 'mara')")).tables
    assert table.references == ("by_user", "note")
    assert [each.references for each in difference("delete from notes where id = 1").tables] == [()]


def test_new_database_file_without_content_has_no_tables() -> None:
    made = compare(b"", content("create table marks (id integer)", "insert into marks values (1)"))
    assert "marks: added" in " ".join(described(made))
    assert compare(b"", b"") == Difference()
