"""All replicas of one app or unit: starts, resets, replaces and removes them. It does not know who waits for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pytest_webarena.errors import SiteError, SiteMissing, SiteUnready, UsageError, WebArenaError
from pytest_webarena.sites.backends.base import Backend, KeepingBackend, Replica, Rows
from pytest_webarena.sites.backends.sqlite_names import with_strict_names
from pytest_webarena.sites.broker.instances import Instances
from pytest_webarena.sites.broker.metrics import ReplicaSetMetrics
from pytest_webarena.sites.broker.pausing import IdlePauser
from pytest_webarena.sites.broker.preparation import Preparation
from pytest_webarena.sites.broker.programs import UnitPrograms
from pytest_webarena.sites.broker.replica_health import ReplicaHealth
from pytest_webarena.sites.broker.sizing import Budget, Demand, Recent, ReplicaSetLimits
from pytest_webarena.sites.broker.slot import Slot, State
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.units import Unit
from pytest_webarena.sites.protocol.report import AppReport, AppStatus

__all__ = ["ReplicaDied", "ReplicaSet"]

T = TypeVar("T")

_log = logging.getLogger(__name__)
_ATTEMPTS = 3
"""Consecutive failed starts after which an app is not started again in this run."""
_BACKSTOP = 5.0
"""Seconds that backends get after ``start_timeout`` to report themselves what they waited for."""
_SHARED = 1_000_000
"""Number of leases that a shared replica allows."""


class ReplicaDied(SiteError):
    """The replica of an operation has died."""


class ReplicaSet:
    """The replicas of ``unit``: of its lead app, each with its parts.

    ``spawn`` runs a coroutine in the background; ``changed`` is called whenever a replica may have become available, or
    a start has failed.
    """

    def __init__(
        self,
        unit: Unit,
        backend: Callable[[], Backend],
        limits: ReplicaSetLimits,
        *,
        clock: Callable[[], float],
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        changed: Callable[[], None],
        budget: Budget | None = None,
    ) -> None:
        self.unit = unit
        self.app = app = unit.lead
        self.limits = limits
        self.activity = ""
        """What takes long at present."""
        self.preparing = False
        """Whether a state from which later replicas start is being prepared; spares are not worth starting before."""
        self._edition = 0
        self._budget = budget or Budget()
        self._needs = Demand(unit.boot_seconds)
        self.slots: list[Slot] = []
        self.failure = ""
        """Why the latest start failed; empty when it did not."""
        self.failure_kind: type[SiteError] = SiteError
        """Error class for the failed requests."""
        self._failures = 0
        self._latest: Exception | None = None
        self._backend = backend
        self._preparation = Preparation(app, backend)
        self.instances = Instances(app, backend)
        self.programs = UnitPrograms(unit)
        self._clock, self._spawn, self._changed = clock, spawn, changed
        self.health = ReplicaHealth(
            unit,
            self._preparation.backend,
            replacement=lambda: self._needs.replacement,
            record_broken=self._record_broken,
        )
        self._pauser = IdlePauser(app, self._preparation.backend, clock=clock, report_broken=self._record_broken)
        self._closing = False
        self._made = 0
        self._demand = Recent(clock())
        self._metrics = ReplicaSetMetrics()

    # --- what the pool asks

    def available(self) -> int:
        """Returns how many leases could be granted now."""
        if self.app.read_only:
            return _SHARED if any(slot.state in (State.PRISTINE, State.LEASED) for slot in self.slots) else 0
        return sum(slot.state is State.PRISTINE for slot in self.slots)

    def promised(self) -> int:
        """Returns how many leases could be granted without any release: now, after running starts and resets, or by
        starting more."""
        if self.app.read_only:
            return _SHARED
        living = self._living()
        coming = sum(slot.state is not State.LEASED or not slot.holders for slot in living)  # or is being released
        if self.instances.at_most(self.limits.replicas) <= len(living):
            return coming
        return coming + int(not living or self._budget.fits(self.limits.size))

    @property
    def hopeless(self) -> bool:
        """Whether there is no replica, none is starting, and the latest start failed, with no other instance to try."""
        return bool(self.failure) and not self._living() and not self.instances.promising

    @property
    def goes_round(self) -> bool:
        """Whether its replicas run elsewhere and one has started: there can be no more, so a request waits for a peer's
        end, however long that takes."""
        return self.app.backend == EXTERNAL and any(slot.replica is not None for slot in self._living())

    def record_request(self) -> None:
        """Record a new request: a failed start may be retried, unless it failed too often."""
        if (self._failures < _ATTEMPTS or self.instances.left) and self.failure_kind is SiteError:
            self.failure = ""

    def take(self, lease: str, holder: str, waited: float) -> Slot:
        """Lease the pristine replica that has been ready for longest to ``holder``."""
        states = (State.LEASED, State.PRISTINE) if self.app.read_only else (State.PRISTINE,)
        slot = min((slot for slot in self.slots if slot.state in states), key=Slot.lease_order)
        if slot.state is State.PRISTINE:
            slot.to(State.LEASED, self._clock())
        slot.holders[lease] = holder
        self._metrics.leases += 1
        self._needs.took(self._clock())
        if waited > 0:
            self._metrics.waits.append(waited)
        return slot

    def give_back(self, slot: Slot, lease: str) -> None:
        """Take back an unused lease: the replica is as pristine as before, unless `verify` has found a change."""
        del slot.holders[lease]
        self._metrics.leases -= 1
        if slot.state is State.LEASED and slot.touched and not self.app.read_only:
            self._replace(slot, slot.touched)
        elif slot.state is State.LEASED and not slot.holders:
            slot.to(State.PRISTINE, self._clock())
        self._forget_broken(slot)
        self._changed()

    async def take_back(self, slot: Slot, lease: str, unsafe: str) -> str:
        """Take a replica back. Returns why it is dirty, or an empty text when it is proved clean.

        ``unsafe`` is why its traffic may have changed it. A dirty replica is reset in the background.
        """
        del slot.holders[lease]
        reason = ""
        if slot.state is State.LEASED and slot.spoiled:
            await self._withdraw(slot)
            return slot.spoiled
        if slot.state is not State.BROKEN and not self.app.read_only:
            reason = slot.touched or unsafe or await self.health.difference(slot)
        if slot.state is State.BROKEN:
            reason = slot.why
            self._forget_broken(slot)
        elif reason:
            self._needs.released(dirty=True)
            self._replace(slot, reason)
        elif not slot.holders:
            self._needs.released(dirty=False)
            slot.to(State.PRISTINE, self._clock())
            slot.visited = not self.app.read_only
        self._changed()
        return reason

    async def _withdraw(self, slot: Slot) -> None:
        """Let no later trial use the instance of a replica."""
        self.instances.withdraw(slot.running(), slot.spoiled)
        slot.to(State.BROKEN, self._clock(), slot.spoiled)
        self._forget_broken(slot)
        await self._stop(slot.running())
        self.failure = self.instances.why_none()
        self._changed()

    async def wake(self, slot: Slot) -> None:
        """Unpause a replica that has just been leased, if it was paused."""
        await self._pauser.wake(slot)

    def keeps(self) -> bool:
        """Whether later replicas can start from the state of one."""
        backend = self._backend()
        return isinstance(backend, KeepingBackend) and backend.keeps(self.app)

    async def keep(self, slot: Slot, lease: str) -> int:
        """Take a replica back and start later ones from its current state. Returns the number of that edition.

        Raises any error; later replicas then start as before. The replica is replaced in the background in any case.
        """
        backend = self._preparation.backend()
        assert isinstance(backend, KeepingBackend)
        del slot.holders[lease]
        if slot.state is State.BROKEN:
            self._forget_broken(slot)
            self._changed()
            raise ReplicaDied(slot.why)
        slot.to(State.DIRTY, self._clock(), "its state is kept for the replicas to come")
        self._needs.released(dirty=True)
        try:
            self._edition = await backend.keep(self.app, slot.running())
        finally:
            self._spawn(self._reset(slot))
        return self._edition

    async def query(self, slot: Slot, app: str, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL on a part of a leased replica. After a write it counts as dirty, regardless of its fingerprint. When
        it reads, SQLite must not take a misspelt name in double quotes for a text."""
        if write:
            slot.touched = "a set-up step wrote into its database"
        replica, manifest = slot.running().of(app), next(one for one in self.unit.apps if one.name == app)
        if not write and '"' in sql and manifest.database(database).engine == "sqlite":
            sql = with_strict_names(sql)
        return await self._preparation.backend().query(manifest, replica, database, sql, write=write)

    def record_lease(self, slot: Slot) -> None:
        """Record a new lease of a replica, possibly without a reset since the previous one."""
        self._metrics.clean += slot.visited

    def record_handover(self, seconds: float) -> None:
        """Record the seconds from a grant until the lease could be used."""
        self._metrics.handovers.append(seconds)

    # --- size

    @property
    def spares(self) -> int:
        """Number of spares to keep at present."""
        if not self.limits.grows:
            return self.limits.spares
        return max(self.limits.spares, self._needs.spares(self._clock()))

    @property
    def booting(self) -> bool:
        """Whether the first replica of the run is starting, which has deadlines of its own."""
        starting = any(slot.state is State.STARTING for slot in self.slots)
        return starting and not self._metrics.starts and not self._failures

    def plan(self, waiting: int) -> int:
        """Start replicas for ``waiting`` requests, or spares when none waits, within the limit.

        Returns how many of the waiting requests get none because memory is short.
        """
        living = self._living()
        leased = sum(slot.state is State.LEASED for slot in living)
        self._demand.note(self._clock(), leased + waiting)
        if not self._closing:
            self._pauser.pause_idle(self.slots)
        if self._closing or (self.failure and not self.instances.promising):
            return 0
        # Waiting requests first: starting spares at the same time would slow their replicas down.
        wanted = (waiting or (0 if self.preparing else self.spares)) - (len(living) - leased)
        missing = min(wanted, self.instances.at_most(self.limits.replicas) - len(living))
        missing = min(missing, self.instances.promising) if self.failure else missing
        if self.app.read_only:
            missing = 0 if living else 1
        while missing > 0 and ((waiting and not self._living()) or self._budget.fits(self.limits.size)):
            missing -= 1
            self._made += 1
            now = self._clock()
            slot = Slot(id=f"{self.app.name}-{self._made}", since=now, created=now)
            self.slots.append(slot)
            self._budget.take(self.limits.size)
            self._spawn(self._start(slot))
        self._metrics.most = max(self._metrics.most, len(self._living()))
        if not waiting:
            self._renew_spares()
        return max(missing, 0) if waiting else 0

    def _renew_spares(self) -> None:
        """Replace spares of older editions one at a time; until then they are better than none."""
        stale = [slot for slot in self.slots if slot.state is State.PRISTINE and slot.edition < self._edition]
        if not stale or any(slot.state is State.DIRTY for slot in self.slots):
            return
        slot = max(stale, key=Slot.lease_order)
        if slot.resting is None:
            self._replace(slot, "it started before its users were signed in")

    def stop_spare(self) -> bool:
        """Stop a spare, because another app needs the memory. Returns whether there was one."""
        spares = [slot for slot in self.slots if slot.state is State.PRISTINE]
        if not spares or self.app.read_only or not self.limits.size:
            return False
        slot = max(spares, key=Slot.lease_order)
        self._remove(slot)
        self._spawn(self._stop(slot.running()))
        return True

    def stop_surplus(self) -> None:
        """Stop pristine replicas that recent demand did not need."""
        wanted = self._demand.most(self._clock()) + self.spares
        surplus = len(self._living()) - max(wanted, 1 if self.app.read_only else 0)
        for slot in [slot for slot in self.slots if slot.state is State.PRISTINE][: max(surplus, 0)]:
            self._remove(slot)
            self._spawn(self._stop(slot.running()))

    def _living(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.state is not State.BROKEN]

    # --- background work

    async def _start(self, slot: Slot) -> None:
        began = self._clock()
        try:
            backend = await self._preparation.done()
            replica = await self._in_time(self.programs.noted(partial(backend.start, self.app, slot.id)), "start")
        except Exception as error:
            self._metrics.failed_starts += 1
            self.failure_kind = _kind(error)
            self._fail(slot, error, "could not be started")
            self.failure = self.instances.why_none() or slot.why
            _log.error("%s", slot.why)
        else:
            slot.replica = replica
            self._ready(slot, self._metrics.starts, began)
        self._changed()

    def _replace(self, slot: Slot, why: str) -> None:
        _log.info("%s is reset: %s", slot.id, why)
        if self.app.reuse == "clean":  # others are reset after each lease
            self._metrics.record_reset(why)
        slot.to(State.DIRTY, self._clock(), why)
        self._spawn(self._reset(slot))

    async def _reset(self, slot: Slot) -> None:
        began = self._clock()
        replica = slot.running()
        try:
            work = self.programs.noted(partial(self._preparation.backend().reset, self.app, replica))
            slot.replica = await self._in_time(work, "reset")
        except Exception as error:
            self._fail(slot, error, "could not be reset")
            _log.error("%s", slot.why)
            await self._stop(replica)
        else:
            self._ready(slot, self._metrics.resets, began)
        self._changed()

    def _ready(self, slot: Slot, durations: list[float], began: float) -> None:
        now = self._clock()
        slot.started = began
        self._failures = 0
        self.failure = ""
        durations.append(now - began)
        self._needs.replaced(now - began)
        slot.paused = slot.visited = False
        slot.to(State.PRISTINE, now)

    def _fail(self, slot: Slot, error: Exception, what: str) -> None:
        if error is not self._latest:  # all that waited for one preparation fail with the same error
            self._failures += 1
        self._latest = error
        text = str(error) if isinstance(error, WebArenaError) else f"{type(error).__name__}: {error}"
        if not isinstance(error, WebArenaError):
            _log.error("unexpected failure of %s", slot.id, exc_info=error)
        again = self._failures < _ATTEMPTS or self.instances.left
        most = f" of {_ATTEMPTS}" if self.app.backend != EXTERNAL else ""
        tries = f"attempt {self._failures}{most}" if again else f"given up after {self._failures} attempts"
        why = text if _kind(error) is not SiteError else f"the app {self.app.name!r} {what} ({tries}): {text}"
        slot.to(State.BROKEN, self._clock(), why)
        self._forget_broken(slot)

    async def _in_time(self, work: Awaitable[T], what: str) -> T:
        try:
            async with asyncio.timeout(self.unit.start_timeout + _BACKSTOP):
                return await work
        except TimeoutError as error:
            raise SiteError(f"its {what} took longer than {self.unit.start_timeout:g} s (start_timeout)") from error

    async def _stop(self, replica: Replica) -> None:
        try:
            await self._preparation.backend().stop(self.app, replica)
        except Exception:
            _log.exception("could not stop %s", replica.id)

    def _record_broken(self, slot: Slot, why: str) -> None:
        self._metrics.broken += 1
        slot.to(State.BROKEN, self._clock(), f"replica {slot.id} broke: {why}")
        _log.error("%s", slot.why)
        self._spawn(self._stop(slot.running()))
        self._forget_broken(slot)
        self._changed()

    def _forget_broken(self, slot: Slot) -> None:
        if slot.state is State.BROKEN and not slot.holders and slot in self.slots:
            self._remove(slot)

    def _remove(self, slot: Slot) -> None:
        self.slots.remove(slot)
        self._budget.free(self.limits.size)
        self._metrics.record_removal(slot, self._clock())

    async def close(self) -> None:
        """Stop starting replicas, and cancel an unfinished preparation."""
        self._closing = True
        await self._preparation.cut_off()

    # --- figures

    def status(self) -> AppStatus:
        """Returns the current status."""
        now = self._clock()
        return AppStatus(
            app=self.app.name,
            backend=self.app.backend,
            replicas=tuple(slot.status(now) for slot in self.slots),
            limit=self.limits.replicas,
            problem=self.failure,
            activity=self.activity,
        )

    def waited_for(self) -> str:
        """Returns in words what must happen until a replica is available."""
        name = self.app.name
        if self.activity:
            return f"{name} ({self.activity})"
        states = {slot.state for slot in self.slots}
        if State.STARTING in states or not self._living():
            return f"{name} to start"
        if State.DIRTY in states:
            return f"{name} to be reset"
        return f"a free replica of {name} ({len(self._living())} of at most {self.limits.replicas} in use)"

    def report(self) -> AppReport:
        """Returns the figures so far."""
        return replace(self._metrics.report(self.app, self.slots, self._clock()), problems=self.instances.problems())


def _kind(error: Exception) -> type[SiteError]:
    """Returns the error class for a failed start. Only `SiteError` is worth another start."""
    if isinstance(error, SiteMissing):
        return SiteMissing
    return SiteUnready if isinstance(error, SiteUnready | UsageError) else SiteError
