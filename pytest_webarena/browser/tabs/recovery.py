"""Recovers a page that has stopped answering: stops its script, or replaces it by an empty tab.

After an episode, a page is never replaced, because its content is judged."""

from __future__ import annotations

import contextlib

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.faults import PageCrashed, ScriptFailed, TabClosed, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.reports import STOPPED_RESPONDING, PageEvent
from pytest_webarena.browser.tabs.navigation_lock import navigation_locked
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.browser.tabs.tabs import Tabs
from pytest_webarena.text import shorten

__all__ = ["make_readable", "recover"]

_STOPS = 3
"""Minimum number of times that a restarting script is stopped after an episode."""
_STOPPING = 1.0
"""Time limit in seconds for each of these."""


async def recover(tabs: Tabs, tab: Tab, *, seconds: float, stop: bool = True) -> PageEvent:
    """Make ``tab`` usable within about ``seconds``; return the event for the agent.

    ``Runtime.terminateExecution`` interrupts ``while (true)`` within milliseconds, and an endless series of alerts
    between two of them. Without ``stop``, the page is closed at once, because its script was stopped before and hangs
    again. `BrowserError` if not even an empty tab can be opened.
    """
    url = tab.url
    looping = tab.dialogs.looping
    tab.dialogs.drain()
    try:
        if (looping and tab.flooded) or not (stop and tab.is_observable):
            raise Unresponsive("stopping its dialogs", 0)  # a timer opens them, or scripts can't be stopped
        tab.flooded = looping
        # A page that is only slow (layout, painting) runs no script to stop, and is waited for.
        limit = Deadline(seconds)
        async with navigation_locked(tab):  # a page that keeps reloading would not answer either
            await tab.send("Runtime.terminateExecution", seconds=limit.left())
            try:
                await tab.evaluate("() => 1", seconds=limit.left(), what="asking the page")
            except ScriptFailed:  # the termination may hit the query itself
                await tab.evaluate("() => 1", seconds=limit.left(), what="asking the page")
    except (Unresponsive, ScriptFailed, PlaywrightError, TabClosed):
        await tabs.replace(tab)
        what = "kept opening dialogs" if looping else STOPPED_RESPONDING
        return PageEvent(
            kind="tab_closed", text=f"The page {shorten(url)} {what} and was closed; the tab is empty.", url=url
        )
    finally:
        tab.dialogs.drained()
    what = "kept opening dialogs" if looping else f"{STOPPED_RESPONDING}: it ran a script without end"
    return PageEvent(kind="script_stopped", text=f"The page {what}; its script was stopped.", url=url)


async def make_readable(tab: Tab, *, seconds: float) -> str:
    """Make ``tab`` readable after the episode; return why it is not, or an empty string.

    Its dialogs are dismissed from now on as soon as they open. A page that is only busy gets ``seconds``. Then an
    endless script, or one with endless dialogs, is stopped several times, and for as long again, because on a busy
    machine the termination often arrives while a dialog is open.
    """
    tab.dialogs.drain(accept=False)
    with contextlib.suppress(PlaywrightError, PageCrashed, TabClosed):  # the reader will report these
        for patience in (min(1.0, seconds), seconds):
            if not tab.dialogs.looping and await _answers(tab, patience):
                return ""
        limit, stops = Deadline(seconds), 0
        while stops < _STOPS or not limit.over:
            stops += 1
            if tab.is_observable:
                with contextlib.suppress(Unresponsive):
                    await tab.send("Runtime.terminateExecution", seconds=_STOPPING)
            if await _answers(tab, _STOPPING):
                return ""
        return "it kept opening dialogs" if tab.dialogs.looping else "it ran scripts without end"
    return ""


async def _answers(tab: Tab, seconds: float) -> bool:
    try:
        await tab.evaluate("() => 1", seconds=seconds, what="asking the page")
    except (Unresponsive, ScriptFailed):  # the termination may hit the query itself
        return False
    return True
