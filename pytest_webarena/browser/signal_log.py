"""A session's signals as they come up: kept in order, bounded whatever a page does."""

from __future__ import annotations

import time

from pytest_webarena.evidence import cut
from pytest_webarena.signals import AddressChanged, DialogClosed, DialogOpened, Signal

__all__ = ["SignalLog", "TabSignals"]

_MOST = 10_000
"""Signals of one session that are kept; a page in a loop makes as many as it is let."""
_LONGEST = 10_000
"""Characters of an address or a text: ``data:`` addresses are as long as a page likes."""


class SignalLog:
    """Written on the session's loop, from events that come anyway; may be read from any thread."""

    def __init__(self) -> None:
        # A clock that is set while a trial goes on must not turn its order around.
        self._epoch = time.time() - time.monotonic()
        self._signals: list[Signal] = []
        self._tabs = 0
        self.lost = 0
        """How many there was no room for."""

    def restart(self) -> None:
        """Forget what came before the first step."""
        self._signals = []
        self.lost = 0

    def since(self, number: int = 0) -> tuple[Signal, ...]:
        """All signals but the first ``number``."""
        return tuple(self._signals[number:])

    def of_tab(self) -> TabSignals:
        """The log of a tab that has just come up."""
        number, self._tabs = self._tabs, self._tabs + 1
        return TabSignals(self, number)

    def now(self) -> float:
        """Unix time in seconds."""
        return round(self._epoch + time.monotonic(), 4)

    def add(self, signal: Signal) -> None:
        """Keep a signal, if there is room."""
        if len(self._signals) < _MOST:
            self._signals.append(signal)
        else:
            self.lost += 1


class TabSignals:
    """What one tab signals."""

    def __init__(self, log: SignalLog, number: int) -> None:
        self._log = log
        self._number = number
        self._url = "about:blank"
        self._dialogs = 0
        self._open = 0
        """Which of the dialogs is open; 0 for none."""

    # Called from handlers of events: these must not raise.

    def shows(self, url: str) -> None:
        """The tab's page has this address now, which may be the one it had."""
        url = cut(url or "about:blank", _LONGEST)
        if url != self._url:
            self._url = url
            self._log.add(AddressChanged(time=self._log.now(), tab=self._number, url=url))

    def dialog_opened(self, dialog: str, message: str, proposed: str) -> int:
        """A dialog came up; its number, for `dialog_closed`."""
        self._dialogs += 1
        self._open = self._dialogs
        self._log.add(
            DialogOpened(
                time=self._log.now(),
                tab=self._number,
                url=self._url,
                dialog=dialog,
                message=cut(message, _LONGEST),
                proposed=cut(proposed, _LONGEST),
            )
        )
        return self._open

    def dialog_closed(self, *, accepted: bool, text: str, number: int | None = None) -> None:
        """The open dialog was answered, or the one with this number, unless that is known already."""
        if self._open and number in (None, self._open):
            self._open = 0
            said = cut(text, _LONGEST)
            self._log.add(
                DialogClosed(time=self._log.now(), tab=self._number, url=self._url, accepted=accepted, text=said)
            )
