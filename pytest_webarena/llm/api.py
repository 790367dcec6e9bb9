"""The protocol of a model API: requests and replies as pure functions from plain data to plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_webarena.evidence.usage import Usage, is_count
from pytest_webarena.llm.messages import ComputerToolName, Message, ModelReply, Request, Sampling

__all__ = [
    "API",
    "UNKNOWN_USAGE",
    "EmptyReply",
    "Events",
    "as_text",
    "count",
    "given",
    "labelled",
    "objects",
    "response_of",
    "share",
]

Events = Sequence[Mapping[str, Any]]
"""The JSON of a stream's server-sent events, in order."""

UNKNOWN_USAGE = Usage(calls=1, untold_calls=1, cost=None)
"""Usage of an answer without valid token counts."""


class EmptyReply(Exception):
    """The endpoint answered without a reply and without a reason for its absence."""


class API(Protocol):
    """A model API: request to JSON, JSON to reply and usage."""

    computer_tools: tuple[ComputerToolName, ...]
    """Tools for computer use that the API has, the default one first."""

    def problem(self, sampling: Sampling) -> str:
        """Return which of these settings the API does not support and what to use instead; empty if it has all."""
        ...

    def body(self, request: Request) -> dict[str, Any]:
        """Return the request's JSON."""
        ...

    def parse(self, data: Mapping[str, Any]) -> ModelReply:
        """Return the reply in the answer's JSON, without its usage.

        A reply without text counts if its finish reason says what cut it (`ModelReply.cut_by`) or that the model ended
        it.

        Raises:
            EmptyReply: there is no reply.
        """
        ...

    def usage(self, data: Mapping[str, Any]) -> Usage:
        """Return the usage that the answer's JSON reports, without its cost. Never raises."""
        ...

    def joined(self, events: Events) -> Mapping[str, Any]:
        """Return the answer that a stream's events add up to; empty when the stream has no end.

        Raises `ArithmeticError`, `AttributeError`, `LookupError`, `TypeError` or `ValueError` for other events.
        """
        ...

    def counted(self, events: Events, *, final: bool) -> Mapping[str, Any]:
        """Return the usage of a broken stream in the form of an answer.

        ``final`` asks for counts of the whole reply only; otherwise the latest counts are enough.
        """
        ...


def given(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def as_text(value: object) -> str:
    """Return ``value`` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def objects(value: object) -> list[Mapping[str, Any]]:
    """Return the objects in ``value`` if it is a list, else an empty list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def response_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer inside an event, as those of OpenAI's Responses API have it; empty without one."""
    response = event.get("response")
    return response if isinstance(response, Mapping) else {}


def count(value: object) -> int | None:
    """Return a number of tokens from an endpoint; None when the value is not a whole, possible count."""
    if isinstance(value, float) and value.is_integer():  # some languages write whole numbers as floats
        value = int(value)
    return value if isinstance(value, int) and is_count(value) else None


def share(data: Mapping[str, Any], whole: int | None, *path: str) -> int | None:
    """Return the number of tokens at ``path``, a part of ``whole``.

    0 when the endpoint does not report it, None when it is not a count or exceeds ``whole``.
    """
    value: Any = data
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else value
        if value is None:
            return 0
    part = count(value)
    return None if part is None or whole is None or part > whole else part


def labelled(message: Message) -> str:
    """Return a message's text below its speaker's name, for APIs without named speakers."""
    return f"{message.name}:\n{message.text}" if message.name else message.text
