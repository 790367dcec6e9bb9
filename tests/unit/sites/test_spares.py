"""Spare replicas: number, pausing, and memory."""

from __future__ import annotations

import asyncio

import pytest

from pytest_webarena.errors import SiteError

from .pool_harness import PoolHarness, rest, run


def test_number_of_spares_follows_demand_during_a_boot() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.manual = True
        pending = [harness.ask("a") for _ in range(3)]  # three workers begin at once
        await rest()
        harness.now += 60
        while harness.backend.pending:
            harness.backend.finish()
        held = await asyncio.gather(*pending)
        await rest()
        assert sorted(harness.states("a")) == ["leased"] * 3 + ["starting"] * 3
        harness.backend.manual = False
        while harness.backend.pending:
            harness.backend.finish()
        for lease in held:
            await harness.pool.release(lease, unsafe={"a": "POST"})
        await rest()
        await harness.later(500)
        assert harness.states("a") == ["pristine"]  # no requests for a long time

    run(work, replicas=10, spares=1, grows=True, boot=60.0)


def test_spares_start_after_all_waiting_requests() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.manual = True
        pending = [harness.ask("a") for _ in range(2)]
        await rest()
        assert [what for what, _ in harness.backend.pending] == ["start a-1", "start a-2"]
        harness.backend.finish()
        await rest()
        assert harness.states("a") == ["leased", "starting"]  # only the awaited replica starts
        harness.backend.finish()
        await asyncio.gather(*pending)
        await rest()
        assert harness.states("a") == ["leased", "leased", "starting", "starting"]

    run(work, replicas=10, spares=2)


def test_lease_timeout_excludes_the_first_boot() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.manual = True
        pending = harness.ask("a")
        await rest()
        harness.pool.note("a", "pulling shop: 1.2 GB of 3.0 GB of 4 layers")
        (status,), _ = harness.pool.status()
        assert status.activity == "pulling shop: 1.2 GB of 3.0 GB of 4 layers"
        await harness.later(3600)
        assert not pending.done()
        harness.backend.finish()
        await pending
        late = harness.ask("a")  # the only replica is leased: the timeout applies from now on
        await rest()
        await harness.later(61)
        with pytest.raises(SiteError, match="within 61 s"):
            await late

    run(work, replicas=1)


def test_idle_spares_are_paused_except_the_next() -> None:
    async def work(harness: PoolHarness) -> None:
        first = await harness.lease("a")
        await rest()
        await harness.later(1)
        assert not harness.backend.paused
        await harness.later(5)
        assert harness.backend.paused == {"a-3"}
        (status,), _ = harness.pool.status()
        assert [replica.paused for replica in status.replicas] == [False, False, True]

        second = await harness.lease("a")
        assert second.replicas["a"].id == "a-2"
        await rest()
        assert not harness.backend.paused  # the next spare resumed immediately
        third = await harness.lease("a")
        assert third.replicas["a"].id == "a-3"
        for lease in (first, second, third):
            await harness.pool.release(lease, unsafe={"a": "POST"})

    run(work, replicas=3, spares=2)


def test_paused_replica_is_resumed_when_leased() -> None:
    async def work(harness: PoolHarness) -> None:
        await harness.lease("a")
        await rest()
        await harness.later(10)
        assert harness.backend.paused == {"a-3", "a-4"}
        pending = [harness.ask("a") for _ in range(3)]
        assert {lease.replicas["a"].id for lease in await asyncio.gather(*pending)} == {"a-2", "a-3", "a-4"}
        assert not harness.backend.paused

    run(work, replicas=4, spares=3)


def test_spare_that_does_not_resume_is_replaced() -> None:
    async def work(harness: PoolHarness) -> None:
        await harness.lease("a")
        await rest()
        await harness.later(10)
        assert harness.backend.paused == {"a-3"}
        harness.backend.dead["a-3"] = "the engine killed it"
        pending = [harness.ask("a") for _ in range(2)]
        await rest()
        assert {lease.replicas["a"].id for lease in await asyncio.gather(*pending)} == {"a-2", "a-4"}

    run(work, replicas=3, spares=2)


def test_failing_pause_keeps_the_spare_usable() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.pauses = False
        await harness.lease("a")
        await rest()
        await harness.later(10)
        await harness.later(10)
        assert not harness.backend.paused
        assert (await harness.lease("a")).replicas["a"].id == "a-2"

    run(work, replicas=3, spares=2)


def test_memory_limits_replicas_but_every_app_gets_one() -> None:
    async def work(harness: PoolHarness) -> None:
        first = await harness.lease("a")
        await rest()
        assert harness.states("a") == ["leased", "pristine", "pristine"]
        await harness.lease("b")
        assert harness.states("b") == ["leased"]  # despite the memory limit
        assert (await harness.lease("b")).replicas["b"].id == "b-2"
        assert harness.states("a") == ["leased"]  # its spares were stopped for the request for b
        late = harness.ask("b")
        await rest()
        assert not late.done()
        await harness.pool.release(first, unsafe={})
        assert (await late).replicas["b"].id == "b-3"
        assert harness.states("a") == []

    run(work, replicas=9, spares=2, memory=3)
