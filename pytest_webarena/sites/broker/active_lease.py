"""A lease as the broker keeps it: replicas, the gateway to them, and what was visited since."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_webarena.errors import SiteError
from pytest_webarena.gateway.session import GatewaySession
from pytest_webarena.sites.broker.ledgers import Ledger
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.pool_lease import PoolLease
from pytest_webarena.sites.broker.reachable_sites import ReachableSites
from pytest_webarena.sites.broker.sessions import SignInTurn
from pytest_webarena.sites.broker.slot import Slot
from pytest_webarena.sites.catalogues.manifest import SiteManifest

__all__ = ["ActiveLease"]

_OBITUARY = 1.0
"""Seconds to wait for the news of a replica's death, once it has broken a connection."""


@dataclass(slots=True, eq=False, kw_only=True)
class ActiveLease:
    """A lease with its gateway."""

    lease: PoolLease
    session: GatewaySession
    sites: Mapping[str, SiteManifest]
    hosts: Mapping[str, str] = field(default_factory=dict)
    """Host to app, of all that can be reached."""
    reach: ReachableSites | None = None
    """What can be visited beside ``sites``."""
    ledger: Ledger | None = None
    """What its replicas held at first."""
    turn: SignInTurn | None = None
    """Of a lease for signing in on."""

    @property
    def sessions(self) -> tuple[GatewaySession, ...]:
        """All gateways that lead to its replicas."""
        return (self.session,)

    @property
    def leases(self) -> tuple[PoolLease, ...]:
        """All that is held: what it was made for, and what was visited since."""
        return (self.lease, *(self.reach.leases if self.reach is not None else ()))

    @property
    def slots(self) -> Mapping[str, Slot]:
        """App to its replica's place, of all that is held."""
        return {app: slot for lease in self.leases for app, slot in lease.slots.items()}

    def slot(self, app: str) -> Slot | None:
        """Where the replica of an app is, by itself or as a part of a unit; None: not held."""
        return next((slot for lease in self.leases if (slot := lease.slot(app)) is not None), None)

    async def check(self, pool: Pool, *, ask: bool) -> None:
        """`SiteError` when a replica has died, or did not answer a request as a web server does, or could not be had.

        With ``ask``, or when its traffic gives reason to, all of them are asked, which a frozen one does not survive.
        """
        if self.reach is not None:
            self.reach.check()
        await self._examine(pool)
        if problem := self.session.upstream_error:
            for slot in self.slots.values():
                slot.touched = slot.touched or "it did not answer a request"
            # Most likely it died just now, and its exit code and log say more than a broken connection.
            deadline = time.monotonic() + _OBITUARY
            while time.monotonic() < deadline:
                await pool.tick()
                await self._examine(pool)
                await asyncio.sleep(0.02)
            raise SiteError(f"expected working sites, found: {problem}")
        if ask or self.session.doubtful:
            wrote = self.session.doubtful or bool(self.session.unsafe)
            for lease in self.leases:
                await pool.ask(lease, wrote=wrote)

    async def _examine(self, pool: Pool) -> None:
        for lease in self.leases:
            await pool.check(lease)
