"""Locks the navigation of a page that keeps navigating, while it is read or left."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote, urldefrag

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.faults import PageCrashed, TabClosed, Unresponsive
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["keeps_navigating", "navigation_locked"]

_MANY = 4
"""Number of documents that distinguishes an endless navigation from a form with some redirects."""
_DOCUMENTS = {"patterns": [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}]}
_SECONDS = 2.0


def keeps_navigating(tab: Tab, since: int) -> bool:
    """Return whether ``tab`` has shown so many documents since number ``since`` that it navigates endlessly.

    Such a page leaves calls unanswered without being hung.
    """
    return tab.document - since >= _MANY


@contextlib.asynccontextmanager
async def navigation_locked(tab: Tab, *, but: str = "") -> AsyncIterator[None]:
    """Let ``tab`` load no other document than that at ``but`` within the block; other requests are aborted unsent.

    Chromium only; pages in other browsers are not restricted.
    """
    cdp = tab.session
    if cdp is None:
        yield
        return

    async def refuse(paused: dict[str, Any]) -> None:
        is_allowed = paused.get("redirectedRequestId") or (but and _bare(str(paused["request"]["url"])) == _bare(but))
        order: dict[str, Any] = {"requestId": paused["requestId"]}
        if not is_allowed:
            order["errorReason"] = "Aborted"
        await _try(tab, "Fetch.continueRequest" if is_allowed else "Fetch.failRequest", order)

    def on_paused(paused: dict[str, Any]) -> None:
        tab.in_background(refuse(paused))

    cdp.on("Fetch.requestPaused", on_paused)
    try:
        await _try(tab, "Fetch.enable", _DOCUMENTS)
        yield
    finally:
        cdp.remove_listener("Fetch.requestPaused", on_paused)
        tab.in_background(_try(tab, "Fetch.disable", {}))  # releases paused requests


async def _try(tab: Tab, method: str, parameters: dict[str, Any]) -> None:
    """Send a command and ignore failures: the page may be closed, or the request over; a slow browser gets it later."""
    assert tab.session is not None
    with contextlib.suppress(PlaywrightError, PageCrashed, TabClosed, Unresponsive):
        await tab.run(tab.session.send(method, parameters), _SECONDS, method, despite_dialog=True)


def _bare(url: str) -> str:
    return unquote(urldefrag(url).url)
