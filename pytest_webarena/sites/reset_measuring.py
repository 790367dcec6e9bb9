"""Measures whether replicas of an app could be reused without a reset, by reading the start pages of one replica."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError, WebArenaError
from pytest_webarena.sites.backends.base import Backend, ListingBackend, Replica
from pytest_webarena.sites.broker.backend_set import BackendSet
from pytest_webarena.sites.broker.unchanged import difference
from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue, SiteManifest
from pytest_webarena.sites.catalogues.units import units_of
from pytest_webarena.sites.cleanup.private_directory import ReaperProcess

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


def measure(catalogue: Catalogue, apps: Sequence[AppManifest]) -> list[Measured]:
    """Start a replica of each of ``apps`` in turn, with its dependencies; read, wait, and compare."""
    with tempfile.TemporaryDirectory(prefix="pytest-webarena-") as folder, _guard(Path(folder)) as guard:
        return [asyncio.run(_measured(catalogue, app, Path(folder), guard)) for app in apps]


@contextlib.contextmanager
def _guard(folder: Path) -> Iterator[ReaperProcess]:
    guard = ReaperProcess()
    guard.add("dir", str(folder))
    try:
        yield guard
    finally:
        with contextlib.suppress(OSError):
            guard.close()


async def _measured(catalogue: Catalogue, app: AppManifest, folder: Path, guard: ReaperProcess) -> Measured:
    # As if the manifest allowed it: otherwise no fingerprint is taken.
    tried = replace(catalogue, apps={**catalogue.apps, app.name: replace(app, reuse="clean")})
    directory = folder / app.name
    directory.mkdir()
    backends = BackendSet(tried, directory, guard, secrets.token_hex(8), pulls="never", note=lambda app, text: None)
    try:
        replicas: dict[str, Replica] = {}
        units = units_of(tried.apps)
        needed = tried.apps_of([site.name for site in app.sites])
        for unit in dict.fromkeys(units[one.name] for one in reversed(needed)):  # dependencies first
            backend = backends.get(unit.lead.backend)
            async with asyncio.timeout(unit.start_timeout):
                await backend.prepare(unit.lead)
                replica = await backend.start(unit.lead, f"{unit.lead.name}-1")
            replicas |= {part.name: replica.of(part.name) for part in unit.apps}
        return await _compared(backends.get(app.backend), tried.apps[app.name], replicas[app.name])
    except TimeoutError:
        return Measured(app=app.name, holds=None, text=f"it did not start within {app.start_timeout:g} s")
    except WebArenaError as error:
        return Measured(app=app.name, holds=None, text=(str(error).splitlines() or [""])[0])
    finally:
        await backends.close()


async def _compared(backend: Backend, app: AppManifest, replica: Replica) -> Measured:
    if replica.fingerprint is None:
        text = "changes of its data can't be detected"
        if app.docker is not None:
            text += "; a program that does is the docker section's 'fingerprint'"
        return Measured(app=app.name, holds=None, text=text)
    before = await _listing(backend, app, replica)
    for number in range(1, _ROUNDS + 1):
        pages = [await asyncio.to_thread(_read, site, replica) for site in app.sites]
        deadline = time.monotonic() + _WINDOW
        while not (why := await difference(backend, app, replica)) and time.monotonic() < deadline:
            await asyncio.sleep(_POLL)
        if why:
            changed = _changed(before, await _listing(backend, app, replica))
            after = f"after GET {pages[0]}" + (" and others" if len(pages) > 1 else "") + f", round {number}"
            return Measured(app=app.name, holds=False, text=f"{changed or why}, {after}")
    return Measured(
        app=app.name, holds=True, text=f"{_ROUNDS} rounds of its start pages changed nothing that can be seen"
    )


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
