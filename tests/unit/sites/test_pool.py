"""The pool on a backend that does what the test says, with a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pytest_webarena.errors import HarnessError, SiteError, TaskError, UsageError
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.fleet import FleetLimits
from pytest_webarena.sites.manifest import AppManifest, DatabaseManifest
from pytest_webarena.sites.pool import Pool, PoolLease
from pytest_webarena.sites.slot import Slot, State


class FakeBackend:
    """Starts and resets at once, or when the test calls `finish`; remembers who changed what."""

    def __init__(self) -> None:
        self.manual = False
        self.pending: list[tuple[str, asyncio.Future[None]]] = []
        self.problems: list[str] = []
        """Failures of the next starts and resets."""
        self.preparation = ""
        self.data: dict[str, str] = {}
        """Replica id to its fingerprint; ``pristine`` after a start or a reset."""
        self.dead: dict[str, str] = {}
        self.stopped: list[str] = []
        self.alive_checks = 0

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
        return self.data[replica.id]

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        if replica.id in self.dead:
            raise SiteError("no connection")
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


class House:
    """A pool of the apps ``a``, ``b`` and the read-only ``wiki``, its backend and its clock."""

    def __init__(self, *, replicas: int = 2, standbys: int = 0) -> None:
        self.backend = FakeBackend()
        self.now = 100.0
        database = {"main": DatabaseManifest(name="main", engine="sqlite", path="x")}
        app = AppManifest(name="a", sites=(), backend="fake", databases=database)
        self.apps = {
            "a": app,
            "b": replace(app, name="b"),
            "never": replace(app, name="never", reuse="never"),
            "wiki": replace(app, name="wiki", read_only=True),
        }
        limits = FleetLimits(replicas=replicas, standbys=standbys)
        self.pool = Pool(self.apps, lambda _: self.backend, lambda _: limits, clock=lambda: self.now)

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
    """Let everything that can happen without the test's help happen."""
    for _ in range(30):
        await asyncio.sleep(0)


def run(work: Callable[[House], Coroutine[Any, Any, None]], **settings: int) -> None:
    async def main() -> None:
        house = House(**settings)
        await work(house)
        await house.pool.close()

    asyncio.run(main())


def test_a_clean_replica_is_handed_on_without_a_reset() -> None:
    async def work(house: House) -> None:
        first = await house.lease("a")
        assert await house.pool.release(first, unsafe={}) == {}
        second = await house.lease("a")
        assert second.replicas["a"] is first.replicas["a"]
        assert house.pool.report()["a"].clean_hand_ons == 1

    run(work, replicas=1)


@pytest.mark.parametrize(
    ("app", "unsafe", "data", "reason"),
    [
        ("a", {"a": "POST http://a.test/"}, "pristine", "POST http://a.test/"),
        ("a", {}, "changed", "its data differ from pristine"),
        ("never", {}, "pristine", "its manifest says: reuse: never"),
    ],
)
def test_anything_else_is_reset(app: str, unsafe: dict[str, str], data: str, reason: str) -> None:
    async def work(house: House) -> None:
        first = await house.lease(app)
        house.backend.data[first.replicas[app].id] = data
        assert await house.pool.release(first, unsafe=unsafe) == {app: reason}
        second = await house.lease(app)
        assert second.replicas[app].generation == 1
        report = house.pool.report()[app]
        assert (report.clean_hand_ons, report.resets.count) == (0, 1)

    run(work, replicas=1)


def test_a_write_in_the_database_makes_dirty_whatever_the_fingerprint_says() -> None:
    async def work(house: House) -> None:
        first = await house.lease("a")
        await house.pool.query(first, "a", "", "update x set y = 1", write=True)
        assert await house.pool.release(first, unsafe={}) == {"a": "a set-up step wrote into its database"}
        second = await house.lease("a")
        await house.pool.query(second, "a", "", "select 1", write=False)
        assert await house.pool.release(second, unsafe={}) == {}  # the mark went with the reset

    run(work, replicas=1)


