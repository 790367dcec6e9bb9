"""Shows the progress of long work: one line that is overwritten on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import TextIO

__all__ = ["Bar"]

_CELLS, _FEWEST = 20, 5
_EVERY = 0.1
"""Seconds between two updates of a terminal's line."""
_LINE_INTERVAL = 15.0
"""Seconds between two lines elsewhere."""


class Bar:
    """Shows on ``stream`` how many bytes of ``what`` are done. A context manager; its end leaves a complete line."""

    def __init__(
        self,
        what: str,
        stream: TextIO,
        *,
        words: Callable[[float], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what, self._stream, self._words, self._clock = what, stream, words, clock
        self._fancy = stream.isatty()
        self._began = self._shown = clock()
        self._latest = ""

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._latest:
            self._show(self._latest, last=True)

    def update(self, done: int, total: int, note: str = "") -> None:
        """Update the progress; ``note`` replaces the speed."""
        now = self._clock()
        seconds = now - self._began
        share = min(done / total, 1.0) if total else 0.0
        speed = done / seconds if seconds > 0 else 0.0
        suffix = note or (f"{self._words(speed)}/s" if speed else "")
        if not note and speed and total > done:
            suffix += f", {_duration((total - done) / speed)} left"
        amount = f"{self._words(done)} of {self._words(total)}"
        if self._fancy:
            width = shutil.get_terminal_size().columns - 1
            figures = f"{share:4.0%} {amount}  {suffix}"
            cells = min(width - len(f"{self._what} [] {figures}"), _CELLS)
            filled = round(share * max(cells, 0))
            bar = f" [{'#' * filled}{'.' * (cells - filled)}]" if cells >= _FEWEST else ""
            width_left = width - len(f"{bar} {figures}")
            what = self._what if len(self._what) <= width_left else f"…{self._what[1 - width_left :]}"
            self._latest = f"{what}{bar} {figures}"
        else:
            self._latest = f"{self._what}: {share:.0%}, {amount}, {suffix}"
        if now - self._shown >= (_EVERY if self._fancy else _LINE_INTERVAL):
            self._shown = now
            self._show(self._latest)

    def _show(self, text: str, *, last: bool = False) -> None:
        if self._fancy:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{text[:width]:<{width}}", end="\n" if last else "", file=self._stream, flush=True)
        else:
            print(text, file=self._stream, flush=True)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
