"""What scripts did between the steps of a self-driving agent, out of the signals."""

from __future__ import annotations

from typing import Protocol

from pytest_webarena.element_paths import path_of, way_in
from pytest_webarena.evidence import ScriptAct
from pytest_webarena.signals import AddressChanged, DomEvent, Signal

__all__ = ["ScriptActs", "Signals"]

_MOST = 1000
"""Acts before one step."""
_SHAPED = frozenset({"color", "date", "datetime-local", "month", "range", "time", "week"})
"""Kinds of fields of which the value is not what keys write in them."""


class Signals(Protocol):
    """What a session has signalled."""

    def since(self, number: int = 0) -> tuple[Signal, ...]:
        """All but the first ``number``."""
        ...


class ScriptActs:
    """Reads them on."""

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self._read = len(signals.since())
        self._waiting: list[DomEvent | AddressChanged] = []
        """What scripts did, and where that led, that no step has yet."""

    def read(self) -> str | None:
        """Read what has come; the value that input has given to a date or the like meanwhile, if it has: the last."""
        new = self._signals.since(self._read)
        self._read += len(new)
        self._waiting += [
            each for each in new if isinstance(each, AddressChanged) or (isinstance(each, DomEvent) and each.by_script)
        ]
        shaped = [each.value for each in new if isinstance(each, DomEvent) and _is_shaped(each)]
        return shaped[-1] if shaped else None

    def take(self, url: str = "") -> tuple[ScriptAct, ...]:
        """What they did before a step that begins now; with ``url``, before a page came to that address by itself: what
        was done there comes before the next step."""
        led = (
            number for number, each in enumerate(self._waiting) if isinstance(each, AddressChanged) and each.url == url
        )
        end = next(led, len(self._waiting) - 1) + 1
        taken, self._waiting = self._waiting[:end], self._waiting[end:]
        return tuple(act_of(each) for each in taken if isinstance(each, DomEvent))[:_MOST]


def act_of(event: DomEvent) -> ScriptAct:
    """What a script's event tells that was done."""
    own = event.target.selector or path_of(event.chain)
    known = bool(own) and event.whole
    return ScriptAct(
        event=event.event,
        target=event.target,
        selector=f"{way_in(event.chain, shadows=True)}css={own}" if known else "",
        rows=event.rows,
        value=event.value,
        tab=event.tab,
        commanded=event.commanded,
    )


def _is_shaped(event: DomEvent) -> bool:
    kind = event.chain[0].attributes.get("type", "").lower() if event.chain else ""
    return (
        not event.by_script and event.target.tag == "input" and kind in _SHAPED and event.event in ("input", "change")
    )