def test_only_the_app_with_unsafe_traffic_is_dirty() -> None:
    async def work(house: House) -> None:
        lease = await house.lease("a", "b")
        assert list(await house.pool.release(lease, unsafe={"b": "POST"})) == ["b"]

    run(work)


def test_standbys_are_started_beside_what_is_asked_for() -> None:
    async def work(house: House) -> None:
        await house.lease("a")
        await rest()
        assert sorted(house.states("a")) == ["leased", "pristine", "pristine"]
        before = house.now
        second = await house.lease("a")
        assert second.waited == 0
        assert house.now == before

    run(work, replicas=5, standbys=2)


def test_never_more_replicas_than_the_limit() -> None:
    async def work(house: House) -> None:
        asked = [house.ask("a") for _ in range(5)]
        await rest()
        assert house.states("a") == ["leased"] * 3
        assert sum(task.done() for task in asked) == 3
        for task in asked:
            await house.pool.release(await task, unsafe={})
        assert house.pool.report()["a"].most_replicas == 3

    run(work, replicas=3, standbys=2)


def test_a_request_takes_all_its_apps_at_once_or_none() -> None:
    async def work(house: House) -> None:
        held = await house.lease("a")
        both = house.ask("a", "b")
        await rest()
        assert house.states("b") == ["pristine"]  # there, but not taken
        other = house.ask("b")
        await rest()
        assert not other.done()  # it would have to overtake an earlier request for the same app
        await house.pool.release(held, unsafe={})
        lease = await both
        assert set(lease.slots) == {"a", "b"}
        await house.pool.release(lease, unsafe={})
        assert set((await other).slots) == {"b"}

    run(work, replicas=1)


def test_a_request_waits_only_behind_those_that_share_an_app() -> None:
    async def work(house: House) -> None:
        await house.lease("a")
        house.ask("a").add_done_callback(lambda task: task.cancelled())
        await rest()
        assert (await house.lease("b")).waited == 0

    run(work, replicas=1)


def test_a_spare_replica_beyond_the_earlier_ones_needs_is_not_held_back() -> None:
    async def work(house: House) -> None:
        held = [await house.lease("b"), await house.lease("b")]
        stuck = house.ask("a", "b")
        await rest()
        assert (await house.lease("a")).replicas["a"].id == "a-1"
        late = house.ask("a")
        await rest()
        assert house.states("a") == ["leased", "pristine"]
        assert not late.done()  # the last one is kept for the earlier request
        await house.pool.release(held[0], unsafe={})
        assert (await stuck).replicas["a"].id == "a-2"

    run(work, replicas=2)


def test_a_read_only_app_is_shared_and_never_reset() -> None:
    async def work(house: House) -> None:
        leases = [await house.lease("wiki") for _ in range(4)]
        assert len({lease.replicas["wiki"].id for lease in leases}) == 1
        for lease in leases:
            assert await house.pool.release(lease, unsafe={"wiki": "POST /search"}) == {}
        report = house.pool.report()["wiki"]
        assert (report.resets.count, report.starts.count, report.leases) == (0, 1, 4)
        with pytest.raises(TaskError, match="read-only and shared"):
            await house.pool.query(await house.lease("wiki"), "wiki", "", "delete from x", write=True)

    run(work)


def test_a_time_out_says_who_holds_what_and_who_came_earlier() -> None:
    async def work(house: House) -> None:
        await house.lease("a", holder="gw0 (first task)")
        early = house.ask("a", holder="gw1 (second task)")
        late = house.ask("a", holder="gw2 (third task)")
        await rest()
        house.now += 30
        early_bird = house.ask("b", holder="gw3")
        await rest()
        assert early_bird.done()
        await house.later(31)
        with pytest.raises(SiteError) as error:
            await late
        text = str(error.value)
        assert "expected a for gw2 (third task) within 61 s" in text
        assert "1 of at most 1 replicas" in text
        assert "a-1 leased for 61.0 s by gw0 (first task)" in text
        assert isinstance(early.exception(), SiteError)

    run(work, replicas=1)


