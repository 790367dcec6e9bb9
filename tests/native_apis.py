"""Answers in the APIs of Anthropic and Google; the providers' own types accept each, and each event of a stream.

The providers' packages are imported when they are used: that takes a third of the time in which a worker of the suite
collects all tests, and only one worker runs the tests that use them.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tests.model_server import Answer

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = [
    "SIGNATURE", "anthropic_error", "anthropic_events", "anthropic_message", "check_body", "google_error",
    "google_events", "google_response",
]  # fmt: skip

SIGNATURE = base64.b64encode(b"\xff\xfe signed").decode()
"""Signature of a thought, with characters that other alphabets of base64 lack."""
_ANTHROPIC_ENDS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
_GOOGLE_ENDS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


def _anthropic_types() -> ModuleType:
    from anthropic import types

    return types


def _google_types() -> ModuleType:
    from google.genai import types

    return types


@functools.cache
def _event() -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(_anthropic_types().RawMessageStreamEvent)


def _body_type() -> Any:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    return MessageCreateParamsNonStreaming


@functools.cache
def _body() -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(_body_type())


def anthropic_message(answer: Answer) -> dict[str, Any]:
    """Returns a message."""
    content: list[dict[str, Any]] = []
    if answer.thought:
        content.append({"type": "thinking", "thinking": answer.thought, "signature": SIGNATURE})
    if answer.text:
        content.append({"type": "text", "text": answer.text, "citations": None})
    for number, (name, arguments) in enumerate(answer.calls):
        content.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": _parsed(arguments)})
    whole: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted-1",
        "content": content,
        "stop_reason": _ANTHROPIC_ENDS.get(answer.finish, answer.finish),
        "stop_sequence": None,
    }
    if answer.refusal is not None:
        details = {"type": "refusal", "category": None, "explanation": answer.refusal}
        whole |= {"stop_reason": "refusal", "stop_details": details}
    if answer.usage:
        counts = answer.usage
        whole["usage"] = (
            {"input_tokens": counts[0], "output_tokens": counts[1]} if isinstance(counts, tuple) else counts
        )
    if not answer.hostile:
        _anthropic_types().Message.model_validate(whole)
    return whole


def anthropic_events(answer: Answer) -> Iterator[bytes]:
    """Yields a stream: counts of the input come first, those of the output last, each block in two parts."""
    whole = anthropic_message(answer)
    usage = whole.get("usage")
    early = {**usage, "output_tokens": 1, "output_tokens_details": None} if isinstance(usage, dict) else usage
    start = {**whole, "content": [], "stop_reason": None, "usage": early}
    start.pop("stop_details", None)
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(whole["content"]):
        events += _block_events(index, block)
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None, "stop_details": whole.get("stop_details")}
    late = {
        name: usage[name]
        for name in ("output_tokens", "output_tokens_details", "cache_read_input_tokens")
        if isinstance(usage, dict) and name in usage
    }
    events += [{"type": "message_delta", "delta": delta, "usage": late}, {"type": "message_stop"}]
    for event in events:
        if event["type"] != "ping" and not answer.hostile:
            _event().validate_python(event)
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _block_events(index: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind = block["type"]
    names = {"thinking": "thinking_delta", "text": "text_delta", "tool_use": "input_json_delta"}
    name = "partial_json" if kind == "tool_use" else kind
    value: str = _written(block["input"]) if kind == "tool_use" else block[kind]
    empty: dict[str, Any] = {"input": {}} if kind == "tool_use" else {kind: ""}
    start = {**block, **empty, **({"signature": ""} if kind == "thinking" else {})}
    yield {"type": "content_block_start", "index": index, "content_block": start}
    half = len(value) // 2
    for part in (value[:half], value[half:]):
        yield {"type": "content_block_delta", "index": index, "delta": {"type": names[kind], name: part}}
    if kind == "thinking":
        signed = {"type": "signature_delta", "signature": block["signature"]}
        yield {"type": "content_block_delta", "index": index, "delta": signed}
    yield {"type": "content_block_stop", "index": index}


def google_response(answer: Answer) -> dict[str, Any]:
    """Returns a response. Calls have no ids, as those of the Gemini API."""
    parts: list[dict[str, Any]] = []
    if answer.thought:
        parts.append({"text": answer.thought, "thought": True})
    if answer.text:
        parts.append({"text": answer.text})
    for name, arguments in answer.calls:
        parts.append({"functionCall": {"name": name, "args": _parsed(arguments)}})
    if answer.thought and len(parts) > 1:
        parts[1]["thoughtSignature"] = SIGNATURE
    finish = _GOOGLE_ENDS.get(answer.finish, answer.finish)
    whole: dict[str, Any] = {"modelVersion": "scripted-1", "responseId": "r"}
    if answer.refusal is not None:
        whole["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
    else:
        content = {"role": "model", **({"parts": parts} if parts else {})}
        whole["candidates"] = [{"index": 0, "content": content, **({"finishReason": finish} if finish else {})}]
    if answer.usage:
        counts = answer.usage
        names = ("promptTokenCount", "candidatesTokenCount")
        whole["usageMetadata"] = (
            {**dict(zip(names, counts, strict=True)), "totalTokenCount": sum(counts)}
            if isinstance(counts, tuple)
            else counts
        )
    if not answer.hostile:
        _google_types().GenerateContentResponse.model_validate(whole)
    return whole


def google_events(answer: Answer) -> Iterator[bytes]:
    """Yields a stream: a part of the reply in each chunk, and growing counts."""
    whole = google_response(answer)
    usage = whole.get("usageMetadata")
    candidates = whole.get("candidates") or []
    for part in candidates[0]["content"].get("parts", []) if candidates else []:
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}}
        early = {**usage, "candidatesTokenCount": 1} if isinstance(usage, dict) else usage
        chunk = {"modelVersion": "scripted-1", "candidates": [candidate], "usageMetadata": early}
        yield f"data: {json.dumps(chunk)}\n\n".encode()
    if candidates:
        whole = {**whole, "candidates": [{**candidates[0], "content": {"role": "model", "parts": [{"text": ""}]}}]}
    yield f"data: {json.dumps(whole)}\n\n".encode()


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def google_error(status: int, word: str, message: str, *details: Any) -> Answer:
    error = {"code": status, "status": word, "message": message, "details": list(details)}
    return Answer(status=status, raw=json.dumps({"error": error}).encode())


def anthropic_error(status: int, kind: str, message: str, **headers: str) -> Answer:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}
    return Answer(
        status=status, raw=json.dumps(body).encode(), headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def check_body(api: str, body: dict[str, Any]) -> None:
    """The provider's own types accept a request's body, with no unknown keys."""
    if api == "anthropic":
        known = _body_type().__annotations__ | {"stream": bool}
        for base in _body_type().__orig_bases__:
            known |= base.__annotations__
        assert set(body) <= set(known)
        _body().validate_python({name: value for name, value in body.items() if name != "stream"})
        roles = [message["role"] for message in body["messages"]]
        assert all(one != other for one, other in pairwise(roles))
        return
    assert set(body) <= {"contents", "systemInstruction", "generationConfig", "tools", "toolConfig"}
    for content in body["contents"]:
        _google_types().Content.model_validate(content)
    _google_types().GenerationConfig.model_validate(body.get("generationConfig", {}))
    for tool in body.get("tools", []):
        _google_types().Tool.model_validate(tool)
