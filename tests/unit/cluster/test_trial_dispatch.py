"""Dispatch of trials to nodes that die, stop responding, join or lack sites; each is recorded once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.cluster import node_health
from pytest_webarena.cluster.executor import LOSSES, ClusterExecutor
from pytest_webarena.cluster.interface import Delivery, NodeRefused, Parcel
from pytest_webarena.cluster.jobs import Job
from pytest_webarena.errors import HarnessError, SiteMissing
from pytest_webarena.evidence import Usage
from pytest_webarena.results import TrialRecord
from pytest_webarena.tasks.model import Task
from pytest_webarena.testing import make_task
from tests.processes import wait_until
from tests.unit.cluster.fake import FakeCluster, executor_on, passed

SECONDS = 60


def task(id: str, *sites: str) -> Task:
    return make_task(f"intent: x\nsites: [{', '.join(sites)}]\nchecks: [{{answer: x}}]", id=id)


class HeldTrials:
    """Holds trials until they are released, for one node or for all."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, str]] = []
        self.gates: dict[str, threading.Event] = {}
        self.all = threading.Event()

    def play(self, node: str, parcel: Parcel) -> TrialRecord:
        self.begun.append((node, parcel.task.id))
        gate = self.gates.setdefault(node, threading.Event())
        while not (gate.wait(0.01) or self.all.is_set()):
            pass
        return passed(parcel)

    def let_go(self, node: str) -> None:
        self.gates.setdefault(node, threading.Event()).set()


@pytest.fixture
def held() -> Iterator[HeldTrials]:
    held = HeldTrials()
    yield held
    held.all.set()


class Received(list[str]):
    """Records the tasks whose deliveries were received."""

    def __call__(self, job: Job, delivery: Delivery) -> TrialRecord:
        self.append(job.parcel.task.id)
        assert delivery.record is not None
        return delivery.record


def test_trials_of_a_dead_node_are_rerun_and_recorded_once(held: HeldTrials) -> None:
    cluster, received, lines = FakeCluster(held.play, one=2, two=2), Received(), list[str]()
    with executor_on(cluster, receive=received, announce=lines.append) as executor:
        assert executor.ready.wait(SECONDS)
        futures = [executor.submit(task(f"t{number}"), "mine", 1) for number in range(6)]
        wait_until(lambda: len(held.begun) == 4)
        cluster.kill("one")
        held.let_go("two")
        assert {future.result(SECONDS).outcome for future in futures} == {"passed"}
    assert sorted(received) == [f"t{number}" for number in range(6)]
    assert executor.tally.words() == "1 lost, 2 trials given back"
    assert lines == ["lost one, which has died; 2 trials given back; now 1 node"]
    assert cluster.dropped == ["one"]


def test_node_that_joins_later_gets_trials(held: HeldTrials) -> None:
    cluster, lines = FakeCluster(held.play, one=1), list[str]()
    with executor_on(cluster, announce=lines.append) as executor:
        assert executor.ready.wait(SECONDS)
        futures = [executor.submit(task(f"t{number}"), "mine", 1) for number in range(3)]
        wait_until(lambda: len(held.begun) == 1)
        assert executor.width == 1
        cluster.add("late", 2)
        wait_until(lambda: len(held.begun) == 3)
        assert executor.width == 3
        assert {node for node, _ in held.begun} == {"one", "late"}
        held.all.set()
        wait(futures, SECONDS)
    assert lines == ["gained late × 2, now 2 nodes"]


def test_late_duplicate_is_dropped_but_its_cost_counted(held: HeldTrials) -> None:
    def play(node: str, parcel: Parcel) -> TrialRecord:
        return replace(held.play(node, parcel), usage=Usage(calls=1, cost=0.25))

    cluster, received, lines = FakeCluster(play, one=1), Received(), list[str]()
    with executor_on(cluster, receive=received, announce=lines.append) as executor:
        assert executor.ready.wait(SECONDS)
        future = executor.submit(task("t"), "mine", 1)
        wait_until(lambda: len(held.begun) == 1)
        cluster.silence("one")
        cluster.add("two", 1)
        wait_until(lambda: len(held.begun) == 2)
        held.let_go("two")
        assert future.result(SECONDS).outcome == "passed"
        held.let_go("one")  # the node was running it all the time
        cluster.answer_again("one")
        wait_until(lambda: executor.tally.duplicates == 1)
        again = executor.submit(task("u"), "mine", 1)  # the node gets trials again
        assert again.result(SECONDS).outcome == "passed"
    assert received == ["t", "u"]
    assert executor.tally.words() == "1 gained, 1 trial given back, 1 late duplicate dropped ($0.2500)"
    assert any(line.startswith("no answer from one") for line in lines)
    assert any(line.startswith("one answers again") for line in lines)


