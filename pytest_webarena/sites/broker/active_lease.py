"""A lease as the broker keeps it: its replicas, the gateway to them, and what was visited since."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_webarena.errors import SiteError, SiteKeepsAddress
from pytest_webarena.gateway.session import GatewaySession
from pytest_webarena.sites.broker.ledgers import Ledger
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.pool_lease import PoolLease
from pytest_webarena.sites.broker.reachable_sites import ReachableSites
from pytest_webarena.sites.broker.sessions import SignInTurn
from pytest_webarena.sites.broker.slot import Slot
from pytest_webarena.sites.catalogues.manifest import SiteManifest

__all__ = ["ActiveLease"]

_DEATH_REPORT_SECONDS = 1.0
"""Seconds to wait for the report of a replica's death after it has broken a connection."""


@dataclass(slots=True, eq=False, kw_only=True)
class ActiveLease:
    """A lease with its gateway."""

    lease: PoolLease
    session: GatewaySession
    sites: Mapping[str, SiteManifest]
    hosts: Mapping[str, str] = field(default_factory=dict)
    """App by host, for everything that can be reached."""
    reach: ReachableSites | None = None
    """Sites that can be visited in addition to ``sites``."""
    ledger: Ledger | None = None
    """Content of its replicas at the start."""
    turn: SignInTurn | None = None
    """Set if the lease is for logging in."""

    @property
    def sessions(self) -> tuple[GatewaySession, ...]:
        """All gateways that lead to its replicas."""
        return (self.session,)

    @property
    def leases(self) -> tuple[PoolLease, ...]:
        """All leases that are held: the original one, and those of sites visited since."""
        return (self.lease, *(self.reach.leases if self.reach is not None else ()))

    @property
    def slots(self) -> Mapping[str, Slot]:
        """Slots by app, for everything that is held."""
        return {app: slot for lease in self.leases for app, slot in lease.slots.items()}

    def slot(self, app: str) -> Slot | None:
        """Returns the slot of an app's replica, alone or as a part of a unit; None if it is not held."""
        return next((slot for lease in self.leases if (slot := lease.slot(app)) is not None), None)

    async def check(self, pool: Pool, *, ask: bool) -> None:
        """Raise `SiteError` when a replica has died, did not answer a request as a web server does, or was not
        available.

        With ``ask``, or when its traffic is suspicious, all replicas are probed, which a frozen one does not pass.
        """
        if self.reach is not None:
            self.reach.check()
        await self._examine(pool)
        if problem := self.session.upstream_error:
            for slot in self.slots.values():
                slot.touched = slot.touched or "it did not answer a request"
            # Most likely it has just died, and its exit code and log say more than a broken connection.
            deadline = time.monotonic() + _DEATH_REPORT_SECONDS
            while time.monotonic() < deadline:
                await pool.tick()
                await self._examine(pool)
                await asyncio.sleep(0.02)
            raise SiteError(f"expected working sites, found: {problem}")
        if self.session.own_address_fault:
            raise SiteKeepsAddress(self.session.own_address_fault)
        if ask or self.session.doubtful:
            wrote = self.session.doubtful or bool(self.session.unsafe)
            for lease in self.leases:
                await pool.ask(lease, wrote=wrote)

    async def _examine(self, pool: Pool) -> None:
        for lease in self.leases:
            await pool.check(lease)
