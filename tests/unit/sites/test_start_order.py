"""What others depend on starts first, shared or not."""

from __future__ import annotations

import pytest

from pytest_webarena.errors import SiteError

from .pool_house import House, rest, run


def test_a_shared_app_starts_when_those_that_it_depends_on_are_ready() -> None:
    async def work(house: House) -> None:
        house.backend.manual = True
        asked = house.ask("guide", "atlas", "wiki"), house.ask("a")
        await rest()
        started: list[list[str]] = []
        while not all(each.done() for each in asked):
            started.append(sorted(what for what, _ in house.backend.pending))
            for _ in started[-1]:
                house.backend.finish()
            await rest()
        assert started == [["start a-1", "start wiki-1"], ["start atlas-1"], ["start guide-1"]]

    run(work, replicas=1)


def test_who_waits_is_told_for_all_of_them() -> None:
    async def work(house: House) -> None:
        house.backend.manual = True
        asked = house.ask("guide", "atlas", "wiki")
        await rest()
        house.now += 3
        assert house.pool.waits() == (("guide to start, atlas to start, wiki to start", 3.0),)
        asked.cancel()
        await rest()

    run(work, replicas=1)


def test_one_that_can_not_be_started_keeps_nobody_waiting() -> None:
    async def work(house: House) -> None:
        house.backend.problems = ["no disk"]
        with pytest.raises(SiteError, match="no disk"):
            await house.lease("atlas", "wiki")
        assert (await house.lease("atlas")).slots.keys() == {"atlas"}

    run(work, replicas=1)


def test_one_that_nobody_has_asked_for_is_not_waited_for() -> None:
    async def work(house: House) -> None:
        assert (await house.lease("atlas")).slots.keys() == {"atlas"}

    run(work, replicas=1)
