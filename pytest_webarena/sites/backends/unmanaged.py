"""What backends have in common whose sites are not ours: nothing is reset, asked or stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from pytest_webarena.errors import TaskError
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["UnmanagedBackend"]


class UnmanagedBackend:
    """All of a backend but the beginning of its sites."""

    what: ClassVar[str] = "which runs elsewhere"
    """Of such a site, in messages."""

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Nothing: it stays as the last visitor left it."""
        return replace(replica, generation=replica.generation + 1)

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """Unknown."""
        return None

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """`TaskError`: nobody here can ask its database."""
        raise TaskError(f"expected a site whose database can be asked, found {app.sites[0].name}, {self.what}")

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Taken for granted; a site that stops answering shows in the trial's own requests."""
        return ""

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Nothing: it is not ours."""

    async def close(self) -> None:
        """Nothing was started."""

    def leftovers(self) -> Mapping[str, str]:
        """None."""
        return {}
