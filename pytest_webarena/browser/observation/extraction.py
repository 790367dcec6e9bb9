"""What an extractor makes of a page: lines, and the elements that their ids stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pytest_webarena.browser.observation.model import ScrollPosition

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

    from pytest_webarena.browser.config import ObservationConfig
    from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["Box", "ElementInfo", "Extraction", "Extractor", "RemoteFrame"]

_ID = re.compile(r"\t*\[(\d+)\] ")


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in CSS pixels of the main frame's viewport."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Box) -> bool:
        """Whether any pixel is in both."""
        return (
            self.width > 0
            and self.height > 0
            and self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )

    def clip(self, other: Box) -> Box:
        """What is in both; without area when they don't overlap."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        right = min(self.x + self.width, other.x + other.width)
        bottom = min(self.y + self.height, other.y + other.height)
        return Box(x, y, max(0.0, right - x), max(0.0, bottom - y))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoteFrame:
    """An iframe that Chromium renders in another process than the document around it."""

    session: CDPSession
    """Its own protocol session: node ids in it mean nothing to the others."""
    frame_id: str
    owner: int
    """Backend node id of its iframe element, in the process of the document around it."""
    parent: RemoteFrame | None
    """Of that document; None for the page's own process."""
    number: int
    """From 1. Ids of its elements begin with it (see `base`)."""

    @property
    def base(self) -> int:
        """What is added to its node ids, so that they differ from those of other processes."""
        return self.number * 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementInfo:
    """What an id stood for when it was shown."""

    backend: int
    node_name: str
    """Of the DOM node, e.g. ``BUTTON`` or ``#text``."""
    role: str
    name: str
    frame: RemoteFrame | None = None
    """Where ``backend`` counts; None: in the page's own process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """One page as an extractor read it."""

    lines: tuple[str, ...]
    title: str
    elements: Mapping[str, ElementInfo]
    """What the printed ids stand for. Empty with the extractor ``fast``, where the page alone knows: any number in
    brackets may be one there."""
    focused: str
    scroll: ScrollPosition
    width: float = 0
    """Of the viewport, in CSS pixels; 0: nobody knows."""
    html: tuple[str, ...] = ()
    """Lines of the ``html`` form, if it is asked for."""
    marks: Mapping[str, Box] = field(default_factory=dict)
    """For ``set_of_marks``: id to place in the viewport, of what can be acted on and shows."""

    @property
    def marked_lines(self) -> tuple[str, ...]:
        """The accessibility tree's lines of what is marked, without indentation: same ids, same words."""
        found = []
        for line in self.lines:
            match = _ID.match(line)
            if match is not None and match[1] in self.marks:
                found.append(line.lstrip("\t"))
        return tuple(found)


class Extractor(Protocol):
    """A way to turn the current page into WebArena's lines."""

    async def extract(self, tab: Tab, config: ObservationConfig, *, seconds: float) -> Extraction:
        """Read the page, each call to it bounded by ``seconds``."""
        ...
