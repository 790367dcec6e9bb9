"""``--concurrency``: pytest's loop for trials that start before their items and are reported when they end."""

from __future__ import annotations

import queue
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import WebArenaError
from pytest_webarena.plugin import outputs, ray_dispatch
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.prefetch_choice import Agents, serial_lines, why_serial
from pytest_webarena.plugin.prefetched_trial import PrefetchedTrial
from pytest_webarena.plugin.runner import may_begin
from pytest_webarena.plugin.stash import CONTROLLER, PREFETCHED, SETTINGS, WORKER
from pytest_webarena.text import printable
from pytest_webarena.trials.hung_agent import without_alarms
from pytest_webarena.trials.threaded_executor import ThreadedExecutor

if TYPE_CHECKING:
    from pytest_webarena.cluster.executor import ClusterExecutor
    from pytest_webarena.results import TrialRecord
    from pytest_webarena.tasks.model import Task

__all__ = ["Loop", "run_concurrent"]

_AHEAD = 16
"""Maximum of started trials as a multiple of the executor's width, where nodes have different sites."""


def run_concurrent(session: pytest.Session, kind: type[Loop]) -> bool:
    """Run the session's items in a loop of this kind, instead of pytest's own."""
    if session.testsfailed and not session.config.option.continue_on_collection_errors:
        raise session.Interrupted(f"{session.testsfailed} error{'s' * (session.testsfailed != 1)} during collection")
    cluster_context = ray_dispatch.opened(session) if session.config.stash[SETTINGS].ray is not None else nullcontext()
    with without_alarms(), outputs.separate_outputs(session.config), cluster_context as cluster:
        loop = kind(session, cluster)
        session.config.pluginmanager.register(loop, "webarena-concurrency")
        try:
            loop.run()
        except BaseException:
            loop.cancel_trials()
            raise
        finally:
            loop.close()
            session.config.pluginmanager.unregister(loop)
    return True


class _Runner:
    """Runs each trial in the runtime of its own item."""

    def run(
        self,
        task: Task,
        agent: str,
        trial: int,
        *,
        browser: str,
        node_id: str,
        runtime: Any,
        output: outputs.Output,
        begins: Callable[[], None],
    ) -> TrialRecord:
        begins()
        with outputs.inside(output):
            record: TrialRecord = runtime.run(task, agent, trial, browser=browser, node_id=node_id)
        return record


