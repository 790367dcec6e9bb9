"""Runs scripts of the harness in an isolated world, unaffected by what a page's scripts replace or define."""

from __future__ import annotations

from typing import Any

from pytest_webarena.browser.faults import ScriptFailed, Unreadable
from pytest_webarena.browser.observation.fast.worlds import WORLD
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["evaluate_isolated"]

_READING = f"{WORLD}-reading"
"""Name of the world. Unlike `WORLD`, it has the page's permissions only, so it can't read frames of other sites."""


async def evaluate_isolated(tab: Tab, function: str, *args: Any, seconds: float, what: str) -> Any:
    """Call a JavaScript function in the main frame of ``tab``, isolated from the page's scripts; return its result.

    Only Chromium supports this; elsewhere it runs among the page's scripts. Raises as `Tab.evaluate`, but `Unreadable`
    if the function throws.
    """
    world = None
    if tab.is_observable:
        where = {"frameId": tab.frame_id, "worldName": _READING}
        world = (await tab.send("Page.createIsolatedWorld", where, seconds=seconds))["executionContextId"]
    try:
        return await tab.evaluate(function, *args, seconds=seconds, what=what, world=world)
    except ScriptFailed as failure:
        raise Unreadable(str(failure)) from failure
