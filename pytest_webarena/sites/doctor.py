"""Diagnoses what sites need on this machine: what is missing, and the commands that provide it."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.external import ExternalBackend
from pytest_webarena.sites.backends.hosted_instances import connection_problem
from pytest_webarena.sites.backends.wsgi import importable
from pytest_webarena.sites.catalogues.data_folders import data_problem
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["Diagnosis", "examine", "examine_resets", "shortage"]

_GB = 1e9
_ROOM = 10 * _GB
"""Free disk space in bytes below which a machine with containers will soon have none."""
_CONNECT_SECONDS = 5.0
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The result of one examination."""

    subject: str
    state: Literal["ok", "note", "missing", "failed"]
    text: str
    """What was found, in one line; further lines are commands that fix it."""
    app: str = ""
    """The app that can't run because of it; empty when it concerns all apps, or none."""


def examine(apps: Sequence[AppManifest], *, catalogue: str = "", named: bool = True) -> list[Diagnosis]:
    """Examine everything that ``apps`` need, without starting anything. ``catalogue`` is their ``--sites`` value.

    An app whose missing packages belong to an extra only gets a note, because its tasks are skipped, unless the apps
    were ``named`` by the user.
    """
    containers = [app for app in apps if app.backend == "docker"]
    found: list[Diagnosis] = []
    if containers:
        found += _docker(containers, catalogue)
    for app in apps:
        if app.backend == "process":
            found.append(_process(app, named=named))
        elif app.backend == EXTERNAL:
            found.append(_external(app))
    found.append(_memory(apps))
    found.append(_loopback())
    return found


def _docker(apps: Sequence[AppManifest], catalogue: str) -> Iterator[Diagnosis]:
    try:
        from pytest_webarena.sites.backends.docker.image_sources import in_words
        from pytest_webarena.sites.backends.docker.image_status import survey

        engine, needs = survey(apps)
    except SiteError as error:
        yield Diagnosis(subject="docker", state="missing", text=str(error))
        return
    yield Diagnosis(subject="docker", state="ok", text=f"engine {engine.version} at {engine.address}")
    yield _disk(engine.storage)
    if missing := {need.image: need.to_pull for need in needs if need.to_pull != 0}:
        known = sum(size or 0 for size in missing.values())
        more = " and more: some sizes are unknown" if None in missing.values() else ""
        text = f"{len(missing)} image{'s' if len(missing) > 1 else ''}, about {in_words(known)}{more}"
        yield Diagnosis(subject="to pull", state="note", text=f"{text}\nwebarena images pull --sites={catalogue}")
    # An image that is built here gets its packages in the versions that are installed here.
    missing_modules = {app.name: _missing_module(app) for app in apps if app.docker is not None and app.docker.build}
    for need in needs:
        if problem := need.problem or missing_modules.get(need.app, ""):
            yield Diagnosis(subject=need.app, state="missing", text=problem, app=need.app)
        elif need.origin:
            yield Diagnosis(subject=need.app, state="note", text=f"the image {need.image} {need.origin}")
        else:
            yield Diagnosis(subject=need.app, state="ok", text=f"image {need.image}, {need.size / _GB:.1f} GB")


def _disk(storage: str) -> Diagnosis:
    path = Path(storage)
    while not path.exists():
        path = path.parent
    free = shutil.disk_usage(path).free
    text = f"{free / _GB:.0f} GB free below {storage}"
    if free >= _ROOM:
        return Diagnosis(subject="disk", state="ok", text=text)
    return Diagnosis(subject="disk", state="note", text=f"only {text}\ndocker system df   # what uses it")


def _process(app: AppManifest, *, named: bool) -> Diagnosis:
    process = app.process
    if process is not None and process.data and (problem := data_problem(process.data)):
        text = f"expected data that can be copied for each replica, found {problem}"
        return Diagnosis(subject=app.name, state="missing", text=text, app=app.name)
    if process is None or not process.factory:
        return Diagnosis(subject=app.name, state="ok", text="a program of this machine")
    if missing := _missing_module(app):
        if not named and process.install:
            first, _, fix = missing.partition("\n")
            missing = f"{first}: its tasks are skipped\n{fix}"
            return Diagnosis(subject=app.name, state="note", text=missing, app=app.name)
        return Diagnosis(subject=app.name, state="missing", text=missing, app=app.name)
    module = process.factory.partition(":")[0]
    return Diagnosis(subject=app.name, state="ok", text=f"a Python app of this machine ({module})")


