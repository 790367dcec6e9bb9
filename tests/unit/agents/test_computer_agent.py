"""OpenAI's computer tool as a reply form: its calls become actions, unknown calls become invalid actions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import (
    Action,
    Back,
    Click,
    Drag,
    Hover,
    Invalid,
    Noop,
    Point,
    Press,
    Scroll,
    Stop,
    Type,
    Wait,
)
from pytest_webarena.agents.model.computer import read_computer
from pytest_webarena.errors import UsageError
from pytest_webarena.llm.messages import ModelReply, ToolCall
from tests.cases import each_case
from tests.model_server import Answer, model_server
from tests.unit.agents.model_agents import PNG, act, maker, page

AT = {"x": 10, "y": 20}
SEEN: dict[str, Any] = {"screenshot": PNG, "viewport": (900, 500)}


def output(*items: dict[str, Any]) -> Answer:
    """An answer of the Responses API with these items."""
    usage = {"input_tokens": 1000, "output_tokens": 100}
    whole = {"id": "x", "object": "response", "model": "scripted-1", "status": "completed", "output": list(items)}
    return Answer(raw=json.dumps({**whole, "usage": usage}).encode())


def computer(*actions: dict[str, Any], checks: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = {"action": actions[0]} if len(actions) == 1 else {"actions": list(actions)}
    return {"type": "computer_call", "id": "i", "call_id": "c", "pending_safety_checks": list(checks), **found}


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def read(*actions: Any) -> tuple[Action, ...]:
    arguments = json.dumps({"actions": actions, "checks": []})
    return read_computer(ModelReply(text="", tool_calls=(ToolCall(id="c", name="computer", arguments=arguments),)))[0]


@each_case(
    ("call", "action"),
    [
        ({"type": "click", "button": "left", **AT}, Click(Point(10, 20))),
        ({"type": "click", "button": "wheel", **AT}, Click(Point(10, 20), button="middle")),
        ({"type": "click", "button": "back", **AT}, Back()),
        ({"type": "click", "button": "left", "keys": ["CTRL"], **AT}, Click(Point(10, 20), modifiers=("Control",))),
        ({"type": "double_click", **AT}, Click(Point(10, 20), count=2)),
        ({"type": "drag", "path": [AT, {"x": 1, "y": 1}, {"x": 30, "y": 40}]}, Drag(Point(10, 20), Point(30, 40))),
        ({"type": "keypress", "keys": ["CTRL", "a"]}, Press("Control+a")),
        ({"type": "keypress", "keys": ["ENTER"]}, Press("ENTER")),
        ({"type": "move", **AT}, Hover(Point(10, 20))),
        ({"type": "screenshot"}, Noop()),
        ({"type": "scroll", "scroll_x": 0, "scroll_y": 300, **AT}, Scroll("down", target=Point(10, 20), pixels=300)),
        ({"type": "scroll", "scroll_x": -50, "scroll_y": 0, **AT}, Scroll("left", target=Point(10, 20), pixels=50)),
        ({"type": "type", "text": "rye"}, Type(None, "rye")),
        ({"type": "wait"}, Wait()),
    ],
)
def test_computer_calls_become_actions(call: dict[str, Any], action: Action) -> None:
    assert read(call) == (action,)


@each_case(
    ("call", "reason"),
    [
        ({"type": "triple_click", **AT}, "no computer action 'triple_click'"),
        ({"type": ["click"], **AT}, "no computer action"),
        ({"type": "click", "button": "left", "x": 10}, "click can't be read"),
        ({"type": "click", "button": "left", "x": "10", "y": 20}, "number of pixels, found '10'"),
        ({"type": "click", "button": "left", "x": 1e9, "y": 20}, "number of pixels"),
        ({"type": "click", "button": "fifth", **AT}, "found 'fifth'"),
        ({"type": "drag", "path": [AT]}, "at least two points"),
        ({"type": "keypress", "keys": []}, "a list of keys"),
        ({"type": "move", "keys": ["SHIFT"], **AT}, "keys can't be held"),
        ({"type": "scroll", "scroll_x": 5, "scroll_y": 5, **AT}, "along one axis"),
        ({"type": "type"}, "type can't be read"),
        (7, "can't be read"),
    ],
)
def test_unknown_computer_call_is_an_invalid_action_with_a_reason(call: Any, reason: str) -> None:
    (action,) = read({"type": "wait"}, call)  # earlier actions of the call are dropped, too
    assert isinstance(action, Invalid)
    assert reason in action.reason


def test_several_calls_or_calls_of_other_tools_are_invalid() -> None:
    call = ToolCall(id="c", name="computer", arguments='{"actions": [{"type": "wait"}], "checks": []}')
    for calls in ((call, call), (ToolCall(id="d", name="shell", arguments="{}"),)):
        (action,), _ = read_computer(ModelReply(text="", tool_calls=calls))
        assert isinstance(action, Invalid)


def test_truncated_answer_is_invalid() -> None:
    (action,), _ = read_computer(ModelReply(text="It costs 4", finish="max_output_tokens"))
    assert isinstance(action, Invalid)


KEYS: dict[str, Any] = {
    "reply": "computer",
    "observation": {"kinds": ["screenshot"]},
    "endpoint": {"api": "responses"},
    "invalid_retries": 1,
}


def test_computer_agent_gets_screenshots_acts_and_answers(tmp_path: Path) -> None:
    check = {"id": "s", "code": "malicious_instructions", "message": "look"}
    script = [
        output(computer({"type": "click", "button": "left", **AT}, checks=(check,))),
        output({"type": "reasoning", "summary": []}, message("It costs 45 crowns.")),
    ]
    with model_server(script) as server:
        agent = maker(tmp_path)(server, **KEYS)
        first = act(agent, page("", **SEEN))
        assert first.action == Click(Point(10, 20))
        assert "malicious_instructions: look" in first.thought
        assert act(agent, page("", **SEEN)).action == Stop("It costs 45 crowns.")
        assert server.bodies[0]["tools"] == [{"type": "computer"}]
        assert server.bodies[0]["truncation"] == "auto"
        parts = server.bodies[0]["input"][-1]["content"]
        assert [part["type"] for part in parts] == ["input_text", "input_image"]
        assert "click" in server.prompt(1)  # the next prompt names its action


def test_preview_model_gets_the_viewport_size(tmp_path: Path) -> None:
    with model_server([output(message("done"))]) as server:
        act(maker(tmp_path)(server, model="computer-use-preview", **KEYS), page("", **SEEN))
        assert server.bodies[0]["tools"] == [
            {"type": "computer_use_preview", "environment": "browser", "display_width": 900, "display_height": 500}
        ]


def test_queued_actions_of_a_call_run_until_one_has_no_effect(tmp_path: Path) -> None:
    three = computer({"type": "click", "button": "left", **AT}, {"type": "type", "text": "rye"}, {"type": "wait"})
    with model_server([output(three), output(message("done"))]) as server:
        agent = maker(tmp_path)(server, **KEYS)
        actions = [act(agent, page("", **SEEN)).action for _ in range(2)]
        assert actions == [Click(Point(10, 20)), Type(None, "rye")]
        assert server.requests == 1
        assert act(agent, page("", error="nothing has the focus", **SEEN)).action == Stop("done")
        assert "nothing has the focus" in server.prompt()


def test_unreadable_call_is_retried(tmp_path: Path) -> None:
    with model_server([output(computer({"type": "teleport"})), output(computer({"type": "wait"}))]) as server:
        reply = act(maker(tmp_path)(server, **KEYS), page("", **SEEN))
        assert (reply.action, reply.retries) == (Wait(), 1)
        assert "no computer action 'teleport'" in server.prompt()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"endpoint": {"api": "chat"}}, "expected endpoint: {api: responses}"),
        ({"observation": {"kinds": ["accessibility_tree"]}}, "expected a screenshot"),
        ({"observation": {"kinds": ["screenshot"], "screenshot_size": "640x480"}}, "screenshot_size"),
        ({"history": "chat"}, "found history: chat"),
    ],
)
def test_incompatible_settings_of_the_computer_tool_are_usage_errors(
    tmp_path: Path, keys: dict[str, Any], message: str
) -> None:
    with model_server([]) as server, pytest.raises(UsageError, match=r"reply: computer") as raised:
        maker(tmp_path)(server, **{**KEYS, **keys})
    assert message in str(raised.value)
