"""A lease's ledger: the content of its replicas at the agent's start, and the differences since then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pytest_webarena.changes import SiteChanges
from pytest_webarena.errors import SiteBusy, TaskError, WebArenaError
from pytest_webarena.sites.backends.base import Backend, FileBackend, LedgerBackend, Replica
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.ledger.comparing import between, nothing_known, nothing_possible
from pytest_webarena.sites.ledger.snapshot import Moment

__all__ = ["Ledger"]

_BUSY = 45.0
"""Seconds for which a database is retried while an app writes into it; less than a client waits for a response."""
_PAUSE = 0.1


@dataclass(slots=True, eq=False, kw_only=True)
class Ledger:
    """The ledger of one lease. Lives on the broker's loop."""

    apps: Mapping[str, AppManifest]
    backend: Callable[[str], Backend]
    required: bool = False
    """Whether a check needs it in any case; else it is kept only where that is cheap, or the manifest requires it."""
    _marks: dict[str, Moment | str] = field(default_factory=dict)
    """Content at the mark by app, or why it is unknown."""

    async def mark(self, replicas: Mapping[str, Replica]) -> None:
        """Record the content of these replicas, or why it can't be determined."""
        for name, replica in replicas.items():
            if self._is_kept(app := self.apps[name]):
                self._marks[name] = await self._look(app, replica)

    async def changes(self, replicas: Mapping[str, Replica], *, listed: bool) -> list[SiteChanges]:
        """Returns the differences of these replicas since their mark."""
        found = []
        for name, replica in replicas.items():
            app = self.apps[name]
            if name not in self._marks:
                if self._is_kept(app):
                    found.append(nothing_known(app, "its content was not recorded at the start", listed=listed))
                continue
            mark = self._marks[name]
            now = mark if app.read_only else await self._look(app, replica)
            if isinstance(mark, str) or isinstance(now, str):
                found.append(nothing_known(app, mark if isinstance(mark, str) else str(now), listed=listed))
            elif app.read_only:
                found.append(nothing_possible(app, listed=listed))
            else:
                found.append(await asyncio.to_thread(between, app, mark, now, listed=listed))
        return found

    async def flip(self, replicas: Mapping[str, Replica], app: str, path: str) -> None:
        """Invert the last bit of a file. Raises `TaskError` if that is impossible."""
        backend = self.backend(self.apps[app].backend)
        if not isinstance(backend, FileBackend) or app not in replicas:
            raise TaskError(f"the backend {self.apps[app].backend} can't change files")
        await backend.flip(self.apps[app], replicas[app], path)

    def _is_kept(self, app: AppManifest) -> bool:
        if app.forbid_side_effects or (self.required and app.databases):
            return True
        backend = self.backend(app.backend)
        return bool(app.databases) and isinstance(backend, LedgerBackend) and backend.reads_cheaply(app)

    async def _look(self, app: AppManifest, replica: Replica) -> Moment | str:
        if app.read_only:
            return Moment()  # the gateway refuses requests that may change it
        backend = self.backend(app.backend)
        if not isinstance(backend, LedgerBackend):
            return f"the backend {app.backend} can't read the content of {app.name}"
        ends = asyncio.get_running_loop().time() + _BUSY
        while True:
            try:
                return await backend.moment(app, replica)
            except SiteBusy as error:
                if asyncio.get_running_loop().time() >= ends:
                    return f"{error}, and that for {_BUSY:g} s"
                await asyncio.sleep(_PAUSE)
            except (WebArenaError, OSError) as error:
                return str(error)
