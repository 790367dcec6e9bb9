"""Pauses spares that were not needed for a while, so that they use memory but no processor time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial

from pytest_webarena.errors import WebArenaError
from pytest_webarena.sites.backends.base import Backend, PausingBackend
from pytest_webarena.sites.broker.slot import Slot, State
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["IdlePauser"]

_log = logging.getLogger(__name__)
_IDLE = 5.0
"""Seconds after which an unneeded spare is paused."""


class IdlePauser:
    """Pauses and unpauses replicas of ``app``. ``report_broken`` is called with a replica that can't be unpaused, and
    why."""

    def __init__(
        self,
        app: AppManifest,
        backend: Callable[[], Backend],
        *,
        clock: Callable[[], float],
        report_broken: Callable[[Slot, str], None],
    ) -> None:
        self._app = app
        self._backend, self._clock, self._report_broken = backend, clock, report_broken
        self._can_pause = not app.read_only

    async def wake(self, slot: Slot) -> None:
        """Unpause a replica that has just been leased, if it was paused."""
        if slot.resting is not None:
            await asyncio.wait([slot.resting])
        if slot.paused:
            await self._set(slot, paused=False)

    def pause_idle(self, slots: Iterable[Slot]) -> None:
        """Pause spares that were not needed for a while, except the next one to be leased, which is unpaused."""
        if not self._can_pause:
            return
        queue = sorted((slot for slot in slots if slot.state is State.PRISTINE), key=Slot.lease_order)
        for position, slot in enumerate(queue):
            idle = position > 0 and self._clock() - slot.since >= _IDLE
            if slot.resting is None and slot.paused != idle and (idle or position == 0):
                slot.resting = asyncio.ensure_future(self._set(slot, paused=idle))
                slot.resting.add_done_callback(partial(_forget_change, slot))

    async def _set(self, slot: Slot, *, paused: bool) -> None:
        backend = self._backend()
        if not isinstance(backend, PausingBackend):
            self._can_pause = False
            return
        try:
            await (backend.pause if paused else backend.resume)(self._app, slot.running())
        except WebArenaError as error:
            if paused:  # it has died, which is detected elsewhere, or this engine can't pause
                _log.warning("%s", error)
                self._can_pause = False
            elif slot.state in (State.PRISTINE, State.LEASED):
                self._report_broken(slot, str(error))
        else:
            slot.paused = paused


def _forget_change(slot: Slot, _: asyncio.Future[None]) -> None:
    """Note that the slot is not being paused or unpaused any more."""
    slot.resting = None
