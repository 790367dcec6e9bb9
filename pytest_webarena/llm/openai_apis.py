"""OpenAI's two APIs, Chat Completions and Responses, which many other endpoints have, too."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_webarena.evidence.usage import Usage
from pytest_webarena.llm.api import (
    UNKNOWN_USAGE,
    EmptyReply,
    Events,
    as_text,
    count,
    given,
    labelled,
    response_of,
    share,
)
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
from pytest_webarena.llm.reply_values import arguments_of, text_of

__all__ = ["Chat", "Responses"]


_NO_SCREENSHOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTjTzAAAAABJRU5ErkJggg=="
)
"""A picture of one pixel, in place of a screenshot that is no longer sent: the API demands one for each call."""
_OTHER_CONTENT = ("audio", "function_call", "images", "video")
"""Message fields that may hold content which this module does not read."""


class Chat:
    """Chat Completions."""

    computer_tools: tuple[ComputerToolName, ...] = ()

    def problem(self, sampling: Sampling) -> str:
        """Return that the API takes an effort in place of a number of tokens for thinking."""
        return _thinking_problem(sampling)

    def joined(self, events: Events) -> Mapping[str, Any]:
        """Return the answer that a stream's chunks add up to; empty without a finish reason.

        Raises `ValueError` for parts of several choices.
        """
        message = {"content": "", "refusal": "", "reasoning_content": ""}
        calls: dict[int, dict[str, Any]] = {}
        finish: str | None = None
        usage: Any = None
        model = ""
        indexes: set[object] = set()
        for event in events:
            model, usage = event.get("model") or model, event.get("usage") or usage
            for choice in event.get("choices") or ():
                indexes.add(choice.get("index") or 0)
                if len(indexes) > 1:
                    raise ValueError("expected one choice, found pieces of several")
                delta = choice.get("delta") or {}
                finish = choice.get("finish_reason") or finish
                for name in message:
                    message[name] += text_of(delta.get(name))
                _add_calls(calls, delta.get("tool_calls") or ())
        if finish is None:
            return {}
        whole = {**message, "tool_calls": [calls[index] for index in sorted(calls)]}
        return {"model": model, "choices": [{"message": whole, "finish_reason": finish}], "usage": usage}

    def counted(self, events: Events, *, final: bool) -> Mapping[str, Any]:
        """Return the latest usage; a count in a chunk with a part of the reply may cover only what was sent so far."""
        return _counted([each for each in events if not (final and each.get("choices"))], events)

    def body(self, request: Request) -> dict[str, Any]:
        """Return the request's JSON."""
        sampling = request.sampling
        body: dict[str, Any] = {"model": request.model, "messages": [_chat_message(each) for each in request.messages]}
        body |= given(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_completion_tokens=sampling.max_tokens,
            seed=sampling.seed,
            stop=list(sampling.stop) or None,
            reasoning_effort=sampling.reasoning_effort,
        )
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.tools
            ]
            body |= {"tool_choice": "required", "parallel_tool_calls": False}
        if request.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": request.schema.name, "schema": request.schema.schema, "strict": True},
            }
        return {**body, **request.extra}

    def parse(self, data: Mapping[str, Any]) -> ModelReply:
        """Return the reply in the only choice; a request asks for one, so several raise `ValueError`."""
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise EmptyReply("no choices")
        if len(choices) > 1:
            raise ValueError(f"expected one choice, found {len(choices)}")
        message, finish = choices[0].get("message"), as_text(choices[0].get("finish_reason"))
        if message is None and (cut_by(finish) or ended_by_model(finish)):
            message = {}
        if not isinstance(message, dict):
            raise EmptyReply("a choice without a message")
        for call in message.get("tool_calls") or ():
            _check_known(call)
        calls = tuple(
            ToolCall(
                id=str(call.get("id") or ""),
                name=str(call["function"].get("name") or ""),
                arguments=arguments_of(call["function"].get("arguments")),
            )
            for call in message.get("tool_calls") or ()
            if isinstance(call, dict) and isinstance(call.get("function"), dict)
        )
        said, refusal = text_of(message.get("content")), as_text(message.get("refusal"))
        is_done = cut_by(finish) or (ended_by_model(finish) and not any(message.get(name) for name in _OTHER_CONTENT))
        if not said and not calls and not refusal and not is_done:
            kinds = ", ".join(sorted(str(key)[:40] for key, value in message.items() if value and key != "role"))
            raise EmptyReply(f"a message without content{_found(kinds)}")
        return ModelReply(
            text=said,
            thought=as_text(message.get("reasoning_content")) or as_text(message.get("reasoning")),
            tool_calls=calls,
            refusal=refusal,
            finish=finish,
            model=as_text(data.get("model")),
        )

    def usage(self, data: Mapping[str, Any]) -> Usage:
        """Return the usage in the answer's ``usage``."""
        return _usage(data.get("usage"), sent="prompt_tokens", got="completion_tokens")


