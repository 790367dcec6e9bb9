"""What an agent can do: one value type per action, independent of any text grammar or browser.

Grammars (`browser/grammars`) turn an agent's text into these; `browser` executes them; a task's
``solution`` is written in them. They carry no behaviour, so that every room can speak of actions.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

__all__ = [
    "Action",
    "Back",
    "Check",
    "Click",
    "CloseTab",
    "Element",
    "FocusTab",
    "Forward",
    "Goto",
    "Hover",
    "Invalid",
    "NewTab",
    "Noop",
    "Point",
    "Press",
    "Scroll",
    "Select",
    "Selector",
    "Stop",
    "Target",
    "Type",
    "as_record",
]


@dataclass(frozen=True, slots=True)
class Element:
    """An element by the id that the latest observation printed for it, e.g. ``"42"``."""

    id: str


@dataclass(frozen=True, slots=True)
class Selector:
    """An element by Playwright selector, e.g. ``role=button[name="Save"]``. The first match counts."""

    selector: str


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the viewport, in CSS pixels from its top left corner."""

    x: float
    y: float


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
    """Click the target, then type; ``clear`` empties it first, ``enter`` presses Enter afterwards."""

    kind: ClassVar[str] = "type"
    target: Target
    text: str
    clear: bool = False
    enter: bool = False


@dataclass(frozen=True, slots=True)
class Press:
    """Press a key or a combination with ``+``, e.g. ``Control+a``; into the target if there is one."""

    kind: ClassVar[str] = "press"
    keys: str
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Scroll:
    """Scroll the page, or the target, by about one screen."""

    kind: ClassVar[str] = "scroll"
    direction: Literal["up", "down", "left", "right"]
    target: Target | None = None


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
class Noop:
    """Do nothing and look again."""

    kind: ClassVar[str] = "noop"


@dataclass(frozen=True, slots=True)
class Stop:
    """End the episode with an answer (``""`` when the task asks for none)."""

    kind: ClassVar[str] = "stop"
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Invalid:
    """What the agent said is no action; ``reason`` is what it is told. Counts as a step."""

    kind: ClassVar[str] = "invalid"
    text: str
    reason: str


Action = (
    Click | Hover | Type | Press | Scroll | Select | Check | Goto | NewTab | CloseTab | FocusTab
    | Back | Forward | Noop | Stop | Invalid
)  # fmt: skip


def as_record(action: Action) -> dict[str, Any]:
    """The action as plain JSON data, for records: its kind and its fields.

    >>> as_record(Click(Element("4")))["target"]
    {'id': '4'}
    """
    return {"kind": action.kind, **asdict(action)}
