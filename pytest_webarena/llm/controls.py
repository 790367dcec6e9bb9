"""Control requests: the same settings and kinds of content as a request, with short, harmless content.

A model's refusal may be about what the agent did or about the form of the harness's request, such as images that the
model does not read. Only a control of the same form separates the two.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pytest_webarena.llm.messages import COMPUTER, Image, Message, Request, ToolCall

__all__ = ["control_of", "kinds_of"]

_TEXT = "Reply with the word OK."
_URL = "about:blank"
_SQUARES = {
    "image/png": (
        "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAAAAACPAi4CAAAAK0lEQVR42u3MMREAAAgEoNf+nTWEmwcBqMlNRyAQCAQCgUAg"
        "EAgEAsHzYAFQLQF/OJ8+2wAAAABJRU5ErkJggg=="
    ),
    "image/jpeg": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////"
        "////////////////////////wAALCABAAEABAREA/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAAAAAAAAAA"
        "AAAA/9oACAEBAAA/ALQAAAAAAAAAAAAAAAAAAAAH/9k="
    ),
    "image/webp": ("UklGRjoAAABXRUJQVlA4IC4AAACQAwCdASpAAEAAP83m8HI/uDMsIggD8DmJaQAAEDdTUAV4hbkAAP7pEAAAAAAA"),
}
"""White squares of 64 pixels by media type; some endpoints refuse smaller images."""

_T = TypeVar("_T")


def kinds_of(request: Request) -> frozenset[str]:
    """Return the kinds of content in a request, whatever their number, order and text.

    >>> sorted(kinds_of(Request(model="m", messages=(Message(role="user", images=(Image(data=b""),)),))))
    ['user', 'user: image/jpeg auto']
    """
    return frozenset(kind for message in request.messages for kind in _kinds(message))


def control_of(request: Request) -> Request:
    """Return a request with the settings of ``request`` and, as far as they can be made, its kinds of content.

    Each kind of exchange (a reply, the results of its calls, the next page) occurs once. Signed thoughts and other
    content that only the endpoint can make is left out, with its exchange; `kinds_of` shows what is missing.
    """
    first = next((i for i, each in enumerate(request.messages) if each.role == "assistant"), len(request.messages))
    messages = [_harmless(each) for each in request.messages[:first]]
    made = _distinct(_exchange(each, request, 0) for each in _exchanges(request.messages[first:]))
    for number, exchange in enumerate(each for each in made if each):
        messages += _exchange(exchange, request, number)
    return replace(request, messages=tuple(messages) or (Message(role="user", text=_TEXT),))


def _kinds(message: Message) -> Iterator[str]:
    role = message.role
    yield f"{role} {message.name}" if role == "system" and message.name else role
    for image in message.images:
        yield f"{role}: {image.media_type} {image.detail}"
    if message.cache:
        yield f"{role}: cache"
    if role == "tool":
        yield f"tool: {'computer' if message.name == COMPUTER else 'function'}{' failed' if message.failed else ''}"
        if message.url:
            yield "tool: url"
        if message.acknowledged:
            yield "tool: acknowledged"
    for item in message.items:
        yield f"item: {_item_kind(item)}"
    if message.tool_calls and not message.items:
        yield "call"


def _item_kind(item: Mapping[str, Any]) -> str:
    """The type of an output's item, or, of Google's parts, its fields."""
    return str(item.get("type") or " ".join(sorted(item)))


def _exchanges(messages: Sequence[Message]) -> Iterator[list[Message]]:
    exchange: list[Message] = []
    for message in messages:
        if message.role == "assistant" and exchange:
            yield exchange
            exchange = []
        exchange.append(message)
    if exchange:
        yield exchange


def _harmless(message: Message) -> Message:
    images = dict.fromkeys((each.media_type, each.detail) for each in message.images)
    return replace(
        message,
        text=_TEXT,
        images=tuple(
            Image(data=base64.b64decode(_SQUARES[kind]), media_type=kind, detail=detail)
            for kind, detail in images
            if kind in _SQUARES
        ),
        url=_URL if message.url else "",
        acknowledged=(),
    )


def _exchange(exchange: Sequence[Message], request: Request, number: int) -> tuple[Message, ...]:
    """A harmless exchange with one call for each kind of result, its ids from ``number``; empty if it can't be made."""
    reply, *rest = exchange
    made = [_harmless_item(item, request) for item in reply.items]
    results = _distinct(_result(each, request) for each in rest if each.role == "tool")
    if None in made or bool(reply.tool_calls) != bool(results):
        return ()
    known = _distinct(item for item in made if item is not None)
    items = [item for item in known if not _is_call(item)]
    call = next((item for item in known if _is_call(item)), None)
    ids = [f"call_{number}_{index}" for index, _ in enumerate(results)]
    if call is not None:
        items += [_with_id(call, id) for id in ids]
    pairs = list(zip(ids, results, strict=True))
    said = replace(
        _harmless(reply),
        text=_TEXT if reply.text else "",
        tool_calls=tuple(ToolCall(id=id, name=each.name, arguments="{}") for id, each in pairs),
        items=tuple(items),
    )
    return (
        said,
        *(replace(each, answers=id) for id, each in pairs),
        *_distinct(_harmless(each) for each in rest if each.role != "tool"),
    )


