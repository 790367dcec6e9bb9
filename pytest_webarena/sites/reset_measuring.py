"""Measures whether replicas of an app could be reused without a reset, by reading the start pages of one replica."""

from __future__ import annotations

import asyncio
import http.client
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError, WebArenaError
from pytest_webarena.sites.backends.base import Backend, ListingBackend, Replica
from pytest_webarena.sites.broker.unchanged import change, difference
from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue, SiteManifest
from pytest_webarena.sites.catalogues.units import units_of
from pytest_webarena.sites.single_replicas import Scratch, scratch, started

__all__ = ["Measured", "measure"]

_ROUNDS = 2
_WINDOW = 2.0
"""Seconds that effects of a request may take to show."""
_POLL = 0.1
_ANSWER = 30.0
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The result of a measurement."""

    app: str
    holds: bool | None
    """Whether reuse is possible; None if it could not be determined."""
    text: str
    starts: bool = True
    """Whether the app could be started."""


def measure(catalogue: Catalogue, apps: Sequence[AppManifest]) -> list[Measured]:
    """Start a replica of each of ``apps`` in turn, with its dependencies; read, wait, and compare."""
    with scratch() as place:
        return [asyncio.run(_measured(catalogue, app, place)) for app in apps]


async def _measured(catalogue: Catalogue, app: AppManifest, place: Scratch) -> Measured:
    # As if the manifests allowed it: otherwise no fingerprint is taken.
    parts = units_of(catalogue.apps)[app.name].apps
    clean = {part.name: replace(part, reuse="clean") for part in parts}
    tried = replace(catalogue, apps={**catalogue.apps, **clean})
    starts = False
    try:
        async with started(tried, app, place) as running:
            starts = True
            replicas = {part.name: running.of(part)[1] for part in parts}
            return await _compared(running.of(app)[0], tried.apps[app.name], clean.values(), replicas)
    except TimeoutError:
        text = f"it did not start within {app.start_timeout:g} s"
    except WebArenaError as error:
        first, *log = str(error).splitlines() or [""]
        text = f"{first} {log[-1].strip()}" if log else first
    return Measured(app=app.name, holds=None, text=text, starts=starts)


async def _compared(
    backend: Backend, app: AppManifest, parts: Collection[AppManifest], replicas: Mapping[str, Replica]
) -> Measured:
    """Read the start pages of ``app``, and compare each of the ``parts`` of its unit."""

    def named(part: AppManifest, text: str) -> str:
        return text if part.name == app.name else f"{part.name}, in one unit with it: {text}"

    for part in parts:
        if replicas[part.name].fingerprint is None:
            text = "changes of its data can't be detected"
            if part.docker is not None:
                text += "; a program that does is the docker section's 'fingerprint'"
            return Measured(app=app.name, holds=None, text=named(part, text))
    for part in parts:  # before any request
        if why := await change(backend, part, replicas[part.name]):
            text = f"{why}, although nothing was requested; a fingerprint must print the same for the same data"
            return Measured(app=app.name, holds=False, text=named(part, text))
    before = {part.name: await _listing(backend, part, replicas[part.name]) for part in parts}
    for number in range(1, _ROUNDS + 1):
        pages = [await asyncio.to_thread(_read, site, replicas[app.name]) for site in app.sites]
        deadline = time.monotonic() + _WINDOW
        while not (found := await _differing(backend, parts, replicas)) and time.monotonic() < deadline:
            await asyncio.sleep(_POLL)
        if found is not None:
            part, why = found
            changed = _changed(before[part.name], await _listing(backend, part, replicas[part.name]))
            after = f"after GET {pages[0]}" + (" and others" if len(pages) > 1 else "") + f", round {number}"
            return Measured(app=app.name, holds=False, text=named(part, f"{changed or why}, {after}"))
    return Measured(
        app=app.name, holds=True, text=f"{_ROUNDS} rounds of its start pages changed nothing that can be seen"
    )


async def _differing(
    backend: Backend, parts: Collection[AppManifest], replicas: Mapping[str, Replica]
) -> tuple[AppManifest, str] | None:
    """Returns the first part that may not be pristine any more, and why."""
    for part in parts:
        if why := await difference(backend, part, replicas[part.name]):
            return part, why
    return None


async def _listing(backend: Backend, app: AppManifest, replica: Replica) -> tuple[str, ...]:
    return await backend.listing(app, replica) if isinstance(backend, ListingBackend) else ()


def _changed(before: Sequence[str], after: Sequence[str]) -> str:
    """Returns in words the paths whose entries differ."""
    old, new = _by_path(before), _by_path(after)
    paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    if not paths:
        return ""
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    verbs = [f"{path} {'appears' if path not in old else 'goes' if path not in new else 'changes'}" for path in paths]
    return ", ".join(verbs[:_SHOWN]) + more


def _by_path(entries: Sequence[str]) -> Mapping[str, str]:
    return {path: state for state, _, path in (entry.partition("\t") for entry in entries)}


def _read(site: SiteManifest, replica: Replica) -> str:
    """Send a GET request for the site's start page, read it to the end, and return its address. Raises `SiteError`
    without a response."""
    parts = urlsplit(site.start_url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = http.client.HTTPConnection(
        replica.host, replica.ports.get(site.name) or site.port or replica.port, timeout=_ANSWER
    )
    try:
        connection.request("GET", path, headers={"Host": parts.netloc, "Connection": "close"})
        connection.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        raise SiteError(f"GET {path} of {site.name}: {error}") from None
    finally:
        connection.close()
    return path
