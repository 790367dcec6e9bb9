"""What an extractor makes of a page: lines, and the elements that their ids stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_webarena.browser.observation.model import Scroll

if TYPE_CHECKING:
    from pytest_webarena.browser.config import ObservationConfig
    from pytest_webarena.browser.tab import Tab

__all__ = ["ElementInfo", "Extraction", "Extractor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementInfo:
    """What an id stood for when it was shown."""

    backend: int
    node_name: str
    """Of the DOM node, e.g. ``BUTTON`` or ``#text``."""
    role: str
    name: str


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
