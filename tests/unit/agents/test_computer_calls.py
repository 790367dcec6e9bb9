"""Calls of computer-use tools become one set of actions; screenshots are scaled, and coordinates are mapped back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_webarena.actions import (
    Action,
    Back,
    Click,
    Drag,
    Forward,
    Goto,
    Hover,
    Invalid,
    Noop,
    Point,
    Press,
    Scroll,
    Stop,
    Type,
    Wait,
    as_record,
)
from pytest_webarena.agents.model.computer.anthropic_calls import ACTIONS as ANTHROPIC
from pytest_webarena.agents.model.computer.anthropic_calls import UNAVAILABLE as ANTHROPIC_UNAVAILABLE
from pytest_webarena.agents.model.computer.reading import ComputerTurn, read_computer
from pytest_webarena.agents.model.computer.screens import LIMITS, Screen, ScreenLimits, fitted, image_size
from pytest_webarena.agents.wire import action_from_record
from pytest_webarena.llm.messages import ModelReply, ToolCall
from tests.cases import each_case
from tests.unit.agents.computer_replies import picture

PIXELS = Screen(width=1000, height=500, viewport=(1000, 500))
GRID = Screen(width=1000, height=1000, viewport=(1000, 500), is_grid=True)
AT = {"x": 10, "y": 20}
HERE = Point(10, 20)


def turn(api: Any, *calls: tuple[str, Any], cursor: Point | None = None, **rest: Any) -> ComputerTurn:
    written = tuple(ToolCall(id="c", name=name, arguments=json.dumps(values)) for name, values in calls)
    reply = ModelReply(text="", tool_calls=written, **rest)
    return read_computer(reply, api, GRID if api == "google" else PIXELS, cursor)


def read(api: Any, *calls: tuple[str, Any], cursor: Point | None = None) -> tuple[Action, ...]:
    """The actions of calls, as the harness receives them from the agent's process."""
    actions = (step.action for step in turn(api, *calls, cursor=cursor).steps)
    return tuple(action_from_record(json.loads(json.dumps(as_record(action)))) for action in actions)


def computer(*actions: Any, checks: Any = ()) -> tuple[str, Any]:
    return "computer", {"actions": list(actions), "checks": list(checks)}


@each_case(
    ("call", "actions"),
    [
        ({"type": "click", "button": "left", **AT}, [Click(HERE)]),
        ({"type": "click", "button": "wheel", **AT}, [Click(HERE, button="middle")]),
        ({"type": "click", "button": "right", **AT}, [Click(HERE, button="right")]),
        ({"type": "click", "button": "back", **AT}, [Back()]),
        ({"type": "click", "button": "forward", **AT}, [Forward()]),
        ({"type": "click", "button": "left", "keys": ["CTRL"], **AT}, [Click(HERE, modifiers=("Control",))]),
        ({"type": "double_click", **AT}, [Click(HERE, count=2)]),
        ({"type": "drag", "path": [AT, {"x": 30, "y": 40}]}, [Drag(HERE, Point(30, 40))]),
        (
            {"type": "drag", "path": [AT, {"x": 1, "y": 1}, {"x": 30, "y": 40}]},
            [Drag(HERE, Point(30, 40), path=(Point(1, 1),))],
        ),
        ({"type": "keypress", "keys": ["CTRL", "a"]}, [Press("Control+a")]),
        ({"type": "keypress", "keys": ["ENTER"]}, [Press("Enter")]),
        ({"type": "keypress", "keys": ["ARROWDOWN", "ARROWDOWN"]}, [Press("ArrowDown"), Press("ArrowDown")]),
        ({"type": "keypress", "keys": ["CTRL", "+"]}, [Press("Control++")]),
        ({"type": "move", **AT}, [Hover(HERE)]),
        ({"type": "screenshot"}, [Noop()]),
        ({"type": "scroll", "scroll_x": 0, "scroll_y": 300, **AT}, [Scroll("down", target=HERE, pixels=300)]),
        ({"type": "scroll", "scroll_x": -50, "scroll_y": 0, **AT}, [Scroll("left", target=HERE, pixels=50)]),
        ({"type": "scroll", "scroll_x": 0, "scroll_y": 0, **AT}, [Noop()]),
        ({"type": "type", "text": "rye"}, [Type(None, "rye")]),
        ({"type": "wait"}, [Wait()]),
    ],
)
def test_openai_actions(call: dict[str, Any], actions: list[Action]) -> None:
    assert read("responses", computer(call)) == tuple(actions)


