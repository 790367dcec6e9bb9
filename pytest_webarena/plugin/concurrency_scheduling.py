"""How xdist's controller hands items out to workers with several trials in flight (``-n`` with ``--concurrency``)."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScheduling

from pytest_webarena.plugin.prefetched_trial import read_started
from pytest_webarena.plugin.run_start import run_info

__all__ = ["ConcurrencyScheduling"]


class ConcurrencyScheduling(LoadScheduling):  # type: ignore[misc]  # xdist's scheduler has no types that mypy sees
    """As many items as a worker can begin, and another one for each that is reported: nobody sits on a stretch of them
    while others have room.

    Of a worker that dies, all that was in flight is lost with it, and told as crashed: nobody knows whose doing it was,
    so giving them to the next worker might end that one, too. What it had not begun goes to the others.
    """

    def __init__(self, config: Any, log: Any, width: int) -> None:
        super().__init__(config, log)
        self._most = width + max(1, width // 8) + 1
        """Begun ones (`wide.Loop`), and one that waits, for xdist's workers want to know the next one."""
        self.maxschedchunk = self._most

    def schedule(self) -> None:
        """Begin: each worker gets as many as it can have."""
        super().schedule()
        if self.collection is not None:
            for node in self.nodes:
                self.check_schedule(node)

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Fill up what a worker has; nothing more is to come once all are handed out."""
        if node.shutting_down:
            return
        if not self.pending:
            node.shutdown()
        elif (room := self._most - len(self.node2pending[node])) > 0:
            self._send_tests(node, room)

    def remove_node(self, node: Any) -> str | None:
        """A worker has ended. What it was in the middle of: one here, as xdist has it, and the others by way of it.

        Handed out is more than that: tests that are none of ours wait there until no trial is in flight.
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
