"""Mouse gestures on one tab. Each part of a gesture has the page's time limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_webarena.browser.acting import scripts
from pytest_webarena.browser.acting.targets import HitPoint, TargetOnPage
from pytest_webarena.browser.faults import ActionFailed
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["Mouse"]

_DRAG_STEPS = 8
"""Number of mouse moves of a drag, because pages follow the moves and not only the end."""


class Mouse:
    """The mouse of ``tab``. ``hang`` returns the seconds that the page has for the next part of a gesture."""

    def __init__(self, tab: Tab, hang: Callable[[], float]) -> None:
        self._tab = tab
        self._mouse = tab.page.mouse
        self._hang = hang

    async def move(self, place: HitPoint) -> None:
        """Move to ``place``."""
        await self._tab.run(self._mouse.move(place.x, place.y), self._hang(), "moving the mouse")

    async def click(
        self, place: HitPoint, button: str = "left", count: int = 1, modifiers: Sequence[str] | None = None
    ) -> None:
        """Click ``place`` one to three times, with modifier keys held (Playwright's names)."""
        keyboard = self._tab.page.keyboard
        pressed: list[str] = []
        try:
            for key in modifiers or ():
                await self._tab.run(keyboard.down(key), self._hang(), "holding a key")
                pressed.append(key)
            click = self._mouse.click(place.x, place.y, button=button, click_count=max(1, min(count, 3)))  # type: ignore[arg-type]
            await self._tab.run(click, self._hang(), "clicking")
            if count > 1 and not self._tab.is_observable:  # Firefox counts them as separate clicks
                await self._tab.evaluate(scripts.DOUBLE, place.x, place.y, seconds=self._hang(), what="clicking")
        finally:
            for key in reversed(pressed):
                self._tab.in_background(keyboard.up(key))

    async def turn_wheel(self, place: HitPoint, across: float, down: float) -> None:
        """Turn the wheel over ``place``, by distances in pixels."""
        await self.move(place)
        await self._tab.run(self._mouse.wheel(across, down), self._hang(), "turning the mouse wheel")

    async def drag(self, source: TargetOnPage, destination: TargetOnPage) -> tuple[HitPoint, HitPoint]:
        """Drag ``source`` to ``destination``; return the points of both. `ActionFailed` if no drop event would come."""
        tab, mouse = self._tab, self._mouse
        if not tab.is_observable and await source.call(scripts.IS_DRAGGABLE):
            raise ActionFailed("This browser gives pages no drop event; dragging this needs --browser chromium.")
        place = await source.place("hover")
        await self.move(place)
        await tab.run(mouse.down(), self._hang(), "pressing the mouse button")
        try:
            # Move a little first: the drag has to begin before the page is scrolled under the mouse.
            await tab.run(mouse.move(place.x + 6, place.y + 3, steps=2), self._hang(), "dragging")
            end = await destination.place("hover")
            await tab.run(mouse.move(end.x, end.y, steps=_DRAG_STEPS), self._hang(), "dragging")
            # Move twice: a page that accepts a drop only where it has seen a hover needs a move there.
            await tab.run(mouse.move(end.x, end.y), self._hang(), "dragging")
        except BaseException:
            tab.in_background(mouse.up())
            raise
        await tab.run(mouse.up(), self._hang(), "releasing the mouse button")
        return place, end
