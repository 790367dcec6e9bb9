"""Changes of what a solution wrote: which values are changed to what, what is caught, and that all is put back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.changes import SiteChanges, Value
from pytest_webarena.evidence import Evidence
from pytest_webarena.trials.written_values import ValueChanger
from tests.unit.trials.test_tamper import Leased

SCHEMA = """
create table workers (name text primary key);
create table tickets (nr integer primary key, title text unique, state text, stars integer check (stars <= 5),
  due text);
create table comments (id integer primary key, ticket integer references tickets, author text references workers,
  body text, made text);
insert into workers values ('ada'), ('bob');
insert into tickets values (12, 'Battery', 'open', 1, null), (13, 'Brakes', 'open', 3, '2026-07-01'),
  (14, 'Chain', 'closed', 2, null);
insert into comments values (1, 13, 'bob', 'Soon.', '2026-07-01T08:00:00');
"""
COMMENT = "insert into comments values (2, 12, 'ada', 'Battery swapped', '2026-07-09T10:12:00')"
RATE = "update tickets set stars = 5, due = '2026-07-09' where nr = 14"
CLOSE = "update tickets set state = 'closed' where nr = 12"
REMOVE = "delete from tickets where nr = 12"


def write(file: Path, script: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)


def dump(file: Path) -> list[str]:
    """Return the content. Equal rows of a table without a key may be in another order."""
    with closing(sqlite3.connect(file)) as connection:
        return sorted(connection.iterdump())


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that writes something, and changes it with a check that is one query for a true value."""

    def run(
        written: str,
        check: str,
        *sent: Value,
        seconds: float = 60.0,
        more: str = "",
        path: tuple[str, Value] = ("", ""),
    ) -> dict[str, Any]:
        file = tmp_path / "main.sqlite3"
        file.unlink(missing_ok=True)
        write(file, SCHEMA + more)
        leased: Any = Leased(tmp_path)
        leased.query("shop", written, write=True)
        content = dump(file)
        evidence = Evidence(answer="", stop_reason="answered", changes=leased.changes())

        def passes(changes: tuple[SiteChanges, ...], pages: bool) -> bool | None:
            answer = leased.query("shop", check).rows[0][0]
            return None if answer is None else bool(answer)

        changer = ValueChanger(
            leased, evidence, passes=passes, sent=lambda column, value: value in sent, seconds=seconds,
            path_words=lambda value: path[:1] if value == path[1] else (),
        )  # fmt: skip
        facts = changer.run()
        assert dump(file) == content
        return facts

    return run


def outcomes(facts: dict[str, Any]) -> dict[str, tuple[str, bool | None, bool]]:
    """Return the results by column, without those of empty columns."""
    tried = [each for each in facts["tried"] if each["unit"] != "empty column"]
    return {each["column"] or "row": (each["became"], each["caught"], each["sent"]) for each in tried}


def test_comment_on_the_neighbouring_ticket_passes_a_check_that_reads_no_ticket(changed: Any) -> None:
    """Foreign keys are known by the declaration, whatever their names. Keys of new rows and clocks are left alone."""
    check = "select count(*) from comments where body = 'Battery swapped'"
    found = outcomes(changed(COMMENT, check, "Battery swapped", 12))
    assert found == {
        "ticket": ("13", False, True), "author": ("'bob'", False, False),
        "body": ("'Soon.'", True, True),
    }  # fmt: skip
    assert outcomes(changed(COMMENT, f"{check} and ticket = 12", 12))["ticket"] == ("13", True, True)


def test_changed_columns_count_whatever_their_values(changed: Any) -> None:
    """The next number that the table takes, the next day; and the same done to another row."""
    found = outcomes(changed(RATE, "select due is '2026-07-09' from tickets where nr = 14", 5))
    assert found == {
        "stars": ("4", False, True), "due": ("'2026-07-10'", True, True), "row": ('"nr" is 12', True, True)
    }  # fmt: skip


def test_state_that_no_request_names_is_one_of_the_other_states(changed: Any) -> None:
    found = outcomes(changed(CLOSE, "select state = 'closed' from tickets where nr = 12"))
    assert found == {"state": ("'open'", True, True), "row": ('"nr" is 13', True, True)}
    any_row = outcomes(changed(CLOSE, "select count(*) = 2 from tickets where state = 'closed'"))
    assert any_row["row"] == ('"nr" is 13', False, True)


