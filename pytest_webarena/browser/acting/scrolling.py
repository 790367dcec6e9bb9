"""Scrolls the page, a part of it, or whatever follows the mouse wheel, and waits until it stops."""

from __future__ import annotations

import contextlib
import math

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.actions import Point, Scroll
from pytest_webarena.browser.acting import element_probes, scripts
from pytest_webarena.browser.acting.mouse import Mouse
from pytest_webarena.browser.acting.performed import Performed
from pytest_webarena.browser.acting.targets import TargetOnPage
from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.faults import ActionFailed, ScriptFailed
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.reports import PageEvent
from pytest_webarena.browser.tabs.settle import settle
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.evidence import TargetRecord
from pytest_webarena.text import shorten

__all__ = ["scroll"]

_FARTHEST = 1e6
"""Maximum distance of one scroll in pixels."""
_DIRECTIONS = {
    "up": (0, -1, "at the top"),
    "down": (0, 1, "at the bottom"),
    "left": (-1, 0, "at the left end"),
    "right": (1, 0, "at the right end"),
}
"""Factors of screens across and down, and the name of the end."""


async def scroll(
    tab: Tab, mouse: Mouse, action: Scroll, target: TargetOnPage | None, limits: Deadlines, deadline: Deadline
) -> Performed:
    """Scroll ``target``, or turn the wheel over it if it is a point; None: scroll the page."""
    if action.direction not in _DIRECTIONS:
        raise ActionFailed(f"There is no direction {action.direction!r}: scroll {', '.join(_DIRECTIONS)}.")
    across, down, end = _DIRECTIONS[action.direction]
    pixels = action.pixels
    if pixels is not None and not 0 < pixels <= _FARTHEST:
        raise ActionFailed(f"Say by how many pixels to scroll: more than 0, at most {_FARTHEST:g}.")
    if target is not None and isinstance(action.target, Point):
        place = await target.place("hover")
        size = tab.page.viewport_size or {"width": 1280, "height": 720}
        distance = pixels if pixels is not None else 0.9 * (size["height"] if down else size["width"])
        await mouse.turn_wheel(place, across * distance, down * distance)
        await _come_to_a_stop(tab, deadline.left(limits.hang))
        return Performed(target=place.record, value=action.direction)

    async def moves() -> bool:
        if target is not None:
            return bool(await target.call(scripts.SCROLL, across, down, pixels))
        on_page = f"(...args) => ({scripts.SCROLL})(null, ...args)"
        hang = deadline.left(limits.hang)
        return bool(await tab.evaluate(on_page, across, down, pixels, seconds=hang, what="scrolling"))

    record = TargetRecord(**await target.call(element_probes.DESCRIBE)) if target is not None else None
    events: tuple[PageEvent, ...] = ()
    error = ""
    if not await moves():
        # An earlier action may still make the page longer, so its end is known only when the page is settled.
        await _come_to_a_stop(tab, deadline.left(limits.hang))
        events = await settle(tab, limits, deadline, since=-math.inf)
        error = "" if await moves() else _no_further(tab, end)
    if not error:
        await _come_to_a_stop(tab, deadline.left(limits.hang))
    return Performed(target=record, value=action.direction, error=error, events=events)


def _no_further(tab: Tab, end: str) -> str:
    loading = next(iter(tab.inflight), None)
    if loading is None:
        return f"Nothing moved: this is already {end}."
    return (
        f"Nothing moved: this is {end} for now, but the page is still loading {shorten(loading.url, 100)}. "
        "Wait, then scroll again."
    )


async def _come_to_a_stop(tab: Tab, seconds: float) -> None:
    """Wait until nothing in ``tab`` has scrolled for two frames; its scripts have been notified by then."""
    with contextlib.suppress(ScriptFailed, PlaywrightError):  # `settle` waits if the page navigates
        await tab.evaluate(scripts.STOPS_MOVING, seconds=seconds, what="scrolling")
