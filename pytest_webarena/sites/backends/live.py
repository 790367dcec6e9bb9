"""Sites of the living web: nothing is started, reset or asked here; the gateway visits them under guard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pytest_webarena.errors import SiteError, TaskError, UsageError
from pytest_webarena.live.domains import registrable
from pytest_webarena.live.robots import require_reader
from pytest_webarena.live.world import World
from pytest_webarena.sites.backends.base import BackendContext, Replica, Rows
from pytest_webarena.sites.catalogues.live import manners_of
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["LiveBackend"]


class LiveBackend:
    """The ``live`` backend: one "replica", which is the world."""

    def __init__(self, context: BackendContext) -> None:
        del context
        self._worlds: dict[str, World] = {}

    def world(self, app: AppManifest) -> World:
        """How the app's sites are reached, the same for all trials (`base.WorldBackend`)."""
        if app.name not in self._worlds:
            self._worlds[app.name] = self.make_world(app)
        return self._worlds[app.name]

    def make_world(self, app: AppManifest) -> World:
        """The Internet, and nothing else; a test's own backend makes one that it plays itself."""
        return World(manners_of(app))

    async def prepare(self, app: AppManifest) -> None:
        """See that what guards it is installed."""
        try:
            registrable("example.com")
            require_reader()
        except UsageError as error:
            raise SiteError(str(error)) from None

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """The world as it is."""
        return Replica(id=replica_id, app=app.name, host="live.invalid", port=443, digest=app.digest)

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Nothing: it stays as its last visitor left it."""
        return replace(replica, generation=replica.generation + 1)

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """Unknown."""
        return None

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """`TaskError`: nobody here can ask its database."""
        raise TaskError(f"expected a site whose database can be asked, found {app.sites[0].name}, which is live")

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Taken for granted: what did not answer is noted with each request."""
        return ""

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Nothing: it is not ours."""

    async def close(self) -> None:
        """Nothing was started."""

    def leftovers(self) -> Mapping[str, str]:
        """None."""
        return {}
