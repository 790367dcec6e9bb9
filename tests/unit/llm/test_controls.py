"""Controls of model errors: whether an endpoint serves a short request, and then not the one that failed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.errors import ControlResult, ModelError
from pytest_webarena.llm.client import BudgetSpent, OutOfTime
from pytest_webarena.llm.controls import control_of, kinds_of
from pytest_webarena.llm.messages import COMPUTER, ComputerTool, Image, Message, Request, Sampling, Tool, ToolCall
from pytest_webarena.llm.retries import RetryPolicy
from tests.cases import each_case
from tests.model_server import Answer, fail, model_server, say
from tests.unit.llm.helpers import client_of, question

ONCE = RetryPolicy(attempts=1)


def control(answers: Sequence[Answer]) -> tuple[str, ControlResult, int]:
    """Ask a question, and run the control of its error. Returns the event, the result and the number of requests."""
    with model_server(answers) as server:
        with pytest.raises(ModelError) as raised:
            client_of(server, retries=ONCE).ask(question())
        assert raised.value.control is not None
        return raised.value.event, raised.value.control(), server.requests


@pytest.mark.parametrize(
    ("answers", "event", "result", "requests"),
    [
        ([fail(400), say("OK"), fail(400)], "refused_request", "recurs", 3),
        ([fail(422), say("OK"), fail(422)], "refused_request", "recurs", 3),
        ([fail(400), fail(400)], "refused_request", "fails", 2),  # it refuses everything
        ([fail(400), say("OK"), say("it is served now")], "refused_request", "works", 3),
        ([fail(500), say("OK"), fail(500)], "", "recurs", 3),
        ([fail(500), say("OK"), say("it is served now")], "", "works", 3),  # a passing failure
        ([fail(401), fail(401)], "model_access", "fails", 2),
        ([fail(429), say("OK"), fail(429)], "model_access", "recurs", 3),
        ([fail(429, code="insufficient_quota"), fail(429)], "model_access", "fails", 2),
    ],
)
def test_control_recurs_if_only_the_content_is_refused(
    answers: list[Answer], event: str, result: ControlResult, requests: int
) -> None:
    assert control(answers) == (event, result, requests)


@pytest.mark.parametrize("error", [BudgetSpent(1.0, 1.0), OutOfTime()], ids=["budget", "time"])
@pytest.mark.parametrize("second", [False, True], ids=["short request", "same request"])
def test_control_that_cannot_be_finished_shows_nothing(
    error: Exception, second: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server([fail(400)]) as server:
        client = client_of(server, retries=ONCE)
        with pytest.raises(ModelError) as raised:
            client.ask(question())
    results = iter([None, error] if second else [error])

    def ask(request: Request) -> None:
        if (result := next(results)) is not None:
            raise result

    monkeypatch.setattr(client, "ask", ask)
    assert raised.value.control is not None
    assert raised.value.control() == "impossible"


def test_control_keeps_the_settings_and_drops_the_content() -> None:
    tool = Tool(name="stop", description="Stop", parameters={"type": "object", "properties": {}})
    request = question("poison", sampling=Sampling(temperature=0.5, seed=7), tools=(tool,), extra={"top_k": 3})

    def reply(body: dict[str, Any]) -> Answer:
        return fail(400, "no poison") if "poison" in str(body["messages"]) else say("OK")

    with model_server(reply) as server:
        with pytest.raises(ModelError) as raised:
            client_of(server, retries=ONCE).ask(request)
        assert raised.value.control is not None
        assert raised.value.control() == "recurs"
        first, short, again = server.bodies
    assert first == again
    assert {**short, "messages": None} == {**first, "messages": None}
    assert short["messages"] != first["messages"]


SCREEN = Image(data=b"\x89PNG" + b"0" * 900, media_type="image/png", detail="original")
CLICK = ToolCall(id="call_a", name="click", arguments='{"id": "poison"}')
ACTION = {"type": "click", "x": 1, "y": 2}
COMPUTER_CALL = {"type": "computer_call", "id": "cu_a", "call_id": "call_a", "action": ACTION, "status": "completed"}
THOUGHT = {"type": "reasoning", "id": "rs_a", "encrypted_content": "signed", "summary": []}
BY_COMPUTER = replace(CLICK, name=COMPUTER)


def dialogue(*items: dict[str, Any], call: ToolCall | None = None, images: tuple[Image, ...] = ()) -> Request:
    """A task with a poisonous page, and an exchange if there is a call."""
    said = [
        Message(role="assistant", tool_calls=(call,), items=items),
        Message(role="tool", name=call.name, answers=call.id, text="poison", images=images),
    ] if call else []  # fmt: skip
    page = Message(role="user", text="poison", images=() if call else images)
    computer = ComputerTool(name="computer_use_preview", width=9, height=9) if call and call.name == COMPUTER else None
    tools = () if computer else (Tool(name="click", description="Click", parameters={"type": "object"}),)
    return Request(
        model="m", messages=(Message(role="system", text="Act."), page, *said), computer=computer, tools=tools
    )


def result_of(api: Any, request: Request, refuses: str, *, served: Request | None = None) -> str:
    """The control's result at an endpoint that refuses what contains a text, after a request that it served."""

    def reply(body: dict[str, Any]) -> Answer:
        return fail(400) if refuses in json.dumps(body) else say("OK")

    with model_server(reply) as server:
        client = client_of(server, retries=ONCE, api=api)
        if served is not None:
            client.ask(served)
        with pytest.raises(ModelError) as raised:
            client.ask(request)
        assert raised.value.event == "refused_request"
        assert raised.value.control is not None
        result: str = raised.value.control()
        return result


