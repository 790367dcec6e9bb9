"""What the pool gives out, and what it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.broker.replica_set import ReplicaSet
from pytest_webarena.sites.broker.slot import Slot

__all__ = ["PoolLease", "PoolRequest"]


@dataclass(slots=True, eq=False, kw_only=True)
class PoolLease:
    """Replicas held together, one per app."""

    id: str
    holder: str
    waited: float
    """Seconds from asking to granting."""
    granted: float = 0.0
    """When, on the pool's clock."""
    number: int = 0
    """Its place in line; what is leased beside it later has the same."""
    owner: str = ""
    """The first of the leases that one trial holds together."""
    slots: Mapping[str, Slot]
    """App name to its replica's place; of a unit, by the app that stands for it."""
    released: bool = False

    @property
    def replicas(self) -> Mapping[str, Replica]:
        """App name to replica, of the parts of units, too."""
        replicas = [slot.running() for slot in self.slots.values()]
        return {each.app: each for replica in replicas for each in (replica, *replica.parts.values())}

    def slot(self, app: str) -> Slot | None:
        """Where the replica of an app is; None for one that is not leased."""
        return next((slot for name, slot in self.slots.items() if app == name or app in slot.running().parts), None)


@dataclass(slots=True, eq=False, kw_only=True)
class PoolRequest:
    """Somebody who asks for replicas, and waits."""

    number: int
    holder: str
    replica_sets: tuple[ReplicaSet, ...]
    asked: float
    deadline: float
    ahead: tuple[ReplicaSet, ...] = ()
    """What whoever asks will need next: started meanwhile, and not kept for anybody."""
    owner: str = ""
    """The lease beside which this is asked for; empty: whoever asks holds nothing."""
    queued: bool = False
    """Whether it could not be granted at once."""
    future: asyncio.Future[PoolLease] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def apps(self) -> tuple[str, ...]:
        """Names of what is asked for."""
        return tuple(replica_set.app.name for replica_set in self.replica_sets)
