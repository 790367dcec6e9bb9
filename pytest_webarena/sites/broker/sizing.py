"""How many pristine spares an app needs, and the memory that all apps share for them."""

from __future__ import annotations

import math
import re
import statistics
from collections import deque
from dataclasses import dataclass

from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["Budget", "Demand", "Recent", "ReplicaSetLimits", "size_of"]

_LATEST = 20
"""Starts and resets that tell how long the next one takes."""
_INSTANT = 0.001
_MEMORY = 30.0
"""Seconds for which demand is remembered; for the number of spares, five times what a replacement takes besides."""
_PROCESS, _CONTAINER = 64 << 20, 1 << 30
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSetLimits:
    """How many replicas an app may have."""

    replicas: int
    spares: int
    """Pristine spares kept ready beside those in use."""
    grows: bool = False
    """Whether more spares are kept as soon as demand outruns replacement."""
    size: int = 0
    """Memory a replica may take, in bytes."""


class Demand:
    """Counts how many replicas are used up while one is being replaced: so many spares must be there to hide that.

    ``boot_seconds`` is how long a replacement takes, until the first ones tell. Times are in seconds on the caller's
    clock.
    """

    def __init__(self, boot_seconds: float) -> None:
        self.replacement = boot_seconds
        """Seconds that a start or a reset takes: nine in ten took no longer."""
        self._replacements: deque[float] = deque(maxlen=_LATEST)
        self._taken: deque[float] = deque()
        """When, within the last `replacement` seconds."""
        self._peaks: deque[tuple[float, int]] = deque()
        """How many that were, and when; only such as no later one has reached."""
        self._released = self._dirty = 0

    def took(self, now: float) -> None:
        """Somebody has taken a replica."""
        self._taken.append(now)
        while self._taken[0] <= now - max(self.replacement, _INSTANT):
            self._taken.popleft()
        while self._peaks and self._peaks[-1][1] <= len(self._taken):
            self._peaks.pop()
        self._peaks.append((now, len(self._taken)))

    def released(self, *, dirty: bool) -> None:
        """It came back, and had to be replaced if it was ``dirty``."""
        self._released += 1
        self._dirty += dirty

    def replaced(self, seconds: float) -> None:
        """A start or a reset took so long."""
        self._replacements.append(seconds)
        if len(self._replacements) == 1:
            self.replacement = seconds
        else:
            self.replacement = statistics.quantiles(self._replacements, n=10, method="inclusive")[-1]

    def spares(self, now: float) -> int:
        """The most replicas that were used up within the time of a replacement, as far as is remembered."""
        while self._peaks and self._peaks[0][0] < now - (_MEMORY + 5 * self.replacement):
            self._peaks.popleft()
        most = self._peaks[0][1] if self._peaks else 0
        # At first all count as dirty; readers' replicas are handed on.
        share = (self._dirty + 1) / (self._released + 1)
        return math.ceil(most * share)


class Recent:
    """How many replicas were needed at a time lately: a replica_set stays as large as that for a while."""

    def __init__(self, now: float) -> None:
        self._demand: deque[tuple[float, int]] = deque([(now, 0)])

    def note(self, now: float, demand: int) -> None:
        """So many are needed from now on."""
        if demand != self._demand[-1][1]:
            self._demand.append((now, demand))

    def most(self, now: float) -> int:
        """The most that were needed within the last half minute."""
        while len(self._demand) > 1 and self._demand[1][0] <= now - _MEMORY:
            self._demand.popleft()
        return max(demand for _, demand in self._demand)


class Budget:
    """Memory that the replicas of all apps share, in bytes. ``total`` None: there is no limit."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total
        self.used = 0

    def fits(self, size: int) -> bool:
        """Whether one more replica of this size may be started."""
        return self.total is None or self.used + size <= self.total

    def take(self, size: int) -> None:
        """A replica was started."""
        self.used += size

    def free(self, size: int) -> None:
        """A replica has gone."""
        self.used -= size


def size_of(app: AppManifest) -> int:
    """Bytes that a replica may take: what its manifest allows, or a guess."""
    if app.docker is None:
        return _PROCESS
    match = re.fullmatch(r"(\d+)([bkmg]?)b?", app.docker.memory.lower())
    return int(match[1]) * _UNITS[match[2]] if match else _CONTAINER
