"""Breaking trials off that are under way: Ctrl-C reaches the main thread alone, and a run may lose its controller."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_webarena.sites.cleanup.reaper import is_alive

__all__ = ["Cancellation", "Cancelled"]


class Cancelled(KeyboardInterrupt):
    """The run is broken off, and this trial with it: it has no record that counts."""


class Cancellation:
    """Whether the run is broken off, and what ends the waiting of its trials then. Thread-safe.

    ``controller`` is the process that the run belongs to (`reaper.identity`), if it is another one. Once it was killed,
    sites end under whatever is still under way, which says nothing of any agent or site: neither errors nor verdicts
    count from then on, whatever they are, and ``--resume`` has those trials done anew.
    """

    def __init__(self, controller: str = "") -> None:
        self._controller = controller
        self._lock = threading.Lock()
        self._enders: dict[object, Callable[[], None]] = {}
        self._over = False

    @property
    def over(self) -> bool:
        """Whether it is. Never taken back."""
        return self._over

    def check(self) -> None:
        """Raise `Cancelled` if it is, or if its controller is gone."""
        if self._over:
            raise Cancelled("the run was broken off during this trial")
        if self._controller and not is_alive(self._controller):
            raise Cancelled("the process that had begun this run was killed during this trial")

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
