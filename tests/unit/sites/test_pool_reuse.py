"""When a released replica is reused as it is, and when it is reset."""

from __future__ import annotations

import asyncio

import pytest

from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.catalogues.manifest import AppManifest

from .pool_house import FakeBackend, House, rest, run


def test_clean_replica_is_reused_without_a_reset() -> None:
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
        ("never", {}, "pristine", "reuse: never"),
    ],
)
def test_replica_that_is_not_clean_is_reset(app: str, unsafe: dict[str, str], data: str, reason: str) -> None:
    async def work(house: House) -> None:
        first = await house.lease(app)
        house.backend.data[first.replicas[app].id] = data
        assert await house.pool.release(first, unsafe=unsafe) == {app: reason}
        second = await house.lease(app)
        assert second.replicas[app].generation == 1
        report = house.pool.report()[app]
        assert (report.clean_hand_ons, report.resets.count) == (0, 1)

    run(work, replicas=1)


def test_database_write_makes_replica_dirty_despite_equal_fingerprint() -> None:
    async def work(house: House) -> None:
        first = await house.lease("a")
        await house.pool.query(first, "a", "", "update x set y = 1", write=True)
        assert await house.pool.release(first, unsafe={}) == {"a": "a set-up step wrote into its database"}
        second = await house.lease("a")
        await house.pool.query(second, "a", "", "select 1", write=False)
        assert await house.pool.release(second, unsafe={}) == {}  # the reset cleared the mark

    run(work, replicas=1)


def test_replica_that_changes_after_release_is_not_reused() -> None:
    async def work(house: House) -> None:
        await house.pool.release(await house.lease("a", "b"), unsafe={})
        house.backend.data["a-1"] = "written late"
        second = await house.lease("a", "b")
        assert [second.replicas[app].generation for app in "ab"] == [1, 0]
        report = house.pool.report()
        assert [report[app].clean_hand_ons for app in "ab"] == [0, 1]
        assert [report[app].leases for app in "ab"] == [2, 2]
        assert await house.pool.release(second, unsafe={}) == {}

    run(work, replicas=1)


def test_changed_replica_is_reset_after_its_request_is_cancelled() -> None:
    async def work(house: House) -> None:
        await house.pool.release(await house.lease("a"), unsafe={})
        house.backend.data["a-1"] = "written late"
        house.backend.fingerprints = asyncio.Event()
        asked = house.ask("a")
        await rest()
        asked.cancel()
        await rest()
        house.backend.fingerprints.set()
        assert (await house.lease("a")).replicas["a"].generation == 1

    run(work, replicas=1)


def test_only_released_replicas_are_checked_again() -> None:
    async def work(house: House) -> None:
        lease = await house.lease("a")
        house.backend.data["a-1"] = "its own doing"  # an app that writes on its own must not be reset forever
        assert await house.pool.release(lease, unsafe={}) == {"a": "its data differ from pristine"}
        await rest()
        house.backend.data["a-1"] = "its own doing"
        assert (await house.lease("a")).replicas["a"].generation == 1

    run(work, replicas=1)


def test_replica_with_work_in_progress_is_reset() -> None:
    class Watching(FakeBackend):
        async def at_work(self, app: AppManifest, replica: Replica) -> str:
            return "a thread writes a report"

    async def work(house: House) -> None:
        house.backend = Watching()
        assert await house.pool.release(await house.lease("a"), unsafe={}) == {"a": "a thread writes a report"}

    run(work, replicas=1)


def test_only_the_app_with_unsafe_traffic_is_dirty() -> None:
    async def work(house: House) -> None:
        lease = await house.lease("a", "b")
        assert list(await house.pool.release(lease, unsafe={"b": "POST"})) == ["b"]

    run(work)
