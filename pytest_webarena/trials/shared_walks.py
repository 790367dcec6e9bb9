"""Walks of sites that the tasks of one account share."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pytest_webarena.trials.site_walk import Walk

__all__ = ["SharedWalks"]

_MOST = 2
"""Maximum number of walks that are kept, because each has all texts of its sites."""


class SharedWalks:
    """Walks that the tasks of a worker share, the last few."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._walks: dict[tuple[tuple[str, str], ...], tuple[threading.Lock, list[Walk]]] = {}

    def get(self, key: tuple[tuple[str, str], ...], make: Callable[[], Walk]) -> Walk:
        """Returns the walk with this key, which is made if there is none."""
        with self._lock:
            lock, made = self._walks[key] = self._walks.pop(key, (threading.Lock(), []))
            while len(self._walks) > _MOST:
                self._walks.pop(next(iter(self._walks)))
        with lock:
            if not made:
                made.append(make())
            return made[0]
