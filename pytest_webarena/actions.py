"""What an agent can do: one value type per action, independent of any text grammar or browser.

Grammars (`browser/grammars`) turn an agent's text into these; `browser` executes them; a task's
``solution`` is written in them. They carry no behaviour, so that every room can speak of actions.

>>> Type(Selector("css=#title"), "Rye", enter=True).kind
'type'
>>> Stop("42").answer, infeasible("no such page").answer
('42', 'N/A')
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

__all__ = [
    "AcceptDialog",
    "Action",
    "Back",
    "ByScript",
    "Check",
    "Click",
    "CloseTab",
    "DismissDialog",
    "Drag",
    "Element",
    "FocusTab",
    "Forward",
    "Goto",
    "Hover",
    "Invalid",
    "NewTab",
    "Noop",
    "Note",
    "Point",
    "Press",
    "PressFocused",
    "Reload",
    "Scroll",
    "Search",
    "Select",
    "Selector",
    "Stop",
    "Target",
    "Type",
    "TypeFocused",
    "Upload",
    "Wait",
    "answers_dialogs",
    "as_record",
    "infeasible",
]


@dataclass(frozen=True, slots=True)
class Element:
    """An element by the id that the latest observation printed for it, e.g. ``"42"``."""

    id: str


@dataclass(frozen=True, slots=True)
class Selector:
    """An element by Playwright selector, e.g. ``role=button[name="Save"]``. The first match counts."""

    selector: str
    repair_selectors: tuple[str, ...] = field(default=(), compare=False)
    """Other selectors of the element in a task, only for repairing the step. No run uses them; no record has them."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the viewport, counted from its top left corner."""

    x: float
    y: float
    relative: bool = False
    """False: in CSS pixels. True: in fractions of the viewport's width and height, 0 to 1."""


Target = Element | Selector | Point


@dataclass(frozen=True, slots=True)
class Click:
    """Press and release a mouse button on the target."""

    kind: ClassVar[str] = "click"
    target: Target
    button: Literal["left", "right", "middle"] = "left"
    count: int = 1
    modifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hover:
    """Move the mouse over the target."""

    kind: ClassVar[str] = "hover"
    target: Target


@dataclass(frozen=True, slots=True)
class Type:
    """Click the target, then type; ``clear`` empties it first, ``enter`` presses Enter afterwards.

    Without a target: type wherever the focus is. Any text can be typed.
    """

    kind: ClassVar[str] = "type"
    target: Target | None
    text: str
    clear: bool = False
    enter: bool = False


@dataclass(frozen=True, slots=True)
class Press:
    """Press a key or a combination with ``+``, e.g. ``Control+a``; into the target if there is one.

    The target gets the focus without a click; only what takes no focus otherwise is clicked.
    ``ControlOrMeta`` is Meta on macOS and Control elsewhere.
    """

    kind: ClassVar[str] = "press"
    keys: str
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Scroll:
    """Scroll the page, or the target; by ``pixels``, or by about one screen.

    Over a point the mouse wheel is turned, so that maps and other things that listen to it get it, too.
    """

    kind: ClassVar[str] = "scroll"
    direction: Literal["up", "down", "left", "right"]
    target: Target | None = None
    pixels: float | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """Choose options of a ``<select>`` by label or value."""

    kind: ClassVar[str] = "select"
    target: Target
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """Set a checkbox or radio button."""

    kind: ClassVar[str] = "check"
    target: Target
    checked: bool = True


@dataclass(frozen=True, slots=True)
class Drag:
    """Press the left button on the target, move to the destination, release."""

    kind: ClassVar[str] = "drag"
    target: Target
    to: Target


@dataclass(frozen=True, slots=True)
class Upload:
    """Choose files in a file field, or in the file dialog that a click on the target opens.

    Without a target: in the file dialog that the page has opened already. Files are named as
    `SessionConfig.uploads` names them; no others can be read.
    """

    kind: ClassVar[str] = "upload"
    target: Target | None
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AcceptDialog:
    """Press OK in the open dialog; ``text`` answers a prompt (None: what it proposes)."""

    kind: ClassVar[str] = "accept_dialog"
    text: str | None = None


@dataclass(frozen=True, slots=True)
class DismissDialog:
    """Press Cancel in the open dialog."""

    kind: ClassVar[str] = "dismiss_dialog"


@dataclass(frozen=True, slots=True)
class Goto:
    """Load an address in the current tab. ``/path`` is on the site of the current tab."""

    kind: ClassVar[str] = "goto"
    url: str


@dataclass(frozen=True, slots=True)
class NewTab:
    """Open an empty tab and make it current."""

    kind: ClassVar[str] = "new_tab"


@dataclass(frozen=True, slots=True)
class CloseTab:
    """Close the current tab; the last remaining one becomes current, or a new one opens."""

    kind: ClassVar[str] = "close_tab"


