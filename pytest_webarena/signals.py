"""The signal stream: what a session records by itself from its first step on, whatever drives it.

An agent that is asked step by step, one that drives the browser over CDP and a person at the window leave the same
kinds of signals, so whoever wants to know what happened (milestones, recorders, explanations, judging again) reads this
one stream instead of listening to pages on its own. Requests are no signals: the gateway records them, and they are in
`Evidence.requests`; `time` is on the same clock, so both can be laid side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "AddressCause",
    "AddressChanged",
    "ControlRecord",
    "DialogClosed",
    "DialogOpened",
    "DomEvent",
    "ElementRecord",
    "KeyPressed",
    "Signal",
    "TabClosed",
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
    reads: tuple[tuple[str, ...], ...] = ()
    """Of what an action hit by the mouse: tag and text of itself, and of those around it that have siblings of their
    kind, from the innermost; the text is all that is in it, empty if that is more than 200 characters. Third:
    ``numbers``, if one beside it reads so but for numbers. None in a shadow tree, and in records of older versions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", tuple(tuple(each) for each in self.reads))


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementRecord:
    """An element or one of those around it, with what selectors can ask of it, so that one which nobody had thought of
    when the page was live can be decided afterwards."""

    tag: str
    """In lower case."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """``id`` and ``class`` among them; at most 40, each value at most 300 characters. What was cut ends with ``…``."""
    nth: int = 0
    """Which of its parent's element children it is, from 1; 0 when there is no telling."""
    children: int = 0
    """How many element children its parent has; 0 when there is no telling."""
    nth_of_type: int = 0
    """Which of those with its tag it is, from 1."""
    of_type: int = 0
    """How many of those have its tag."""
    within: Literal["element", "shadow", "frame", "root"] = "element"
    """What the next one outwards is to it: its parent, the host of its shadow tree, the frame that shows its document,
    or nothing (there is none)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRecord:
    """The link, button or the like in which an element lies."""

    place: int
    """Which element of the chain it is, from 1: the target is 0."""
    name: str
    text: str
    """Visible text, at most 200 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signal:
    time: float
    """Unix time in seconds, as `RequestRecord.time`; within one stream it never goes back."""
    tab: int
    """Which tab, counted from 0 in the order in which the session's tabs came up. No number is given twice."""
    url: str
    """Address of the tab's page when it happened."""


AddressCause = Literal["", "page", "browser", "history"]
"""Who asked for it: the page (a link, a form, a script), or somebody beside it, who typed an address or went through
the history (scripts can do that, too). Empty where the browser does not tell, and in records of older versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressChanged(_Signal):
    """A tab shows another address: ``url`` is the new one. Also when a script changed it within the same document.

    As the browser says it: a page of its own about a failure has an address like ``chrome-error://…``.
    """

    cause: AddressCause = ""
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
    """A trusted event of a page: one that came from input, not from a script (but see ``by_script``)."""

    event: str
    """Its DOM name: ``click``, ``change``, ``submit``, …; see also ``by_script``."""
    target: TargetRecord
    value: str | None = None
    """Of a form field, after the event: its text, ``on`` or ``off`` for boxes to tick, the labels of what is chosen in
    a list, one a line, the names of files. None for other elements and for a password's field."""
    chain: tuple[ElementRecord, ...] = ()
    """The target and what is around it, outwards, through shadow trees and frames; at most 40 of each origin."""
    whole: bool = True
    """Whether ``chain`` reaches the outermost document's root."""
    frame: str = ""
    """Address of the target's document; empty when that is the tab's."""
    maker: str | None = None
    """Of a document without an address of a server's (``about:blank``, ``about:srcdoc``): the address of the page that
    made it, or no more than the origin of that; empty where there is no telling. None for documents that have one, and
    in records of older versions."""
    control: ControlRecord | None = None
    """Of what is clicked: the nearest link, button or the like around the target, if the target is none itself; None in
    records of older versions."""
    by_script: bool = False
    """No input made it, but a script of the page's, or of an agent's that drives the browser itself; recorded for such
    agents alone. Of pages' own scripts no more than ``change``, ``put`` and ``set``. ``value`` of a field is what it
    does hold. Beside the events that scripts make, there are four names of what none tells: ``set``, a field was given
    its value without a word; ``put``, it was announced, but somebody had been writing there, or it is a box;
    ``submit``, a form was asked to be sent (the target is its button, or the form); ``sent``, it was sent so."""
    commanded: bool = False
    """Of what is by script: a command of the agent's that may run scripts was under way, and no event of which it
    came. What was ``set`` or ``put`` was found so then."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Of what is by script: tag and text of those around the target, itself included, which the target's selector tells
    apart by their number alone, or by an id or the like that may be one, from the innermost; without those that hold
    more than 200 characters. Third, if there is any: what the fields in it hold, and what is in it is called; fourth:
    ``numbers``, if one beside it reads so but for numbers."""
    selects: bool = False
    """Of a click: the pointer was drawn over the page from where it was pressed, which has selected what is there."""
    kind: Literal["dom"] = "dom"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPressed(_Signal):
    """A key that writes nothing was pressed in a page: outside of fields, or one that fields leave to the page (Escape,
    arrows in a line of text, Enter with another key held). Enter by itself is a `DomEvent`."""

    keys: str
    """As the action ``press`` says it: ``Escape``, ``j``, ``Control+Enter``."""
    target: TargetRecord
    """What had the focus; the body where nothing had."""
    chain: tuple[ElementRecord, ...] = ()
    """As of `DomEvent`."""
    whole: bool = True
    frame: str = ""
    kind: Literal["key"] = "key"


@dataclass(frozen=True, slots=True, kw_only=True)
class TabClosed(_Signal):
    """A tab was closed, while others went on; not at a session's end."""

    cause: AddressCause = ""
    """``browser`` where no page can have done it. Empty where one could: a tab that a page had opened."""
    kind: Literal["tab_closed"] = "tab_closed"


Signal = AddressChanged | DialogOpened | DialogClosed | DomEvent | KeyPressed | TabClosed

_KINDS: dict[str, type[AddressChanged | DialogOpened | DialogClosed | TabClosed]] = {
    "address": AddressChanged,
    "tab_closed": TabClosed,
    "dialog_opened": DialogOpened,
    "dialog_closed": DialogClosed,
}


def signal_from_json(data: Mapping[str, Any]) -> Signal:
    """Read what `dataclasses.asdict` made of a signal. `ValueError` for a kind that is none."""
    kind = data["kind"]
    if kind == "dom":
        chain = tuple(ElementRecord(**each) for each in data.get("chain", ()))
        control = ControlRecord(**data["control"]) if data.get("control") else None
        rows = tuple(tuple(row) for row in data.get("rows", ()))
        target = TargetRecord(**data["target"])
        return DomEvent(**{**data, "target": target, "chain": chain, "control": control, "rows": rows})
    if kind == "key":
        chain = tuple(ElementRecord(**each) for each in data.get("chain", ()))
        return KeyPressed(**{**data, "target": TargetRecord(**data["target"]), "chain": chain})
    if kind not in _KINDS:
        raise ValueError(f"expected a signal's kind, one of {', '.join((*_KINDS, 'dom', 'key'))}, found {kind!r}")
    return _KINDS[kind](**data)
