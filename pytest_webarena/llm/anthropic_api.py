"""Anthropic's Messages API.

Thoughts come as signed blocks, which have to be sent back unchanged with the results of the tools that they led to.
The prompt is cached up to marked blocks only: `Message.cache`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_webarena.evidence.usage import Usage
from pytest_webarena.llm.api import UNKNOWN_USAGE, EmptyReply, Events, as_text, count, given, labelled, objects, share
from pytest_webarena.llm.messages import (
    COMPUTER,
    ComputerTool,
    ComputerToolName,
    Image,
    Message,
    ModelReply,
    Request,
    Sampling,
    ToolCall,
    cut_by,
    ended_by_model,
)
from pytest_webarena.llm.reply_values import object_of

__all__ = ["AnthropicMessages", "beta_header"]

_REPLY_TOKENS = 8192
"""Token limit of replies without one of their own, thoughts excluded; the API requires a limit."""
_LEAST_THINKING = 1024
"""Smallest budget for thoughts that the API accepts."""
_BETAS = {"computer_20251124": "computer-use-2025-11-24", "computer_20250124": "computer-use-2025-01-24"}
"""Values of the header ``anthropic-beta``, by types of tools."""
_EPHEMERAL = {"type": "ephemeral"}
_NO_TEXT = "(no text)"
"""In place of a reply whose texts are blank, which the API does not accept back."""
_THOUGHTS = ("thinking", "redacted_thinking")
_COUNTS = (
    "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens", "output_tokens_details",
)  # fmt: skip
"""Counts that the end of a stream reports in place of those at its beginning."""


class AnthropicMessages:
    """The Messages API, version 2026-10-21."""

    computer_tools: tuple[ComputerToolName, ...] = (
        "computer_toolset_20260801", "computer_20251124", "computer_20250124",
    )  # fmt: skip

    def problem(self, sampling: Sampling) -> str:
        """Return which settings the API does not have, or not together."""
        for name in ("temperature", "top_p", "seed"):
            if getattr(sampling, name) is not None:
                return f"Anthropic's API has no sampling.{name}; remove it"
        if sampling.thinking_tokens is not None and sampling.reasoning_effort is not None:
            return "expected sampling.thinking_tokens or sampling.reasoning_effort, found both"
        if not _thinks(sampling):
            return ""
        budget, most = sampling.thinking_tokens, sampling.max_tokens
        if budget is not None and budget < _LEAST_THINKING:
            return f"sampling.thinking_tokens: expected 0 or at least {_LEAST_THINKING}, found {budget}"
        if budget is not None and most is not None and most <= budget:
            return (
                f"sampling.max_tokens: expected more than thinking_tokens ({budget}), which it includes, found {most}"
            )
        return ""

    def body(self, request: Request) -> dict[str, Any]:
        """Return the request's JSON. Tools are not forced, because models that think can't be."""
        sampling, thinks = request.sampling, _thinks(request.sampling)
        budget, effort = sampling.thinking_tokens, sampling.reasoning_effort
        reserve = (budget if budget is not None else _REPLY_TOKENS) if thinks else 0
        thinking: dict[str, Any] | None = {"type": "enabled", "budget_tokens": budget} if budget else None
        if effort:
            thinking = {"type": "adaptive"}
        elif budget == 0:
            thinking = {"type": "disabled"}
        output = given(
            effort=effort, format={"type": "json_schema", "schema": request.schema.schema} if request.schema else None
        )
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": sampling.max_tokens or _REPLY_TOKENS + reserve,
            "messages": _messages(
                [each for each in request.messages if each.role != "system"], exact=request.computer is not None
            ),
        }
        body |= given(
            system=_system([each for each in request.messages if each.role == "system"]) or None,
            stop_sequences=list(sampling.stop) or None,
            thinking=thinking,
            output_config=output or None,
        )
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
            body["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
        if request.computer is not None:
            body["tools"] = [_computer_tool(request.computer)]
        return {**body, **request.extra}

    def parse(self, data: Mapping[str, Any]) -> ModelReply:
        """Return the reply in the answer's content blocks; a refusal is the model provider's, with its explanation."""
        if not isinstance(data.get("content"), list):
            raise EmptyReply("no content")
        blocks, finish = objects(data["content"]), as_text(data.get("stop_reason"))
        texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
        thoughts = [as_text(block.get("thinking")) for block in blocks if block.get("type") == "thinking"]
        calls = tuple(
            ToolCall(id=as_text(block.get("id")), name=as_text(block.get("name")), arguments=_arguments(block))
            for block in blocks
            if block.get("type") == "tool_use"
        )
        is_known = all(block.get("type") in ("text", *_THOUGHTS) for block in blocks)
        if not any(texts) and not calls and not (cut_by(finish) or (ended_by_model(finish) and is_known)):
            kinds = ", ".join(dict.fromkeys(str(block.get("type"))[:40] for block in blocks))
            raise EmptyReply(f"no text or call that is known here (stop reason {finish!r}, blocks: {kinds or 'none'})")
        details = data.get("stop_details")
        return ModelReply(
            text="".join(texts),
            thought="\n".join(filter(None, thoughts)),
            tool_calls=calls,
            refusal=as_text(details.get("explanation")) if isinstance(details, Mapping) else "",
            finish=finish,
            model=as_text(data.get("model")),
            items=tuple(blocks),
        )

    def usage(self, data: Mapping[str, Any]) -> Usage:
        """Return the usage; the API counts tokens read from the cache and written to it apart from the other input."""
        usage = data.get("usage")
        if not isinstance(usage, Mapping):
            return UNKNOWN_USAGE
        fresh, out = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
        read, written = (count(usage.get(f"cache_{name}_input_tokens") or 0) for name in ("read", "creation"))
        thought = share(usage, out, "output_tokens_details", "thinking_tokens")
        hour = share(usage, written, "cache_creation", "ephemeral_1h_input_tokens")
        if fresh is None or out is None or read is None or written is None or thought is None or hour is None:
            return UNKNOWN_USAGE
        if not (sent := count(fresh + read + written)):
            return UNKNOWN_USAGE
        return Usage(
            calls=1, input_tokens=sent, cached_input_tokens=read, cache_write_tokens=written,
            cache_write_1h_tokens=hour, output_tokens=out, reasoning_tokens=thought,
        )  # fmt: skip

    def joined(self, events: Events) -> Mapping[str, Any]:
        """Return the message that a stream's events add up to; empty without its last event."""
        whole: dict[str, Any] = {}
        blocks: dict[int, dict[str, Any]] = {}
        has_ended = False
        for event in events:
            kind = event.get("type")
            if kind == "message_start":
                whole = dict(event["message"])
            elif kind == "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            elif kind == "content_block_delta":
                _add(blocks[event["index"]], event["delta"])
            elif kind == "message_delta":
                whole |= {name: value for name, value in event["delta"].items() if value is not None}
            elif kind == "message_stop":
                has_ended = True
        if not has_ended or not whole:
            return {}
        usage = self.counted(events, final=True)["usage"]
        return {**whole, "content": [_closed(blocks[index]) for index in sorted(blocks)], "usage": usage}

    def counted(self, events: Events, *, final: bool) -> Mapping[str, Any]:
        """Return the usage of the stream's beginning, replaced by the counts at its end; None if ``final`` lacks an
        end."""
        starts = [each.get("message") for each in events if each.get("type") == "message_start"]
        start = starts[0] if starts and isinstance(starts[0], Mapping) else {}
        ends = [each.get("usage") for each in events if each.get("type") == "message_delta" and each.get("usage")]
        usage: Any = start.get("usage")
        if ends and isinstance(usage, Mapping) and isinstance(ends[-1], Mapping):
            usage = {**usage, **{name: ends[-1][name] for name in _COUNTS if ends[-1].get(name) is not None}}
        return {"model": start.get("model") or "", "usage": None if final and not ends else usage}


