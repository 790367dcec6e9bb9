"""Progress of a long run: a status line at the bottom of a terminal, or a line from time to time in a log."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from pytest_webarena.plugin.reporting.outcomes import error_kind, error_text, is_trial
from pytest_webarena.text import clip

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.sites.protocol.waits import Waiting

__all__ = ["Progress", "has_foot", "status_text"]

_LOG_EVERY = 60.0
"""Seconds between lines where there is no terminal; CI jobs without output for long are often killed."""

_LOOK = 0.5
"""Seconds between two checks of what the run is waiting for."""
_PATIENCE = 3.0
"""Seconds of waiting that are not reported."""
_WAITS_INTERVAL = 10.0
"""Seconds between two lines about waiting, where there is no status line."""
_MOST = 3
"""Number of waits that are reported at a time."""

_ERROR = 160
"""Characters of the latest error; the terminal's row shows what fits."""

_SAVE, _RESTORE, _WHOLE, _DOWN, _UP, _CLEAR = "\0337", "\0338", "\033[r", "\033D", "\033[1A", "\033[2K"
"""Control sequences: save and restore the cursor; whole scrolling region; down and up a row; erase the row."""


def status_text(
    done: int,
    total: int,
    passed: int,
    errors: int,
    seconds: float,
    *,
    left_out: int = 0,
    waiting: str = "",
    latest: str = "",
) -> str:
    """Return the status in one line: trials done, rate, errors, and the remaining time at the current pace.

    Args:
        left_out: Number of trials that will not be run.
        waiting: What the run is waiting for, and for how long.
        latest: The latest error.

    >>> status_text(30, 120, 12, 2, 60.0)
    '30/120 trials · 42.9% passed · 2 errors · about 3 min left'
    """
    parts = [f"{done}/{total} trials" if total else f"{done} trials"]
    judged = done - errors
    if judged:
        parts.append(f"{passed / judged:.1%} passed")
    if errors:
        parts.append(f"{errors} error{'s' * (errors != 1)}")
    if left_out:
        parts.append(f"{left_out} not run")
    if done and (rest := total - done - left_out) > 0:
        parts.append(f"about {_duration(seconds * rest / done)} left")
    if waiting:
        parts.append(f"waiting for {waiting}")
    if latest:
        parts.append(f"latest error: {latest}")
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def has_foot(stream: TextIO) -> bool:
    """Return whether ``stream`` is a terminal with a row for the status."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb" and shutil.get_terminal_size().lines > 4


class Progress:
    """Counts trials as their reports arrive, in the controller, with or without xdist.

    On a terminal the last row is excluded from the scrolling region and shows the status, below pytest's own output.
    Elsewhere ``log`` writes the status once a minute, and what the run is waiting for every ten seconds. A thread
    reports waiting while everything else waits.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        fancy: bool,
        log: Callable[[str], object] | None = None,
        markup: Callable[[str], str] = str,
        clock: Callable[[], float] = time.monotonic,
        waits: Callable[[], Sequence[Waiting]] = tuple,
    ) -> None:
        self._waits = waits
        self._waiting = ""
        self._logged_waits = float("-inf")
        """Time of the latest line in a log about waiting."""
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._stream = stream
        self._redraws = fancy
        self._log = log or (lambda line: stream.write(f"\n{line}\n"))
        self._markup = markup
        self._clock = clock
        self._began = self._logged = clock()
        self._rows = 0
        self._closed = False
        self.total = 0
        self.done = self.passed = self.errors = self.left_out = 0
        self.latest = ""
        """The latest error, on one line."""
        self._logged_errors: set[str] = set()
        """Errors that have been written to the log, without the parts that vary between trials."""

    def start(self) -> None:
        """Start the status when the first test starts."""
        if self._redraws and not self._rows:
            self._began = self._clock()
            self._draw(self.text)
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._watch, name="webarena-progress", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK):
            self.look()

    def look(self) -> None:
        """Check what the run is waiting for, and report it."""
        now = time.time()
        long = [wait for wait in self._waits() if now - wait.since >= _PATIENCE]
        waits = ", ".join(dict.fromkeys(f"{wait.what} ({_duration(now - wait.since)})" for wait in long[:_MOST]))
        with self._lock:
            if self._closed or not (waits or self._waiting):
                return
            self._waiting = waits
            if self._redraws:
                self._draw(self.text)
            elif waits and self._clock() - self._logged_waits >= _WAITS_INTERVAL:
                self._logged_waits = self._clock()
                self._write(f"waiting for {waits}")

    def count(self, report: pytest.TestReport) -> None:
        """Count a report; only trials count, each once."""
        if report.when != "call" or getattr(report, "outcome", "") == "rerun" or not is_trial(report):
            return  # a rerun has another report of the same trial
        facts: dict[str, Any] = dict(report.user_properties)
        self.done += 1
        self.passed += facts.get("audit", facts.get("outcome")) == "passed"
        new = False
        if facts.get("outcome") == "error":
            self.errors += 1
            self.latest = clip(re.sub(r"^error \((\w+)\): ", r"\1: ", error_text(report)), _ERROR)
            new = (kind := error_kind(report)) not in self._logged_errors
            self._logged_errors.add(kind)
        if self._redraws:
            self._draw(self.text)
        elif new or self._clock() - self._logged >= _LOG_EVERY:
            self._logged = self._clock()
            self._write(self.text)

    def _write(self, text: str) -> None:
        """Write a text to the log, in lines of 80 columns."""
        lines = textwrap.wrap(
            f"webarena: {text}", 80, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
        )
        for line in lines:
            self._log(line)
        self._stream.flush()

    def leave_out(self) -> None:
        """Count a trial that will not be run because its agent or its site was stopped."""
        self.left_out += 1
        if self._redraws:
            self._draw(self.text)

    @property
    def text(self) -> str:
        """The current status."""
        seconds = self._clock() - self._began
        return status_text(
            self.done, self.total, self.passed, self.errors, seconds,
            left_out=self.left_out, waiting=self._waiting if self._redraws else "", latest=self.latest,
        )  # fmt: skip

    def _draw(self, text: str) -> None:
        with self._lock:
            if not self._closed:
                self._draw_row(text)

    def _draw_row(self, text: str) -> None:
        size = shutil.get_terminal_size()
        if size.lines != self._rows:
            self._make_room(size.lines)
        status = self._markup(f" {text} "[: size.columns - 1])
        # The region is set each time, because some terminals forget it when resized. That moves the cursor, so it is
        # saved.
        region = f"\033[1;{size.lines - 1}r"
        self._stream.write(f"{_SAVE}{region}\033[{size.lines};1H{_CLEAR}{status}{_RESTORE}")
        self._stream.flush()

    def _make_room(self, rows: int) -> None:
        """Free the last row, wherever the cursor and pytest's progress are."""
        if self._rows:  # after resizing, the former last row is elsewhere, or does not exist
            self._stream.write(f"{_SAVE}{_WHOLE}\033[{min(self._rows, rows)};1H{_CLEAR}{_RESTORE}")
        self._stream.write(f"{_DOWN}{_UP}")
        self._rows = rows

    def close(self) -> None:
        """Release the last row and clear it. Nothing is drawn afterwards."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._closed = True
        if self._rows:
            self._stream.write(f"{_SAVE}{_WHOLE}\033[{self._rows};1H{_CLEAR}{_RESTORE}")
            self._stream.flush()
            self._rows = 0
