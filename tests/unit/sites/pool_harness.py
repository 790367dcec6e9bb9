"""A replica pool with a fake backend and a manual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

from pytest_webarena.errors import SiteBusy, SiteError
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.pool_lease import PoolLease
from pytest_webarena.sites.broker.sizing import Budget, ReplicaSetLimits
from pytest_webarena.sites.catalogues.manifest import AppManifest, DatabaseManifest


class FakeBackend:
    """Starts and resets at once, or when the test calls `finish`; records changed data."""

    def __init__(self) -> None:
        self.manual = False
        self.pending: list[tuple[str, asyncio.Future[None]]] = []
        self.problems: list[str] = []
        """Failures of the next starts and resets."""
        self.preparation = ""
        self.refuses = ""
        """Why a state can't be kept."""
        self.data: dict[str, str] = {}
        """Replica id to its fingerprint; ``pristine`` after a start or a reset."""
        self.dead: dict[str, str] = {}
        self.stopped: list[str] = []
        self.locked = 0
        """How often its database is locked when it is asked."""
        self.asked_while_locked: Callable[[], None] = lambda: None
        self.alive_checks = 0
        self.paused: set[str] = set()
        self.slow_proofs = False
        """Whether fingerprints and the keeping of states, too, wait for `finish`."""
        self.fingerprints: asyncio.Event | None = None
        """When fingerprints can be taken; at once without."""
        self.pauses = True
        """Whether `pause` works."""

    async def pause(self, app: AppManifest, replica: Replica) -> None:
        if not self.pauses:
            raise SiteError("no freezer")
        self.paused.add(replica.id)

    async def resume(self, app: AppManifest, replica: Replica) -> None:
        if replica.id in self.dead:
            raise SiteError("it is dead")
        self.paused.discard(replica.id)

    async def prepare(self, app: AppManifest) -> None:
        if self.preparation:
            raise SiteError(self.preparation)

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        await self._work(f"start {replica_id}")
        return self._pristine(app, replica_id, 0)

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        await self._work(f"reset {replica.id}")
        return self._pristine(app, replica.id, replica.generation + 1)

    def _pristine(self, app: AppManifest, replica_id: str, generation: int) -> Replica:
        self.data[replica_id] = "pristine"
        return Replica(
            id=replica_id, app=app.name, host="127.0.0.1", port=1, generation=generation, fingerprint="pristine"
        )

    async def _work(self, what: str) -> None:
        if self.manual:
            gate = asyncio.get_running_loop().create_future()
            self.pending.append((what, gate))
            await gate
        if self.problems:
            raise SiteError(self.problems.pop(0))

    def finish(self, index: int = 0) -> str:
        what, gate = self.pending.pop(index)
        if not gate.done():
            gate.set_result(None)
        return what

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        if self.slow_proofs:
            await self._work(f"fingerprint {replica.id}")
        if self.fingerprints is not None:
            await self.fingerprints.wait()
        return self.data[replica.id]

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        if replica.id in self.dead:
            raise SiteError("no connection")
        if self.locked:
            self.locked -= 1
            self.asked_while_locked()
            raise SiteBusy("database is locked")
        return Rows(columns=("sql",), rows=((sql,),))

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        self.alive_checks += 1
        return self.dead.get(replica.id, "")

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        self.stopped.append(replica.id)

    async def close(self) -> None:
        return

    def leftovers(self) -> Mapping[str, str]:
        return {}


class KeepingBackend(FakeBackend):
    """A backend whose replicas can keep login sessions for all trials."""

    edition = 0

    def keeps(self, app: AppManifest) -> bool:
        return not app.read_only

    async def keep(self, app: AppManifest, replica: Replica) -> int:
        if self.slow_proofs:
            await self._work(f"keep {replica.id}")
        if self.refuses:
            raise SiteError(self.refuses)
        self.edition += 1
        return self.edition

    def _pristine(self, app: AppManifest, replica_id: str, generation: int) -> Replica:
        replica = super()._pristine(app, replica_id, generation)
        replica.edition = self.edition
        return replica


class PoolHarness:
    """A pool of the apps ``a``, ``b`` and the read-only ``wiki``, its backend and its clock.

    ``atlas``, read-only as well, depends on ``wiki``; ``guide`` on both.
    """

    def __init__(
        self, *, replicas: int = 2, spares: int = 0, grows: bool = False, boot: float = 1.0, memory: int | None = None
    ) -> None:
        self.backend = FakeBackend()
        self.now = 100.0
        database = {"main": DatabaseManifest(name="main", engine="sqlite", path="x")}
        app = AppManifest(name="a", sites=(), backend="fake", databases=database, boot_seconds=boot, reuse="clean")
        self.apps = {
            "a": app,
            "b": replace(app, name="b"),
            "elsewhere": replace(app, name="elsewhere", backend="external"),
            "never": replace(app, name="never", reuse=None),
            "wiki": replace(app, name="wiki", read_only=True),
            "atlas": replace(app, name="atlas", read_only=True, depends_on=("wiki",)),
            "guide": replace(app, name="guide", depends_on=("atlas", "wiki")),
        }
        limits = ReplicaSetLimits(replicas=replicas, spares=spares, grows=grows, size=1)
        self.budget = Budget(memory)
        self.pool = Pool(
            self.apps, lambda _: self.backend, lambda _: limits, clock=lambda: self.now, budget=self.budget
        )

    async def lease(self, *apps: str, holder: str = "somebody") -> PoolLease:
        return await self.pool.lease(apps, holder=holder, timeout=60)

    def ask(self, *apps: str, holder: str = "somebody") -> asyncio.Task[PoolLease]:
        return asyncio.get_running_loop().create_task(self.lease(*apps, holder=holder))

    def states(self, app: str) -> list[str]:
        status, _ = self.pool.status()
        return [replica.state for one in status if one.app == app for replica in one.replicas]

    async def later(self, seconds: float) -> None:
        self.now += seconds
        await self.pool.tick()
        await rest()


async def rest() -> None:
    """Let the event loop run until no task can progress."""
    for _ in range(30):
        await asyncio.sleep(0)


def run(work: Callable[[PoolHarness], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def main() -> None:
        harness = PoolHarness(**settings)
        await work(harness)
        await harness.pool.close()

    asyncio.run(main())
