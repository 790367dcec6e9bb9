"""Ends of a model agent's step: too long requests, blocked or truncated replies, and their usage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Click, Element, Invalid
from pytest_webarena.errors import ModelError
from pytest_webarena.llm.config import ModelSettings
from tests.model_server import Answer, fail, model_server, say
from tests.unit.agents.model_agents import Make, act, maker, page
from tests.unit.llm.helpers import prices

CALL = 0.02
OVERFLOW = fail(400, "This model's maximum context length is 9 tokens", code="context_length_exceeded")
CLICK = say("```click [4]```")
EMPTY = say("", finish="length")
BOTH = pytest.mark.parametrize("api", ["chat", "responses"])


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes an agent from definition keys and a model server."""
    return maker(tmp_path)


def models(tmp_path: Path, **rest: Any) -> dict[str, Any]:
    return {"models": ModelSettings(calls=tmp_path / "l.sqlite", prices=prices(tmp_path), **rest)}


def test_context_overflow_ends_the_trial_at_any_step(make: Make, tmp_path: Path) -> None:
    with model_server([CLICK, OVERFLOW]) as server:
        agent = make(server, assigned=models(tmp_path))
        assert act(agent).ended is None
        reply = act(agent)
    assert reply.ended is not None
    reason, detail = reply.ended
    assert reason == "context"
    assert "longer than the model's context: HTTP 400: This model's maximum" in detail
    assert "observation.max_tokens" in detail
    assert reply.usage is not None
    assert (reply.usage.calls, reply.usage.cost) == (0, 0.0)  # a 400 costs nothing
    (asked,) = json.loads((tmp_path / "attempt" / reply.model_calls).read_text())["calls"]
    assert "HTTP 400" in asked["error"]


@BOTH
def test_filtered_reply_is_paid_and_ends_the_trial(make: Make, tmp_path: Path, api: str) -> None:
    with model_server([say("```click [4]```", finish="content_filter")]) as server:
        reply = act(make(server, endpoint={"api": api}, invalid_retries=3, assigned=models(tmp_path)))
        assert server.requests == 1
    assert reply.ended is not None
    assert reply.ended[0] == "filtered"
    assert "model priced ended its reply because of a content filter (finish reason 'content_filter')" in reply.ended[1]
    assert reply.usage is not None
    assert reply.usage.cost == pytest.approx(CALL)


@pytest.mark.parametrize(
    ("api", "answer"),
    [
        ("chat", {"choices": [{"index": 0, "finish_reason": "content_filter"}]}),  # Azure sends no message then
        ("responses", {"output": None, "status": "incomplete", "incomplete_details": {"reason": "content_filter"}}),
        ("responses", {"output": [{"type": "reasoning"}], "status": "failed", "error": {"code": "content_filter"}}),
    ],
)
def test_filtered_reply_without_content_ends_the_trial(make: Make, api: str, answer: dict[str, Any]) -> None:
    with model_server([Answer(raw=json.dumps(answer).encode())]) as server:
        reply = act(make(server, endpoint={"api": api}))
    assert reply.ended is not None
    assert reply.ended[0] == "filtered"


def test_overflow_of_summary_or_reward_model_ends_the_trial(make: Make) -> None:
    def model(body: dict[str, Any]) -> Answer:
        return OVERFLOW if "NEW STEPS" in body["messages"][-1]["content"] else CLICK

    with model_server(model) as server:
        agent = make(server, history={"policy": "summary", "length": 1})
        assert [act(agent).ended is None for _ in range(2)] == [True, False]
    with model_server([CLICK]) as server, model_server([OVERFLOW]) as watcher:
        reward = {"model": "watcher", "endpoint": {"base_url": watcher.url, "key_env": None}}
        keys = {"grammar": "webcanvas", "prompt": "webcanvas", "history": "reflections"}
        agent = make(server, reward=reward, **keys)
        act(agent)
        reply = act(agent)
    assert reply.ended is not None
    assert reply.ended[0] == "context"
    assert "model watcher at" in reply.ended[1]