@each_case(
    ("name", "values", "actions"),
    [
        ("left_click", {"coordinate": [10, 20]}, [Click(HERE)]),
        ("left_click", {"coordinate": [10, 20], "text": "ctrl+shift"}, [Click(HERE, modifiers=("Control", "Shift"))]),
        ("left_click", {}, [Click(Point(7, 7))]),
        ("right_click", {"coordinate": [10, 20]}, [Click(HERE, button="right")]),
        ("middle_click", {"coordinate": [10, 20]}, [Click(HERE, button="middle")]),
        ("double_click", {"coordinate": [10, 20]}, [Click(HERE, count=2)]),
        ("triple_click", {"coordinate": [10, 20]}, [Click(HERE, count=3)]),
        (
            "left_click_drag",
            {"start_coordinate": [10, 20], "coordinate": [30, 40]},
            [Drag(HERE, Point(30, 40))],
        ),
        ("left_click_drag", {"coordinate": [30, 40]}, [Drag(Point(7, 7), Point(30, 40))]),
        ("mouse_move", {"coordinate": [10, 20]}, [Hover(HERE)]),
        (
            "scroll",
            {"coordinate": [10, 20], "scroll_direction": "down", "scroll_amount": 3},
            [Scroll("down", target=HERE, pixels=300)],
        ),
        ("key", {"text": "Return"}, [Press("Enter")]),
        ("key", {"text": "ctrl+s"}, [Press("Control+s")]),
        ("key", {"text": "Page_Down", "repeat": 2}, [Press("PageDown"), Press("PageDown")]),
        ("key", {"text": "ctrl+a BackSpace"}, [Press("Control+a"), Press("Backspace")]),
        ("key", {"text": "KP_Enter"}, [Press("NumpadEnter")]),
        ("key", {"text": "alt+Left"}, [Press("Alt+ArrowLeft")]),
        ("key", {"text": " "}, [Press("Space")]),
        ("type", {"text": "rye"}, [Type(None, "rye")]),
        ("wait", {"duration": 3}, [Wait(3)]),
        ("screenshot", {}, [Noop()]),
        ("zoom", {"region": [0, 0, 100, 50]}, [Noop()]),
    ],
)
def test_anthropic_actions_of_the_toolset_and_of_earlier_tools(
    name: str, values: dict[str, Any], actions: list[Action]
) -> None:
    assert read("anthropic", (name, values), cursor=Point(7, 7)) == tuple(actions)
    assert read("anthropic", ("computer", {"action": name, **values}), cursor=Point(7, 7)) == tuple(actions)


