"""What an agent can do: one value type per action, independent of any text grammar or browser.

Grammars (`browser/grammars`) turn an agent's text into these; `browser` executes them; a task's ``solution`` is written
in them. They have no behaviour, so that every package can use them.

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
    """Alternative selectors that the task file gives for the element. Steps ignore them, and records leave them out."""


@dataclass(frozen=True, slots=True)
class Point:
    """A position in the viewport, measured from its top left corner."""

    x: float
    y: float
    relative: bool = False
    """Unit of ``x`` and ``y``: CSS pixels if False; fractions (0 to 1) of the viewport's width and height if True."""


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

    Without a target, type into the focused element. Any text can be typed.
    """

    kind: ClassVar[str] = "type"
    target: Target | None
    text: str
    clear: bool = False
    enter: bool = False


@dataclass(frozen=True, slots=True)
class Press:
    """Press a key or a combination with ``+``, e.g. ``Control+a``; into the target if there is one.

    The target is focused without a click; it is clicked only if it can't take the focus otherwise. ``ControlOrMeta`` is
    Meta on macOS and Control elsewhere.
    """

    kind: ClassVar[str] = "press"
    keys: str
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Scroll:
    """Scroll the page or the target by ``pixels``, or by about one screen.

    Over a point the mouse wheel is turned, so that maps and other wheel listeners receive the event.
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
    """Press the left button on the target, move along the path to the destination, release."""

    kind: ClassVar[str] = "drag"
    target: Target
    to: Target
    path: tuple[Point, ...] = ()
    """Points that the mouse passes on the way, in the viewport as it is then."""


@dataclass(frozen=True, slots=True)
class Upload:
    """Choose files in a file field, or in the file dialog that is open or that a click on the target opens.

    Without a target, a file dialog has to be open. Files have the names of
    `SessionConfig.uploads`; no others can be read.
    """

    kind: ClassVar[str] = "upload"
    target: Target | None
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AcceptDialog:
    """Press OK in the open dialog. ``text`` answers a prompt; None keeps the proposed answer."""

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
    """Make a tab current. ``index`` counts from 0 in the order in which the observation lists the tabs."""

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
    """Wait until the page changes and settles again, at most ``seconds``.

    A page that never settles (animation, polling) takes the whole time.
    """

    kind: ClassVar[str] = "wait"
    seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Noop:
    """Do nothing and observe again."""

    kind: ClassVar[str] = "noop"


@dataclass(frozen=True, slots=True)
class Note:
    """Keep a text in the record of the episode, where checks can find it. Does nothing to the page."""

    kind: ClassVar[str] = "note"
    text: str


@dataclass(frozen=True, slots=True)
class Search:
    """Search the web, if the trial has a search: a page of results opens, or the results are returned as text."""

    kind: ClassVar[str] = "search"
    query: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End the episode with an answer (``""`` when the task asks for none). See `infeasible`."""

    kind: ClassVar[str] = "stop"
    answer: str = ""
    reason: str = ""
    """Why the task can't be done, if the agent says so."""


@dataclass(frozen=True, slots=True)
class ByScript:
    """Repeat on an element what a script did, in the way scripts do it. Only the replay agent uses it; no grammar has
    it."""

    kind: ClassVar[str] = "by_script"
    target: Target
    event: str
    """The event's name, as in `signals.DomEvent.event`."""
    value: str | None = None
    """The new value, as in `evidence.ScriptAct.value`."""
    unless_held: bool = False
    """Whether to leave a field alone that already has the value."""
    alone: str = ""
    """CSS that must match the element and no other in its document or shadow tree; empty if it was found by its
    name."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Text around the element, as in `signals.DomEvent`. If it differs now, the element is looked up where it
    matches."""
    names: tuple[str, ...] = ()
    """Accepted accessible names of the element; empty accepts any."""


@dataclass(frozen=True, slots=True)
class PressFocused(Press):
    """Press a key in the focused element, after the target has the focus.

    A script focuses the target if necessary; it is never clicked. Only the replay agent uses it, and no grammar has it.
    Its record is a key without a target, as in the recording.
    """


@dataclass(frozen=True, slots=True)
class TypeFocused(Type):
    """Type into the focused element, replacing the selected text; ``clear`` selects all of the field first.

    Only the replay agent uses it; see `PressFocused`.
    """

    pieces: tuple[tuple[str, bool | None], ...] = ()
    """The text in parts, each with a flag: True inserts the part at once, False types it key by key. None means that
    the part is already in the field; text between such parts is replaced, and a missing part is inserted at once.
    Empty: the whole text is typed key by key."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """A reply of the agent that is no valid action; ``reason`` is the error it receives. Counts as a step."""

    kind: ClassVar[str] = "invalid"
    text: str
    reason: str


Action = (
    Click | Hover | Type | Press | Scroll | Select | Check | Drag | Upload | AcceptDialog | DismissDialog
    | Goto | Back | Forward | Reload | NewTab | CloseTab | FocusTab | Wait | Noop | Note | Search
    | Stop | ByScript | Invalid
)  # fmt: skip


def infeasible(reason: str = "") -> Stop:
    """End the episode by reporting that the task can't be done: the answer is ``N/A``, as WebArena's tasks expect it.

    >>> infeasible("there is no such product").answer
    'N/A'
    """
    return Stop("N/A", reason)


def answers_dialogs(steps: Iterable[Action]) -> bool:
    """Whether one of these steps answers a native dialog, which must then stay open until that step.

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
        if key == "path" and not value:
            continue
        fields[key] = list(value) if isinstance(value, tuple) else value
    return {"kind": action.kind, **fields}