@BOTH
@pytest.mark.parametrize("reply", ["text", "tools", "json"])
def test_empty_reply_at_the_token_limit_is_invalid_and_names_it(
    make: Make, tmp_path: Path, api: str, reply: str
) -> None:
    with model_server([EMPTY]) as server:
        keys = {"sampling": {"max_tokens": 384}, "endpoint": {"api": api}, "invalid_retries": 1, "reply": reply}
        step = act(make(server, assigned=models(tmp_path), **keys))
        assert server.requests == 2  # asked again as after any other reply without an action, not as after a fault
        messages = server.bodies[1].get("messages") or server.bodies[1]["input"]
    assert isinstance(step.action, Invalid)
    assert step.action.reason.startswith("The reply reached sampling.max_tokens (384) before it held an action")
    assert step.usage is not None
    assert (step.usage.calls, step.usage.untold_calls) == (2, 0)
    assert step.usage.cost == pytest.approx(2 * CALL)
    assert messages[-2]["content"] == "(empty reply)"  # endpoints reject empty messages
    assert "sampling.max_tokens (384)" in messages[-1]["content"]


@BOTH
@pytest.mark.parametrize("reply", ["text", "tools", "json"])
def test_empty_reply_is_an_invalid_action(make: Make, api: str, reply: str) -> None:
    with model_server([say("")]) as server:
        step = act(make(server, endpoint={"api": api}, invalid_retries=1, reply=reply))
        assert server.requests == 2
    assert isinstance(step.action, Invalid)
    assert step.action.reason.startswith("The reply was empty; thinking alone is no action (finish reason ")


GROQ = {"error": {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": "<stop>"}}


@pytest.mark.parametrize(
    "answer",
    [
        say("", finish="malformed_function_call"),
        say("", finish="function_call_filter: MALFORMED_FUNCTION_CALL"),
        Answer(raw=b'{"choices": [{"finish_reason": "MALFORMED_FUNCTION_CALL"}]}'),
        Answer(status=400, raw=json.dumps(GROQ).encode()),
    ],
)
def test_malformed_tool_call_is_an_invalid_action(make: Make, answer: Answer) -> None:
    with model_server([answer]) as server:
        step = act(make(server, invalid_retries=1, reply="tools"))
        assert server.requests == 2
    assert isinstance(step.action, Invalid)
    assert step.action.reason.startswith("The reply held a tool call that can't be read (finish reason ")


def test_computer_tool_rejects_a_reply_without_text_as_answer(make: Make) -> None:
    with model_server([say("")]) as server:
        keys = {"reply": "computer", "endpoint": {"api": "responses"}, "observation": ["screenshot"]}
        step = act(make(server, **keys), page(screenshot=b"\xff\xd8\xff"))
    assert isinstance(step.action, Invalid)


def test_unclosed_thought_counts_as_an_empty_reply(make: Make) -> None:
    with model_server([say("<think>Shall I", finish="length")]) as server:
        step = act(make(server, extra={"max_tokens": 9}))
    assert isinstance(step.action, Invalid)
    assert "The reply reached extra.max_tokens (9) before" in step.action.reason


def test_reasoning_without_output_is_not_sent_back(make: Make) -> None:
    thinking = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "xyz"}
    cut = {
        "model": "m",
        "output": [thinking],
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
    }
    with model_server([Answer(raw=json.dumps(cut).encode()), CLICK]) as server:
        reply = act(make(server, endpoint={"api": "responses"}, invalid_retries=1))
    assert reply.action == Click(Element("4"))
    assert thinking not in server.bodies[1]["input"]


def test_computer_tool_rejects_a_truncated_empty_reply_as_answer(make: Make) -> None:
    with model_server([EMPTY]) as server:
        keys = {"reply": "computer", "endpoint": {"api": "responses"}, "observation": ["screenshot"]}
        step = act(make(server, **keys), page(screenshot=b"\xff\xd8\xff"))
    assert isinstance(step.action, Invalid)
    assert "the endpoint's own limit of tokens (sampling.max_tokens sets another)" in step.action.reason


def test_model_error_carries_the_usage_of_failed_requests(make: Make, tmp_path: Path) -> None:
    quick = {"retries": {"attempts": 3, "first": 0.0}}
    with model_server([CLICK, say("", finish="")]) as server:
        agent = make(server, endpoint=quick, assigned=models(tmp_path))
        act(agent)
        with pytest.raises(ModelError, match="gave up after 3 requests") as caught:
            act(agent)
    assert caught.value.usage is not None
    assert caught.value.usage.calls == 3
    assert caught.value.usage.cost == pytest.approx(3 * CALL)


def test_empty_memory_notes_are_an_error_and_are_paid(make: Make, tmp_path: Path) -> None:
    with model_server([CLICK, EMPTY]) as server:
        agent = make(server, assigned=models(tmp_path))
        act(agent)
        with pytest.raises(ModelError, match="expected notes for later trials, got an empty reply") as caught:
            agent.remember("answered")
    assert caught.value.usage is not None
    assert caught.value.usage.cost == pytest.approx(CALL)