@dataclass(frozen=True, slots=True)
class FocusTab:
    """Make a tab current; counted from 0 in the order the observation lists them."""

    kind: ClassVar[str] = "tab_focus"
    index: int


@dataclass(frozen=True, slots=True)
class Back:
    """Go back in the current tab's history."""

    kind: ClassVar[str] = "go_back"


@dataclass(frozen=True, slots=True)
class Forward:
    """Go forward in the current tab's history."""

    kind: ClassVar[str] = "go_forward"


@dataclass(frozen=True, slots=True)
class Reload:
    """Load the current page again."""

    kind: ClassVar[str] = "reload"


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until the page changes and comes to rest again, at most ``seconds``.

    A page that never rests (animation, polling) is waited for the whole time.
    """

    kind: ClassVar[str] = "wait"
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Noop:
    """Do nothing and look again."""

    kind: ClassVar[str] = "noop"


@dataclass(frozen=True, slots=True)
class Note:
    """Keep a text in the record of the episode, where checks can find it. Does nothing to the page."""

    kind: ClassVar[str] = "note"
    text: str


@dataclass(frozen=True, slots=True)
class Search:
    """Search the web, as far as the trial has a search: a page of results is opened, or results are told."""

    kind: ClassVar[str] = "search"
    query: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End the episode with an answer (``""`` when the task asks for none). See `infeasible`."""

    kind: ClassVar[str] = "stop"
    answer: str = ""
    reason: str = ""
    """Why the task can't be done, for an agent that says so."""


@dataclass(frozen=True, slots=True)
class ByScript:
    """Do to an element what a script did, as scripts do it: of no grammar and no agent's but the replay."""

    kind: ClassVar[str] = "by_script"
    target: Target
    event: str
    """As `signals.DomEvent.event`."""
    value: str | None = None
    """As `evidence.ScriptAct.value`."""
    unless_held: bool = False
    """Leave a field alone that holds the value."""
    alone: str = ""
    """CSS that must find it and nothing else in its document or shadow tree; empty: it was found by its name."""
    rows: tuple[tuple[str, ...], ...] = ()
    """As of `signals.DomEvent`: if what is around it reads otherwise, it is looked for where it reads so."""
    names: tuple[str, ...] = ()
    """It must be called so, by one of them; empty: not asked."""


@dataclass(frozen=True, slots=True)
class PressFocused(Press):
    """Press a key where the focus is, once the target has it: given by script if need be, never by a click. Of no
    grammar and no agent's but the replay, whose record has it as a key without a target, as it was recorded."""


@dataclass(frozen=True, slots=True)
class TypeFocused(Type):
    """The same of a text, which is written over what is marked; ``clear`` marks all of the field."""

    pieces: tuple[tuple[str, bool | None], ...] = ()
    """The text in parts, and of each whether it is put in at once; empty: all of it key by key. None: it stands there
    already, and what stands between such parts is written over; where it does not, it is put in at once."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """What the agent said is no action; ``reason`` is what it is told. Counts as a step."""

    kind: ClassVar[str] = "invalid"
    text: str
    reason: str


Action = (
    Click | Hover | Type | Press | Scroll | Select | Check | Drag | Upload | AcceptDialog | DismissDialog
    | Goto | Back | Forward | Reload | NewTab | CloseTab | FocusTab | Wait | Noop | Note | Search
    | Stop | ByScript | Invalid
)  # fmt: skip


def infeasible(reason: str = "") -> Stop:
    """End the episode by saying that the task can't be done: the answer is ``N/A``, as WebArena's tasks expect it.

    >>> infeasible("there is no such product").answer
    'N/A'
    """
    return Stop("N/A", reason)


def answers_dialogs(steps: Iterable[Action]) -> bool:
    """Whether one of these answers a native dialog: then dialogs must stay open until it does.

    >>> answers_dialogs([Back(), DismissDialog()])
    True
    """
    return any(isinstance(step, AcceptDialog | DismissDialog) for step in steps)


def as_record(action: Action) -> dict[str, Any]:
    """The action as plain JSON data, for records: its kind and its fields.

    >>> as_record(Click(Element("4")))["target"]
    {'id': '4'}
    >>> as_record(Upload(None, ("report.csv",)))
    {'kind': 'upload', 'target': None, 'files': ['report.csv']}
    """
    fields: dict[str, Any] = {}
    if isinstance(action, PressFocused):
        action = Press(action.keys)
    if isinstance(action, TypeFocused):
        action = Type(None, action.text, action.clear, action.enter)
    for key, value in asdict(action).items():
        if key in ("target", "to") and isinstance(value, dict):
            value.pop("repair_selectors", None)
        fields[key] = list(value) if isinstance(value, tuple) else value
    return {"kind": action.kind, **fields}
