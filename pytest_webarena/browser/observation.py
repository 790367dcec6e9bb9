"""What the agent sees: the current page as text, the tabs, and what happened since the last look."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pytest_webarena.browser.axtree import ElementInfo, render_tree
from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.snapshot import DocumentLayout, read_snapshot
from pytest_webarena.browser.tab import Tab

__all__ = ["ExactExtractor", "Extraction", "Extractor", "Observation", "Scroll", "TabInfo", "cut_lines", "tab_line"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TabInfo:
    """One open tab."""

    title: str
    url: str
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scroll:
    """Where the viewport is on the page, in CSS pixels."""

    x: float = 0
    y: float = 0
    viewport_height: float = 0
    content_height: float = 0

    @property
    def screens_above(self) -> float:
        """How much of the page is above the viewport, in screens."""
        return self.y / self.viewport_height if self.viewport_height else 0.0

    @property
    def screens_below(self) -> float:
        """How much of the page is below the viewport, in screens."""
        rest = self.content_height - self.y - self.viewport_height
        return max(0.0, rest / self.viewport_height) if self.viewport_height else 0.0

    def describe(self) -> str:
        """For the agent, e.g. ``… 2 screens above, 1.5 screens below``; empty when all of the page shows.

        >>> Scroll(y=1440, viewport_height=720, content_height=3240).describe()
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
    """One look at the browser."""

    text: str
    """The tab line, a blank line, and the current page in WebArena's form."""
    url: str
    title: str
    tabs: tuple[TabInfo, ...]
    error: str = ""
    """Why the last action had no effect; empty when it worked."""
    dialog: str | None = None
    """The native dialog that is open and waits for an answer: its kind and text."""
    notes: tuple[str, ...] = ()
    """What happened since the last observation: dialogs answered, downloads, pop-ups, refused addresses."""
    focused: str = ""
    """``[id] role 'name'`` of the element with the keyboard focus."""
    scroll: Scroll = Scroll()
    viewport: tuple[int, int] = (0, 0)
    """Width and height in CSS pixels."""
    screenshot: bytes | None = None
    """JPEG, if the session's configuration asks for it."""

    def with_news(self, *, error: str, notes: Sequence[str]) -> Observation:
        """The same look, with what happened before it."""
        return replace(self, error=error, notes=tuple(notes))

    def render(self) -> str:
        """Everything that is text, for prompts that have one slot for the observation."""
        below = [self.scroll.describe(), *(f"Note: {note}" for note in self.notes)]
        if self.dialog is not None:
            below.append(f"A dialog is open: {self.dialog}. Press Enter to accept it or Escape to dismiss it.")
        if self.error:
            below.append(f"The last action had no effect: {self.error}")
        return "\n".join([self.text, *(line for line in below if line)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """One page as an extractor read it."""

    lines: tuple[str, ...]
    title: str
    elements: Mapping[str, ElementInfo]
    """What the printed ids stand for."""
    focused: str
    scroll: Scroll


class Extractor(Protocol):
    """A way to turn the current page into WebArena's lines."""

    async def extract(self, tab: Tab, config: ObservationConfig, *, seconds: float) -> Extraction:
        """Read the page, each call to it bounded by ``seconds``."""
        ...


class ExactExtractor:
    """From the browser's own accessibility tree and one layout snapshot: two calls, and one for each visible iframe.

    Chromium only. Iframes of other sites (in processes of their own) are a bare line.
    """

    async def extract(self, tab: Tab, config: ObservationConfig, *, seconds: float) -> Extraction:
        """Read the page."""
        tree, raw = await asyncio.gather(
            tab.send("Accessibility.getFullAXTree", seconds=seconds),
            tab.send("DOMSnapshot.captureSnapshot", {"computedStyles": []}, seconds=seconds),
        )
        layouts = read_snapshot(raw)
        if not layouts:
            return Extraction(lines=(), title="", elements={}, focused="", scroll=Scroll())
        main = layouts[0]
        trees = {main.frame_id: tree["nodes"]}
        frames = [layout for layout in layouts[1:] if not config.current_viewport_only or _shows(layout, main)]
        answers = await asyncio.gather(
            *(tab.send("Accessibility.getFullAXTree", {"frameId": each.frame_id}, seconds=seconds) for each in frames),
            return_exceptions=True,  # a frame may go between the two calls
        )
        for layout, answer in zip(frames, answers, strict=True):
            if isinstance(answer, dict):
                trees[layout.frame_id] = answer["nodes"]
        rendered = render_tree(trees, layouts, config)
        return Extraction(
            lines=rendered.lines,
            title=rendered.title,
            elements=rendered.elements,
            focused=rendered.focused,
            scroll=Scroll(
                x=main.scroll[0],
                y=main.scroll[1],
                viewport_height=main.window.height,
                content_height=main.content[1],
            ),
        )


def _shows(frame: DocumentLayout, main: DocumentLayout) -> bool:
    return frame.window.overlaps(main.window)


def tab_line(tabs: Sequence[TabInfo]) -> str:
    """The first line of the text, e.g. ``Tab 0: Shop | Tab 1 (current): Cart``."""
    return " | ".join(
        f"Tab {number}{' (current)' if tab.active else ''}: {' '.join(tab.title.split())}"
        for number, tab in enumerate(tabs)
    )


def cut_lines(text: str, max_chars: int | None) -> str:
    """``text`` cut after whole lines to ``max_chars`` characters, the last line saying how much is missing.

    >>> cut_lines("one\\ntwo\\nthree\\nfour", 40)
    'one\\ntwo\\nthree\\nfour'
    >>> cut_lines("line\\n" * 20, 50)
    'line\\nline\\n… cut here: 18 more lines, 90 characters'
    """
    if max_chars is None or len(text) <= max_chars:
        return text
    lines = text.removesuffix("\n").split("\n")
    rest = sum(map(len, lines)) + len(lines)

    def notice(kept: int, left: int) -> str:
        return f"… cut here: {len(lines) - kept} more lines, {left} characters"

    kept, length = 0, 0
    for line in lines:
        size = len(line) + 1
        if length + size + len(notice(kept + 1, rest - size)) > max_chars:
            break
        kept, length, rest = kept + 1, length + size, rest - size
    return "\n".join([*lines[:kept], notice(kept, rest)])
