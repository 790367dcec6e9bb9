"""Makes the apps of a catalogue from a Compose file: one unit of its services, with a site for each that browsers
visit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.project_setup.compose.mounts import shared_volumes
from pytest_webarena.project_setup.compose.reading import WRITTEN_OUT, ComposeFile, Finding, read_compose
from pytest_webarena.project_setup.compose.services import Service, describe, name_of, unknown_key

__all__ = ["Imported", "import_compose"]

_TOP = {"services", "volumes", "networks", "secrets", "configs", "name", "version"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The result of an import."""

    apps: Mapping[str, dict[str, Any]]
    """Apps of the catalogue, as plain data; those with sites first."""
    findings: Sequence[Finding]
    builds: Mapping[str, tuple[str, ...]]
    """Commands that build images, by app."""

    @property
    def refused(self) -> list[Finding]:
        """What can't be had. Without these, the apps are as Compose runs them."""
        return [each for each in self.findings if each.state == "refused"]


def import_compose(
    path: Path, below: Path, *, services: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Imported:
    """Describe a Compose file's services as apps of a catalogue in the folder ``below``.

    ``services`` are those that browsers visit, as NAME or NAME:PORT; by default those that publish a port and that no
    other one of these needs. Raises `UsageError` if the file can't be read, or none of its services can have a site.
    """
    file = read_compose(path, environment)
    for key in file.data:
        if key == "include":
            file.note("refused", (key,), WRITTEN_OUT)
        elif key not in _TOP and not key.startswith("x-"):
            file.note("refused", (key,), unknown_key("file", key, _TOP))
    raw = _chosen(file)
    shared = shared_volumes(file, raw)
    found = {name: describe(file, name, entry, shared=shared, below=below) for name, entry in raw.items()}
    for service in found.values():
        service.needs = [name for name in service.needs if name in found]
    _refuse_cycle(file, found)
    sites = _sites(path, found, services)
    for name in sites:
        _make_site(file, name, found)
    _use_site_addresses(file, found, sites)
    _join(file, sites[0], found)
    recipes = {
        service.app["docker"]["image"]: service.app["docker"].get("get") for service in found.values() if service.build
    }
    for service in found.values():  # several services may use one image
        if recipe := recipes.get(service.app["docker"]["image"]):
            service.app["docker"]["get"] = recipe
    for name in file.variables.unset:
        file.note("changed", ("services",), f"the variable {name} has no value, so it is empty, as in Compose")
    for name in file.variables.from_environment:
        text = f"the value of ${name} comes from this shell and is in the catalogue now; keep secrets out of it"
        file.note("changed", ("services",), text)
    ordered = [*sites, *(name for name in found if name not in sites)]
    return Imported(
        apps={found[name].name: _complete(found[name]) for name in ordered},
        findings=tuple(file.findings),
        builds={found[name].name: found[name].build for name in ordered if found[name].build},
    )


def _chosen(file: ComposeFile) -> Mapping[str, Any]:
    """Returns the services that Compose starts without a profile."""
    services: Mapping[str, Any] = file.data["services"]
    found = {}
    for name, service in services.items():
        if isinstance(service, Mapping) and service.get("profiles"):
            text = "left out, as by 'docker compose up'; remove the line to import the service"
            file.note("ignored", ("services", name, "profiles"), text)
        else:
            found[name] = service
    if not found:
        raise UsageError(f"{file.path}: expected a service without 'profiles', found none; remove this key from one")
    return found


def _refuse_cycle(file: ComposeFile, found: Mapping[str, Service]) -> None:
    if name := next((each for each in found if each in _needs_of(each, found)), ""):
        text = f"expected services that start one after the other, found that {name} waits for itself; remove a line"
        file.note("refused", ("services", name, "depends_on"), text)


def _sites(path: Path, found: Mapping[str, Service], wanted: Sequence[str]) -> list[str]:
    """Returns the services that browsers visit."""
    named = []
    for each in wanted:
        name, _, port = each.partition(":")
        if name not in found:
            raise UsageError(f"--service={each}: {path} has no service {name!r}; {closest(name, found)}")
        if port:
            found[name].published.insert(0, (int(port) if port.isdecimal() else 0, ""))
            found[name].app["docker"]["port"] = found[name].published[0][0]
        named.append(name)
    published = [name for name, service in found.items() if service.published]
    named = (
        named
        or (published if any(each in _needs_of(each, found) for each in published) else [])
        or [
            name
            for name in published
            if not any(name in _needs_of(other, found) for other in published if other != name)
        ]
    )
    if not named:
        raise UsageError(
            f"{path}: expected a service that publishes a port and is not behind another one that does, found none; "
            "name it: --service=NAME:PORT"
        )
    return named


def _needs_of(name: str, found: Mapping[str, Service]) -> list[str]:
    """Returns the services that one needs, directly or not."""
    needs = list(found[name].needs)
    for one in needs:  # grows during the iteration
        needs += [each for each in found[one].needs if each not in needs]
    return needs


def _make_site(file: ComposeFile, name: str, found: Mapping[str, Service]) -> None:
    service = found[name]
    service.app["sites"] = {service.name: {"host": _host(service.name)}}
    ready = [each for each in service.app["ready"] if each not in ("port", {"exec": ["true"]})]
    service.app["ready"] = [*ready, {"http": "/"}]
    port = service.app["docker"].get("port", 80)
    file.note("taken", ("services", name, "ports"), f"browsers visit port {port} as http://{_host(service.name)}")
    if others := [str(port) for port, _ in service.published[1:]]:
        text = f"agents can't reach the ports {', '.join(others)}; --service={name}:PORT chooses another one"
        file.note("ignored", ("services", name, "ports"), text)


def _host(name: str) -> str:
    return f"{name.lower().replace('_', '-')}.test"


def _use_site_addresses(file: ComposeFile, found: Mapping[str, Service], sites: Sequence[str]) -> None:
    """Replace published addresses of sites in environments by the addresses that browsers visit."""
    addresses: dict[str, str] = {}
    for name in sites:
        addresses |= {
            published: f"http://{_host(found[name].name)}" for _, published in found[name].published if published
        }
    if not addresses:
        return
    pattern = re.compile(rf"http://(?:localhost|127\.0\.0\.1):({'|'.join(map(re.escape, addresses))})(?!\d)")
    for name, service in found.items():
        env = service.app["docker"].get("env", {})
        for key, value in env.items():
            env[key] = pattern.sub(lambda match: addresses[match[1]], value)
            if env[key] != value:
                text = f"{value} became {env[key]}, the address that browsers visit"
                file.note("changed", ("services", name, "environment", key), text)


def _join(file: ComposeFile, lead: str, found: Mapping[str, Service]) -> None:
    """Let the lead need all services that are not connected with it: services of one file share a network."""
    for name in found:
        joined = [lead]
        for one in joined:  # grows during the iteration
            near = [*found[one].needs, *(other for other, service in found.items() if one in service.needs)]
            joined += [other for other in dict.fromkeys(near) if other not in joined]
        if name not in joined:
            found[lead].needs.append(name)
            text = f"{name} is started before it and reset with it, since they share a network"
            file.note("changed", ("services", lead, "depends_on"), text)


def _complete(service: Service) -> dict[str, Any]:
    """Returns the app's keys in the order of the documentation."""
    app = dict(service.app)
    if service.needs:
        app["depends_on"] = [name_of(name) for name in service.needs]
    order = ("backend", "sites", "databases", "depends_on", "ready", "start_timeout", "docker")
    return {key: app[key] for key in order if key in app}
