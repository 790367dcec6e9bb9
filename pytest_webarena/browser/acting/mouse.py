"""Mouse gestures on one tab. Each part of a gesture has the page's time limit."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence

from pytest_webarena.browser.acting import scripts
from pytest_webarena.browser.acting.targets import HitPoint, TargetOnPage
from pytest_webarena.browser.faults import ActionFailed
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["Mouse"]

_DRAG_STEPS = 8
"""Number of mouse moves of a drag, because pages react to each move."""
_APPROACH = 1.0
"""Distance in pixels of the last moves of a drag, each of which is a real one."""


class Mouse:
    """The mouse of ``tab``. ``time_limit`` returns the seconds that the page has for the next part of a gesture."""

    def __init__(self, tab: Tab, time_limit: Callable[[], float]) -> None:
        self._tab = tab
        self._mouse = tab.page.mouse
        self._time_limit = time_limit

    async def move(self, point: HitPoint) -> None:
        """Move to ``point``."""
        await self._tab.run(self._mouse.move(point.x, point.y), self._time_limit(), "moving the mouse")

    async def click(
        self, point: HitPoint, button: str = "left", count: int = 1, modifiers: Sequence[str] | None = None
    ) -> None:
        """Click ``point`` one to three times, with modifier keys held (Playwright's names)."""
        keyboard = self._tab.page.keyboard
        pressed: list[str] = []
        try:
            for key in modifiers or ():
                await self._tab.run(keyboard.down(key), self._time_limit(), "holding a key")
                pressed.append(key)
            click = self._mouse.click(point.x, point.y, button=button, click_count=max(1, min(count, 3)))  # type: ignore[arg-type]
            await self._tab.run(click, self._time_limit(), "clicking")
            if count > 1 and not self._tab.is_observable:  # Firefox counts them as separate clicks
                await self._tab.evaluate(scripts.DOUBLE, point.x, point.y, seconds=self._time_limit(), what="clicking")
        finally:
            for key in reversed(pressed):
                self._tab.in_background(keyboard.up(key))

    async def turn_wheel(self, point: HitPoint, across: float, down: float) -> None:
        """Turn the wheel over ``point``, by distances in pixels."""
        await self.move(point)
        await self._tab.run(self._mouse.wheel(across, down), self._time_limit(), "turning the mouse wheel")

    async def drag(
        self,
        source: TargetOnPage,
        destination: TargetOnPage,
        rest: Callable[[], Awaitable[object]],
        path: Sequence[tuple[float, float]] = (),
    ) -> tuple[HitPoint, HitPoint]:
        """Drag ``source`` over the points of ``path``, in CSS pixels, to ``destination``; return the points of both.

        `ActionFailed` if no drop event would come.

        ``rest`` waits until the page is settled: some begin a drag only when the button was held for a time, and lists
        that move their items ignore the mouse until these have arrived.
        """
        tab, mouse = self._tab, self._mouse
        if not tab.is_observable and await source.call(scripts.IS_DRAGGABLE):
            raise ActionFailed("This browser gives pages no drop event; dragging this needs --browser chromium.")
        start = await source.place("hover")
        await self.move(start)
        await tab.run(mouse.down(), self._time_limit(), "pressing the mouse button")
        try:
            await rest()
            # Move a little first: the drag has to begin before the page is scrolled under the mouse.
            await tab.run(mouse.move(start.x + 6, start.y + 3, steps=2), self._time_limit(), "dragging")
            for x, y in path:
                await tab.run(mouse.move(x, y, steps=_DRAG_STEPS), self._time_limit(), "dragging")
            end = await destination.place("hover")
            side = math.copysign(_APPROACH, start.x - end.x)
            await tab.run(mouse.move(end.x + side, end.y, steps=_DRAG_STEPS), self._time_limit(), "dragging")
            await rest()
            await tab.run(mouse.move(end.x, end.y), self._time_limit(), "dragging")
        except BaseException:
            tab.in_background(mouse.up())
            raise
        await tab.run(mouse.up(), self._time_limit(), "releasing the mouse button")
        return start, end
