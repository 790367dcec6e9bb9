"""How a long run is going: a status line at the foot of a terminal, a line now and then in a log."""

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
"""Seconds between lines where there is no terminal; a CI job without output for long is often killed."""

_LOOK = 0.5
"""Seconds between two looks at what is waited for."""
_PATIENCE = 3.0
"""Seconds of waiting that are worth no word."""
_SAY_WAITS_EVERY = 10.0
"""Seconds between two lines on what is waited for, where there is no terminal's last row."""
_MOST = 3
"""Waits that are told at a time."""

_ERROR = 160
"""Characters of the latest error; a terminal's row shows what fits."""

_SAVE, _RESTORE, _WHOLE, _DOWN, _UP, _CLEAR = "\0337", "\0338", "\033[r", "\033D", "\033[1A", "\033[2K"
"""Cursor with its colours; scrolling region; one row down, scrolling at the foot; one row up; erase the row."""


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
    """One line: done, rate, errors, and how long the rest will take at the pace so far.

    ``left_out`` will not be run, ``waiting`` is for what and for how long, ``latest`` is the latest error.

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
    """Whether ``stream`` is a terminal that can keep a row for the status."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb" and shutil.get_terminal_size().lines > 4


class Progress:
    """Counts trials as their reports arrive, in the controlling process, with xdist or without.

    On a terminal the last row is kept out of the scrolling region and shows the status, while pytest's own output goes
    on above it. Elsewhere the status is a line of its own once a minute, and for what is waited for every ten seconds,
    written by ``log``. A thread sees to it that waits are told while everything else waits.
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
        self._said = float("-inf")
        """When a log was last told what is waited for."""
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._stream = stream
        self._fancy = fancy
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
        self._told: set[str] = set()
        """Errors that a log has been told of; what differs in them from trial to trial taken out."""

    def start(self) -> None:
        """The first test begins."""
        if self._fancy and not self._rows:
            self._began = self._clock()
            self._draw(self.text)
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._watch, name="webarena-progress", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK):
            self.look()

    def look(self) -> None:
        """See what is waited for, and tell of it."""
        now = time.time()
        long = [wait for wait in self._waits() if now - wait.since >= _PATIENCE]
        told = ", ".join(dict.fromkeys(f"{wait.what} ({_duration(now - wait.since)})" for wait in long[:_MOST]))
        with self._lock:
            if self._closed or not (told or self._waiting):
                return
            self._waiting = told
            if self._fancy:
                self._draw(self.text)
            elif told and self._clock() - self._said >= _SAY_WAITS_EVERY:
                self._said = self._clock()
                self._write(f"waiting for {told}")

    def count(self, report: pytest.TestReport) -> None:
        """Take note of a report; only trials count, each once."""
        if report.when != "call" or getattr(report, "outcome", "") == "rerun" or not is_trial(report):
            return  # "rerun": another report of the same trial comes
        facts: dict[str, Any] = dict(report.user_properties)
        self.done += 1
        self.passed += facts.get("audit", facts.get("outcome")) == "passed"
        new = False
        if facts.get("outcome") == "error":
            self.errors += 1
            self.latest = clip(re.sub(r"^error \((\w+)\): ", r"\1: ", error_text(report)), _ERROR)
            new = (kind := error_kind(report)) not in self._told
            self._told.add(kind)
        if self._fancy:
            self._draw(self.text)
        elif new or self._clock() - self._logged >= _LOG_EVERY:
            self._logged = self._clock()
            self._write(self.text)

    def _write(self, text: str) -> None:
        """A line of a log, or more of 80 columns."""
        lines = textwrap.wrap(
            f"webarena: {text}", 80, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
        )
        for line in lines:
            self._log(line)
        self._stream.flush()

    def leave_out(self) -> None:
        """A trial will not be run: its agent or its site was stopped."""
        self.left_out += 1
        if self._fancy:
            self._draw(self.text)

    @property
    def text(self) -> str:
        """The status now."""
        seconds = self._clock() - self._began
        return status_text(
            self.done, self.total, self.passed, self.errors, seconds,
            left_out=self.left_out, waiting=self._waiting if self._fancy else "", latest=self.latest,
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
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._closed = True
        if self._rows:
            self._stream.write(f"{_SAVE}{_WHOLE}\033[{self._rows};1H{_CLEAR}{_RESTORE}")
            self._stream.flush()
            self._rows = 0
