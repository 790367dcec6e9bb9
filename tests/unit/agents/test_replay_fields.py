"""Values of fields in a replay: they match the recorded trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import (
    Action,
    ByScript,
    Element,
    FocusTab,
    PressFocused,
    Select,
    Selector,
    Stop,
    Type,
    TypeFocused,
)
from pytest_webarena.browser.observation import TabInfo
from pytest_webarena.evidence import ScriptAct, TargetRecord
from pytest_webarena.results.rundir import RunDir
from tests.made_up import make_trial
from tests.unit.agents.replaying import CLICK, SAVE, STOP, first_reply, replay, seen, write_observations

NAME = TargetRecord(role="textbox", name="Name", selector="#name")


TYPE = {"kind": "type", "target": {"id": "4"}, "text": "Bo", "clear": False, "enter": False}


TYPED: list[dict[str, Any]] = [
    {"action": TYPE, "target": NAME, "url_after": "http://s.test/"},
    {**STOP, "url_after": "http://s.test/"},
]


@pytest.mark.parametrize(
    ("before", "after", "text", "clear"),
    [
        (" value: 'Ada'", " value: 'Bo'", "Bo", True),  # all of the text was selected
        (" value: 'Ada'", " value: 'AdaBo'", "AdaBo", True),  # the cursor may be elsewhere
        (" value: 'Ada'", " value: 'BoAda'", "BoAda", True),
        (' value: "A\'da"', ' value: "A\'Bo" focused: True', "A'Bo", True),
        ("", " value: 'Bo'", "Bo", False),
        (" value: 'Ada'", " value: 'BO-1'", "Bo", False),  # the page changed the value
        (" value: '•••'", " value: '•••••'", "Bo", False),
    ],
)
def test_typed_field_ends_with_the_recorded_value(
    recorded: RunDir, before: str, after: str, text: str, clear: bool
) -> None:
    make_trial(recorded, steps=TYPED)
    write_observations(recorded, f"[4] textbox 'Name'{before}", f"[4] textbox 'Name'{after}")
    agent = replay(recorded)
    reply = agent.act(seen(f"[9] textbox 'Name'{before}"))
    assert reply.action == Type(Element("9"), text, clear=clear)
    assert reply.thought == ""
    assert agent.act(seen(f"[9] textbox 'Name'{after}")).thought.endswith("no divergence")


def test_field_emptied_by_a_script_is_overwritten_and_reported(recorded: RunDir) -> None:
    """Puppeteer empties a field by script before it types; a script's change is not a step."""
    make_trial(recorded, steps=TYPED)
    write_observations(recorded, "[4] textbox 'Name'", "[4] textbox 'Name' value: 'Bo'")
    agent = replay(recorded)
    reply = agent.act(seen("[9] textbox 'Name' value: 'Ada'"))
    assert reply.action == Type(Element("9"), "Bo", clear=True)
    assert reply.thought == "before step 0 expected '' in textbox 'Name', found 'Ada'; rewritten"
    assert agent.act(seen("[9] textbox 'Name' value: 'Bo'")).thought.endswith("no divergence")


@pytest.mark.parametrize("before", ["'Ada'", "'A'"])
def test_key_that_erased_text_selected_by_a_script_erases_it(recorded: RunDir, before: str) -> None:
    """Stagehand selects the text of a field by script and erases it before it types."""
    erase = {"action": {"kind": "press", "keys": "Backspace", "target": None}, "target": NAME}
    make_trial(recorded, steps=[{**erase, "url_after": "http://s.test/"}, {**STOP, "url_after": "http://s.test/"}])
    write_observations(recorded, f"[4] textbox 'Name' value: {before}", "[4] textbox 'Name'")
    action = replay(recorded).act(seen(f"[9] textbox 'Name' value: {before}")).action
    assert action == TypeFocused(Element("9"), "", clear=True)


