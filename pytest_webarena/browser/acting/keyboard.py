"""Keys on one tab, and text that is written with them. Each part ends within the time that a page has to answer."""

from __future__ import annotations

import re
from collections.abc import Callable

from pytest_webarena.browser.acting import scripts
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["Keyboard", "typable"]

_TYPED_KEY_BY_KEY = 200
"""Longer texts are inserted at once, but for the last character: key by key they would take seconds."""
_TYPED_SLOWLY = 40
"""The same where each key takes longer: on Firefox."""
_PIECES = re.compile(r"[\x00-\x7f]{1,10}|[^\x00-\x7f]+")
"""What keyboards have keys for, a few at a time, for each may take its time; and what they have none for."""


class Keyboard:
    """The keyboard of ``tab``. ``hang`` says how many seconds the page has to answer."""

    def __init__(self, tab: Tab, hang: Callable[[], float]) -> None:
        self._tab = tab
        self._keyboard = tab.page.keyboard
        self._hang = hang

    async def type(self, text: str) -> None:
        """Type any text. Keys that exist are pressed, other characters inserted; a line break presses Enter."""
        text = typable(text)
        if not text:
            return
        if len(text) > (_TYPED_KEY_BY_KEY if self._tab.is_observable else _TYPED_SLOWLY):
            await self.insert(text[:-1])
            text = text[-1]
        for piece in (text,) if self._tab.is_observable else _PIECES.findall(text):
            if self._tab.is_observable or piece.isascii():
                await self._tab.run(self._keyboard.type(piece), self._hang(), "typing")
            else:
                await self.insert(piece)

    async def insert(self, text: str) -> None:
        """Insert text at the cursor, without keys."""
        if not self._tab.is_observable:
            # Playwright would set the field's value there, which frameworks that watch it don't notice.
            inserted = await self._tab.evaluate(scripts.INSERT, text, seconds=self._hang(), what="inserting text")
            if inserted:
                return
        await self._tab.run(self._keyboard.insert_text(text), self._hang(), "inserting text")

    async def press(self, keys: str) -> None:
        """Press and release keys, by Playwright's names."""
        await self._tab.run(self._keyboard.press(keys), self._hang(), "pressing a key")


def typable(text: str) -> str:
    """``text`` as it can be sent to a browser: half characters replaced, line breaks of one kind."""
    return text.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")
