"""Whether an app that runs still works: asked as it is asked before it counts as ready."""

from __future__ import annotations

from functools import partial

from pytest_webarena.sites.backends.base import AskingBackend, Backend, Replica, RoomyBackend, WorldBackend
from pytest_webarena.sites.backends.ready import answers
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["crowded", "unanswered"]


async def unanswered(backend: Backend, least: float, app: AppManifest, replica: Replica) -> str:
    """Why an app does not answer as one that is ready does; empty when it does. It is asked for its ``answer_timeout``,
    and for ``least`` seconds."""
    if isinstance(backend, WorldBackend):
        return ""  # what did not answer is noted with each request
    site = app.sites[0] if app.sites else None
    return await answers(
        app.ready,
        replica.host,
        replica.port,
        server_name=site.host if site else replica.host,
        timeout=max(app.answer_timeout, least),
        tls=site is not None and site.base.startswith("https:"),
        visited=site is not None,
        execute=partial(backend.execute, app, replica) if isinstance(backend, AskingBackend) else None,
    )


async def crowded(backend: Backend, app: AppManifest, replica: Replica) -> str:
    """Which of an app's disks are full, though it answers: what somebody wanted to save is lost, maybe without a word.

    Empty when none is, or nobody can tell.
    """
    return await backend.crowded(app, replica) if isinstance(backend, RoomyBackend) else ""
