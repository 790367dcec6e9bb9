"""The pool: grants atomic leases of replicas of several apps in the order of the requests."""

from __future__ import annotations

import asyncio
import time
from bisect import insort
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from pytest_webarena.errors import SiteBusy, SiteError, SiteYielded, TaskError, UsageError, closest
from pytest_webarena.sites.backends.base import Backend, Rows
from pytest_webarena.sites.broker.deadlock import deadlocked
from pytest_webarena.sites.broker.order import must_wait
from pytest_webarena.sites.broker.pool_lease import PoolLease, PoolRequest
from pytest_webarena.sites.broker.replica_set import ReplicaSet
from pytest_webarena.sites.broker.sizing import Budget, ReplicaSetLimits
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.catalogues.units import Unit, units_of
from pytest_webarena.sites.protocol.report import AppReport, AppStatus, WaitStatus

__all__ = ["Pool"]

_BUSY = 45.0
"""Seconds for which a locked database is retried; less than a client waits for a response."""
_PAUSE = 0.1

T = TypeVar("T")


class Pool:
    """The replicas of all apps, and the queue for them. Apps of one unit (`catalogues.units`) are leased together.

    A request is granted when every app it names has a pristine replica left after serving all earlier requests: it
    waits only for earlier requests that share an app with it, and none starves. A request by the holder of a lease has
    the queue position of that lease's own request. Only such requests can wait for each other in a circle, which `tick`
    detects, so that the latest of them fails. Everything that depends on time happens in `tick`, which the owner calls
    a few times a second.
    """

    def __init__(
        self,
        apps: Mapping[str, AppManifest],
        backend: Callable[[str], Backend],
        limits: Callable[[Unit], ReplicaSetLimits],
        *,
        clock: Callable[[], float] = time.monotonic,
        budget: Budget | None = None,
    ) -> None:
        self._apps = apps
        self._units = units_of(apps)
        self._backend = backend
        self._limits = limits
        self._budget = budget or Budget()
        self._clock = clock
        self._replica_sets: dict[str, ReplicaSet] = {}
        self._waiting: list[PoolRequest] = []
        self._owners: dict[str, str] = {}
        """For each lease, the first of the leases that one trial holds together."""
        self._requests = self._granted = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = ""

    async def lease(
        self,
        apps: Sequence[str],
        *,
        holder: str,
        timeout: float,
        ahead: Sequence[str] = (),
        held: PoolLease | None = None,
        max_age: float | None = None,
    ) -> PoolLease:
        """Lease one replica of each app exclusively (shared, if the app is read-only), all at once.

        Further replicas, of the apps ``ahead``, are started in the meantime for later requests. ``held`` is a lease
        that the requester holds and keeps. A cancelled caller holds nothing. Replicas that began to start more than
        ``max_age`` seconds ago are reset first, where that is possible (`undisturbed`).

        Raises `SiteError` after ``timeout`` seconds of waiting, or as soon as an app can't be started; `SiteYielded`
        when the holders of these apps wait for what the requester holds.
        """
        replica_sets = self._distinct(apps)
        now = self._clock()
        self._requests += 1
        request = PoolRequest(
            number=self._requests if held is None else held.number,
            owner=held.owner if held is not None else "",
            holder=holder,
            replica_sets=replica_sets,
            requested_at=now,
            deadline=now + timeout,
            timeout=timeout,
            ahead=self._distinct(ahead),
            since=now - max_age if max_age is not None else 0.0,
        )
        for replica_set in replica_sets:
            replica_set.record_request()
        try:
            self._enqueue(request)
            self._dispatch()
            request.queued = not request.future.done()
            while True:
                lease = await request.future
                leased = [(replica_set, lease.slots[replica_set.app.name]) for replica_set in replica_sets]
                for replica_set, slot in leased:
                    await replica_set.wake(slot)
                died = [await replica_set.health.examine(slot) for replica_set, slot in leased]
                if not any(died) and not any(
                    [await replica_set.health.verify(slot, request.since) for replica_set, slot in leased]
                ):
                    for replica_set, slot in leased:
                        replica_set.record_lease(slot)
                    return lease
                # A replica died, changed or is too old: back to the old position, before others are served.
                request.future = asyncio.get_running_loop().create_future()
                request.queued = True
                self._enqueue(request)
                self._undo(lease)
        except BaseException:
            self._withdraw(request)
            raise

    async def release(self, lease: PoolLease, *, unsafe: Mapping[str, str]) -> Mapping[str, str]:
        """Release a lease. Returns, by app, why its replica is dirty; clean ones are missing.

        ``unsafe`` maps apps to why their traffic may have changed them; apps without such traffic are missing.
        """
        if lease.released:
            return {}
        lease.released = True
        # A separate task, so that a cancelled caller leaves nothing half released.
        return await asyncio.shield(self._background(self._take_back(lease, unsafe)))

    async def _take_back(self, lease: PoolLease, unsafe: Mapping[str, str]) -> Mapping[str, str]:
        reasons = {}
        self._owners.pop(lease.id, None)
        for app, slot in lease.slots.items():
            replica_set = self._replica_sets[app]
            if reason := await replica_set.take_back(slot, lease.id, _first(unsafe, replica_set)):
                reasons[app] = reason
        return reasons

    def failing(self, apps: Sequence[str]) -> bool:
        """Whether the latest start of one of these apps failed."""
        return any(self._replica_set(app).failure for app in apps)

    def keeps(self, app: str) -> bool:
        """Whether an app's later replicas can start from the state of one."""
        return self._replica_set(app).keeps()

    def preparing(self, app: str, under_way: bool) -> None:
        """Record whether a state from which later replicas start is being prepared."""
        self._replica_set(app).preparing = under_way
        self._dispatch()

    async def keep(self, lease: PoolLease, app: str, *, unsafe: Mapping[str, str]) -> int:
        """Release a lease, and start later replicas of ``app`` from the state of the leased one.

        Returns the number of that edition. Raises any error; then everything is as before.
        """
        lease.released = True
        kept = self._replica_set(app)
        self._owners.pop(lease.id, None)
        for other, slot in lease.slots.items():
            if (replica_set := self._replica_sets[other]) is not kept:
                await replica_set.take_back(slot, lease.id, _first(unsafe, replica_set))
        return await kept.keep(lease.slots[kept.app.name], lease.id)

    async def query(self, lease: PoolLease, app: str, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL in a leased app's database, or in that of the app that has its data. Raises `TaskError` when the
        statement is at fault.

        A locked database is retried for as long as an app may reasonably take to save something.
        """
        await self.check(lease, app)
        replica_set, manifest = self._replica_set(app), self._apps[app]
        slot = lease.slots[replica_set.app.name]
        if write and manifest.read_only:
            raise TaskError(f"the app {app!r} is read-only and shared, so set-up steps can't write into its database")
        try:
            app = self._units[app].holder_of(database, app).name
        except UsageError as error:
            raise TaskError(str(error)) from error
        ends = self._clock() + _BUSY
        while True:
            try:
                rows: Rows = await replica_set.query(slot, app, database, sql, write=write)
            except SiteError as error:
                await self.check(lease, app)  # a dead replica is the better explanation
                if not isinstance(error, SiteBusy):
                    raise
                # An app that saves for long is not broken. A write may have been executed partly, so it is not retried.
                if write or self._clock() >= ends:
                    raise SiteBusy(f"{error}, and that for {_BUSY:g} s" if not write else str(error)) from None
                await asyncio.sleep(_PAUSE)
            else:
                return rows

    async def check(self, lease: PoolLease, *apps: str) -> None:
        """Raise `SiteError` when a replica of the lease (of ``apps``, if given) has died."""
        for replica_set in self._distinct(apps or tuple(lease.slots)):
            if why := await replica_set.health.examine(lease.slots[replica_set.app.name]):
                raise SiteError(why)

    async def ask(self, lease: PoolLease, *, wrote: bool = False) -> None:
        """Raise `SiteError` when a replica of the lease does not answer requests, or, if a visitor ``wrote``, can't
        save data."""
        probes = (self._replica_sets[app].health.ask(slot, wrote=wrote) for app, slot in lease.slots.items())
        reasons = await asyncio.gather(*probes)
        if why := next(filter(None, reasons), ""):
            raise SiteError(why)

    async def undisturbed(self, lease: PoolLease) -> bool:
        """Returns whether its replicas began to start as late as requested, and no signal ended or stopped them. Then
        no program that had ended before can be the cause of a failure."""
        leased = [(self._replica_sets[app].health, slot) for app, slot in lease.slots.items()]
        return all([await health.undisturbed(slot, lease.since) for health, slot in leased])

    def record_handover(self, lease: PoolLease) -> None:
        """Record the time from granting ``lease`` until now, when it can be used."""
        for app in lease.slots:
            self._replica_sets[app].record_handover(self._clock() - lease.granted)

    def note(self, app: str, text: str) -> None:
        """Record what takes long for an app at present; empty when it has finished."""
        if (lead := self._units[app].lead.name) in self._replica_sets:
            self._replica_sets[lead].activity = text

    async def tick(self) -> None:
        """Handle time-outs and dead replicas; remove surplus replicas."""
        now = self._clock()
        for request in list(self._waiting):
            if all(replica_set.available() or replica_set.goes_round for replica_set in request.replica_sets):
                request.deadline = max(request.deadline, now + request.timeout)
            if now < request.deadline or any(replica_set.booting for replica_set in request.replica_sets):
                continue
            self._waiting.remove(request)
            self._fail(request, self._why_not(request))
        for replica_set in list(self._replica_sets.values()):
            await asyncio.gather(*(replica_set.health.examine(slot) for slot in list(replica_set.slots)))
            replica_set.stop_surplus()
        self._dispatch()
        self._break_circles()

    def status(self) -> tuple[tuple[AppStatus, ...], tuple[WaitStatus, ...]]:
        """Returns the current apps and waiting requests."""
        now = self._clock()
        waiting = (
            WaitStatus(holder=one.holder, apps=one.apps, seconds=now - one.requested_at) for one in self._waiting
        )
        return tuple(replica_set.status() for replica_set in self._replica_sets.values()), tuple(waiting)

    def waits(self) -> tuple[tuple[str, float], ...]:
        """Returns what is being waited for, in words, and for how many seconds."""
        now = self._clock()
        return tuple(
            (
                ", ".join(
                    dict.fromkeys(
                        replica_set.waited_for() for replica_set in one.replica_sets if not replica_set.available()
                    )
                ),
                since,
            )
            for one in self._waiting
            if (since := now - one.requested_at)
            and not all(replica_set.available() for replica_set in one.replica_sets)
        )

    def report(self) -> Mapping[str, AppReport]:
        """Returns the figures of all apps that were requested."""
        return {name: replica_set.report() for name, replica_set in self._replica_sets.items()}

    def late_program_changes(self) -> list[str]:
        """Returns a message for each app whose program has changed since its last replica was started."""
        return [change for each in self._replica_sets.values() for change in each.programs.late_changes()]

    async def close(self, why: str = "the site broker is shutting down") -> None:
        """Stop granting and starting. The backends must still be closed, which ends the replicas."""
        self._closing = why
        for request in self._waiting:
            self._fail(request, why)
        self._waiting.clear()
        await asyncio.gather(*(replica_set.close() for replica_set in self._replica_sets.values()))
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- granting

    def _enqueue(self, request: PoolRequest) -> None:
        if self._closing:
            raise SiteError(self._closing)
        insort(self._waiting, request, key=lambda waiting: waiting.number)

    def _dispatch(self) -> None:
        """Grant what can be granted, fail what can't be satisfied, and start replicas for the rest."""
        reserved: Counter[ReplicaSet] = Counter()
        for request in list(self._waiting):
            hopeless = next((replica_set for replica_set in request.replica_sets if replica_set.hopeless), None)
            if hopeless is not None:
                self._waiting.remove(request)
                self._fail(request, hopeless.failure, hopeless.failure_kind)
            elif all(replica_set.available() > reserved[replica_set] for replica_set in request.replica_sets):
                self._waiting.remove(request)
                self._grant(request)
            else:
                reserved.update(replica_set for replica_set in request.replica_sets if not replica_set.app.read_only)
        wanted = Counter(
            replica_set for request in self._waiting for replica_set in (*request.replica_sets, *request.ahead)
        )
        for replica_set in self._replica_sets.values():
            if must_wait(replica_set, self._replica_sets, self._units):
                continue
            others = [other for other in self._replica_sets.values() if other is not replica_set and not wanted[other]]
            short = replica_set.plan(wanted[replica_set])
            while short and any(other.stop_spare() for other in others):  # frees the memory of their spares
                short = replica_set.plan(wanted[replica_set])

    def _break_circles(self) -> None:
        """Fail the latest of the requests that wait for each other in a circle."""
        if not any(request.owner for request in self._waiting):
            return
        held: dict[str, Counter[ReplicaSet]] = {}
        for replica_set in self._replica_sets.values():
            for slot in replica_set.slots:
                for lease in slot.holders if not replica_set.app.read_only else ():
                    held.setdefault(self._owners.get(lease, lease), Counter())[replica_set] += 1
        stuck = deadlocked(
            self._waiting, held, {replica_set: replica_set.promised() for replica_set in self._replica_sets.values()}
        )
        if not stuck:
            return
        latest = max(stuck, key=lambda request: (request.number, request.requested_at))
        self._waiting.remove(latest)
        others = ", ".join(dict.fromkeys(request.holder for request in stuck if request is not latest))
        self._fail(
            latest,
            f"{latest.holder} waited for {', '.join(latest.apps)} and held what {others or 'others'} waited for: it "
            "gave way, and its next attempt begins with all that it had visited; allow more replicas or run fewer "
            "workers to have none give way",
            SiteYielded,
        )
        self._dispatch()

    def _grant(self, request: PoolRequest) -> None:
        waited = self._clock() - request.requested_at if request.queued else 0.0
        self._granted += 1  # not the request's number: a request is granted again if its replica died as a spare
        name = f"lease-{self._granted}"
        slots = {
            replica_set.app.name: replica_set.take(name, request.holder, waited) for replica_set in request.replica_sets
        }
        lease = PoolLease(
            id=name,
            holder=request.holder,
            waited=waited,
            since=request.since,
            granted=self._clock(),
            number=request.number,
            owner=request.owner or name,
            slots=slots,
        )
        self._owners[name] = lease.owner
        request.future.set_result(lease)

    def _undo(self, lease: PoolLease) -> None:
        lease.released = True
        self._owners.pop(lease.id, None)
        for app, slot in lease.slots.items():
            self._replica_sets[app].give_back(slot, lease.id)

    def _withdraw(self, request: PoolRequest) -> None:
        if request in self._waiting:
            self._waiting.remove(request)
            request.future.cancel()
            self._dispatch()  # later requests may have waited only for this one
        elif request.future.done() and not request.future.cancelled() and request.future.exception() is None:
            lease = request.future.result()
            if not lease.released:
                self._undo(lease)

    @staticmethod
    def _fail(request: PoolRequest, why: str, kind: type[SiteError] = SiteError) -> None:
        if not request.future.done():
            request.future.set_exception(kind(why))

    def _why_not(self, request: PoolRequest) -> str:
        """Returns the message of a time-out, which states who holds what."""
        now = self._clock()
        lines = [
            f"expected {', '.join(request.apps)} for {request.holder} within {now - request.requested_at:.0f} s, but:"
        ]
        for replica_set in request.replica_sets:
            status = replica_set.status()
            held = len([replica for replica in status.replicas if replica.state != "broken"])
            lines.append(f"  {status.app}: {held} of at most {status.limit} replicas")
            for replica in status.replicas:
                by = f" by {', '.join(replica.holders)}" if replica.holders else ""
                lines.append(f"    {replica.id} {replica.state} for {replica.seconds:.1f} s{by}")
            lines.extend(f"    {text}" for text in (status.activity, status.problem) if text)
        ahead = [one for one in self._waiting if one.number < request.number and set(one.apps) & set(request.apps)]
        for one in ahead:
            lines.append(
                f"  {one.holder} came earlier: waits for {', '.join(one.apps)} since {now - one.requested_at:.0f} s"
            )
        lines.append("allow more replicas, run fewer workers, or raise the lease time-out")
        return "\n".join(lines)

    # --- replica_sets

    def _replica_set(self, app: str) -> ReplicaSet:
        if app not in self._units:
            raise UsageError(f"there is no app {app!r}; {closest(app, self._apps)}")
        unit = self._units[app]
        if (lead := unit.lead.name) not in self._replica_sets:
            self._replica_sets[lead] = ReplicaSet(
                unit,
                lambda: self._backend(unit.lead.backend),
                self._limits(unit),
                clock=self._clock,
                spawn=self._spawn,
                changed=self._dispatch,
                budget=self._budget,
            )
        return self._replica_sets[lead]

    def _distinct(self, apps: Sequence[str]) -> tuple[ReplicaSet, ...]:
        return tuple(dict.fromkeys(self._replica_set(app) for app in apps))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._background(work)

    def _background(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _first(unsafe: Mapping[str, str], replica_set: ReplicaSet) -> str:
    """Returns why traffic may have changed an app of this replica set's unit; empty when it did not."""
    return next((unsafe[app] for app in replica_set.unit.names if app in unsafe), "")
