"""Replies that hold nothing that is known are told by what they hold, not as empty."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.llm.apis import APIS, EmptyReply


@pytest.mark.parametrize(
    ("api", "data", "told"),
    [
        ("responses", {"output": [{"type": "reasoning"}, {"type": "web_search_call"}]}, "reasoning, web_search_call"),
        ("responses", {"output": [{"type": "custom_tool_call", "input": "x"}]}, "found custom_tool_call"),
        ("responses", {"output": []}, "is known here"),
        ("chat", {"reasoning_content": "hm", "audio": {"id": "a"}}, "found audio, reasoning_content"),
        ("chat", {"tool_calls": [{"type": "custom", "custom": {"name": "x"}}]}, "of the type 'custom'"),
        ("chat", {"content": ""}, "a message without content"),
    ],
)
def test_they_are_told_by_name(api: str, data: dict[str, Any], told: str) -> None:
    whole = data if api == "responses" else {"choices": [{"message": {"role": "assistant", **data}}]}
    with pytest.raises(EmptyReply, match=told):
        APIS[api].parse(whole)


def test_a_call_of_another_kind_beside_a_known_one_is_not_passed_over() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "click", "arguments": "{}"}}, {"type": "custom"}]
    with pytest.raises(EmptyReply, match="of the type 'custom'"):
        APIS["chat"].parse({"choices": [{"message": {"tool_calls": calls}}]})
