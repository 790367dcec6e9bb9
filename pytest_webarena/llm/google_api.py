"""Google's GenAI API (`generateContent`), in the JSON form of its REST interface.

Parts of a reply may have a thought's signature, which has to be sent back unchanged in the same part. The prompt cache
is implicit: requests with equal beginnings use it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_webarena.evidence.usage import Usage
from pytest_webarena.llm.api import UNKNOWN_USAGE, EmptyReply, Events, as_text, count, given, labelled, objects
from pytest_webarena.llm.messages import (
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

__all__ = ["GoogleGenAI"]


class GoogleGenAI:
    """The GenAI API."""

    computer_tools: tuple[ComputerToolName, ...] = ("computer_use",)

    def problem(self, sampling: Sampling) -> str:
        """Return that a budget and an effort exclude each other."""
        if sampling.thinking_tokens is not None and sampling.reasoning_effort is not None:
            return "expected sampling.thinking_tokens or sampling.reasoning_effort, found both"
        return ""

    def body(self, request: Request) -> dict[str, Any]:
        """Return the request's JSON; ``model`` is part of its address. Keys of ``extra`` are merged into objects."""
        sampling = request.sampling
        settings = given(
            temperature=sampling.temperature,
            topP=sampling.top_p,
            maxOutputTokens=sampling.max_tokens,
            seed=sampling.seed,
            stopSequences=list(sampling.stop) or None,
            thinkingConfig=_thinking(sampling),
        )
        if request.schema is not None:
            settings |= {"responseMimeType": "application/json", "responseJsonSchema": request.schema.schema}
        system = [{"text": labelled(each)} for each in request.messages if each.role == "system"]
        body: dict[str, Any] = {
            "model": request.model,
            "contents": _contents([each for each in request.messages if each.role != "system"]),
        }
        body |= given(systemInstruction={"parts": system} if system else None, generationConfig=settings or None)
        if request.tools:
            functions = [
                {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
                for tool in request.tools
            ]
            body |= {
                "tools": [{"functionDeclarations": functions}],
                "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            }
        if request.computer is not None:
            excluded = list(request.computer.exclude) or None
            tool = {"environment": "ENVIRONMENT_BROWSER", **given(excludedPredefinedFunctions=excluded)}
            body["tools"] = [{"computerUse": tool}]
        for name, value in request.extra.items():
            inner = body.get(name)
            body[name] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, Mapping) else value
        return body

    def parse(self, data: Mapping[str, Any]) -> ModelReply:
        """Return the reply in the only candidate; a blocked prompt counts as a filtered reply."""
        candidates = objects(data.get("candidates"))
        if not candidates:
            if reason := _blocked(data):
                return ModelReply(text="", finish=f"content_filter: {reason}", model=as_text(data.get("modelVersion")))
            raise EmptyReply("no candidates")
        if len(candidates) > 1:
            raise ValueError(f"expected one candidate, found {len(candidates)}")
        content, finish = candidates[0].get("content"), as_text(candidates[0].get("finishReason"))
        parts = objects(content.get("parts")) if isinstance(content, Mapping) else []
        texts = [as_text(part.get("text")) for part in parts if not part.get("thought")]
        thoughts = [as_text(part.get("text")) for part in parts if part.get("thought")]
        calls = tuple(_call(part["functionCall"]) for part in parts if isinstance(part.get("functionCall"), Mapping))
        is_known = all(part.get("thought") or set(part) <= {"text", "thought", "thoughtSignature"} for part in parts)
        if not any(texts) and not calls and not (cut_by(finish) or (ended_by_model(finish) and is_known)):
            kinds = ", ".join(sorted({str(key)[:40] for part in parts for key in part}))
            raise EmptyReply(f"no text or call that is known here (finish reason {finish!r}, parts: {kinds or 'none'})")
        return ModelReply(
            text="".join(texts),
            thought="".join(thoughts),
            tool_calls=calls,
            finish=finish,
            model=as_text(data.get("modelVersion")),
            items=tuple(parts),
        )

    def usage(self, data: Mapping[str, Any]) -> Usage:
        """Return the usage; thoughts are counted apart from the candidates, and both are output."""
        usage = data.get("usageMetadata")
        if not isinstance(usage, Mapping):
            return UNKNOWN_USAGE
        names = ("prompt", "toolUsePrompt", "candidates", "thoughts", "cachedContent")
        prompt, used, said, thought, cached = (count(usage.get(f"{name}TokenCount") or 0) for name in names)
        if prompt is None or used is None or said is None or thought is None or cached is None:
            return UNKNOWN_USAGE
        sent, out = count(prompt + used), count(said + thought)
        if not prompt or sent is None or out is None or cached > sent:
            return UNKNOWN_USAGE
        return Usage(
            calls=1, input_tokens=sent, cached_input_tokens=cached, output_tokens=out, reasoning_tokens=thought
        )

    def joined(self, events: Events) -> Mapping[str, Any]:
        """Return the answer that a stream's chunks add up to; empty without a finish reason.

        Raises `ValueError` for parts of several candidates.
        """
        parts: list[Mapping[str, Any]] = []
        last: Mapping[str, Any] | None = None
        for event in events:
            candidates = objects(event.get("candidates"))
            if len(candidates) > 1 or any(each.get("index") for each in candidates):
                raise ValueError("expected one candidate, found pieces of several")
            for candidate in candidates:
                content = candidate.get("content")
                parts += objects(content.get("parts")) if isinstance(content, Mapping) else []
                last = candidate if candidate.get("finishReason") else last
            if not candidates and last is None and _blocked(event):
                return {**event, **self.counted(events, final=True)}
        if last is None:
            return {}
        whole = {**last, "content": {"role": "model", "parts": parts}}
        return {"candidates": [whole], **self.counted(events, final=True)}

    def counted(self, events: Events, *, final: bool) -> Mapping[str, Any]:
        """Return the last usage, which counts what was sent so far; final if its chunk has a finish reason or no
        reply."""
        model = next((model for each in events if (model := each.get("modelVersion"))), "")
        counting = [each for each in events if each.get("usageMetadata") and (not final or _is_last(each))]
        return {"modelVersion": model, "usageMetadata": counting[-1]["usageMetadata"] if counting else None}


def _is_last(event: Mapping[str, Any]) -> bool:
    candidates = objects(event.get("candidates"))
    return not candidates or any(each.get("finishReason") for each in candidates)


def _blocked(data: Mapping[str, Any]) -> str:
    feedback = data.get("promptFeedback")
    return as_text(feedback.get("blockReason")) if isinstance(feedback, Mapping) else ""


def _thinking(sampling: Sampling) -> dict[str, Any] | None:
    """The settings of thoughts, which are asked for where they are set and not off."""
    if sampling.thinking_tokens is not None:
        return {"thinkingBudget": sampling.thinking_tokens, "includeThoughts": sampling.thinking_tokens != 0}
    if sampling.reasoning_effort is not None:
        return {"thinkingLevel": sampling.reasoning_effort.upper(), "includeThoughts": True}
    return None


def _call(call: Mapping[str, Any]) -> ToolCall:
    arguments = call.get("args")
    written = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return ToolCall(id=as_text(call.get("id")), name=as_text(call.get("name")), arguments=written)


def _contents(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Contents, with the results of all calls of a reply in one, as the API demands."""
    contents: list[dict[str, Any]] = []
    answering = False
    for message in messages:
        parts = _parts(message)
        if message.role == "tool" and answering:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})
        answering = message.role == "tool"
    return contents


def _parts(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"functionResponse": _function_response(message)}]
    if message.items:
        return [dict(item) for item in message.items]
    text = labelled(message)
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    parts += map(_inline, message.images)
    for call in message.tool_calls:
        parts.append({"functionCall": {"name": call.name, "args": object_of(call.arguments)}})
    return parts


def _function_response(message: Message) -> dict[str, Any]:
    """The result of a call; that of a computer call has the page's address and its screenshot."""
    response = {"error" if message.failed else "output": message.text} if message.text or not message.url else {}
    response |= given(url=message.url or None, safety_acknowledgement="true" if message.acknowledged else None)
    parts = [] if message.failed else [_inline(image) for image in message.images]
    return given(id=message.answers or None, name=message.name, response=response, parts=parts or None)


def _inline(image: Image) -> dict[str, Any]:
    return {"inlineData": {"mimeType": image.media_type, "data": base64.b64encode(image.data).decode()}}
