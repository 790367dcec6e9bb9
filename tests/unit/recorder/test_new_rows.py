"""Proposed checks of rows that resemble older ones, of link tables, and of values that no check can read."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.changes import RowChange
from pytest_webarena.recorder.proposing import proposed_checks
from tests.unit.recorder.test_proposed_orders import Proposed, holds, proposed
from tests.unit.recorder.test_selector_proving import TASK, changed
from tests.unit.trials.test_written_tables import BOARD
from tests.unit.trials.test_written_values import write

__all__ = ["proposed"]


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
