"""What fields hold after a replay: what they held in the recorded trial."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import (
    Action,
    Element,
    Press,
    Select,
    Selector,
    Stop,
    Type,
)
from pytest_webarena.evidence import FilledField, TargetRecord
from pytest_webarena.results.rundir import RunDir
from tests.made_up import make_trial
from tests.unit.agents.replaying import CLICK, STOP, first, observed, replay, seen

NAME = TargetRecord(role="textbox", name="Name", selector="#name")


TYPE = {"kind": "type", "target": {"id": "4"}, "text": "Bo", "clear": False, "enter": False}


TYPED: list[dict[str, Any]] = [
    {"action": TYPE, "target": NAME, "url_after": "http://s.test/"},
    {**STOP, "url_after": "http://s.test/"},
]


@pytest.mark.parametrize(
    ("before", "after", "text", "clear"),
    [
        (" value: 'Ada'", " value: 'Bo'", "Bo", True),  # all of it was marked, by whatever means
        (" value: 'Ada'", " value: 'AdaBo'", "AdaBo", True),  # the cursor need not be where it was
        (" value: 'Ada'", " value: 'BoAda'", "BoAda", True),
        (' value: "A\'da"', ' value: "A\'Bo" focused: True', "A'Bo", True),
        ("", " value: 'Bo'", "Bo", False),
        (" value: 'Ada'", " value: 'BO-1'", "Bo", False),  # the page made something else of it
        (" value: '•••'", " value: '•••••'", "Bo", False),
    ],
)
def test_a_field_is_written_so_that_it_holds_what_it_held(
    recorded: RunDir, before: str, after: str, text: str, clear: bool
) -> None:
    make_trial(recorded, steps=TYPED)
    observed(recorded, f"[4] textbox 'Name'{before}", f"[4] textbox 'Name'{after}")
    agent = replay(recorded)
    reply = agent.act(seen(f"[9] textbox 'Name'{before}"))
    assert reply.action == Type(Element("9"), text, clear=clear)
    assert reply.thought == ""
    assert agent.act(seen(f"[9] textbox 'Name'{after}")).thought.endswith("no divergence")


def test_a_field_that_a_script_had_emptied_is_written_over_and_that_is_told(recorded: RunDir) -> None:
    """As Puppeteer does before it types: what a script does to a field is no step, and is not repeated."""
    make_trial(recorded, steps=TYPED)
    observed(recorded, "[4] textbox 'Name'", "[4] textbox 'Name' value: 'Bo'")
    agent = replay(recorded)
    reply = agent.act(seen("[9] textbox 'Name' value: 'Ada'"))
    assert reply.action == Type(Element("9"), "Bo", clear=True)
    assert reply.thought == "before step 0 expected '' in textbox 'Name', found 'Ada'; written anew"
    assert agent.act(seen("[9] textbox 'Name' value: 'Bo'")).thought.endswith("no divergence")


@pytest.mark.parametrize(
    ("before", "action"),
    [("'Ada'", Type(Element("9"), "", clear=True)), ("'A'", Press("Backspace", Element("9")))],
)
def test_a_key_that_erased_what_a_script_had_marked_erases_it(recorded: RunDir, before: str, action: Action) -> None:
    """As Stagehand does before it types."""
    erase = {"action": {"kind": "press", "keys": "Backspace", "target": None}, "target": NAME}
    make_trial(recorded, steps=[{**erase, "url_after": "http://s.test/"}, {**STOP, "url_after": "http://s.test/"}])
    observed(recorded, f"[4] textbox 'Name' value: {before}", "[4] textbox 'Name'")
    assert replay(recorded).act(seen(f"[9] textbox 'Name' value: {before}")).action == action


def test_a_field_that_holds_something_else_is_a_divergence(recorded: RunDir) -> None:
    make_trial(recorded, steps=TYPED)
    observed(recorded, "[4] textbox 'Name' value: 'Ada'", "[4] textbox 'Name' value: 'Bo'")
    agent = replay(recorded)
    agent.act(seen("[9] textbox 'Name' value: 'Ada'"))
    thought = agent.act(seen("[9] textbox 'Name' value: 'AdaBo'")).thought
    assert "after step 0 expected 'Bo' in textbox 'Name', found 'AdaBo'" in thought
    assert "no divergence" not in thought


@pytest.mark.parametrize("now", ["[9] textbox 'Name'\n[10] textbox 'Name'", "[9] textbox 'Other' value: 'x'", ""])
def test_fields_that_are_not_shown_or_not_alone_are_no_divergence(recorded: RunDir, now: str) -> None:
    make_trial(recorded, steps=TYPED)
    observed(recorded, "[4] textbox 'Name'", "[4] textbox 'Name' value: 'Bo'")
    agent = replay(recorded)
    agent.act(seen("[9] textbox 'Name'"))
    assert agent.act(seen(now)).thought.endswith("no divergence")


@pytest.mark.parametrize(
    ("now", "expected"), [("'Oats'", Select(Selector("css=#corn"), ("Rye",))), ("'Rye'", Stop("rye"))]
)
def test_a_field_that_a_script_filled_is_filled_unless_it_is_already(
    recorded: RunDir, now: str, expected: Action
) -> None:
    make_trial(recorded, steps=[{**STOP, "filled": (CORN,)}])
    assert first(recorded, f"[9] combobox 'Corn' value: {now}").action == expected


CORN = FilledField(target=TargetRecord(role="combobox", name="Corn", selector="#corn"), values=("Rye",), is_list=True)


def test_what_was_filled_is_told_apart_from_the_steps(recorded: RunDir, tmp_path: Path) -> None:
    make_trial(recorded, steps=[{**CLICK, "filled": (CORN,)}, STOP])
    agent = replay(recorded, tmp_path)
    for page in ("[9] combobox 'Corn' value: 'Oats'", "[9] combobox 'Corn' value: 'Rye'\n[1] button 'Save'", ""):
        agent.act(seen(page, url="http://s.test/done"))
    assert (tmp_path / "replay.txt").read_text().splitlines() == [
        "what was filled before step 0 of 2 (select combobox 'Corn'): as recorded",
        "step 0 of 2 (click button 'Save'): as recorded",
        "2 steps, all targets as recorded, no divergence",
    ]


def test_a_field_that_can_not_be_filled_ends_no_replay(recorded: RunDir) -> None:
    """Maybe the page's own script had filled it, as it did not this time."""
    make_trial(recorded, steps=[{**STOP, "filled": (CORN,)}])
    agent = replay(recorded)
    agent.act(seen(""))
    while (last := agent.act(seen("", error="no such element"))).action.kind == "select":
        pass
    assert last.action == Stop("rye")
    assert last.ended is None
    assert "diverged first what was filled before step 0 select combobox 'Corn' can't be repeated" in last.thought


