"""Walks of sites that the tasks of one account share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_webarena.trials.site_walk import Walk

__all__ = ["SharedWalks"]

_MOST = 2
"""Maximum number of walks that are kept, because each has all texts of its sites."""


@dataclass(slots=True)
class _Entry:
    """A walk, or the place of one that is being made."""

    key: object
    lock: threading.Lock = field(default_factory=threading.Lock)
    walk: Walk | None = None


class SharedWalks:
    """Walks that the tasks of a worker share, the last few."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[_Entry] = []
        """The last used one is last."""

    def get(self, key: object, make: Callable[[], Walk]) -> Walk:
        """Returns the walk with an equal key, which is made if there is none."""
        with self._lock:
            entry = next((each for each in self._entries if each.key == key), None) or _Entry(key)
            others = [each for each in self._entries if each is not entry]
            self._entries = [*others, entry][-_MOST:]
        with entry.lock:
            if entry.walk is None:
                entry.walk = make()
            return entry.walk