def test_first_delivery_of_a_reconnected_node_is_accepted(held: HeldTrials) -> None:
    cluster, received = FakeCluster(held.play, one=1), Received()
    with executor_on(cluster, receive=received) as executor:
        future = executor.submit(task("t"), "mine", 1)
        wait_until(lambda: len(held.begun) == 1)
        cluster.silence("one")
        wait_until(lambda: not executor.members)
        held.let_go("one")
        cluster.answer_again("one")
        assert future.result(SECONDS).outcome == "passed"
    assert received == ["t"]
    assert held.begun == [("one", "t")]  # it was not run again


def test_trial_that_kills_nodes_ends_as_error_without_harming_others() -> None:
    cluster: FakeCluster
    alone: list[int] = []
    gate = threading.Event()

    def play(node: str, parcel: Parcel) -> TrialRecord:
        gate.wait(0.03 if parcel.task.id == "deadly" else 0.05)
        if parcel.task.id == "deadly":
            alone.append(cluster.under_way(node) - 1)
            cluster.kill_process(node)
        return passed(parcel)

    cluster = FakeCluster(play, one=3, two=3)
    with executor_on(cluster) as executor:
        futures = {id: executor.submit(task(id), "mine", 1) for id in ("deadly", *"abcdefghijkl")}
        record = futures.pop("deadly").result(SECONDS)
        assert {future.result(SECONDS).outcome for future in futures.values()} == {"passed"}
    assert (record.outcome, record.cause) == ("error", "harness")
    assert record.message.startswith(f"the trial was lost with its node {LOSSES} times, the last time alone on ")
    assert len(alone) == LOSSES
    assert alone[-1] == 0


def test_trial_runs_where_its_sites_are_or_is_skipped() -> None:
    tried: list[tuple[str, str]] = []

    def play(node: str, parcel: Parcel) -> TrialRecord:
        tried.append((node, parcel.task.id))
        if (node == "small" and "gitlab" in parcel.task.sites) or "map" in parcel.task.sites:
            raise SiteMissing(f"no image on {node}")
        return passed(parcel)

    cluster = FakeCluster(play, small=8, large=1)
    with executor_on(cluster) as executor:
        assert executor.ready.wait(SECONDS)
        for number in range(5):
            assert executor.submit(task(f"g{number}", "gitlab"), "mine", 1).result(SECONDS).outcome == "passed"
        assert executor.submit(task("plain", "wiki"), "mine", 1).result(SECONDS).outcome == "passed"
        with pytest.raises(SiteMissing, match="no image"):
            executor.submit(task("m", "map"), "mine", 1).result(SECONDS)
        with pytest.raises(SiteMissing, match="no image"):
            executor.submit(task("m2", "map", "wiki"), "mine", 1).result(SECONDS)
    assert [node for node, id in tried if id.startswith("g")].count("small") == 1  # it is asked once
    assert ("small", "m2") not in tried
    assert ("large", "m2") not in tried


def test_trial_that_kills_nodes_gets_an_idle_node(held: HeldTrials) -> None:
    other_trials: list[int] = []
    brief = threading.Event()

    def play(node: str, parcel: Parcel) -> TrialRecord:
        if parcel.task.id == "deadly":
            other_trials.append(cluster.under_way(node) - 1)
            if node == "two":
                cluster.kill_process(node)
        elif parcel.task.id == "brief":
            brief.wait(SECONDS)
        else:
            return held.play(node, parcel)
        return passed(parcel)

    cluster = FakeCluster(play, one=2)
    with executor_on(cluster) as executor:
        assert executor.ready.wait(SECONDS)
        futures = [executor.submit(task(id), "mine", 1) for id in ("long", "brief")]
        wait_until(lambda: cluster.under_way("one") == 2)
        cluster.add("two", 3)
        futures.append(executor.submit(task("deadly"), "mine", 1))
        wait_until(lambda: len(other_trials) == LOSSES - 1)  # no other node has a free slot
        cluster.kill("two")
        wait_until(lambda: len(executor.members) == 1)
        brief.set()
        futures.append(executor.submit(task("later"), "mine", 1))  # the free slot is used
        wait_until(lambda: ("one", "later") in held.begun)
        assert len(other_trials) == LOSSES - 1
        held.all.set()
        assert {each.result(SECONDS).outcome for each in futures} == {"passed"}
    assert other_trials == [0] * LOSSES


def test_trial_lost_by_a_silent_node_is_sent_again(held: HeldTrials) -> None:
    cluster, received = FakeCluster(held.play, one=1), Received()
    with executor_on(cluster, receive=received) as executor:
        assert executor.ready.wait(SECONDS)
        cluster.silent.add("one")  # the executor has not noticed yet
        future = executor.submit(task("t"), "mine", 1)
        wait_until(lambda: not executor.members)
        held.all.set()
        cluster.answer_again("one")
        assert future.result(SECONDS).outcome == "passed"
    assert received == ["t"]
    assert held.begun == [("one", "t")]


