"""The account, the caches and the memories of a run, as nodes have them: kept in one place, asked from many."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena import rpc_proxies
from pytest_webarena.cluster.coordinator_state import CoordinatorState
from pytest_webarena.errors import HarnessError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.cache import open_cache
from pytest_webarena.llm.model_calls import BudgetSpent, calls_of, open_model_calls, read_model_calls
from pytest_webarena.results.memory import MemoryVersion, open_memory
from pytest_webarena.rpc_proxies import Call, keep_elsewhere
from tests.processes import wait_until


@pytest.fixture
def books(tmp_path: Path) -> CoordinatorState:
    return CoordinatorState((tmp_path / "run", tmp_path / "cache"))


@pytest.fixture
def on_node(tmp_path: Path, books: CoordinatorState) -> Iterator[Path]:
    """A node's process: what is below the driver's folders is elsewhere."""

    def ask(call: Call) -> Any:
        well, given = books.answer("node1", call)
        if not well:
            raise given
        return given

    keep_elsewhere(calls_of(tmp_path / "run"), calls_of(tmp_path / "run"), ask)
    keep_elsewhere(tmp_path / "cache", tmp_path / "cache", ask)
    keep_elsewhere(tmp_path / "node" / "memory", tmp_path / "run" / "memory", ask)
    yield tmp_path
    rpc_proxies.forget_all()


def test_the_budget_holds_over_all_who_ask(on_node: Path) -> None:
    def spend(number: int) -> bool:
        calls = open_model_calls(calls_of(on_node / "run"), worker=f"node{number % 3}", max_cost=5.0)
        try:
            ticket = calls.reserve(trial="t", purpose="agent", model="m", estimate=1.0, now=1.0)
        except BudgetSpent:
            return False
        calls.settle(ticket, Usage(calls=1, cost=1.0))
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(spend, range(20))) == 5
    (line,) = read_model_calls(calls_of(on_node / "run"))
    assert line.usage.cost == 5.0


def test_what_one_node_was_told_another_is_not_asked_for_again(on_node: Path) -> None:
    open_cache(on_node / "cache").put("abcdef", {"text": "yes"}, about={})
    assert open_cache(on_node / "cache").get("abcdef") == {"text": "yes"}
    assert (on_node / "cache" / "ab" / "abcdef.json").is_file()


def test_a_memory_is_one_trials_at_a_time_wherever_it_is(on_node: Path) -> None:
    memory = open_memory(on_node / "node" / "memory" / "mine")
    inside: list[int] = []

    def trial(number: int) -> None:
        with memory.taken():
            inside.append(number)
            assert len(inside) == 1
            begun = memory.latest(trial=f"t{number}")
            memory.add(f"{begun.text}{number}", trial=f"t{number}", after=begun)
            inside.clear()

    threads = [threading.Thread(target=trial, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(memory.latest(trial="").text) == ["0", "1", "2"]
    assert len(list((on_node / "run" / "memory" / "mine").glob("*.json"))) == 3


def test_a_node_that_is_gone_has_no_memory_any_more(on_node: Path, books: CoordinatorState) -> None:
    folder = on_node / "run" / "memory" / "mine"
    taken = Call(kind="memory", path=folder, method="take", args=("token",))
    assert books.answer("node2", taken) == (True, True)
    over = threading.Event()

    def wait_for_it() -> None:
        with open_memory(on_node / "node" / "memory" / "mine").taken():
            over.set()

    thread = threading.Thread(target=wait_for_it)
    thread.start()
    assert books.answer("node3", Call(kind="memory", path=folder, method="take", args=("other",))) == (True, False)
    books.forget("node2")
    wait_until(over.is_set)
    thread.join()


@pytest.mark.parametrize(
    ("path", "method"), [("/etc/passwd", "get"), ("run/../../x", "get"), ("cache", "_file"), ("cache", "__class__")]
)
def test_nodes_can_ask_for_nothing_else(tmp_path: Path, books: CoordinatorState, path: str, method: str) -> None:
    well, error = books.answer("node1", Call(kind="responses", path=tmp_path / path, method=method, args=("key",)))
    assert not well
    assert isinstance(error, HarnessError)


def test_a_process_that_keeps_its_files_itself_asks_nobody(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "memory")
    with memory.taken():
        assert memory.add("x", trial="t", after=MemoryVersion()).number == 1
