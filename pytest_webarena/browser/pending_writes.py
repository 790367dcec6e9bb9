"""Waits, at the end of an episode, for requests of pages that may change a site or lead to such requests."""

from __future__ import annotations

import asyncio
import contextlib
import math

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Request

from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.faults import DialogBlocks, PageCrashed, ScriptFailed, TabClosed, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.tabs.settle import settle
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.browser.tabs.tabs import Tabs
from pytest_webarena.browser.tabs.timers import INERT

__all__ = ["started_before", "wait_for_idle", "wait_for_reads", "wait_for_writes"]

_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_QUEUED = 1.0
"""Seconds that one unfinished request is waited for if it is the only one. For some requests that outlive their page,
the browser never reports the end."""


async def wait_for_idle(
    tabs: Tabs,
    before: tuple[frozenset[Request], frozenset[str]],
    limits: Deadlines,
    seconds: float,
    *,
    pause: float,
    trusted: bool,
) -> bool:
    """Wait until pages have done delayed work, such as a form that saves when the user stops typing, or a fade-out.

    It makes no difference how an agent acts: a script of its own may have set such a timer. Most delayed work can't be
    detected, so the function waits for ``pause`` seconds first. Then it waits until no short timer is pending, for each
    page at most as long as for the effect of an action.

    Args:
        tabs: The tabs.
        before: Requests in flight before the last action (`started_before`).
        limits: Timeouts of the session.
        seconds: Maximum time in all.
        pause: Seconds to wait in any case.
        trusted: Whether pages run only their own scripts, so that pages without scripts need no waiting.

    Returns:
        False if the pages can't do anything themselves; else True.
    """
    limit, (old, _) = Deadline(seconds), before
    if trusted and await _inert(tabs, limits):
        return False
    if pause > 0:
        await asyncio.sleep(limit.left(pause))
        await tabs.sync()
    for tab in tabs:
        with contextlib.suppress(TabClosed, PageCrashed, Unresponsive, DialogBlocks, PlaywrightError):
            await settle(tab, limits, limit, before=old, since=-math.inf)
    return True


async def _inert(tabs: Tabs, limits: Deadlines) -> bool:
    """Return whether no page has scripts or is loading."""
    for tab in tabs:
        if tab.is_navigating() or tab.inflight or tab.page.context.service_workers:
            return False
        try:
            if not await tab.evaluate(INERT, seconds=limits.hang, what="looking for scripts"):
                return False
        except (TabClosed, PageCrashed, Unresponsive, DialogBlocks, ScriptFailed, PlaywrightError):
            return False
    return True


async def wait_for_writes(tabs: Tabs, seconds: float) -> bool:
    """Wait at most ``seconds`` until pages have no writing request in flight; return whether they still have one.

    A browser opens six connections to a site, and a request that waits for one of them is visible only here.
    """
    limit, single_limit = Deadline(seconds), Deadline(min(_QUEUED, seconds))
    while (busy := next((tab for tab in tabs if any(map(_writes, tab.inflight))), None)) is not None:
        if limit.over or (single_limit.over and not any(map(_reads, tabs))):
            return True
        await busy.wait_for_activity(min(limit.left(), single_limit.left() or 0.1))
    return False


def _writes(request: Request) -> bool:
    return request.method.upper() not in _SAFE


def _asked(tab: Tab) -> list[tuple[Request, str]]:
    return [*tab.inflight.items(), *tab.pending_images.items()]


def _reads(tab: Tab) -> bool:
    return any(not _writes(request) for request in tab.inflight)


def started_before(tabs: Tabs) -> tuple[frozenset[Request], frozenset[str]]:
    """Return the reads in flight, and keys that identify repetitions of them, as of pages that poll."""
    found = [each for tab in tabs for each in _asked(tab) if not _writes(each[0])]
    return frozenset(request for request, _ in found), frozenset(key for _, key in found)


async def wait_for_reads(
    tabs: Tabs, before: tuple[frozenset[Request], frozenset[str]], limits: Deadlines, seconds: float
) -> tuple[bool, tuple[str, ...]]:
    """Wait until pages have answers to their reads since ``before``, and have processed them.

    Many pages read a version or a token and then write. Returns whether there was anything to wait for, and the
    requests that are unanswered after ``seconds``.
    """
    old, polled = before
    limit, waited = Deadline(seconds), False

    def reads(tab: Tab) -> list[Request]:
        fresh = (request for request, key in _asked(tab) if request not in old and key not in polled)
        return [request for request in fresh if not _writes(request)]

    while (busy := next((tab for tab in tabs if reads(tab)), None)) is not None:
        waited = True
        if limit.over:
            return True, tuple(f"{request.method} {request.url}" for tab in tabs for request in reads(tab))
        with contextlib.suppress(TabClosed, PageCrashed):
            await busy.wait_for_activity(limit.left())
            if not reads(busy):
                with contextlib.suppress(Unresponsive, DialogBlocks, PlaywrightError):
                    await settle(busy, limits, limit)
                continue
        await tabs.sync()
    return waited, ()
