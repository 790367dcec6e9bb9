"""The history ``chat``: one growing list of messages, with the results of tool calls.

Endpoints cache the beginning that a request shares with earlier ones. So messages are only appended, and old pages are
dropped several at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_webarena.agents.model.history import HistoryKeys
from pytest_webarena.llm.messages import Image, Message

__all__ = ["Chat", "dropped"]

_INPUTS = "These pictures belong to the task."
_NOT_DONE = "Not carried out."
_DONE = "Done; the page follows."


@dataclass(slots=True)
class _Exchange:
    """A prompt and what came after it: replies without an action, the reply, and the results of its calls."""

    prompt: Message
    prompt_without_page: Message
    messages: list[Message]
    calls: list[int]
    """Indexes in ``messages`` of the results of the last reply's calls."""
    done: int = 0
    """Number of these calls that were carried out."""


class Chat:
    """The messages of one trial."""

    def __init__(self, keys: HistoryKeys, inputs: Sequence[Image]) -> None:
        self._keys = keys
        self._inputs = (Message(role="user", text=_INPUTS, images=tuple(inputs)),) if inputs else ()
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
            earlier += [shown if index >= pictured else replace(shown, images=()), *exchange.messages]
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
            for index in calls:
                exchange.messages[index] = replace(exchange.messages[index], text=_NOT_DONE)
            self.carried_out()

    def carried_out(self) -> None:
        """Record that the next call of the last reply is carried out."""
        exchange = self._exchanges[-1]
        if exchange.done < len(exchange.calls):
            exchange.done += 1
            self._set_result(exchange.done - 1, _DONE)

    def failed(self, error: str) -> None:
        """Record that the call that was carried out last had no effect."""
        self._set_result(self._exchanges[-1].done - 1, f"No effect: {error}")

    def skipped(self, why: str) -> None:
        """Record why the other calls of the last reply are not carried out."""
        exchange = self._exchanges[-1]
        for number in range(exchange.done, len(exchange.calls)):
            self._set_result(number, f"{_NOT_DONE[:-1]}, because {why}.")

    def _set_result(self, number: int, text: str) -> None:
        exchange = self._exchanges[-1]
        if 0 <= number < len(exchange.calls):
            index = exchange.calls[number]
            exchange.messages[index] = replace(exchange.messages[index], text=text)


def dropped(number: int, keep: int) -> int:
    """How many of ``number`` earlier pages are dropped so that at most ``keep`` are left.

    The result grows in steps of half of ``keep``, so that requests between two steps have the same beginning.

    >>> [dropped(number, 4) for number in range(10)], [dropped(number, 0) for number in range(3)]
    ([0, 0, 0, 0, 0, 2, 2, 4, 4, 6], [0, 1, 2])
    """
    step = max(1, keep // 2)
    return -(-max(0, number - keep) // step) * step
