"""How this suite is handed out to workers, and how a part of it is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import some_cases, spread

HERE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Case:
    nodeid: str


def room_with(room: str, modules: int, each: int) -> list[Any]:
    return [SimpleNamespace(path=HERE / room / f"test_{m}.py", number=n) for m in range(modules) for n in range(each)]


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_each_worker_begins_with_slow_tests_and_ends_with_quick_ones(workers: int) -> None:
    items = [*room_with("browser", 40, 15), *room_with("docker", 10, 7), *room_with("plugin", 10, 14)]
    items += room_with("unit", 200, 25)
    order = spread(items, workers, {})
    assert sorted(map(id, order)) == sorted(map(id, items))
    slow_modules = [path for path, _ in groupby(order, key=lambda item: item.path) if "unit" not in path.parts]
    assert len(slow_modules) == len(set(slow_modules)) == 60  # none is torn apart
    rest = order
    for workers_left in range(workers, 0, -1):  # as the scheduler divides them
        part, rest = rest[: len(rest) // workers_left], rest[len(rest) // workers_left :]
        slow = ["unit" not in item.path.parts for item in part]
        assert slow == sorted(slow, reverse=True)
        assert sum(slow) >= 10 * 7


def test_the_dearest_come_first_and_each_worker_gets_as_much_to_do() -> None:
    few = room_with("ray", 1, 6)
    items = [*room_with("browser", 20, 5), *few, *room_with("docker", 1, 3)]
    limits = {HERE / "docker" / "test_0.py": 2400.0}  # as long as 80 tests with a browser
    order = spread(items, 4, limits)
    assert sorted(map(id, order)) == sorted(map(id, items))
    modules = [(path.parent.name, len(list(tests))) for path, tests in groupby(order, key=lambda item: item.path)]
    assert modules == [("docker", 3), ("ray", 6), *[("browser", 5)] * 20]  # and ten of those for each of the others
    assert spread([], 2, {}) == []


def test_of_many_cases_some_of_all_parts_are_run() -> None:
    items: list[Any] = [Case(nodeid=f"a.py::test_many[{number}]") for number in range(50)]
    few: list[Any] = [Case(nodeid=f"a.py::test_few[{number}]") for number in range(4)]
    alone: list[Any] = [Case(nodeid="a.py::test_alone")]

    def chosen(most: int) -> list[str]:
        kept = some_cases([*items, *few, *alone], most)
        return [each.nodeid for each in [*items, *few, *alone] if each in kept]

    many = [f"a.py::test_many[{number}]" for number in (0, 16, 32, 49)]
    assert chosen(4) == [*many, *(each.nodeid for each in few), "a.py::test_alone"]
    assert chosen(1) == ["a.py::test_many[0]", "a.py::test_few[0]", "a.py::test_alone"]


def test_the_first_tier_has_some_cases_of_a_matrix(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.conftest import pytest_addoption, pytest_collection_modifyitems")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.matrix(2)
        @pytest.mark.parametrize("number", range(9))
        def test_many(number): pass

        @pytest.mark.exhaustive
        def test_long(): pass

        def test_short(): pass
        """
    )
    pytester.inline_run("-m", "not exhaustive").assertoutcome(passed=3)
    pytester.inline_run().assertoutcome(passed=11)