class Responses:
    """Responses API, without state at the endpoint."""

    computer_tools: tuple[ComputerToolName, ...] = ("computer", "computer_use_preview")

    def problem(self, sampling: Sampling) -> str:
        """Return that the API takes an effort in place of a number of tokens for thinking."""
        return _thinking_problem(sampling)

    def joined(self, events: Events) -> Mapping[str, Any]:
        """Return the answer in a stream's last event; empty when the stream has no end."""
        ends = ("response.completed", "response.incomplete")
        whole: object = next((each["response"] for each in events if each.get("type") in ends), {})
        return whole if isinstance(whole, dict) else {}

    def counted(self, events: Events, *, final: bool) -> Mapping[str, Any]:
        """Return the latest usage."""
        return _counted(events, events)

    def body(self, request: Request) -> dict[str, Any]:
        """Return the request's JSON."""
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": request.model,
            "input": _input(request.messages),
            "store": False,
        }
        body |= given(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_output_tokens=sampling.max_tokens,
            reasoning={"effort": sampling.reasoning_effort} if sampling.reasoning_effort else None,
            # The endpoint stores nothing (store: false), so the dialogue has to carry the model's reasoning.
            include=["reasoning.encrypted_content"] if sampling.reasoning_effort or request.computer else None,
        )
        if request.tools:
            body["tools"] = [
                {
                    "type": "function", "name": tool.name, "description": tool.description,
                    "parameters": tool.parameters, "strict": False,
                }
                for tool in request.tools
            ]  # fmt: skip
            body |= {"tool_choice": "required", "parallel_tool_calls": False}
        if request.computer is not None:
            body |= {"tools": [_computer_tool(request.computer)], "truncation": "auto"}
        if request.schema is not None:
            body["text"] = {
                "format": {
                    "type": "json_schema", "name": request.schema.name, "schema": request.schema.schema, "strict": True
                }
            }  # fmt: skip
        return {**body, **request.extra}

    def parse(self, data: Mapping[str, Any]) -> ModelReply:
        """Return a reply of all texts and calls in the output."""
        output, incomplete = data.get("output"), data.get("incomplete_details")
        finish = as_text(incomplete.get("reason")) if isinstance(incomplete, dict) else as_text(data.get("status"))
        if output is None and cut_by(finish):
            output = []
        if not isinstance(output, list):
            raise EmptyReply("no output")
        texts, refusals, calls = [], [], []
        for item in output:
            if item.get("type") == "function_call":
                calls.append(
                    ToolCall(
                        id=as_text(item.get("call_id")),
                        name=as_text(item.get("name")),
                        arguments=arguments_of(item.get("arguments")),
                    )
                )
            elif item.get("type") == "computer_call":
                calls.append(_computer_call(item))
            for part in (item.get("content") or ()) if item.get("type") == "message" else ():
                if part.get("type") == "output_text":
                    texts.append(as_text(part.get("text")))
                elif part.get("type") == "refusal":
                    refusals.append(as_text(part.get("refusal")))
        is_known = all(item.get("type") in ("reasoning", "message") for item in output)
        is_done = cut_by(finish) or (ended_by_model(finish) and is_known)
        if not any(texts) and not calls and not any(refusals) and not is_done:
            kinds = ", ".join(dict.fromkeys(str(item.get("type"))[:40] for item in output))
            raise EmptyReply(f"an output without text or a call that is known here{_found(kinds)}")
        return ModelReply(
            text="".join(texts),
            thought="\n".join(_summaries(output)),
            tool_calls=tuple(calls),
            refusal="".join(refusals),
            finish=finish,
            model=as_text(data.get("model")),
            items=tuple(output),
        )

    def usage(self, data: Mapping[str, Any]) -> Usage:
        """Return the usage in the answer's ``usage``."""
        return _usage(data.get("usage"), sent="input_tokens", got="output_tokens")


def _thinking_problem(sampling: Sampling) -> str:
    if sampling.thinking_tokens is None:
        return ""
    return "OpenAI's APIs have no sampling.thinking_tokens; use sampling.reasoning_effort"


def _counted(counting: Events, events: Events) -> Mapping[str, Any]:
    """The last usage in ``counting``, and the model that ``events`` name."""
    usages = [each.get("usage") or response_of(each).get("usage") for each in counting]
    model = next((model for each in events if (model := each.get("model") or response_of(each).get("model"))), "")
    return {"model": model, "usage": next((usage for usage in reversed(usages) if usage), None)}


def _add_calls(calls: dict[int, dict[str, Any]], parts: Iterable[Mapping[str, Any]]) -> None:
    """Add a chunk's parts of tool calls to ``calls``, by index."""
    for part in parts:
        call = calls.setdefault(part.get("index", 0), {"id": "", "function": {"name": "", "arguments": ""}})
        function = part.get("function") or {}
        call["id"] = part.get("id") or call["id"]
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += arguments_of(function.get("arguments"))