def _result(message: Message, request: Request) -> Message:
    """A harmless result without an id, of an offered function if the model called one."""
    return replace(_harmless(message), answers="", name=request.tools[0].name if request.tools else message.name)


def _harmless_item(item: Mapping[str, Any], request: Request) -> Mapping[str, Any] | None:
    """An item of an output as a model could have made it, a call without its id; None if only the endpoint can make it,
    such as signed thoughts, or if the model's tools are not known here."""
    match item:
        case {"type": "message"}:  # OpenAI
            content = [{"type": "output_text", "text": _TEXT, "annotations": []}]
            return {**_kept(item, "type", "role", "status"), "id": "msg_control", "content": content}
        case {"type": "function_call"} if request.tools:
            return {"type": "function_call", "name": request.tools[0].name, "arguments": "{}"}
        case {"type": "computer_call"}:
            action = {"type": "screenshot"}
            actions = {"actions": [action]} if "actions" in item else {"action": action}
            return {**_kept(item, "type", "status"), "pending_safety_checks": [], **actions}
        case {"type": "text"}:  # Anthropic
            return {"type": "text", "text": _TEXT}
        case {"type": "tool_use", "toolset_name": str() as toolset}:
            return {"type": "tool_use", "name": "screenshot", "input": {}, "toolset_name": toolset}
        case {"type": "tool_use"} if request.computer:
            return {"type": "tool_use", "name": COMPUTER, "input": {"action": "screenshot"}}
        case {"type": "tool_use"} if request.tools:
            return {"type": "tool_use", "name": request.tools[0].name, "input": {}}
        case {"text": str()} if len(item) == 1:  # Google
            return {"text": _TEXT}
        case {"functionCall": _} if len(item) == 1 and request.tools:
            return {"functionCall": {"name": request.tools[0].name, "args": {}}}
    return None


def _is_call(item: Mapping[str, Any]) -> bool:
    return "functionCall" in item or item.get("type") in ("function_call", "computer_call", "tool_use")


def _with_id(call: Mapping[str, Any], id: str) -> Mapping[str, Any]:
    match call.get("type"):
        case "tool_use":
            return {**call, "id": id}
        case "function_call":
            return {**call, "call_id": id}
        case "computer_call":
            return {**call, "id": f"cu_{id}", "call_id": id}
    return {"functionCall": {**call["functionCall"], "id": id}}


def _kept(item: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: item[name] for name in names if name in item}


def _distinct(values: Iterable[_T]) -> list[_T]:
    found: list[_T] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
