"""Cancels running trials. Ctrl-C reaches the main thread only, and a run may lose its controller process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_webarena.sites.cleanup.reaper import is_alive

__all__ = ["Cancellation", "Cancelled"]


class Cancelled(KeyboardInterrupt):
    """The run was cancelled, and this trial with it: it has no record that counts."""


class Cancellation:
    """State of a run's cancellation, and callbacks that end the waits of its trials. Thread-safe.

    ``controller`` identifies the process that the run belongs to (`reaper.identity`), if it is another process. When it
    is killed, sites end while trials still run, which is not the fault of any agent or site. From then on neither
    errors nor verdicts count, and ``--resume`` repeats those trials.
    """

    def __init__(self, controller: str = "") -> None:
        self._controller = controller
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], None]] = {}
        self._is_cancelled = False

    @property
    def over(self) -> bool:
        """Whether the run is cancelled. Never reset."""
        return self._is_cancelled

    def check(self) -> None:
        """Raise `Cancelled` if the run is cancelled or its controller has died."""
        if self._is_cancelled:
            raise Cancelled("the run was cancelled during this trial")
        if self._controller and not is_alive(self._controller):
            raise Cancelled("the process that had begun this run was killed during this trial")

    def now(self) -> None:
        """Cancel the run and end the waits inside `ended_by`."""
        with self._lock:
            self._is_cancelled = True
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        for end in callbacks:
            end()

    @contextmanager
    def ended_by(self, end: Callable[[], None]) -> Iterator[None]:
        """Register ``end``, which ends a wait inside the block. Called at once if the run is already cancelled."""
        token = object()
        with self._lock:
            over = self._is_cancelled
            if not over:
                self._callbacks[token] = end
        if over:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.pop(token, None)