def test_different_field_value_is_a_divergence(recorded: RunDir) -> None:
    make_trial(recorded, steps=TYPED)
    write_observations(recorded, "[4] textbox 'Name' value: 'Ada'", "[4] textbox 'Name' value: 'Bo'")
    agent = replay(recorded)
    agent.act(seen("[9] textbox 'Name' value: 'Ada'"))
    thought = agent.act(seen("[9] textbox 'Name' value: 'AdaBo'")).thought
    assert "after step 0 expected 'Bo' in textbox 'Name', found 'AdaBo'" in thought
    assert "no divergence" not in thought


@pytest.mark.parametrize("now", ["[9] textbox 'Name'\n[10] textbox 'Name'", "[9] textbox 'Other' value: 'x'", ""])
def test_hidden_or_ambiguous_fields_are_not_a_divergence(recorded: RunDir, now: str) -> None:
    make_trial(recorded, steps=TYPED)
    write_observations(recorded, "[4] textbox 'Name'", "[4] textbox 'Name' value: 'Bo'")
    agent = replay(recorded)
    agent.act(seen("[9] textbox 'Name'"))
    assert agent.act(seen(now)).thought.endswith("no divergence")


CORN = ScriptAct(
    event="change",
    target=TargetRecord(role="combobox", name="Corn", selector="#corn"),
    selector="css=#corn",
    value="Rye",
    commanded=True,
)
HERE = Selector("css=#corn")


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (CORN, ByScript(HERE, "change", "Rye", alone="#corn", names=("Corn",))),
        (
            replace(CORN, commanded=False),
            ByScript(HERE, "change", "Rye", unless_held=True, alone="#corn", names=("Corn",)),
        ),  # the page itself may have done it
        (replace(CORN, event="set"), ByScript(HERE, "set", "Rye", unless_held=True, alone="#corn", names=("Corn",))),
        (replace(CORN, event="click", value=None), ByScript(HERE, "click", alone="#corn", names=("Corn",))),
        (replace(CORN, event="submit", value=None), ByScript(HERE, "submit", alone="#corn", names=("Corn",))),
        (
            replace(CORN, event="keydown", value="Enter"),
            ByScript(HERE, "keydown", "Enter", alone="#corn", names=("Corn",)),
        ),
    ],
)
def test_script_action_is_replayed_by_script(recorded: RunDir, act: ScriptAct, expected: Action) -> None:
    make_trial(recorded, steps=[{**STOP, "by_script": (act,)}])
    assert first_reply(recorded, "[9] combobox 'Corn' value: 'Oats'").action == expected


def test_change_made_by_the_page_after_a_click_is_not_repeated(recorded: RunDir) -> None:
    """A script clicked, and the page changed a list meanwhile: the record shows the change as the agent's."""
    click = replace(CORN, event="click", value=None)
    make_trial(recorded, steps=[{**STOP, "by_script": (click, CORN)}])
    for now, unless_held in (("Rye", True), ("Oats", False)):
        agent = replay(recorded)
        agent.act(seen("[9] combobox 'Corn' value: 'Oats'"))
        done = agent.act(seen(f"[9] combobox 'Corn' value: '{now}'")).action
        assert done == ByScript(HERE, "change", "Rye", unless_held=unless_held, alone="#corn", names=("Corn",))


def test_selection_is_repeated_even_if_already_selected(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**CLICK, "by_script": (CORN,)}, {**STOP, "by_script": (CORN,)}])
    agent = replay(recorded)
    shown = "[9] combobox 'Corn' value: 'Rye'\n[1] button 'Save'"
    done = [agent.act(seen(shown, url="http://s.test/done")).action for _ in range(3)]
    assert (done[0], done[2]) == (ByScript(HERE, "change", "Rye", alone="#corn", names=("Corn",)),) * 2


def test_script_actions_are_listed_separately_from_steps(recorded: RunDir, tmp_path: Path) -> None:
    make_trial(recorded, steps=[{**CLICK, "by_script": (CORN,)}, STOP])
    agent = replay(recorded, tmp_path)
    for page in ("[9] combobox 'Corn' value: 'Oats'", "[9] combobox 'Corn' value: 'Rye'\n[1] button 'Save'", ""):
        agent.act(seen(page, url="http://s.test/done"))
    assert (tmp_path / "replay.txt").read_text().splitlines() == [
        "what a script did before step 0 of 2 (change combobox 'Corn'): as recorded",
        "step 0 of 2 (click button 'Save'): as recorded",
        "2 steps, all targets as recorded, no divergence",
    ]


