"""Scripts of the harness in a world of their own: what a page's scripts replace or define does not reach them."""

from __future__ import annotations

from typing import Any

from pytest_webarena.browser.faults import ScriptFailed, Unreadable
from pytest_webarena.browser.observation.fast.worlds import WORLD
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["evaluate_isolated"]

_READING = f"{WORLD}-reading"
"""Name of the world. Unlike `WORLD`, it reaches only what the page may reach: no frames of other sites."""


async def evaluate_isolated(tab: Tab, function: str, *args: Any, seconds: float, what: str) -> Any:
    """Result of a JavaScript function called in the main frame of ``tab``, apart from the page's scripts.

    Only Chromium has such worlds; elsewhere it is called among the page's scripts. Raises as `Tab.evaluate`, but
    `Unreadable` when the function throws.
    """
    world = None
    if tab.is_observable:
        where = {"frameId": tab.frame_id, "worldName": _READING}
        world = (await tab.send("Page.createIsolatedWorld", where, seconds=seconds))["executionContextId"]
    try:
        return await tab.evaluate(function, *args, seconds=seconds, what=what, world=world)
    except ScriptFailed as failure:
        raise Unreadable(str(failure)) from failure
