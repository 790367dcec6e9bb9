"""Serves archived sites (WARC, WACZ): one server for all who visit them, ready in milliseconds, never changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from pytest_webarena.archives.archive import Archive
from pytest_webarena.archives.serving import ArchiveServer
from pytest_webarena.errors import SiteError, SiteMissing, TaskError, UsageError
from pytest_webarena.sites.backends.base import BackendContext, Replica, Rows
from pytest_webarena.sites.catalogues.archived import files_of
from pytest_webarena.sites.catalogues.live import NOWHERE
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["ArchiveBackend"]


class ArchiveBackend:
    """The ``archive`` backend. Its index is read once for an app and run; what it lacks, its server says."""

    def __init__(self, context: BackendContext) -> None:
        del context
        self._archives: dict[str, Archive] = {}
        self._servers: dict[str, ArchiveServer] = {}

    async def prepare(self, app: AppManifest) -> None:
        """Read the index. `SiteMissing` when there is no archive, or nothing of the sites in it; `SiteError` when it is
        damaged."""
        try:
            files, at = files_of(app)
            if lost := next((file for file in files if not file.is_file()), None):
                raise SiteMissing(f"{app.name}: expected an archive at {lost}, found none")
            archive = await asyncio.to_thread(Archive, files, at=at)
        except UsageError as error:
            raise SiteError(str(error)) from None
        self._archives[app.name] = archive

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """Serve it."""
        archive = self._archives[app.name]
        # A site that stands for whatever its tasks start on is wherever the archive has something of.
        if not any(archive.has_host(site.host) or (site.url == NOWHERE and archive.origins) for site in app.sites):
            names = ", ".join(site.host for site in app.sites)
            raise SiteMissing(f"{app.name}: expected captures of {names} in the archive, found none")
        try:
            server = await asyncio.to_thread(ArchiveServer, archive)
        except OSError as error:
            raise SiteError(str(error)) from None
        self._servers[replica_id] = server
        return Replica(
            id=replica_id, app=app.name, host="127.0.0.1", port=server.port, digest=app.digest, origins=archive.origins
        )

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Nothing: it can't have been changed."""
        return replace(replica, generation=replica.generation + 1)

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """That of its files."""
        return app.digest

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """`TaskError`: pages are all that is left of its database."""
        raise TaskError(f"expected a site whose database can be asked, found {app.sites[0].name}, which is archived")

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Whether its thread runs."""
        server = self._servers.get(replica.id)
        return "" if server is not None and server.running else "the archive's server has ended"

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """End the server."""
        if (server := self._servers.pop(replica.id, None)) is not None:
            await asyncio.to_thread(server.close)

    async def close(self) -> None:
        """End all of them."""
        for server in list(self._servers.values()):
            await asyncio.to_thread(server.close)
        self._servers.clear()
        for archive in self._archives.values():
            archive.close()

    def leftovers(self) -> Mapping[str, str]:
        """None."""
        return {}
