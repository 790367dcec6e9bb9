"""An example agent that drives the browser itself, here with Playwright; any CDP client works the same way.

``pytest --agent=self-driving tasks/`` runs it. It connects to the running browser, works in its only context, and
returns the answer. browser-use, Stagehand and computer-use loops connect in the same way.
"""

from __future__ import annotations

import re

from playwright.async_api import Page, async_playwright

from pytest_webarena.agents import TaskView


async def solve(task: TaskView, cdp_url: str, patience: int = 4) -> str:
    """Follow the links that share words with the intent, at most ``patience``; the answer is the last page's title."""
    wanted = words(task.intent)
    clicked: set[str] = set()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(cdp_url)
        page = browser.contexts[0].pages[0]
        while len(clicked) < patience:
            name = await best_link(page, wanted, clicked)
            if not name:
                break
            clicked.add(name)
            await page.get_by_role("link", name=name, exact=True).first.click()
            await page.wait_for_load_state()
        return await page.title()


async def best_link(page: Page, wanted: set[str], clicked: set[str]) -> str:
    """Returns the unvisited link that shares most words with the intent; the last in the alphabet among equals."""
    names = [name.strip() for name in await page.get_by_role("link").all_inner_texts()]
    score, name = max(((len(wanted & words(name)), name) for name in names if name not in clicked), default=(0, ""))
    return name if score else ""


def words(text: str) -> set[str]:
    """Returns the words of a text without plural endings. Short words are left out, because they occur in every
    text."""
    return {word.rstrip("s") for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 2}