def test_script_action_in_another_tab_is_replayed_in_that_tab(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**CLICK, "by_script": (replace(CORN, tab=1),)}, STOP])
    agent = replay(recorded)
    tabs = (TabInfo(title="", url="", active=True), TabInfo(title="", url="", active=False))
    other = (replace(tabs[0], active=False), replace(tabs[1], active=True))
    assert agent.act(seen("", tabs=tabs)).action == FocusTab(1)
    assert agent.act(seen("[9] combobox 'Corn'", tabs=other)).action.kind == "by_script"
    assert agent.act(seen("[9] combobox 'Corn'", tabs=other)).action == FocusTab(0)
    assert agent.act(seen("[1] button 'Save'", tabs=tabs)).action.kind == "click"


def test_value_set_by_a_script_is_compared_before_the_next_step(recorded: RunDir) -> None:
    """The page rewrote the value in the recorded trial, and rewrites it differently now."""
    make_trial(recorded, steps=[{**STOP, "by_script": (CORN,)}])
    write_observations(recorded, "[9] combobox 'Corn' value: 'Rye (in stock)'")
    agent = replay(recorded)
    agent.act(seen("[9] combobox 'Corn' value: 'Oats'"))
    thought = agent.act(seen("[9] combobox 'Corn' value: 'Rye'")).thought
    assert "after what a script did before step 0 expected 'Rye (in stock)' in combobox 'Corn', found 'Rye'" in thought


def test_failed_script_action_does_not_end_the_replay(recorded: RunDir) -> None:
    """The page's own script may have done it then. The first error is the one reported."""
    make_trial(recorded, steps=[{**STOP, "by_script": (CORN,)}])
    agent = replay(recorded)
    agent.act(seen(""))
    errors = iter(["the list has no such option", *["no such element"] * 9])
    while (last := agent.act(seen("", error=next(errors)))).action.kind == "by_script":
        pass
    assert last.action == Stop("rye")
    assert last.ended is None
    message = "diverged first what a script did before step 0 change combobox 'Corn' can't be repeated: the list has no"
    assert message in last.thought


def test_letters_typed_into_a_list_select_the_recorded_option(recorded: RunDir) -> None:
    corn = TargetRecord(role="combobox", name="Corn", selector="#corn", tag="select")
    step = {"action": {**TYPE, "target": None, "text": "R"}, "target": corn, "raw": "Input.insertText(text='R')"}
    make_trial(recorded, steps=[step, STOP])
    write_observations(recorded, "[9] combobox 'Corn' value: 'Oats'", "[9] combobox 'Corn' value: 'Rye'")
    assert first_reply(recorded, "[9] combobox 'Corn' value: 'Oats'").action == Select(Element("9"), ("Rye",))


def test_value_of_a_list_is_compared_after_enter(recorded: RunDir) -> None:
    """Letters typed into an open list become its value with Enter; a replay selects at once."""
    corn = TargetRecord(role="combobox", name="Corn", selector="#corn")
    typed = {"action": {"kind": "type", "target": None, "text": "Rye", "clear": False}, "target": corn}
    enter = {"action": {"kind": "press", "target": None, "keys": "Enter"}, "target": corn}
    make_trial(recorded, steps=[typed, enter, STOP])
    before, after = ("[9] combobox 'Corn' value: 'Oats'", "[9] combobox 'Corn' value: 'Rye'")
    write_observations(recorded, before, before, after)
    for last, expected in ((after, "no divergence"), (before, "diverged first after step 1 expected 'Rye'")):
        agent = replay(recorded)
        for shown in (before, after):
            agent.act(seen(shown))
        assert expected in agent.act(seen(last)).thought


