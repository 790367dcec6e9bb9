"""Messages between the harness and external agents."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.actions import (
    Action,
    Check,
    Click,
    Drag,
    Element,
    FocusTab,
    Goto,
    Invalid,
    Point,
    Press,
    Scroll,
    Select,
    Selector,
    Stop,
    Type,
    Upload,
    as_record,
)
from pytest_webarena.agents.protocol import AgentLimits, Assignment, InputImage, TaskView
from pytest_webarena.agents.wire import (
    ProtocolBroken,
    action_from_record,
    encode,
    observation_message,
    read_reply,
    task_message,
)
from pytest_webarena.browser.observation import Observation, TabInfo
from pytest_webarena.errors import DeclaredError
from pytest_webarena.tasks.model import Task
from tests.cases import each_case

EVERY_SHAPE: tuple[Action, ...] = (
    Click(Element("4"), modifiers=("Shift",)),
    Click(Point(1.5, 2), button="right", count=2),
    Type(Selector("css=#q"), "ryé", clear=True, enter=True),
    Press("Control+a"),
    Press("a", Element("4")),
    Scroll("down"),
    Select(Selector("css=select"), ("a", "b")),
    Upload(None, ("report.csv",)),
    Drag(Point(1, 2), Element("4")),
    Drag(Point(1, 2), Point(9, 9), path=(Point(3.5, 4), Point(0.5, 0.5, relative=True))),
    Check(Element("4"), False),
    Goto("/x"),
    FocusTab(2),
    Stop("408"),
    Invalid("?", "no action"),
)


def reply(**message: Any) -> Any:
    return read_reply(json.dumps(message).encode())


@each_case("action", EVERY_SHAPE, ids=repr)
def test_actions_round_trip_through_json(action: Action) -> None:
    assert action_from_record(json.loads(json.dumps(as_record(action)))) == action


@each_case(
    ("record", "sentence"),
    [
        ({"kind": "clik"}, "there is no action 'clik'; did you mean 'click'?"),
        ({"kind": ["click"]}, "there is no action ['click']"),
        ({}, "there is no action None"),
        ({"kind": "click"}, "needs 'target'"),
        ({"kind": "click", "target": "4"}, 'to be {"id": "42"}'),
        ({"kind": "click", "target": {"id": "4", "x": 1}}, 'to be {"id": "42"}'),
        ({"kind": "click", "target": {"id": "4"}, "colour": 1}, "has no 'colour'"),
        ({"kind": "click", "target": {"id": "4"}, "count": True}, "a whole number"),
        ({"kind": "scroll", "direction": "sideways"}, "one of up, down, left, right"),
        ({"kind": "goto", "url": 7}, "to be a text"),
        ({"kind": "select", "target": {"id": "4"}, "options": "a"}, "a list of texts"),
        (
            {"kind": "select", "target": {"id": "4"}, "options": [1]},
            "each of 'options' of the action select to be a text",
        ),
        ({"kind": "drag", "target": {"id": "4"}, "to": {"id": "5"}, "path": "a"}, "a list of points"),
        ({"kind": "drag", "target": {"id": "4"}, "to": {"id": "5"}, "path": [{"id": "6"}]}, 'to be {"x": 10, "y": 20}'),
        ({"kind": "drag", "target": {"id": "4"}, "to": {"id": "5"}, "path": ["a"]}, 'to be {"x": 10, "y": 20}'),
    ],
)
def test_malformed_action_is_invalid_with_a_reason(record: dict[str, Any], sentence: str) -> None:
    found = reply(type="action", action=record).action
    assert isinstance(found, Invalid)
    assert sentence in found.reason


@each_case("number", ["1e999", "NaN", "-1e12", "9" * 400, "true"])
@each_case(
    "action",
    [
        '{"kind": "click", "target": {"x": 1, "y": NUMBER}}',
        '{"kind": "click", "target": {"id": "4"}, "count": NUMBER}',
        '{"kind": "scroll", "direction": "down", "pixels": NUMBER}',
    ],
)
def test_unusable_numbers_make_an_action_invalid(action: str, number: str) -> None:
    data = f'{{"type": "action", "action": {action.replace("NUMBER", number)}}}'
    found = read_reply(data.encode()).action
    if "target" in action and number == "true" and "count" not in action:
        return  # true is 1 to JSON's readers in Python, and a place on the page
    assert isinstance(found, Invalid)
    assert "expected" in found.reason


def test_reply_is_an_action_text_or_an_answer() -> None:
    assert reply(type="action", text="click [4]").action == "click [4]"
    assert reply(type="answer", answer="408").action == Stop("408")
    assert reply(type="answer", answer=None).action == Stop("")
    assert reply(type="answer", answer={"a": 1}).action == Stop('{"a": 1}')


def test_reply_carries_thought_and_usage() -> None:
    found = reply(type="answer", answer="x", thought="why not", usage={"calls": 1, "input_tokens": 20, "cost": 0.5})
    assert found.thought == "why not"
    assert (found.usage.calls, found.usage.input_tokens, found.usage.cost) == (1, 20, 0.5)
    assert reply(type="answer", answer="x", usage={"calls": 1}).usage.cost is None  # unknown, not zero


@each_case(
    ("data", "sentence"),
    [
        (b"hello", "expected a JSON message"),
        (b"\xff\xfe", "expected a JSON message"),
        (b"[" * 100_000, "expected a JSON message"),
        (b"[]", "expected a message of type"),
        (b'{"type": "observation"}', "expected a message of type"),
        (b'{"type": "action"}', "expected 'text' or 'action'"),
        (b'{"type": "answer", "usage": {"calls": -1}}', "expected 'usage'"),
        (b'{"type": "answer", "usage": {"price": 1}}', "expected 'usage'"),
        (b'{"type": "answer", "usage": {"calls": true}}', "expected 'usage'"),
        (b'{"type": "answer", "usage": {"input_tokens": 9223372036854775808}}', r"expected 'usage' .* 10\*\*15"),
        (b'{"type": "answer", "usage": {"calls": %s}}' % (b"9" * 4300), r"expected .usage. .* 10\*\*15"),
        (b'{"type": "answer", "usage": {"calls": %s}}' % (b"9" * 4301), "expected a JSON message"),
        (b'{"type": "answer", "usage": {"cost": 1e16}}', "expected 'usage'"),
        (b'{"type": "answer", "usage": {"cost": %s}}' % (b"9" * 400), "expected 'usage'"),
        (b'{"type": "answer", "usage": {"cost": NaN}}', "expected 'usage'"),
        (b'{"type": "answer", "usage": {"cost": true}}', "expected 'usage'"),
        (b'{"type": "answer", "usage": {"saved": -1}}', "expected 'usage'"),
        (b'{"type": "error", "message": "no idea"}', "gave up: no idea"),
    ],
)
def test_malformed_message_breaks_the_protocol(data: bytes, sentence: str) -> None:
    with pytest.raises(ProtocolBroken, match=sentence):
        read_reply(data)


def test_declared_model_error_is_not_an_agent_failure() -> None:
    with pytest.raises(DeclaredError, match="overloaded"):
        reply(type="error", cause="model", message="overloaded")


def test_messages_are_encoded_as_single_lines() -> None:
    observation = Observation(
        text="a\nb\u2028\ud800",
        url="u",
        title="t",
        tabs=(TabInfo(title="t", url="u", active=True),),
        screenshot=b"\xff",
    )
    line = encode(observation_message(observation, trial="x", step=3))
    assert line.count(b"\n") == 1
    message = json.loads(line)
    assert (message["step"], message["text"], message["screenshot"]) == (3, observation.text, "/w==")


def test_task_message_contains_the_task_view() -> None:
    view = TaskView(
        intent="i", sites={"s": "http://s.test"}, reach={"w": "http://w.test"}, start=("http://s.test/",), max_steps=9,
        seed=4,
    )  # fmt: skip
    typed = Assignment(view=replace(view, answer_format="verified"), task=Task(id="t", intent="i", sites=()))
    typed_message = task_message(typed, trial="x", options={})
    assert (typed_message["intent"], typed_message["answer_format"]) == ("i", "verified")
    assert "retrieved_data" in typed_message["answer_instructions"]
    seen = replace(view, images=(InputImage(name="a.png", media_type="image/png", data=b"\xff"),))
    typed_message = task_message(replace(typed, view=seen), trial="x", options={})
    assert typed_message["images"] == ["data:image/png;base64,/w=="]
    limits = AgentLimits(seconds=60)
    assignment = Assignment(view=view, task=Task(id="t", intent="secret", sites=()), limits=limits)
    message = task_message(assignment, trial="x", options={"depth": 2})
    assert message == {
        "type": "task", "protocol": 1, "trial": "x", "intent": "i", "images": [], "sites": {"s": "http://s.test"},
        "reach": {"w": "http://w.test"}, "start": ["http://s.test/"], "max_steps": 9, "max_seconds": 60.0, "seed": 4,
        "answer_format": "text", "answer_instructions": "", "answer_schema": None, "options": {"depth": 2},
    }  # fmt: skip