@each_case(
    ("name", "values", "actions"),
    [
        ("click", {"x": 10, "y": 40}, [Click(HERE)]),
        ("double_click", {"x": 10, "y": 40}, [Click(HERE, count=2)]),
        ("triple_click", {"x": 10, "y": 40}, [Click(HERE, count=3)]),
        ("middle_click", {"x": 10, "y": 40}, [Click(HERE, button="middle")]),
        ("right_click", {"x": 10, "y": 40}, [Click(HERE, button="right")]),
        ("move", {"x": 10, "y": 40}, [Hover(HERE)]),
        ("type", {"text": "rye", "press_enter": True}, [Type(None, "rye", enter=True)]),
        ("type", {"text": "rye"}, [Type(None, "rye")]),
        ("drag_and_drop", {"start_x": 10, "start_y": 40, "end_x": 30, "end_y": 80}, [Drag(HERE, Point(30, 40))]),
        ("wait", {"seconds": 4}, [Wait(4)]),
        ("wait", {}, [Wait(1)]),
        ("press_key", {"key": "Enter"}, [Press("Enter")]),
        ("hotkey", {"keys": ["Control", "a"]}, [Press("Control+a")]),
        ("take_screenshot", {"intent": "Look."}, [Noop()]),
        (
            "scroll",
            {"x": 10, "y": 40, "direction": "up", "magnitude_in_pixels": 250},
            [Scroll("up", target=HERE, pixels=250)],
        ),
        ("scroll", {"x": 10, "y": 40, "direction": "down"}, [Scroll("down", target=HERE, pixels=300)]),
        ("go_back", {}, [Back()]),
        ("go_forward", {}, [Forward()]),
        ("navigate", {"url": "http://shopping.test/"}, [Goto("http://shopping.test/")]),
        ("click_at", {"x": 10, "y": 40}, [Click(HERE)]),
        ("hover_at", {"x": 10, "y": 40}, [Hover(HERE)]),
        ("type_text_at", {"x": 10, "y": 40, "text": "rye"}, [Type(HERE, "rye", clear=True, enter=True)]),
        (
            "type_text_at",
            {"x": 10, "y": 40, "text": "rye", "press_enter": False, "clear_before_typing": False},
            [Type(HERE, "rye")],
        ),
        ("key_combination", {"keys": "Control+A"}, [Press("Control+a")]),
        ("scroll_document", {"direction": "down"}, [Scroll("down")]),
        ("scroll_at", {"x": 10, "y": 40, "direction": "down"}, [Scroll("down", target=HERE, pixels=400)]),
        (
            "scroll_at",
            {"x": 10, "y": 40, "direction": "left", "magnitude": 100},
            [Scroll("left", target=HERE, pixels=100)],
        ),
        (
            "drag_and_drop",
            {"x": 10, "y": 40, "destination_x": 30, "destination_y": 80},
            [Drag(HERE, Point(30, 40))],
        ),
        ("open_web_browser", {}, [Noop()]),
        ("wait_5_seconds", {}, [Wait(5)]),
    ],
)
def test_google_actions_of_present_and_earlier_models(name: str, values: dict[str, Any], actions: list[Action]) -> None:
    assert read("google", (name, values)) == tuple(actions)


