"""Walks that the tasks of one account share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pytest_webarena.trials.shared_walks import SharedWalks
from pytest_webarena.trials.site_walk import Walk
from tests.unit.trials.test_ground_crawl import HOME, Visits


def test_walk_is_made_once_for_each_account() -> None:
    shared, made = SharedWalks(), []

    def walk(user: str) -> Walk:
        def make() -> Walk:
            made.append(user)
            return Walk(sources=Visits({}, {}), sites={"shop": HOME})

        return shared.get(({"shop": HOME}, {"shop": user}), make)

    with ThreadPoolExecutor(4) as pool:
        walks = list(pool.map(walk, ["emma", "owner"] * 4))
    assert sorted(made) == ["emma", "owner"]
    assert len({id(each) for each in walks}) == 2


def test_only_the_last_walks_are_kept() -> None:
    shared, made = SharedWalks(), []

    def walk(user: str) -> Walk:
        made.append(user)
        return Walk(sources=Visits({}, {}), sites={})

    for user in ("a", "b", "c", "c", "b", "a"):
        shared.get((("shop", user),), partial(walk, user))
    assert made == ["a", "b", "c", "a"]
