"""Lends out sites that run elsewhere: nothing is started, nothing can be reset, no database can be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError, TaskError, UsageError
from pytest_webarena.sites.backends.base import BackendContext, Replica, Rows
from pytest_webarena.sites.backends.ready import wait_ready
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["ExternalBackend"]

_CONNECT = 10.0


class ExternalBackend:
    """The ``external`` backend: one "replica" per site, which is the site itself.

    A reset does nothing. Which tasks may be run all the same is not decided here (`external.why_not_lent`).
    """

    def __init__(self, context: BackendContext) -> None:
        del context

    async def prepare(self, app: AppManifest) -> None:
        """See that somebody answers at the site's address. `SiteError` when nobody does."""
        host, port = _address(app)
        if problem := await _knock(host, port):
            raise SiteError(f"expected the site {app.sites[0].name} at {app.sites[0].url}, found {problem}")

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """The site as it is."""
        host, port = _address(app)
        site = app.sites[0]
        if not site.url.startswith("https:"):

            async def died() -> str:
                return ""

            await wait_ready(app.ready, host, port, server_name=site.host, timeout=app.start_timeout, died=died)
        return Replica(id=replica_id, app=app.name, host=host, port=port, digest=app.digest)

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Nothing: it stays as the last visitor left it."""
        return replace(replica, generation=replica.generation + 1)

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """Unknown."""
        return None

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """`TaskError`: nobody here can ask its database."""
        raise TaskError(f"expected a site whose database can be asked, found {app.sites[0].name}, which runs elsewhere")

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


def _address(app: AppManifest) -> tuple[str, int]:
    if len(app.sites) != 1 or not app.sites[0].base:
        raise UsageError(f"the app {app.name!r} runs elsewhere, so it has one site, which has a 'url'")
    parts = urlsplit(app.sites[0].base)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


async def _knock(host: str, port: int) -> str:
    try:
        async with asyncio.timeout(_CONNECT):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"no connection to {host}:{port} within {_CONNECT:g} s"
    except OSError as error:
        return f"no connection to {host}:{port}: {error.strerror or error}"
    writer.close()
    return ""
