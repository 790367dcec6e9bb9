"""Orders of rows and numbers that a site counts on, as found in tables that a trial wrote to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.trials.written_tables import WrittenTable, read_written_tables
from tests.unit.trials.test_tamper import Leased
from tests.unit.trials.test_written_values import outcomes, write

BOARD = """
create table lists (id integer primary key, name text);
create table cards (id integer primary key, list_id integer references lists, title text, position integer,
  votes integer default 0, made integer);
insert into lists values (1, 'To do'), (2, 'Done');
insert into cards (id, list_id, title, position, votes) values
  (11, 1, 'Tea', 1, 4), (12, 1, 'Rye', 2, 2), (13, 1, 'Oats', 3, 9), (14, 2, 'Salt', 1, 7), (15, 2, 'Milk', 2, 5);
create table invoices (id integer primary key, number text unique, client text, total integer);
insert into invoices values (1, 'INV-0041', 'Ada', 10), (2, 'INV-0042', 'Bob', 10);
"""
TO_TOP = """update cards set position = position + 1 where list_id = 1 and position < 3;
update cards set position = 1 where id = 13"""


@pytest.fixture
def tables(tmp_path: Path) -> Callable[[str], dict[str, WrittenTable]]:
    """Return a function that writes something, and returns what is known of the written tables by name."""

    def run(written: str, schema: str = BOARD) -> dict[str, WrittenTable]:
        file = tmp_path / "main.sqlite3"
        file.unlink(missing_ok=True)
        write(file, schema)
        leased: Any = Leased(tmp_path)
        leased.query("shop", written, write=True)
        found = read_written_tables(leased, leased.changes())
        return {name.partition(".")[2]: table for (_, name), table in found.items()}

    return run


def orders(table: WrittenTable) -> list[tuple[str, dict[str, Any], list[Any], Any]]:
    return [
        (each.column, dict(each.group), [row["id"] for row in each.rows], each.rows[each.moved]["id"])
        for each in table.orders
    ]


FROM_LIST = "update cards set position = position + 1 where list_id = 2; "


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (TO_TOP, [("position", {"list_id": 1}, [13, 11, 12], 13)]),
        (
            FROM_LIST + "update cards set list_id = 2, position = 1 where id = 12",
            [("position", {"list_id": 2}, [12, 14, 15], 12)],
        ),
        ("update cards set position = 0 where id = 13", [("position", {"list_id": 1}, [13, 11, 12], 13)]),
        ("update cards set list_id = 2, position = 3 where id = 13", []),  # at the end, where all new cards go
        ("update cards set position = position - 1 where id > 11 and list_id = 1; delete from cards where id = 11", []),
        ("update cards set votes = votes + 1 where id = 12", []),
        ("update cards set votes = 3 where id = 11; ", []),
        ("update cards set votes = 100 - votes", [("votes", {}, [13, 14, 15, 11, 12], 13)]),
    ],
)
def test_orders_that_changed_are_found_in_the_lists_that_changed(tables: Any, written: str, expected: Any) -> None:
    assert orders(tables(written)["cards"]) == expected


def test_row_is_inserted_in_an_order(tables: Any) -> None:
    [order] = tables(FROM_LIST + "insert into cards values (16, 2, 'Jam', 1, 0, 0)")["cards"].orders
    assert ([row["title"] for row in order.rows], order.added, order.moved) == (["Jam", "Salt", "Milk"], {0}, 0)


def test_text_ranks_are_an_order(tables: Any) -> None:
    ranked = "create table todos (id integer primary key, rank text); insert into todos values (1,'a'),(2,'b'),(3,'c')"
    found = tables("update todos set rank = 'aV' where id = 3", ranked)["todos"]
    assert orders(found) == [("rank", {}, [1, 3, 2], 3)]


def test_next_numbers_are_counted_by_the_site(tables: Any) -> None:
    written = "insert into invoices values (3, 'INV-0043', 'Ada', 11), (4, 'INV-0044', 'Ada', 12)"
    assert tables(written)["invoices"].counted == {"id", "number"}
    assert tables("insert into invoices values (3, 'INV-0050', 'Ada', 11)")["invoices"].counted == {"id"}


def test_next_numbers_of_a_group_are_counted_by_the_site(tables: Any) -> None:
    schema = """create table projects (id integer primary key);
