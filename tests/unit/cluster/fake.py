"""A fake cluster: nodes are threads that die, stop responding or join on command."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pytest_webarena.cluster.executor import ClusterExecutor
from pytest_webarena.cluster.interface import ClusterLost, Delivery, Member, NodeGone, NodeSilent, Parcel
from pytest_webarena.cluster.jobs import Job
from pytest_webarena.results import TrialKey, TrialRecord


class FakeCluster:
    """``play`` returns the result of a parcel at a node; it runs in a thread of its own."""

    def __init__(self, play: Callable[[str, Parcel], TrialRecord | Delivery], **slots: int) -> None:
        self._play = play
        self.nodes = {name: Member(id=name, name=name, slots=count) for name, count in slots.items()}
        self.refusals: dict[str, Exception] = {}
        self.lock = threading.Lock()
        self.silent: set[str] = set()
        self.lost = ""
        self.dropped: list[str] = []
        self.cancelled: list[str] = []
        self.played: list[tuple[str, str]] = []
        self.deliveries: dict[str, Future[Delivery]] = {}
        """Results by token, as the node knows them."""
        self._lines: dict[str, list[Future[Delivery]]] = {}
        """Awaited results by node."""

    def look(self) -> Sequence[str]:
        if self.lost:
            raise ClusterLost(self.lost)
        return list(self.nodes)

    def join(self, node: str) -> Future[Member]:
        future: Future[Member] = Future()
        if node in self.refusals:
            future.set_exception(self.refusals[node])
        else:
            future.set_result(self.nodes[node])
        return future

    def play(self, node: str, token: str, parcel: Parcel | None) -> Future[Delivery]:
        line: Future[Delivery] = Future()
        with self.lock:
            if node not in self.nodes or node in self.silent:
                line.set_exception((NodeSilent if node in self.silent else NodeGone)("no way there"))
                return line
            self._lines.setdefault(node, []).append(line)
            own = self.deliveries.get(token)
            if own is None:
                own = self.deliveries[token] = Future()
                if parcel is None:
                    own.set_result(Delivery())
                else:
                    self.played.append((node, parcel.task.id))
                    threading.Thread(target=self._run, args=(node, parcel, own), daemon=True).start()
        own.add_done_callback(lambda done: self._deliver(node, done, line))
        return line

    def _run(self, node: str, parcel: Parcel, own: Future[Delivery]) -> None:
        try:
            outcome = self._play(node, parcel)
        except BaseException as error:
            own.set_exception(error)
        else:
            own.set_result(outcome if isinstance(outcome, Delivery) else Delivery(record=outcome))

    def _deliver(self, node: str, done: Future[Delivery], line: Future[Delivery]) -> None:
        with suppress(Exception):  # the connection is cut: nobody receives it
            if (error := done.exception()) is not None:
                line.set_exception(error)
            else:
                line.set_result(done.result())

    def _cut(self, node: str, error: Exception) -> None:
        with self.lock:
            lines = self._lines.pop(node, [])
        for line in lines:
            with suppress(Exception):
                line.set_exception(error)

    def kill(self, node: str) -> None:
        """The node dies."""
        del self.nodes[node]
        self._cut(node, NodeGone("has died"))

    def kill_process(self, node: str) -> None:
        """The process that runs trials dies; the node stays."""
        self._cut(node, NodeGone("has died"))

    def under_way(self, node: str) -> int:
        """Return the number of running trials of the node."""
        with self.lock:
            return sum(not line.done() for line in self._lines.get(node, ()))

    def silence(self, node: str) -> None:
        self.silent.add(node)
        self._cut(node, NodeSilent("no answer"))

    def answer_again(self, node: str) -> None:
        self.silent.discard(node)

    def add(self, name: str, slots: int, **more: Any) -> None:
        self.nodes[name] = Member(id=name, name=name, slots=slots, **more)

    def cancel_trials(self, node: str) -> Future[Any]:
        self.cancelled.append(node)
        future: Future[Any] = Future()
        future.set_result(None)
        return future

    def drop(self, node: str) -> None:
        self.dropped.append(node)

    def close(self) -> None:
        pass


def received(job: Job, delivery: Delivery) -> TrialRecord:
    assert delivery.record is not None
    return delivery.record


def given_up(job: Job, message: str) -> TrialRecord:
    parcel = job.parcel
    key = TrialKey(parcel.task.id, parcel.agent, parcel.trial, parcel.browser)
    return TrialRecord(key=key, outcome="error", cause="harness", message=message)


def passed(parcel: Parcel) -> TrialRecord:
    key = TrialKey(parcel.task.id, parcel.agent, parcel.trial, parcel.browser)
    return TrialRecord(key=key, outcome="passed")


def executor_on(cluster: FakeCluster, **options: Any) -> ClusterExecutor:
    options = {"receive": received, "give_up": given_up, "pause": 0.02, **options}
    return ClusterExecutor(cluster, **options)


def parcel_as(parcel: Parcel, **changes: Any) -> Parcel:
    return replace(parcel, **changes)
