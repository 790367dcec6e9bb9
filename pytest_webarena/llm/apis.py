"""The two wire formats: Chat Completions and Responses. Pure: plain data in, plain data out."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Protocol

from pytest_webarena.evidence.usage import Usage, is_count
from pytest_webarena.llm.messages import Image, Message, ModelReply, Request, ToolCall, cut_by, ended_by_model
from pytest_webarena.llm.reply_values import arguments_of, text_of

__all__ = ["API", "APIS", "Chat", "EmptyReply", "Responses"]


_OTHER_CONTENT = ("audio", "function_call", "images", "video")
"""Where a message may have content that is not known here."""


class EmptyReply(Exception):
    """The endpoint answered, but there is no reply in it, and nothing that says why."""


class API(Protocol):
    """One wire format."""

    def body(self, request: Request) -> dict[str, Any]:
        """The request's JSON."""
        ...

    def parse(self, data: Mapping[str, Any]) -> ModelReply:
        """The reply in the answer's JSON, without its usage. `EmptyReply` when there is none.

        An empty reply is one if its finish reason says what cut it (`ModelReply.cut_by`) or that the model ended it.
        """
        ...

    def usage(self, data: Mapping[str, Any]) -> Usage:
        """What the answer's JSON says the request used, without its cost. Never raises, whatever else is in there."""
        ...


