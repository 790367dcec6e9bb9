"""Provides sites that run elsewhere: nothing is started, and databases are not accessible."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import replace
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError, UsageError
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.ready import wait_ready
from pytest_webarena.sites.backends.reset_hook import prove_reset, reset_instance
from pytest_webarena.sites.backends.reset_proofs import ResetProofs
from pytest_webarena.sites.backends.unmanaged import UnmanagedBackend
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["ExternalBackend"]

_CONNECT = 10.0


class ExternalBackend(UnmanagedBackend):
    """The ``external`` backend: a replica is an instance of the app, given by its addresses.

    Without a ``reset`` in the manifest, a reset does nothing. Which tasks may run nevertheless is decided elsewhere
    (`external.why_not_lent`).
    """

    def __init__(self, context: BackendContext | None) -> None:
        self._free: dict[str, deque[int]] = {}
        """By app: numbers of the instances that no replica uses, those given back last at the end."""
        self._used: dict[str, int] = {}
        """Number of the instance by replica."""
        self._proofs = ResetProofs(context.reset_proofs if context is not None else None)

    async def prepare(self, app: AppManifest) -> None:
        """Check that something answers at the addresses of an instance. Raises `SiteError` when nothing does."""
        if not app.sites or not all(site.hosted for site in app.sites):
            raise UsageError(f"the app {app.name!r} runs elsewhere, so each of its sites has a 'url'")
        self._free[app.name] = deque(range(len(app.sites[0].hosted)))
        problems = [[await _connection_problem(url) for site in app.sites if (url := site.hosted[number])]
                    for number in self._free[app.name]]  # fmt: skip
        if all(map(any, problems)):
            faults = (f"expected the site {site.name} at {site.hosted[0]}, found {problem}"
                      for site, problem in zip(app.sites, problems[0], strict=True) if problem)  # fmt: skip
            raise SiteError("; ".join(faults))

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """Returns a free instance as a replica once it is reset, if it can be, and ready."""
        free = self._free[app.name]
        if not free:
            raise SiteError(f"expected a free instance of {app.name}, found all in use")
        number = self._used[replica_id] = free.popleft()
        addresses = {site.name: site.hosted[number] for site in app.sites}
        host, port = _endpoint(next(iter(addresses.values())))
        new = Replica(
            id=replica_id, app=app.name, host=host, port=port, digest=app.digest, addresses=addresses, generation=-1
        )
        try:
            return await self.reset(app, new)
        except BaseException:
            await self.stop(app, new)
            raise

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Reset the instance by its hook, if there is one, wait until all of its sites are ready, and prove the
        reset."""
        began = time.monotonic()
        if app.reset is not None:
            await reset_instance(app, replica.addresses, self._used[replica.id] + 1)
        for address in replica.addresses.values():
            await _ready(app, address, began)
        if app.reset is not None and app.reset.proof is not None:
            await prove_reset(app, replica.addresses, self._used[replica.id] + 1, self._proofs)
        seconds = time.monotonic() - began if app.reset is not None else 0.0
        return replace(replica, generation=replica.generation + 1, reset_seconds=seconds)

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Let another replica use the instance, which keeps running."""
        if (number := self._used.pop(replica.id, None)) is not None:
            self._free[app.name].append(number)


async def _ready(app: AppManifest, address: str, began: float) -> None:
    """Wait until the site at ``address`` meets the app's conditions."""
    if address.startswith("https:"):
        return

    async def died() -> str:
        return ""

    left = max(0.0, app.start_timeout - (time.monotonic() - began))
    name = urlsplit(address).netloc
    await wait_ready(app.ready, *_endpoint(address), server_name=name, timeout=left, died=died, of=app.start_timeout)


def _endpoint(address: str) -> tuple[str, int]:
    parts = urlsplit(address)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


async def _connection_problem(address: str) -> str:
    host, port = _endpoint(address)
    try:
        async with asyncio.timeout(_CONNECT):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"no connection to {host}:{port} within {_CONNECT:g} s"
    except OSError as error:
        return f"no connection to {host}:{port}: {error.strerror or error}"
    writer.close()
    return ""
