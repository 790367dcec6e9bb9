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


_MOVED = ("part", "page")
"""Results of `scripts.SCROLL` if something moved."""


async def scroll(
    tab: Tab, mouse: Mouse, action: Scroll, target: TargetOnPage | None, limits: Deadlines, deadline: Deadline
) -> Performed:
    """Scroll ``target``, or turn the wheel over it if it is a point; None: scroll the page."""
    if action.direction not in _DIRECTIONS:
        raise ActionFailed(f"There is no direction {action.direction!r}: scroll {', '.join(_DIRECTIONS)}.")
    across, down, end = _DIRECTIONS[action.direction]
    events: tuple[PageEvent, ...] = ()
    pixels = action.pixels
    if pixels is not None and not 0 < pixels <= _FARTHEST:
        raise ActionFailed(f"Say by how many pixels to scroll: more than 0, at most {_FARTHEST:g}.")
    if target is not None and isinstance(action.target, Point):
        place = await target.place("hover")
        size = tab.page.viewport_size or {"width": 1280, "height": 720}
        distance = pixels if pixels is not None else 0.9 * (size["height"] if down else size["width"])
        with contextlib.suppress(ScriptFailed):
            hang = deadline.left(limits.hang)
            await tab.evaluate(scripts.WATCH_WHEEL, place.x, place.y, seconds=hang, what="scrolling")
        await mouse.turn_wheel(place, across * distance, down * distance)
        done = await _come_to_a_stop(tab, deadline.left(limits.hang))
        still = f"The mouse wheel was turned over {_label(place.record)}, but nothing scrolled."
        if done == "nothing":
            events = (PageEvent(kind="field", text=still),)
        return Performed(target=place.record, value=action.direction, events=events)

    async def move() -> str:
        if target is not None:
            return str(await target.call(scripts.SCROLL, across, down, pixels))
        on_page = f"(...args) => ({scripts.SCROLL})(null, ...args)"
        hang = deadline.left(limits.hang)
        return str(await tab.evaluate(on_page, across, down, pixels, seconds=hang, what="scrolling"))

    record = TargetRecord(**await target.call(element_probes.DESCRIBE)) if target is not None else None
    moved = await move()
    if moved not in _MOVED:
        # An earlier action may still make the page longer, so its end is known only when the page is settled.
        await _come_to_a_stop(tab, deadline.left(limits.hang))
        events = await settle(tab, limits, deadline, since=-math.inf)
        moved = await move()
    error = "" if moved in _MOVED else _no_further(tab, action.direction, end, record, moved)
    if not error:
        await _come_to_a_stop(tab, deadline.left(limits.hang))
    if moved == "page" and record is not None and record.tag not in ("html", "body"):
        text = f"The page scrolled, because nothing around {_label(record)} scrolls further."
        events = (*events, PageEvent(kind="field", text=text))
    return Performed(target=record, value=action.direction, error=error, events=events)


def _label(record: TargetRecord) -> str:
    return f"{record.role} {shorten(record.name, 60)!r}"


def _no_further(tab: Tab, direction: str, end: str, record: TargetRecord | None, moved: str) -> str:
    loading = next(iter(tab.inflight), None)
    if loading is not None:
        return (
            f"Nothing moved: this is {end} for now, but the page is still loading {shorten(loading.url, 100)}. "
            "Wait, then scroll again."
        )
    if moved == "end":
        return f"Nothing moved: this is already {end}."
    here = "nothing on this page scrolls" if record is None else f"neither {_label(record)} nor its page scrolls"
    return f"Nothing moved: {here} {direction}."


async def _come_to_a_stop(tab: Tab, seconds: float) -> str:
    """Wait until nothing in ``tab`` has scrolled for two frames; return what a watch of the wheel saw.

    Its scripts have been notified by then.
    """
    with contextlib.suppress(ScriptFailed, PlaywrightError):  # `settle` waits if the page navigates
        return str(await tab.evaluate(scripts.STOPS_MOVING, seconds=seconds, what="scrolling"))
    return ""
