"""Observation of the browser as an agent receives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

__all__ = ["Observation", "ScrollPosition", "TabInfo", "tab_line"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TabInfo:
    """One open tab."""

    title: str
    url: str
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrollPosition:
    """Where the viewport is on the page, in CSS pixels."""

    x: float = 0
    y: float = 0
    viewport_height: float = 0
    content_height: float = 0

    @property
    def screens_above(self) -> float:
        """Height of the page above the viewport, in screens."""
        return self.y / self.viewport_height if self.viewport_height else 0.0

    @property
    def screens_below(self) -> float:
        """Height of the page below the viewport, in screens."""
        rest = self.content_height - self.y - self.viewport_height
        return max(0.0, rest / self.viewport_height) if self.viewport_height else 0.0

    def describe(self) -> str:
        """Describe the position, e.g. ``… 2 screens above, 1.5 screens below``; empty if the whole page is visible.

        >>> ScrollPosition(y=1440, viewport_height=720, content_height=3240).describe()
        '… 2 screens above, 1.5 screens below'
        """
        parts = [
            f"{screens:.1f}".removesuffix(".0") + (" screen " if round(screens, 1) == 1 else " screens ") + where
            for screens, where in ((self.screens_above, "above"), (self.screens_below, "below"))
            if screens >= 0.05
        ]
        return f"… {', '.join(parts)}" if parts else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """State of the browser at one moment, as an agent receives it."""

    text: str
    """The tab line, a blank line, and the current page in the requested text forms."""
    url: str
    title: str
    tabs: tuple[TabInfo, ...]
    error: str = ""
    """Why the last action had no effect; empty if it worked."""
    dialog: str | None = None
    """Kind and text of the native dialog that is open and waits for an answer."""
    notes: tuple[str, ...] = ()
    """Events since the last observation: dialogs answered, downloads, pop-ups, refused addresses."""
    focused: str = ""
    """``[id] role 'name'`` of the element with the keyboard focus."""
    scroll: ScrollPosition = ScrollPosition()
    viewport: tuple[int, int] = (0, 0)
    """Width and height in CSS pixels."""
    screenshot: bytes | None = None
    """Screenshot, if the agent gets it; empty while a dialog is open, because nothing can be painted then."""
    marked: bytes | None = None
    """Screenshot with numbered boxes (``set_of_marks``); the numbers are the ids of the text."""
    for_record: bytes | None = None
    """Screenshot that was only taken for the record and is not shown to the agent."""

    @property
    def images(self) -> tuple[bytes, ...]:
        """The screenshots for the agent: the plain one, then the marked one."""
        return tuple(image for image in (self.screenshot, self.marked) if image)

    @property
    def picture(self) -> bytes | None:
        """The screenshot to keep in a record: what the agent saw, else the one taken for the record."""
        return self.marked or self.screenshot or self.for_record

    def with_events(self, *, error: str, notes: Sequence[str]) -> Observation:
        """Return a copy with the events before it."""
        return replace(self, error=error, notes=tuple(notes))

    def render(self) -> str:
        """Return all text, for prompts with one placeholder for the observation."""
        below = [self.scroll.describe(), *(f"Note: {note}" for note in self.notes)]
        if self.focused:
            below.append(f"Focused: {self.focused}")
        if self.dialog is not None:
            below.append(f"A dialog is open: {self.dialog}. Press Enter to accept it or Escape to dismiss it.")
        if self.error:
            below.append(f"The last action had no effect: {self.error}")
        return "\n".join([f"URL: {self.url}", self.text, *(line for line in below if line)])


def tab_line(tabs: Sequence[TabInfo]) -> str:
    """Return the first line of the text, e.g. ``Tab 0: Shop | Tab 1 (current): Cart``."""
    return " | ".join(
        f"Tab {number}{' (current)' if tab.active else ''}: {' '.join(tab.title.split())}"
        for number, tab in enumerate(tabs)
    )