def test_a_cancelled_request_leaves_its_place_and_takes_nothing() -> None:
    async def work(house: House) -> None:
        held = await house.lease("a")
        asked = house.ask("a")
        behind = house.ask("a")
        await rest()
        asked.cancel()
        await rest()
        await house.pool.release(held, unsafe={})
        await behind
        # And one that is cancelled between grant and delivery:
        await house.pool.release(await behind, unsafe={})
        house.backend.manual = True
        asked = house.ask("b")
        await rest()
        house.backend.finish()
        await asyncio.sleep(0)
        asked.cancel()
        await rest()
        assert house.states("b") == ["pristine"]

    run(work, replicas=1)


def test_a_failed_start_fails_its_waiters_and_the_next_request_tries_again() -> None:
    async def work(house: House) -> None:
        house.backend.problems = ["no such module: shop", "no such module: shop"]
        with pytest.raises(SiteError, match=r"'a' could not be started \(attempt 1 of 3\): no such module: shop"):
            await house.lease("a")
        with pytest.raises(SiteError, match="attempt 2 of 3"):
            await house.lease("a")
        lease = await house.lease("a")
        assert lease.replicas["a"].id == "a-3"
        assert house.pool.report()["a"].failed_starts == 2

    run(work)


def test_an_app_that_keeps_failing_is_given_up() -> None:
    async def work(house: House) -> None:
        house.backend.preparation = "the image does not build"
        for _ in range(3):
            with pytest.raises(SiteError, match="the image does not build"):
                await house.lease("a")
        house.backend.preparation = ""
        with pytest.raises(SiteError, match=r"given up after 3 attempts\): the image does not build"):
            await house.lease("a")
        await house.lease("b")  # others are not concerned

    run(work)


def test_a_failed_growth_does_not_fail_those_who_can_wait_for_a_living_replica() -> None:
    async def work(house: House) -> None:
        held = await house.lease("a")
        house.backend.problems = ["out of memory"]
        asked = house.ask("a")
        await rest()
        assert not asked.done()
        await house.pool.release(held, unsafe={})
        await asked

    run(work, replicas=2)


def test_a_replica_that_can_not_be_reset_is_replaced() -> None:
    async def work(house: House) -> None:
        first = await house.lease("a")
        house.backend.problems = ["the disk is full"]
        await house.pool.release(first, unsafe={"a": "POST"})
        second = await house.lease("a")
        assert second.replicas["a"].id == "a-2"
        assert house.backend.stopped == ["a-1"]

    run(work, replicas=1)


def test_a_replica_that_dies_while_leased_is_noticed_and_replaced() -> None:
    async def work(house: House) -> None:
        lease = await house.lease("a")
        house.backend.dead["a-1"] = "it ended with exit code 3; last log lines: boom"
        with pytest.raises(SiteError, match="replica a-1 broke: it ended with exit code 3; last log lines: boom"):
            await house.pool.query(lease, "a", "", "select 1", write=False)
        await house.later(1)
        with pytest.raises(SiteError, match="boom"):
            await house.pool.check(lease)
        assert house.states("a") == ["broken"]  # as long as somebody holds it, so that status can tell
        assert list(await house.pool.release(lease, unsafe={})) == ["a"]
        assert (await house.lease("a")).replicas["a"].id == "a-2"
        assert house.pool.report()["a"].broken == 1
        assert house.backend.stopped == ["a-1"]

    run(work, replicas=1)


def test_a_standby_that_died_is_not_handed_out() -> None:
    async def work(house: House) -> None:
        await house.pool.release(await house.lease("a"), unsafe={})
        house.backend.dead["a-1"] = "it ended with signal SIGKILL"
        lease = await house.lease("a")
        assert lease.replicas["a"].id == "a-2"

    run(work, replicas=1)


