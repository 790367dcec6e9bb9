"""Serves archived sites (WARC, WACZ): one server for all visitors, ready in milliseconds and never changed."""

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
    """The ``archive`` backend. It reads an app's index once per run; its server reports what the archive lacks."""

    def __init__(self, context: BackendContext) -> None:
        del context
        self._archives: dict[str, Archive] = {}
        self._servers: dict[str, ArchiveServer] = {}

    async def prepare(self, app: AppManifest) -> None:
        """Read the index. Raises `SiteMissing` when there is no archive, or none of the sites is in it; `SiteError`
        when it is damaged."""
        try:
            files, at = files_of(app)
            if lost := next((file for file in files if not file.is_file()), None):
                raise SiteMissing(f"{app.name}: expected an archive at {lost}, found none")
            archive = await asyncio.to_thread(Archive, files, at=at)
        except UsageError as error:
            raise SiteError(str(error)) from None
        self._archives[app.name] = archive

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """Start a server of the archive."""
        archive = self._archives[app.name]
        # A site whose start addresses are only named by tasks is on every host of the archive.
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
        """Return the replica unchanged, because an archive can't be changed."""
        return replace(replica, generation=replica.generation + 1)

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """Returns the digest of the archive's files."""
        return app.digest

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """Raise `TaskError`: an archived site has no database."""
        raise TaskError(f"expected a site with a database, found {app.sites[0].name}, which is archived")

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Returns why the server's thread does not run; empty if it runs."""
        server = self._servers.get(replica.id)
        return "" if server is not None and server.running else "the archive's server has ended"

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Stop the server."""
        if (server := self._servers.pop(replica.id, None)) is not None:
            await asyncio.to_thread(server.close)

    async def close(self) -> None:
        """Stop all servers."""
        for server in list(self._servers.values()):
            await asyncio.to_thread(server.close)
        self._servers.clear()
        for archive in self._archives.values():
            archive.close()

    def leftovers(self) -> Mapping[str, str]:
        """Returns nothing: no objects outlive the process."""
        return {}
