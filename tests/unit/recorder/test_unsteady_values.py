"""Values that a site makes for each run, which no proposed check compares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.actions import Selector, Type
from pytest_webarena.changes import RowChange, SiteChanges
from pytest_webarena.errors import SiteError
from pytest_webarena.recorder.page import flow
from pytest_webarena.recorder.page.panel import Panel
from pytest_webarena.recorder.proposing import proposed_checks
from pytest_webarena.recorder.steps import RecordedStep
from pytest_webarena.recorder.task_building import RecordedSession, ReplayedSteps, changes_again
from tests.unit.recorder.test_selector_proving import TASK, changed


def uploaded(stored: str, app: str = "shop") -> SiteChanges:
    row: dict[str, Any] = {"id": 7, "kind": "passport", "stored": stored, "bytes": 18}
    return changed(RowChange(kind="added", key={"id": 7}, row=row), sites=(app,))


def where(changes: list[SiteChanges], again: list[SiteChanges]) -> str:
    task = replace(TASK, intent="Upload a passport")
    first = proposed_checks(task, answer="", url="", steps=[], ignored={}, changes=changes, again=again)[0]
    return first.about.partition(": ")[2].partition(": ")[2]


def replayed(*changes: SiteChanges) -> ReplayedSteps:
    return ReplayedSteps(chosen=(), passed=(), url="", sites={"shop": ""}, changes=changes)


FIRST = uploaded("a1.bin")
KEPT = "kind = passport, stored = a1.bin, bytes = 18"


@pytest.mark.parametrize(
    ("again", "left"),
    [
        ([uploaded("b2.bin")], "kind = passport, bytes = 18"),
        ([changed()], "kind = passport"),  # nothing shows that the others are the same in each run
        ([], KEPT),
        ([replace(changed(), unknown="it is too large")], KEPT),
        ([uploaded("a1.bin"), uploaded("b2.bin", "map")], KEPT),
    ],
)
def test_only_values_that_another_run_has_are_compared(again: list[SiteChanges], left: str) -> None:
    assert where([uploaded("a1.bin")], again) == left


def test_steps_are_done_once_more_when_the_recording_has_no_changes() -> None:
    reports: list[str] = []

    def again(*recorded: SiteChanges, first: SiteChanges = FIRST) -> list[SiteChanges]:
        return [*changes_again(recorded, replayed(first), lambda: replayed(uploaded("b2.bin")), reports.append)]

    assert again(uploaded("c3.bin")) == [uploaded("c3.bin")]
    assert again(first=changed()) == []
    assert reports == []
    assert again() == [uploaded("b2.bin")]
    assert len(reports) == 1


def test_failure_of_the_second_run_is_reported() -> None:
    reports: list[str] = []

    def fail() -> ReplayedSteps:
        raise SiteError("the shop is down")

    assert changes_again((), replayed(uploaded("a1.bin")), fail, reports.append) == ()
    assert reports[-1] == "which values differ from run to run is unknown: the shop is down"


@pytest.mark.parametrize(("steps_done", "runs"), [(1, 1), (2, 2)])
def test_page_compares_the_recording_with_the_replay(
    monkeypatch: pytest.MonkeyPatch, steps_done: int, runs: int
) -> None:
    """If the author has deleted a step, the recording's changes are those of other steps."""
    steps = [RecordedStep(action=Type(Selector("css=#t"), str(time)), time=time) for time in (1.0, 2.0)][:steps_done]
    results = iter([replayed(uploaded("a1.bin")), replayed(uploaded("b2.bin"))])
    asked: list[Any] = []

    def replay_steps(task: Any, steps: Any, *_: Any, **__: Any) -> ReplayedSteps:
        asked.append(steps)
        return next(results)

    monkeypatch.setattr(flow, "replay_steps", replay_steps)
    nothing: Any = None
    panel = Panel("Upload a passport", "", ["shop"])
    panel.begin()
    panel.set_steps(tuple(steps))
    if steps_done > 1:
        panel.change({"leave_out_last": True})
    options: Any = flow.PageOptions(
        live=True, ignored={}, name=lambda _: "t", report=lambda _: None, open=lambda _: None
    )  # fmt: skip
    recording = flow._Recording(TASK, nothing, options, panel, nothing, nothing, nothing)
    recording._recorded_session = RecordedSession(
        steps=tuple(steps), answer="", url="", sites={"shop": ""}, changes=(uploaded("c3.bin"),)
    )
    recording._prove()
    assert recording._checks[0].about == "notes: a row is added: kind = passport, bytes = 18"
    assert asked == [tuple(steps[:1])] * runs