WRONG: list[tuple[str, tuple[str, Any], str]] = [
    ("responses", computer({"type": "triple_click", **AT}), "no computer action 'triple_click'"),
    ("responses", computer({"type": ["click"], **AT}), "no computer action"),
    ("responses", computer({"type": "click", "button": "left", "x": 10}), "expected a number, found None"),
    ("responses", computer({"type": "click", "button": "left", "x": "10", "y": 20}), "expected a number, found '10'"),
    ("responses", computer({"type": "click", "button": "left", "x": True, "y": 20}), "expected a number, found True"),
    ("responses", computer({"type": "click", "button": "left", "x": 1000, "y": 20}), "(1000, 20) is outside"),
    ("responses", computer({"type": "click", "button": "left", "x": -1, "y": 20}), "(-1, 20) is outside"),
    ("responses", computer({"type": "click", "button": "fifth", **AT}), "found 'fifth'"),
    ("responses", computer({"type": "click", "button": ["left"], **AT}), "found ['left']"),
    ("responses", computer({"type": "click", "button": "left", "keys": ["a"], **AT}), "keys such as Control"),
    ("responses", computer({"type": "drag", "path": [AT]}), "at least two points"),
    ("responses", computer({"type": "drag", "path": [AT, 7]}), "expected a path of points"),
    ("responses", computer({"type": "drag", "path": [AT, {"x": 10, "y": 500}]}), "(10, 500) is outside"),
    ("responses", computer({"type": "keypress", "keys": []}), "expected keys"),
    ("responses", computer({"type": "keypress", "keys": ["HYPER", "a"]}), "there is no key 'HYPER'"),
    ("responses", computer({"type": "move", "keys": ["SHIFT"], **AT}), "keys can't be held"),
    ("responses", computer({"type": "scroll", "scroll_x": 5, "scroll_y": 5, **AT}), "along one axis"),
    ("responses", computer({"type": "type"}), "expected a text"),
    ("responses", computer(7), "Expected a computer action, found 7"),
    ("responses", ("shell", {}), "Expected calls of the computer tool, found 'shell'"),
    ("responses", ("computer", "no object"), "Expected a JSON object"),
    ("responses", computer(), "Expected 1 to 100 actions, found 0"),
    ("responses", computer(*[{"type": "wait"}] * 101), "Expected 1 to 100 actions, found 101"),
    ("anthropic", ("left_click", {"coordinate": [10]}), "expected [x, y]"),
    ("anthropic", ("left_click", {"coordinate": "10, 20"}), "expected [x, y]"),
    ("anthropic", ("left_click", {}), "the mouse is nowhere yet"),
    ("anthropic", ("left_click", {"coordinate": [10, 500]}), "(10, 500) is outside the screenshot"),
    ("anthropic", ("key", {"text": "ctrl+nokey"}), "there is no key 'nokey'"),
    ("anthropic", ("key", {"text": "a", "repeat": 101}), "1 to 100 key presses"),
    ("anthropic", ("scroll", {"coordinate": [1, 1], "scroll_direction": "in", "scroll_amount": 1}), "directions"),
    ("anthropic", ("scroll", {"coordinate": [1, 1], "scroll_direction": "up", "scroll_amount": -1}), "by 0 to"),
    ("anthropic", ("wait", {"duration": 301}), "0 to 300 seconds"),
    ("anthropic", ("zoom", {"region": [0, 0, 2000, 50]}), "within 1000x500 pixels"),
    ("anthropic", ("zoom", {"region": [50, 0, 50, 50]}), "expected a region"),
    ("anthropic", ("left_mouse_down", {}), "not available here: use left_click_drag"),
    ("anthropic", ("computer", {"action": "hold_key", "text": "a"}), "not available here"),
    ("google", ("click", {"x": 1000, "y": 5}), "(1000, 5) is outside the grid"),
    ("google", ("click", {"x": [1], "y": 5}), "expected a number, found [1]"),
    ("google", ("type", {"text": "x", "press_enter": "yes"}), "expected true or false"),
    ("google", ("mouse_down", {"x": 1, "y": 5}), "not available here: use drag_and_drop"),
    ("google", ("hotkey", {"keys": [1]}), "expected keys"),
    ("google", ("teleport", {}), "no computer action 'teleport'; known are click"),
]


@each_case(("api", "call", "reason"), WRONG)
def test_call_that_cannot_be_carried_out_is_invalid_with_a_reason(api: str, call: Any, reason: str) -> None:
    (action,) = read(api, call)
    assert isinstance(action, Invalid)
    assert reason in action.reason


@each_case(("api", "call", "reason"), WRONG[::5])
def test_other_calls_of_a_wrong_reply_are_not_carried_out(api: str, call: Any, reason: str) -> None:
    good = computer({"type": "wait"}) if api == "responses" else ("wait", {"duration": 1, "seconds": 1})
    for calls in ((good, call), (call, good)):
        (action,) = read(api, *calls)
        assert isinstance(action, Invalid)
        assert "None of the reply's actions was carried out." in action.reason


def test_cut_reply_is_neither_an_answer_nor_an_action() -> None:
    text = read_computer(ModelReply(text="It costs 4", finish="max_output_tokens"), "responses", PIXELS)
    cut = turn("anthropic", ("type", {"text": "hal"}), finish="max_tokens")
    for found in (text, cut):
        assert isinstance(found.steps[0].action, Invalid)
    whole = read_computer(ModelReply(text="<think>4?</think> 45", finish="stop"), "google", GRID)
    assert whole.steps[0].action == Stop("45")


def test_steps_name_their_calls_and_follow_the_mouse() -> None:
    found = turn(
        "anthropic", ("mouse_move", {"coordinate": [10, 20]}), ("key", {"text": "a", "repeat": 2}), ("left_click", {})
    )
    assert [(step.call, step.action) for step in found.steps] == [
        (0, Hover(HERE)), (1, Press("a")), (1, Press("a")), (2, Click(HERE)),
    ]  # fmt: skip


