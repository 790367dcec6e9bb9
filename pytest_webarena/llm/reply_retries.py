"""Asks a model until a reply can be read, a bounded number of times."""

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
    """What came of it."""

    read: T | str
    """What was read in the last reply; a text: why nothing could be."""
    last: str
    """The last reply."""
    asked: int
    """How many replies there were."""


def converse(
    send: Callable[[tuple[Message, ...]], ModelReply],
    messages: tuple[Message, ...],
    read: Callable[[str], T | str],
    *,
    most: int,
) -> Conversed[T]:
    """``send`` the messages until ``read`` can read the reply, at most ``most`` times.

    What ``read`` says of a reply that it can't read is sent as the next message. A reply that the endpoint says was cut
    is none: what came after might have taken back what is there. What the model thought before is no part of what it
    says. Raises what ``send`` raises.
    """
    asked, found, text = 0, "", ""
    while True:
        reply = send(messages)
        asked, text = asked + 1, reply.text or reply.refusal
        told = _CUT if reply.is_cut else read(reply.said if reply.text else text)
        if not isinstance(told, str):
            return Conversed(read=told, last=text, asked=asked)
        found = told
        if asked >= most:
            return Conversed(read=found, last=text, asked=asked)
        messages = (*messages, reply.message, Message(role="user", text=found))