def test_a_list_is_compared_once_it_is_closed(recorded: RunDir) -> None:
    """Letters typed into an open list are its value only with Enter; a replay chooses at once."""
    corn = TargetRecord(role="combobox", name="Corn", selector="#corn")
    typed = {"action": {"kind": "type", "target": None, "text": "Rye", "clear": False}, "target": corn}
    enter = {"action": {"kind": "press", "target": None, "keys": "Enter"}, "target": corn}
    make_trial(recorded, steps=[typed, enter, STOP])
    before, after = ("[9] combobox 'Corn' value: 'Oats'", "[9] combobox 'Corn' value: 'Rye'")
    observed(recorded, before, before, after)
    for last, told in ((after, "no divergence"), (before, "diverged first after step 1 expected 'Rye'")):
        agent = replay(recorded)
        for shown in (before, after):
            agent.act(seen(shown))
        assert told in agent.act(seen(last)).thought


@pytest.mark.parametrize(("marked", "clear"), [("Control+A", True), ("End", False)])
def test_what_is_written_over_a_nameless_field_that_was_marked_replaces_it(
    recorded: RunDir, marked: str, clear: bool
) -> None:
    price = TargetRecord(role="spinbutton", name="", selector="#price")
    where = {"selector": "css=#price"}
    typed = {"kind": "type", "target": where, "text": "9.80", "clear": False, "enter": False}
    steps: list[dict[str, Any]] = [
        {"action": {"kind": "press", "keys": marked, "target": where}, "target": price},
        {"action": typed, "target": price},
        STOP,
    ]
    make_trial(recorded, steps=steps)
    agent = replay(recorded)
    agent.act(seen("[1] spinbutton '' value: 9"))
    assert agent.act(seen("[1] spinbutton '' value: 9")).action == Type(Selector("css=#price"), "9.80", clear=clear)