def test_a_standby_that_died_is_replaced_before_anybody_asks() -> None:
    async def work(house: House) -> None:
        await house.lease("a")
        await rest()
        house.backend.dead["a-2"] = "it ended with signal SIGKILL"
        await house.later(1)
        assert house.states("a") == ["leased", "pristine"]

    run(work, standbys=1)


def test_surplus_replicas_are_trimmed_when_demand_has_been_lower_for_a_while() -> None:
    async def work(house: House) -> None:
        leases = [await house.lease("a") for _ in range(4)]
        for lease in leases:
            await house.pool.release(lease, unsafe={"a": "POST"})
        await house.later(10)
        assert len(house.states("a")) == 5
        await house.later(25)
        assert house.states("a") == ["pristine"]
        assert len(house.backend.stopped) == 4

    run(work, replicas=8, standbys=1)


def test_unknown_apps_and_databases_are_named() -> None:
    async def work(house: House) -> None:
        with pytest.raises(UsageError, match="known: a, b, never, wiki"):
            await house.lease("c")
        lease = await house.lease("a")
        with pytest.raises(TaskError, match="a database named 'mian'.*did you mean 'main'"):
            await house.pool.query(lease, "a", "mian", "select 1", write=False)

    run(work)


def test_waiting_requests_learn_of_the_end() -> None:
    async def work(house: House) -> None:
        await house.lease("a")
        asked = house.ask("a")
        await rest()
        await house.pool.close()
        with pytest.raises(SiteError, match="shutting down"):
            await asked
        with pytest.raises(SiteError, match="shutting down"):
            await house.lease("b")

    run(work, replicas=1)


def test_utilisation_and_waits_are_measured() -> None:
    async def work(house: House) -> None:
        lease = await house.lease("a")
        asked = house.ask("a")
        await rest()
        house.now += 3
        await house.pool.release(lease, unsafe={})
        second = await asked
        assert second.waited == 3
        await house.pool.release(second, unsafe={})
        house.now += 1
        report = house.pool.report()["a"]
        assert report.utilisation == pytest.approx(0.75)
        assert (report.waits.count, report.waits.max, report.leases) == (1, 3000, 2)

    run(work, replicas=1)


def test_states_change_only_as_declared() -> None:
    slot = Slot(id="a-1", since=0, created=0)
    slot.to(State.PRISTINE, 1)
    slot.to(State.LEASED, 2)
    slot.to(State.DIRTY, 5)
    assert slot.leased_seconds == 3
    with pytest.raises(HarnessError, match="a-1 can't go from dirty to leased"):
        slot.to(State.LEASED, 6)


