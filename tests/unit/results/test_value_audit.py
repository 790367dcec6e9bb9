"""What an audit reports about written values, from the facts of a trial's record."""

from __future__ import annotations

from typing import Any

from pytest_webarena.agents.audit_trials import VALUES, AuditTrial
from pytest_webarena.changes import RowChange, SiteChanges, TableChanges
from pytest_webarena.plugin.auditing import rule
from pytest_webarena.results.audit import Audit, audit
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.results.value_audit import Coverage, coverage, unproven_values, unread_values, value_notes
from pytest_webarena.testing import make_task

TASK = make_task("intent: Comment\nsites: [shop]\nchecks: [{state: {sql: select 1, equals: 1}}]\nsolution: [{goto: /}]")
TRIAL = AuditTrial(agent=VALUES, trial=1, task=TASK, manner="replaying the solution")


def tried(column: str, caught: bool | None, *, sent: bool = True, became: str = "13") -> dict[str, Any]:
    return {
        "table": "shop: main.comments", "column": column, "kind": "added" if column else "removed",
        "was": "12", "became": became, "caught": caught, "sent": sent,
    }  # fmt: skip


def untried(what: str, why: str, unit: str = "") -> dict[str, Any]:
    return {"what": what, "why": why, "unit": unit}


def record(*given: dict[str, Any]) -> TrialRecord:
    facts = {
        "tried": [each for each in given if "column" in each],
        "untried": [each for each in given if "what" in each],
        "generated": [each["number"] for each in given if "number" in each],
    }
    key = TrialKey(TASK.id, VALUES, 1)
    return TrialRecord(key=key, outcome="passed", task_digest=TASK.digest, steps=2, environment={"values": facts})


def test_chosen_value_that_no_check_reads_is_a_weak_check() -> None:
    found = record(tried("body", True), tried("ticket", False), tried("author", False, sent=False), tried("", False))
    first, second = unread_values([(TRIAL, found)])
    assert first.text == "the verdict does not depend on shop: main.comments.ticket: it passes with 13 in place of 12"
    assert second.text.startswith("the verdict does not depend on which row of shop: main.comments was removed: it")
    (result,) = audit([(TASK, [TRIAL])], [found]).tasks
    (unproven,) = unproven_values([(TRIAL, found)], [])
    assert unproven.text == "no check reads shop: main.comments.author: it passes with 13 in place of 12"
    assert (result.finding, [reason.text for reason in result.reasons]) == (
        "weak check", [first.text, second.text, unproven.text],
    )  # fmt: skip


def test_value_that_differs_between_runs_is_generated() -> None:
    found = record(tried("author", False, sent=False))

    def run(author: int) -> tuple[SiteChanges, ...]:
        row = RowChange(kind="added", key={"id": 7}, row={"id": 7, "author": author})
        table = TableChanges(table="comments", database="main", added=1, rows=(row,))
        return (SiteChanges(app="shop", sites=("shop",), tables=(table,)),)

    assert not list(unproven_values([(TRIAL, found)], [run(12), run(15)]))
    assert len(list(unproven_values([(TRIAL, found)], [run(12), run(12)]))) == 1


def test_audit_that_could_not_change_a_value_is_unproven() -> None:
    time_up = {**untried("shop: main.comments.due", "the time for a task is up", "column"), "again": True}
    (result,) = audit([(TASK, [TRIAL])], [record(tried("body", True), time_up)]).tasks
    assert (result.finding, result.reasons[0].mend) == ("unproven", "repeat the audit")
    ruling = rule(Audit(tasks=(result,)))
    assert (ruling.exit_code, ruling.message.partition(";")[0]) == (15, "1 of 1 tasks is unproven")


def test_column_is_missed_when_one_of_its_rows_is() -> None:
    found = record(tried("ticket", True), tried("ticket", False), tried("ticket", True))
    assert len(list(unread_values([(TRIAL, found)]))) == 1
    assert coverage([(TRIAL, found)]) == Coverage(tried={"column": 1}, chosen=1)


def test_what_was_not_tried_is_counted_and_named() -> None:
    found = record(
        tried("body", True), tried("due", None), tried("", True), tried("author", False, sent=False),
        untried("shop: main.comments.kind", "the database takes no other value", "column"),
        untried("shop: a.png", "it is empty", "file"), untried("shop: b.png", "it is empty", "file"),
        untried("forum", "its changes are unknown"), {"number": "shop: main.comments.id"},
    )  # fmt: skip
    assert not list(unread_values([(TRIAL, found)]))
    assert list(value_notes([(TRIAL, found)])) == [
        "the verdict depends on shop: main.comments.id, which was generated: a right agent that does more may get"
        " another value",
        "not changed: shop: main.comments.kind: the database takes no other value",
        "not changed: shop: a.png: it is empty",
        "not changed: shop: b.png: it is empty",
        "not changed: forum: its changes are unknown",
    ]
    assert [each.text for each in unproven_values([(TRIAL, found)], [])] == [
        "no check reads shop: main.comments.author: it passes with 13 in place of 12",
        "the verdict is undecided with another value of shop: main.comments.due",
    ]
    total = coverage([(TRIAL, found)])
    assert list(total.lines()) == [
        "written facts: caught 2 of 3",
        "untried: 1 column, 2 files, 1 other (-v lists them)",
    ]


def test_audit_without_changed_values_says_so() -> None:
    assert list(coverage([(TRIAL, None)]).lines()) == [
        "written facts: none was changed, so what checks must read is not proved"
    ]