def test_keys_go_to_the_focus_and_keep_the_text_selection(recorded: RunDir) -> None:
    """A focused button must not be clicked for a key, and a click in a field selects no text."""
    price = TargetRecord(role="spinbutton", name="", selector="#price")
    steps: list[dict[str, Any]] = [
        {"action": {"kind": "press", "keys": "Control+A", "target": None}, "target": price},
        {"action": {**TYPE, "target": None, "text": "9.80"}, "target": price},
        {
            "action": {"kind": "press", "keys": "Tab", "target": None},
            "target": replace(SAVE, x=None, y=None),
        },
        STOP,
    ]
    make_trial(recorded, steps=steps)
    agent = replay(recorded)
    page = seen("[1] spinbutton '' value: 9", "[2] button 'Save'")
    assert [agent.act(page).action for _ in steps[:3]] == [
        PressFocused("Control+A", Selector("css=#price")),
        TypeFocused(Selector("css=#price"), "9.80"),
        PressFocused("Tab", Element("2")),
    ]


@pytest.mark.parametrize(
    ("expected", "raw", "before", "left", "pieces"),
    [
        ([(0, 2)], "", "", "Bo", [("Bo", True)]),
        ([], "Input.insertText(text='Bo')", "", "Bo", [("Bo", True)]),  # an older record without insertions
        ([], "Input.insertText(text='B')", "", "Bo", []),  # the record implies that the rest was typed
        ([], "Input.dispatchKeyEvent(text='B')", "", "Bo", []),
        ([(0, 2)], "", "Ada", "AdaBo", [("Ada", None), ("Bo", True)]),
        ([], "", "Ada", "ABoda", [("A", None), ("Bo", False), ("da", None)]),  # where the cursor was
        ([(1, 2)], "", "", "Bo", [("B", False), ("o", True)]),
        ([(1, 2)], "", "Ada", "AdaBo", [("Ada", None), ("B", False), ("o", True)]),
        ([(0, 1), (1, 2)], "", "", "Bo", [("B", True), ("o", True)]),
    ],
)
def test_inserted_text_is_replayed_as_insertion(
    recorded: RunDir,
    expected: list[tuple[int, int]],
    raw: str,
    before: str,
    left: str,
    pieces: list[tuple[str, bool | None]],
) -> None:
    step = {**TYPED[0], "action": {**TYPE, "target": None}, "at_once": tuple(expected), "raw": raw, "left": left}
    make_trial(recorded, steps=[step, STOP])
    write_observations(recorded, f"[4] textbox 'Name' value: {before!r}")
    action = first_reply(recorded, f"[9] textbox 'Name' value: {before!r}").action
    assert isinstance(action, TypeFocused)
    assert (action.target, action.text, action.pieces) == (Element("9"), left, tuple(pieces))


def test_inserted_text_without_target_goes_to_the_focus(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{"action": {**TYPE, "target": None}, "target": None, "at_once": ((0, 2),)}, STOP])
    assert first_reply(recorded, "").action == TypeFocused(None, "Bo", pieces=(("Bo", True),))


@pytest.mark.parametrize(
    ("left", "text", "clear"),
    [
        ("6", "6", True),  # Playwright's `fill`: a script selected all of it
        ("16", "16", True),  # appended to the value
        ("6-", "6", True),  # a mask
        ("7", "6", False),  # the page changed the value
        (None, "6", False),
    ],
)
def test_recorded_value_identifies_a_field_among_equal_names(
    recorded: RunDir, left: str | None, text: str, clear: bool
) -> None:
    qty = TargetRecord(role="textbox", name="Qty", selector="tr:nth-of-type(2) > input")
    typed = {"action": {**TYPE, "text": "6"}, "target": qty, "left": left, "url_after": "http://s.test/"}
    make_trial(recorded, steps=[typed, STOP])
    shown = "[3] textbox 'Qty' value: '1'", "[4] textbox 'Qty' value: '1'"
    write_observations(recorded, "\n".join(shown))
    action = first_reply(recorded, *shown).action
    assert isinstance(action, Type)
    assert (action.text, action.clear) == (text, clear)


def test_field_value_is_known_when_the_form_is_submitted_at_once(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**TYPED[0], "left": "Bo", "url_after": "http://s.test/rows"}, STOP])
    write_observations(recorded, "[4] textbox 'Name' value: 'Ada'", "[1] link 'Home'")
    action = first_reply(recorded, "[9] textbox 'Name' value: 'Ada'").action
    assert action == Type(Element("9"), "Bo", clear=True)
