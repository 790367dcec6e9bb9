"""Computes how many pristine spares an app needs, and limits the memory that all apps share for them."""

from __future__ import annotations

import math
import re
import statistics
from collections import deque
from dataclasses import dataclass

from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["Budget", "Demand", "Recent", "ReplicaSetLimits", "size_of"]

_LATEST = 20
"""Number of latest starts and resets from which the next one's duration is estimated."""
_INSTANT = 0.001
_MEMORY = 30.0
"""Seconds for which demand is remembered; for the number of spares, five replacement times are added."""
_PROCESS, _CONTAINER = 64 << 20, 1 << 30
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSetLimits:
    """Limits on the number of an app's replicas."""

    replicas: int
    spares: int
    """Number of pristine spares kept in addition to those in use."""
    grows: bool = False
    """Whether more spares are kept as soon as demand exceeds replacement."""
    size: int = 0
    """Memory in bytes that a replica may use."""


class Demand:
    """Counts how many replicas are used up while one is being replaced: that many spares are needed to hide
    replacement.

    ``boot_seconds`` is the estimated duration of a replacement until the first ones are measured. Times are in seconds
    on the caller's clock.
    """

    def __init__(self, boot_seconds: float) -> None:
        self.replacement = boot_seconds
        """Seconds that a start or a reset takes: the 90th percentile."""
        self._replacements: deque[float] = deque(maxlen=_LATEST)
        self._taken: deque[float] = deque()
        """Times of leases within the last `replacement` seconds."""
        self._peaks: deque[tuple[float, int]] = deque()
        """Times and sizes of peaks of that number; only those that no later one has reached."""
        self._released = self._dirty = 0

    def took(self, now: float) -> None:
        """Record that a replica was leased."""
        self._taken.append(now)
        while self._taken[0] <= now - max(self.replacement, _INSTANT):
            self._taken.popleft()
        while self._peaks and self._peaks[-1][1] <= len(self._taken):
            self._peaks.pop()
        self._peaks.append((now, len(self._taken)))

    def released(self, *, dirty: bool) -> None:
        """Record a release; ``dirty`` if the replica had to be replaced."""
        self._released += 1
        self._dirty += dirty

    def replaced(self, seconds: float) -> None:
        """Record the duration of a start or a reset."""
        self._replacements.append(seconds)
        if len(self._replacements) == 1:
            self.replacement = seconds
        else:
            self.replacement = statistics.quantiles(self._replacements, n=10, method="inclusive")[-1]

    def spares(self, now: float) -> int:
        """Returns the largest number of replicas that were used up within a replacement time, as far as is
        remembered."""
        while self._peaks and self._peaks[0][0] < now - (_MEMORY + 5 * self.replacement):
            self._peaks.popleft()
        most = self._peaks[0][1] if self._peaks else 0
        # At first all count as dirty; replicas that were only read are reused.
        share = (self._dirty + 1) / (self._released + 1)
        return math.ceil(most * share)


class Recent:
    """The number of replicas that were needed lately: a replica set keeps that size for a while."""

    def __init__(self, now: float) -> None:
        self._demand: deque[tuple[float, int]] = deque([(now, 0)])

    def note(self, now: float, demand: int) -> None:
        """Record that this number is needed from now on."""
        if demand != self._demand[-1][1]:
            self._demand.append((now, demand))

    def most(self, now: float) -> int:
        """Returns the largest number that was needed within the last half minute."""
        while len(self._demand) > 1 and self._demand[1][0] <= now - _MEMORY:
            self._demand.popleft()
        return max(demand for _, demand in self._demand)


class Budget:
    """Memory in bytes that the replicas of all apps share. ``total`` None means no limit."""

    def __init__(self, total: int | None = None) -> None:
        self.total = total
        self.used = 0

    def fits(self, size: int) -> bool:
        """Whether one more replica of this size may be started."""
        return self.total is None or self.used + size <= self.total

    def take(self, size: int) -> None:
        """Record the start of a replica."""
        self.used += size

    def free(self, size: int) -> None:
        """Record the removal of a replica."""
        self.used -= size


def size_of(app: AppManifest) -> int:
    """Returns the bytes that a replica may use: the manifest's limit, or an estimate; 0 where it runs elsewhere."""
    if app.backend == EXTERNAL:
        return 0
    if app.docker is None:
        return _PROCESS
    match = re.fullmatch(r"(\d+)([bkmg]?)b?", app.docker.memory.lower())
    return int(match[1]) * _UNITS[match[2]] if match else _CONTAINER
