"""The history ``chat``: messages with tool results, several calls in one reply, dropped pages, equal beginnings."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Click, Element, Note, Stop
from pytest_webarena.browser.observation import Observation
from tests.model_server import Answer, ModelServer, call, model_server

from .model_agents import JPEG, Make, act, maker, page

NATIVE = [pytest.param(api, marks=pytest.mark.exhaustive) for api in ("anthropic", "google")]
"""APIs whose packages take seconds to import; tests/unit/llm/test_native_apis.py has their part of the first tier."""
APIS = pytest.mark.parametrize("api", ["chat", "responses", *NATIVE])
CHAT = {"reply": "tools", "history": "chat"}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes an agent from definition keys and a model server."""
    return maker(tmp_path)


def at(api: str, **rest: Any) -> dict[str, Any]:
    """Return the endpoint's keys, with time to import the providers' types."""
    return {"api": api, "timeout": 60, **rest}


def calls(*named: tuple[str, dict[str, Any]], **rest: Any) -> Answer:
    return Answer(calls=tuple((name, json.dumps(given)) for name, given in named), finish="tool_calls", **rest)


def three(**rest: Any) -> Answer:
    return calls(("click", {"element": "4"}), ("note", {"text": "42"}), ("stop", {"answer": "x"}), **rest)


def results(server: ModelServer, number: int = -1) -> list[str]:
    """Return the results of tool calls in a request, in any API."""
    body, found = server.bodies[number], []
    for item in body.get("messages") or body.get("contents") or body["input"]:
        if item.get("role") == "tool":
            found.append(item["content"])
        elif item.get("type") == "function_call_output":
            found.append(item["output"])
        parts = item.get("parts") or item.get("content") or []
        for part in parts if isinstance(parts, list) else []:
            if part.get("type") == "tool_result":
                found.append(part["content"])
            elif "functionResponse" in part:
                found.append(part["functionResponse"]["response"]["output"])
    return found


@APIS
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_calls_of_one_reply_are_carried_out_in_order(make: Make, api: str, stream: bool) -> None:
    answer = calls(("click", {"element": "4"}), ("note", {"text": "42"}), ("click", {"element": "5"}), thought="Hm.")
    with model_server([answer, call("stop", answer="x")]) as server:
        agent = make(server, endpoint=at(api, stream=stream), **CHAT)
        actions = [act(agent).action for _ in range(4)]
    assert actions == [Click(Element("4")), Note("42"), Click(Element("5")), Stop("x")]
    assert server.requests == 2
    assert results(server) == ["Done; the page follows."] * 3


DROPPED: dict[str, tuple[Observation, str, str]] = {
    "no effect": (page(error="It is covered."), "No effect: It is covered.", "the call before it had no effect"),
    "dialog": (page(dialog="alert: hi"), "Done; the page follows.", "a dialog opened"),
    "another element": (page("[4] link 'Cart'\n[5] button 'Delete'"), "Done; the page follows.", "no longer the one"),
}


@APIS
@pytest.mark.parametrize(("after", "first", "rest"), DROPPED.values(), ids=list(DROPPED))
def test_later_calls_are_dropped_when_the_page_is_not_as_the_model_saw_it(
    make: Make, api: str, after: Observation, first: str, rest: str
) -> None:
    answer = calls(("click", {"element": "4"}), ("click", {"element": "5"}), ("note", {"text": "42"}))
    with model_server([answer, call("stop", answer="x")]) as server:
        agent = make(server, endpoint=at(api), **CHAT)
        assert act(agent).action == Click(Element("4"))
        assert act(agent, after).action == Stop("x")
    assert results(server)[0] == first
    assert [rest in each for each in results(server)[1:]] == [True, True]


def test_calls_of_one_reply_are_listed_apart_in_a_text_history(make: Make) -> None:
    with model_server([three(), call("stop", answer="x")]) as server:
        agent = make(server, reply="tools", history="actions")
        act(agent)
        act(agent)
        act(agent, page(error="nothing"))
    assert '1. click({"element": "4"}) where [4] is link \'Cart\'\n2. note({"text": "42"}) (had' in server.prompt()


@APIS
def test_replies_without_an_action_stay_in_the_chat(make: Make, api: str) -> None:
    with model_server([call("explode"), call("click", element="4"), call("stop", answer="x")]) as server:
        agent = make(server, endpoint=at(api), invalid_retries=1, **CHAT)
        act(agent)
        act(agent)
    assert ["explode" in each for each in results(server)] == [True, False]


