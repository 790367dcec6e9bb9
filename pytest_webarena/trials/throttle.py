"""Keeps trials from beginning while the processors have nothing to spare: pages would time out for want of them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["MOST", "Throttle", "processor_times"]

_SPARE = 0.05
"""Share of the processors' time that has to be idle."""
_LOOK = 0.15
"""Seconds between two looks at it: so long is what one look has seen believed."""
_RECENT = 1.0
"""Seconds after which a look tells nothing of now any more."""
MOST = 5.0
"""Seconds that one trial is held for at most, one after the other: who shares a machine gets on, too. Where nobody has
said how many trials there shall be, the machine says it: `Throttle.hold`."""


def processor_times() -> tuple[float, float] | None:
    """How long all processors have been idle, and how long they have been there, in ticks; None where nobody tells."""
    try:
        first = Path("/proc/stat").read_text().partition("\n")[0].split()
        ticks = [float(each) for each in first[1:9]]
    except (OSError, ValueError):
        return None
    return (ticks[3] + ticks[4], sum(ticks)) if len(ticks) == 8 else None


class Throttle:
    """Lets trials pass, as many at a time as there is something to spare for. Thread-safe."""

    def __init__(
        self,
        free: int,
        *,
        read: Callable[[], tuple[float, float] | None] = processor_times,
        sleep: Callable[[float], object] = time.sleep,
        most: float = MOST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``free``: so many trials are never held, and so many pass after a look at an idle machine. ``most``: seconds
        that one is held for at most; infinity holds it until there is something to spare, or few are under way."""
        self._free = free
        self.most = most
        self._read = read
        self._sleep = sleep
        self._clock = clock
        self._turn = threading.Lock()
        self._looked = -math.inf
        self._seen: tuple[float, float] | None = None
        self._passes = 0
        """How many more trials may pass by what the last look has seen."""

    def hold(self, under_way: Callable[[], int], over: Callable[[], bool] = lambda: False) -> float:
        """Wait until another trial may begin beside those ``under_way``, or ``over`` says so; for how many seconds."""
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
        """The idle share of the time since the last look, or, if that is long ago, of a while from now on."""
        if not _LOOK <= self._clock() - self._looked < _RECENT:
            self._seen = self._read()
            self._sleep(_LOOK)
        before, after = self._seen, self._read()
        self._looked, self._seen = self._clock(), after
        if before is None or after is None or after[1] <= before[1]:
            return 1.0
        return (after[0] - before[0]) / (after[1] - before[1])
