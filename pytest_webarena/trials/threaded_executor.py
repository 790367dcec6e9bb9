"""An executor that runs many trials concurrently in one process, each in its own thread."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pytest_webarena.results.records import DEFAULT_BROWSER
from pytest_webarena.trials.cancellation import Cancelled

if TYPE_CHECKING:
    from types import TracebackType

    from pytest_webarena.results import TrialRecord
    from pytest_webarena.tasks.model import Task

__all__ = ["ThreadedExecutor", "cores", "thread_number"]

_own = threading.local()


class _Runs(Protocol):
    @property
    def run(self) -> Callable[..., TrialRecord]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A submitted trial."""

    future: Future[TrialRecord]
    play: Callable[[], TrialRecord]


class ThreadedExecutor:
    """Runs up to ``width`` trials at a time; see `executor.TrialExecutor`.

    Its threads are daemons, so that a hanging agent or browser does not keep the process from ending.
    """

    def __init__(
        self,
        runner: _Runs,
        width: int,
        *,
        around: Callable[[str], AbstractContextManager[object]] = lambda node_id: nullcontext(),
        patience: float = 10.0,
    ) -> None:
        """Start no threads yet; `submit` starts them.

        ``runner`` is a `TrialRunner`, or takes further arguments (`submit`). ``around`` is entered around each trial,
        in its thread, with its node id. ``patience`` is the time in seconds that `cancel_trials` waits for trials to
        end.
        """
        if width < 1:
            raise ValueError(f"expected room for at least one trial, found {width}")
        self._runner = runner
        self.width = width
        self._around = around
        self._patience = patience
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        """Number of idle threads minus the number of jobs that no thread has taken."""
        self._open: dict[Future[TrialRecord], None] = {}
        """Futures that are not done, in the order of their submission."""
        self._closed = False

    def submit(
        self,
        task: Task,
        agent: str,
        trial: int,
        *,
        browser: str = DEFAULT_BROWSER,
        node_id: str = "",
        **more: Any,
    ) -> Future[TrialRecord]:
        """Run the trial; see `TrialExecutor.submit`. Further arguments are passed to the runner."""

        def play() -> TrialRecord:
            with self._around(node_id):
                return self._runner.run(task, agent, trial, browser=browser, node_id=node_id, **more)

        future: Future[TrialRecord] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError(f"expected trials before the executor is closed, found {task.id} ({agent}) after it")
            self._open[future] = None
            future.add_done_callback(self._is_done)
            self._jobs.put(_Job(future=future, play=play))
            self._idle -= 1
            if self._idle < 0 and len(self._threads) < self.width:
                number = len(self._threads) + 1
                thread = threading.Thread(target=self._work, args=(number,), name=f"trials-{number}", daemon=True)
                self._threads.append(thread)
                self._idle += 1
                thread.start()
        return future

    def close(self, *, cancel: bool = False) -> None:
        """Accept no more trials; see `TrialExecutor.close`."""
        self._shut(cancel=cancel)
        for thread in self._threads:
            thread.join()

    def cancel_trials(self, end: Callable[[], None] = lambda: None) -> None:
        """Accept no more trials and end the running ones. Their futures raise `Cancelled`, and later results are
        dropped.

        ``end`` makes the runner end its trials (`Runtime.cancel_trials`). Trials that are still running
        after ``patience`` are abandoned: their runner must write no record of them.
        """
        self._shut(cancel=True)
        end()
        deadline = threading.Event()
        timer = threading.Timer(self._patience, deadline.set)
        timer.daemon = True
        timer.start()
        for thread in self._threads:
            while thread.is_alive() and not deadline.is_set():
                thread.join(0.05)
        timer.cancel()
        with self._lock:
            unfinished = list(self._open)
        for future in unfinished:
            with suppress(InvalidStateError):
                future.set_exception(Cancelled("the run was cancelled during this trial"))

    def _shut(self, *, cancel: bool) -> None:
        with self._lock:
            first, self._closed = not self._closed, True
            waiting = list(self._open) if cancel else []
        for future in waiting:
            future.cancel()  # has no effect on trials that have begun
        if first:
            for _ in range(self.width):
                self._jobs.put(None)

    def _is_done(self, future: Future[TrialRecord]) -> None:
        self._open.pop(future, None)

    def _work(self, number: int) -> None:
        _own.number = number
        while (job := self._jobs.get()) is not None:
            if job.future.set_running_or_notify_cancel():
                self._play(job)
            with self._lock:
                self._idle += 1

    def _play(self, job: _Job) -> None:
        try:
            record = job.play()
        except BaseException as error:  # includes KeyboardInterrupt and the like, raised where the future is awaited
            with suppress(InvalidStateError):
                job.future.set_exception(error)
        else:
            with suppress(InvalidStateError):  # the trial was abandoned, so a late record does not count
                job.future.set_result(record)

    def __enter__(self) -> ThreadedExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(cancel=kind is not None)


def thread_number() -> int:
    """Number of this thread in its executor, from 1; 0 for every other thread."""
    number: int = getattr(_own, "number", 0)
    return number


def cores() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
