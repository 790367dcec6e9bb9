"""Guarantees of the replica pool, one per test."""

from __future__ import annotations

import asyncio

import pytest

from pytest_webarena.errors import HarnessError, SiteBusy, SiteError, TaskError, UsageError
from pytest_webarena.sites.broker.slot import Slot, State

from .pool_house import House, rest, run


def test_spares_are_started_in_addition_to_requested_replicas() -> None:
    async def work(house: House) -> None:
        await house.lease("a")
        await rest()
        assert sorted(house.states("a")) == ["leased", "pristine", "pristine"]
        before = house.now
        second = await house.lease("a")
        assert second.waited == 0
        assert house.now == before

    run(work, replicas=5, spares=2)


def test_failed_preparation_is_one_attempt_for_all_waiters() -> None:
    async def work(house: House) -> None:
        house.backend.preparation = "the registry does not answer"
        asked = [house.ask("a") for _ in range(3)]
        await rest()
        for task in asked:
            with pytest.raises(SiteError, match=r"attempt 1 of 3\): the registry does not answer"):
                await task
        house.backend.preparation = ""
        await house.lease("a")

    run(work, replicas=3)


def test_pool_never_exceeds_the_replica_limit() -> None:
    async def work(house: House) -> None:
        asked = [house.ask("a") for _ in range(5)]
        await rest()
        assert house.states("a") == ["leased"] * 3
        assert sum(task.done() for task in asked) == 3
        for task in asked:
            await house.pool.release(await task, unsafe={})
        assert house.pool.report()["a"].most_replicas == 3

    run(work, replicas=3, spares=2)


def test_a_request_takes_all_its_apps_at_once_or_none() -> None:
    async def work(house: House) -> None:
        held = await house.lease("a")
        both = house.ask("a", "b")
        await rest()
        assert house.states("b") == ["pristine"]  # available but not taken
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


def test_only_replicas_that_earlier_requests_need_are_reserved() -> None:
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


def test_lease_timeout_names_holders_and_earlier_requests() -> None:
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


def test_cancelled_request_leaves_the_queue_and_takes_no_replica() -> None:
    async def work(house: House) -> None:
        held = await house.lease("a")
        asked = house.ask("a")
        behind = house.ask("a")
        await rest()
        asked.cancel()
        await rest()
        await house.pool.release(held, unsafe={})
        await behind
        # A request that is cancelled between grant and delivery:
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


def test_a_shared_app_is_held_once_by_a_request_that_is_granted_twice() -> None:
    async def work(house: House) -> None:
        for lease in [await house.lease("a"), await house.lease("a")]:
            await house.pool.release(lease, unsafe={})
        await house.lease("wiki")
        house.backend.dead["a-1"] = "it ended with signal SIGKILL"
        lease = await house.lease("a", "wiki")
        assert lease.replicas["a"].id == "a-2"
        await house.pool.release(lease, unsafe={})
        assert house.states("wiki") == ["leased"]

    run(work, replicas=2)


def test_surplus_replicas_are_stopped_after_lower_demand() -> None:
    async def work(house: House) -> None:
        leases = [await house.lease("a") for _ in range(4)]
        for lease in leases:
            await house.pool.release(lease, unsafe={"a": "POST"})
        await house.later(10)
        assert len(house.states("a")) == 5
        await house.later(25)
        assert house.states("a") == ["pristine"]
        assert len(house.backend.stopped) == 4

    run(work, replicas=8, spares=1)


def test_unknown_apps_and_databases_are_named() -> None:
    async def work(house: House) -> None:
        with pytest.raises(UsageError, match="known: a, atlas, b, guide, never, wiki"):
            await house.lease("c")
        lease = await house.lease("a")
        with pytest.raises(TaskError, match=r"a database named 'mian'.*did you mean 'main'"):
            await house.pool.query(lease, "a", "mian", "select 1", write=False)

    run(work)


def test_closing_the_pool_fails_waiting_requests() -> None:
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


def test_report_has_utilisation_and_waits() -> None:
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


def test_slot_refuses_undeclared_state_changes() -> None:
    slot = Slot(id="a-1", since=0, created=0)
    slot.to(State.PRISTINE, 1)
    slot.to(State.LEASED, 2)
    slot.to(State.DIRTY, 5)
    assert slot.leased_seconds == 3
    with pytest.raises(HarnessError, match="a-1 can't go from dirty to leased"):
        slot.to(State.LEASED, 6)


def test_single_replica_is_leased_in_request_order() -> None:
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


def test_query_of_a_locked_database_is_retried() -> None:
    async def work(house: House) -> None:
        lease = await house.lease("a")
        house.backend.locked = 2
        assert (await house.pool.query(lease, "a", "", "select 1", write=False)).rows == (("select 1",),)
        house.backend.locked = 1
        with pytest.raises(SiteBusy):  # some of its statements may have run
            await house.pool.query(lease, "a", "", "update x set y = 1", write=True)

        house.backend.locked = 100

        def wait() -> None:
            house.now += 20

        house.backend.asked_while_locked = wait
        with pytest.raises(SiteBusy, match="database is locked, and that for 45 s"):
            await house.pool.query(lease, "a", "", "select 1", write=False)
        assert house.backend.locked == 97

    run(work)


def test_replicas_requested_ahead_start_immediately() -> None:
    async def work(house: House) -> None:
        house.backend.manual = True
        first = asyncio.ensure_future(house.pool.lease(["a"], holder="signing in", timeout=60, ahead=["a", "b"]))
        await rest()
        assert [what for what, _ in house.backend.pending] == ["start a-1", "start a-2", "start b-1"]
        assert house.pool.waits() == ()  # requested just now
        house.now += 3
        assert house.pool.waits() == (("a to start", 3.0),)
        house.backend.finish()
        lease = await first
        second = house.ask("a", "b")
        await rest()
        assert len(house.backend.pending) == 2  # both are starting
        house.backend.finish()
        house.backend.finish()
        assert (await second).replicas["a"].id == "a-2"
        await house.pool.release(lease, unsafe={"a": "POST /login"})

    run(work, replicas=2)


def test_replicas_requested_ahead_do_not_displace_requests() -> None:
    async def work(house: House) -> None:
        lease = await house.pool.lease(["a"], holder="signing in", timeout=60, ahead=["a"])
        assert house.states("a") == ["leased"]
        trial = house.ask("a")
        await rest()
        house.now += 1
        assert house.pool.waits() == (("a free replica of a (1 of at most 1 in use)", 1.0),)
        house.backend.manual = True
        await house.pool.release(lease, unsafe={"a": "POST /login"})
        await rest()
        assert house.pool.waits() == (("a to be reset", 1.0),)
        house.backend.finish()
        await trial

    run(work, replicas=1)