def test_lost_cluster_is_reported_and_running_trials_still_finish(held: HeldTrials) -> None:
    cluster = FakeCluster(held.play, one=1)
    with executor_on(cluster) as executor:
        assert executor.ready.wait(SECONDS)
        here, waiting = executor.submit(task("t"), "mine", 1), executor.submit(task("u"), "mine", 1)
        wait_until(lambda: len(held.begun) == 1)
        cluster.lost = "nobody has answered"
        wait_until(lambda: executor.lost == "nobody has answered")
        assert not waiting.done()
        held.all.set()
        assert here.result(SECONDS).outcome == waiting.result(SECONDS).outcome == "passed"
        cluster.kill("one")
        with pytest.raises(HarnessError, match="nobody has answered"):
            executor.submit(task("v"), "mine", 1).result(SECONDS)


def test_internal_error_of_the_executor_fails_all_trials(held: HeldTrials) -> None:
    cluster = FakeCluster(held.play, one=1)
    with executor_on(cluster) as executor:
        assert executor.ready.wait(SECONDS)
        under_way = executor.submit(task("t"), "mine", 1)
        wait_until(lambda: len(held.begun) == 1)
        cluster.look = lambda: 1 // 0  # type: ignore[method-assign,assignment,return-value]
        with pytest.raises(HarnessError, match="dispatching trials to nodes failed: ZeroDivisionError"):
            under_way.result(SECONDS)
        assert executor.lost
        with pytest.raises(RuntimeError, match="closed"):
            executor.submit(task("u"), "mine", 1)
        executor.cancel_trials()


def test_idle_slots_that_no_waiting_trial_can_use_are_reported(held: HeldTrials) -> None:
    cluster, wanting = FakeCluster(held.play, large=1), threading.Event()
    cluster.add("small", 1, lacks=((("gitlab",), "no image"),))
    with executor_on(cluster) as executor:
        executor.when_wanting = wanting.set
        assert executor.ready.wait(SECONDS)
        futures = [executor.submit(task(f"g{number}", "gitlab"), "mine", 1) for number in range(2)]
        assert wanting.wait(SECONDS)
        futures.append(executor.submit(task("w", "wiki"), "mine", 1))
        wait_until(lambda: ("small", "w") in held.begun)
        held.all.set()
        wait(futures, SECONDS)


def test_trial_is_tried_when_every_node_reports_its_site_missing() -> None:
    def play(node: str, parcel: Parcel) -> TrialRecord:
        if "map" in parcel.task.sites:
            raise SiteMissing("expected the image of the map")
        return passed(parcel)

    cluster = FakeCluster(play)
    cluster.add("one", 1, lacks=((("gitlab",), "too little memory"), (("map",), "no image")))
    with executor_on(cluster) as executor:
        assert executor.submit(task("g", "gitlab"), "mine", 1).result(SECONDS).outcome == "passed"
        with pytest.raises(SiteMissing, match="expected the image of the map"):
            executor.submit(task("m", "map"), "mine", 1).result(SECONDS)


def test_trials_avoid_nodes_that_report_their_site_missing() -> None:
    tried: list[str] = []

    def play(node: str, parcel: Parcel) -> TrialRecord:
        tried.append(node)
        return passed(parcel)

    cluster = FakeCluster(play, large=1)
    cluster.add("small", 8, lacks=((("gitlab",), "no image"),))
    with executor_on(cluster) as executor:
        assert executor.ready.wait(SECONDS)
        wait([executor.submit(task(f"g{number}", "gitlab"), "mine", 1) for number in range(6)], SECONDS)
    assert tried == ["large"] * 6


def test_refused_node_gets_no_trial_and_is_reported_once() -> None:
    cluster, lines = FakeCluster(lambda node, parcel: passed(parcel), one=1, old=4), list[str]()
    cluster.refusals["old"] = NodeRefused("old has Python 3.12 where this machine has 3.11")
    with executor_on(cluster, announce=lines.append) as executor:
        assert executor.ready.wait(SECONDS)
        wait([executor.submit(task(f"t{number}"), "mine", 1) for number in range(5)], SECONDS)
    assert {node for node, _ in cluster.played} == {"one"}
    assert lines == ["a node is not used: old has Python 3.12 where this machine has 3.11"]


def test_trials_fail_without_any_node_after_the_grace_period() -> None:
    cluster = FakeCluster(lambda node, parcel: passed(parcel))
    with executor_on(cluster, grace=0.05) as executor, pytest.raises(HarnessError, match="found none for"):
        executor.submit(task("t"), "mine", 1).result(SECONDS)


