"""Provides sites that run elsewhere: nothing is started or reset, and databases are not accessible."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError, UsageError
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.ready import wait_ready
from pytest_webarena.sites.backends.unmanaged import UnmanagedBackend
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["ExternalBackend"]

_CONNECT = 10.0


class ExternalBackend(UnmanagedBackend):
    """The ``external`` backend: one "replica" per site, which is the site itself.

    A reset does nothing. Which tasks may run nevertheless is decided elsewhere (`external.why_not_lent`).
    """

    def __init__(self, context: BackendContext) -> None:
        del context

    async def prepare(self, app: AppManifest) -> None:
        """Check that something answers at the site's address. Raises `SiteError` when nothing does."""
        host, port = _address(app)
        if problem := await _connection_problem(host, port):
            raise SiteError(f"expected the site {app.sites[0].name} at {app.sites[0].hosted[0]}, found {problem}")

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """Returns the site as a replica once it is ready."""
        host, port = _address(app)
        address = app.sites[0].hosted[0]
        if not address.startswith("https:"):
            name = urlsplit(address).netloc

            async def died() -> str:
                return ""

            await wait_ready(app.ready, host, port, server_name=name, timeout=app.start_timeout, died=died)
        return Replica(id=replica_id, app=app.name, host=host, port=port, digest=app.digest, address=address)


def _address(app: AppManifest) -> tuple[str, int]:
    if len(app.sites) != 1 or not app.sites[0].hosted:
        raise UsageError(f"the app {app.name!r} runs elsewhere, so it has one site, which has a 'url'")
    parts = urlsplit(app.sites[0].hosted[0])
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


async def _connection_problem(host: str, port: int) -> str:
    try:
        async with asyncio.timeout(_CONNECT):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"no connection to {host}:{port} within {_CONNECT:g} s"
    except OSError as error:
        return f"no connection to {host}:{port}: {error.strerror or error}"
    writer.close()
    return ""
