"""Requests that may change a site and that the browser has not sent yet, or has had no answer to."""

from __future__ import annotations

from playwright.async_api import Request

from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.browser.tabs.tabs import Tabs

__all__ = ["holds_writes"]

_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_QUEUED = 1.0
"""How long a request may be the only one and not come to an end, in seconds. Of some that outlive their page the
browser never says that they are over."""


async def holds_writes(tabs: Tabs, seconds: float) -> bool:
    """Wait until pages have no such request under way, at most ``seconds``; whether they still have one.

    A browser has six connections to a site: what waits for one of them is nowhere to be seen but here.
    """
    limit, alone = Deadline(seconds), Deadline(min(_QUEUED, seconds))
    while (busy := next((tab for tab in tabs if any(map(_writes, tab.inflight))), None)) is not None:
        if limit.over or (alone.over and not any(map(_reads, tabs))):
            return True
        await busy.changed(min(limit.left(), alone.left() or 0.1))
    return False


def _writes(request: Request) -> bool:
    return request.method.upper() not in _SAFE


def _reads(tab: Tab) -> bool:
    return any(not _writes(request) for request in tab.inflight)
