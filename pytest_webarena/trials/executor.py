"""Where trials are executed: `TrialExecutor` takes one and promises its record; the serial one plays it at once."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol

from pytest_webarena.results.records import DEFAULT_BROWSER

if TYPE_CHECKING:
    from types import TracebackType

    from pytest_webarena.results import TrialRecord
    from pytest_webarena.tasks.model import Task

__all__ = ["SerialExecutor", "TrialExecutor", "TrialRunner"]


class TrialRunner(Protocol):
    """What plays one trial from beginning to end: a worker's `Runtime`, or the `Rescorer` in its place."""

    def run(self, task: Task, agent: str, trial: int, *, browser: str, node_id: str) -> TrialRecord:
        """Play one trial and write its record."""


class TrialExecutor(Protocol):
    """Plays trials somewhere: in this thread, in others, on other machines. Use as a context manager.

    What all executors hold to, and `tests/unit/trials/test_executor.py` runs each of them through:

    - Trials begin in the order of their submission. How many are under way at a time is the executor's own affair.
    - A future's result is the record that counts, whatever the outcome: a trial that failed, or ended in an error of
      the environment, has a record like any other, and is no exception.
    - An exception of the future means that there is no record: `SiteMissing` when a site is not there to be tried,
      `OSError` when records can't be written, `UsageError` for an agent that can't be made. It concerns this trial
      alone; the others go on.
    - ``Future.cancel`` keeps a trial from beginning, and then nothing is left of it; once it has begun it is too late
      (False), for a trial is never cut off in the middle: its own time limit ends it.
    - What is no `Exception` (``KeyboardInterrupt``, ``SystemExit``, an outcome that a plugin of pytest raises) is
      nobody's result. It is raised where it comes up, from `submit` or from the waiting for a future; a trial that it
      cut off has no record that counts, and the executor remains usable.
    - Arguments and records are values that can be pickled. Whatever else a trial needs, its runner has on its side.
    """

    def submit(
        self, task: Task, agent: str, trial: int, *, browser: str = DEFAULT_BROWSER, node_id: str = ""
    ) -> Future[TrialRecord]:
        """Have the ``trial``-th try of ``agent`` at ``task`` played in ``browser``. ``RuntimeError`` after `close`.

        ``node_id`` is how pytest calls the trial, for its record.
        """

    def close(self, *, cancel: bool = False) -> None:
        """Take no more trials, and return when none is under way: afterwards every future is done.

        Those that have not begun are played first, or never with ``cancel``. Calling it again does nothing. Runners
        belong to whoever made them, and must outlive this call.
        """

    def __enter__(self) -> TrialExecutor: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close; with ``cancel`` when the block was left by an exception, an interrupt above all."""


class SerialExecutor:
    """Plays each trial while it is submitted, in the thread that submits it: the future is done when it is returned.

    So signals of the system reach the trial (Ctrl-C, the alarm of pytest-timeout), nothing can wait for nothing, and
    there is never anything to cancel.
    """

    def __init__(self, runner: TrialRunner) -> None:
        self._runner = runner
        self._closed = False

    def submit(
        self, task: Task, agent: str, trial: int, *, browser: str = DEFAULT_BROWSER, node_id: str = ""
    ) -> Future[TrialRecord]:
        """Play the trial; see `TrialExecutor.submit`."""
        if self._closed:
            raise RuntimeError(f"expected trials before the executor is closed, found {task.id} ({agent}) after it")
        future: Future[TrialRecord] = Future()
        future.set_running_or_notify_cancel()
        try:
            record = self._runner.run(task, agent, trial, browser=browser, node_id=node_id)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(record)
        return future

    def close(self, *, cancel: bool = False) -> None:
        """Take no more trials; none is under way."""
        self._closed = True

    def __enter__(self) -> SerialExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(cancel=kind is not None)
