"""Scheduling of items by xdist's controller to workers with several running trials (``-n`` with ``--concurrency``)."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScheduling

from pytest_webarena.plugin.prefetched_trial import read_started
from pytest_webarena.plugin.run_start import run_info

__all__ = ["ConcurrencyScheduling"]


class ConcurrencyScheduling(LoadScheduling):  # type: ignore[misc]  # xdist's scheduler has no types that mypy sees
    """Gives a worker as many items as it can start, and another one for each that is reported.

    So no worker holds items that others could run. All running trials of a worker that dies are lost and reported as
    crashed. The cause is unknown, and another worker might die from them too. Items that it had not started go to
    others.
    """

    def __init__(self, config: Any, log: Any, width: int) -> None:
        super().__init__(config, log)
        self._most = width + max(1, width // 8) + 1
        """Maximum of items per worker: started ones (`concurrency.Loop`), and one more.

        xdist's workers need to know the next item.
        """
        self.maxschedchunk = self._most

    def schedule(self) -> None:
        """Give each worker its first items."""
        super().schedule()
        if self.collection is not None:
            for node in self.nodes:
                self.check_schedule(node)

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Fill a worker up; shut it down when no items are left."""
        if node.shutting_down:
            return
        if not self.pending:
            node.shutdown()
        elif (free_places := self._most - len(self.node2pending[node])) > 0:
            self._send_tests(node, free_places)

    def remove_node(self, node: Any) -> str | None:
        """Remove a worker that has ended. One running item is reported by xdist, the others by this method.

        Items that were assigned but not started are reassigned; tests that are not tasks wait there until no trial
        runs.
        """
        pending = self.node2pending.get(node, [])
        if not pending or node not in self.node2collection:
            result: str | None = super().remove_node(node)
            return result
        begun = read_started(run_info(self.config), node.gateway.id)
        in_flight = [index for index in pending if index in begun] or pending[:1]
        pending[:] = [in_flight[0], *(index for index in pending if index not in in_flight)]
        session = self.config.pluginmanager.get_plugin("dsession")
        crashed: str | None = super().remove_node(node)
        for index in in_flight[1:]:
            session.handle_crashitem(self._name(index), node)
        return crashed

    def _name(self, index: int) -> str:
        assert self.collection is not None
        name: str = self.collection[index]
        return name
