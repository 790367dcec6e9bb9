"""A model agent's history of steps, its spending limits and its recorded model calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.agents.protocol import AgentLimits
from pytest_webarena.errors import BudgetError, ModelError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.config import ModelSettings
from tests.model_server import Answer, call, fail, model_server, say
from tests.unit.llm.helpers import prices

from .model_agents import JPEG, Make, act, maker, page


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes an agent from definition keys and a model server."""
    return maker(tmp_path)


def replies(*actions: str) -> list[Answer]:
    return [say(f"because {action}. ```{action}```") for action in actions]


def test_actions_history_lists_all_actions(make: Make) -> None:
    with model_server(replies("click [4]", "go_back", "noop")) as server:
        agent = make(server, history="actions")
        for observation in (page(), page(error="nothing there"), page()):
            act(agent, observation)
    assert "1. click [4] where [4] is link 'Cart' (had no effect: nothing there)\n2. go_back" in server.prompt()


def test_dialogue_history_keeps_replies_and_the_latest_pages(make: Make) -> None:
    with model_server(replies("click [4]", "go_back", "noop", "noop")) as server:
        agent = make(server, history={"policy": "chat", "pages": 1})
        for number in range(4):
            act(agent, page(f"page number {number}"))
    messages = server.bodies[3]["messages"]
    assert [message["role"] for message in messages] == ["system", *["user", "assistant"] * 3, "user"]
    shown = [number for number in range(4) if f"page number {number}" in server.prompt()]
    assert shown == [2, 3]
    assert "because click [4]" in messages[2]["content"]


def test_dialogue_history_answers_each_tool_call(make: Make) -> None:
    with model_server([call("click", element="4")]) as server:
        agent = make(server, reply="tools", history="chat")
        act(agent)
        act(agent)
    roles = [message["role"] for message in server.bodies[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]


def test_reasoning_is_sent_back_when_the_endpoint_stores_nothing(make: Make) -> None:
    thinking = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "xyz"}
    calling = {"type": "function_call", "id": "f", "call_id": "c", "name": "noop", "arguments": "{}"}
    answer = Answer(raw=json.dumps({"model": "m", "output": [thinking, calling]}).encode())
    with model_server([answer]) as server:
        keys = {"endpoint": {"api": "responses"}, "sampling": {"reasoning_effort": "low"}}
        agent = make(server, reply="tools", history="chat", **keys)
        act(agent)
        act(agent)
    body = server.bodies[1]
    assert (body["include"], body["store"]) == (["reasoning.encrypted_content"], False)
    assert body["input"][2:4] == [thinking, calling]
    assert body["input"][4]["call_id"] == "c"


def test_summary_history_replaces_old_steps(make: Make) -> None:
    def model(body: dict[str, Any]) -> Answer:
        return say("I saw A and B.") if "NEW STEPS" in body["messages"][-1]["content"] else say("```noop```")

    with model_server(model) as server:
        agent = make(server, history={"policy": "summary", "length": 2})
        used = [act(agent).usage for _ in range(4)]
    assert [one.calls for one in used if one is not None] == [1, 1, 2, 1]
    assert "SO FAR: I saw A and B." in server.prompt()
    assert "3. noop" in server.prompt()
    assert "1. noop" not in server.prompt()
    assert "1. at http://shopping.test/: noop" in server.prompt(2)


# --- money, limits, records -----------------------------------------------------------------------------------------


def models(tmp_path: Path, **rest: Any) -> dict[str, Any]:
    return {"models": ModelSettings(calls=tmp_path / "l.sqlite", prices=prices(tmp_path), **rest)}


def test_model_calls_are_recorded_without_keys_and_images(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-opensesame")
    with model_server([say("sk-opensesame? no action"), say("```noop```")]) as server:
        endpoint = {"key_env": "THE_KEY"}
        reply = act(make(server, endpoint=endpoint, invalid_retries=1), page(screenshot=JPEG))
        assert server.headers[0]["authorization"] == "Bearer sk-opensesame"
    assert reply.model_calls == "model_calls/000.json"
    text = (tmp_path / "attempt" / reply.model_calls).read_text()
    first, second = json.loads(text)["calls"]
    assert first["reply"]["text"] == "[secret]? no action"
    assert (second["reply"]["text"], second["reply"]["usage"]["input_tokens"]) == ("```noop```", 1000)
    assert first["messages"][-1]["images"] == ["image/jpeg, 3 bytes"]
    assert "opensesame" not in text


def test_spent_run_budget_ends_running_trials_and_starts_no_others(make: Make, tmp_path: Path) -> None:
    with model_server([say("```noop```")]) as server:
        agent = make(server, assigned=models(tmp_path, max_cost=0.03))
        assert act(agent).ended is act(agent).ended is None
        last = act(agent)
        assert last.ended is not None
        assert last.ended[0] == "cost"
        with pytest.raises(BudgetError, match=r"raise --max-cost and --resume") as caught:
            act(make(server, assigned=models(tmp_path, max_cost=0.03)))
        assert (caught.value.cause, caught.value.again, server.requests) == ("model", False, 2)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (AgentLimits(input_tokens=3000), "tokens"),
        (AgentLimits(output_tokens=300), "tokens"),
        (AgentLimits(cost=0.06), "cost"),
    ],
)
def test_retries_stop_at_the_limits_of_the_trial(make: Make, tmp_path: Path, limits: AgentLimits, reason: str) -> None:
    with model_server([say("no action")]) as server:
        assigned = {"limits": limits, **models(tmp_path)}
        reply = act(make(server, invalid_retries=10, assigned=assigned))
    assert reply.ended is not None
    assert (reply.ended[0], server.requests) == (reason, 3)
    assert reply.usage is not None
    assert reply.usage.cost == pytest.approx(0.06)


def test_a_model_without_a_price_has_an_unknown_cost(make: Make, tmp_path: Path) -> None:
    with model_server([say("```noop```")]) as server:
        usage = act(make(server, model="brand-new", assigned=models(tmp_path))).usage
    assert isinstance(usage, Usage)
    assert (usage.cost, usage.input_tokens) == (None, 1000)


def test_endpoint_failure_is_a_model_error(make: Make, tmp_path: Path) -> None:
    with model_server([fail(401, "bad key")]) as server, pytest.raises(ModelError, match="bad key"):
        act(make(server))
    assert "bad key" in (tmp_path / "attempt" / "model_calls" / "000.json").read_text()