def test_counters_are_not_chosen(changed: Any) -> None:
    found = outcomes(changed("update tickets set stars = stars + 1 where nr = 14", "select 1"))
    assert found == {"stars": ("4", False, False), "row": ('"nr" is 12', False, False)}


def test_neighbour_of_a_removed_row_is_removed_in_its_place(changed: Any) -> None:
    assert outcomes(changed(REMOVE, "select count(*) = 2 from tickets")) == {"row": ('"nr" is 13', False, True)}
    by_key = "select count(*) = 0 from tickets where nr = 12"
    assert outcomes(changed(REMOVE, by_key)) == {"row": ('"nr" is 13', True, True)}


def test_undecided_verdicts_are_not_caught(changed: Any) -> None:
    assert outcomes(changed(CLOSE, "select null"))["state"] == ("'closed 2'", None, True)


def test_what_was_not_tried_has_a_reason(changed: Any) -> None:
    facts = changed(f"{COMMENT}; {RATE}", "select 1", seconds=-1.0)
    assert facts["tried"] == []
    assert {(each["what"], each["unit"], each["why"]) for each in facts["untried"]} >= {
        ("shop: main.comments.ticket", "column", "the time for a task is up"),
        ("shop: main.tickets (row)", "row", "the time for a task is up"),
    }
    long = changed(
        f"update tickets set title = '{'x' * 300}' where nr = 12",
        "select count(*) = 1 from tickets where title like 'xxx%'",
    )
    assert outcomes(long)["row"] == ('"nr" is 13', False, True)


def test_value_that_the_database_must_have_is_named(changed: Any) -> None:
    """A column with a single possible value can't be changed."""
    table = "create table only (id integer primary key, kind text not null check (kind = 'a'))"
    fixed = f"{table}; insert into only values (1, 'a')"
    facts = changed(fixed, "select 1")
    [untried] = facts["untried"]
    assert (untried["what"], untried["why"][:32]) == ("shop: main.only.kind", "the database takes no other valu")


def test_site_without_comparison_is_named(tmp_path: Path) -> None:
    write(tmp_path / "main.sqlite3", SCHEMA)
    leased: Any = Leased(tmp_path)
    [app] = leased.changes()
    evidence = Evidence(answer="", stop_reason="answered", changes=(replace(app, unknown="it is too large"),))
    facts = ValueChanger(leased, evidence, passes=lambda *_: True, sent=lambda *_: True).run()
    assert facts == {
        "tried": [],
        "generated": [],
        "untried": [{"what": "shop", "why": "its changes are unknown: it is too large", "unit": "", "again": False}],
    }


def test_hashes_are_not_chosen(changed: Any) -> None:
    """A text without a request that has it is a state only where the column has few texts."""
    shas = "insert into tickets (nr, title) values " + ", ".join(f"({nr}, 'sha {nr}')" for nr in range(20, 40))
    written = "update tickets set title = 'sha 12' where nr = 12"
    assert outcomes(changed(written, "select 1", more=shas))["title"] == ("'sha 12 2'", False, False)
    assert outcomes(changed(written, "select 1", "sha 12", more=shas))["title"] == ("'sha 12 2'", False, True)


def test_number_sent_once_belongs_to_the_column_that_a_check_reads(changed: Any) -> None:
    marks = "create table marks (id integer primary key, ticket integer, shelf integer)"
    written = "insert into marks values (1, 13, 13)"
    read = outcomes(changed(written, "select ticket = 13 from marks", 13, more=marks))
    assert read == {"ticket": ("14", True, True), "shelf": ("14", False, False)}
    assert outcomes(changed(written, "select 1", 13, more=marks))["shelf"] == ("14", False, True)


def test_key_of_a_row_that_links_others_is_changed_and_put_back(changed: Any) -> None:
    seats = "create table seats (ticket references tickets, worker references workers, primary key (ticket, worker))"
    found = outcomes(changed("insert into seats values (12, 'ada')", "select ticket = 12 from seats", 12, more=seats))
    assert found == {"ticket": ("13", True, True), "worker": ("'bob'", False, False)}


