"""Dialogue with a model until a reply can be parsed, with a limit on the number of replies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pytest_webarena.llm.messages import Message, ModelReply

__all__ = ["Conversed", "converse"]

T = TypeVar("T")

_CUT = "That reply was cut off before its end. Please answer again, shorter and in the form asked for."


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversed(Generic[T]):
    """Result of a dialogue."""

    read: T | str
    """What ``read`` returned for the last reply; a text says why the reply could not be parsed."""
    last: str
    """The last reply."""
    requests: int
    """The number of replies."""


def converse(
    send: Callable[[tuple[Message, ...]], ModelReply],
    messages: tuple[Message, ...],
    read: Callable[[str], T | str],
    *,
    most: int,
) -> Conversed[T]:
    """Send the messages until ``read`` can parse the reply, at most ``most`` times. Raises what ``send`` raises.

    The text that ``read`` returns for a reply that it can't parse is sent as the next message. A reply that was cut, as
    the endpoint reports, does not count: its missing rest might have revised it. The model's thoughts are not part of a
    reply.
    """
    requests, found, text = 0, "", ""
    while True:
        reply = send(messages)
        requests, text = requests + 1, reply.text or reply.refusal
        result = _CUT if reply.is_cut else read(reply.text_without_thought if reply.text else text)
        if not isinstance(result, str):
            return Conversed(read=result, last=text, requests=requests)
        found = result
        if requests >= most:
            return Conversed(read=found, last=text, requests=requests)
        messages = (*messages, reply.message, Message(role="user", text=found))
