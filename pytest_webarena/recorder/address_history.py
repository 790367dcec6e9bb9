"""The addresses that a recorded tab has shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pytest_webarena import actions
from pytest_webarena.actions import Action
from pytest_webarena.signals import AddressChanged

__all__ = ["AddressHistory", "page_of"]


@dataclass(slots=True)
class AddressHistory:
    """The addresses that a tab has shown, as far as they can be reached by back and forward."""

    urls: list[str] = field(default_factory=list)
    at: int = -1
    last_page_change: float = 0.0
    """Time of the latest address change that the page caused."""

    @property
    def url(self) -> str:
        """The address that the tab shows; empty before the first."""
        return self.urls[self.at] if self.urls else ""

    def history_action(self, signal: AddressChanged) -> Action:
        """Record an address, and return the action that leads there if the page did not: back or forward if these
        surely do, else `Goto`."""
        if signal.cause == "history":
            for step, action in ((-1, actions.Back()), (1, actions.Forward())):
                if 0 <= self.at + step < len(self.urls) and self.urls[self.at + step] == signal.url:
                    self.at += step
                    return action
            self.urls, self.at = [signal.url], 0
        elif self.at < 0 or self.urls[self.at] != signal.url:
            self.urls = [*self.urls[: self.at + 1], signal.url]
            self.at += 1
        if signal.cause == "page":
            self.last_page_change = signal.time
        return actions.Goto(signal.url)


def page_of(url: str) -> tuple[str, str]:
    """Return the parts of an address that scripts seldom change within a document."""
    return urlsplit(url)[1:3]