def test_value_that_a_path_addresses_is_chosen(changed: Any) -> None:
    stars = "create table stars (ticket references tickets, worker references workers, primary key (ticket, worker))"
    found = outcomes(changed("insert into stars values (12, 'ada')", "select 1", path=("star", 12), more=stars))
    assert found == {"ticket": ("13", False, True), "worker": ("'bob'", False, False)}
    other = outcomes(changed("insert into stars values (12, 'ada')", "select 1", path=("workers", 12), more=stars))
    assert other["ticket"] == ("13", False, False)


def test_chosen_values_are_changed_first(changed: Any) -> None:
    """The time for a task may be up before all are."""
    facts = changed(COMMENT, "select 1", "Battery swapped")
    assert [each["column"] for each in facts["tried"]] == ["body", "ticket", "author"]


EXTRAS = """create table extras (ticket integer references tickets, rowid text, qty integer);
insert into extras values (13, 'bike', 2);"""


def test_row_of_a_table_without_a_key_is_changed_and_put_back(changed: Any) -> None:
    """Another row may be equal while a value is changed; and a column may have the name of the hidden key."""
    written = f"insert into extras values (12, 'bike', 2); {CLOSE}"
    facts = changed(written, "select count(*) = 1 from extras where ticket = 12", 12, more=EXTRAS)
    found = {(each["table"][11:], each["column"]): each["caught"] for each in facts["tried"]}
    assert found == {
        ("extras", "ticket"): True, ("extras", "rowid"): False, ("extras", "qty"): False,
        ("tickets", "state"): False, ("tickets", ""): False,
    }  # fmt: skip
    assert facts["untried"] == []


LOG = """create table log (id integer primary key, nr integer);
create trigger notes after update of state on tickets when new.nr = 12
begin insert into log (nr) values (new.nr); end;"""


def test_rows_that_a_trigger_writes_are_put_back(changed: Any) -> None:
    facts = changed(f"{COMMENT}; {CLOSE}", "select count(*) < 2 from log", "closed", more=LOG)
    assert {"state", "ticket", "author", "body"} <= outcomes(facts).keys()
    assert facts["untried"] == []


def test_change_that_is_not_put_back_is_the_reason_of_what_follows(tmp_path: Path) -> None:
    """What the verdict depends on is then no longer there, which says nothing of other values."""
    keep = "create trigger keep before delete on log begin select raise(abort, 'stays'); end;"
    write(tmp_path / "main.sqlite3", SCHEMA + LOG + keep)
    leased: Any = Leased(tmp_path)
    leased.query("shop", f"{COMMENT}; {CLOSE}", write=True)
    evidence = Evidence(answer="", stop_reason="answered", changes=leased.changes())
    facts = ValueChanger(
        leased, evidence, sent=lambda _, value: value == "closed",
        passes=lambda *_: bool(leased.query("shop", "select count(*) < 2 from log").rows[0][0]),
    ).run()  # fmt: skip
    reasons = {each["what"]: each["why"] for each in facts["untried"]}
    assert reasons["shop: main.tickets.state"] == "it could not be put back"
    assert reasons["shop: main.comments.body"] == "a change of shop: main.tickets could not be put back"


def test_table_that_cannot_be_read_does_not_end_the_others(tmp_path: Path) -> None:
    write(tmp_path / "main.sqlite3", SCHEMA)
    leased: Any = Leased(tmp_path)
    leased.query("shop", f"update comments set body = 'Now.'; {CLOSE}", write=True)
    evidence = Evidence(answer="", stop_reason="answered", changes=leased.changes())
    leased.query("shop", "drop table comments", write=True)
    facts = ValueChanger(leased, evidence, passes=lambda *_: True, sent=lambda *_: True).run()
    assert {each["table"] for each in facts["tried"]} == {"shop: main.tickets"}
    [untried] = facts["untried"]
    assert untried["what"] == "shop: main.comments"
    assert "no such table" in untried["why"]


