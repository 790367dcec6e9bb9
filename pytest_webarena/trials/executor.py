"""Where trials are executed: `TrialExecutor` is the protocol, `SerialExecutor` runs each trial at once in the same
thread."""

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
    """Runs one trial from beginning to end: a worker's `Runtime`, or the `Rescorer` in its place."""

    def run(self, task: Task, agent: str, trial: int, *, browser: str, node_id: str) -> TrialRecord:
        """Run one trial and write its record."""


class TrialExecutor(Protocol):
    """Runs trials in this thread, in others, or on other machines. Use as a context manager.

    All executors follow these rules, which `tests/unit/trials/test_executor.py` checks for each of them:

    - Trials begin in the order of their submission. Each executor decides how many run at a time.
    - A future's result is the record that counts, whatever the outcome: a trial that failed, or ended in an error of
      the environment, has a record like any other and raises nothing.
    - An exception of the future means that there is no record: `SiteMissing` when a site is not available to be tried,
      `OSError` when records cannot be written, `UsageError` for an agent that cannot be made. It concerns this trial
      only; the others continue.
    - ``Future.cancel`` prevents a trial from beginning, and then no trace of it is left. It returns False once the
      trial has begun: a running trial is ended by its own time limit only.
    - What is no `Exception` (``KeyboardInterrupt``, ``SystemExit``, an outcome that a plugin of pytest raises) is no
      future's result. It is raised where it occurs, from `submit` or from waiting for a future. A trial that it
      interrupted has no record that counts, and the executor remains usable.
    - Arguments and records can be pickled. Everything else that a trial needs belongs to its runner.
    """

    def submit(
        self, task: Task, agent: str, trial: int, *, browser: str = DEFAULT_BROWSER, node_id: str = ""
    ) -> Future[TrialRecord]:
        """Run trial number ``trial`` of ``agent`` at ``task`` in ``browser``. `RuntimeError` after `close`.

        ``node_id`` is pytest's id of the trial, for its record.
        """

    def close(self, *, cancel: bool = False) -> None:
        """Accept no more trials, and return when none is running: afterwards every future is done.

        Trials that have not begun are run first, or dropped with ``cancel``. Calling it again does nothing. Runners
        belong to their creator and must outlive this call.
        """

    def __enter__(self) -> TrialExecutor: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close; with ``cancel`` when the block was left by an exception, such as an interrupt."""


class SerialExecutor:
    """Runs each trial while it is submitted, in the submitting thread: the returned future is done.

    So signals reach the trial (Ctrl-C, the alarm of pytest-timeout), no deadlock is possible, and there is nothing to
    cancel.
    """

    def __init__(self, runner: TrialRunner) -> None:
        self._runner = runner
        self._closed = False

    def submit(
        self, task: Task, agent: str, trial: int, *, browser: str = DEFAULT_BROWSER, node_id: str = ""
    ) -> Future[TrialRecord]:
        """Run the trial; see `TrialExecutor.submit`."""
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
        """Accept no more trials; none is running."""
        self._closed = True

    def __enter__(self) -> SerialExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(cancel=kind is not None)