class Leasing(RuleBasedStateMachine):
    """Any order of asking, cancelling, releasing, dying and failing keeps the promises of `Pool`."""

    @initialize(replicas=st.integers(1, 3), standbys=st.integers(0, 2))
    def open(self, replicas: int, standbys: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.replicas = replicas
        self.house = self.do(self._house(replicas, standbys))
        self.asked: list[tuple[frozenset[str], asyncio.Task[PoolLease]]] = []
        self.held: list[PoolLease] = []
        self.granted: list[int] = []

    async def _house(self, replicas: int, standbys: int) -> House:
        house = House(replicas=replicas, standbys=standbys)
        house.backend.manual = True
        return house

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
            assert slot.state in (State.LEASED, State.BROKEN)
            if app != "wiki" and slot.state is State.LEASED:
                assert self.house.backend.data[slot.id] == "pristine", "handed out dirty"
                assert not any(slot in one.slots.values() for one in self.held), "handed out twice"
        self.held.append(lease)

    async def _ask(self, apps: frozenset[str]) -> asyncio.Task[PoolLease]:
        return self.house.ask(*sorted(apps))

    @rule(apps=st.frozensets(st.sampled_from(["a", "b", "never", "wiki"]), min_size=1))
    def ask(self, apps: frozenset[str]) -> None:
        task = self.loop.run_until_complete(self._ask(apps))
        self.asked.append((apps, task))
        self.do(rest())

    @precondition(lambda self: self.asked)
    @rule(which=st.integers(0, 99))
    def cancel(self, which: int) -> None:
        self.asked[which % len(self.asked)][1].cancel()
        self.do(rest())

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0, 99), how=st.sampled_from(["clean", "post", "silent change"]))
    def release(self, which: int, how: str) -> None:
        lease = self.held.pop(which % len(self.held))
        exclusive = [app for app in lease.slots if app != "wiki"]
        if how != "clean":
            for app in exclusive:
                self.house.backend.data[lease.slots[app].id] = "changed"
        self.do(self.house.pool.release(lease, unsafe=dict.fromkeys(exclusive, "POST") if how == "post" else {}))

    @precondition(lambda self: self.house.backend.pending)
    @rule(which=st.integers(0, 99), fails=st.sampled_from([False, False, False, True]))
    def finish(self, which: int, fails: bool) -> None:
        backend = self.house.backend
        backend.problems = ["broken"] if fails else []
        backend.finish(which % len(backend.pending))
        self.do(rest())

    @rule(which=st.integers(0, 99))
    def die(self, which: int) -> None:
        alive = sorted(set(self.house.backend.data) - set(self.house.backend.dead))
        if alive:
            self.house.backend.dead[alive[which % len(alive)]] = "killed"

    @rule(seconds=st.sampled_from([0.2, 5.0, 70.0]))
    def wait(self, seconds: float) -> None:
        self.do(self.house.later(seconds))

    @invariant()
    def promises(self) -> None:
        apps, waiting = self.house.pool.status()
        for app in apps:
            living = [replica for replica in app.replicas if replica.state != "broken"]
            assert len(living) <= self.replicas
            if app.app != "wiki":
                assert all(len(replica.holders) <= 1 for replica in app.replicas)
        # Nobody waits for what is there: some app of each is taken, or reserved for earlier requests.
        free = {app.app: sum(one.state == "pristine" for one in app.replicas) for app in apps}
        shared = any(one.state in ("pristine", "leased") for app in apps if app.app == "wiki" for one in app.replicas)
        for request in waiting:
            assert not all(shared if app == "wiki" else free[app] > 0 for app in request.apps)
            for app in request.apps:
                free[app] -= 1

    def teardown(self) -> None:
        if not hasattr(self, "house"):
            return
        # However it went, everybody who still waits is served once the others give back.
        backend = self.house.backend
        for _ in range(200):
            if not self.asked:
                break
            backend.problems = []
            backend.manual = False
            while backend.pending:
                backend.finish()
            self.do(rest())
            while self.held:
                self.do(self.house.pool.release(self.held.pop(), unsafe={}))
            self.do(self.house.later(0.2))
        assert not self.asked, "somebody waits for ever"
        self.do(self.house.pool.close())
        self.loop.close()


TestLeasing = Leasing.TestCase
TestLeasing.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_one_replica_is_given_out_in_the_order_of_asking() -> None:
    async def work(house: House) -> None:
        order: list[int] = []
        wishes = [("a",), ("a", "b"), ("b",), ("a",), ("b", "a"), ("b",)]

        async def visit(number: int, apps: tuple[str, ...]) -> None:
            lease = await house.lease(*apps)
            order.append(number)
            await rest()
            await house.pool.release(lease, unsafe={"a": "POST"})

        await asyncio.gather(*(visit(number, apps) for number, apps in enumerate(wishes)))
        for app in ("a", "b"):
            wanting = [number for number, apps in enumerate(wishes) if app in apps]
            assert [number for number in order if number in wanting] == wanting

    run(work, replicas=1)
