"""A form of observation: the books on the page, each with the number of its button."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_webarena.extending import Form, Page

__all__ = ["SHELF"]

_TITLES = "(selector) => [...document.querySelectorAll(selector)].map(book => book.textContent.trim())"


async def lines(page: Page) -> Sequence[str]:
    """The titles, then the tree's lines of buttons, whose ids agents can act on."""
    titles = await page.evaluate(_TITLES, ".book b")
    buttons = [line.strip() for line in page.extraction.lines if "] button" in line]
    return [*(f"book: {title}" for title in titles), *buttons] or ["(no books)"]


SHELF = Form(
    name="shelf",
    about="the books on the page, and its buttons",
    title="Shelf:",
    prompt="The page is given as the books it lists and its buttons with their ids.",
    lines=lines,
    needs=frozenset({"tree"}),
    ids=True,
)
