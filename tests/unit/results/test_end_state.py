"""Comparison of a trial's end state with the solution's."""

from __future__ import annotations

from typing import Any

from pytest_webarena.changes import RowChange, SiteChanges, TableChanges
from pytest_webarena.evidence import Evidence, StepRecord, TabState, TargetRecord
from pytest_webarena.results.end_state import ended_alike
from pytest_webarena.testing import make_task
from tests.cases import each_case

DATA = "intent: i\nsites: [shop]\nchecks: [{state: {sql: select 1, equals: 1}}]"
PLACE = "intent: i\nsites: [shop]\nchecks: [{url: /a}]"
ANSWER = "intent: i\nsites: [shop]\nchecks: [{answer: x}]"
NODES = "intent: i\nsites: [shop]\nchecks: [{key_nodes: [{value: {locate: '#a', exact: b}}]}]"


def end(
    url: str = "http://shop.test/a",
    *rows: dict[str, Any],
    answer: str = "",
    unknown: str = "",
    way: str = "",
    **more: Any,
) -> Evidence:
    added = tuple(RowChange(kind="added", key={}, row=row) for row in rows)
    tables = (TableChanges(table="posts", added=len(rows), rows=added),) if rows else ()
    step = StepRecord(
        index=0, action={"kind": "type"}, raw="", url_after=url, target=TargetRecord(selector=way), value="b"
    )
    values = {
        "answer": answer, "stop_reason": "answered", "tabs": (TabState(url=url, title="", active=True, html=""),),
        "steps": (step,), "changes": (SiteChanges(app="shop", sites=("shop",), tables=tables, unknown=unknown),),
    }  # fmt: skip
    return Evidence(**(values | more))


A, B = "http://shop.test/a", "http://shop.test/b"


@each_case(
    ("task", "ended", "solved", "alike"),
    [
        (DATA, end(B, {"id": 1}), [end(A, {"id": 1})], True),  # the page is not compared
        (DATA, end(A, {"id": 2}), [end(A, {"id": 1})], False),
        (DATA, end(A, {"id": 1}, {"id": 2}), [end(A, {"id": 1})], False),
        (DATA, end(A), [end(A, {"id": 1})], False),
        (PLACE, end(A), [end(A)], True),
        (PLACE, end(B), [end(A)], False),
        (PLACE, end(A, {"id": 2}), [end(A)], False),  # an additional change
        (ANSWER, end(B, answer="x"), [end(A, answer="x")], True),
        (ANSWER, end(A, answer="y"), [end(A, answer="x")], False),
        # Values that differ between trials of the solution are ignored.
        (DATA, end(A, {"id": 1, "key": "c"}), [end(A, {"id": 1, "key": "a"}), end(A, {"id": 1, "key": "b"})], True),
        (DATA, end(A, {"id": 2, "key": "c"}), [end(A, {"id": 1, "key": "a"}), end(A, {"id": 1, "key": "b"})], False),
        # Two trials of the solution that took equally long.
        (DATA, end(A, {"at": "2025-05-14T09:00:02"}), [end(A, {"at": "2025-05-14T09:00:01"})] * 2, True),
        (DATA, end(A, {"at": "2025-05-15T09:00:02"}), [end(A, {"at": "2025-05-14T09:00:01"})] * 2, False),
        (DATA, end(A, {"at": 1747213202}), [end(A, {"at": 1747213201})] * 2, True),
        (DATA, end(A, {"price": 200}), [end(A, {"price": 201})] * 2, False),
        # Unknown end states.
        (DATA, end(A), [], False),
        (DATA, end(A, changes=None), [end(A, changes=None)], False),
        (DATA, end(A, unknown="the file is gone"), [end(A, unknown="the file is gone")], False),
        (PLACE, end(A, changes=None), [end(A, changes=None)], True),
        # Key nodes compare the steps, too.
        (NODES, end(A, way="#a"), [end(A, way="#a")], True),
        (NODES, end(A, way="#b"), [end(A, way="#a")], False),
    ],
)  # fmt: skip
def test_ended_alike_compares_what_the_checks_see(
    task: str, ended: Evidence, solved: list[Evidence], alike: bool
) -> None:
    assert ended_alike(make_task(task), ended, solved) is alike
