"""Time, as far as waiting between requests is concerned; replaced in tests."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> float:
        """Unix time in seconds: all workers of a run share it."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The real one."""

    def now(self) -> float:
        """Unix time in seconds."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(max(0.0, seconds))