FORMS = {
    "chat image": ("chat", dialogue(images=(SCREEN,)), "image_url"),
    "image detail": ("responses", dialogue(images=(SCREEN,)), '"original"'),
    "system": ("chat", dialogue(), '"system"'),
    "chat result": ("chat", dialogue(call=CLICK), '"tool_call_id"'),
    "result": ("responses", dialogue(call=CLICK), "function_call_output"),
    "computer": ("responses", dialogue(COMPUTER_CALL, call=BY_COMPUTER, images=(SCREEN,)), "computer_call_output"),
}


@each_case("name", FORMS)
def test_control_has_the_form_of_the_request(name: str) -> None:
    api, request, form = FORMS[name]
    assert kinds_of(control_of(request)) == kinds_of(request)
    assert "poison" not in str(control_of(request))
    assert len(str(control_of(request))) < 4000
    assert result_of(api, request, form) == "fails"
    assert result_of(api, request, "poison") == "recurs"


def test_form_that_cannot_be_made_decides_only_if_it_was_served_before() -> None:
    signed = dialogue(THOUGHT, COMPUTER_CALL, call=BY_COMPUTER, images=(SCREEN,))
    messages = tuple(replace(each, text="") for each in signed.messages)
    harmless = replace(signed, messages=messages)
    assert result_of("responses", signed, '"encrypted_content"') == "impossible"
    assert result_of("responses", signed, "poison") == "impossible"
    assert result_of("responses", signed, "poison", served=harmless) == "recurs"
    assert result_of("responses", signed, "computer_use_preview") == "fails"


def test_control_repeats_each_kind_of_exchange_once() -> None:
    request, items = dialogue(call=CLICK), dialogue(COMPUTER_CALL, call=BY_COMPUTER)
    for one in (request, items):
        again = dialogue(*({**each, "call_id": "b"} for each in one.messages[2].items), call=replace(
            one.messages[2].tool_calls[0], id="b", arguments="poison"
        ))  # fmt: skip
        many = replace(one, messages=(*one.messages, *again.messages[2:]))
        assert control_of(many) == control_of(one)
        results = replace(one, messages=(*one.messages, again.messages[3]))
        assert control_of(results) == control_of(one)
