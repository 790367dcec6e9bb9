"""Reference steps found in trials: equality of steps, scores and their table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Check, Click, Goto, Press, Selector, Stop, Type, as_record
from pytest_webarena.evidence import Evidence, StepRecord
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.reference_steps import reference_scores, references
from pytest_webarena.results.table_forms import as_text
from pytest_webarena.results.tables import gather, tables
from pytest_webarena.signals import TargetRecord
from tests.cases import each_case

SHOP = "http://shop.test/"
BUY = TargetRecord(selector="#buy", role="button", name="Buy")
FIELD = TargetRecord(selector="#q", role="searchbox", name="Search")


def step(
    action: Any, target: TargetRecord | None = None, *, on: str = SHOP, to: str = SHOP, error: str = ""
) -> StepRecord:
    return StepRecord(
        index=0, action=as_record(action), raw="", url_before=on, url_after=to, target=target, error=error
    )


SEARCH = step(Type(Selector("#q"), "lee tent", clear=True), FIELD)
ENTER = step(Press("Enter"), None)
CLICK = step(Click(Selector("#buy")), BUY, on=f"{SHOP}p/1?x=2")
OPEN = step(Goto(f"{SHOP}p/1"), None, to=f"{SHOP}p/1")
DONE = step(Stop("yes"))
SOLUTION = (SEARCH, ENTER, CLICK, DONE)


def trial(agent: str, outcome: Any = "passed", task: str = "t") -> TrialRecord:
    return TrialRecord(key=TrialKey(task, agent, 1), outcome=outcome, node_id="f.yaml::t")


@each_case(
    ("steps", "element", "whole"),
    [
        (SOLUTION, 1, 1),
        ((OPEN, CLICK), 1 / 3, 1 / 3),
        ((CLICK, SEARCH, ENTER), 2 / 3, 2 / 3),  # in order
        ((SEARCH, SEARCH, ENTER, ENTER, CLICK), 1, 1),  # each counts once; additional steps cost nothing
        ((step(Type(Selector("x"), " Lee  Tent", clear=False), FIELD), ENTER, CLICK), 1, 1),
        ((step(Type(Selector("x"), "a pan", clear=True), FIELD), ENTER, CLICK), 1, 2 / 3),
        ((step(Press("Escape")), step(Click(Selector("y")), BUY, on=f"{SHOP}p/1")), 1 / 3, 1 / 3),
        ((step(Click(Selector("y")), replace(BUY, selector="a > b"), on=f"{SHOP}p/1"),), 1 / 3, 1 / 3),
        ((step(Check(Selector("y"), True), BUY, on=f"{SHOP}p/1"),), 1 / 3, 1 / 3),
        ((step(Click(Selector("#buy")), BUY, on=f"{SHOP}p/2"),), 0, 0),  # on another page
        ((step(Click(Selector("#buy")), BUY, on=f"{SHOP}p/1", error="it is covered"),), 0, 0),
        ((step(Click(Selector("#x")), TargetRecord(selector="#x"), on=f"{SHOP}p/1"),), 0, 0),
        ((), 0, 0),
    ],
)  # fmt: skip
def test_scores_of_steps_in_common_with_the_reference(
    steps: tuple[StepRecord, ...], element: float, whole: float
) -> None:
    found = reference_scores([trial("a")], {"t": SOLUTION[:-1]}, lambda _: steps)
    assert found is not None
    assert found.element == pytest.approx(element)
    assert found.step == pytest.approx(whole)


def test_references_are_passed_solutions_without_stop_action() -> None:
    records = [trial("oracle", "failed"), trial("a"), trial("oracle"), trial("oracle", task="u")]
    taken = {"t": SOLUTION, "u": (DONE,)}
    assert references(records, lambda each: taken[each.key.task]) == {"t": [SEARCH, ENTER, CLICK]}
    assert reference_scores(records[:1], {"t": SOLUTION}, lambda _: SOLUTION) is None
    assert reference_scores([trial("a", "error")], {"t": SOLUTION}, lambda _: SOLUTION) is None


def test_table_shows_reference_scores_and_outcomes(tmp_path: Path) -> None:
    for run, agent, outcome, steps in (
        ("one", "oracle", "passed", SOLUTION),
        ("two", "free", "passed", (OPEN, CLICK, DONE)),
        ("two", "true", "failed", SOLUTION),
    ):
        record = trial(agent, outcome)
        RunDir(tmp_path / run).describe({})
        folder = RunDir(tmp_path / run).folder(record.key)
        writer = folder.begin(worker="main", node_id=record.node_id)
        for each in steps:
            writer.stepped(each)
        writer.finish(Evidence(answer="yes", stop_reason="answered", steps=steps))
        folder.finish(record)
    rows = gather([tmp_path / "two", tmp_path / "one"])
    text = as_text([each for each in tables(rows) if each.title.startswith("Offline")])
    assert [line.split() for line in text.splitlines()[1:4]] == [
        ["agent", "element", "step", "all", "steps", "CR", "SR(0)", "SR", "alike", "trials"],
        ["free", "33.3%", "33.3%", "0.0%", "–", "–", "100.0%", "0.0%", "1"],
        ["true", "100.0%", "100.0%", "100.0%", "–", "–", "0.0%", "0.0%", "1"],
    ]
    assert not [each for each in tables(gather([tmp_path / "two"])) if each.title.startswith("Offline")]
