"""Distributes trials to the nodes of a cluster as their slots become free. Each trial is recorded once, even if nodes
die."""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_webarena.cluster.interface import Cluster, Delivery, NodeGone, NodeSilent, Parcel
from pytest_webarena.cluster.jobs import Helper, Job
from pytest_webarena.cluster.node_health import SILENT, Watch
from pytest_webarena.errors import HarnessError, SiteMissing
from pytest_webarena.results.records import DEFAULT_BROWSER
from pytest_webarena.trials.cancellation import Cancelled

if TYPE_CHECKING:
    from types import TracebackType

    from pytest_webarena.results import TrialRecord
    from pytest_webarena.tasks.model import Task

__all__ = ["LOSSES", "ClusterExecutor"]

LOSSES = 3
"""Number of nodes that a trial may lose before it ends as an error; on the last of them it runs alone."""


class ClusterExecutor(Watch):
    """Runs trials on the nodes of a cluster; see `trials.executor.TrialExecutor`.

    One thread makes all decisions. It receives submissions, deliveries and failures through a queue, and looks at the
    cluster every ``pause`` seconds. New nodes are prepared and used; trials of dead nodes are sent to others before all
    waiting ones, unless their agents may have caused the end. A node that only does not answer may still deliver: the
    first delivery of a trial counts, and later ones are dropped and counted (`Tally`).
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        receive: Callable[[Job, Delivery], TrialRecord],
        give_up: Callable[[Job, str], TrialRecord],
        lost: Callable[[Job], Callable[[], TrialRecord] | None] = lambda job: None,
        wrap: Callable[..., Parcel] = Parcel,
        announce: Callable[[str], None] = lambda line: None,
        pause: float = 1.0,
        grace: float = 60.0,
        patience: float = 10.0,
    ) -> None:
        """Start the executor's thread.

        Args:
            receive: Stores a delivery in the run's records; returns the record that counts.
            give_up: Writes the record of a trial that lost too many nodes.
            lost: Returns the function that writes the record of a trial whose agent may have ended its node; None for
                trials that may run elsewhere.
            wrap: Makes a parcel from a submission.
            announce: Reports gained and lost nodes, in the executor's thread.
            grace: Seconds without any node after which waiting trials end without a result.
            patience: Seconds that `cancel_trials` waits.
        """
        super().__init__(cluster, announce)
        self._receive, self._give_up, self._lost, self._wrap = receive, give_up, lost, wrap
        self._pause, self._grace, self._patience = pause, grace, patience
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        """Serialises `submit` and `close`."""
        self._waiting: deque[Job] = deque()
        self._open: dict[Job, None] = {}
        """Jobs that are not done, in the order of their submission."""
        self._receivers = ThreadPoolExecutor(4, thread_name_prefix="deliveries")
        self._closed = self._cancelled = False
        self.when_wanting: Callable[[], None] = lambda: None
        """Called in the executor's thread when a node has a free slot that no waiting trial can use."""
        self._thread = threading.Thread(target=self._work, name="handing-out", daemon=True)
        self._thread.start()

    # --- for callers

    def submit(
        self, task: Task, agent: str, trial: int, *, browser: str = DEFAULT_BROWSER, node_id: str = "", **more: Any
    ) -> Future[TrialRecord]:
        """Run the trial; see `TrialExecutor.submit`. Further arguments are passed to ``wrap``."""
        with self._lock:
            if self._closed:
                raise RuntimeError(f"expected trials before the executor is closed, found {task.id} ({agent}) after it")
            parcel = self._wrap(task=task, agent=agent, trial=trial, browser=browser, node_id=node_id, **more)
            job = Job(parcel=parcel, more=more)
            job.future.add_done_callback(lambda future: self._events.put(partial(self._forget, job)))
            self._events.put(partial(self._take, job))
        return job.future

    def close(self, *, cancel: bool = False) -> None:
        """Accept no more trials; see `TrialExecutor.close`."""
        with self._lock:
            self._closed = True
        if cancel:
            self._events.put(self._cancel)
        self._events.put(lambda: None)
        self._join()

    def cancel_trials(self, end: Callable[[], None] = lambda: None) -> None:
        """Accept no more trials and end the running ones. Their futures raise `Cancelled`, and later results are
        dropped.

        Nodes send the existing files of their trials. ``end`` is called in addition.
        """
        with self._lock:
            first, self._cancelled = not self._cancelled, True
            self._closed = True
        if not first or not self._thread.is_alive():
            return
        end()
        counting, over = threading.Event(), threading.Event()
        self._events.put(partial(self._cancel_running, counting, over))
        if counting.wait(self._patience):
            over.wait(self._patience)
        self._events.put(self._abandon)
        self._join()

    def _join(self) -> None:
        """Wait for the thread, which may hang in a call to a lost cluster."""
        self._thread.join(3 * self._patience if self._cancelled else None)
        self._receivers.shutdown(wait=not self._thread.is_alive())

    def __enter__(self) -> ClusterExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(cancel=kind is not None)

    # --- the thread

    def _work(self) -> None:
        try:
            self._serve()
        except BaseException as error:  # a bug: waiting callers must get an error
            with self._lock:
                self._closed = True
            self.lost = f"dispatching trials to nodes failed: {type(error).__name__}: {error}"
            self.ready.set()
            while not self._events.empty():
                with suppress(Exception):
                    self._events.get_nowait()()
            for job in list(self._open):
                self._resolve(job, error=job.broken or HarnessError(self.lost))

    def _serve(self) -> None:
        next_look = 0.0
        while not (self._closed and not self._open and self._events.empty()):
            if (now := time.monotonic()) >= next_look:
                self._look()
                next_look = now + self._pause
            with suppress(queue.Empty):
                self._events.get(timeout=max(0.0, next_look - time.monotonic()))()
                while True:  # process all further events
                    self._events.get_nowait()()
            self._hand_out()
            if self._waiting and any(helper.free for helper in self._helpers.values()):
                self.when_wanting()

    def _later(self, future: Future[Any], then: Callable[[Future[Any]], None]) -> None:
        """Call ``then`` in this thread when the future is done."""
        future.add_done_callback(lambda done: self._events.put(partial(then, done)))

    def _take(self, job: Job) -> None:
        if not job.future.cancelled():
            self._open[job] = None
            self._waiting.append(job)

    def _forget(self, job: Job) -> None:
        self._open.pop(job, None)
        with suppress(ValueError):
            self._waiting.remove(job)

    def _cancel(self) -> None:
        for job in list(self._open):
            job.future.cancel()  # has no effect on trials that have begun

    # --- trials

    def _hand_out(self) -> None:
        later: deque[Job] = deque()
        while self._waiting:
            job = self._waiting.popleft()
            if job.resolved or job.future.cancelled():
                continue
            helper = self._free_for(job)
            if helper is None:
                if not self._hopeless(job):
                    later.append(job)
                if not any(each.free for each in self._helpers.values()):
                    break
            elif job.begun or job.future.set_running_or_notify_cancel():
                job.begun = True
                self._send(job, helper)
        self._waiting.extendleft(reversed(later))

    def _free_for(self, job: Job) -> Helper | None:
        """The suitable node with the most free slots; None if there is none."""
        suited = [helper for helper in self._helpers.values() if helper.suits(job)]
        if not suited and not self._joining:  # all nodes report missing sites: try anyway
            suited = [helper for helper in self._helpers.values() if helper.lack_of(job) is None]
        free_helpers = [helper for helper in suited if helper.free]
        if job.losses >= LOSSES - 1:  # a trial that may have killed nodes runs alone
            free_helpers = [helper for helper in free_helpers if not helper.playing]
        return max(free_helpers, key=lambda helper: helper.free, default=None)

    def _hopeless(self, job: Job) -> bool:
        """Whether no node can run the trial, or none has been available for long; its future then gets the error."""
        error: Exception | None = None
        if self.lost and not any(helper.playing for helper in self._helpers.values()):
            error = HarnessError(self.lost)
        elif self._helpers and not self._joining:
            obstacles = [helper.lack_of(job) for helper in self._helpers.values()]
            if None not in obstacles:
                error = obstacles[0]
        elif not self._helpers and time.monotonic() - self._alone_since > self._grace:
            reasons = "".join(f"; {why}" for why in dict.fromkeys(self._refused.values()))
            error = HarnessError(f"expected a node to run trials, found none for {self._grace:g} s{reasons}")
        if error is not None:
            self._resolve(job, error=error)
        return error is not None

    def _send(self, job: Job, helper: Helper) -> None:
        token = uuid.uuid4().hex
        helper.playing[token] = job
        helper.alone = job.losses >= LOSSES - 1
        try:
            playing = self._cluster.play(helper.member.id, token, job.parcel)
        except Exception as error:  # the parcel cannot be sent
            del helper.playing[token]
            helper.alone = False
            self._resolve(job, error=error)
            return
        self._later(playing, partial(self._played, job, helper, token))

    def _played(self, job: Job, helper: Helper, token: str, playing: Future[Delivery]) -> None:
        if helper.playing.pop(token, None) is None:  # the node is lost or silent, and the trial was given back
            if token in helper.in_doubt and not playing.exception():  # its delivery was in transit
                del helper.in_doubt[token]
                self._delivered(job, helper, playing)
            return
        helper.alone = False
        error = playing.exception()
        if isinstance(error, NodeSilent):
            helper.playing[token] = job
            self._fall_silent(helper)
        elif isinstance(error, NodeGone):
            helper.playing[token] = job
            self._end_of(helper)
        else:
            self._deaths.pop(helper.member.id, None)
            self._delivered(job, helper, playing)

    def _delivered(self, job: Job, helper: Helper, playing: Future[Delivery]) -> None:
        try:
            delivery = playing.result()
        except BaseException as error:  # raised by the trial itself
            delivery = Delivery(error=error)
        if job.resolved:
            self.tally.drop(delivery)
            return
        if isinstance(delivery.error, SiteMissing) and delivery.record is None:
            helper.lacks[frozenset(job.parcel.task.sites)] = delivery.error
            self._waiting.appendleft(job)  # another node may have the sites
            return
        job.resolved = True  # later deliveries are duplicates
        received = self._receivers.submit(self._received, job, delivery)
        self._later(received, partial(self._is_received, job))

    def _received(self, job: Job, delivery: Delivery) -> TrialRecord:
        if delivery.error is not None and not delivery.archive:
            raise delivery.error
        return self._receive(job, delivery)

    def _is_received(self, job: Job, received: Future[TrialRecord]) -> None:
        error = received.exception()
        if error is not None:
            self._resolve(job, error=error)
        else:
            self._resolve(job, record=received.result())

    def _give_back(self, job: Job, helper: Helper, why: str) -> None:
        """Send the trial to another node, up to a limit; that does not count as one of its retries."""
        if job.resolved:
            return
        job.losses += 1
        self.tally.given_back += 1
        if self._closed and isinstance(job.broken, Cancelled):
            self._resolve(job, error=job.broken)
        elif job.losses >= LOSSES:
            job.resolved = True
            message = (
                f"the trial was lost with its node {job.losses} times, the last time alone on {helper.member.name}, "
                f"which {why}" + ("; the trial may have caused this" if why != SILENT else "")
            )
            received = self._receivers.submit(self._give_up, job, message)
            self._later(received, partial(self._is_received, job))
        else:
            self._waiting.appendleft(job)

    def _is_agents(self, job: Job) -> bool:
        return self._lost(job) is not None

    def _end_undecided(self, job: Job) -> None:
        if job.resolved:
            return
        if (write := self._lost(job)) is None:
            self._waiting.appendleft(job)
            return
        job.resolved = True
        self.tally.undecided += 1
        self._later(self._receivers.submit(write), partial(self._is_received, job))

    def _resolve(self, job: Job, *, record: TrialRecord | None = None, error: BaseException | None = None) -> None:
        job.resolved = True
        self._open.pop(job, None)
        with suppress(InvalidStateError):
            if not job.begun:
                job.future.set_running_or_notify_cancel()
            if error is not None:
                job.future.set_exception(error)
            else:
                assert record is not None
                job.future.set_result(record)

    # --- the end

    def _cancel_running(self, counting: threading.Event, over: threading.Event) -> None:
        self._cancel()
        for job in self._open:
            job.broken = Cancelled("the run was cancelled during this trial")
        self._waiting.clear()  # trials that were given back
        running = {job.future for helper in self._helpers.values() for job in helper.playing.values()}
        for node in self._helpers:
            self._cluster.cancel_trials(node)
        if not running:
            over.set()

        def count(future: Future[Any]) -> None:
            running.discard(future)
            if not running:
                over.set()

        for future in list(running):
            future.add_done_callback(count)
        counting.set()

    def _abandon(self) -> None:
        for job in list(self._open):
            self._resolve(job, error=job.broken or Cancelled("the run was cancelled during this trial"))
