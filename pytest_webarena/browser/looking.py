"""Looks at the tabs: the observation, screenshots, the final state. Nothing here changes a page."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Coroutine
from typing import Any, TypeVar

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import Deadlines, SessionConfig
from pytest_webarena.browser.faults import DialogOpened, PageCrashed, ScriptFailed, TabClosed, Unresponsive
from pytest_webarena.browser.guards import allowed_in_tab
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import writable
from pytest_webarena.browser.observation import Extraction, Extractor, Observation, TabInfo, tab_line
from pytest_webarena.browser.observation.budget import cut_lines
from pytest_webarena.browser.observation.exact import ExactExtractor
from pytest_webarena.browser.settle import settle
from pytest_webarena.browser.tab import Tab
from pytest_webarena.browser.tabs import Tabs
from pytest_webarena.errors import BrowserError
from pytest_webarena.evidence import TabState

__all__ = ["look", "screenshot_of", "states_of"]

T = TypeVar("T")

_QUALITY = 80
_TRIES = 3
"""How often a page that goes elsewhere while it is read is read again."""


async def look(
    tabs: Tabs, config: SessionConfig, deadline: Deadline, extractor: Extractor | None = None
) -> Observation:
    """The current tab as the agent sees it."""
    tab = tabs.current
    if not tab.is_observable:
        raise BrowserError("observing pages needs Chromium for now; run with --browser chromium")
    if tab.dialogs.open is not None:
        return await _dialog_observation(tabs)
    try:
        extraction = await _extract(tab, config, deadline, extractor or ExactExtractor())
    except DialogOpened:
        return await _dialog_observation(tabs)
    infos = await _infos(tabs, extraction.title)
    asked = config.observation.wants("screenshot")
    shot = None
    if asked or config.record_screenshots:
        shot = await screenshot_of(tab, seconds=deadline.left(config.deadlines.hang))
    text = "\n".join([tab_line(infos), "", *extraction.lines])
    return Observation(
        text=cut_lines(text, config.observation.max_chars),
        url=tab.url,
        title=extraction.title,
        tabs=infos,
        focused=extraction.focused,
        scroll=extraction.scroll,
        viewport=_viewport(tab),
        screenshot=shot if asked else None,
        for_record=None if asked else shot,
    )


async def screenshot_of(tab: Tab, *, seconds: float) -> bytes:
    """The viewport as JPEG; empty while a dialog is open."""
    if tab.dialogs.open is not None:
        return b""
    try:
        if not tab.is_observable:
            return await tab.run(tab.page.screenshot(type="jpeg", quality=_QUALITY), seconds, "taking a screenshot")
        parameters = {"format": "jpeg", "quality": _QUALITY, "optimizeForSpeed": True}
        answer = await tab.send("Page.captureScreenshot", parameters, seconds=seconds)
    except DialogOpened:
        return b""
    return base64.b64decode(answer["data"])


async def states_of(tabs: Tabs, *, seconds: float) -> tuple[TabState, ...]:
    """URL, title and DOM of every tab."""

    async def html(tab: Tab) -> str:
        if not allowed_in_tab(tab.page.url):
            return ""
        try:
            return writable(await tab.run(tab.page.content(), seconds, "reading a tab"))
        except (Unresponsive, DialogOpened, TabClosed, PageCrashed, PlaywrightError):
            return ""  # what is known without the page's help is still recorded

    infos = await _infos(tabs, None)
    pages = await asyncio.gather(*(html(tab) for tab in tabs))
    return tuple(
        TabState(url=info.url, title=info.title, html=page, active=info.active)
        for info, page in zip(infos, pages, strict=True)
    )


async def _extract(tab: Tab, config: SessionConfig, deadline: Deadline, extractor: Extractor) -> Extraction:
    limits = config.deadlines
    attempt = 0
    while True:
        attempt += 1
        if tab.is_navigating() or attempt > 1:
            await settle(tab, limits, deadline)
        await tab.leave_refused(deadline.left(limits.hang))
        document = tab.document
        try:
            extraction = await _alive(tab, extractor.extract(tab, config.observation, seconds=deadline.left()), limits)
        except (PlaywrightError, ScriptFailed):
            if attempt == _TRIES:
                raise
        except Unresponsive:
            if not tab.is_navigating() or deadline.over:
                raise  # while another document is on its way, the browser holds calls back
        else:
            if tab.document == document or attempt == _TRIES:
                tab.elements.update(extraction.elements)
                return extraction


async def _alive(tab: Tab, work: Coroutine[Any, Any, T], limits: Deadlines) -> T:
    """The result of ``work``, which may take its time on a large page as long as the page itself is not hung."""
    ping = tab.evaluate("() => 1", seconds=limits.hang, what="looking at the page")
    result: T = (await asyncio.gather(ping, work))[1]
    return result


async def _dialog_observation(tabs: Tabs) -> Observation:
    """A page with an open dialog can't be read: its scripts and its painting stand still."""
    infos = await _infos(tabs, None)
    tab = tabs.current
    dialog = tab.dialogs.describe() or "dialog"
    return Observation(
        text="\n".join([tab_line(infos), "", f"A dialog is open: {dialog}"]),
        url=tab.url,
        title=next((info.title for info in infos if info.active), ""),
        tabs=infos,
        dialog=dialog,
        viewport=_viewport(tab),
    )


def _viewport(tab: Tab) -> tuple[int, int]:
    size = tab.page.viewport_size
    return (size["width"], size["height"]) if size else (0, 0)


async def _infos(tabs: Tabs, current_title: str | None) -> tuple[TabInfo, ...]:
    async def info(tab: Tab) -> TabInfo:
        active = tab is tabs.current
        title = current_title if active and current_title is not None else await tab.title()
        return TabInfo(title=title, url=tab.url, active=active)

    return tuple(await asyncio.gather(*(info(tab) for tab in tabs)))
