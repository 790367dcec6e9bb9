"""Distribution of items to xdist workers that run several trials at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.plugin.concurrency_scheduling import ConcurrencyScheduling


class Node:
    """A worker, as the scheduler sees it."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.given: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def scheduled(count: int) -> tuple[ConcurrencyScheduling, list[Node]]:
    """Return two workers with three running, one prefetched and one waiting trial each."""
    values = {"tx": ["popen", "popen"], "maxschedchunk": None}
    config: Any = SimpleNamespace(getoption=values.get, getvalue=values.get)
    scheduling, nodes = ConcurrencyScheduling(config, None, 3), [Node("gw0"), Node("gw1")]
    for node in nodes:
        scheduling.add_node(node)
        scheduling.add_node_collection(node, [f"t{number}" for number in range(count)])
    scheduling.schedule()
    return scheduling, nodes


@pytest.mark.parametrize("count", [20, 100])
def test_worker_gets_its_concurrency_and_one_item_per_finished_trial(count: int) -> None:
    scheduling, (first, second) = scheduled(count)
    assert [len(first.given), len(second.given)] == [5, 5]
    scheduling.mark_test_complete(first, first.given[2])
    assert [len(first.given), len(second.given)] == [6, 5]
    assert not first.shutting_down
    assert not second.shutting_down


def test_workers_are_shut_down_once_all_items_are_assigned() -> None:
    scheduling, nodes = scheduled(11)
    assert [len(node.given) for node in nodes] == [5, 5]
    for node in nodes:
        scheduling.mark_test_complete(node, node.given[0])
    assert sorted(nodes[0].given + nodes[1].given) == list(range(11))
    scheduling.mark_test_complete(nodes[0], nodes[0].given[1])
    assert [node.shutting_down for node in nodes] == [True, True]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_few_items_are_spread_over_the_workers(count: int) -> None:
    _, nodes = scheduled(count)
    assert sorted(nodes[0].given + nodes[1].given) == list(range(count))
    assert min(len(node.given) for node in nodes) >= count // 2
    assert [node.shutting_down for node in nodes] == [True, True]
