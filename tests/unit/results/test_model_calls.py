"""Text form of an agent's model calls."""

from __future__ import annotations

import json
from typing import Any

from pytest_webarena.results.model_calls import model_calls_text
from tests.cases import each_case

REPLY: dict[str, Any] = {
    "text": "I see.",
    "tool_calls": [{"id": "1", "name": "click", "arguments": '{"element": "4"}'}],
    "refusal": "",
    "finish": "tool_calls",
    "model": "m-2026",
    "usage": {"input_tokens": 1200, "output_tokens": 7, "cached_calls": 0},
}
CALL: dict[str, Any] = {
    "purpose": "action",
    "model": "m",
    "sampling": {"temperature": 1.0},
    "tools": ["click", "stop"],
    "messages": [
        {"role": "system", "text": "Act.", "name": "example_user"},
        {"role": "user", "text": "line one\nline two", "images": ["image/png, 9 bytes"]},
    ],
    "reply": REPLY,
}


def text_of(*calls: dict[str, Any]) -> str:
    return model_calls_text(json.dumps({"schema_version": 1, "calls": calls}))


def test_model_call_text_has_messages_by_role_and_reply_last() -> None:
    assert text_of(CALL) == (
        "===== call 1 of 1 (action): m, temperature: 1.0, tools: click, stop\n"
        "--- system (example_user)\nAct.\n"
        "--- user\nline one\nline two\n[picture: image/png, 9 bytes]\n"
        "--- reply (m-2026: 1,200 tokens in, 7 out, ended with tool_calls)\n"
        'I see.\nclick({"element": "4"})'
    )


def test_model_call_text_gives_reason_of_missing_reply() -> None:
    failed = {**CALL, "reply": None, "error": "HTTP 500"}
    refused = {**CALL, "reply": {**REPLY, "text": "", "tool_calls": [], "refusal": "no"}}
    text = text_of(failed, refused)
    assert "--- no reply: HTTP 500\n\n===== call 2 of 2 (action)" in text
    assert text.endswith("refused: no")


@each_case("text", ["", "not JSON", "[]", '{"calls": [{}]}'])
def test_other_texts_are_returned_unchanged(text: str) -> None:
    assert model_calls_text(text) == text
