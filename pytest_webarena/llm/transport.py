"""One request: returns the answer as plain data, or raises `RequestFault`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pytest_webarena.llm.api import API, Events, response_of
from pytest_webarena.llm.apis import APIS
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.error_bodies import read_error
from pytest_webarena.llm.faults import RequestFault, error_text
from pytest_webarena.llm.rejections import is_prompt_filtered, refused_setting, rejection_of
from pytest_webarena.llm.sdks import open_answer

__all__ = ["LARGEST_ANSWER", "send"]

LARGEST_ANSWER = 32 * 1024 * 1024
"""Bytes of an answer, at most; a longer one fails."""

_DEEPEST = 100
"""Levels of an answer's JSON, at most. No reply has a tenth of them, and the code that reads one is recursive."""


def send(endpoint: Endpoint, body: Mapping[str, Any], *, timeout: float, now: Callable[[], float]) -> Mapping[str, Any]:
    """Post ``body`` and return the answer's JSON; the parts of a streamed answer are joined. Raises `RequestFault`.

    ``timeout`` in seconds limits the whole exchange, also with an endpoint that sends single bytes now and then.
    """
    api, ends = APIS[endpoint.api], now() + timeout
    content, streamed = bytearray(), False
    try:
        with open_answer(endpoint, _well_formed(body), timeout, now) as answer:
            streamed = "event-stream" in answer.headers.get("content-type", "")
            for chunk in answer.iter_bytes():
                content += chunk
                if len(content) > LARGEST_ANSWER:
                    raise RequestFault(f"an answer of more than {LARGEST_ANSWER} bytes", again=False, billed=True)
                if now() > ends:
                    raise RequestFault("the answer did not end in time", billed=True)
        if streamed:
            return _joined(bytes(content), api)
    except RequestFault as fault:
        if streamed:
            fault.so_far = api.counted(_events(bytes(content))[0], final=False)
        raise
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        shown = bytes(content[:80]).decode("utf-8", "replace")
        raise RequestFault(f"expected JSON, got {shown!r}", billed=True) from None
    if not isinstance(data, dict):
        if isinstance(data, list) and (errors := [each for each in map(_error_of, data) if each is not None]):
            raise _error_in_answer(errors, billed=False)
        raise RequestFault(f"expected a JSON object, got {type(data).__name__}", billed=True)
    if (reported := _error_of(data)) is not None:
        raise _error_in_answer(reported, billed=False, answer=data)
    if _is_blocked([data]):
        raise RequestFault("no reply to a prompt that was filtered", billed=True, rejection="filtered", answer=data)
    if _is_deep(data):
        raise RequestFault(f"expected a reply, got JSON nested deeper than {_DEEPEST} levels", billed=True, answer=data)
    return data


def _well_formed(data: Any) -> Any:
    """``data`` with each lone surrogate replaced: pages and models produce them, and they can't be sent."""
    match data:
        case str():
            whole = data.isascii() or data.encode("utf-8", "replace").decode() == data
            return data if whole else data.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_well_formed(key): _well_formed(each) for key, each in data.items()}
        case list() | tuple():
            return [_well_formed(each) for each in data]
    return data


def _is_deep(data: object) -> bool:
    """Whether ``data`` is nested deeper than any reply, so that recursive code would overflow its stack."""
    level = [data]
    for _ in range(_DEEPEST):
        level = [
            each
            for inner in level
            if isinstance(inner, dict | list)
            for each in (inner.values() if isinstance(inner, dict) else inner)
        ]
    return bool(level)


def _error_of(data: object, *, event: bool = False) -> object:
    """The error in an answer with HTTP 200 or in an event of a stream; None when it has none.

    Some endpoints report it in the choice, also after a part of the reply.
    """
    if not isinstance(data, Mapping):
        return None
    choices = data.get("choices")
    for part in (response_of(data), *(choices if isinstance(choices, list) else ())):
        if isinstance(part, Mapping) and part.get("error"):
            return part["error"]
    if data.get("type") in ("error", "response.failed"):
        return data
    replied = not event and data.get("status") != "failed" and (choices or data.get("output"))
    names = ("error", "errors") if event or choices or data.get("output") else ("error", "errors", "detail", "message")
    return None if replied else data if any(data.get(name) for name in names) else None


def _is_blocked(answers: Events) -> bool:
    """Whether there is no choice because a filter blocked the prompt."""
    return not any(each.get("choices") for each in answers) and any(is_prompt_filtered(each) for each in answers)


def _error_in_answer(reported: object, *, billed: bool, answer: Mapping[str, Any] | None = None) -> RequestFault:
    """The fault for an error that came with HTTP 200. Its code may be an HTTP status."""
    rejection = rejection_of(read_error(reported).status or 400, reported)
    text = f"an error in place of a reply: {error_text(reported)}"
    # A request that is too long, or has a wrong setting, is refused before any work is done.
    return RequestFault(
        text, billed=billed and rejection in ("", "filtered"), status=read_error(reported).status, rejection=rejection,
        setting=refused_setting(reported), answer=answer,
    )  # fmt: skip


def _joined(content: bytes, api: API) -> Mapping[str, Any]:
    """The answer that a stream's events add up to. A fault in the stream keeps the usage that the stream reported."""
    events, broken = _events(content)
    answer = api.counted(events, final=True)
    for event in events:
        if (reported := _error_of(event, event=True)) is not None:
            raise _error_in_answer(reported, billed=True, answer=answer)
    if broken:
        raise RequestFault(broken, billed=True, answer=answer)
    try:
        joined = api.joined(events)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        shape = f"expected a stream of a reply, got one of another shape ({type(error).__name__}: {error})"
        raise RequestFault(shape, billed=True, answer=answer) from error
    if not joined and _is_blocked(events):
        raise RequestFault("no reply to a prompt that was filtered", billed=True, rejection="filtered", answer=answer)
    if not joined:
        raise RequestFault("the stream was cut off before its end", billed=True, answer=answer)
    return joined


def _events(content: bytes) -> tuple[list[Mapping[str, Any]], str]:
    """The JSON of each server-sent event, and the error of the first event that has none."""
    found: list[Mapping[str, Any]] = []
    for line in content.replace(b"\r\n", b"\n").split(b"\n"):
        data = line.removeprefix(b"data:").strip() if line.startswith(b"data:") else b""
        if not data or data == b"[DONE]":
            continue
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            return found, f"expected JSON in the stream: {error}"
        if isinstance(event, dict):
            found.append(event)
    return found, ""
