"""How a long run is going: a status line at the foot of a terminal, a line now and then in a log."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from pytest_webarena.reporting.outcomes import is_trial

if TYPE_CHECKING:
    import pytest

__all__ = ["Progress", "status_text"]

_LOG_EVERY = 60.0
"""Seconds between lines where there is no terminal; a CI job without output for long is often killed."""


def status_text(done: int, total: int, passed: int, errors: int, seconds: float) -> str:
    """One line: done, rate, errors, and how long the rest will take at the pace so far.

    >>> status_text(30, 120, 12, 2, 60.0)
    '30/120 trials · 42.9 % passed · 2 errors · about 3 min left'
    """
    parts = [f"{done}/{total} trials" if total else f"{done} trials"]
    judged = done - errors
    if judged:
        parts.append(f"{100 * passed / judged:.1f} % passed")
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


class Progress:
    """Counts trials as their reports arrive, in the controlling process, with xdist or without.

    On a terminal the last row is kept out of the scrolling region and shows the status; pytest's output goes on above
    it. Elsewhere the status is printed once a minute.
    """

    def __init__(self, stream: TextIO, *, fancy: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._fancy = fancy
        self._clock = clock
        self._began = self._logged = clock()
        self._rows = 0
        self.total = 0
        self.done = self.passed = self.errors = 0

    def count(self, report: pytest.TestReport) -> None:
        """Take note of a report; only trials count, each once."""
        if report.when != "call" or not is_trial(report):
            return
        facts: dict[str, Any] = dict(report.user_properties)
        self.done += 1
        self.passed += facts.get("audit", facts.get("outcome")) == "passed"
        self.errors += facts.get("outcome") == "error"
        self._show()

    @property
    def text(self) -> str:
        """The status now."""
        return status_text(self.done, self.total, self.passed, self.errors, self._clock() - self._began)

    def _show(self) -> None:
        if self._fancy:
            self._draw(self.text)
        elif self._clock() - self._logged >= _LOG_EVERY:
            self._logged = self._clock()
            self._stream.write(f"\nwebarena: {self.text}\n")
            self._stream.flush()

    def _draw(self, text: str) -> None:
        size = shutil.get_terminal_size()
        if size.lines != self._rows:
            # A new line makes room, then the region above the last row scrolls alone (DECSTBM homes the cursor).
            self._stream.write(f"\n\0337\033[1;{size.lines - 1}r\0338\033[1A")
            self._rows = size.lines
        self._stream.write(f"\0337\033[{size.lines};1H\033[2K\033[7m {text[: size.columns - 2]} \033[0m\0338")
        self._stream.flush()

    def close(self) -> None:
        """Give the last row back."""
        if self._rows:
            self._stream.write(f"\0337\033[r\033[{self._rows};1H\033[2K\0338")
            self._stream.flush()
            self._rows = 0
