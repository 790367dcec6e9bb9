"""Base of backends whose sites are not ours: nothing is reset, queried or stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from pytest_webarena.errors import TaskError
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["UnmanagedBackend"]


class UnmanagedBackend:
    """Everything of such a backend except preparing and starting its sites."""

    what: ClassVar[str] = "which runs elsewhere"
    """Description of such a site in messages."""

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Return the replica; the site stays as the last visitor left it."""
        return replace(replica, generation=replica.generation + 1)

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """Returns None: unknown."""
        return None

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """Raise `TaskError`: the site's database is not accessible."""
        raise TaskError(f"expected a site with a database, found {app.sites[0].name}, {self.what}")

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Returns an empty text: an unavailable site shows in the trial's own requests."""
        return ""

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Do nothing: the site is not ours."""

    async def close(self) -> None:
        """Do nothing: nothing was started."""

    def leftovers(self) -> Mapping[str, str]:
        """Returns nothing."""
        return {}