class Chat:
    """Chat Completions."""

    def body(self, request: Request) -> dict[str, Any]:
        """The request's JSON."""
        sampling = request.sampling
        body: dict[str, Any] = {"model": request.model, "messages": [_chat_message(each) for each in request.messages]}
        body |= _given(
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
        """The choice: there is one, for one is asked for. `ValueError` for several."""
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise EmptyReply("no choices")
        if len(choices) > 1:
            raise ValueError(f"expected one choice, found {len(choices)}")
        message, finish = choices[0].get("message"), _text(choices[0].get("finish_reason"))
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
        text, refusal = text_of(message.get("content")), _text(message.get("refusal"))
        is_done = cut_by(finish) or (ended_by_model(finish) and not any(message.get(name) for name in _OTHER_CONTENT))
        if not text and not calls and not refusal and not is_done:
            kinds = ", ".join(sorted(str(key)[:40] for key, value in message.items() if value and key != "role"))
            raise EmptyReply(f"a message without content{_found(kinds)}")
        return ModelReply(
            text=text,
            tool_calls=calls,
            refusal=refusal,
            finish=finish,
            model=_text(data.get("model")),
        )

    def usage(self, data: Mapping[str, Any]) -> Usage:
        """Of the answer's ``usage``."""
        return _usage(data.get("usage"), sent="prompt_tokens", got="completion_tokens")


class Responses:
    """The Responses API, without state kept at the endpoint."""

    def body(self, request: Request) -> dict[str, Any]:
        """The request's JSON."""
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": request.model,
            "input": [item for message in request.messages for item in _response_items(message)],
            "store": False,
        }
        body |= _given(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_output_tokens=sampling.max_tokens,
            reasoning={"effort": sampling.reasoning_effort} if sampling.reasoning_effort else None,
            # The endpoint keeps nothing (store: false), so what it reasoned has to travel with the dialogue.
            include=["reasoning.encrypted_content"] if sampling.reasoning_effort else None,
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
        if request.display is not None:
            body |= {"tools": [_computer_tool(request.model, *request.display)], "truncation": "auto"}
        if request.schema is not None:
            body["text"] = {
                "format": {
                    "type": "json_schema", "name": request.schema.name, "schema": request.schema.schema, "strict": True
                }
            }  # fmt: skip
        return {**body, **request.extra}

    def parse(self, data: Mapping[str, Any]) -> ModelReply:
        """All text and calls of the output."""
        output, incomplete = data.get("output"), data.get("incomplete_details")
        finish = _text(incomplete.get("reason")) if isinstance(incomplete, dict) else _text(data.get("status"))
        if output is None and cut_by(finish):
            output = []
        if not isinstance(output, list):
            raise EmptyReply("no output")
        texts, refusals, calls = [], [], []
        for item in output:
            if item.get("type") == "function_call":
                calls.append(
                    ToolCall(
                        id=_text(item.get("call_id")),
                        name=_text(item.get("name")),
                        arguments=arguments_of(item.get("arguments")),
                    )
                )
            elif item.get("type") == "computer_call":
                calls.append(_computer_call(item))
            for part in (item.get("content") or ()) if item.get("type") == "message" else ():
                if part.get("type") == "output_text":
                    texts.append(_text(part.get("text")))
                elif part.get("type") == "refusal":
                    refusals.append(_text(part.get("refusal")))
        is_known = all(item.get("type") in ("reasoning", "message") for item in output)
        is_done = cut_by(finish) or (ended_by_model(finish) and is_known)
        if not any(texts) and not calls and not any(refusals) and not is_done:
            kinds = ", ".join(dict.fromkeys(str(item.get("type"))[:40] for item in output))
            raise EmptyReply(f"an output without text or a call that is known here{_found(kinds)}")
        return ModelReply(
            text="".join(texts),
            tool_calls=tuple(calls),
            refusal="".join(refusals),
            finish=finish,
            model=_text(data.get("model")),
            items=tuple(output),
        )

    def usage(self, data: Mapping[str, Any]) -> Usage:
        """Of the answer's ``usage``."""
        return _usage(data.get("usage"), sent="input_tokens", got="output_tokens")


def _found(kinds: str) -> str:
    """What is there in place of what was expected, by name."""
    return f", found {kinds}" if kinds else ""


def _check_known(call: object) -> None:
    """`EmptyReply` for a tool call of another kind than those that were offered: to act on the rest is a guess."""
    if isinstance(call, dict) and not isinstance(call.get("function"), dict):
        raise EmptyReply(f"a tool call of the type {str(call.get('type'))[:40]!r}, expected a function")


def _computer_tool(model: str, width: int, height: int) -> dict[str, Any]:
    """The preview's tool is told the screen; its successor sees it."""
    if "computer-use-preview" not in model:
        return {"type": "computer"}
    screen = {"display_width": width, "display_height": height}
    return {"type": "computer_use_preview", "environment": "browser", **screen}


def _computer_call(item: Mapping[str, Any]) -> ToolCall:
    """One action, or with the preview's successor several, and what is to be looked at first."""
    actions = item.get("actions") or ([item["action"]] if item.get("action") else [])
    arguments = {"actions": actions, "checks": item.get("pending_safety_checks") or []}
    return ToolCall(id=_text(item.get("call_id")), name="computer", arguments=json.dumps(arguments))


APIS: Mapping[str, API] = {"chat": Chat(), "responses": Responses()}


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


def _response_items(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.answers, "output": message.text}]
    if message.items:
        return [dict(item) for item in message.items]
    items: list[dict[str, Any]] = []
    # Named speakers exist in Chat Completions only; there the name tells an example's sides apart.
    text = f"{message.name}:\n{message.text}" if message.name else message.text
    if message.images:
        parts: list[dict[str, Any]] = [{"type": "input_text", "text": text}]
        parts += [
            {"type": "input_image", "image_url": _address(image), "detail": image.detail} for image in message.images
        ]
        items.append({"role": message.role, "content": parts})
    elif text or not message.tool_calls:
        items.append({"role": message.role, "content": text})
    items += [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return items


def _address(image: Image) -> str:
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    """The number of tokens that is told there, a whole one; None when what is told can't be one."""
    if isinstance(value, float) and value.is_integer():  # as some languages write whole numbers
        value = int(value)
    return value if isinstance(value, int) and is_count(value) else None


def _share(data: Mapping[str, Any], whole: int | None, *path: str) -> int | None:
    """How many of the ``whole`` are of the kind at ``path``; none when nothing is told of them."""
    value: Any = data
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else value
        if value is None:
            return 0
    count = _count(value)
    return None if count is None or whole is None or count > whole else count


_UNTOLD = Usage(calls=1, untold_calls=1, cost=None)


def _usage(data: object, *, sent: str, got: str) -> Usage:
    """What the endpoint counted, by the names that its API gives to what was sent and got.

    Of an endpoint that does not count, or counts what can't be, nothing is known, least of all the cost. Its reply is
    none the worse for that.
    """
    if not isinstance(data, dict):
        return _UNTOLD
    put, out = _count(data.get(sent)), _count(data.get(got))
    told, total = data.get(got), _count(data.get("total_tokens"))
    # Gemini and xAI leave the thinking out of what was got: only the total has it.
    thought = max(0, (total or 0) - (put or 0) - (out or 0)) if put else 0
    if thought and (told is None or out is not None):
        out = (out or 0) + thought
    reasoning = _share(data, out, f"{got}_details", "reasoning_tokens")
    counts = {
        "input_tokens": put,
        "cached_input_tokens": _share(data, put, f"{sent}_details", "cached_tokens"),
        "output_tokens": out,
        "reasoning_tokens": reasoning if told is None or reasoning is None else max(reasoning, thought),
    }
    if not put:  # no prompt has no tokens: so say proxies that don't count
        return _UNTOLD
    known = {name: count for name, count in counts.items() if count is not None}
    return Usage(calls=1, **known) if len(known) == len(counts) else _UNTOLD
