"""Reads the tabs without changing them: observation, screenshots, final state."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import Deadlines, ObservationConfig, SessionConfig
from pytest_webarena.browser.faults import DialogBlocks, PageCrashed, ScriptFailed, TabClosed, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import writable
from pytest_webarena.browser.observation import Observation, TabInfo, tab_line
from pytest_webarena.browser.observation.budget import compose
from pytest_webarena.browser.observation.exact import ExactExtractor
from pytest_webarena.browser.observation.extraction import Extraction, Extractor
from pytest_webarena.browser.observation.fast.extractor import FastExtractor
from pytest_webarena.browser.observation.fast.worlds import LostWorld
from pytest_webarena.browser.observation.forms import Form, Page, lines_of
from pytest_webarena.browser.observation.images import Screenshot, capture
from pytest_webarena.browser.observation.marking import mark_elements
from pytest_webarena.browser.tabs.address_guard import allowed_in_tab
from pytest_webarena.browser.tabs.document_status import status_of
from pytest_webarena.browser.tabs.navigation_lock import keeps_navigating
from pytest_webarena.browser.tabs.settle import settle
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.browser.tabs.tabs import Tabs
from pytest_webarena.errors import BrowserError, WebArenaError
from pytest_webarena.evidence import LONGEST_PAGE, TabState, cut

__all__ = ["html_of", "observe_tab", "observe_without_page", "screenshot_of", "states_of", "unread_observation"]

T = TypeVar("T")
_Read = tuple[Extraction, dict[str, tuple[str, ...]]]

_TRIES = 3
"""Number of times that a page is read if it navigates meanwhile."""


async def observe_tab(
    tabs: Tabs, config: SessionConfig, deadline: Deadline, extractor: Extractor | None = None
) -> Observation:
    """Return the observation of the current tab."""
    tab = tabs.current
    extractor = extractor or (FastExtractor() if config.observation.extractor == "fast" else ExactExtractor())
    if not tab.is_observable and not isinstance(extractor, FastExtractor):
        raise BrowserError("the exact extractor needs Chromium; use --browser chromium, or the fast extractor")
    observed = config.observation
    if tab.dialogs.open is not None:
        return await _dialog_observation(tabs)
    try:
        extraction, lines = await _extract(tab, config, deadline, extractor)
        shot = await _shot(tab, config, deadline.left(config.deadlines.hang))
    except DialogBlocks:
        return await _dialog_observation(tabs)
    infos = await _infos(tabs, extraction.title)
    width, height = _viewport(tab, extraction)
    image = shot.data if shot is not None else None
    for_agent = observed.pictured("plain")
    return Observation(
        text=compose(tab_line(infos), lines, observed),
        url=tab.url,
        title=extraction.title,
        tabs=infos,
        focused=extraction.focused,
        scroll=extraction.scroll,
        viewport=(width, height),
        screenshot=image if for_agent else None,
        marked=mark_elements(shot, extraction, observed, width=width) if shot and observed.pictured("marked") else None,
        for_record=image if config.record_screenshots and not for_agent else None,
    )


async def screenshot_of(tab: Tab, *, seconds: float) -> bytes:
    """Return the viewport as JPEG; empty while a dialog is open."""
    return (await capture(tab, ObservationConfig(), seconds=seconds)).data


async def _shot(tab: Tab, config: SessionConfig, seconds: float) -> Screenshot | None:
    """Take the one picture that observation and record share."""
    observed = config.observation
    if observed.pictured():
        return await capture(tab, observed, seconds=seconds, scale=config.device_scale)
    if not config.record_screenshots or tab.unpaintable:
        return None
    try:
        return await capture(tab, ObservationConfig(), seconds=seconds)
    except Unresponsive:  # a missing picture that only the record needs must not fail the step
        tab.unpaintable = True
        return None


async def states_of(tabs: Tabs, *, seconds: float) -> tuple[TabState, ...]:
    """Return address, title and DOM of every tab."""
    shown = list(tabs)
    infos = await _infos(tabs, None)
    pages = await asyncio.gather(*(html_of(tab, seconds=seconds) for tab in shown))
    return tuple(
        TabState(url=info.url, title=info.title, html=page, active=info.active, status=status_of(tab))
        for tab, info, page in zip(shown, infos, pages, strict=True)
    )


async def html_of(tab: Tab, *, seconds: float) -> str:
    """Return a tab's serialised DOM; empty if it does not answer, or shows a forbidden address."""
    if not allowed_in_tab(tab.page.url):
        return ""
    try:
        return cut(writable(await tab.run(tab.page.content(), seconds, "reading a tab")), LONGEST_PAGE)
    except (Unresponsive, DialogBlocks, TabClosed, PageCrashed, PlaywrightError):
        return ""  # the rest of the tab's state is known without the page and still recorded


