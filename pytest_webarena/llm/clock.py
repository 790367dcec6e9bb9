"""Clock for waiting between requests; tests replace it."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """A clock that can wait."""

    def now(self) -> float:
        """Return the Unix time in seconds, which all workers of a run share."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait this many seconds."""
        ...


class SystemClock:
    """The system's clock."""

    def now(self) -> float:
        """Return the Unix time in seconds."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait this many seconds."""
        time.sleep(max(0.0, seconds))
