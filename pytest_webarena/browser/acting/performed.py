"""Result of performing one action."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.evidence import TargetRecord

__all__ = ["Performed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
    """Result of an action."""

    target: TargetRecord | None = None
    value: str | None = None
    error: str = ""
    events: tuple[PageEvent, ...] = ()
    """Events to show to the agent in addition to the page."""
