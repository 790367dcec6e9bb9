"""Breaking trials off that are under way in several threads: Ctrl-C reaches the main thread alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["BreakingOff", "BrokenOff"]


class BrokenOff(KeyboardInterrupt):
    """The run is broken off, and this trial with it: it has no record that counts."""


class BreakingOff:
    """Whether the run is broken off, and what ends the waiting of its trials then. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._enders: dict[object, Callable[[], None]] = {}
        self._over = False

    @property
    def over(self) -> bool:
        """Whether it is. Never taken back."""
        return self._over

    def check(self) -> None:
        """Raise `BrokenOff` if it is."""
        if self._over:
            raise BrokenOff("the run was broken off during this trial")

    def now(self) -> None:
        """Break off: whoever waits inside `ended_by` waits no longer."""
        with self._lock:
            self._over = True
            enders, self._enders = list(self._enders.values()), {}
        for end in enders:
            end()

    @contextmanager
    def ended_by(self, end: Callable[[], None]) -> Iterator[None]:
        """Inside, something is waited for that ``end`` ends. Called at once when the run is broken off already."""
        token = object()
        with self._lock:
            over = self._over
            if not over:
                self._enders[token] = end
        if over:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._enders.pop(token, None)
