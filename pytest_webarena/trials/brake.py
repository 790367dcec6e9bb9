"""Keeps trials from beginning while the processors have nothing to spare: pages would time out for want of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["Brake", "processor_times"]

_SPARE = 0.05
"""Share of the processors' time that has to be idle."""
_LOOK = 0.15
"""Seconds between two looks at it."""
_MOST = 5.0
"""Seconds that one trial is held for at most, one after the other: who shares a machine gets on, too."""


def processor_times() -> tuple[float, float] | None:
    """How long all processors have been idle, and how long they have been there, in ticks; None where nobody tells."""
    try:
        first = Path("/proc/stat").read_text().partition("\n")[0].split()
        ticks = [float(each) for each in first[1:9]]
    except (OSError, ValueError):
        return None
    return (ticks[3] + ticks[4], sum(ticks)) if len(ticks) == 8 else None


class Brake:
    """Lets one trial after the other pass. Thread-safe."""

    def __init__(
        self,
        free: int,
        *,
        read: Callable[[], tuple[float, float] | None] = processor_times,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """``free``: so many trials are never held."""
        self._free = free
        self._read = read
        self._sleep = sleep
        self._turn = threading.Lock()

    def hold(self, under_way: int, over: Callable[[], bool] = lambda: False) -> float:
        """Wait until another trial may begin beside ``under_way`` others, or ``over`` says so; for how many seconds."""
        if under_way < self._free:
            return 0.0
        held = 0.0
        with self._turn:
            while held < _MOST and not over() and not self._spare():
                held += _LOOK
        return held

    def _spare(self) -> bool:
        before = self._read()
        self._sleep(_LOOK)
        after = self._read()
        if before is None or after is None or after[1] <= before[1]:
            return True
        return (after[0] - before[0]) / (after[1] - before[1]) >= _SPARE
