"""Guarantees of the replica pool under any order of events (stateful Hypothesis test)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.broker.pool_lease import PoolLease
from pytest_webarena.sites.broker.slot import State

from .pool_harness import KeepingBackend, PoolHarness, rest

DIES = st.sampled_from(["", "", "noticed", "unnoticed"])
"""Whether a replica has died before what is done with it."""


class Leasing(RuleBasedStateMachine):
    """Any order of asking, cancelling, releasing, keeping, dying and failing keeps the promises of `Pool`.

    Whatever takes time can be met by a death in its middle: starts, resets, fingerprints, the keeping of a state.
    """

    @initialize(replicas=st.integers(1, 3), spares=st.integers(0, 2))
    def open(self, replicas: int, spares: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.faults: list[Any] = []
        self.loop.set_exception_handler(lambda _, context: self.faults.append(context))
        self.replicas = replicas
        self.harness: PoolHarness = self.do(self._harness(replicas, spares))
        self.asked: list[tuple[frozenset[str], asyncio.Task[PoolLease]]] = []
        self.held: list[PoolLease] = []
        self.ending: list[asyncio.Task[Any]] = []
        """Releases under way, and keeping."""

    async def _harness(self, replicas: int, spares: int) -> PoolHarness:
        harness = PoolHarness(replicas=replicas, spares=spares)
        harness.backend = KeepingBackend()
        harness.backend.manual = harness.backend.slow_proofs = True
        return harness

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        result = self.loop.run_until_complete(work)
        self.loop.run_until_complete(rest())
        self._collect()
        return result

    def _collect(self) -> None:
        for entry in list(getattr(self, "asked", ())):
            _, task = entry
            if task.done():
                self.asked.remove(entry)
                if not task.cancelled() and task.exception() is None:
                    self._receive(task.result(), entry[0])

    def _receive(self, lease: PoolLease, wanted: frozenset[str]) -> None:
        assert set(lease.slots) == wanted
        for app, slot in lease.slots.items():
            assert lease.id in slot.holders
            assert slot.state in (State.LEASED, State.BROKEN)
            if app != "wiki" and slot.state is State.LEASED:
                assert self.harness.backend.data[slot.id] == "pristine", "handed out dirty"
                assert not any(slot in one.slots.values() for one in self.held), "handed out twice"
        self.held.append(lease)

    async def _end(self, work: Coroutine[Any, Any, Any]) -> None:
        self.ending.append(self.loop.create_task(work))

    async def _ask(self, apps: frozenset[str]) -> asyncio.Task[PoolLease]:
        return self.harness.ask(*sorted(apps))

    @rule(apps=st.frozensets(st.sampled_from(["a", "b", "never", "wiki"]), min_size=1))
    def ask(self, apps: frozenset[str]) -> None:
        task: asyncio.Task[PoolLease] = self.loop.run_until_complete(self._ask(apps))
        self.asked.append((apps, task))
        self.do(rest())

    @precondition(lambda self: self.asked)
    @rule(which=st.integers(0, 99))
    def cancel(self, which: int) -> None:
        self.asked[which % len(self.asked)][1].cancel()
        self.do(rest())

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0, 99), how=st.sampled_from(["clean", "post", "silent change"]), dies=DIES)
    def release(self, which: int, how: str, dies: str) -> None:
        lease = self.held.pop(which % len(self.held))
        self._kill(lease, dies)
        exclusive = [app for app in lease.slots if app != "wiki"]
        if how != "clean":
            for app in exclusive:
                self.harness.backend.data[lease.slots[app].id] = "changed"
        self.do(
            self._end(
                self.harness.pool.release(lease, unsafe=dict.fromkeys(exclusive, "POST") if how == "post" else {})
            )
        )

    @precondition(lambda self: any(set(lease.slots) - {"wiki"} for lease in self.held))
    @rule(which=st.integers(0, 99), refuses=st.sampled_from(["", "", "no space"]), dies=DIES)
    def keep(self, which: int, refuses: str, dies: str) -> None:
        leases = [lease for lease in self.held if set(lease.slots) - {"wiki"}]
        lease = leases[which % len(leases)]
        self.held.remove(lease)
        self._kill(lease, dies)
        self.harness.backend.refuses = refuses
        self.do(self._end(self.harness.pool.keep(lease, min(set(lease.slots) - {"wiki"}), unsafe={})))

    def _kill(self, lease: PoolLease, death: str) -> None:
        """Kill the lease's replicas; ``death`` says whether the pool notices."""
        if death:
            self.harness.backend.dead.update({slot.id: "killed" for app, slot in lease.slots.items() if app != "wiki"})
        if death == "noticed":
            self.do(self.harness.later(0.2))

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0, 99))
    def write(self, which: int) -> None:
        lease = self.held[which % len(self.held)]
        for app in sorted(set(lease.slots) - {"wiki"}):
            with contextlib.suppress(SiteError):  # it has died
                self.do(self.harness.pool.query(lease, app, "", "update x set y = 1", write=True))

    @rule(which=st.integers(0, 99))
    def write_late(self, which: int) -> None:
        """Change a replica that was found clean before it is leased again."""
        apps, _ = self.harness.pool.status()
        spares = [one.id for app in apps for one in app.replicas if one.state == "pristine" and app.app != "wiki"]
        if spares and (visited := [one for one in spares if one in self.visited()]):
            self.harness.backend.data[visited[which % len(visited)]] = "written late"

    def visited(self) -> set[str]:
        """Return the replicas that were leased since their last reset."""
        return {
            slot.id
            for replica_set in self.harness.pool._replica_sets.values()
            for slot in replica_set.slots
            if slot.visited
        }

    @precondition(lambda self: self.harness.backend.pending)
    @rule(which=st.integers(0, 99), fails=st.sampled_from([False, False, False, True]))
    def finish(self, which: int, fails: bool) -> None:
        backend = self.harness.backend
        backend.problems = ["broken"] if fails else []
        backend.finish(which % len(backend.pending))
        self.do(rest())

    @precondition(lambda self: self.harness.backend.pending)
    @rule()
    def finish_all(self) -> None:
        backend = self.harness.backend
        backend.problems = []
        while backend.pending:
            backend.finish()
        self.do(rest())

    @rule(which=st.integers(0, 99))
    def die(self, which: int) -> None:
        alive = sorted(set(self.harness.backend.data) - set(self.harness.backend.dead))
        if alive:
            self.harness.backend.dead[alive[which % len(alive)]] = "killed"

    @rule(seconds=st.sampled_from([0.2, 5.0, 70.0]))
    def wait(self, seconds: float) -> None:
        self.do(self.harness.later(seconds))

    @invariant()
    def promises(self) -> None:
        apps, waiting = self.harness.pool.status()
        for app in apps:
            living = [replica for replica in app.replicas if replica.state != "broken"]
            assert len(living) <= self.replicas
            if app.app != "wiki":
                assert all(len(replica.holders) <= 1 for replica in app.replicas)
            assert all(replica.holders for replica in app.replicas if replica.state == "broken"), "kept for nobody"
        assert self.harness.budget.used == sum(len(app.replicas) for app in apps), "memory is lost, or was never there"
        for task in [task for task in self.ending if task.done()]:
            self.ending.remove(task)
            problem = task.exception()
            assert problem is None or isinstance(problem, SiteError)
        assert not self.faults
        # No request waits without cause: one of its apps is taken, or reserved for earlier requests.
        free = {app.app: sum(one.state == "pristine" for one in app.replicas) for app in apps}
        shared = any(one.state in ("pristine", "leased") for app in apps if app.app == "wiki" for one in app.replicas)
        for request in waiting:
            assert not all(shared if app == "wiki" else free[app] > 0 for app in request.apps)
            for name in request.apps:
                free[name] -= 1

    def teardown(self) -> None:
        if not hasattr(self, "harness"):
            return
        # Finally, all waiting requests are served once the others release.
        backend = self.harness.backend
        for _ in range(200):
            if not self.asked and not self.ending:
                break
            backend.problems = []
            backend.manual = False
            while backend.pending:
                backend.finish()
            self.do(rest())
            while self.held:
                self.do(self._end(self.harness.pool.release(self.held.pop(), unsafe={})))
            self.do(self.harness.later(0.2))
            self.promises()
        assert not self.asked, "somebody waits for ever"
        self.do(self.harness.pool.close())
        self.loop.close()


TestLeasing = Leasing.TestCase
TestLeasing.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
