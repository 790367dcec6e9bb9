"""``--concurrency`` with ``-n``: the loop of an xdist worker, whose items arrive while trials run."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from pytest_webarena.plugin.concurrency import Loop
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.prefetched_trial import record_started
from pytest_webarena.plugin.stash import BEGUN, RUN
from pytest_webarena.plugin.xdist import send_serial, worker_id

if TYPE_CHECKING:
    import pytest

__all__ = ["WorkerLoop"]


class WorkerLoop(Loop):
    """In place of `xdist.remote.WorkerInteractor.pytest_runtestloop`, whose channel and queue it uses.

    Items that can't be played ahead are reported when nothing is in flight. No item is reported as the last one, which
    takes down the fixtures of the session, until the controller has said that none comes any more.
    """

    def __init__(self, session: pytest.Session, cluster: None = None) -> None:
        super().__init__(session)
        self._xdist = _interactor(session.config)
        self._index = {item: index for index, item in enumerate(session.items)}
        self._can_wait = set(self._ahead)
        self._left = []
        """Items that were handed out, and not reported yet."""
        self._waiting: deque[TaskItem] = deque()
        self._alone: deque[pytest.Item] = deque()
        """To be reported when nothing is in flight."""
        self._last = False
        """The controller has no more items."""

    def run(self) -> None:
        """Have all items reported that are handed out."""
        self._xdist.channel.setcallback(self._hear, endmarker=_end(self._xdist))
        while True:
            self._take()
            self._begin_some(self._waiting)
            if self._in_flight:
                if (over := self._next_over()) is not None:
                    self._report(over)
            elif self._alone:
                while self._alone:  # all of them: else they fill what is handed out, and trials come one by one, too
                    self._report(self._alone.popleft())
            elif self._last:
                return
            else:
                self._over.get()

    def _hear(self, command: Any) -> None:
        """In the channel's own thread."""
        self._xdist.handle_command(command)
        self._over.put(None)

    def _take(self) -> None:
        """What has been handed out since, and was not stolen."""
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
            self._over.get()  # nothing is in flight: it can but be a command
            self._take()
        return super()._following()

    def _report(self, item: pytest.Item) -> None:
        self._xdist.item_index = index = self._index[item]
        if BEGUN not in item.stash:
            self._begins(item)
        began = time.perf_counter()
        try:
            super()._report(item)
        finally:
            self._xdist.sendevent("runtest_protocol_complete", item_index=index, duration=time.perf_counter() - began)

    def _begins(self, item: pytest.Item) -> None:
        record_started(self._session.config.stash[RUN], worker_id(self._session.config), self._index[item])

    def _tell(self, reasons: Counter[str]) -> None:
        send_serial(self._session.config, reasons)


def _interactor(config: pytest.Config) -> Any:
    """xdist's side of the worker: it has no name to ask for."""
    return next(plugin for plugin in config.pluginmanager.get_plugins() if type(plugin).__name__ == "WorkerInteractor")


def _end(interactor: Any) -> Any:
    """What xdist's queue ends with. Workers run a copy of `xdist.remote`, with a marker of its own."""
    return type(interactor).handle_command.__globals__["Marker"].SHUTDOWN
