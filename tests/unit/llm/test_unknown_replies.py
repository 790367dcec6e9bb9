"""Replies without known content: the error names what they contain."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_webarena.llm.api import EmptyReply
from pytest_webarena.llm.apis import APIS
from tests.cases import each_case
from tests.model_server import Answer, model_server
from tests.unit.llm.helpers import client_of, question


@each_case(
    ("api", "data", "message"),
    [
        ("responses", {"output": [{"type": "reasoning"}, {"type": "web_search_call"}]}, "reasoning, web_search_call"),
        ("responses", {"output": [{"type": "custom_tool_call", "input": "x"}]}, "found custom_tool_call"),
        ("responses", {"output": []}, "is known here"),
        ("chat", {"reasoning_content": "hm", "audio": {"id": "a"}}, "found audio, reasoning_content"),
        ("chat", {"tool_calls": [{"type": "custom", "custom": {"name": "x"}}]}, "of the type 'custom'"),
        ("chat", {"content": ""}, "a message without content"),
    ],
)
def test_error_names_the_unknown_content(api: Any, data: dict[str, Any], message: str) -> None:
    whole = data if api == "responses" else {"choices": [{"message": {"role": "assistant", **data}}]}
    with pytest.raises(EmptyReply, match=message):
        APIS[api].parse(whole)


def test_arguments_as_object_and_content_as_parts_are_read() -> None:
    called = {"tool_calls": [{"id": "1", "function": {"name": "stop", "arguments": {"answer": "B"}}}]}
    parts = {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "click"}]}
    chat = [APIS["chat"].parse({"choices": [{"message": each}]}) for each in (called, parts)]
    item = {"type": "function_call", "call_id": "1", "name": "stop", "arguments": {"answer": "B"}}
    other = APIS["responses"].parse({"output": [item]})
    assert [chat[0].tool_calls[0].arguments, other.tool_calls[0].arguments] == ['{"answer": "B"}'] * 2
    assert chat[1].text == "click"


def test_stream_with_object_arguments_and_content_parts_is_read() -> None:
    call = {"index": 0, "id": "1", "function": {"name": "stop", "arguments": {"answer": "B"}}}
    piece = {"choices": [{"delta": {"content": [{"type": "text", "text": "so"}], "tool_calls": [call]}}]}
    last = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    raw = "".join(f"data: {json.dumps(each)}\n\n" for each in (piece, last)).encode()
    with model_server([Answer(raw=raw, headers={"Content-Type": "text/event-stream"})]) as server:
        reply = client_of(server, stream=True).ask(question())
    assert (reply.text, reply.tool_calls[0].arguments) == ("so", '{"answer": "B"}')


def test_unknown_call_next_to_a_known_one_is_an_error() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "click", "arguments": "{}"}}, {"type": "custom"}]
    with pytest.raises(EmptyReply, match="of the type 'custom'"):
        APIS["chat"].parse({"choices": [{"message": {"tool_calls": calls}}]})
