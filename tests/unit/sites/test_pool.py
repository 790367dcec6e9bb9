"""Guarantees of the replica pool, one per test."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest

from pytest_webarena.errors import HarnessError, SiteBusy, SiteError, TaskError, UsageError
from pytest_webarena.sites.backends.sqlite_names import with_strict_names
from pytest_webarena.sites.broker.slot import Slot, State

from .pool_harness import PoolHarness, rest, run


def test_spares_are_started_in_addition_to_requested_replicas() -> None:
    async def work(harness: PoolHarness) -> None:
        await harness.lease("a")
        await rest()
        assert sorted(harness.states("a")) == ["leased", "pristine", "pristine"]
        before = harness.now
        second = await harness.lease("a")
        assert second.waited == 0
        assert harness.now == before

    run(work, replicas=5, spares=2)


def test_failed_preparation_is_one_attempt_for_all_waiters() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.preparation = "the registry does not answer"
        pending = [harness.ask("a") for _ in range(3)]
        await rest()
        for task in pending:
            with pytest.raises(SiteError, match=r"attempt 1 of 3\): the registry does not answer"):
                await task
        harness.backend.preparation = ""
        await harness.lease("a")

    run(work, replicas=3)


def test_pool_never_exceeds_the_replica_limit() -> None:
    async def work(harness: PoolHarness) -> None:
        pending = [harness.ask("a") for _ in range(5)]
        await rest()
        assert harness.states("a") == ["leased"] * 3
        assert sum(task.done() for task in pending) == 3
        for task in pending:
            await harness.pool.release(await task, unsafe={})
        assert harness.pool.report()["a"].most_replicas == 3

    run(work, replicas=3, spares=2)


def test_request_takes_all_its_apps_at_once_or_none() -> None:
    async def work(harness: PoolHarness) -> None:
        held = await harness.lease("a")
        both = harness.ask("a", "b")
        await rest()
        assert harness.states("b") == ["pristine"]  # available but not taken
        other = harness.ask("b")
        await rest()
        assert not other.done()  # it would have to overtake an earlier request for the same app
        await harness.pool.release(held, unsafe={})
        lease = await both
        assert set(lease.slots) == {"a", "b"}
        await harness.pool.release(lease, unsafe={})
        assert set((await other).slots) == {"b"}

    run(work, replicas=1)


def test_request_waits_only_behind_requests_for_the_same_app() -> None:
    async def work(harness: PoolHarness) -> None:
        await harness.lease("a")
        harness.ask("a").add_done_callback(lambda task: task.cancelled())
        await rest()
        assert (await harness.lease("b")).waited == 0

    run(work, replicas=1)


def test_only_replicas_that_earlier_requests_need_are_reserved() -> None:
    async def work(harness: PoolHarness) -> None:
        held = [await harness.lease("b"), await harness.lease("b")]
        stuck = harness.ask("a", "b")
        await rest()
        assert (await harness.lease("a")).replicas["a"].id == "a-1"
        late = harness.ask("a")
        await rest()
        assert harness.states("a") == ["leased", "pristine"]
        assert not late.done()  # the last one is kept for the earlier request
        await harness.pool.release(held[0], unsafe={})
        assert (await stuck).replicas["a"].id == "a-2"

    run(work, replicas=2)


def test_a_read_only_app_is_shared_and_never_reset() -> None:
    async def work(harness: PoolHarness) -> None:
        leases = [await harness.lease("wiki") for _ in range(4)]
        assert len({lease.replicas["wiki"].id for lease in leases}) == 1
        for lease in leases:
            assert await harness.pool.release(lease, unsafe={"wiki": "POST /search"}) == {}
        report = harness.pool.report()["wiki"]
        assert (report.resets.count, report.starts.count, report.leases) == (0, 1, 4)
        with pytest.raises(TaskError, match="read-only and shared"):
            await harness.pool.query(await harness.lease("wiki"), "wiki", "", "delete from x", write=True)

    run(work)


def test_lease_timeout_names_holders_and_earlier_requests() -> None:
    async def work(harness: PoolHarness) -> None:
        await harness.lease("a", holder="gw0 (first task)")
        early = harness.ask("a", holder="gw1 (second task)")
        late = harness.ask("a", holder="gw2 (third task)")
        await rest()
        harness.now += 30
        early_bird = harness.ask("b", holder="gw3")
        await rest()
        assert early_bird.done()
        await harness.later(31)
        with pytest.raises(SiteError) as error:
            await late
        text = str(error.value)
        assert "expected a for gw2 (third task) within 61 s" in text
        assert "1 of at most 1 replicas" in text
        assert "a-1 leased for 61.0 s by gw0 (first task)" in text
        assert isinstance(early.exception(), SiteError)

    run(work, replicas=1)


def test_cancelled_request_leaves_the_queue_and_takes_no_replica() -> None:
    async def work(harness: PoolHarness) -> None:
        held = await harness.lease("a")
        pending = harness.ask("a")
        behind = harness.ask("a")
        await rest()
        pending.cancel()
        await rest()
        await harness.pool.release(held, unsafe={})
        await behind
        # A request that is cancelled between grant and delivery:
        await harness.pool.release(await behind, unsafe={})
        harness.backend.manual = True
        pending = harness.ask("b")
        await rest()
        harness.backend.finish()
        await asyncio.sleep(0)
        pending.cancel()
        await rest()
        assert harness.states("b") == ["pristine"]

    run(work, replicas=1)


def test_request_granted_twice_leases_a_shared_app_once() -> None:
    async def work(harness: PoolHarness) -> None:
        for lease in [await harness.lease("a"), await harness.lease("a")]:
            await harness.pool.release(lease, unsafe={})
        await harness.lease("wiki")
        harness.backend.dead["a-1"] = "it ended with signal SIGKILL"
        lease = await harness.lease("a", "wiki")
        assert lease.replicas["a"].id == "a-2"
        await harness.pool.release(lease, unsafe={})
        assert harness.states("wiki") == ["leased"]

    run(work, replicas=2)


def test_surplus_replicas_are_stopped_after_lower_demand() -> None:
    async def work(harness: PoolHarness) -> None:
        leases = [await harness.lease("a") for _ in range(4)]
        for lease in leases:
            await harness.pool.release(lease, unsafe={"a": "POST"})
        await harness.later(10)
        assert len(harness.states("a")) == 5
        await harness.later(25)
        assert harness.states("a") == ["pristine"]
        assert len(harness.backend.stopped) == 4

    run(work, replicas=8, spares=1)


def test_unknown_apps_and_databases_are_named() -> None:
    async def work(harness: PoolHarness) -> None:
        with pytest.raises(UsageError, match="known: a, atlas, b, elsewhere, guide, never, wiki"):
            await harness.lease("c")
        lease = await harness.lease("a")
        with pytest.raises(TaskError, match=r"no database 'mian'.*did you mean 'main'"):
            await harness.pool.query(lease, "a", "mian", "select 1", write=False)

    run(work)


def test_closing_the_pool_fails_waiting_requests() -> None:
    async def work(harness: PoolHarness) -> None:
        await harness.lease("a")
        pending = harness.ask("a")
        await rest()
        await harness.pool.close()
        with pytest.raises(SiteError, match="shutting down"):
            await pending
        with pytest.raises(SiteError, match="shutting down"):
            await harness.lease("b")

    run(work, replicas=1)


def test_report_has_utilisation_and_waits() -> None:
    async def work(harness: PoolHarness) -> None:
        lease = await harness.lease("a")
        pending = harness.ask("a")
        await rest()
        harness.now += 3
        await harness.pool.release(lease, unsafe={})
        second = await pending
        assert second.waited == 3
        await harness.pool.release(second, unsafe={})
        harness.now += 1
        report = harness.pool.report()["a"]
        assert report.utilisation == pytest.approx(0.75)
        assert (report.waits.count, report.waits.max, report.leases) == (1, 3000, 2)

    run(work, replicas=1)


def test_slot_refuses_undeclared_state_changes() -> None:
    slot = Slot(id="a-1", since=0, created=0)
    slot.to(State.PRISTINE, 1)
    slot.to(State.LEASED, 2)
    slot.to(State.DIRTY, 5)
    assert slot.leased_seconds == 3
    with pytest.raises(HarnessError, match="a-1 can't go from dirty to leased"):
        slot.to(State.LEASED, 6)


def test_single_replica_is_leased_in_request_order() -> None:
    async def work(harness: PoolHarness) -> None:
        order: list[int] = []
        wishes = [("a",), ("a", "b"), ("b",), ("a",), ("b", "a"), ("b",)]

        async def visit(number: int, apps: tuple[str, ...]) -> None:
            lease = await harness.lease(*apps)
            order.append(number)
            await rest()
            await harness.pool.release(lease, unsafe={"a": "POST"})

        await asyncio.gather(*(visit(number, apps) for number, apps in enumerate(wishes)))
        for app in ("a", "b"):
            wanting = [number for number, apps in enumerate(wishes) if app in apps]
            assert [number for number in order if number in wanting] == wanting

    run(work, replicas=1)


def test_misspelt_name_in_double_quotes_is_no_text() -> None:
    """SQLite takes it for one in double quotes only, so that ``count(*) … where "titel" = 'Tea'`` would be 0."""

    async def work(harness: PoolHarness) -> None:
        lease = await harness.lease("a")
        for write, expected in ((False, "select `a``b` from x where c = 'say \"d\"'"), (True, None)):
            sql = 'select "a`b" from x where c = \'say "d"\''
            rows = (await harness.pool.query(lease, "a", "", sql, write=write)).rows
            assert rows == ((expected or sql,),)

    run(work)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table notes (title text)")
        sql = 'select count(*) from notes where "titel" = 1'
        assert connection.execute(sql).fetchone() == (0,)
        with pytest.raises(sqlite3.OperationalError, match="no such column: titel"):
            connection.execute(with_strict_names(sql))


def test_query_of_a_locked_database_is_retried() -> None:
    async def work(harness: PoolHarness) -> None:
        lease = await harness.lease("a")
        harness.backend.locked = 2
        assert (await harness.pool.query(lease, "a", "", "select 1", write=False)).rows == (("select 1",),)
        harness.backend.locked = 1
        with pytest.raises(SiteBusy):  # some of its statements may have run
            await harness.pool.query(lease, "a", "", "update x set y = 1", write=True)

        harness.backend.locked = 100

        def wait() -> None:
            harness.now += 20

        harness.backend.asked_while_locked = wait
        with pytest.raises(SiteBusy, match="database is locked, and that for 45 s"):
            await harness.pool.query(lease, "a", "", "select 1", write=False)
        assert harness.backend.locked == 97

    run(work)


def test_replicas_requested_ahead_start_immediately() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.manual = True
        first = asyncio.ensure_future(harness.pool.lease(["a"], holder="signing in", timeout=60, ahead=["a", "b"]))
        await rest()
        assert [what for what, _ in harness.backend.pending] == ["start a-1", "start a-2", "start b-1"]
        assert harness.pool.waits() == ()  # requested just now
        harness.now += 3
        assert harness.pool.waits() == (("a to start", 3.0),)
        harness.backend.finish()
        lease = await first
        second = harness.ask("a", "b")
        await rest()
        assert len(harness.backend.pending) == 2  # both are starting
        harness.backend.finish()
        harness.backend.finish()
        assert (await second).replicas["a"].id == "a-2"
        await harness.pool.release(lease, unsafe={"a": "POST /login"})

    run(work, replicas=2)


def test_replicas_requested_ahead_do_not_displace_requests() -> None:
    async def work(harness: PoolHarness) -> None:
        lease = await harness.pool.lease(["a"], holder="signing in", timeout=60, ahead=["a"])
        assert harness.states("a") == ["leased"]
        trial = harness.ask("a")
        await rest()
        harness.now += 1
        assert harness.pool.waits() == (("a free replica of a (1 of at most 1 in use)", 1.0),)
        harness.backend.manual = True
        await harness.pool.release(lease, unsafe={"a": "POST /login"})
        await rest()
        assert harness.pool.waits() == (("a to be reset", 1.0),)
        harness.backend.finish()
        await trial

    run(work, replicas=1)
