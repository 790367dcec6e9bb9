"""What carrying out one action resulted in."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.evidence import TargetRecord

__all__ = ["Performed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
    """What an action did."""

    target: TargetRecord | None = None
    value: str | None = None
    error: str = ""
    events: tuple[PageEvent, ...] = ()
    """What the agent is shown in addition to the page."""