def test_break_off_ends_running_trials_on_nodes(held: HeldTrials) -> None:
    cluster = FakeCluster(held.play, one=1, two=1)
    executor: Any = executor_on(cluster)
    futures = [executor.submit(task(f"t{number}"), "mine", 1) for number in range(3)]
    wait_until(lambda: len(held.begun) == 2)
    executor.cancel_trials(held.all.set)
    executor.cancel_trials()  # a second call is allowed
    executor.close(cancel=True)
    assert sorted(cluster.cancelled) == ["one", "two"]
    assert all(future.done() for future in futures)
    assert futures[2].cancelled()


def test_unwritable_record_fails_only_its_trial() -> None:
    def receive(job: Job, delivery: Delivery) -> TrialRecord:
        if job.parcel.task.id == "full":
            raise OSError("no space left")
        assert delivery.record is not None
        return delivery.record

    executor: ClusterExecutor
    with executor_on(FakeCluster(lambda node, parcel: passed(parcel), one=1), receive=receive) as executor:
        full, other = executor.submit(task("full"), "mine", 1), executor.submit(task("t"), "mine", 1)
        with pytest.raises(OSError, match="no space"):
            full.result(SECONDS)
        assert other.result(SECONDS).outcome == "passed"


class Started(HeldTrials):
    """Trials whose agents may have ended their node, except those of the task ``harmless``."""

    def lost(self, job: Job) -> Callable[[], TrialRecord] | None:
        id = job.parcel.task.id
        if id == "harmless" or id not in [each for _, each in self.begun]:
            return None
        return lambda: replace(passed(job.parcel), outcome="failed", stop_reason="unattributed")


@pytest.fixture
def started() -> Iterator[Started]:
    started = Started()
    yield started
    started.all.set()


@pytest.mark.parametrize("silent_first", [False, True])
def test_trial_whose_agent_may_have_ended_its_node_is_not_run_again(started: Started, silent_first: bool) -> None:
    cluster, lines = FakeCluster(started.play, one=2), list[str]()
    with executor_on(cluster, lost=started.lost, announce=lines.append) as executor:
        futures = {id: executor.submit(task(id), "mine", 1) for id in ("agent", "harmless", "waiting")}
        wait_until(lambda: len(started.begun) == 2)
        if silent_first:
            cluster.silence("one")
            wait_until(lambda: not executor.members)
            assert lines[-1] == (
                "no answer from one; 1 trial given back; 1 trial awaited, because an agent may have caused it; "
                "now 0 nodes"
            )
        cluster.add("two", 2)
        cluster.kill("one")
        started.let_go("two")
        outcomes = {id: future.result(SECONDS).outcome for id, future in futures.items()}
    assert outcomes == {"agent": "failed", "harmless": "passed", "waiting": "passed"}
    assert [id for _, id in started.begun].count("agent") == 1
    assert executor.tally.undecided == 1
    assert any("1 trial undecided" in line for line in lines)


def test_trial_of_a_silent_node_is_accepted_when_the_node_answers_again(started: Started) -> None:
    cluster, lines = FakeCluster(started.play, one=1, two=1), list[str]()
    with executor_on(cluster, lost=started.lost, announce=lines.append) as executor:
        assert executor.ready.wait(SECONDS)
        future = executor.submit(task("agent"), "mine", 1)
        wait_until(lambda: len(started.begun) == 1)
        ((node, _),) = started.begun
        cluster.silence(node)
        wait_until(lambda: len(executor.members) == 1)
        cluster.answer_again(node)
        wait_until(lambda: len(executor.members) == 2)  # although the trial is running
        started.let_go(node)
        assert future.result(SECONDS).outcome == "passed"
    assert executor.tally.words() == ""
    assert len(started.begun) == 1


def test_trial_of_a_node_that_stays_silent_ends_undecided(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_health, "_SILENCE", 0.0)
    cluster = FakeCluster(started.play, one=1)
    with executor_on(cluster, lost=started.lost) as executor:
        future = executor.submit(task("agent"), "mine", 1)
        wait_until(lambda: len(started.begun) == 1)
        cluster.silence("one")
        assert future.result(SECONDS).stop_reason == "unattributed"
        started.all.set()
        cluster.answer_again("one")
        wait_until(lambda: executor.tally.duplicates == 1)  # its late delivery
    assert executor.tally.undecided == 1


def test_unwritable_record_of_a_lost_trial_is_reported(held: HeldTrials) -> None:
    def write() -> TrialRecord:
        raise OSError("no space left")

    cluster = FakeCluster(held.play, one=1)
    with executor_on(cluster, lost=lambda job: write) as executor:
        future = executor.submit(task("t"), "mine", 1)
        wait_until(lambda: len(held.begun) == 1)
        cluster.kill("one")
        with pytest.raises(OSError, match="no space"):
            future.result(SECONDS)
