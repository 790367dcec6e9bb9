"""Proposed checks of orders, of new rows that refer to each other, and of long texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_webarena.actions import Action, Selector, Type
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.recorder.proposing import proposed_checks
from pytest_webarena.trials.written_tables import read_written_tables
from tests.unit.recorder.test_selector_proving import TASK
from tests.unit.trials.test_tamper import Leased
from tests.unit.trials.test_written_tables import BOARD, TO_TOP
from tests.unit.trials.test_written_values import write

Proposed = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def proposed(tmp_path: Path) -> Proposed:
    """Return a function that writes something, and returns the recommended queries. They hold afterwards."""

    def run(written: str, *typed: str, intent: str = "Do it", sent: str = "", more: str = "") -> list[dict[str, Any]]:
        file = tmp_path / "main.sqlite3"
        file.unlink(missing_ok=True)
        write(file, BOARD + more)
        leased: Any = Leased(tmp_path)
        leased.query("shop", written, write=True)
        steps: list[Action] = [Type(Selector("css=#t"), text) for text in typed]
        request = RequestRecord(
            time=1.0, method="POST", url="http://shop.test/x", status=302, request_body=sent,
            request_headers=(("Content-Type", "application/x-www-form-urlencoded"),),
        )  # fmt: skip
        changes = leased.changes()
        found = proposed_checks(
            replace(TASK, intent=intent), answer="", url="", steps=steps, changes=changes, ignored={},
            requests=[request] if sent else [], tables=read_written_tables(leased, changes),
        )  # fmt: skip
        checks = [yaml.safe_load("\n".join(each.lines))[0] for each in found if each.recommended]
        states = [check["state"] for check in checks if "state" in check]
        assert all(holds(file, state) for state in states)
        return states

    return run


def holds(file: Path, state: dict[str, Any]) -> bool:
    with closing(sqlite3.connect(file)) as connection:
        rows = [row[0] for row in connection.execute(state["sql"])]
    return bool(rows == (state["rows"] if "rows" in state else [state["equals"]]))


def test_order_of_a_list_is_proposed_in_place_of_positions(proposed: Proposed, tmp_path: Path) -> None:
    [order] = proposed(TO_TOP, sent="card=13&position=1")
    assert order == {
        "sql": "select id from cards where list_id is 1 and position is not null order by position",
        "rows": [13, 11, 12],
    }
    write(tmp_path / "main.sqlite3", "update cards set position = 4 where id = 13")
    assert not holds(tmp_path / "main.sqlite3", order)


def test_new_row_in_an_order_is_named_by_its_entered_text(proposed: Proposed) -> None:
    first = "update cards set position = position + 1 where list_id = 2; "
    row, order = proposed(first + "insert into cards values (16, 2, 'Jam', 1, 0, 0)", "Jam")
    assert row["sql"] == "select count(*) from cards where list_id = 2 and title = 'Jam'"
    assert (order["sql"][:20], order["rows"]) == ("select title from ca", ["Jam", "Salt", "Milk"])


def test_long_list_is_checked_around_the_row_that_moved(proposed: Proposed) -> None:
    cards = ", ".join(f"({number}, 3, 'c{number}', {number})" for number in range(100, 220))
    moved = "update cards set position = 310 - position where list_id = 3 and position in (110, 200)"
    [order] = proposed(moved, more=f"insert into cards (id, list_id, title, position) values {cards};")
    assert order["sql"].endswith("order by position limit 31 offset 0")
    assert (len(order["rows"]), order["rows"][10]) == (31, 200)


def test_next_number_is_not_expected_unless_it_was_entered(proposed: Proposed) -> None:
    written = "insert into invoices values (3, 'INV-0043', 'Ada', 30)"
    queries = [
        proposed(written, "Ada", sent="number=INV-0043&client=Ada"),
        proposed(written, "Ada", "INV-0043"),
        proposed(written, "Ada", intent="Write invoice INV-0043"),
    ]
    assert ["number = 'INV-0043'" in found[0]["sql"] for found in queries] == [False, True, True]
    assert all("client = 'Ada'" in found[0]["sql"] for found in queries)


def test_reference_to_a_new_row_is_found_by_its_values(proposed: Proposed) -> None:
    """In another order the new list gets another key."""
    written = "insert into lists values (3, 'Later'); insert into cards values (16, 3, 'Jam', 1, 0, 0)"
    queries = [each["sql"] for each in proposed(written, "Jam", "Later")]
    assert (
        "select count(*) from cards where list_id in (select id from lists where name = 'Later' and id >= 3)"
        " and title = 'Jam' and position = 1"
    ) in queries
    card = "insert into cards values (16, 2, 'Jam', 9, 0, 0); "
    parts = "create table parts (id integer primary key, card_id integer references cards, what text);"
    part = proposed(f"{card} insert into parts values (1, 16, 'Lid')", "Lid", more=parts)[-1]["sql"]
    assert "card_id in (select id from cards where list_id = 2 and title = 'Jam'" in part


def test_long_texts_that_were_entered_are_compared(proposed: Proposed, tmp_path: Path) -> None:
    for text in ("x" * 150, "It's " + "long " * 80):
        [row] = proposed(f"insert into lists values (3, '{text.replace(chr(39), chr(39) * 2)}')", text)
        write(tmp_path / "main.sqlite3", "update lists set name = name || '!' where id = 3")
        assert not holds(tmp_path / "main.sqlite3", row)
    around = f"insert into lists values (3, '<p>Battery swapped</p>{'-' * 100}')"
    [row] = proposed(around, "Battery swapped")
    assert row["sql"] == "select count(*) from lists where instr(name, 'Battery swapped') > 0 and id >= 3"
