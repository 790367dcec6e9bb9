"""Changes of states that are moments, such as of rows that are marked as removed, and of rows without a key."""

from __future__ import annotations

from typing import Any

from pytest_webarena.changes import Value
from pytest_webarena.results.value_audit import unproven_of
from pytest_webarena.trials.other_values import is_clock
from pytest_webarena.trials.sent_values import sent_by
from tests.cases import each_case
from tests.unit.trials.test_sent_values import post
from tests.unit.trials.test_written_values import changed, outcomes

__all__ = ["changed"]

ORDERS = """
create table orders (id integer primary key, deleted_at text, seen_at text);
insert into orders values (1, null, '2026-07-01 08:00:00'), (2, '2026-07-01 08:00:00', '2026-07-01 08:00:00');
"""
REMOVED = "update orders set deleted_at = '2026-07-09 10:30:00', seen_at = '2026-07-09 10:30:00' where id = 1"
RESTORED = "update orders set deleted_at = null, seen_at = '2026-07-09 10:30:00' where id = 2"
TAGS = "create table tags (card integer, name text, until text); "
TAGS += "insert into tags values (1, 'red', null), (1, 'blue', null), (2, 'red', null), (2, 'red', null);"


def test_moment_that_is_set_or_cleared_is_a_state(changed: Any) -> None:
    for written, became in ((REMOVED, "NULL"), (RESTORED, "'2026-07-01 08:00:00'")):
        unread = outcomes(changed(written, "select 1", more=ORDERS))
        assert unread["deleted_at"] == (became, False, True)
        assert "seen_at" not in unread
    found = outcomes(changed(REMOVED, "select deleted_at is not null from orders where id = 1", more=ORDERS))
    assert found["deleted_at"] == ("NULL", True, True)
    found = outcomes(changed(RESTORED, "select deleted_at is null from orders where id = 2", more=ORDERS))
    assert found["deleted_at"] == ("'2026-07-01 08:00:00'", True, True)


def test_midnight_as_a_number_becomes_the_next_one(changed: Any) -> None:
    more = "create table cards (id integer primary key, due integer); insert into cards values (1, 7);"
    check = "select date(due, 'unixepoch') = '2026-07-09' from cards"
    found = outcomes(changed("update cards set due = 1783555200", check, more=more))
    assert found["due"] == ("1783641600", True, False)


def test_removed_row_without_a_key_is_replaced_by_its_neighbour(changed: Any) -> None:
    removed = "delete from tags where card = 1 and name = 'red'"
    _, caught, sent = outcomes(changed(removed, "select count(*) = 3 from tags", more=TAGS))["row"]
    assert (caught, sent) == (False, True)
    check = "select count(*) = 0 from tags where card = 1 and name = 'red' and until is null"
    assert outcomes(changed(removed, check, more=TAGS))["row"][1] is True


@each_case(
    ("more", "expected"),
    [("", ["body", "name"]), ("a row with thanks.txt", ["body"]), ("page: {includes: Thanks for the nuts.}", ["name"])],
)
def test_entered_fields_that_only_a_file_may_have_are_named(more: str, expected: list[str]) -> None:
    body = "name=thanks.txt&body=Thanks+for+the+nuts.&token=abcdef"
    sent = sent_by([post("http://shop.test/letters", body)], {("text", "thanks.txt"), ("text", "Thanks for the nuts.")})
    assert sent.fields_not_in([more]) == expected


def test_file_that_may_have_what_was_entered_is_unproven() -> None:
    tried = {"table": "shop: thanks.txt", "column": "", "unit": "file", "was": "its content", "caught": False}
    facts: dict[str, Any] = {"tried": [{**tried, "fields": ["body"]}], "untried": []}
    [found] = unproven_of([facts])
    assert found.text == "what was entered as body may be in shop: thanks.txt only, whose content no check reads"
    assert not [*unproven_of([{**facts, "tried": [tried]}])]
    assert not [*unproven_of([{**facts, "tried": [{**tried, "fields": ["body"], "caught": True}]}])]


@each_case(
    ("value", "expected"),
    [
        (1783592000, True),
        ("1783592000", True),
        ("1783592000.25", True),
        ("1783592000123", True),
        (1783555200, False),
        ("1783555200", False),
        (1783555200000, False),
        ("178359200", False),
        ("+1783592000", False),
        ("", False),
        (True, False),
    ],
)
def test_unix_times_are_clocks_in_all_forms_but_midnights_are_days(value: Value, expected: bool) -> None:
    assert is_clock(value) is expected
