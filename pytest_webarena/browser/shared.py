"""Bookkeeping of the browsers that sessions share: free capacity, abandoned browsers, and dead ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Browser

__all__ = ["SharedBrowsers"]


class SharedBrowsers:
    """An engine's browsers. Only the engine's loop changes it; `has_lost` is thread-safe."""

    def __init__(self, sessions: int | None) -> None:
        """``sessions``: see `EngineConfig`."""
        self._sessions = sessions
        self._browsers: list[Browser] = []
        """Browsers in which sessions can begin."""
        self._retiring: list[Browser] = []
        """Browsers that are closed when their last session has ended."""
        self._opening: Counter[Browser] = Counter()
        """Number of contexts that are about to be opened in each browser."""

    def least_loaded(self) -> Browser | None:
        """Return the browser with the fewest contexts in which a session can begin; None if a new one is needed."""
        self._browsers = [browser for browser in self._browsers if browser.is_connected()]
        emptiest = min(self._browsers, key=self._taken, default=None)
        if emptiest is None or (self._sessions is not None and self._taken(emptiest) >= self._sessions):
            return None
        return emptiest

    def add(self, browser: Browser) -> Browser:
        """Add ``browser`` to those in which sessions begin."""
        self._browsers.append(browser)
        return browser

    def use_exclusively(self, browser: Browser) -> Browser:
        """Use ``browser`` for one session only; it is closed afterwards."""
        self._retiring.append(browser)
        return browser

    @contextmanager
    def reserve(self, browser: Browser) -> Iterator[None]:
        """Reserve a place in ``browser`` while a context is opened in it."""
        self._opening[browser] += 1
        try:
            yield
        finally:
            self._opening[browser] -= 1
            if not self._opening[browser]:
                del self._opening[browser]

    def retire(self, browser: Browser) -> list[Browser]:
        """Begin no more sessions in ``browser``; return the browsers without sessions, which can be closed now.

        A browser that is not shared is closed at once, whatever is running in it.
        """
        if browser in self._browsers:
            self._browsers.remove(browser)
        if self._sessions is None:
            return [browser]
        if browser not in self._retiring:
            self._retiring.append(browser)
        unused = [each for each in self._retiring if not self._taken(each) or not each.is_connected()]
        self._retiring = [each for each in self._retiring if each not in unused]
        return unused

    def has_lost(self, browser: Browser | None) -> bool:
        """Return whether ``browser`` was shared and has died or been abandoned: all its sessions have lost it."""
        if self._sessions is None or browser is None:
            return False
        return not browser.is_connected() or browser in self._retiring

    def all(self) -> list[Browser]:
        """Return all browsers that have to be closed at the end."""
        return [*self._browsers, *self._retiring]

    def _taken(self, browser: Browser) -> int:
        return len(browser.contexts) + self._opening[browser]
