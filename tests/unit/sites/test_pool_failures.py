"""Starts and resets that fail, and replicas that die."""

from __future__ import annotations

import pytest

from pytest_webarena.errors import SiteError, SiteUnready, UsageError
from pytest_webarena.sites.catalogues.manifest import AppManifest

from .pool_harness import FakeBackend, PoolHarness, rest, run


def test_failed_start_fails_waiting_requests_and_is_retried_later() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.problems = ["no such module: shop", "no such module: shop"]
        with pytest.raises(SiteError, match=r"'a' could not be started \(attempt 1 of 3\): no such module: shop"):
            await harness.lease("a")
        with pytest.raises(SiteError, match="attempt 2 of 3"):
            await harness.lease("a")
        lease = await harness.lease("a")
        assert lease.replicas["a"].id == "a-3"
        assert harness.pool.report()["a"].failed_starts == 2

    run(work)


def test_app_is_given_up_after_three_failed_starts() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.preparation = "the image does not build"
        for _ in range(3):
            with pytest.raises(SiteError, match="the image does not build"):
                await harness.lease("a")
        harness.backend.preparation = ""
        with pytest.raises(SiteError, match=r"given up after 3 attempts\): the image does not build"):
            await harness.lease("a")
        await harness.lease("b")  # other apps are not affected

    run(work)


@pytest.mark.parametrize("error", [SiteUnready("pip install oscar"), UsageError("no data: pip install oscar")])
def test_app_with_missing_prerequisite_is_started_once(error: Exception) -> None:
    class Lacking(FakeBackend):
        tried = 0

        async def prepare(self, app: AppManifest) -> None:
            self.tried += 1
            raise error

    async def work(harness: PoolHarness) -> None:
        harness.backend = backend = Lacking()
        for _ in range(3):
            with pytest.raises(SiteUnready) as raised:
                await harness.lease("a")
            assert str(raised.value) == str(error)
        assert backend.tried == 1

    run(work)


def test_failed_additional_replica_does_not_fail_waiting_requests() -> None:
    async def work(harness: PoolHarness) -> None:
        held = await harness.lease("a")
        harness.backend.problems = ["out of memory"]
        pending = harness.ask("a")
        await rest()
        assert not pending.done()
        await harness.pool.release(held, unsafe={})
        await pending

    run(work, replicas=2)


def test_replica_with_failed_reset_is_replaced() -> None:
    async def work(harness: PoolHarness) -> None:
        first = await harness.lease("a")
        harness.backend.problems = ["the disk is full"]
        await harness.pool.release(first, unsafe={"a": "POST"})
        second = await harness.lease("a")
        assert second.replicas["a"].id == "a-2"
        assert harness.backend.stopped == ["a-1"]

    run(work, replicas=1)


def test_replica_that_dies_while_leased_is_replaced() -> None:
    async def work(harness: PoolHarness) -> None:
        lease = await harness.lease("a")
        harness.backend.dead["a-1"] = "it ended with exit code 3; last log lines: boom"
        with pytest.raises(SiteError, match="replica a-1 broke: it ended with exit code 3; last log lines: boom"):
            await harness.pool.query(lease, "a", "", "select 1", write=False)
        await harness.later(1)
        with pytest.raises(SiteError, match="boom"):
            await harness.pool.check(lease)
        assert harness.states("a") == ["broken"]  # kept while leased, so that status can report it
        assert list(await harness.pool.release(lease, unsafe={})) == ["a"]
        assert (await harness.lease("a")).replicas["a"].id == "a-2"
        assert harness.pool.report()["a"].broken == 1
        assert harness.backend.stopped == ["a-1"]

    run(work, replicas=1)


def test_dead_spare_is_not_leased() -> None:
    async def work(harness: PoolHarness) -> None:
        await harness.pool.release(await harness.lease("a"), unsafe={})
        harness.backend.dead["a-1"] = "it ended with signal SIGKILL"
        lease = await harness.lease("a")
        assert lease.replicas["a"].id == "a-2"

    run(work, replicas=1)


def test_dead_spare_is_replaced_before_the_next_request() -> None:
    async def work(harness: PoolHarness) -> None:
        await harness.lease("a")
        await rest()
        harness.backend.dead["a-2"] = "it ended with signal SIGKILL"
        await harness.later(1)
        assert harness.states("a") == ["leased", "pristine"]

    run(work, spares=1)
