"""Signals: events that a session records from its first step on, whatever drives the browser.

Step-by-step agents, agents that drive the browser over CDP, and a person at the window leave the same kinds of signals.
Milestones, recorders, explanations and rescoring read this one stream instead of listening to pages. Requests are not
signals: the gateway records them in `Evidence.requests`. Both use the same clock for `time`, so they can be compared.
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
    "Omission",
    "Signal",
    "TabClosed",
    "TargetRecord",
    "signal_from_json",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRecord:
    """The element that an action hit, described so that another run can find it again."""

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
    """Tag and text of an element that the mouse hit, and of those ancestors that have siblings of their kind, from the
    innermost. The text is all that is in the element; empty if it is longer than 200 characters. A third item
    ``numbers`` marks an element with a sibling that differs in numbers only. Empty in a shadow tree and in records of
    older versions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", tuple(tuple(each) for each in self.reads))


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementRecord:
    """An element or one of its ancestors, with what selectors can ask of it, so that a selector that was unknown when
    the page was live can be evaluated afterwards."""

    tag: str
    """Tag name in lower case."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Attributes, ``id`` and ``class`` among them; at most 40, each value at most 300 characters. A shortened one ends
    with ``…``."""
    nth: int = 0
    """Position among its parent's element children, from 1; 0 if unknown."""
    children: int = 0
    """Number of its parent's element children; 0 if unknown."""
    nth_of_type: int = 0
    """Position among its parent's children with the same tag, from 1."""
    of_type: int = 0
    """Number of its parent's children with the same tag."""
    within: Literal["element", "shadow", "frame", "root"] = "element"
    """Relation to the next element outwards: its parent, the host of its shadow tree, the frame that shows its
    document, or nothing (``root``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRecord:
    """The link, button or similar control that contains an element."""

    place: int
    """Index of the control in the chain; 0 is the target, so it is at least 1."""
    name: str
    text: str
    """Visible text, at most 200 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signal:
    time: float
    """Unix time in seconds, as `RequestRecord.time`; it never decreases within one stream."""
    tab: int
    """Number of the tab, from 0 in the order in which the session's tabs opened. Numbers are not reused."""
    url: str
    """Address of the tab's page at the time of the event."""


AddressCause = Literal["", "page", "browser", "history"]
"""Who changed the address: the page (a link, a form, a script), or the browser and the history, which a person controls
(scripts can use the history, too). Empty if the browser does not report it, and in records of older versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressChanged(_Signal):
    """A tab shows another address; ``url`` is the new one. Changes by scripts within the same document count.

    The address is the browser's own: an error page of the browser has an address like ``chrome-error://…``.
    """

    cause: AddressCause = ""
    kind: Literal["address"] = "address"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogOpened(_Signal):
    """A native dialog opened."""

    dialog: str
    """``alert``, ``confirm``, ``prompt`` or ``beforeunload``."""
    message: str
    proposed: str = ""
    """The answer that a prompt proposes."""
    kind: Literal["dialog_opened"] = "dialog_opened"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogClosed(_Signal):
    """The tab's dialog closed, answered by the agent, by a policy or by a person."""

    accepted: bool
    text: str = ""
    """The answer to a prompt."""
    kind: Literal["dialog_closed"] = "dialog_closed"


Omission = Literal["", "formats", "lines", "rest"]
"""What the recorded value of a field omits of its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomEvent(_Signal):
    """A trusted event of a page: one that came from input, not from a script (but see ``by_script``)."""

    event: str
    """Its DOM name: ``click``, ``change``, ``submit``, …; see also ``by_script``."""
    target: TargetRecord
    value: str | None = None
    """Value of a form field after the event: its text; ``on`` or ``off`` for checkboxes and radio buttons; the labels
    chosen in a list, one per line; the names of files. None for other elements and for password fields."""
    omits: Omission = ""
    """For an input or change event: what ``value`` omits of the content. ``formats``: formats, lists, links or objects
    of an editor. ``lines``: the lines of an editor that receives its keys in an invisible field. ``rest``: the end of a
    long text. Empty in records of older versions."""
    chain: tuple[ElementRecord, ...] = ()
    """The target and its ancestors, outwards, through shadow trees and frames; at most 40 per origin."""
    whole: bool = True
    """Whether ``chain`` reaches the outermost document's root."""
    frame: str = ""
    """Address of the target's document; empty when it is the tab's document."""
    maker: str | None = None
    """For a document without a server address (``about:blank``, ``about:srcdoc``): the address, or only the origin, of
    the page that created it; empty if unknown. None for other documents and in records of older versions."""
    control: ControlRecord | None = None
    """For a click: the nearest link, button or similar control around the target, unless the target is one itself. None
    in records of older versions."""
    by_script: bool = False
    """Whether a script made the change instead of input: a script of the page, or of an agent that drives the browser
    itself. Recorded for such agents only. Of a page's own scripts, only ``change``, ``put`` and ``set`` are recorded.
    ``value`` is then the field's actual value.

    Four event names describe script actions that have no DOM event of their own. ``set``: a field was given its value
    without an event. ``put``: it was given its value with an event, but somebody had been typing there, or it is a
    checkbox or radio button. ``submit``: a form was requested to be submitted (the target is its button, or the form).
    ``sent``: it was submitted that way.
    """
    commanded: bool = False
    """For an event by script: whether a command of the agent that may run scripts was running, and no other event
    caused this one. ``set`` and ``put`` were then observed during the command."""
    rows: tuple[tuple[str, ...], ...] = ()
    """For an event by script: tag and text of the target and of those ancestors that the target's selector
    distinguishes by position only, or by an id or similar value that may be a mere number. From the innermost, without
    those with more than 200 characters. A third item has the fields' values and the names of what is inside; a fourth
    item ``numbers`` marks an element with a sibling that differs in numbers only."""
    selects: bool = False
    """For a click: whether the pointer was dragged over the page first, which has selected text."""
    kind: Literal["dom"] = "dom"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPressed(_Signal):
    """A key that writes no text was pressed in a page: outside of fields, or a key that fields pass on to the page
    (Escape, arrow keys in a single-line field, Enter with a modifier), or a shortcut that an editor receives in an
    invisible field. Enter alone is a `DomEvent`."""

    keys: str
    """Key names as in the action ``press``: ``Escape``, ``j``, ``Control+Enter``."""
    target: TargetRecord
    """The focused element; the body if none was focused."""
    chain: tuple[ElementRecord, ...] = ()
    """As in `DomEvent`."""
    whole: bool = True
    frame: str = ""
    kind: Literal["key"] = "key"


@dataclass(frozen=True, slots=True, kw_only=True)
class TabClosed(_Signal):
    """A tab was closed while others stayed open; not recorded at a session's end."""

    cause: AddressCause = ""
    """``browser`` if no page can have closed the tab. Empty if one could: a page had opened the tab."""
    kind: Literal["tab_closed"] = "tab_closed"


Signal = AddressChanged | DialogOpened | DialogClosed | DomEvent | KeyPressed | TabClosed

_KINDS: dict[str, type[AddressChanged | DialogOpened | DialogClosed | TabClosed]] = {
    "address": AddressChanged,
    "tab_closed": TabClosed,
    "dialog_opened": DialogOpened,
    "dialog_closed": DialogClosed,
}


def signal_from_json(data: Mapping[str, Any]) -> Signal:
    """Build a signal from the output of `dataclasses.asdict`. Raises `ValueError` for an unknown kind."""
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
