"""Provides live sites of the web: nothing is started, reset or queried here; the gateway visits them with
restrictions."""

from __future__ import annotations

from typing import ClassVar

from pytest_webarena.errors import SiteError, UsageError
from pytest_webarena.live.domains import registrable
from pytest_webarena.live.internet import World
from pytest_webarena.live.robots import require_reader
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.unmanaged import UnmanagedBackend
from pytest_webarena.sites.catalogues.live import manners_of, proxy_of
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["LiveBackend"]


class LiveBackend(UnmanagedBackend):
    """The ``live`` backend: one "replica", which is the web itself."""

    what: ClassVar[str] = "which is live"

    def __init__(self, context: BackendContext) -> None:
        del context
        self._worlds: dict[str, World] = {}

    def world(self, app: AppManifest) -> World:
        """Returns how the app's sites are reached, which is the same for all trials (`base.WorldBackend`)."""
        if app.name not in self._worlds:
            self._worlds[app.name] = self.make_world(app)
        return self._worlds[app.name]

    def make_world(self, app: AppManifest) -> World:
        """Returns access to the Internet; a test's own backend overrides this with a simulated web."""
        manners = manners_of(app)
        return World(manners, proxy=proxy_of(app, manners))

    async def prepare(self, app: AppManifest) -> None:
        """Check that the libraries for the restrictions are installed."""
        try:
            registrable("example.com")
            require_reader()
        except UsageError as error:
            raise SiteError(str(error)) from None

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """Returns the web as a replica."""
        return Replica(id=replica_id, app=app.name, host="live.invalid", port=443, digest=app.digest)
