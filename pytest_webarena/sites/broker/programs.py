"""Notices that an app's program changes while a run starts replicas of it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator

from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.catalogues.program_files import Program, ProgramFiles
from pytest_webarena.sites.catalogues.units import Unit

__all__ = ["UnitPrograms"]


class UnitPrograms:
    """The programs of the apps of one unit."""

    def __init__(self, unit: Unit) -> None:
        self._files = {
            app.name: ProgramFiles(app) for app in unit.apps if app.process is not None or app.docker is not None
        }
        self._started: dict[str, Program] = {}

    async def noted(self, start: Callable[[], Awaitable[Replica]]) -> Replica:
        """Return the replica that ``start`` starts, with the programs as they were before the start."""
        if not self._files:
            return await start()
        programs = await asyncio.to_thread(self._look)
        replica = await start()
        for each in (replica, *replica.parts.values()):
            if (program := programs.get(each.app)) is None:
                continue
            each.program = self._started[each.app] = program
            if program.changed:
                each.digest = hashlib.sha256(f"{each.digest} {program.digest}".encode()).hexdigest()[:16]
        return replica

    def late_changes(self) -> Iterator[str]:
        """Yield a message for each app whose files have changed since its latest replica was started."""
        for app, program in self._started.items():
            now = self._files[app].look(fresh=True)
            if now.digest != program.digest:
                names = ", ".join(now.changed) or "its program"
                yield f"{app}: {names} changed after its last replica had started; no trial is sure to have used it"

    def _look(self) -> dict[str, Program]:
        return {app: files.look() for app, files in self._files.items()}
