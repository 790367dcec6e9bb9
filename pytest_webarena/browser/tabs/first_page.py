"""Loads the start pages of a task. Failures there are not the agent's fault."""

from __future__ import annotations

import contextlib

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.faults import DialogBlocks, TabClosed, Unresponsive
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import first_line, net_error
from pytest_webarena.browser.tabs.address_guard import RefusedAddress, resolve_address
from pytest_webarena.browser.tabs.navigation import load
from pytest_webarena.browser.tabs.settle import settle
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.text import shorten

__all__ = ["open_first_page"]


async def open_first_page(tab: Tab, url: str, limits: Deadlines, budget: Deadline) -> None:
    """Load ``url`` and wait until it settles. `TaskError` for a refused address, `SiteError` without a page."""
    seconds = limits.navigation
    try:
        address = resolve_address(url, "about:blank")
        response = await load(tab, address, seconds)
        with contextlib.suppress(Unresponsive):  # the page has arrived; the first observation handles the rest
            await settle(tab, limits, budget)
    except RefusedAddress as error:
        raise TaskError(f"the first page of a task: {error}") from error
    except (PlaywrightError, Unresponsive, TabClosed) as error:
        reason = net_error(error) or shorten(first_line(error))
        raise SiteError(f"{url}: expected a page within {seconds:g} s, found: {reason}") from error
    except DialogBlocks:
        return
    if response is not None and response.status >= 500:
        raise SiteError(f"{url}: expected a page, found HTTP status {response.status}")