def test_field_of_a_document_is_changed_in_place_of_the_whole(changed: Any) -> None:
    """Clocks in it and keys of new rows are left alone."""
    notes = "create table notes (id integer primary key, data text)"
    document = """{"tags": ["red", 5], "note": 7, "at": "2026-07-09T10:12:00"}"""
    check = "select count(*) from notes where json_extract(data, '$.tags[0]') = 'red'"
    found = outcomes(changed(f"insert into notes values (7, '{document}')", check, "red", 5, more=notes))
    assert {column: result[1:] for column, result in found.items()} == {
        "data.tags.0": (True, True), "data.tags.1": (False, True),
    }  # fmt: skip


def test_bytes_are_changed_by_one(changed: Any) -> None:
    files = "create table files (id integer primary key, data blob)"
    written = "insert into files values (1, x'00ff')"
    assert outcomes(changed(written, "select 1", more=files))["data"] == ("X'00FE'", False, False)
    assert outcomes(changed(written, "select data = x'00ff' from files", more=files))["data"][1] is True


def test_removal_of_a_value_must_be_caught_as_another_value_is(changed: Any) -> None:
    """A comparison with NULL is neither true nor false."""
    check = "select count(*) = 0 from tickets where nr = 14 and due <> '2026-07-09'"
    assert outcomes(changed(RATE, check))["due"] == ("NULL", False, True)


def test_removed_value_is_given_back(changed: Any) -> None:
    cleared = "update tickets set due = null where nr = 13"
    assert outcomes(changed(cleared, "select due is null from tickets where nr = 13"))["due"][:2] == (
        "'2026-07-01'", True,
    )  # fmt: skip
    assert outcomes(changed(cleared, "select 1"))["due"][1] is False


def test_empty_columns_of_a_new_row_get_a_value(changed: Any) -> None:
    written = "insert into comments (id, ticket, body) values (2, 12, 'Done')"
    facts = changed(written, "select count(*) from comments where body = 'Done' and author is null", "Done", 12)
    [author, made] = [each for each in facts["tried"] if each["unit"] == "empty column"]
    assert (author["column"], author["became"], author["caught"], author["sent"]) == ("author", "'ada'", True, False)
    assert (made["column"], made["caught"]) == ("made", False)


def test_content_of_a_written_file_is_changed_and_put_back(tmp_path: Path) -> None:
    write(tmp_path / "main.sqlite3", SCHEMA)
    (tmp_path / "old.txt").write_text("old")
    leased: Any = Leased(tmp_path)
    (tmp_path / "new.txt").write_text("new")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "old.txt").unlink()
    evidence = Evidence(answer="", stop_reason="answered", changes=leased.changes())
    new = tmp_path / "new.txt"
    facts = ValueChanger(
        leased, evidence, passes=lambda *_: new.read_text() == "new", sent=lambda *_: False, fields=["body"]
    ).run()
    assert [(each["table"], each["unit"], each["caught"], each["fields"]) for each in facts["tried"]] == [
        ("shop: new.txt", "file", True, ("body",))
    ]
    assert {(each["what"], each["why"]) for each in facts["untried"]} == {
        ("shop: empty.txt", "the file empty.txt is empty"), ("shop: old.txt", "it was removed"),
    }  # fmt: skip
    assert new.read_text() == "new"


def test_database_of_a_dependency_is_queried_by_the_site_that_depends_on_it(tmp_path: Path) -> None:
    write(tmp_path / "main.sqlite3", SCHEMA)
    leased: Any = Leased(tmp_path)
    leased.query("shop", CLOSE, write=True)
    [app] = leased.changes()
    without = replace(app, app="db", sites=())
    evidence = Evidence(answer="", stop_reason="answered", changes=(without,))
    leased.changes = lambda changes=leased.changes: tuple(replace(each, app="db", sites=()) for each in changes())
    facts = ValueChanger(leased, evidence, passes=lambda *_: True, sent=lambda *_: True).run()
    assert {each["table"] for each in facts["tried"]} == {"shop: main.tickets"}
    leased.sites["shop"].engines = {}
    facts = ValueChanger(leased, evidence, passes=lambda *_: True, sent=lambda *_: True).run()
    assert [each["why"] for each in facts["untried"]] == ["no site of the task can query the database main"]