def _summaries(output: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The summaries of a reasoning model's thoughts."""
    for item in output:
        for part in (item.get("summary") or ()) if item.get("type") == "reasoning" else ():
            yield as_text(part.get("text"))


def _found(kinds: str) -> str:
    """The end of an error message that names what was found instead."""
    return f", found {kinds}" if kinds else ""


def _check_known(call: object) -> None:
    """Raise `EmptyReply` for a tool call that is not a function call.

    Only functions were offered, and to act on the remaining calls alone would be a guess.
    """
    if isinstance(call, dict) and not isinstance(call.get("function"), dict):
        raise EmptyReply(f"a tool call of the type {str(call.get('type'))[:40]!r}, expected a function")


def _computer_tool(tool: ComputerTool) -> dict[str, Any]:
    """The computer tool's definition: the preview needs the size of the screen, its successor does not."""
    if tool.name == "computer":
        return {"type": "computer"}
    screen = {"display_width": tool.width, "display_height": tool.height}
    return {"type": tool.name, "environment": "browser", **screen}


def _computer_call(item: Mapping[str, Any]) -> ToolCall:
    """The call's action, or several from the preview's successor, and its pending safety checks."""
    actions = item.get("actions") or ([item["action"]] if item.get("action") else [])
    arguments = {"actions": actions, "checks": item.get("pending_safety_checks") or []}
    return ToolCall(id=as_text(item.get("call_id")), name=COMPUTER, arguments=json.dumps(arguments))


def _chat_message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.answers, "content": message.text}
    content: Any = message.text
    if message.images:
        content = [{"type": "text", "text": message.text}]
        content += [
            {"type": "image_url", "image_url": {"url": _address(image), "detail": image.detail}}
            for image in message.images
        ]
    plain: dict[str, Any] = {"role": message.role, "content": content}
    if message.name:
        plain["name"] = message.name
    if message.tool_calls:
        plain["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return plain


def _input(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The items of all messages. The result of a computer call is a screenshot only, so a text comes after the
    results."""
    items: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    for message in messages:
        if message.role != "tool":
            items, texts = [*items, *texts], []
        items += _response_items(message)
        if message.role == "tool" and message.name == COMPUTER and message.text:
            texts.append({"role": "user", "content": message.text})
    return [*items, *texts]


def _computer_output(message: Message) -> dict[str, Any]:
    address = _address(message.images[0]) if message.images else _NO_SCREENSHOT
    output = {"type": "computer_screenshot", "image_url": address}
    checks = [dict(each) for each in message.acknowledged] or None
    return {
        "type": "computer_call_output", "call_id": message.answers, "output": output,
        **given(acknowledged_safety_checks=checks),
    }  # fmt: skip


def _response_items(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool" and message.name == COMPUTER:
        return [_computer_output(message)]
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.answers, "output": message.text}]
    if message.items:
        return [dict(item) for item in message.items]
    items: list[dict[str, Any]] = []
    words = labelled(message)
    if message.images:
        parts: list[dict[str, Any]] = [{"type": "input_text", "text": words}]
        parts += [
            {"type": "input_image", "image_url": _address(image), "detail": image.detail} for image in message.images
        ]
        items.append({"role": message.role, "content": parts})
    elif words or not message.tool_calls:
        items.append({"role": message.role, "content": words})
    items += [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return items


def _address(image: Image) -> str:
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"


def _usage(data: object, *, sent: str, got: str) -> Usage:
    """The usage in ``data``, whose keys for input and output tokens are ``sent`` and ``got``.

    Nothing is known, least of all the cost, of an endpoint that does not count or reports impossible counts. The reply
    stays valid.
    """
    if not isinstance(data, dict):
        return UNKNOWN_USAGE
    put, out = count(data.get(sent)), count(data.get(got))
    reported, total = data.get(got), count(data.get("total_tokens"))
    # Gemini and xAI count reasoning tokens in the total only, not in the output.
    thought = max(0, (total or 0) - (put or 0) - (out or 0)) if put else 0
    if thought and (reported is None or out is not None):
        out = (out or 0) + thought
    reasoning = share(data, out, f"{got}_details", "reasoning_tokens")
    counts = {
        "input_tokens": put,
        "cached_input_tokens": share(data, put, f"{sent}_details", "cached_tokens"),
        "output_tokens": out,
        "reasoning_tokens": reasoning if reported is None or reasoning is None else max(reasoning, thought),
    }
    if not put:  # no prompt has 0 tokens: proxies that do not count report this
        return UNKNOWN_USAGE
    known = {name: count for name, count in counts.items() if count is not None}
    return Usage(calls=1, **known) if len(known) == len(counts) else UNKNOWN_USAGE