def _missing_module(app: AppManifest) -> str:
    """Returns the first missing Python module that ``app`` needs, with the command that installs it; empty: none."""
    process = app.process
    if process is None or not process.factory:
        return ""
    for name in (process.factory.partition(":")[0], *process.needs):
        if not importable(name) and not (app.folder / f"{name.replace('.', '/')}.py").is_file():
            fix = process.install or f"pip install what provides {name}"
            return f"the Python module {name} is not installed\n{fix}"
    return ""


def _external(app: AppManifest) -> Diagnosis:
    for site in app.sites:
        servers: dict[object, str] = {}
        for url in site.hosted:
            parts = urlsplit(url)
            try:
                port = parts.port or (443 if parts.scheme == "https" else 80)
                with socket.create_connection((parts.hostname or "", port), timeout=_CONNECT_SECONDS) as line:
                    server = (*line.getpeername()[:2], parts.path.rstrip("/"))
            except OSError as error:
                text = f"nothing answers at {url}: {error.strerror or error}"
                return Diagnosis(subject=app.name, state="missing", text=text, app=app.name)
            if problem := asyncio.run(connection_problem(app, url)):
                text = f"expected the site {site.name} at {url}, found {problem}"
                return Diagnosis(subject=app.name, state="missing", text=text, app=app.name)
            if (other := servers.setdefault(server, url)) != url:
                text = f"expected instances of {site.name} on servers of their own, found {other} and {url} on one"
                return Diagnosis(subject=app.name, state="missing", text=text, app=app.name)
    where = ", ".join(url for site in app.sites for url in site.hosted)
    text = f"external site at {where}; it has {'no reset' if app.reset is None else 'a reset'}"
    return Diagnosis(subject=app.name, state="ok", text=text)


def examine_resets(apps: Iterable[AppManifest]) -> Iterator[Diagnosis]:
    """Reset each instance of ``apps`` that run elsewhere and have a reset, as a run does at its first use of it, and
    name each that fails, or differs from the others.

    Without a `proof`, an answer does not show that data were restored: no data of an unknown app are known here.
    """
    for app in apps:
        if app.backend != EXTERNAL or app.reset is None:
            continue
        if problems := asyncio.run(_failed_resets(app)):
            yield from (Diagnosis(subject=app.name, state="failed", text=text, app=app.name) for text in problems)
            continue
        count = len(app.sites[0].hosted)
        instances = "the reset answers" if count == 1 else f"the reset of each of {count} instances answers"
        proved = "its proof is equal after two resets" if count == 1 else "their proofs are equal"
        rest = proved if app.reset.proof is not None else "whether it restores the data is not tested (key 'proof')"
        yield Diagnosis(subject=app.name, state="ok", text=f"{instances}; {rest}")


async def _failed_resets(app: AppManifest) -> list[str]:
    """Returns why the resets of an app's instances failed, or do not agree."""
    backend = ExternalBackend(None)
    problems = []
    try:
        await backend.prepare(app)
        for number in range(len(app.sites[0].hosted)):
            try:
                await backend.start(app, f"{app.name}-{number + 1}")
            except SiteError as error:
                problems.append(str(error))
    except SiteError as error:
        problems.append(str(error))
    return problems


def _memory(apps: Iterable[AppManifest]) -> Diagnosis:
    limits = sum(_bytes(app.docker.memory) for app in apps if app.docker is not None and app.backend == "docker")
    free = _available()
    if not free:
        return Diagnosis(subject="memory", state="note", text="how much is free can't be determined here")
    text = f"{free / _GB:.1f} GB available"
    if limits:
        text += f", one replica of each limited app may use {limits / _GB:.1f} GB"
    return Diagnosis(subject="memory", state="ok" if free > limits else "note", text=text)


def shortage(app: AppManifest) -> str:
    """Returns a line if this machine has less memory than ``app`` may use; empty when it has enough, or it is
    unknown."""
    limit = _bytes(app.docker.memory) if app.docker is not None and app.backend == "docker" else 0
    free = _available()
    if not limit or not free or free >= limit:
        return ""
    return f"expected the {limit / _GB:.1f} GB of memory that {app.name} may use, found {free / _GB:.1f} GB available"


def _bytes(size: str) -> int:
    if not size:
        return 0
    unit = size[-1].lower()
    return int(size[:-1]) * _UNITS[unit] if unit in _UNITS else int(size)


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return 0


def _loopback() -> Diagnosis:
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
    except OSError as error:
        text = f"no port of 127.0.0.1 can be opened: {error.strerror or error}"
        return Diagnosis(subject="ports", state="missing", text=text)
    return Diagnosis(subject="ports", state="ok", text="any free one of 127.0.0.1 will do; sites publish none")