def beta_header(body: Mapping[str, Any]) -> str:
    """Return the header ``anthropic-beta`` that a request's tools need; empty if they need none."""
    kinds = [tool.get("type") for tool in objects(body.get("tools"))]
    return ",".join(_BETAS[kind] for kind in kinds if kind in _BETAS)


def _computer_tool(tool: ComputerTool) -> dict[str, Any]:
    if tool.name == "computer_toolset_20260801":
        disabled = {name: {"enabled": False} for name in tool.exclude}
        return {"type": tool.name, **given(configs=disabled or None)}
    screen = {"display_width_px": tool.width, "display_height_px": tool.height}
    zoom = {"enable_zoom": "zoom" not in tool.exclude} if tool.name == "computer_20251124" else {}
    return {"type": tool.name, "name": COMPUTER, **screen, **zoom}


def _thinks(sampling: Sampling) -> bool:
    return bool(sampling.thinking_tokens or sampling.reasoning_effort)


def _arguments(block: Mapping[str, Any]) -> str:
    """A call's arguments as JSON, or what the model wrote in their place."""
    arguments = block.get("input")
    return arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)


def _system(messages: Sequence[Message]) -> list[dict[str, Any]]:
    blocks = [{"type": "text", "text": labelled(each)} for each in messages]
    marked = [index for index, each in enumerate(messages) if each.cache]
    return _marked(blocks, marked[-1] if marked else None)


