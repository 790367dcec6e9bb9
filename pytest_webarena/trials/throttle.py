"""Delays the start of trials while the processors are busy, because pages would time out."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["MOST", "Throttle", "processor_times"]

_SPARE = 0.05
"""Fraction of processor time that has to be idle."""
_LOOK = 0.15
"""Seconds between two measurements; a measurement is used for that long."""
_RECENT = 1.0
"""Seconds after which a measurement is outdated."""
MOST = 5.0
"""Maximum time that one trial is delayed, in seconds, one after the other, so that a run on a shared machine makes
progress. `Throttle.most` may differ when the user did not set the number of trials."""


def processor_times() -> tuple[float, float] | None:
    """Idle time and total time of all processors so far, in ticks; None when the system does not report them."""
    try:
        first = Path("/proc/stat").read_text().partition("\n")[0].split()
        ticks = [float(each) for each in first[1:9]]
    except (OSError, ValueError):
        return None
    return (ticks[3] + ticks[4], sum(ticks)) if len(ticks) == 8 else None


class Throttle:
    """Lets as many trials start as the idle processor time allows. Thread-safe."""

    def __init__(
        self,
        free: int,
        *,
        read: Callable[[], tuple[float, float] | None] = processor_times,
        sleep: Callable[[float], object] = time.sleep,
        most: float = MOST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a throttle.

        Args:
            free: Number of running trials below which none is delayed, and number of trials that may start after a
                measurement of an idle machine.
            most: Maximum delay of one trial, in seconds; with infinity it waits for idle time or until few trials are
                running.
        """
        self._free = free
        self.most = most
        self._read = read
        self._sleep = sleep
        self._clock = clock
        self._turn = threading.Lock()
        self._looked = -math.inf
        self._seen: tuple[float, float] | None = None
        self._passes = 0
        """Number of trials that may still start after the last measurement."""

    def hold(self, under_way: Callable[[], int], over: Callable[[], bool] = lambda: False) -> float:
        """Wait until another trial may start while ``under_way`` trials are running, or until ``over`` returns true;
        return the seconds waited."""
        if under_way() < self._free:
            return 0.0
        with self._turn:
            began = self._clock()
            if self._clock() - self._looked >= _LOOK:
                self._passes = 0
            while not self._passes and self._clock() - began < self.most and not over() and under_way() >= self._free:
                self._passes = math.ceil(self._free * share) if (share := self._spare()) >= _SPARE else 0
            self._passes = max(0, self._passes - 1)
            return self._clock() - began

    def _spare(self) -> float:
        """The idle fraction of time since the last measurement or, if that is outdated, of a short period from now."""
        if not _LOOK <= self._clock() - self._looked < _RECENT:
            self._seen = self._read()
            self._sleep(_LOOK)
        before, after = self._seen, self._read()
        self._looked, self._seen = self._clock(), after
        if before is None or after is None or after[1] <= before[1]:
            return 1.0
        return (after[0] - before[0]) / (after[1] - before[1])