@each_case(
    ("api", "call", "confirmable"),
    [
        ("responses", computer({"type": "wait"}, checks=[{"id": "s", "code": "c", "message": "m"}]), [True]),
        ("responses", computer({"type": "teleport"}, checks=[{"id": "s"}, "odd"]), [True, False]),
        ("responses", computer({"type": "wait"}), []),
        ("google", ("go_back", {"safety_decision": {"decision": "require_confirmation", "explanation": "e"}}), [True]),
        ("google", ("go_back", {"safety_decision": {"decision": "block"}}), [False]),
        ("google", ("go_back", {"safety_decision": "odd"}), [False]),
        ("google", ("go_back", {"safety_decision": {"decision": "regular"}}), []),
        ("anthropic", ("wait", {"duration": 1, "safety_decision": {"decision": "block"}, "checks": [1]}), []),
    ],
)
def test_safety_checks_are_found_in_valid_and_invalid_calls(api: str, call: Any, confirmable: list[bool]) -> None:
    assert [check.is_confirmable for check in turn(api, call).checks] == confirmable


# --- screens ----------------------------------------------------------------------------------------------------------


@each_case(
    ("screen", "corner", "found"),
    [
        (PIXELS, (0, 0), Point(0, 0)),
        (PIXELS, (999, 499), Point(999, 499)),
        (PIXELS, (999.5, 0.5), Point(999.5, 0.5)),
        (GRID, (0, 0), Point(0, 0)),
        (GRID, (999, 999), Point(999, 499.5)),
        (Screen(width=500, height=250, viewport=(1000, 500)), (0, 0), Point(0.5, 0.5)),
        (Screen(width=500, height=250, viewport=(1000, 500)), (499, 249), Point(998.5, 498.5)),
        (Screen(width=2000, height=1000, viewport=(1000, 500)), (0, 0), Point(0, 0)),
        (Screen(width=2000, height=1000, viewport=(1000, 500)), (1999, 999), Point(999.25, 499.25)),
    ],
)
def test_corners_are_mapped_to_the_same_places_in_the_viewport(screen: Screen, corner: Any, found: Point) -> None:
    point = screen.point(*corner)
    assert [point.x, point.y] == pytest.approx([found.x, found.y])
    assert 0 <= point.x < 1000
    assert 0 <= point.y < 500


@pytest.mark.parametrize("size", [(1280, 720), (2560, 1440), (1920, 1080), (800, 4000), (1, 5000), (1568, 784)])
def test_screenshots_are_as_large_as_the_limits_allow(size: tuple[int, int]) -> None:
    limits = LIMITS["anthropic"]
    wide, high = fitted(*size, limits)
    assert limits.allow(wide, high)
    longest, edge = max(size), max(wide, high)
    larger = [max(1, round(each * (edge + 1) / longest)) for each in size]
    assert (wide, high) == size or not limits.allow(*larger)
    assert [wide, high] == [max(1, round(each * edge / longest)) for each in size]


def test_image_sizes_are_read_from_headers() -> None:
    import io

    from PIL import Image

    for kind in ("PNG", "JPEG", "WEBP"):
        Image.new("RGB", (321, 123)).save(held := io.BytesIO(), kind)
        assert image_size(held.getvalue()) == (321, 123)
        assert image_size(held.getvalue()[:15]) is None
    Image.new("RGB", (321, 123)).save(held := io.BytesIO(), "WEBP", lossless=True)
    assert image_size(held.getvalue()) == (321, 123)
    assert image_size(picture(7, 9)) == (7, 9)
    assert image_size(b"") is None
    assert ScreenLimits().allow(10**6, 10**6)


@pytest.mark.exhaustive
def test_all_actions_of_anthropics_types_are_known() -> None:
    from anthropic.types import ComputerToolsetConfigsParam

    assert set(ComputerToolsetConfigsParam.__annotations__) == set(ANTHROPIC) | set(ANTHROPIC_UNAVAILABLE)
