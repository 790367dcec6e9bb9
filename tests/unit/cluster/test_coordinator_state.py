"""Model calls, caches and memories of a run: stored by the coordinator, used by all nodes."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena import rpc_proxies
from pytest_webarena.cluster.coordinator_state import CoordinatorState
from pytest_webarena.cluster.shipping import install, pack, pack_outline, unpack
from pytest_webarena.errors import HarnessError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.cache import open_cache
from pytest_webarena.llm.model_calls import BudgetSpent, calls_of, open_model_calls, read_model_calls
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.lost_trials import FILE, last_lost_record, note_agent
from pytest_webarena.results.memory import MemoryVersion, open_memory
from pytest_webarena.rpc_proxies import Call, keep_elsewhere
from tests.processes import wait_until


@pytest.fixture
def state(tmp_path: Path) -> CoordinatorState:
    return CoordinatorState((tmp_path / "run", tmp_path / "cache"))


@pytest.fixture
def on_node(tmp_path: Path, state: CoordinatorState) -> Iterator[Path]:
    """A node's process, with the driver's folders behind remote calls."""

    def ask(call: Call) -> Any:
        well, given = state.answer("node1", call)
        if not well:
            raise given
        return given

    keep_elsewhere(calls_of(tmp_path / "run"), calls_of(tmp_path / "run"), ask)
    keep_elsewhere(tmp_path / "cache", tmp_path / "cache", ask)
    for name in ("memory", "trials"):
        keep_elsewhere(tmp_path / "node" / name, tmp_path / "run" / name, ask)
    yield tmp_path
    rpc_proxies.forget_all()


def test_budget_holds_over_all_nodes(on_node: Path) -> None:
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


def test_cached_reply_is_shared_between_nodes(on_node: Path) -> None:
    open_cache(on_node / "cache").put("abcdef", {"text": "yes"}, about={})
    assert open_cache(on_node / "cache").get("abcdef") == {"text": "yes"}
    assert (on_node / "cache" / "ab" / "abcdef.json").is_file()


def test_memory_is_locked_by_one_trial_across_nodes(on_node: Path) -> None:
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


def test_memory_lock_of_a_lost_node_is_released(on_node: Path, state: CoordinatorState) -> None:
    folder = on_node / "run" / "memory" / "mine"
    taken = Call(kind="memory", path=folder, method="take", args=("token",))
    assert state.answer("node2", taken) == (True, True)
    over = threading.Event()

    def wait_for_it() -> None:
        with open_memory(on_node / "node" / "memory" / "mine").taken():
            over.set()

    thread = threading.Thread(target=wait_for_it)
    thread.start()
    assert state.answer("node3", Call(kind="memory", path=folder, method="take", args=("other",))) == (True, False)
    state.forget("node2")
    wait_until(over.is_set)
    thread.join()


@pytest.mark.parametrize(
    ("path", "method"), [("/etc/passwd", "get"), ("run/../../x", "get"), ("cache", "_file"), ("cache", "__class__")]
)
def test_nodes_cannot_call_other_paths_or_methods(
    tmp_path: Path, state: CoordinatorState, path: str, method: str
) -> None:
    well, error = state.answer("node1", Call(kind="responses", path=tmp_path / path, method=method, args=("key",)))
    assert not well
    assert isinstance(error, HarnessError)


def test_local_process_uses_its_files_directly(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "memory")
    with memory.taken():
        assert memory.add("x", trial="t", after=MemoryVersion()).number == 1


KEY = TrialKey("t", "a", 1)
LOST = TrialRecord(key=KEY, outcome="failed", stop_reason="unattributed", score=0.0, message="died", started=5.0)


@pytest.mark.parametrize("earlier", [False, True])
def test_trial_of_a_lost_node_has_the_record_from_the_start_of_its_agent(on_node: Path, earlier: bool) -> None:
    """``earlier``: whether the run has a record of the trial, an error, which is run again."""
    driver, node = RunDir(on_node / "run").folder(KEY), RunDir(on_node / "node").folder(KEY)
    if earlier:
        driver.begin(worker="", node_id="")
        driver.finish(replace(LOST, outcome="error", cause="site", stop_reason=None, score=None))
        unpack(pack_outline(driver.path), node.path)
    writer = node.begin(worker="node1", node_id="x")
    assert last_lost_record(driver.path) is None  # the agent has not got the task
    note_agent(writer.path, LOST)
    shutil.rmtree(node.path)
    (lost,) = [each["attempt"] for each in RunDir(on_node / "run").unfinished()]  # also for `--resume` of a killed run
    assert lost == writer.number == 1 + earlier
    record = last_lost_record(driver.path)
    assert record is not None
    driver.finish(record)
    assert [each.stop_reason for each in RunDir(on_node / "run").records()] == ["unattributed"]
    assert last_lost_record(driver.path) is None
    assert list(on_node.rglob(FILE)) == []


def test_delivered_trial_replaces_the_note_on_the_start_of_its_agent(on_node: Path) -> None:
    driver, node = RunDir(on_node / "run").folder(KEY), RunDir(on_node / "node").folder(KEY)
    writer = node.begin(worker="node1", node_id="x")
    note_agent(writer.path, LOST)
    (writer.path / "evidence.json").write_text("{}")
    node.finish(replace(LOST, outcome="passed", stop_reason="answered", score=1.0))
    install(pack(node.path), driver.path)
    assert [each.outcome for each in RunDir(on_node / "run").records()] == ["passed"]
    assert (driver.path / "attempt-1" / "evidence.json").exists()
    assert list(on_node.rglob(FILE)) == []
