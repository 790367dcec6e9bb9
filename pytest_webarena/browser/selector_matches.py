"""Finds the elements that selectors match, and which selectors match the same one. Pages are not changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.acting import element_probes
from pytest_webarena.browser.reports import SelectorMatch
from pytest_webarena.evidence import TargetRecord

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle

    from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["find_matches"]

_IS = "(node, other) => node === other"


async def find_matches(tab: Tab, selectors: Sequence[str], hang: float) -> tuple[SelectorMatch, ...]:
    """Return the current matches of each selector in the tab, in order; an invalid selector matches nothing."""
    found = [await _handles(tab, selector, hang) for selector in selectors]
    kinds: list[tuple[ElementHandle, TargetRecord]] = []
    matches = []
    try:
        for handles in found:
            number = await _number(tab, handles[0], kinds, hang) if handles else -1
            is_gone = number < 0
            matches.append(
                SelectorMatch()
                if is_gone
                else SelectorMatch(count=len(handles), element=number, target=kinds[number][1])
            )
    finally:
        for handle in (handle for handles in found for handle in handles):
            await tab.run(handle.dispose(), hang, "letting go of elements")
    return tuple(matches)


async def _handles(tab: Tab, selector: str, hang: float) -> list[ElementHandle]:
    try:
        return await tab.run(tab.page.locator(selector).element_handles(), hang, f"looking for {selector!r}")
    except PlaywrightError:
        return []


async def _number(tab: Tab, handle: ElementHandle, kinds: list[tuple[ElementHandle, TargetRecord]], hang: float) -> int:
    """Return the index of the element in ``kinds``, to which it is added if new; -1 if it no longer exists."""
    for number, (known, _) in enumerate(kinds):
        try:
            if await tab.run(handle.evaluate(_IS, known), hang, "comparing elements"):
                return number
        except PlaywrightError:  # in another frame's document, or removed
            continue
    try:
        description = await tab.run(handle.evaluate(element_probes.DESCRIBE), hang, "looking at an element")
    except PlaywrightError:
        return -1
    kinds.append((handle, TargetRecord(**description)))
    return len(kinds) - 1
