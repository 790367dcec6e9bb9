"""The signal stream: what a session records by itself from its first step on, whatever drives it.

An agent that is asked step by step, one that drives the browser over CDP and a person at the window leave the same
kinds of signals, so whoever wants to know what happened (milestones, recorders, explanations, judging again) reads this
one stream instead of listening to pages on its own. Requests are no signals: the gateway records them, and they are in
`Evidence.requests`; `time` is on the same clock, so both can be laid side by side.

What is filled today: addresses and dialogs. `DomEvent` is the form that later versions fill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "AddressChanged",
    "DialogClosed",
    "DialogOpened",
    "DomEvent",
    "Signal",
    "TargetRecord",
    "signal_from_json",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRecord:
    """The element an action hit, described so that another run can find it again."""

    selector: str = ""
    role: str = ""
    name: str = ""
    tag: str = ""
    text: str = ""
    """Visible text, at most 200 characters."""
    x: float | None = None
    y: float | None = None
    """Centre in CSS pixels of the viewport."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signal:
    time: float
    """Unix time in seconds, as `RequestRecord.time`; within one stream it never goes back."""
    tab: int
    """Which tab, counted from 0 in the order in which the session's tabs came up. No number is given twice."""
    url: str
    """Address of the tab's page when it happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressChanged(_Signal):
    """A tab shows another address: ``url`` is the new one. Also when a script changed it within the same document.

    As the browser says it: a page of its own about a failure has an address like ``chrome-error://…``.
    """

    kind: Literal["address"] = "address"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogOpened(_Signal):
    """A native dialog came up."""

    dialog: str
    """``alert``, ``confirm``, ``prompt`` or ``beforeunload``."""
    message: str
    proposed: str = ""
    """The answer that a prompt proposes."""
    kind: Literal["dialog_opened"] = "dialog_opened"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogClosed(_Signal):
    """The tab's dialog went away, answered by the agent, by a policy or by a person."""

    accepted: bool
    text: str = ""
    """What a prompt was answered with."""
    kind: Literal["dialog_closed"] = "dialog_closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomEvent(_Signal):
    """A trusted event of a page: one that came from input, not from a script. Nothing records these yet."""

    event: str
    """Its DOM name: ``click``, ``change``, ``submit``, …"""
    target: TargetRecord
    value: str | None = None
    """Of a form field, after the event."""
    kind: Literal["dom"] = "dom"


Signal = AddressChanged | DialogOpened | DialogClosed | DomEvent

_KINDS: dict[str, type[AddressChanged | DialogOpened | DialogClosed]] = {
    "address": AddressChanged,
    "dialog_opened": DialogOpened,
    "dialog_closed": DialogClosed,
}


def signal_from_json(data: Mapping[str, Any]) -> Signal:
    """Read what `dataclasses.asdict` made of a signal. `ValueError` for a kind that is none."""
    kind = data["kind"]
    if kind == "dom":
        return DomEvent(**{**data, "target": TargetRecord(**data["target"])})
    if kind not in _KINDS:
        raise ValueError(f"expected a signal's kind, one of {', '.join((*_KINDS, 'dom'))}, found {kind!r}")
    return _KINDS[kind](**data)
