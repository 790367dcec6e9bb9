"""Effects of scripts and keys in a self-driving agent's pages, as recorded in its steps."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.browser.driven.trajectory import Navigated
from pytest_webarena.evidence import TargetRecord
from pytest_webarena.signals import AddressChanged, DomEvent, ElementRecord
from tests.unit.trials.self_driven import CORN, FakeDriven, FakeSession, act, dom, driven, kinds, run

__all__ = ["driven"]


INSIDE = (CORN, ElementRecord(tag="html", within="frame"), ElementRecord(tag="iframe", attributes={"id": "desk"}))


def clicks(driven: FakeDriven, times: int = 1) -> Any:
    def drive(url: str) -> str:
        for _ in range(times):
            driven.say("Input.dispatchMouseEvent", type="mousePressed", x=3, y=4, clickCount=1)
        return "done"

    return drive


def test_typed_date_is_recorded_as_the_fields_value(driven: FakeDriven) -> None:
    """Keys enter a date in the order of the browser's language; the field's value is ISO 8601."""

    def drive(url: str) -> str:
        driven.say("Input.insertText", text="01312026")
        driven.say("Input.dispatchMouseEvent", type="mousePressed", x=3, y=4, clickCount=1)
        return "done"

    field = (ElementRecord(tag="input", attributes={"type": "date"}),)
    typed = [dom("input", value, field, by_script=False, commanded=False) for value in ("0012-01-31", "2026-01-31")]
    episode = run(driven, drive, FakeSession((), typed))
    assert kinds(episode) == ["type", "click", "stop"]
    step = episode.steps[0]
    assert (step.action["text"], step.action["clear"], step.value) == ("2026-01-31", True, "2026-01-31")


def wrote(value: str | None, selector: str = "#name", tag: str = "input", kind: str = "text", **more: Any) -> DomEvent:
    target = TargetRecord(selector=selector, role="textbox", name="Name", tag=tag)
    chain = (ElementRecord(tag=tag, attributes={"type": kind}),)
    plain = {"time": 1.0, "tab": 0, "url": "http://a.test/", "event": "input"}
    return DomEvent(target=target, value=value, chain=chain, **{**plain, **more})


@pytest.mark.parametrize(
    ("events", "value"),
    [
        ((wrote("A"), wrote("Ada"), wrote("ADA", event="change")), "Ada"),
        ((wrote("Ada"), wrote("Bo", "#other")), "Ada"),
        ((wrote("Ada"), wrote("Bo", by_script=True, commanded=True)), "Ada"),
        ((wrote("Ada", tag="select"),), None),
        ((wrote("Ada", kind="password"),), None),
        ((wrote(None, kind="password"),), None),
        ((), None),
    ],
)
def test_value_left_in_the_field_is_recorded(driven: FakeDriven, events: Any, value: str | None) -> None:
    def drive(url: str) -> str:
        driven.say("Input.insertText", text="da")
        driven.say("Input.dispatchMouseEvent", type="mousePressed", x=3, y=4, clickCount=1)
        return "done"

    episode = run(driven, drive, FakeSession((), events))
    assert [step.left for step in episode.steps] == [value, None, None]
    assert (episode.steps[0].action["text"], episode.steps[0].value) == ("da", "da")


def test_script_actions_are_recorded_with_the_next_step(driven: FakeDriven) -> None:
    session = FakeSession((dom("change"),), (dom("click"), dom("click", by_script=False)), (dom("set"),))
    episode = run(driven, clicks(driven, 2), session)
    assert (episode.ending.reason, kinds(episode)) == ("answered", ["click", "click", "stop"])
    assert [step.by_script for step in episode.steps] == [(act(),), (act("click"),), (act("set"),)]


def test_script_action_selector_includes_frames_and_shadow_hosts(driven: FakeDriven) -> None:
    shadow = (ElementRecord(tag="select", within="shadow"), ElementRecord(tag="x-corn", attributes={"id": "host"}))
    session = FakeSession((dom("change", chain=INSIDE), dom("change", chain=shadow), dom("change", whole=False)))
    [step] = run(driven, lambda url: "done", session).steps
    assert [each.selector for each in step.by_script] == [
        "css=#desk >> internal:control=enter-frame >> css=#corn",
        "css=#host >> css=#corn",
        "",
    ]


def test_script_actions_after_a_navigation_belong_to_the_next_step(driven: FakeDriven) -> None:
    """Between two observations, a script's choice navigates, and another script acts on the new page."""
    led = AddressChanged(time=1.0, tab=0, url="http://a.test/new")
    session = FakeSession((dom("change"), led, dom("put")))

    def drive(url: str) -> str:
        driven.events.put(Navigated(url="http://a.test/new"))
        return "done"

    episode = run(driven, drive, session)
    assert kinds(episode) == ["goto", "stop"]
    assert [[each.event for each in step.by_script] for step in episode.steps] == [["change"], ["put"]]
