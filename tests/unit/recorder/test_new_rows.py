"""Proposed checks of rows that resemble older ones, of link tables, and of values that no check can read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_webarena.changes import RowChange, Value
from pytest_webarena.recorder.proposing import proposed_checks
from tests.unit.recorder.test_proposed_orders import Proposed, holds, proposed
from tests.unit.recorder.test_selector_proving import TASK, changed
from tests.unit.trials.test_written_tables import BOARD
from tests.unit.trials.test_written_values import write

__all__ = ["proposed"]

NOON = "2026-07-09 12:00:00"


def is_met_before(file: Path, more: str, sql: str) -> bool:
    file.unlink()
    write(file, BOARD + more)
    return holds(file, {"sql": sql, "equals": 1})


def test_query_for_an_added_row_is_not_met_by_an_older_one(proposed: Proposed, tmp_path: Path) -> None:
    file = tmp_path / "main.sqlite3"
    numbers = "create table waiting (id integer primary key, kit text, place integer);"
    texts = "create table waiting (id text primary key, kit text, place integer);"
    for more, old, new, pinned in (
        (numbers, "1, 'Jam', 2", "2, 'Jam', 2", "id >= 2"),
        (texts, "'x', 'Jam', 2", "'a', 'Jam', 2", "not (id = 'x')"),
        (numbers, "1, 'Tea', 2", "2, 'Jam', 2", ""),
    ):
        schema = f"{more} insert into waiting values ({old});"
        written = f"update waiting set place = 3; insert into waiting values ({new})"
        [row] = [each for each in proposed(written, "Jam", more=schema) if "count" in each["sql"]]
        assert row["sql"].endswith(pinned)
        assert ("id" in row["sql"]) is bool(pinned)
        assert not is_met_before(file, schema, row["sql"])


def test_added_row_that_no_query_tells_from_older_ones_is_not_recommended(proposed: Proposed) -> None:
    more = "create table bare (kit text); insert into bare values ('Jam');"
    assert proposed("insert into bare values ('Jam')", "Jam", more=more) == []


def test_row_of_a_link_table_is_meant_when_a_ticked_box_names_it(proposed: Proposed) -> None:
    more = "create table skills (person_id integer, skill text, primary key (person_id, skill));"
    more += "insert into skills values (1, 'welding');"
    written = "insert into skills values (1, 'milling')"
    [row] = proposed(written, sent="milling=on", more=more)
    assert row["sql"] == "select count(*) from skills where person_id = 1 and skill = 'milling'"
    assert proposed(written, sent="other=on", more=more) == []


def test_row_whose_values_can_not_be_compared_is_named_by_its_key() -> None:
    def change(text: str) -> RowChange:
        return RowChange(kind="changed", key={"id": 2}, row={"id": 2, "pin": None}, now={"pin": text})

    found = proposed_checks(
        TASK, answer="", url="", steps=[], ignored={}, changes=[changed(change("base64:aa"))],
        again=[changed(change("base64:bb"))],
    )  # fmt: skip
    [check] = [each for each in found if each.recommended]
    assert check.lines == (
        "# look at this: the value of notes.pin is checked by nothing",
        "- changes: {notes: {changed: 1, columns: [pin], where: {id: 2}}}",
    )
    assert "the value of notes.pin is checked by nothing" in check.about


def test_removed_row_without_a_key_is_named_by_its_values(proposed: Proposed, tmp_path: Path) -> None:
    file = tmp_path / "main.sqlite3"
    more = "create table tags (card integer, name text, until text);"
    more += "insert into tags values (1, 'red', null), (1, 'blue', null), (2, 'red', null), (2, 'red', null);"
    for where, sql, left in (
        ("card = 1 and name = 'red'", "card = 1 and name = 'red' and until is null", 0),
        ("rowid = 4", "card = 2 and name = 'red' and until is null", 1),
    ):
        [row] = proposed(f"delete from tags where {where}", more=more)
        assert row == {"sql": f"select count(*) from tags where {sql}", "equals": left}
        file.unlink()
        write(file, BOARD + more)
        assert not holds(file, row)


def test_removed_row_of_an_unknown_table_is_named_in_changes() -> None:
    rows = [RowChange(kind="removed", key={}, row={"card": 1, "name": "red", "note": "x" * 400})]
    found = proposed_checks(TASK, answer="", url="", steps=[], ignored={}, changes=[changed(*rows)])
    [check] = [each for each in found if each.recommended]
    assert check.lines == ("- changes: {notes: {removed: 1, where: {card: 1, name: red}}}",)


def test_moment_that_is_set_or_cleared_is_compared_with_empty() -> None:
    def query(column: str, former: Value, now: Value) -> str:
        row: dict[str, Value] = {"id": 2, column: former, "seen_at": NOON}
        later: dict[str, Value] = {column: now, "seen_at": "2026-07-09 12:00:01"}
        change = RowChange(kind="changed", key={"id": 2}, row=row, now=later)
        again = replace(change, now={**later, column: now and "2026-07-09 12:00:03"})
        found = proposed_checks(
            TASK, answer="", url="", steps=[], ignored={}, changes=[changed(change)], again=[changed(again)]
        )
        return " ".join(line for each in found if each.recommended for line in each.lines if "sql" in line)

    for column, former, now, condition in (
        ("deleted_at", None, NOON, "deleted_at is not null"),
        ("gone", None, NOON, "gone is not null"),
        ("deleted_at", NOON, None, "deleted_at is null"),
        ("deleted_at", "", NOON, "deleted_at <> ''"),
        ("deleted_at", 0, 1783592000, "deleted_at <> 0"),
    ):
        assert f"where id = 2 and {condition}" in query(column, former, now)
    assert query("deleted_at", NOON, "2026-07-09 12:00:02") == ""