class Loop:
    """Runs one session's items: those before the first trial that can be prefetched, all such trials, and the rest."""

    def __init__(self, session: pytest.Session, cluster: ray_dispatch.RayDispatch | None = None) -> None:
        """Create the loop. ``cluster`` runs the trials; None: this machine does."""
        self._session = session
        self._settings = session.config.stash[SETTINGS]
        self._cluster = cluster
        self._executor: ThreadedExecutor | ClusterExecutor = (
            ThreadedExecutor(_Runner(), self._settings.concurrency) if cluster is None else cluster.executor
        )
        self._over: queue.SimpleQueue[TaskItem | None] = queue.SimpleQueue()
        """Items whose trials have finished, in this order; None wakes the loop for another reason."""
        self._in_flight: dict[TaskItem, Future[TrialRecord]] = {}
        self._agents = Agents()
        self._cancelled = False
        self._torn_down: list[BaseException] = []
        """Exceptions of fixtures that were torn down when an item in another place started."""
        self._before, self._ahead, self._after = self._sorted()
        self._left = [*self._before, *self._ahead, *self._after]
        """Items that have not been reported yet."""
        self._wanting = threading.Event()
        """Set when a node has capacity that no waiting trial can use."""
        if cluster is not None:
            cluster.executor.when_wanting = self._want

    def run(self) -> None:
        """Report all items."""
        for item in self._before:
            self._report(item)
        controller = self._session.config.stash[CONTROLLER]
        if controller.progress is not None and self._ahead:
            controller.progress.start()  # the first item starts only when the first trial has finished
        waiting = deque(self._ahead)
        while waiting or self._in_flight:
            self._print_cluster_news()
            self._begin_some(waiting)
            if self._in_flight and (over := self._next_over()) is not None:
                self._report(over)
        for item in self._after:
            self._report(item)
        self._print_cluster_news()

    @property
    def _most(self) -> int:
        """Maximum of started trials, so that no thread waits for a report; it grows when nodes join."""
        return self._executor.width + max(1, self._executor.width // 8)

    def _want(self) -> None:
        """Called in the executor's thread; wakes the loop at most once per trial that starts as a result."""
        if not self._wanting.is_set():
            self._wanting.set()
            self._over.put(None)

    def _is_wanted(self) -> bool:
        """Whether to start one more trial, within limits, for nodes that lack the sites of all waiting ones."""
        wanted = self._wanting.is_set() and len(self._in_flight) < _AHEAD * self._most
        self._wanting.clear()
        return wanted

    def _print_cluster_news(self) -> None:
        """Print changes of nodes; interrupt the run when no node is left."""
        if self._cluster is None:
            return
        for line in self._cluster.news():
            self._say(line)
        if self._cluster.executor.lost:
            raise self._session.Interrupted(f"ray: {self._cluster.executor.lost}")

    def close(self) -> None:
        """End the threads, which have no work left."""
        if not self._cancelled:
            self._executor.close(cancel=True)

    def cancel_trials(self) -> None:
        """End the running trials without records; the end of the run then reports them."""
        if self._cancelled:
            return
        self._cancelled = True
        if (controller := self._session.config.stash.get(CONTROLLER, None)) is not None:
            controller.record_cancellation()
        worker = self._session.config.stash.get(WORKER, None)
        self._executor.cancel_trials(worker.cancel_trials if worker is not None else lambda: None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, nextitem: pytest.Item | None) -> None:
        """End running trials before session fixtures are torn down (``-x``), so that their browser exists until
        then."""
        if nextitem is None and (self._session.shouldfail or self._session.shouldstop):
            self.cancel_trials()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Tear down the fixtures of other files and folders, because the next item is only known now.

        Exceptions of those fixtures, now or when a trial started, become an error of this item; pytest reports them
        with the item before.
        """
        self._tear_down_for(item)
        if self._torn_down:
            raise self._torn_down.pop(0)

    def _tear_down_for(self, item: pytest.Item) -> None:
        try:
            self._session._setupstate.teardown_exact(item)
        except Exception as error:
            self._torn_down.append(error)

    def _sorted(self) -> tuple[list[pytest.Item], list[TaskItem], list[pytest.Item]]:
        before: list[pytest.Item] = []
        ahead: list[TaskItem] = []
        after: list[pytest.Item] = []
        reasons: Counter[str] = Counter()
        for item in self._session.items:
            why = why_serial(item, self._agents) if isinstance(item, TaskItem) else "-"
            if isinstance(item, TaskItem) and not why:
                ahead.append(item)
                continue
            (after if ahead else before).append(item)
            reasons[why] += 1
        del reasons["-"]
        self._report_serial(reasons)
        return before, ahead, after

    def _report_serial(self, reasons: Counter[str]) -> None:
        """Print why trials run one at a time."""
        self._say(*serial_lines(reasons))

    def _say(self, *lines: str) -> None:
        reporter: Any = self._session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and lines:
            reporter.ensure_newline()
            for line in lines:
                reporter.write_line(printable(line))

    def _begin_some(self, waiting: deque[TaskItem]) -> None:
        """Start as many waiting trials as there is capacity for, or as nodes want."""
        while waiting and (len(self._in_flight) < self._most or self._is_wanted()):
            if (item := self._next_of(waiting)) is None:
                return
            if not self._begin(item):
                self._report(item)  # the item reports the reason

    def _next_of(self, waiting: deque[TaskItem]) -> TaskItem | None:
        """Remove and return the first waiting item that can start.

        Trials that share a memory run one after the other in their order, while others use the free capacity.
        """
        taken = {self._agents.memory(item) for item in self._in_flight} - {None}
        for item in waiting:
            if self._agents.memory(item) not in taken:
                waiting.remove(item)
                return item
        return None

    def _begin(self, item: TaskItem) -> bool:
        """Start the item's trial. Returns False where it must not run; the item then reports the reason."""
        output = outputs.Output()
        try:
            with self._set_up(item):
                runtime = may_begin(item)
        except (KeyboardInterrupt, SystemExit, pytest.exit.Exception):
            raise
        except BaseException:  # pytest's outcomes too: the item raises the same when it runs
            return False
        if runtime is None:
            return False
        try:
            future = self._executor.submit(
                item.task,
                item.agent_name,
                item.trial,
                browser=item.browser,
                node_id=item.nodeid,
                runtime=runtime,
                output=output,
                begins=partial(self._begins, item),
            )
        except WebArenaError:  # likewise; other exceptions are not caught: they must not disable concurrency silently
            return False
        item.stash[PREFETCHED] = PrefetchedTrial(future=future, runtime=runtime, output=output)
        self._in_flight[item] = future
        future.add_done_callback(partial(self._is_over, item))
        return True

    def _begins(self, item: pytest.Item) -> None:
        """Called in the trial's thread when it starts, possibly after waiting for one."""

    def _next_over(self) -> TaskItem | None:
        """The next finished item, or None after a while.

        The timeout lets the loop use new capacity, and lets Ctrl-C interrupt it where the system hands the signal to
        another thread.
        """
        with suppress(queue.Empty):
            return self._over.get(timeout=1.0)
        return None

    def _is_over(self, item: TaskItem, future: Future[TrialRecord]) -> None:
        self._over.put(item)

    @contextmanager
    def _set_up(self, item: TaskItem) -> Iterator[None]:
        """Set up the item's fixtures within the block; they are set up again when the item is reported."""
        state = self._session._setupstate
        capture: Any = item.config.pluginmanager.get_plugin("capturemanager")
        with capture.item_capture("setup", item) if capture is not None else nullcontext():
            self._tear_down_for(item)
            if not getattr(item, "_request", None):
                item._initrequest()
            try:
                state.setup(item)
                yield
            finally:
                state.teardown_exact(item.parent)  # type: ignore[arg-type]  # keeps the fixtures of its module
                item._request = False  # type: ignore[assignment]  # as pytest leaves it
                item.funcargs = None  # type: ignore[assignment]

    def _following(self) -> pytest.Item | None:
        """An item that will be reported later; None when this is the last one."""
        return next(iter(self._left), None)

    def _report(self, item: pytest.Item) -> None:
        """Run pytest's own protocol for one item."""
        session = self._session
        self._left.remove(item)
        if isinstance(item, TaskItem):
            self._in_flight.pop(item, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=self._following())
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
