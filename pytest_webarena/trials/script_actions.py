"""Extracts what scripts did between the steps of a self-driving agent from the signals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pytest_webarena.element_paths import css_path, frame_prefix
from pytest_webarena.evidence import ScriptAct, TargetRecord
from pytest_webarena.signals import AddressChanged, DomEvent, Signal

__all__ = ["Entered", "ScriptActs", "Signals"]

_MOST = 1000
"""Maximum number of script actions before one step."""
_SHAPED = frozenset({"color", "date", "datetime-local", "month", "range", "time", "week"})
"""Types of fields whose value differs from the keys typed in them."""
_NO_TEXT = frozenset({"checkbox", "password", "radio"})
"""Types of fields whose value is no text, or must not be recorded."""


class Signals(Protocol):
    """The signals of a session."""

    def since(self, number: int = 0) -> tuple[Signal, ...]:
        """All signals but the first ``number``."""
        ...


@dataclass(frozen=True, slots=True)
class Entered:
    """Field changes by real input, in order; none of password fields."""

    events: tuple[DomEvent, ...] = ()

    @property
    def shaped(self) -> str | None:
        """The last value entered in a date field or the like; None if there is none."""
        return next((each.value for each in reversed(self.events) if _is_shaped(each)), None)

    def left_in(self, target: TargetRecord | None) -> str | None:
        """The content of the field ``target`` after typing; None when nothing was typed there."""
        if target is None or not target.selector:
            return None
        return next((each.value for each in reversed(self.events) if _is_text(each, target.selector)), None)


class ScriptActs:
    """Reads script actions from a session's signals and assigns them to steps."""

    def __init__(self, signals: Signals) -> None:
        self._signals = signals
        self._read = len(signals.since())
        self._waiting: list[DomEvent | AddressChanged] = []
        """Script actions, and the address changes they led to, that belong to no step yet."""

    def read(self) -> Entered:
        """Read the new signals; return what real input has entered since."""
        new = self._signals.since(self._read)
        self._read += len(new)
        self._waiting += [
            each for each in new if isinstance(each, AddressChanged) or (isinstance(each, DomEvent) and each.by_script)
        ]
        return Entered(tuple(each for each in new if isinstance(each, DomEvent) and not each.by_script))

    def take(self, url: str = "") -> tuple[ScriptAct, ...]:
        """The script actions before a step that begins now. With ``url``, only those before a page came to that address
        without a command: later ones belong to the next step."""
        triggering = (
            number for number, each in enumerate(self._waiting) if isinstance(each, AddressChanged) and each.url == url
        )
        end = next(triggering, len(self._waiting) - 1) + 1
        taken, self._waiting = self._waiting[:end], self._waiting[end:]
        return tuple(act_of(each) for each in taken if isinstance(each, DomEvent))[:_MOST]


def act_of(event: DomEvent) -> ScriptAct:
    """The script action that an event describes."""
    own = event.target.selector or css_path(event.chain)
    known = bool(own) and event.whole
    return ScriptAct(
        event=event.event,
        target=event.target,
        selector=f"{frame_prefix(event.chain, shadows=True)}css={own}" if known else "",
        rows=event.rows,
        value=event.value,
        tab=event.tab,
        commanded=event.commanded,
    )


def _is_shaped(event: DomEvent) -> bool:
    return event.target.tag == "input" and _kind(event) in _SHAPED and event.event in ("input", "change")


def _is_text(event: DomEvent, selector: str) -> bool:
    written = event.target.tag == "textarea" or (event.target.tag == "input" and _kind(event) not in _NO_TEXT)
    return written and event.event == "input" and event.target.selector == selector


def _kind(event: DomEvent) -> str:
    return event.chain[0].attributes.get("type", "").lower() if event.chain else ""
