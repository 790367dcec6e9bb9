"""Keeps a page that won't stand still where it is, for as long as it takes to look at it or to leave it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote, urldefrag

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.faults import PageCrashed, TabGone, Unresponsive
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["navigation_locked", "wanders"]

_MANY = 4
"""Documents by which a page that leads on to others (a form, a redirect or two) is told from one that never stays."""
_DOCUMENTS = {"patterns": [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}]}
_SECONDS = 2.0


def wanders(tab: Tab, since: int) -> bool:
    """Whether ``tab`` has shown so many documents since number ``since`` that it won't stay by itself.

    Such a page leaves calls unanswered without being hung.
    """
    return tab.document - since >= _MANY


@contextlib.asynccontextmanager
async def navigation_locked(tab: Tab, *, but: str = "") -> AsyncIterator[None]:
    """Meanwhile ``tab`` gets no other document than that at ``but``: what else is asked for is broken off unsent.

    Chromium only; in other browsers pages go on as they please.
    """
    cdp = tab.session
    if cdp is None:
        yield
        return

    async def refuse(paused: dict[str, Any]) -> None:
        wanted = paused.get("redirectedRequestId") or (but and _bare(str(paused["request"]["url"])) == _bare(but))
        order: dict[str, Any] = {"requestId": paused["requestId"]}
        if not wanted:
            order["errorReason"] = "Aborted"
        await _try(tab, "Fetch.continueRequest" if wanted else "Fetch.failRequest", order)

    def on_paused(paused: dict[str, Any]) -> None:
        tab.in_background(refuse(paused))

    cdp.on("Fetch.requestPaused", on_paused)
    try:
        await _try(tab, "Fetch.enable", _DOCUMENTS)
        yield
    finally:
        cdp.remove_listener("Fetch.requestPaused", on_paused)
        tab.in_background(_try(tab, "Fetch.disable", {}))  # lets go of what is held


async def _try(tab: Tab, method: str, parameters: dict[str, Any]) -> None:
    """A page that is gone, or a request that is over, needs no order; a slow browser gets it a little later."""
    assert tab.session is not None
    with contextlib.suppress(PlaywrightError, PageCrashed, TabGone, Unresponsive):
        await tab.run(tab.session.send(method, parameters), _SECONDS, method, despite_dialog=True)


def _bare(url: str) -> str:
    return unquote(urldefrag(url).url)
