"""Contract of all trial executors. To test another one, add a line to `EXECUTORS`."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_webarena.cluster.interface import Parcel
from pytest_webarena.errors import SiteMissing
from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.tasks.model import Task
from pytest_webarena.testing import make_task
from pytest_webarena.trials.cancellation import Cancelled
from pytest_webarena.trials.executor import SerialExecutor, TrialExecutor, TrialRunner
from pytest_webarena.trials.threaded_executor import ThreadedExecutor
from tests.processes import wait_until
from tests.unit.cluster.fake import FakeCluster, executor_on

SECONDS = 60
"""More than anything here takes: what goes on for longer never ends."""


class Runner:
    """Ends trials as their task ids say, and records which trials were run."""

    def __init__(self) -> None:
        self.played: list[tuple[str, str, int, str]] = []
        self.gate = threading.Event()
        self.gave_up = False
        self.held = threading.Semaphore(0)
        """Released by each trial that has begun and waits for the gate."""

    def give_up(self) -> None:
        self.gave_up = True
        self.gate.set()

    def run(self, task: Task, agent: str, trial: int, *, browser: str, node_id: str) -> TrialRecord:
        self.played.append((task.id, agent, trial, node_id))
        match task.id:
            case "gone":
                raise SiteMissing("the site is not there")
            case "full":
                raise OSError("no space left")
            case "interrupted":
                raise KeyboardInterrupt
            case "held":
                self.held.release()
                assert self.gate.wait(SECONDS)
                if self.gave_up:
                    raise Cancelled
            case "lost":  # the worker dies
                raise MemoryError
        outcome: Any = {"wrong": "failed", "broken": "error"}.get(task.id, "passed")
        return TrialRecord(key=TrialKey(task.id, agent, trial, browser), outcome=outcome)


class OneThread:
    """A minimal executor that runs its trials in another thread."""

    def __init__(self, runner: TrialRunner) -> None:
        self._runner, self._pool = runner, ThreadPoolExecutor(1)

    def submit(
        self, task: Task, agent: str, trial: int, *, browser: str = "chromium", node_id: str = ""
    ) -> Future[TrialRecord]:
        return self._pool.submit(self._runner.run, task, agent, trial, browser=browser, node_id=node_id)

    def close(self, *, cancel: bool = False) -> None:
        self._pool.shutdown(cancel_futures=cancel)

    def __enter__(self) -> OneThread:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self.close(cancel=kind is not None)


@dataclass(frozen=True)
class Kind:
    make: Callable[[TrialRunner], TrialExecutor]
    at_once: bool = False
    """Whether a trial is over when its submission is: then there is never one that has not begun."""
    width: int = 1
    """How many trials are under way at a time."""


def on_nodes(runner: TrialRunner, **slots: int) -> TrialExecutor:
    """Return an executor on cluster nodes that all have ``runner``."""

    def play(node: str, parcel: Parcel) -> TrialRecord:
        return runner.run(parcel.task, parcel.agent, parcel.trial, browser=parcel.browser, node_id=parcel.node_id)

    return executor_on(FakeCluster(play, **slots))


EXECUTORS = {
    "serial": Kind(SerialExecutor, at_once=True),
    "one thread": Kind(OneThread),
    "threads": Kind(lambda runner: ThreadedExecutor(runner, 3), width=3),
    "cluster": Kind(lambda runner: on_nodes(runner, one=2, other=1), width=3),
}


@pytest.fixture(params=EXECUTORS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return EXECUTORS[request.param]


@pytest.fixture
def runner() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.gate.set()  # release what a failed test left waiting


@pytest.fixture
def executor(kind: Kind, runner: Runner) -> Iterator[TrialExecutor]:
    executor = kind.make(runner)
    yield executor
    runner.gate.set()
    executor.close(cancel=True)


def wait_for_all(runner: Runner, kind: Kind) -> None:
    """Wait until as many trials are running as the executor allows."""
    for _ in range(kind.width):
        assert runner.held.acquire(timeout=SECONDS)


def task(id: str) -> Task:
    return make_task("intent: x\nsites: []\nchecks: [{answer: x}]", id=id)


def test_submitted_trial_returns_its_record(executor: TrialExecutor, runner: Runner) -> None:
    record = executor.submit(task("a"), "mine", 2, browser="firefox", node_id="tasks.yaml::a").result(SECONDS)
    assert record.key == TrialKey("a", "mine", 2, "firefox")
    assert executor.submit(task("a"), "mine", 2).result(SECONDS).key == TrialKey("a", "mine", 2)
    assert runner.played == [("a", "mine", 2, "tasks.yaml::a"), ("a", "mine", 2, "")]


def test_trials_begin_in_the_order_of_their_submission(kind: Kind, executor: TrialExecutor, runner: Runner) -> None:
    if kind.at_once:
        runner.gate.set()
    futures = [executor.submit(task("held"), "mine", number) for number in range(1, 21)]
    for number in range(20):  # one starts whenever one ends
        assert runner.held.acquire(timeout=SECONDS)
        if number == kind.width - 1:
            assert sorted(trial for _, _, trial, _ in runner.played[: kind.width]) == list(range(1, kind.width + 1))
            assert kind.at_once or not any(future.running() for future in futures[kind.width :])
            runner.gate.set()
    wait(futures, SECONDS)
    if kind.width == 1:
        assert [trial for _, _, trial, _ in runner.played] == list(range(1, 21))
    assert [future.result(SECONDS).key.trial for future in futures] == list(range(1, 21))


@pytest.mark.parametrize(("id", "outcome"), [("wrong", "failed"), ("broken", "error")])
def test_failed_and_erroneous_trials_return_records(executor: TrialExecutor, id: str, outcome: str) -> None:
    assert executor.submit(task(id), "mine", 1).result(SECONDS).outcome == outcome


@pytest.mark.parametrize(("id", "error"), [("gone", SiteMissing), ("full", OSError)])
def test_missing_record_raises_in_its_own_future_only(executor: TrialExecutor, id: str, error: type[Exception]) -> None:
    without, other = executor.submit(task(id), "mine", 1), executor.submit(task("a"), "mine", 1)
    with pytest.raises(error):
        without.result(SECONDS)
    assert other.result(SECONDS).outcome == "passed"


def test_interrupt_is_raised_to_the_caller_and_keeps_executor_usable(executor: TrialExecutor) -> None:
    with pytest.raises(KeyboardInterrupt):
        executor.submit(task("interrupted"), "mine", 1).result(SECONDS)
    assert executor.submit(task("a"), "mine", 1).result(SECONDS).outcome == "passed"


def test_only_trials_that_have_not_started_can_be_cancelled(
    kind: Kind, executor: TrialExecutor, runner: Runner
) -> None:
    if kind.at_once:
        future = executor.submit(task("a"), "mine", 1)
        assert not future.cancel()
        assert future.result(SECONDS).outcome == "passed"
        return
    under_way = [executor.submit(task("held"), "mine", number) for number in range(kind.width)]
    later = executor.submit(task("a"), "mine", 1)
    wait_for_all(runner, kind)
    assert not any(future.cancel() for future in under_way)
    assert later.cancel()
    runner.gate.set()
    assert {future.result(SECONDS).outcome for future in under_way} == {"passed"}
    executor.close()
    assert {id for id, *_ in runner.played} == {"held"}


@pytest.mark.parametrize("cancel", [False, True])
def test_closing_leaves_every_future_done(kind: Kind, executor: TrialExecutor, runner: Runner, cancel: bool) -> None:
    ids = ["a", "b"] if kind.at_once else [*["held"] * kind.width, "b"]
    futures = [executor.submit(task(id), "mine", 1) for id in ids]
    over = threading.Event()
    futures[-1].add_done_callback(lambda future: over.set())
    closing = threading.Thread(target=executor.close, kwargs={"cancel": cancel})
    if not kind.at_once:
        wait_for_all(runner, kind)
    closing.start()
    if not kind.at_once and cancel:
        assert over.wait(SECONDS)
    runner.gate.set()
    closing.join(SECONDS)
    assert all(future.done() for future in futures)
    assert futures[0].result(0).outcome == "passed"
    assert futures[-1].cancelled() is (cancel and not kind.at_once)


def test_submit_after_close_raises(executor: TrialExecutor, runner: Runner) -> None:
    executor.close()
    executor.close()
    with pytest.raises(RuntimeError):
        executor.submit(task("a"), "mine", 1)
    assert runner.played == []


def test_leaving_the_with_block_closes_the_executor(kind: Kind, runner: Runner) -> None:
    with kind.make(runner) as executor:
        future = executor.submit(task("a"), "mine", 1)
    assert future.done()
    with pytest.raises(RuntimeError):
        executor.submit(task("a"), "mine", 1)


def test_trial_that_kills_its_worker_affects_no_other_trial(kind: Kind, executor: TrialExecutor) -> None:
    ids = ["lost"] * (kind.width + 1)
    lost = [executor.submit(task(id), "mine", number) for number, id in enumerate(ids)]
    for future in lost:
        with pytest.raises(MemoryError):
            future.result(SECONDS)
    assert executor.submit(task("a"), "mine", 1).result(SECONDS).outcome == "passed"


def breakable() -> list[str]:
    return [name for name, kind in EXECUTORS.items() if hasattr(kind.make(Runner()), "cancel_trials")]


@pytest.mark.parametrize("kind", [EXECUTORS[name] for name in breakable()], ids=breakable())
@pytest.mark.parametrize("late", [False, True], ids=["ends", "comes late"])
def test_abort_leaves_no_records_of_running_trials(kind: Kind, runner: Runner, late: bool) -> None:
    executor: Any = kind.make(runner)
    executor._patience = 0.1 if late else SECONDS
    under_way = [executor.submit(task("held"), "mine", number) for number in range(kind.width)]
    later = executor.submit(task("a"), "mine", 1)
    wait_for_all(runner, kind)
    played: list[Future[TrialRecord]] = []
    for future in under_way:
        future.add_done_callback(played.append)

    executor.cancel_trials((lambda: None) if late else runner.give_up)
    assert later.cancelled()
    for future in under_way:
        with pytest.raises(Cancelled):
            future.result(0)
    with pytest.raises(RuntimeError):
        executor.submit(task("a"), "mine", 1)
    runner.gate.set()  # late trials have a record now
    executor.close()
    assert len(played) == kind.width  # each ran once
    for future in under_way:
        with pytest.raises(Cancelled):
            future.result(0)


def test_each_trial_runs_inside_its_context_manager(runner: Runner) -> None:
    inside: dict[str, list[str]] = {}
    here = threading.local()

    @contextmanager
    def around(node_id: str) -> Iterator[None]:
        here.node = node_id
        yield
        inside.setdefault(here.node, []).append(node_id)

    with ThreadedExecutor(runner, 4, around=around) as executor:
        for number in range(40):
            executor.submit(task("a"), "mine", number, node_id=f"n{number}")
    assert inside == {f"n{number}": [f"n{number}"] for number in range(40)}


def test_threads_are_created_on_demand() -> None:
    runner = Runner()
    with ThreadedExecutor(runner, 50) as executor:
        for number in range(5):
            executor.submit(task("a"), "mine", number).result(SECONDS)
            wait_until(lambda: executor._idle == len(executor._threads))
        assert len(executor._threads) == 1


def test_tasks_and_records_can_be_pickled() -> None:
    sent = task("a")
    record = Runner().run(sent, "mine", 1, browser="chromium", node_id="")
    assert pickle.loads(pickle.dumps(sent)).digest == sent.digest
    assert pickle.loads(pickle.dumps(record)) == record
