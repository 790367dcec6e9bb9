"""Leases and requests of the pool."""

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
    """Replicas leased together, one per app."""

    id: str
    holder: str
    waited: float
    """Seconds from the request to the grant."""
    since: float = 0.0
    """As in `PoolRequest`."""
    granted: float = 0.0
    """Time of the grant on the pool's clock."""
    number: int = 0
    """Position in the queue; later leases of the same holder have the same."""
    owner: str = ""
    """The first of the leases that one trial holds together."""
    slots: Mapping[str, Slot]
    """Slots by app; a unit's slot by its lead app."""
    released: bool = False

    @property
    def replicas(self) -> Mapping[str, Replica]:
        """Replicas by app, including the parts of units."""
        replicas = [slot.running() for slot in self.slots.values()]
        return {each.app: each for replica in replicas for each in (replica, *replica.parts.values())}

    def slot(self, app: str) -> Slot | None:
        """Returns the slot of an app's replica; None if the app is not leased."""
        return next((slot for name, slot in self.slots.items() if app == name or app in slot.running().parts), None)


@dataclass(slots=True, eq=False, kw_only=True)
class PoolRequest:
    """A request for replicas that waits."""

    number: int
    holder: str
    replica_sets: tuple[ReplicaSet, ...]
    requested_at: float
    deadline: float
    timeout: float
    """Seconds for which it waits while no peer uses what it waits for."""
    ahead: tuple[ReplicaSet, ...] = ()
    """Replica sets that the requester will need next; they start replicas in the meantime, without reserving them."""
    owner: str = ""
    """The lease that the requester already holds; empty if it holds nothing."""
    queued: bool = False
    """Whether it could not be granted at once."""
    since: float = 0.0
    """Time on the pool's clock from which on its replicas must have begun to start."""
    future: asyncio.Future[PoolLease] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def apps(self) -> tuple[str, ...]:
        """Names of the requested apps."""
        return tuple(replica_set.app.name for replica_set in self.replica_sets)