@pytest.mark.parametrize("keep", [0, 1, 4])
def test_requests_begin_like_the_one_before_unless_pages_are_dropped(make: Make, keep: int) -> None:
    steps = 12
    with model_server([call("click", element="4")]) as server:
        agent = make(server, reply="tools", history={"policy": "chat", "pages": keep})
        for number in range(steps):
            act(agent, page(f"page number {number}\n[4] link 'Cart'"))
    same = []
    for one, other in pairwise(server.bodies):
        shown = [
            number for number in range(steps) if f"page number {number}\n" in server.prompt(server.bodies.index(other))
        ]
        assert 1 <= len(shown) <= keep + 1
        assert shown == list(range(shown[0], shown[-1] + 1)), "the latest pages"
        same.append(other["messages"][: len(one["messages"])] == one["messages"])
    assert sum(same) >= {0: 0, 1: 1, 4: 7}[keep]


def test_latest_screenshots_are_kept(make: Make) -> None:
    with model_server([call("click", element="4")]) as server:
        keys = {"observation": {"kinds": ["accessibility_tree", "screenshot"]}}
        agent = make(server, reply="tools", history={"policy": "chat", "pages": 3, "images": 2}, **keys)
        for _ in range(6):
            act(agent, page(screenshot=JPEG))
    pictured = [json.dumps(body).count("data:image") for body in server.bodies]
    assert pictured == [1, 2, 3, 3, 3, 3]


@pytest.mark.exhaustive
def test_prompt_is_marked_for_the_cache(make: Make) -> None:
    marks: Callable[[dict[str, Any]], int] = lambda body: json.dumps(body).count("cache_control")  # noqa: E731
    with model_server([call("click", element="4")]) as server:
        chat = make(server, endpoint=at("anthropic"), **CHAT)
        for _ in range(5):
            act(chat)
        assert [marks(body) for body in server.bodies] == [2, 2, 3, 3, 3]  # the API allows four
        act(make(server, endpoint=at("anthropic"), reply="tools", history="actions"))
    assert marks(server.bodies[-1]) == 1
    assert "cache_control" in server.bodies[-1]["system"][-1]


@pytest.mark.parametrize("api", NATIVE)
def test_thoughts_are_recorded_apart(make: Make, api: str, tmp_path: Path) -> None:
    with model_server([calls(("click", {"element": "4"}), thought="SECRET PLAN", text="I click.")]) as server:
        reply = act(make(server, endpoint=at(api), **CHAT))
    (record,) = json.loads((tmp_path / "attempt" / reply.model_calls).read_text())["calls"]
    assert record["reply"]["thought"] == "SECRET PLAN"
    assert (reply.thought, "SECRET PLAN" in reply.raw) == ("I click.", False)


@pytest.mark.parametrize("api", NATIVE)
def test_thought_that_uses_up_the_limit_is_no_action(make: Make, api: str) -> None:
    with model_server([Answer(thought="Hm. " * 9, finish="length"), call("stop", answer="x")]) as server:
        reply = act(make(server, endpoint=at(api), sampling={"max_tokens": 400}, **CHAT))
    assert (reply.action, reply.retries) == (Stop("x"), 1)
    assert "The reply reached sampling.max_tokens (400)" in server.prompt()


@pytest.mark.parametrize("api", NATIVE)
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(refusal="Not this."), "filtered"),
        (Answer(finish="content_filter"), "filtered"),
        (Answer(status=400, raw=b'{"error": {"type": "x", "message": "prompt is too long: 9 tokens"}}'), "context"),
    ],
    ids=["refused", "filtered", "too long"],
)
def test_refusal_and_long_prompt_end_the_trial(make: Make, api: str, answer: Answer, reason: str) -> None:
    with model_server([answer]) as server:
        reply = act(make(server, endpoint=at(api), **CHAT))
    assert reply.ended is not None
    assert reply.ended[0] == reason
    assert server.requests == 1


def test_settings_that_an_api_lacks_are_refused_before_a_run(make: Make) -> None:
    from pytest_webarena.errors import UsageError

    with model_server([]) as server, pytest.raises(UsageError, match=r"mine.*no sampling\.temperature"):
        make(server, endpoint=at("anthropic"), sampling={"temperature": 0.5})
