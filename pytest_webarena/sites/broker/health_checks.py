"""Checks whether a running app still works, with the same requests as before it counts as ready."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from urllib.parse import urlsplit

from pytest_webarena.gateway.server_certificates import client_tls
from pytest_webarena.sites.backends.base import (
    AskingBackend,
    Backend,
    KeepsLogs,
    Replica,
    RoomyBackend,
    SignalledBackend,
    WorldBackend,
)
from pytest_webarena.sites.backends.ready import answers
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["full_disks", "signalled", "unanswered"]

_log = logging.getLogger(__name__)

_LOG_LINES = 10


async def unanswered(backend: Backend, least: float, app: AppManifest, replica: Replica) -> str:
    """Returns why an app does not answer as a ready one does, with its last log lines; empty when it does. It is asked
    for the longer one of its ``answer_timeout`` and ``least`` seconds."""
    if isinstance(backend, WorldBackend):
        return ""  # the gateway records failures with each request
    site = app.sites[0] if app.sites else None
    address = replica.addresses.get(site.name, "") if site else ""
    problem = await answers(
        app.ready,
        replica.host,
        replica.port,
        server_name=urlsplit(address).netloc or (site.host if site else replica.host),
        timeout=max(app.answer_timeout, least),
        secure=client_tls(app.certificate_authority) if address.startswith("https:") else None,
        visited=site is not None,
        execute=partial(backend.execute, app, replica) if isinstance(backend, AskingBackend) else None,
    )
    if problem and isinstance(backend, KeepsLogs):
        with suppress(Exception):  # the reason counts without its explanation
            lines = (await backend.logs(app, replica, _LOG_LINES)).rstrip().splitlines()
            problem = "\n".join(
                [problem, *(["last lines of its log:"] if lines else []), *(f"  {line}" for line in lines)]
            )
    return problem


async def full_disks(backend: Backend, app: AppManifest, replica: Replica) -> str:
    """Returns which of an app's disks are full although it answers, because saving data may then fail silently.

    Empty when none is, or it is unknown.
    """
    return await backend.full_disks(app, replica) if isinstance(backend, RoomyBackend) else ""


async def signalled(backend: Backend, parts: Sequence[tuple[AppManifest, Replica]]) -> bool:
    """Returns whether a signal ended or stopped a process of these apps, as far as that is known."""
    if not isinstance(backend, SignalledBackend):
        return False
    try:
        return any([await backend.signalled(app, replica) for app, replica in parts])
    except Exception:
        _log.exception("could not determine whether a signal ended or stopped %s", parts[0][1].id)
        return True