async def _extract(tab: Tab, config: SessionConfig, deadline: Deadline, extractor: Extractor) -> _Read:
    """Return what was read of one document, and the text of each form that has any."""
    limits = config.deadlines
    attempt, began = 0, tab.document
    while True:
        attempt += 1
        if tab.is_navigating() or attempt > 1:
            await settle(tab, limits, deadline)
        await tab.leave_refused(deadline.left(limits.hang))
        document, first = tab.document, tab.in_page.next_number
        try:
            extraction, lines = await _alive(tab, _read(tab, config.observation, deadline, extractor), limits)
        except (PlaywrightError, ScriptFailed):
            if attempt == _TRIES or keeps_navigating(tab, began):
                raise
        except Unresponsive:
            if not tab.is_navigating() or deadline.over or keeps_navigating(tab, began):
                raise  # while another document is loading, the browser delays calls
        else:
            if tab.document == document or attempt == _TRIES:
                tab.elements.update(extraction.elements)
                tab.last_title = extraction.title
                return extraction, lines
        tab.in_page.discard(first)


async def _read(tab: Tab, config: ObservationConfig, deadline: Deadline, extractor: Extractor) -> _Read:
    extraction = await extractor.extract(tab, config, seconds=deadline.left())
    page = _Page(tab, config, extraction, deadline)
    found = {form.name: await _lines(form, page) for form in config.forms}
    return extraction, {name: lines for name, lines in found.items() if lines is not None}


async def _lines(form: Form, page: Page) -> tuple[str, ...] | None:
    try:
        return await lines_of(form, page)
    except LostWorld as error:
        raise PlaywrightError(str(error)) from error  # handled like any call during which the page navigates
    except (PlaywrightError, DialogBlocks, TabClosed, Unresponsive, WebArenaError):
        raise
    except Exception as error:  # code of a third party, or its script
        raise BrowserError(f"the observation form {form.name!r} failed: {type(error).__name__}: {error}") from error


class _Page:
    """Implementation of `observation.forms.Page`, which forms read."""

    def __init__(self, tab: Tab, config: ObservationConfig, extraction: Extraction, deadline: Deadline) -> None:
        self.url, self.config, self.extraction = tab.url, config, extraction
        self._tab, self._deadline = tab, deadline

    async def evaluate(self, function: str, *args: Any) -> Any:
        return await self._tab.in_page.ask(function, *args, seconds=self._deadline.left())


async def _alive(tab: Tab, work: Coroutine[Any, Any, T], limits: Deadlines) -> T:
    """Return the result of ``work``, which may take long on a large page unless the page itself hangs."""
    ping = tab.evaluate("() => 1", seconds=limits.hang, what="looking at the page")
    result: T = (await asyncio.gather(ping, work))[1]
    return result


async def unread_observation(tabs: Tabs, reason: str) -> Observation:
    """Return an observation of a page that could not be read."""
    infos = await _infos(tabs, None)
    tab = tabs.current
    return Observation(
        text="\n".join([tab_line(infos), "", f"The page could not be read: {reason}."]),
        url=tab.url,
        title=next((info.title for info in infos if info.active), ""),
        tabs=infos,
        viewport=_viewport(tab),
    )


async def observe_without_page(tabs: Tabs) -> Observation:
    """Return an observation of the current tab without asking its page, which may be blocked."""
    seen = await _dialog_observation(tabs)
    return seen if tabs.current.dialogs.open is not None else replace(seen, text=tab_line(seen.tabs), dialog=None)


async def _dialog_observation(tabs: Tabs) -> Observation:
    """Return an observation of a page with an open dialog, whose scripts and rendering are blocked."""
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


def _viewport(tab: Tab, read: Extraction | None = None) -> tuple[int, int]:
    """Return the configured viewport, or that of ``read`` if an agent that drives the browser controls it."""
    size = tab.page.viewport_size
    if size is None:
        return (round(read.width), round(read.scroll.viewport_height)) if read is not None else (0, 0)
    return size["width"], size["height"]


async def _infos(tabs: Tabs, current_title: str | None) -> tuple[TabInfo, ...]:
    async def info(tab: Tab) -> TabInfo:
        active = tab is tabs.current
        title = current_title if active and current_title is not None else await tab.title()
        return TabInfo(title=title, url=tab.url, active=active)

    return tuple(await asyncio.gather(*(info(tab) for tab in tabs)))
