"""Anthropic's and Google's APIs by their own SDKs: requests, replies, usage, faults."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import ModelError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.apis import APIS
from pytest_webarena.llm.client import ModelRefused, RequestRejected
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.messages import Image, Message, ModelReply, Request, Sampling, Schema, Tool
from pytest_webarena.llm.model_calls import read_model_calls
from pytest_webarena.llm.retries import RetryPolicy
from tests.cases import each_case
from tests.model_server import Answer, model_server, say
from tests.native_apis import (
    SIGNATURE,
    anthropic_error,
    anthropic_events,
    check_body,
    google_error,
    google_events,
)

from .helpers import FakeClock, client_of, question

PRICES = "models: {priced: {input: 10, output: 100, cached_input: 1, cache_write: 12.5, cache_write_1h: 20}}\n"
TOOL = Tool(name="click", description="Click.", parameters={"type": "object", "properties": {"id": {"type": "string"}}})
NATIVE = pytest.mark.parametrize("api", ["anthropic", "google"])
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


def two_calls(**rest: Any) -> Answer:
    calls = (("click", '{"id": "4"}'), ("click", '{"id": "5"}'))
    return Answer(text="I click.", thought="Which?", calls=calls, finish="tool_calls", **rest)


def test_collecting_these_tests_imports_no_sdk() -> None:
    """Each worker of the suite collects all tests; the SDKs take a third of that time."""
    code = (
        "import sys, tests.native_apis; print([name for name in ('anthropic', 'google.genai') if name in sys.modules])"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@NATIVE
@STREAM
def test_reply_has_text_thought_and_calls_in_order(api: Any, stream: bool) -> None:
    with model_server([two_calls()]) as server:
        reply = client_of(server, api=api, stream=stream).ask(question(tools=(TOOL,)))
    assert (reply.text, reply.thought) == ("I click.", "Which?")
    assert [(call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        ("click", {"id": "4"}),
        ("click", {"id": "5"}),
    ]
    assert not reply.is_cut
    assert "Which?" not in reply.text_without_thought
    check_body(api, server.bodies[0])


@NATIVE
@STREAM
def test_output_is_sent_back_as_received_with_the_results_of_its_calls(api: Any, stream: bool) -> None:
    with model_server([two_calls()]) as server:
        client = client_of(server, api=api, stream=stream)
        reply = client.ask(question(tools=(TOOL,)))
        results = [Message(role="tool", name="click", answers=each.id, text="Done.") for each in reply.tool_calls]
        said = Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls, items=reply.items)
        page = Message(role="user", text="a page", images=(Image(data=b"\xff\xd8\xff"),))
        head = (Message(role="system", text="Be brief."), Message(role="user", text="Go."))
        client.ask(Request(model="priced", messages=(*head, said, *results, page), tools=(TOOL,)))
    body = server.bodies[1]
    check_body(api, body)
    assert SIGNATURE in json.dumps(body)
    if api == "anthropic":
        assert [block["type"] for block in body["messages"][1]["content"]] == [
            "thinking",
            "text",
            "tool_use",
            "tool_use",
        ]
        answers = body["messages"][2]["content"]
        assert [block["type"] for block in answers] == ["tool_result", "tool_result", "text", "image"]
        assert [block["tool_use_id"] for block in answers[:2]] == ["toolu_0", "toolu_1"]
        assert body["system"] == [{"type": "text", "text": "Be brief."}]
    else:
        assert body["contents"][1]["parts"][:2] == [
            {"text": "Which?", "thought": True},
            {"text": "I click.", "thoughtSignature": SIGNATURE},
        ]
        assert [part["functionResponse"]["name"] for part in body["contents"][2]["parts"]] == ["click", "click"]
        assert [list(part) for part in body["contents"][3]["parts"]] == [["text"], ["inlineData"]]
        assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}


@each_case(
    ("api", "sampling", "expected"),
    [
        (
            "anthropic",
            Sampling(thinking_tokens=2048),
            {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 10240},
        ),
        ("anthropic", Sampling(thinking_tokens=0, max_tokens=50), {"thinking": {"type": "disabled"}, "max_tokens": 50}),
        (
            "anthropic",
            Sampling(reasoning_effort="low"),
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
        ("anthropic", Sampling(stop=("x",)), {"stop_sequences": ["x"], "max_tokens": 8192}),
        (
            "google",
            Sampling(thinking_tokens=512),
            {"generationConfig": {"thinkingConfig": {"thinkingBudget": 512, "includeThoughts": True}}},
        ),
        (
            "google",
            Sampling(reasoning_effort="low"),
            {"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW", "includeThoughts": True}}},
        ),
        (
            "google",
            Sampling(thinking_tokens=0, temperature=0.5, top_p=0.9, max_tokens=50, seed=7, stop=("x",)),
            {
                "generationConfig": {
                    "temperature": 0.5,
                    "topP": 0.9,
                    "maxOutputTokens": 50,
                    "seed": 7,
                    "stopSequences": ["x"],
                    "thinkingConfig": {"thinkingBudget": 0, "includeThoughts": False},
                }
            },
        ),
    ],
)
def test_sampling_is_sent_in_the_words_of_the_api(api: Any, sampling: Sampling, expected: dict[str, Any]) -> None:
    body = APIS[api].body(question(sampling=sampling))
    assert {name: body[name] for name in expected} == expected
    check_body(api, {name: value for name, value in body.items() if api == "anthropic" or name != "model"})
    assert APIS[api].problem(sampling) == ""


@each_case(
    ("api", "sampling", "problem"),
    [
        ("anthropic", Sampling(temperature=1.0), "no sampling.temperature"),
        ("anthropic", Sampling(seed=1), "no sampling.seed"),
        ("anthropic", Sampling(thinking_tokens=500), "at least 1024, found 500"),
        ("anthropic", Sampling(thinking_tokens=4096, max_tokens=4096), "expected more than thinking_tokens"),
        ("anthropic", Sampling(thinking_tokens=4096, reasoning_effort="low"), "found both"),
        ("google", Sampling(thinking_tokens=4096, reasoning_effort="low"), "found both"),
        ("chat", Sampling(thinking_tokens=4096), "use sampling.reasoning_effort"),
        ("responses", Sampling(thinking_tokens=4096), "use sampling.reasoning_effort"),
    ],
)
def test_settings_that_an_api_lacks_are_reported(api: Any, sampling: Sampling, problem: str) -> None:
    assert problem in APIS[api].problem(sampling)


def test_prompt_is_cached_up_to_the_marked_messages() -> None:
    messages = (
        Message(role="system", text="long", cache=True),
        Message(role="user", text="one"),
        Message(role="assistant", text="two", cache=True),
        Message(role="user", text="three", cache=True),
    )
    body = APIS["anthropic"].body(Request(model="m", messages=messages))
    check_body("anthropic", body)
    marked = [block["text"] for block in _blocks(body) if "cache_control" in block]
    assert marked == ["long", "two", "three"]


def _blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [*body["system"], *(block for message in body["messages"] for block in message["content"])]


@NATIVE
def test_schema_and_extra_keys_are_sent(api: Any) -> None:
    schema = Schema(name="x", schema={"type": "object", "properties": {}})
    extra = (
        {"service_tier": "auto"}
        if api == "anthropic"
        else {"generationConfig": {"mediaResolution": "MEDIA_RESOLUTION_LOW"}}
    )
    body = APIS[api].body(question(schema=schema, extra=extra, sampling=Sampling(max_tokens=9)))
    if api == "anthropic":
        assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema.schema}}
        assert body["service_tier"] == "auto"
    else:
        assert body["generationConfig"] == {
            "maxOutputTokens": 9,
            "responseMimeType": "application/json",
            "responseJsonSchema": schema.schema,
            "mediaResolution": "MEDIA_RESOLUTION_LOW",
        }


# --- usage ------------------------------------------------------------------------------------------------------------

ANTHROPIC_USAGE: list[tuple[Any, float | None, Usage]] = [
    ({"input_tokens": 1000, "output_tokens": 100}, 0.02, Usage(calls=1, input_tokens=1000, output_tokens=100)),
    (
        {
            "input_tokens": 100,
            "cache_read_input_tokens": 800,
            "cache_creation_input_tokens": 100,
            "output_tokens": 100,
            "output_tokens_details": {"thinking_tokens": 60},
        },
        0.001 + 0.0008 + 0.00125 + 0.01,
        Usage(
            calls=1,
            input_tokens=1000,
            cached_input_tokens=800,
            cache_write_tokens=100,
            output_tokens=100,
            reasoning_tokens=60,
        ),
    ),
    (
        {
            "input_tokens": 0,
            "cache_read_input_tokens": None,
            "cache_creation_input_tokens": 1000,
            "output_tokens": 100,
            "cache_creation": {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 600},
        },
        0.005 + 0.012 + 0.01,
        Usage(calls=1, input_tokens=1000, cache_write_tokens=1000, cache_write_1h_tokens=600, output_tokens=100),
    ),
]
GOOGLE_USAGE: list[tuple[Any, float | None, Usage]] = [
    (
        {"promptTokenCount": 1000, "candidatesTokenCount": 100, "totalTokenCount": 1100},
        0.02,
        Usage(calls=1, input_tokens=1000, output_tokens=100),
    ),
    (
        {
            "promptTokenCount": 1000,
            "cachedContentTokenCount": 800,
            "candidatesTokenCount": 40,
            "thoughtsTokenCount": 60,
            "toolUsePromptTokenCount": 100,
            "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 800}],
        },
        0.003 + 0.0008 + 0.01,
        Usage(calls=1, input_tokens=1100, cached_input_tokens=800, output_tokens=100, reasoning_tokens=60),
    ),
    (
        {"promptTokenCount": 1000, "thoughtsTokenCount": 100},
        0.02,
        Usage(calls=1, input_tokens=1000, output_tokens=100, reasoning_tokens=100),
    ),
]
IMPOSSIBLE: list[tuple[str, Any]] = [
    ("anthropic", None),
    ("anthropic", {"input_tokens": 10, "output_tokens": 2, "output_tokens_details": {"thinking_tokens": 3}}),
    ("anthropic", {"input_tokens": 10, "output_tokens": 2, "cache_creation": {"ephemeral_1h_input_tokens": 3}}),
    ("anthropic", {"input_tokens": -10, "output_tokens": 2}),
    ("anthropic", {"input_tokens": 0, "output_tokens": 2}),
    ("anthropic", "many"),
    ("google", None),
    ("google", {"promptTokenCount": 10, "cachedContentTokenCount": 11}),
    ("google", {"promptTokenCount": 0, "candidatesTokenCount": 2}),
    ("google", {"promptTokenCount": "ten"}),
]


@pytest.fixture
def settings(tmp_path: Path) -> ModelSettings:
    (tmp_path / "prices.yaml").write_text(PRICES)
    return ModelSettings(calls=tmp_path / "model-calls.sqlite", prices=tmp_path / "prices.yaml")


@NATIVE
@STREAM
def test_tokens_and_cost_are_those_of_the_endpoint(settings: ModelSettings, api: Any, stream: bool) -> None:
    cases = ANTHROPIC_USAGE if api == "anthropic" else GOOGLE_USAGE
    total = Usage()
    for counts, cost, expected in cases:
        with model_server([say("well", usage=counts)]) as server:
            usage = client_of(server, api=api, stream=stream, settings=settings).ask(question()).usage
        assert usage.cost == pytest.approx(cost, abs=1e-12)
        assert replace(usage, cost=0.0) == expected
        total += usage
    assert settings.calls is not None
    (line,) = read_model_calls(settings.calls)
    assert line.usage.cost == pytest.approx(total.cost, abs=1e-9)
    assert replace(line.usage, cost=total.cost) == total


@each_case(("api", "counts"), IMPOSSIBLE)
def test_impossible_counts_are_unknown_never_zero(api: Any, counts: Any) -> None:
    with model_server([say("well", usage=counts, hostile=True)]) as server:
        usage = client_of(server, api=api).ask(question()).usage
    assert (usage.cost, usage.untold_calls) == (None, 1)


def test_cost_is_unknown_without_a_price_of_cache_writes(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("models: {priced: {input: 10, output: 100}}\n")
    with model_server([say("well", usage=ANTHROPIC_USAGE[1][0])]) as server:
        client = client_of(server, api="anthropic", settings=ModelSettings(prices=tmp_path / "prices.yaml"))
        assert client.ask(question()).usage.cost is None


# --- ends and faults --------------------------------------------------------------------------------------------------

Ended = Callable[[ModelReply], bool]
ENDS: list[tuple[str, Answer, Ended]] = [
    ("both", say("half", finish="length"), lambda reply: reply.cut_by == "length"),
    ("both", Answer(thought="hm", finish="length"), lambda reply: reply.cut_by == "length" and reply.is_empty),
    ("both", Answer(finish="content_filter"), lambda reply: reply.cut_by == "filtered"),
    ("both", Answer(refusal="I won't."), lambda reply: reply.cut_by == "filtered"),
    ("both", Answer(finish="stop"), lambda reply: reply.is_empty and not reply.is_cut),
    (
        "both",
        Answer(calls=(("click", "{oh"),), finish="tool_calls", hostile=True),
        lambda reply: reply.tool_calls[0].arguments == "{oh",
    ),
    ("anthropic", Answer(text="half", finish="model_context_window_exceeded"), lambda reply: reply.cut_by == "context"),
    ("google", Answer(finish="MALFORMED_FUNCTION_CALL"), lambda reply: reply.is_malformed),
    ("google", Answer(finish="UNEXPECTED_TOOL_CALL"), lambda reply: reply.is_malformed),
    ("google", Answer(finish="TOO_MANY_TOOL_CALLS", hostile=True), lambda reply: reply.is_malformed),
    ("google", Answer(finish="RECITATION"), lambda reply: reply.cut_by == "filtered"),
    ("google", Answer(finish="PROHIBITED_CONTENT"), lambda reply: reply.cut_by == "filtered"),
    ("google", Answer(text="half", finish="CONTINUATION", hostile=True), lambda reply: reply.cut_by == "length"),
]


@each_case(("apis", "answer", "is_right"), ENDS)
def test_end_of_a_reply_is_named(apis: str, answer: Answer, is_right: Ended) -> None:
    for api in ("anthropic", "google") if apis == "both" else (apis,):
        for stream in (False, True):
            with model_server([answer]) as server:
                reply = client_of(server, api=api, stream=stream).ask(question())
            assert server.requests == 1
            assert is_right(reply), (api, stream, reply)


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
TRANSIENT: list[tuple[str, Answer, float | None]] = [
    ("anthropic", anthropic_error(429, "rate_limit_error", "slow down", retry_after="34.5"), 34.5),
    ("anthropic", anthropic_error(529, "overloaded_error", "Overloaded"), None),
    ("anthropic", anthropic_error(500, "api_error", "oops"), None),
    ("anthropic", anthropic_error(504, "timeout_error", "late"), None),
    (
        "anthropic",
        Answer(raw=b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'),
        None,
    ),
    ("google", google_error(429, "RESOURCE_EXHAUSTED", "quota", RETRY_INFO), 34.5),
    ("google", google_error(503, "UNAVAILABLE", "overloaded"), None),
    ("google", google_error(500, "INTERNAL", "oops"), None),
    ("google", Answer(raw=b'{"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}'), None),
    ("google", Answer(raw=b'[{"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}]'), None),
    ("google", Answer(finish="OTHER"), None),
    *[(api, Answer(text="half a reply", cut=True), None) for api in ("anthropic", "google")],
    *[(api, Answer(raw=b"certainly! {"), None) for api in ("anthropic", "google")],
    *[(api, Answer(status=502, raw=b"<html>bad gateway</html>"), None) for api in ("anthropic", "google")],
    *[(api, Answer(raw=b"{}"), None) for api in ("anthropic", "google")],
    *[
        (api, Answer(raw=b'{"content": [1], "candidates": [{"content": {"parts": [{"odd": 1}]}}]}'), None)
        for api in ("anthropic", "google")
    ],
]


@each_case(("api", "fault", "wait"), TRANSIENT)
def test_fault_that_may_pass_is_retried_once_by_us_only(api: Any, fault: Answer, wait: float | None) -> None:
    for stream in (False, True):
        clock = FakeClock()
        with model_server([fault, say("well")]) as server:
            assert client_of(server, clock=clock, api=api, stream=stream).ask(question()).text == "well"
        assert server.requests == 2
        assert len(clock.waits) == 1
        if wait is not None:
            assert wait <= clock.waits[0] <= wait + 1


@each_case(
    ("api", "fault", "rejection"),
    [
        (
            "anthropic",
            anthropic_error(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
            "context",
        ),
        ("anthropic", anthropic_error(413, "request_too_large", "Request exceeds the maximum size"), "context"),
        ("anthropic", anthropic_error(400, "invalid_request_error", "messages.0: unexpected role"), ""),
        ("anthropic", anthropic_error(401, "authentication_error", "invalid bearer token"), ""),
        ("anthropic", anthropic_error(429, "rate_limit_error", "no credit", x_should_retry="false"), ""),
        (
            "google",
            google_error(
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            ),
            "context",
        ),
        ("google", google_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), ""),
        ("google", google_error(404, "NOT_FOUND", "models/x is not found"), ""),
    ],
)
def test_refused_request_is_not_retried(api: Any, fault: Answer, rejection: str) -> None:
    with model_server([fault]) as server, pytest.raises(ModelRefused) as caught:
        client_of(server, api=api).ask(question())
    assert server.requests == 1
    assert (caught.value.rejection if isinstance(caught.value, RequestRejected) else "") == rejection


@NATIVE
def test_cut_stream_costs_at_least_what_it_reported(settings: ModelSettings, api: Any) -> None:
    counts = ANTHROPIC_USAGE[1][0] if api == "anthropic" else GOOGLE_USAGE[1][0]
    with model_server([say("half a reply" * 99, thought="hm", usage=counts, cut=True)]) as server:
        client = client_of(server, api=api, stream=True, settings=settings, retries=RetryPolicy(attempts=1))
        with pytest.raises(ModelError, match="gave up after 1 request"):
            client.ask(question())
    used = client.take_usage()
    assert (used.calls, used.untold_calls) == (0, 1)
    assert used.cached_input_tokens == 800


@NATIVE
def test_stream_without_its_end_is_no_reply(api: Any) -> None:
    *events, _ = (anthropic_events if api == "anthropic" else google_events)(say("half a reply"))
    part = Answer(raw=b"".join(events), headers={"Content-Type": "text/event-stream"})
    with model_server([part, say("well")]) as server:
        client = client_of(server, api=api, stream=True)
        assert client.ask(question()).text == "well"
    assert server.requests == 2


def test_error_within_a_stream_is_a_fault_with_the_usage_so_far(settings: ModelSettings) -> None:
    def script(body: dict[str, Any]) -> Answer:
        start = {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 70, "output_tokens": 1}}}
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        lines = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in (start, error))
        return Answer(raw=lines.encode(), headers={"Content-Type": "text/event-stream"})

    with model_server([script, say("well")]) as server:
        client = client_of(server, api="anthropic", stream=True, settings=settings)
        assert client.ask(question()).text == "well"
    used = client.take_usage()
    assert (used.calls, used.untold_calls, used.input_tokens) == (1, 1, 1070)
