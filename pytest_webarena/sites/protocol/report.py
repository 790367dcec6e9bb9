"""Reports of the broker about itself: its current state, and its figures at the end of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = [
    "PROOF_CHANGED",
    "AppReport",
    "AppStatus",
    "BrokerReport",
    "BrokerStatus",
    "Durations",
    "ReplicaStatus",
    "WaitStatus",
]

PROOF_CHANGED = "its proof has changed"
"""Start of the reason in `ReleaseReport` if hosted data changed although nobody sent a write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Durations of all occurrences of something, in milliseconds."""

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
    """Returns the quantile ``share`` of ``ordered``, with linear interpolation."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppReport:
    """Figures of one app's replicas in a run."""

    app: str
    backend: str
    leases: int = 0
    waits: Durations = field(default_factory=Durations)
    """Waiting times of leases that could not be granted at once."""
    handovers: Durations = field(default_factory=Durations)
    """Times from granting a lease to an open gateway."""
    starts: Durations = field(default_factory=Durations)
    resets: Durations = field(default_factory=Durations)
    is_reset: bool = True
    """Whether anything resets it: false for an app that runs elsewhere without a ``reset`` in the catalogue."""
    reset_reasons: Mapping[str, int] = field(default_factory=dict)
    """Why replicas that could have been reused (``reuse: clean``) were reset, with their numbers."""
    clean_hand_ons: int = 0
    """Number of released replicas that were proved unchanged and reused without a reset."""
    broken: int = 0
    """Number of replicas that died or could not be reset."""
    failed_starts: int = 0
    problems: tuple[str, ...] = ()
    """A sentence for each instance of an app that runs elsewhere whose latest reset failed."""
    most_replicas: int = 0
    """Maximum number of replicas that ran at a time."""
    utilisation: float = 0.0
    """Share of the replicas' lifetime in which they were leased, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerReport:
    """The broker's figures at its end."""

    catalogue: str = ""
    seconds: float = 0.0
    """Duration of the broker's run; 0 when no lease was requested."""
    apps: Mapping[str, AppReport] = field(default_factory=dict)
    """Apps that were leased at least once."""
    problems: tuple[str, ...] = ()
    """Faults of the broker itself, e.g. that it was killed and restarted, and of instances that run elsewhere."""
    notes: tuple[str, ...] = ()
    """Inefficiencies that cost only time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStatus:
    """Current state of one replica."""

    id: str
    state: str
    """``starting``, ``pristine``, ``leased``, ``dirty`` or ``broken``."""
    seconds: float
    """Seconds since it entered that state."""
    holders: tuple[str, ...] = ()
    generation: int = 0
    why: str = ""
    """Reason, for a dirty or broken one."""
    paused: bool = False
    """Whether it is a paused spare, which uses no processor time until it is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitStatus:
    """One waiting lease request."""

    holder: str
    apps: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AppStatus:
    """Current state of one app."""

    app: str
    backend: str
    replicas: tuple[ReplicaStatus, ...]
    limit: int
    """Maximum number of its replicas."""
    problem: str = ""
    """Why its latest start failed; empty when it did not."""
    activity: str = ""
    """What takes long at present, e.g. pulling its image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatus:
    """Current state of the broker."""

    pid: int
    catalogue: str
    seconds: float
    apps: tuple[AppStatus, ...]
    """Apps that were requested at least once."""
    waiting: tuple[WaitStatus, ...]
    """Waiting requests in the order of their arrival."""
