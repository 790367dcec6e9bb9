"""What the broker tells about itself: its state now, and its figures at the end of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["AppReport", "AppStatus", "BrokerReport", "BrokerStatus", "Durations", "ReplicaStatus", "WaitStatus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """How long something took, over all its occurrences; milliseconds."""

    count: int = 0
    median: float = 0.0
    p95: float = 0.0
    max: float = 0.0
    total: float = 0.0

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Durations:
        """Summarise durations given in seconds.

        >>> Durations.of([0.001, 0.002, 0.009]).median
        2.0
        """
        if not seconds:
            return cls()
        ordered = sorted(1000 * value for value in seconds)
        return cls(
            count=len(ordered),
            median=_quantile(ordered, 0.5),
            p95=_quantile(ordered, 0.95),
            max=ordered[-1],
            total=sum(ordered),
        )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The value at ``share`` of the way through ``ordered``, between neighbours in proportion."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppReport:
    """What one app's replicas did during a run."""

    app: str
    backend: str
    leases: int = 0
    waits: Durations = field(default_factory=Durations)
    """Leases that could not be granted at once, from asking to granting."""
    handovers: Durations = field(default_factory=Durations)
    """From granting a lease to an open gateway."""
    starts: Durations = field(default_factory=Durations)
    resets: Durations = field(default_factory=Durations)
    clean_hand_ons: int = 0
    """Released replicas proved unchanged and handed on without a reset."""
    broken: int = 0
    """Replicas that died or could not be reset."""
    failed_starts: int = 0
    most_replicas: int = 0
    """Most that ran at a time."""
    utilisation: float = 0.0
    """Share of the replicas' life that they were leased, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerReport:
    """The broker's figures at its end."""

    catalogue: str = ""
    seconds: float = 0.0
    """How long it ran; 0 when no lease was ever asked for."""
    apps: Mapping[str, AppReport] = field(default_factory=dict)
    """Apps that were leased at least once."""
    problems: tuple[str, ...] = ()
    """What went wrong with the broker itself, e.g. that it was killed and started again."""
    notes: tuple[str, ...] = ()
    """What went less well than it could have, and cost nothing but time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStatus:
    """One replica now."""

    id: str
    state: str
    """``starting``, ``pristine``, ``leased``, ``dirty`` or ``broken``."""
    seconds: float
    """For how long it has been in that state."""
    holders: tuple[str, ...] = ()
    generation: int = 0
    why: str = ""
    """Of a dirty or broken one."""
    paused: bool = False
    """It is a spare that uses no processor until it is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitStatus:
    """One lease request that waits."""

    holder: str
    apps: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AppStatus:
    """One app now."""

    app: str
    backend: str
    replicas: tuple[ReplicaStatus, ...]
    limit: int
    """Most replicas it may have."""
    problem: str = ""
    """Why its latest start failed; empty when all is well."""
    doing: str = ""
    """What takes long at present, e.g. pulling its image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatus:
    """The broker now."""

    pid: int
    catalogue: str
    seconds: float
    apps: tuple[AppStatus, ...]
    """Apps that were asked for at least once."""
    waiting: tuple[WaitStatus, ...]
    """In the order they came."""
