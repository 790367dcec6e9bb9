"""Result of an extractor: lines of a page, and the elements of the ids in them."""

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
        """Return whether any pixel is in both."""
        return (
            self.width > 0
            and self.height > 0
            and self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )

    def clip(self, other: Box) -> Box:
        """Return the intersection, which has no area if they don't overlap."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        right = min(self.x + self.width, other.x + other.width)
        bottom = min(self.y + self.height, other.y + other.height)
        return Box(x, y, max(0.0, right - x), max(0.0, bottom - y))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoteFrame:
    """An iframe that Chromium renders in another process than its parent document."""

    session: CDPSession
    """The frame's own protocol session, with node ids of its own."""
    frame_id: str
    owner: int
    """Backend node id of its iframe element in the parent document's process."""
    parent: RemoteFrame | None
    """Process of the parent document; None for the page's own process."""
    number: int
    """Number of the frame, from 1. Its elements' ids begin with it (see `base`)."""

    @property
    def base(self) -> int:
        """Offset of its node ids that makes them differ from those of other processes."""
        return self.number * 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementInfo:
    """An element at the time when its id was shown."""

    backend: int
    node_name: str
    """Name of the DOM node, e.g. ``BUTTON`` or ``#text``."""
    role: str
    name: str
    frame: RemoteFrame | None = None
    """Frame whose process ``backend`` belongs to; None: the page's own process."""
    around: tuple[int, str] | None = None
    """Backend node id and node name of the element around it that only scripts make usable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """One page as an extractor read it."""

    lines: tuple[str, ...]
    title: str
    elements: Mapping[str, ElementInfo]
    """Elements by printed id. Empty with the extractor ``fast``, because only the page knows them: any number in
    brackets may be an id then."""
    focused: str
    scroll: ScrollPosition
    width: float = 0
    """Width of the viewport in CSS pixels; 0 if unknown."""
    html: tuple[str, ...] = ()
    """Lines of the ``html`` form, if requested."""
    marks: Mapping[str, Box] = field(default_factory=dict)
    """Id to box in the viewport of visible elements that can be acted on, for ``set_of_marks``."""

    @property
    def marked_lines(self) -> tuple[str, ...]:
        """Lines of the accessibility tree for the marked elements, without indentation."""
        found = []
        for line in self.lines:
            match = _ID.match(line)
            if match is not None and match[1] in self.marks:
                found.append(line.lstrip("\t"))
        return tuple(found)


class Extractor(Protocol):
    """Converts the current page to WebArena's lines."""

    async def extract(self, tab: Tab, config: ObservationConfig, *, seconds: float) -> Extraction:
        """Read the page. ``seconds`` limits each call to it."""
        ...
