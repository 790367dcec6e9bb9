"""Navigates a tab: to an address, through its history, or by reloading."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable
from typing import Any, Literal

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Response

from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.faults import ActionFailed, ScriptFailed, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import first_line, net_error
from pytest_webarena.browser.tabs.aborted_requests import ABORTED, is_document
from pytest_webarena.browser.tabs.address_guard import resolve_address
from pytest_webarena.browser.tabs.navigation_events import EMPTY
from pytest_webarena.browser.tabs.navigation_lock import navigation_locked
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.text import shorten

__all__ = ["go_through_history", "go_to", "load", "reload"]

_NETWORK_CHANGED = re.compile(r"ERR_NETWORK_CHANGED|interrupted by another navigation to .chrome-error:")
"""Errors of a network change, including that of the browser's own error page, which may be reported first."""
_NETWORK_SETTLES = 0.3
"""Seconds until the next try, because a container changes several addresses in quick succession."""
_SILENT = 1.0
"""Seconds for a page of the history, or one that preceded the requested one, to begin to arrive."""
_OVERTAKEN = 3
"""Number of tries for an address while the page itself keeps navigating."""
_BROKEN_OFF = 10
"""Number of tries while network changes make the browser abort a navigation or repeat it itself."""
_INTERRUPTED = re.compile(r"interrupted by another navigation(?: to \"?(.*?)\"?$)?", re.MULTILINE)


async def load(tab: Tab, url: str, seconds: float) -> Response | None:
    """Navigate ``tab`` to ``url`` until an answer begins to arrive; return the answer.

    It is tried twice more if the browser aborted it because the machine's network changed: containers cause that, not
    the site. Raises `PlaywrightError` and `Unresponsive`.
    """
    what = f"opening {shorten(url, 100)}"
    for tries_left in (2, 1, 0):
        navigation = tab.page.goto(url, wait_until="commit", timeout=_milliseconds(seconds))
        try:
            return await tab.run(navigation, seconds + 1.0, what)
        except PlaywrightError as error:
            if not tries_left or _NETWORK_CHANGED.search(str(error)) is None:
                raise
            await asyncio.sleep(_NETWORK_SETTLES)
    raise AssertionError("unreachable")


async def go_to(tab: Tab, address: str, limits: Deadlines, deadline: Deadline) -> str:
    """Open ``address`` in ``tab`` until it begins to arrive; return the full address.

    Raises `ActionFailed` and `RefusedAddress` with a message for the agent.
    """
    url = resolve_address(address, tab.url)
    lock = tab.is_navigating()
    tries_left = {"elsewhere": _OVERTAKEN, "broken off": _BROKEN_OFF}
    while True:
        seconds = deadline.left(limits.navigation)
        async with navigation_locked(tab, but=url) if lock else contextlib.nullcontext():
            why = await _overtaken(tab, url, load(tab, url, seconds), seconds)
        if not why:
            return url
        tries_left[why] -= 1
        if not tries_left[why]:
            reason = "the page itself keeps navigating" if why == "elsewhere" else "it was broken off again and again"
            raise ActionFailed(f"{shorten(url, 100)} was not opened: {reason}.")
        lock = True


async def reload(tab: Tab, limits: Deadlines, deadline: Deadline) -> str:
    """Reload the page of ``tab`` until it begins to arrive; return its address."""
    url = tab.url
    seconds = deadline.left(limits.navigation)
    reloading = tab.page.reload(wait_until="commit", timeout=_milliseconds(seconds))
    navigation = tab.run(reloading, seconds + 1.0, f"opening {shorten(url, 100)}")
    if await _overtaken(tab, url, navigation, seconds):
        raise ActionFailed(f"{shorten(url, 100)} was not loaded again: the page itself went elsewhere.")
    return url


async def go_through_history(tab: Tab, step: int, *, seconds: float) -> str:
    """Go ``step`` pages forward (1) or back (-1); return the address of that page."""
    if not tab.is_observable:
        return await _go_by_playwright(tab, step, seconds=seconds)
    history = await tab.send("Page.getNavigationHistory", seconds=seconds)
    index = history["currentIndex"] + step
    entries = history["entries"]
    # The first entry of every tab is the empty page with which it was opened.
    if not 0 <= index < len(entries) or (index == 0 and entries[0]["url"] == "about:blank"):
        raise _no_page(step)
    entry = entries[index]
    await tab.send("Page.navigateToHistoryEntry", {"entryId": entry["id"]}, seconds=seconds)
    return str(entry["url"])


async def _go_by_playwright(tab: Tab, step: int, *, seconds: float) -> str:
    """Do the same in browsers other than Chromium, whose history can't be read; they report a missing page at once."""
    arrivals = tab.arrivals
    go = tab.page.go_back if step < 0 else tab.page.go_forward
    navigation = asyncio.ensure_future(go(wait_until="commit", timeout=_milliseconds(seconds)))
    tab.in_background(navigation)
    limit = Deadline(min(seconds, _SILENT))
    while not navigation.done() and not limit.over and tab.arrivals == arrivals and not tab.is_navigating():
        await tab.wait_for_activity(limit.left(0.05))  # changes within the same document may not be reported
        with contextlib.suppress(PlaywrightError, ScriptFailed):
            await tab.ask_address(seconds)
    if navigation.done() and tab.arrivals == arrivals and not tab.is_navigating():
        raise _no_page(step)
    return tab.url


def _no_page(step: int) -> ActionFailed:
    return ActionFailed(f"There is no {'earlier' if step < 0 else 'later'} page in this tab.")


def _milliseconds(seconds: float) -> float:
    return max(1.0, seconds * 1000)  # 0 means no timeout in Playwright


async def _overtaken(
    tab: Tab, url: str, navigation: Awaitable[Any], seconds: float
) -> Literal["", "elsewhere", "broken off"]:
    """Wait for ``navigation`` to ``url``; return why to try again, or empty if the page has arrived.

    Either the page itself navigated elsewhere before, or the navigation was aborted by the machine, after which the
    browser may request the same address itself.
    """
    document = tab.document
    empty = False

    def on_response(response: Response) -> None:
        nonlocal empty
        empty = empty or (response.status in EMPTY and is_document(response.request))

    tab.page.on("response", on_response)
    try:
        await navigation
    except Unresponsive as error:
        raise _unanswered(tab, url, seconds) from error
    except PlaywrightError as error:
        text = str(error)
        if "Timeout" in text:
            raise _unanswered(tab, url, seconds) from error
        if interrupted := _INTERRUPTED.search(text):
            if interrupted[1] not in (url, "chrome-error://chromewebdata/"):
                return "elsewhere"
            await tab.wait_for_activity(0.2)
            return "broken off"
        if ABORTED in text:
            await tab.wait_for_activity(0.2)  # the browser's own error page comes first
            return "broken off"
        if "Download is starting" in text:
            return ""
        if "ERR_ABORTED" in text:  # an empty answer, which leaves the page unchanged, or another navigation
            limit = Deadline(_SILENT)
            while not (empty or limit.over or tab.is_navigating() or tab.document != document):
                await tab.wait_for_activity(limit.left(0.1))
            return "elsewhere" if not empty and (tab.is_navigating() or tab.document != document) else ""
        reason = net_error(error) or shorten(first_line(error), 100)
        raise ActionFailed(f"{shorten(url, 100)} could not be opened: {reason}.") from error
    finally:
        tab.page.remove_listener("response", on_response)
    return ""


def _unanswered(tab: Tab, url: str, seconds: float) -> ActionFailed:
    tab.stop_loading()
    return ActionFailed(f"{shorten(url, 100)} did not answer within {seconds:.3g} s.")
