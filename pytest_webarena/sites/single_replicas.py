"""Starts one replica of an app and of its dependencies outside of any run, and ends them."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pytest_webarena.sites.backends.base import Backend, Replica
from pytest_webarena.sites.broker.backend_set import BackendSet
from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
from pytest_webarena.sites.catalogues.units import units_of
from pytest_webarena.sites.cleanup.private_directory import ReaperProcess

__all__ = ["Scratch", "Started", "scratch", "started"]


@dataclass(frozen=True, slots=True)
class Scratch:
    """A private folder that is removed however this process ends."""

    folder: Path
    guard: ReaperProcess


@dataclass(frozen=True, slots=True)
class Started:
    """A running app with its dependencies."""

    backends: BackendSet
    replicas: dict[str, Replica] = field(default_factory=dict)
    """By app."""

    def of(self, app: AppManifest) -> tuple[Backend, Replica]:
        """Return an app's backend and replica."""
        return self.backends.get(app.backend), self.replicas[app.name]


@contextlib.contextmanager
def scratch() -> Iterator[Scratch]:
    """Make a private folder for replicas."""
    with tempfile.TemporaryDirectory(prefix="pytest-webarena-") as folder:
        guard = ReaperProcess()
        guard.add("dir", folder)
        try:
            yield Scratch(Path(folder), guard)
        finally:
            with contextlib.suppress(OSError):
                guard.close()


@contextlib.asynccontextmanager
async def started(catalogue: Catalogue, app: AppManifest, place: Scratch) -> AsyncIterator[Started]:
    """Start a replica of ``app``, dependencies first, and end all of them after the block.

    Raises `TimeoutError` when one does not start in its time, and `SiteError`. Nothing is pulled.
    """
    directory = place.folder / app.name
    directory.mkdir()
    backends = BackendSet(
        catalogue, directory, place.guard, secrets.token_hex(8), pulls="never", note=lambda app, text: None
    )
    found = Started(backends)
    try:
        units = units_of(catalogue.apps)
        needed = catalogue.apps_of([site.name for site in app.sites]) or (app,)  # without sites: part of a unit
        for unit in dict.fromkeys(units[one.name] for one in reversed(needed)):
            backend = backends.get(unit.lead.backend)
            async with asyncio.timeout(unit.start_timeout):
                await backend.prepare(unit.lead)
                replica = await backend.start(unit.lead, f"{unit.lead.name}-1")
            found.replicas.update({part.name: replica.of(part.name) for part in unit.apps})
        yield found
    finally:
        await backends.close()
