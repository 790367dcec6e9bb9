"""Apps start after the apps that they depend on."""

from __future__ import annotations

import pytest

from pytest_webarena.errors import SiteError

from .pool_harness import PoolHarness, rest, run


def test_shared_app_starts_after_its_dependencies() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.manual = True
        pending = harness.ask("guide", "atlas", "wiki"), harness.ask("a")
        await rest()
        started: list[list[str]] = []
        while not all(each.done() for each in pending):
            started.append(sorted(what for what, _ in harness.backend.pending))
            for _ in started[-1]:
                harness.backend.finish()
            await rest()
        assert started == [["start a-1", "start wiki-1"], ["start atlas-1"], ["start guide-1"]]

    run(work, replicas=1)


def test_waits_name_all_starting_apps() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.manual = True
        pending = harness.ask("guide", "atlas", "wiki")
        await rest()
        harness.now += 3
        assert harness.pool.waits() == (("guide to start, atlas to start, wiki to start", 3.0),)
        pending.cancel()
        await rest()

    run(work, replicas=1)


def test_failed_dependency_does_not_block_the_app() -> None:
    async def work(harness: PoolHarness) -> None:
        harness.backend.problems = ["no disk"]
        with pytest.raises(SiteError, match="no disk"):
            await harness.lease("atlas", "wiki")
        assert (await harness.lease("atlas")).slots.keys() == {"atlas"}

    run(work, replicas=1)


def test_unrequested_dependency_is_not_awaited() -> None:
    async def work(harness: PoolHarness) -> None:
        assert (await harness.lease("atlas")).slots.keys() == {"atlas"}

    run(work, replicas=1)
