"""Checks whether a visited replica is still pristine."""

from __future__ import annotations

from pytest_webarena.sites.backends.base import Backend, InstancesBackend, Replica, WatchingBackend
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["change", "difference"]


async def difference(backend: Backend, app: AppManifest, replica: Replica) -> str:
    """Returns why it may not be; empty when nothing is at work in it and its data are known to be equal."""
    if app.reset is not None:
        return await change(backend, app, replica)
    if app.reuse != "clean":
        return "reuse: never"
    try:
        # In this order: work that ends in between leaves its traces in the data.
        if isinstance(backend, WatchingBackend) and (working := await backend.extra_processes(app, replica)):
            return working
    except Exception as error:
        return f"what is at work in it can't be determined: {error}"
    return await change(backend, app, replica)


async def change(backend: Backend, app: AppManifest, replica: Replica) -> str:
    """Returns why its data may not be pristine; empty when they are known to be equal.

    Of an app that runs elsewhere without a ``proof``, only the requests are known: its data count as equal.
    """
    if app.reset is not None:
        return await backend.proof_change(app, replica) if isinstance(backend, InstancesBackend) else ""
    if replica.fingerprint is None:
        return "it has no cheap fingerprint"
    try:
        present = await backend.fingerprint(app, replica)
    except Exception as error:
        return f"its fingerprint could not be taken: {error}"
    return "" if present == replica.fingerprint else "its data differ from pristine"
