"""Faults of an endpoint: each is retried or becomes an error with the cause ``model``."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_webarena.errors import ModelError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.client import ModelClient, ModelRefused, OutOfTime, connect
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.messages import Schema
from pytest_webarena.llm.retries import RetryPolicy, retry_after
from tests.cases import each_case
from tests.model_server import Answer, cut_stream, drip, fail, model_server, say
from tests.unit.llm.helpers import FakeClock, client_of, prices, question

TRANSIENT: dict[str, Answer] = {
    "429 without Retry-After": fail(429),
    "429 with Retry-After": fail(429, headers={"Retry-After": "7"}),
    "408": fail(408),
    "500": fail(500),
    "502 with HTML": Answer(status=502, raw=b"<html>bad gateway</html>"),
    "503 with a date": fail(503, headers={"Retry-After": "Thu, 01 Jan 1970 00:16:45 GMT"}),
    "slow": Answer(hang=True),
    "dripping": drip(),
    "cut": cut_stream(),
    "no JSON": Answer(raw=b"certainly! {"),
    "a JSON list": Answer(raw=b"[]"),
    "no choices": Answer(raw=b'{"choices": [], "output": []}'),
    "an empty choice": Answer(raw=b'{"choices": [{}], "output": [{}]}'),
    "an empty message without a finish reason": Answer(text="", finish="", usage=None),
    "an error in a 200": Answer(raw=b'{"error": {"message": "upstream overloaded", "code": 502}}'),
    "nothing": Answer(raw=b""),
    "endless brackets": Answer(raw=b"[" * 300_000),
    "JSON of many levels": Answer(raw=b'{"choices": ' + b"[" * 400 + b"]" * 400 + b"}"),
    "another shape": Answer(raw=b'{"choices": [{"message": {"tool_calls": 1}}], "output": ["x"]}'),
}
BOTH = pytest.mark.parametrize("api", ["chat", "responses"])
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest.mark.matrix(20)
@pytest.mark.parametrize("fault", TRANSIENT.values(), ids=list(TRANSIENT))
@BOTH
@STREAM
def test_transient_fault_is_retried(fault: Answer, api: Any, stream: bool) -> None:
    with model_server([fault, say("well")]) as server:
        clock = FakeClock()
        client = client_of(server, clock=clock, api=api, stream=stream, timeout=1.0 if fault.hang else 30.0)
        if fault.drip:
            client = client_of(server, api=api, stream=stream, timeout=1.0, clock=_Real())
        assert client.ask(question()).text == "well"
        assert server.requests == 2
        if fault.headers:
            (wait,) = clock.waits
            assert 5.0 <= wait <= 8.0  # as asked for, plus a jitter of at most a second


@pytest.mark.matrix(5)
@pytest.mark.parametrize("fault", TRANSIENT.values(), ids=list(TRANSIENT))
def test_permanent_fault_is_a_model_error(fault: Answer) -> None:
    with model_server([fault]) as server:
        clock = _Real() if fault.drip else FakeClock()
        retries = RetryPolicy(attempts=3, first=0.01 if fault.drip else 1.0)
        client = client_of(server, clock=clock, retries=retries, timeout=0.2 if fault.hang or fault.drip else 30.0)
        with pytest.raises(ModelError, match=r"model priced at http://.*gave up after 3 requests") as caught:
            client.ask(question())
        assert (caught.value.cause, caught.value.again, server.requests) == ("model", True, 3)


class _Real(FakeClock):
    """Real time, without real waits."""

    def now(self) -> float:
        return time.time()


@each_case(
    ("fault", "message"),
    [
        (fail(401, "Incorrect API key"), "refused the request: HTTP 401: Incorrect API key"),
        (fail(404, "no such model"), "HTTP 404: no such model"),
        (fail(400, "context_length_exceeded"), "HTTP 400: context_length"),
        (fail(429, "quota", code="insufficient_quota"), "HTTP 429: quota"),
        (fail(501, "Unsupported method"), "HTTP 501: Unsupported method"),
        (
            Answer(
                status=404, raw=b"<!DOCTYPE html><html><head><title>x</title></head><p>Not\n <b>here</b> &amp; no.</p>"
            ),
            "HTTP 404: a page of HTML: Not here & no.$",
        ),
    ],
)
def test_refused_request_is_not_retried(fault: Answer, message: str) -> None:
    with model_server([fault]) as server, pytest.raises(ModelRefused, match=message) as caught:
        client_of(server).ask(question())
    assert (caught.value.cause, caught.value.again, server.requests) == ("model", False, 1)


def test_unreachable_endpoint_is_a_model_error() -> None:
    with socket.socket() as unused, model_server([say("x")]) as server:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: the port is reserved and refuses connections
        clock = FakeClock()
        client = client_of(server, clock=clock, base_url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        with pytest.raises(ModelError, match=r"gave up after 6 requests in .* the connection failed"):
            client.ask(question())
    assert len(clock.waits) == 5


def test_connect_accepts_any_response() -> None:
    with socket.socket() as unused, model_server([say("x")]) as server:
        connect(Endpoint(base_url=server.url, key_env=None), "m")  # it knows no lists of models: 501
        unused.bind(("127.0.0.1", 0))
        clock, url = FakeClock(), f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with pytest.raises(ModelError, match=rf"^model m at {url}: expected an answer, found: .*refused"):
            connect(Endpoint(base_url=url, key_env=None), "m", clock=clock)
    assert clock.waits == [1.0]
    assert server.requests == 0


def test_waiting_for_an_endpoint_is_reported() -> None:
    events: list[str] = []

    @contextmanager
    def waiting(what: str) -> Iterator[None]:
        events.append(what)
        yield
        events.append("over")

    with model_server([say("at once"), fail(500, "sick"), fail(500, "sick"), say("better")]) as server:
        endpoint = Endpoint(base_url=server.url, key_env=None)
        client = ModelClient(endpoint, ModelSettings(), trial="t", clock=FakeClock(), waiting=waiting)
        assert client.ask(question()).text == "at once"
        assert events == []
        assert client.ask(question()).text == "better"
    assert events == ["model priced after a failure: HTTP 500: sick", "over"]


def test_retry_waits_grow_up_to_a_limit() -> None:
    with model_server([fail(500)]) as server:
        clock = FakeClock()
        with pytest.raises(ModelError):
            client_of(server, clock=clock, retries=RetryPolicy(attempts=9, longest=10.0)).ask(question())
    ceilings = [1, 2, 4, 8, 10, 10, 10, 10]
    assert all(0 <= wait <= ceiling for wait, ceiling in zip(clock.waits, ceilings, strict=True))
    assert len(set(clock.waits)) == 8  # jitter


def test_too_long_retry_after_is_not_awaited() -> None:
    with model_server([fail(429, headers={"Retry-After": "86400"})]) as server:
        clock = FakeClock()
        with pytest.raises(ModelError, match="gave up after 1 request in"):
            client_of(server, clock=clock).ask(question())
    assert clock.waits == []


def test_retry_wait_never_exceeds_the_deadline() -> None:
    with model_server([fail(429, headers={"Retry-After": "60"}), say("late")]) as server:
        clock = FakeClock()
        with pytest.raises(ModelError, match="gave up"):
            client_of(server, clock=clock).ask(question(), deadline=clock.time + 30)
        assert (server.requests, clock.waits) == (1, [])


def test_slow_model_at_the_end_of_the_trial_is_out_of_time() -> None:
    with model_server([Answer(hang=True)]) as server:
        clock = _Real()
        with pytest.raises(OutOfTime):
            client_of(server, clock=clock, timeout=60.0).ask(question(), deadline=clock.now() + 1.0)
        assert server.requests == 1


def test_a_cancelled_client_sends_nothing() -> None:
    with model_server([say("x")]) as server:
        client = client_of(server)
        client.cancel()
        with pytest.raises(OutOfTime):
            client.ask(question())
        assert server.requests == 0


@BOTH
@STREAM
def test_long_reply_with_non_ascii_text_is_read_whole(api: Any, stream: bool) -> None:
    text = "żółć 漢字 🦊 \u2028 \x00 " + "x" * 1_000_000
    with model_server([say(text)]) as server:
        reply = client_of(server, api=api, stream=stream).ask(question())
    assert reply.text == text
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.model) == (1000, 100, "scripted-1")


def test_reply_beyond_the_size_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_webarena.llm.transport.LARGEST_ANSWER", 10_000)
    with model_server([say("x" * 20_000)]) as server, pytest.raises(ModelRefused, match="more than 10000 bytes"):
        client_of(server).ask(question())


@BOTH
@STREAM
def test_tool_calls_and_refusals_are_read(api: Any, stream: bool) -> None:
    calls = tuple((f"tool{n}", f'{{"n": {n}}}') for n in range(10))
    with model_server([Answer(calls=calls, finish="tool_calls")]) as server:
        reply = client_of(server, api=api, stream=stream).ask(question())
    assert [(one.name, one.arguments) for one in reply.tool_calls] == list(calls)
    assert len({one.id for one in reply.tool_calls}) == 10
    with model_server([Answer(refusal="I'd rather not")]) as server:
        assert client_of(server, api=api, stream=stream).ask(question()).refusal == "I'd rather not"


@BOTH
def test_request_falls_back_without_structured_outputs(api: Any) -> None:
    key: Literal["response_format", "text"] = "response_format" if api == "chat" else "text"

    def model(body: dict[str, Any]) -> Answer:
        return fail(400, "json_schema is not supported") if key in body else say("{}")

    with model_server(model) as server:
        client = client_of(server, api=api)
        schema = Schema(name="s", schema={"type": "object"})
        assert client.ask(question(schema=schema)).text == client.ask(question(schema=schema)).text == "{}"
    assert [key in body for body in server.bodies] == [True, False, False]


@each_case(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 20.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_parsed_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=40.0) == seconds


@each_case("api", ["chat", "responses"])
@each_case("count", [-10, 2**70, 10**4000], ids=["negative", "huge", "endless"])
def test_impossible_token_counts_are_ignored(api: Any, count: int) -> None:
    with model_server([say("well", usage=(count, 5))]) as server:
        reply = client_of(server, api=api).ask(question())
        assert (reply.text, reply.usage) == ("well", Usage(calls=1, untold_calls=1, cost=None))


@pytest.mark.matrix(12)
@BOTH
@STREAM
@pytest.mark.parametrize(
    "usage",
    [
        {"sent": "many", "got": None},
        {"sent": "many", "got": 10**9},
        {"sent": 1.5, "got": True},
        {"sent": 1e300, "got": 10},
        {"sent": float("nan"), "got": 10},
        {"sent": float("inf"), "got": 10},
        {"sent": 10},
        {"total_tokens": 10},
        {"sent": 10, "got": 1, "sent_details": {"cached_tokens": 11}},
        {"sent": 10, "got": 1, "sent_details": {"cached_tokens": "all"}},
        {"sent": 10, "got": 1, "sent_details": [3]},
        {"sent": 10, "got": 1, "got_details": {"reasoning_tokens": 2}},
        {"sent": 10, "got": 1, "got_details": {"reasoning_tokens": -2}},
        [10, 1],
    ],
    ids=str,
)
def test_malformed_token_counts_are_unknown(tmp_path: Path, api: Any, stream: bool, usage: Any) -> None:
    settings = ModelSettings(prices=prices(tmp_path))
    with model_server([say("well", usage=_named(usage, api))]) as server:
        reply = client_of(server, api=api, stream=stream, settings=settings).ask(question())
        assert (reply.text, reply.usage) == ("well", Usage(calls=1, untold_calls=1, cost=None))


@BOTH
@pytest.mark.parametrize(
    ("usage", "used"),
    [
        ({"sent": 10, "got": 1}, (10, 0, 1, 0)),
        ({"sent": 10.0, "got": 1.0}, (10, 0, 1, 0)),
        ({"sent": 10, "got": 0, "sent_details": None, "got_details": {}}, (10, 0, 0, 0)),
        ({"sent": 10, "got": 5, "sent_details": {"cached_tokens": None}}, (10, 0, 5, 0)),
        (
            {
                "sent": 10,
                "got": 5,
                "sent_details": {"cached_tokens": 10},
                "got_details": {"reasoning_tokens": 5},
            },
            (10, 10, 5, 5),
        ),
    ],
    ids=str,
)
def test_token_counts_are_read_in_every_form(api: Any, usage: dict[str, Any], used: tuple[int, ...]) -> None:
    with model_server([say("well", usage=_named(usage, api))]) as server:
        counted = client_of(server, api=api).ask(question("x", "local")).usage
    assert (counted.input_tokens, counted.cached_input_tokens, counted.output_tokens, counted.reasoning_tokens) == used


def _named(usage: Any, api: str) -> Any:
    """Return counts with the field names of the API."""
    names = {"chat": ("prompt_tokens", "completion_tokens"), "responses": ("input_tokens", "output_tokens")}[api]
    sent, got = names
    named = {"sent": sent, "got": got, "sent_details": f"{sent}_details", "got_details": f"{got}_details"}
    return {named.get(name, name): count for name, count in usage.items()} if isinstance(usage, dict) else usage


def _choice(index: int, text: str, part: str) -> dict[str, Any]:
    return {"index": index, part: {"role": "assistant", "content": text}, "finish_reason": "stop"}


def _stream(*events: list[dict[str, Any]]) -> Answer:
    body = "".join(f"data: {json.dumps({'id': 'x', 'model': 'm', 'choices': choices})}\n\n" for choices in events)
    return Answer(raw=body.encode() + b"data: [DONE]\n\n", headers={"Content-Type": "text/event-stream"})


@pytest.mark.parametrize(
    "answer",
    [
        Answer(raw=json.dumps({"choices": [_choice(1, "no", "message"), _choice(0, "yes", "message")]}).encode()),
        _stream([_choice(1, "no", "delta")], [_choice(0, "yes", "delta")]),
        _stream([_choice(1, "no", "delta"), _choice(0, "yes", "delta")]),
    ],
    ids=["whole", "stream", "stream in one piece"],
)
def test_reply_with_several_choices_is_retried(answer: Answer) -> None:
    with model_server([answer, say("well")]) as server:
        assert client_of(server).ask(question()).text == "well"
        assert server.requests == 2
    with model_server([answer]) as server, pytest.raises(ModelError, match=r"another shape .*expected one choice"):
        client_of(server).ask(question())


@BOTH
def test_lone_surrogate_in_a_prompt_is_replaced(api: Any) -> None:
    with model_server([say("well")]) as server:
        assert client_of(server, api=api).ask(question("poor\ud800 rich 🦊")).text == "well"
        assert "poor\ufffd rich 🦊" in json.dumps(server.bodies[0], ensure_ascii=False)