create table issues (id integer primary key, project_id integer references projects, iid integer, hours integer);
insert into projects values (1), (2), (3);
insert into issues (project_id, iid, hours) values (1, 1, 3), (1, 2, 3), (2, 1, 4), (2, 2, 1), (3, 1, 2), (3, 2, 4);"""
    added = tables("insert into issues (project_id, iid, hours) values (2, 3, 5)", schema)["issues"]
    assert added.counted == {"id", "iid"}
    added = tables("insert into issues (project_id, iid, hours) values (2, 7, 5)", schema)["issues"]
    assert added.counted == {"id"}


@pytest.fixture
def swapped(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that writes something, and changes it; the check is one query for a true value."""

    def run(written: str, check: str, schema: str = BOARD, **known: Any) -> dict[str, Any]:
        from pytest_webarena.evidence import Evidence
        from pytest_webarena.trials.written_values import ValueChanger

        file = tmp_path / "main.sqlite3"
        file.unlink(missing_ok=True)
        write(file, schema)
        leased: Any = Leased(tmp_path)
        leased.query("shop", written, write=True)
        before = leased.changes()
        evidence = Evidence(answer="", stop_reason="answered", changes=before)
        given = SimpleNamespace(**{"sent": lambda *_: False, **known})
        facts = ValueChanger(
            leased, evidence, passes=lambda *_: bool(leased.query("shop", check).rows[0][0]), **vars(given)
        ).run()
        assert leased.changes() == before
        return facts

    return run


UNIQUE = BOARD + "create unique index places on cards (list_id, position);"


def test_moved_row_is_swapped_with_the_next_one(swapped: Any) -> None:
    """Single positions are not changed. A database that forbids two rows at one place takes the swap, too."""
    anywhere = swapped(TO_TOP, "select 1")
    assert outcomes(anywhere)["position"] == ("2", False, True)
    assert [each["column"] for each in anywhere["tried"]] == ["position"]
    first = "select group_concat(id) = '13,11,12' from (select id from cards where list_id = 1 order by position)"
    renumbered = """update cards set position = -position where list_id = 1;
    update cards set position = case id when 13 then 1 else 1 - position end where list_id = 1"""
    assert outcomes(swapped(renumbered, first, UNIQUE))["position"] == ("2", True, True)


def test_generated_values_on_which_a_verdict_depends_are_named(swapped: Any) -> None:
    """The references to a new row follow its key, declared or not."""
    notes = "create table notes (id integer primary key, lists_id integer, body text);"
    written = """insert into lists values (3, 'Later'); insert into cards values (16, 3, 'Jam', 1, 0, 0);
    insert into notes values (1, 3, 'x'); insert into invoices values (3, 'INV-0043', 'Ada', 10)"""
    by_name = "in (select id from lists where name = 'Later')"
    robust = f"""select (select count(*) from cards where list_id {by_name})
    and (select count(*) from notes where lists_id {by_name})"""
    for check, expected in (
        (robust, []),
        ("select count(*) from cards where list_id = 3", ["lists.id"]),
        ("select count(*) from notes where lists_id = 3", ["lists.id"]),
        ("select count(*) from invoices where number = 'INV-0043'", ["invoices.number"]),
        ("select max(id) = 16 from cards", ["cards.id"]),
    ):
        assert swapped(written, check, BOARD + notes)["generated"] == [f"shop: main.{each}" for each in expected]


def test_number_that_the_site_counts_on_is_not_changed_unless_it_was_entered(swapped: Any) -> None:
    written = "insert into invoices values (3, 'INV-0043', 'Ada', 10)"
    sent = {"sent": lambda column, value: True}
    assert "number" not in outcomes(swapped(written, "select 1", **sent))
    entered = {**sent, "entered": lambda value: value == "INV-0043"}
    assert outcomes(swapped(written, "select 1", **entered))["number"][2]
