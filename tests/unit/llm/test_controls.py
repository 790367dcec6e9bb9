"""Controls of model errors: whether an endpoint serves a short request, and then not the one that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_webarena.errors import ControlResult, ModelError
from pytest_webarena.llm.client import BudgetSpent, OutOfTime
from pytest_webarena.llm.messages import Request, Sampling, Tool
from pytest_webarena.llm.retries import RetryPolicy
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
