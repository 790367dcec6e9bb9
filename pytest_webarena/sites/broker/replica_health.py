"""Whether a replica runs, answers, is pristine, and failed without a signal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from pytest_webarena.sites.backends.base import Backend, Replica
from pytest_webarena.sites.broker.health_checks import full_disks, signalled, unanswered
from pytest_webarena.sites.broker.slot import Slot, State
from pytest_webarena.sites.broker.unchanged import change, difference
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.catalogues.units import Unit

__all__ = ["ReplicaHealth"]

_LONGEST_ANSWER = 60.0
"""Maximum number of seconds for which a running app is probed, however long it took to start."""

_log = logging.getLogger(__name__)


class ReplicaHealth:
    """Examines the replicas of ``unit``, all parts of each.

    ``replacement`` returns the seconds that replacing one takes at present; ``record_broken`` marks one as broken.
    """

    def __init__(
        self,
        unit: Unit,
        backend: Callable[[], Backend],
        *,
        replacement: Callable[[], float],
        record_broken: Callable[[Slot, str], None],
    ) -> None:
        self._unit, self._backend = unit, backend
        self._replacement, self._record_broken = replacement, record_broken

    async def examine(self, slot: Slot) -> str:
        """Returns why the replica does not run, and marks it as broken; empty while it runs."""
        if slot.state in (State.PRISTINE, State.LEASED):
            try:
                why = await self._first_of_parts(slot, self._backend().alive)
            except Exception:
                _log.exception("could not determine whether %s is alive", slot.id)
                why = ""
            if why:
                await self._break(slot, why)
        return slot.why if slot.state is State.BROKEN else ""

    async def ask(self, slot: Slot, *, wrote: bool = False) -> str:
        """Returns why a leased replica does not answer requests, and marks it as broken; empty when it answers.

        If a visitor ``wrote``, its disks must also have free space.
        """
        if why := await self.examine(slot):
            return why
        # On a machine where starting took long, responses may take longer, too; that is not the visitor's fault.
        least = min(self._replacement(), _LONGEST_ANSWER)
        problem = await self._first_of_parts(slot, partial(unanswered, self._backend(), least))
        if problem and not await self.examine(slot) and slot.state is State.LEASED:
            await self._break(slot, f"it runs, but does not answer; {problem}")
        if not problem and wrote and slot.state is State.LEASED:
            full = await self._first_of_parts(slot, partial(full_disks, self._backend()))
            if full and slot.state is State.LEASED:
                self._record_broken(slot, f"it answers, but can't save: {full}")
        return slot.why if slot.state is State.BROKEN else ""

    async def undisturbed(self, slot: Slot, since: float) -> bool:
        """Returns whether a replica began to start after ``since``, and no signal ended or stopped it.

        Sites that run elsewhere are not started.
        """
        if self._unit.lead.backend == EXTERNAL or slot.started < since:
            return False
        return not (slot.signalled if slot.state is State.BROKEN else await self._signalled(slot))

    async def _signalled(self, slot: Slot) -> bool:
        parts = [(app, slot.running().of(app.name)) for app in self._unit.apps]
        return await signalled(self._backend(), parts)

    async def _break(self, slot: Slot, why: str) -> None:
        """Mark a replica as broken, and record first whether a signal is the cause."""
        found = await self._signalled(slot)
        if slot.state in (State.PRISTINE, State.LEASED):
            slot.signalled = found
            self._record_broken(slot, why)

    async def difference(self, slot: Slot) -> str:
        """Returns why the replica may not be pristine; empty when it is proved."""
        return await self._first_of_parts(slot, partial(difference, self._backend()))

    async def _first_of_parts(self, slot: Slot, work: Callable[[AppManifest, Replica], Awaitable[str]]) -> str:
        """Returns the first text that ``work``, done for all parts of the replica at the same time, returns; empty when
        there is none."""
        parts = self._unit.apps
        found = await asyncio.gather(*(work(app, slot.running().of(app.name)) for app in parts))
        for app, why in zip(parts, found, strict=True):
            if why:
                return why if len(parts) == 1 else f"{app.name}: {why}"
        return ""

    async def verify(self, slot: Slot, since: float = 0.0) -> str:
        """Returns why a replica must not be leased without a reset: it began to start before ``since``, or has changed
        since its release.

        Empty if it can be leased. Otherwise the lease must be returned.
        """
        if slot.started < since and not self._unit.lead.read_only:
            slot.touched = slot.touched or "it must start after the request for it"
            return slot.touched
        reset = self._unit.lead.reset
        if not slot.visited and (reset is None or reset.proof is None):
            return ""
        # Nothing was running in it at its release, and it has received no requests since. Others may use an instance
        # that runs elsewhere.
        reason = await self._first_of_parts(slot, partial(change, self._backend()))
        if reason and slot.state is State.LEASED:
            slot.touched = f"after its {'release' if slot.visited else 'reset'}: {reason}"
            _log.warning("%s was clean, but %s", slot.id, slot.touched)
        return slot.why if slot.state is State.BROKEN else slot.touched