def _messages(messages: Sequence[Message], *, exact: bool) -> list[dict[str, Any]]:
    """Messages of alternating roles, because the results of tools have to come first in the message after the call.

    ``exact`` has the endpoint refuse images that it would scale down, because places on them are pixels.
    """
    turns: list[dict[str, Any]] = []
    toolsets = {item.get("id"): item.get("toolset_name") for message in messages for item in message.items}
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        if message.role == "tool":
            blocks = [_tool_result(message, toolsets.get(message.answers), exact=exact)]
        else:
            blocks = _blocks(message, exact=exact)
        blocks = _marked(blocks, len(blocks) - 1 if message.cache else None)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _tool_result(message: Message, toolset: object, *, exact: bool) -> dict[str, Any]:
    """The result of a call. An error has no images, which the API refuses there."""
    content: Any = message.text
    if message.images and not message.failed:
        content = [{"type": "text", "text": message.text}] if message.text else []
        content += [_image(image, exact=exact) for image in message.images]
    result = {"type": "tool_result", "tool_use_id": message.answers, "content": content}
    return result | given(is_error=message.failed or None, toolset_name=toolset or None)


def _blocks(message: Message, *, exact: bool) -> list[dict[str, Any]]:
    if message.items:
        kept = [item for item in message.items if item.get("type") != "text" or str(item.get("text", "")).strip()]
        return [_sent_back(item) for item in kept] or [{"type": "text", "text": _NO_TEXT}]  # blank texts are refused
    text = labelled(message)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
    blocks += [_image(image, exact=exact) for image in message.images]
    for call in message.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": object_of(call.arguments)})
    return blocks


def _sent_back(item: Mapping[str, Any]) -> dict[str, Any]:
    """A block as received; the API accepts only objects as the input of a call, and no empty fields."""
    block = {name: value for name, value in item.items() if value is not None}
    if block.get("type") == "tool_use" and not isinstance(block.get("input"), Mapping):
        block["input"] = object_of(_arguments(block))
    return block


def _image(image: Image, *, exact: bool) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode()
    block = {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": data}}
    return {**block, "transformations": {"oversized_image": "error"}} if exact else block


def _marked(blocks: list[dict[str, Any]], last: int | None) -> list[dict[str, Any]]:
    """``blocks``, cached up to the one with the index ``last``; thoughts can't be marked."""
    if last is not None and blocks and blocks[last].get("type") not in _THOUGHTS:
        blocks[last] = {**blocks[last], "cache_control": _EPHEMERAL}
    return blocks


def _add(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a part to a block of a stream. Arguments are collected as text, because parts of JSON are none."""
    for kind, name in (("text_delta", "text"), ("thinking_delta", "thinking"), ("signature_delta", "signature")):
        if delta.get("type") == kind:
            block[name] = as_text(block.get(name)) + delta[name]
    if delta.get("type") == "input_json_delta":
        block["partial_json"] = block.get("partial_json", "") + delta["partial_json"]


def _closed(block: dict[str, Any]) -> dict[str, Any]:
    """A whole block of a stream, with the input of a call parsed, or as the model wrote it."""
    written = block.pop("partial_json", "")
    if not written:
        return block
    try:
        return {**block, "input": json.loads(written)}
    except (ValueError, RecursionError):
        return {**block, "input": written}
