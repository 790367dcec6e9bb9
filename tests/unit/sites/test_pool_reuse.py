"""When a released replica is reused as it is, and when it is reset."""

from __future__ import annotations

import asyncio

import pytest

from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.catalogues.manifest import AppManifest

from .pool_harness import FakeBackend, PoolHarness, rest, run


def test_clean_replica_is_reused_without_a_reset() -> None:
    async def work(harness: PoolHarness) -> None:
        first = await harness.lease("a")
        assert await harness.pool.release(first, unsafe={}) == {}
        second = await harness.lease("a")
        assert second.replicas["a"] is first.replicas["a"]
        assert harness.pool.report()["a"].clean_hand_ons == 1

    run(work, replicas=1)


@pytest.mark.parametrize(
    ("app", "unsafe", "data", "reason"),
    [
        ("a", {"a": "POST http://a.test/"}, "pristine", "POST http://a.test/"),
        ("a", {}, "changed", "its data differ from pristine"),
        ("never", {}, "pristine", "reuse: never"),
    ],
)
def test_replica_that_is_not_clean_is_reset(app: str, unsafe: dict[str, str], data: str, reason: str) -> None:
    async def work(harness: PoolHarness) -> None:
        first = await harness.lease(app)
        harness.backend.data[first.replicas[app].id] = data
        assert await harness.pool.release(first, unsafe=unsafe) == {app: reason}
        second = await harness.lease(app)
        assert second.replicas[app].generation == 1
        report = harness.pool.report()[app]
        assert (report.clean_hand_ons, report.resets.count) == (0, 1)
        assert report.reset_reasons == ({} if app == "never" else {reason.partition(" http")[0]: 1})

    run(work, replicas=1)


def test_database_write_makes_replica_dirty_despite_equal_fingerprint() -> None:
    async def work(harness: PoolHarness) -> None:
        first = await harness.lease("a")
        await harness.pool.query(first, "a", "", "update x set y = 1", write=True)
        assert await harness.pool.release(first, unsafe={}) == {"a": "a set-up step wrote into its database"}
        second = await harness.lease("a")
        await harness.pool.query(second, "a", "", "select 1", write=False)
        assert await harness.pool.release(second, unsafe={}) == {}  # the reset cleared the mark

    run(work, replicas=1)


def test_replica_that_changes_after_release_is_not_reused() -> None:
    async def work(harness: PoolHarness) -> None:
        await harness.pool.release(await harness.lease("a", "b"), unsafe={})
        harness.backend.data["a-1"] = "written late"
        second = await harness.lease("a", "b")
        assert [second.replicas[app].generation for app in "ab"] == [1, 0]
        report = harness.pool.report()
        assert [report[app].clean_hand_ons for app in "ab"] == [0, 1]
        assert [report[app].leases for app in "ab"] == [2, 2]
        assert await harness.pool.release(second, unsafe={}) == {}

    run(work, replicas=1)


def test_changed_replica_is_reset_after_its_request_is_cancelled() -> None:
    async def work(harness: PoolHarness) -> None:
        await harness.pool.release(await harness.lease("a"), unsafe={})
        harness.backend.data["a-1"] = "written late"
        harness.backend.fingerprints = asyncio.Event()
        pending = harness.ask("a")
        await rest()
        pending.cancel()
        await rest()
        harness.backend.fingerprints.set()
        assert (await harness.lease("a")).replicas["a"].generation == 1

    run(work, replicas=1)


def test_only_released_replicas_are_checked_again() -> None:
    async def work(harness: PoolHarness) -> None:
        lease = await harness.lease("a")
        harness.backend.data["a-1"] = "its own doing"  # an app that writes on its own must not be reset forever
        assert await harness.pool.release(lease, unsafe={}) == {"a": "its data differ from pristine"}
        await rest()
        harness.backend.data["a-1"] = "its own doing"
        assert (await harness.lease("a")).replicas["a"].generation == 1

    run(work, replicas=1)


def test_replica_with_work_in_progress_is_reset() -> None:
    class Watching(FakeBackend):
        async def extra_processes(self, app: AppManifest, replica: Replica) -> str:
            return "a thread writes a report"

    async def work(harness: PoolHarness) -> None:
        harness.backend = Watching()
        assert await harness.pool.release(await harness.lease("a"), unsafe={}) == {"a": "a thread writes a report"}

    run(work, replicas=1)


def test_only_the_app_with_unsafe_traffic_is_dirty() -> None:
    async def work(harness: PoolHarness) -> None:
        lease = await harness.lease("a", "b")
        assert list(await harness.pool.release(lease, unsafe={"b": "POST"})) == ["b"]

    run(work)


def test_replica_that_is_too_old_is_reset_first() -> None:
    async def work(harness: PoolHarness) -> None:
        for app, generation in [("a", 1), ("wiki", 0)]:  # a shared replica may have other holders
            used = await harness.lease(app)
            assert await harness.pool.undisturbed(used)
            await harness.pool.release(used, unsafe={})
            harness.now += 1
            fresh = await harness.pool.lease([app], holder="a control", timeout=60, max_age=0.5)
            assert fresh.replicas[app].generation == generation
            await harness.pool.release(fresh, unsafe={})
            again = await harness.pool.lease([app], holder="a control", timeout=60, max_age=0.5)
            assert again.replicas[app].generation == generation  # it is as old as it may be
            assert await harness.pool.undisturbed(again) == bool(generation)

    run(work, replicas=1)


def test_site_that_runs_elsewhere_is_never_undisturbed() -> None:
    async def work(harness: PoolHarness) -> None:
        assert not await harness.pool.undisturbed(await harness.lease("elsewhere"))

    run(work)
