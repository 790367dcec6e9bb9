"""Keys and typed text on one tab. Each part has the page's time limit."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.acting import scripts
from pytest_webarena.browser.faults import ScriptFailed
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["Keyboard", "sendable_text"]

_TYPED_KEY_BY_KEY = 200
"""Maximum length of texts that are typed key by key; longer ones are inserted at once, except the last character."""
_TYPED_SLOWLY = 40
"""The same on Firefox, where each key takes longer."""
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_PIECES = re.compile(r"[\x00-\x7f]{1,10}|[^\x00-\x7f]+")
"""Short pieces of characters that have keys, because each key may take long, and characters without keys."""


class Keyboard:
    """The keyboard of ``tab``. ``hang`` returns the seconds that the page has to answer."""

    def __init__(self, tab: Tab, hang: Callable[[], float]) -> None:
        self._tab = tab
        self._keyboard = tab.page.keyboard
        self._hang = hang

    async def type(self, text: str) -> None:
        """Type any text. Existing keys are pressed, other characters inserted; a line break presses Enter.

        After a line break, the page draws first: editors make a line of their own then, and put the cursor into it.
        """
        text = sendable_text(text)
        if len(text) > (_TYPED_KEY_BY_KEY if self._tab.is_observable else _TYPED_SLOWLY):
            await self.insert(text[:-1])
            text = text[-1]
        for number, line in enumerate(_LINES.findall(text)):
            if number:
                await self._draw()
            await self._press_letters(line)

    async def _press_letters(self, text: str) -> None:
        for piece in (text,) if self._tab.is_observable else _PIECES.findall(text):
            if self._tab.is_observable or piece.isascii():
                await self._tab.run(self._keyboard.type(piece), self._hang(), "typing")
            else:
                await self.insert(piece)

    async def _draw(self) -> None:
        """Wait until the page has drawn; not for a page that goes away."""
        if not self._tab.is_navigating():
            with contextlib.suppress(ScriptFailed, PlaywrightError):
                await self._tab.evaluate(scripts.DRAW, seconds=self._hang(), what="typing")

    async def insert(self, text: str) -> None:
        """Insert text at the cursor without keys."""
        if not self._tab.is_observable:
            # Playwright would set the field's value, which frameworks that watch the field don't notice.
            inserted = await self._tab.evaluate(scripts.INSERT, text, seconds=self._hang(), what="inserting text")
            if inserted:
                return
        await self._tab.run(self._keyboard.insert_text(text), self._hang(), "inserting text")

    async def press(self, keys: str) -> None:
        """Press and release keys, by Playwright's names."""
        await self._tab.run(self._keyboard.press(keys), self._hang(), "pressing a key")


def sendable_text(text: str) -> str:
    """Return ``text`` in a form that can be sent to a browser: lone surrogates replaced, line breaks normalised."""
    return text.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")
