"""The browsers that sessions share: which of them has room, which are given up, which have gone down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Browser

__all__ = ["SharedBrowsers"]


class SharedBrowsers:
    """An engine's browsers. What changes it is called on the engine's loop alone; `has_lost` from anywhere."""

    def __init__(self, sessions: int | None) -> None:
        """``sessions``: see `EngineConfig`."""
        self._sessions = sessions
        self._browsers: list[Browser] = []
        """Those that sessions can begin in."""
        self._leaving: list[Browser] = []
        """Those that are closed when their last session is over."""
        self._opening: Counter[Browser] = Counter()
        """Contexts that are about to be opened in each."""

    def roomy(self) -> Browser | None:
        """The emptiest one that a session can begin in; None when another one is to be started."""
        self._browsers = [browser for browser in self._browsers if browser.is_connected()]
        emptiest = min(self._browsers, key=self._taken, default=None)
        if emptiest is None or (self._sessions is not None and self._taken(emptiest) >= self._sessions):
            return None
        return emptiest

    def add(self, browser: Browser) -> Browser:
        """Have sessions begin in ``browser``, too."""
        self._browsers.append(browser)
        return browser

    def apart(self, browser: Browser) -> Browser:
        """Keep ``browser`` for one session, and close it afterwards."""
        self._leaving.append(browser)
        return browser

    @contextmanager
    def place(self, browser: Browser) -> Iterator[None]:
        """Inside, a context is opened in ``browser``."""
        self._opening[browser] += 1
        try:
            yield
        finally:
            self._opening[browser] -= 1
            if not self._opening[browser]:
                del self._opening[browser]

    def given_up(self, browser: Browser) -> list[Browser]:
        """Begin no more sessions in ``browser``. Which browsers can be closed now, since nobody is left in them.

        One that nobody shares is closed at once, whatever goes on in it.
        """
        if browser in self._browsers:
            self._browsers.remove(browser)
        if self._sessions is None:
            return [browser]
        if browser not in self._leaving:
            self._leaving.append(browser)
        over = [each for each in self._leaving if not self._taken(each) or not each.is_connected()]
        self._leaving = [each for each in self._leaving if each not in over]
        return over

    def has_lost(self, browser: Browser | None) -> bool:
        """Whether ``browser`` was shared and is gone, or answers nobody: all its sessions have lost it."""
        if self._sessions is None or browser is None:
            return False
        return not browser.is_connected() or browser in self._leaving

    def all(self) -> list[Browser]:
        """Whatever is to be closed at the end."""
        return [*self._browsers, *self._leaving]

    def _taken(self, browser: Browser) -> int:
        return len(browser.contexts) + self._opening[browser]
