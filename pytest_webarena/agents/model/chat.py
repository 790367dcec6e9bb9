"""The history ``chat``: one growing list of messages, with the results of tool calls.

Endpoints cache the beginning that a request shares with earlier ones. So messages are only appended, and old pages are
dropped several at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_webarena.agents.model.history import HistoryKeys
from pytest_webarena.llm.messages import Image, Message

__all__ = ["Chat", "dropped"]

_INPUTS = "These pictures belong to the task."
_NOT_DONE = "Not carried out."
_REST_NOT_DONE = "The rest of the call was not carried out"
_DONE = "Done; the page follows."


@dataclass(slots=True)
class _Exchange:
    """A prompt and what came after it: replies without an action, the reply, and the results of its calls."""

    prompt: Message
    prompt_without_page: Message
    messages: list[Message]
    calls: list[int]
    """Indexes in ``messages`` of the results of the last reply's calls."""
    current: int = -1
    """Number of the call that was carried out last; -1: none."""

    def set_result(self, number: int, **values: Any) -> None:
        """Change the result of a call, if there is one."""
        if 0 <= number < len(self.calls):
            index = self.calls[number]
            self.messages[index] = replace(self.messages[index], **values)


class Chat:
    """The messages of one trial."""

    def __init__(self, keys: HistoryKeys, inputs: Sequence[Image], *, computer: bool = False) -> None:
        """Create a chat without messages. ``computer``: results of calls are screenshots, or errors."""
        self._keys = keys
        self._inputs = (Message(role="user", text=_INPUTS, images=tuple(inputs)),) if inputs else ()
        self._computer = computer
        self._exchanges: list[_Exchange] = []

    def messages(self, head: Sequence[Message], prompt: Message) -> tuple[Message, ...]:
        """The messages of a request: ``head``, the task's images, earlier exchanges, and ``prompt``."""
        number, keys = len(self._exchanges), self._keys
        first = dropped(number, keys.length) if keys.length else 0
        full = max(first, dropped(number, keys.pages))
        pictured = max(full, dropped(number, keys.images))
        earlier: list[Message] = []
        for index in range(first, number):
            exchange = self._exchanges[index]
            shown = exchange.prompt if index >= full else exchange.prompt_without_page
            after = exchange.messages
            if index + 1 < pictured:  # the screenshot in a result belongs to the next page
                after = [replace(each, images=()) for each in after]
            earlier += [shown if index >= pictured else replace(shown, images=()), *after]
            if index == full - 1:
                earlier[-1] = replace(earlier[-1], cache=True)  # what comes before stays the same for longest
        return (*head, *self._inputs, *earlier, replace(prompt, cache=True))

    def add(self, prompt: Message, without_page: Message, messages: Sequence[Message], *, valid: bool) -> None:
        """Append a prompt and the messages after it. ``valid`` says that the last reply's first call is carried out;
        otherwise its results say why not."""
        last = max((index for index, each in enumerate(messages) if each.role == "assistant"), default=-1)
        calls = [index for index, each in enumerate(messages) if index > last and each.role == "tool"]
        exchange = _Exchange(prompt, replace(without_page, images=()), list(messages), calls)
        self._exchanges.append(exchange)
        if valid:
            for number in range(len(calls)):
                exchange.set_result(number, text=_NOT_DONE)
            self.carried_out(0)

    def carried_out(self, call: int) -> None:
        """Record that an action of the call with this number in the last reply is carried out."""
        exchange = self._exchanges[-1]
        exchange.current = call
        exchange.set_result(call, text="" if self._computer else _DONE, failed=False, images=())

    def failed(self, error: str) -> None:
        """Record that the action that was carried out last had no effect."""
        exchange = self._exchanges[-1]
        exchange.set_result(exchange.current, text=f"No effect: {error}", failed=self._computer)

    def skipped(self, why: str, call: int) -> None:
        """Record why the rest of the last reply is not carried out, from an action of the call ``call`` on."""
        exchange = self._exchanges[-1]
        if call == exchange.current and 0 <= call < len(exchange.calls):
            so_far = exchange.messages[exchange.calls[call]].text
            exchange.set_result(call, text=f"{so_far} {_REST_NOT_DONE}, because {why}.".strip())
        for number in range(exchange.current + 1, len(exchange.calls)):
            exchange.set_result(number, text=f"{_NOT_DONE[:-1]}, because {why}.")

    def show(self, image: Image | None, url: str, *, whole: bool) -> bool:
        """Add the screenshot after an action to the result of its call.

        Returns whether the next prompt can do without it. That is not so if the result is an error or shows a part
        only (not ``whole``), or if there was no call.
        """
        if not self._exchanges or self._exchanges[-1].current < 0 or image is None:
            return False
        exchange = self._exchanges[-1]
        if exchange.current >= len(exchange.calls):
            return False
        exchange.set_result(exchange.current, images=(image,), url=url)
        return whole and not exchange.messages[exchange.calls[exchange.current]].failed


def dropped(number: int, keep: int) -> int:
    """How many of ``number`` earlier pages are dropped so that at most ``keep`` are left.

    The result grows in steps of half of ``keep``, so that requests between two steps have the same beginning.

    >>> [dropped(number, 4) for number in range(10)], [dropped(number, 0) for number in range(3)]
    ([0, 0, 0, 0, 0, 2, 2, 4, 4, 6], [0, 1, 2])
    """
    step = max(1, keep // 2)
    return -(-max(0, number - keep) // step) * step
