"""The world's clock: stands at `world.EPOCH` after each reset, ticks from its first reading on.

It starts with the first reading and not with the reset, because a spare may wait for minutes before
it is handed over: two runs of a task then see the same times. A forked child starts afresh.
"""

from __future__ import annotations

import os
import threading
import time
from datetime import date, datetime, timedelta

from pytest_webarena.embedded.world import EPOCH

__all__ = ["now", "restart", "today"]

_lock = threading.Lock()
_started: float | None = None


def now() -> datetime:
    """The world's time, in UTC and to the second, which is also the region's local time."""
    global _started
    with _lock:
        if _started is None:
            _started = time.monotonic()
        elapsed = time.monotonic() - _started
    return EPOCH + timedelta(seconds=int(elapsed))


def today() -> date:
    """The world's date."""
    return now().date()


def restart() -> None:
    """Back to `world.EPOCH`; call it when an app's data has been reset in place."""
    global _started
    with _lock:
        _started = None


def _after_fork() -> None:
    # The parent may have been forked while another of its threads held the lock.
    global _lock, _started
    _lock = threading.Lock()
    _started = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
