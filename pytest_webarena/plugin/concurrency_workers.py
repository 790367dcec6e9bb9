"""``--concurrency`` with ``-n``: the loop of an xdist worker, whose items arrive while trials run."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from pytest_webarena.plugin.concurrency import Loop
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.prefetched_trial import record_started
from pytest_webarena.plugin.stash import PREFETCHED, RUN
from pytest_webarena.plugin.xdist import send_serial, worker_id

if TYPE_CHECKING:
    import pytest

__all__ = ["WorkerLoop"]


class WorkerLoop(Loop):
    """Replaces `xdist.remote.WorkerInteractor.pytest_runtestloop`, whose channel and queue it uses.

    Items that can't be prefetched are reported when no trial is running. The last item tears down the session's
    fixtures, so no item is reported as the last one until the controller says that there are no more.
    """

    def __init__(self, session: pytest.Session, cluster: None = None) -> None:
        super().__init__(session)
        self._xdist = _interactor(session.config)
        self._index = {item: index for index, item in enumerate(session.items)}
        self._can_wait = set(self._ahead)
        self._left = []
        """Items that were received and not reported yet."""
        self._waiting: deque[TaskItem] = deque()
        self._alone: deque[pytest.Item] = deque()
        """Items to report when no trial is running."""
        self._last = False
        """Whether the controller has no more items."""

    def run(self) -> None:
        """Report all items that are received."""
        self._xdist.channel.setcallback(self._receive_command, endmarker=_end(self._xdist))
        while True:
            self._take()
            self._begin_some(self._waiting)
            if self._in_flight:
                if (over := self._next_over()) is not None:
                    self._report(over)
            elif self._alone:
                while self._alone:  # all, because they occupy the quota for trials
                    self._report(self._alone.popleft())
            elif self._last:
                return
            else:
                self._over.get()

    def _receive_command(self, command: Any) -> None:
        """Receive a command, in the channel's own thread."""
        self._xdist.handle_command(command)
        self._over.put(None)

    def _take(self) -> None:
        """Take the items that have been received since and were not reassigned."""
        with self._xdist.torun.lock() as handed_out:
            taken = list(handed_out)
            handed_out.clear()
        for each in taken:
            if not isinstance(each, int):
                self._last = True
                continue
            item = self._session.items[each]
            self._left.append(item)
            if isinstance(item, TaskItem) and item in self._can_wait:
                self._waiting.append(item)
            else:
                self._alone.append(item)

    def _following(self) -> pytest.Item | None:
        self._take()
        while not self._left and not self._last:
            self._over.get()  # no trial is running, so only a command can arrive
            self._take()
        return super()._following()

    def _report(self, item: pytest.Item) -> None:
        self._xdist.item_index = index = self._index[item]
        if PREFETCHED not in item.stash:
            self._begins(item)
        began = time.perf_counter()
        try:
            super()._report(item)
        finally:
            self._xdist.sendevent("runtest_protocol_complete", item_index=index, duration=time.perf_counter() - began)

    def _begins(self, item: pytest.Item) -> None:
        record_started(self._session.config.stash[RUN], worker_id(self._session.config), self._index[item])

    def _report_serial(self, reasons: Counter[str]) -> None:
        send_serial(self._session.config, reasons)


def _interactor(config: pytest.Config) -> Any:
    """xdist's worker plugin, which has no registered name."""
    return next(plugin for plugin in config.pluginmanager.get_plugins() if type(plugin).__name__ == "WorkerInteractor")


def _end(interactor: Any) -> Any:
    """The end marker of xdist's queue. Workers run a copy of `xdist.remote`, which has its own marker."""
    return type(interactor).handle_command.__globals__["Marker"].SHUTDOWN
