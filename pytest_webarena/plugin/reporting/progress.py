"""How a long run is going: a status line at the foot of a terminal, a line now and then in a log."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from pytest_webarena.plugin.reporting.outcomes import is_trial

if TYPE_CHECKING:
    import pytest

__all__ = ["Progress", "has_foot", "status_text"]

_LOG_EVERY = 60.0
"""Seconds between lines where there is no terminal; a CI job without output for long is often killed."""

_SAVE, _RESTORE, _WHOLE, _DOWN, _UP, _CLEAR = "\0337", "\0338", "\033[r", "\033D", "\033[1A", "\033[2K"
"""Cursor with its colours; scrolling region; one row down, scrolling at the foot; one row up; erase the row."""


def status_text(done: int, total: int, passed: int, errors: int, seconds: float) -> str:
    """One line: done, rate, errors, and how long the rest will take at the pace so far.

    >>> status_text(30, 120, 12, 2, 60.0)
    '30/120 trials · 42.9% passed · 2 errors · about 3 min left'
    """
    parts = [f"{done}/{total} trials" if total else f"{done} trials"]
    judged = done - errors
    if judged:
        parts.append(f"{passed / judged:.1%} passed")
    if errors:
        parts.append(f"{errors} error{'s' * (errors != 1)}")
    if done and total > done:
        parts.append(f"about {_duration(seconds * (total - done) / done)} left")
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def has_foot(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal that can keep a row for the status."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb" and shutil.get_terminal_size().lines > 4


class Progress:
    """Counts trials as their reports arrive, in the controlling process, with xdist or without.

    On a terminal the last row is kept out of the scrolling region and shows the status, while pytest's own output goes
    on above it. Elsewhere the status is a line of its own once a minute, written by ``log``.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        fancy: bool,
        log: Callable[[str], object] | None = None,
        markup: Callable[[str], str] = str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._fancy = fancy
        self._log = log or (lambda line: stream.write(f"\n{line}\n"))
        self._markup = markup
        self._clock = clock
        self._began = self._logged = clock()
        self._rows = 0
        self._closed = False
        self.total = 0
        self.done = self.passed = self.errors = 0

    def start(self) -> None:
        """The first test begins."""
        if self._fancy and not self._rows:
            self._began = self._clock()
            self._draw(self.text)

    def count(self, report: pytest.TestReport) -> None:
        """Take note of a report; only trials count, each once."""
        if report.when != "call" or getattr(report, "outcome", "") == "rerun" or not is_trial(report):
            return  # "rerun": another report of the same trial comes
        facts: dict[str, Any] = dict(report.user_properties)
        self.done += 1
        self.passed += facts.get("audit", facts.get("outcome")) == "passed"
        self.errors += facts.get("outcome") == "error"
        if self._fancy:
            self._draw(self.text)
        elif self._clock() - self._logged >= _LOG_EVERY:
            self._logged = self._clock()
            self._log(f"webarena: {self.text}")
            self._stream.flush()

    @property
    def text(self) -> str:
        """The status now."""
        return status_text(self.done, self.total, self.passed, self.errors, self._clock() - self._began)

    def _draw(self, text: str) -> None:
        if self._closed:
            return
        size = shutil.get_terminal_size()
        if size.lines != self._rows:
            self._make_room(size.lines)
        status = self._markup(f" {text} "[: size.columns - 1])
        # The region is set each time: some terminals forget it when resized. That moves the cursor, so it is saved.
        region = f"\033[1;{size.lines - 1}r"
        self._stream.write(f"{_SAVE}{region}\033[{size.lines};1H{_CLEAR}{status}{_RESTORE}")
        self._stream.flush()

    def _make_room(self, rows: int) -> None:
        """Free the last row, wherever the cursor is and whatever column pytest's dots have come to."""
        if self._rows:  # resized: what was the last row is in the midst of things, or gone
            self._stream.write(f"{_SAVE}{_WHOLE}\033[{min(self._rows, rows)};1H{_CLEAR}{_RESTORE}")
        self._stream.write(f"{_DOWN}{_UP}")
        self._rows = rows

    def close(self) -> None:
        """Give the last row back, blank. Nothing is drawn any more."""
        self._closed = True
        if self._rows:
            self._stream.write(f"{_SAVE}{_WHOLE}\033[{self._rows};1H{_CLEAR}{_RESTORE}")
            self._stream.flush()
            self._rows = 0
