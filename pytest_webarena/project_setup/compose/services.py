"""Describes one Compose service as an app of a catalogue."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pytest_webarena.errors import closest
from pytest_webarena.project_setup.compose.databases import PORTS, database_of, server_of
from pytest_webarena.project_setup.compose.keys import HARMLESS, IGNORED, KNOWN, REFUSED
from pytest_webarena.project_setup.compose.mounts import mounted_files, mounted_volumes
from pytest_webarena.project_setup.compose.reading import ComposeFile, Place
from pytest_webarena.project_setup.compose.values import Port, environment_of, ports_of, seconds, variables_of, words
from pytest_webarena.sites.catalogues.manifest import PLACEHOLDER

__all__ = ["Service", "describe", "name_of", "unknown_key"]

_START_SECONDS = 60.0
_STEP = 30.0
"""Default values of a health check's interval, in seconds."""
_ATTEMPTS = 3
_LIMITS = {"mem_limit": "memory", "cpus": "cpus", "shm_size": "shm_size"}
_SIZE = re.compile(r"(\d+)\s*([bkmg]?)b?", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class Service:
    """A service as an app of a catalogue, without what depends on other services."""

    name: str
    """The app's name."""
    app: dict[str, Any]
    """Keys of the app, in a catalogue's order."""
    published: list[Port] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    """Names of services that start before it."""
    build: tuple[str, ...] = ()
    """Command that builds its image; empty if it is pulled."""


def name_of(service: str) -> str:
    """Returns a service's name as an app's: without dots."""
    return service.replace(".", "-")


def describe(file: ComposeFile, name: str, raw: Any, *, shared: set[str], below: Path) -> Service:
    """Describe a service; what can't be had is noted in ``file``. ``below`` is the catalogue's folder, ``shared`` are
    volumes of several services."""
    place: Place = ("services", name)
    service = file.table(place, raw)
    _judge_keys(file, place, service)
    docker: dict[str, Any] = {}
    build = _image(file, place, name, service, docker, below)
    for key, ours in (("entrypoint", "entrypoint"), ("command", "command")):
        if found := words(file, (*place, key), service.get(key)):
            docker[ours] = found
            file.note("taken", (*place, key), shlex.join(found))
    for key, ours in (("user", "user"), ("working_dir", "workdir")):
        if service.get(key) is not None:
            docker[ours] = str(service[key])
            file.note("taken", (*place, key), docker[ours])
    if env := environment_of(file, place, service):
        docker["env"] = env
        file.note("taken", (*place, "environment"), ", ".join(env))
    _add_limits(file, place, service, docker)
    if service.get("init") is not None:
        docker["init"] = bool(service["init"])
        file.note("taken", (*place, "init"), str(docker["init"]).lower())
    volumes = mounted_volumes(file, (*place, "volumes"), service.get("volumes"), shared, below)
    for kind in ("secrets", "configs"):
        volumes += mounted_files(file, (*place, kind), service.get(kind), below)
    if volumes:
        docker["volumes"] = volumes
    aliases = _aliases(file, place, name, service)
    if aliases:
        docker["aliases"] = aliases
    _require_no_placeholders(file, place, docker)
    published = ports_of(file, (*place, "ports"), service.get("ports"))
    app: dict[str, Any] = {"backend": "docker"}
    _add_readiness(file, place, service, app, docker, published)
    app["docker"] = docker
    needs = _needs(file, place, service)
    return Service(name=name_of(name), app=app, published=published, needs=needs, build=build)


def unknown_key(what: str, key: str, known: Iterable[str]) -> str:
    """Returns a text about a key that Compose does not have, or not yet."""
    similar = get_close_matches(key, known, n=1)
    return f"no key of a Compose {what} is known by this name; " + (
        f"did you mean {similar[0]!r}?" if similar else "remove the line if the app works without it"
    )


def _judge_keys(file: ComposeFile, place: Place, service: Mapping[str, Any]) -> None:
    for key, value in service.items():
        if key.startswith("x-") or value is None:
            continue
        if key not in KNOWN:
            file.note("refused", (*place, key), unknown_key("service", key, KNOWN))
        elif value in HARMLESS.get(key, ()) or _asks_for_less(key, value):
            file.note("ignored", (*place, key), "it is so anyway")
        elif key in REFUSED:
            file.note("refused", (*place, key), f"it can't be had: {REFUSED[key]}")
        elif key in IGNORED:
            file.note("ignored", (*place, key), IGNORED[key])


def _asks_for_less(key: str, value: Any) -> bool:
    return key == "security_opt" and isinstance(value, list) and all("no-new-privileges" in str(each) for each in value)


def _image(
    file: ComposeFile, place: Place, name: str, service: Mapping[str, Any], docker: dict[str, Any], below: Path
) -> tuple[str, ...]:
    """Set the image. Returns the command that builds it; empty if it has no build context."""
    own = service.get("build")
    if own is None and not service.get("image"):
        file.note("refused", place, "expected 'image' or 'build', found neither")
    project = str(file.data.get("name") or re.sub(r"[^a-z0-9_-]", "", file.folder.resolve().name.lower()) or "app")
    docker["image"] = str(service.get("image") or f"{project}-{name}")
    if service.get("image"):
        file.note("taken", (*place, "image"), docker["image"])
    if own is None:
        return ()
    at = (*place, "build")
    build = {"context": own} if isinstance(own, str) else file.table(at, own)
    context = str(build.get("context") or ".")
    if build.get("dockerfile_inline") or build.get("additional_contexts") or build.get("secrets") or build.get("ssh"):
        what = (
            "builds with further contexts, secrets or a recipe in the file are left to Compose; name its 'image' only"
        )
        file.note("refused", at, what)
    folder = context if "://" in context else os.path.relpath((file.folder / context).resolve(), below.resolve())
    argv = ["docker", "build", f"--tag={docker['image']}"]
    if build.get("dockerfile"):
        argv.append(f"--file={Path(folder, str(build['dockerfile']))}")
    argv += [
        f"--build-arg={key}={value}" for key, value in variables_of(file, (*at, "args"), build.get("args")).items()
    ]
    argv += [f"--target={build['target']}"] if build.get("target") else []
    argv.append(folder)
    docker["get"] = shlex.join(argv)
    file.note("taken", at, f"the image {docker['image']} is built by: {docker['get']}")
    return tuple(argv)


def _add_limits(file: ComposeFile, place: Place, service: Mapping[str, Any], docker: dict[str, Any]) -> None:
    deploy = file.table((*place, "deploy"), service.get("deploy"))
    resources = deploy.get("resources")
    limits = resources.get("limits") if isinstance(resources, Mapping) else None
    found = {**service, **({"mem_limit": limits.get("memory"), "cpus": limits.get("cpus")} if limits else {})}
    for key, ours in _LIMITS.items():
        value = found.get(key)
        if not value:
            continue
        size = _SIZE.fullmatch(str(value))
        if ours != "cpus" and size is None:
            file.note("refused", (*place, key), f"expected a size such as 512m, found {value!r}")
        else:
            docker[ours] = float(value) if ours == "cpus" or size is None else size[1] + size[2].lower()
    if deploy:
        file.note("taken", (*place, "deploy"), "its limits; the rest of it is about clusters")


def _aliases(file: ComposeFile, place: Place, name: str, service: Mapping[str, Any]) -> list[str]:
    """Returns the names by which others find the service, other than the app's."""
    networks = service.get("networks")
    found = [name, *([str(service["container_name"])] if service.get("container_name") else [])]
    for entry in networks.values() if isinstance(networks, Mapping) else ():
        found += [str(each) for each in entry.get("aliases") or ()] if isinstance(entry, Mapping) else []
    if networks:
        text = "all services of a unit share one network; names are kept, fixed addresses are not"
        file.note("taken", (*place, "networks"), text)
    return [each for each in dict.fromkeys(found) if each != name_of(name)]


def _require_no_placeholders(file: ComposeFile, place: Place, docker: Mapping[str, Any]) -> None:
    texts = [*docker.get("command", ()), *docker.get("entrypoint", ()), *docker.get("env", {}).values()]
    if found := next((each for each in map(PLACEHOLDER.search, texts) if each), None):
        text = f"{found[0]} has a meaning in catalogues, so that it can't be passed to the app; write it otherwise"
        file.note("refused", place, text)


def _add_readiness(
    file: ComposeFile, place: Place, service: Mapping[str, Any], app: dict[str, Any], docker: dict[str, Any],
    published: list[Port],
) -> None:  # fmt: skip
    """Set port, database, readiness and start time-out."""
    kind = server_of(docker["image"])
    ready: list[Any] = []
    if kind:
        database, program = database_of(kind, docker.get("env", {}))
        if database:
            app["databases"] = {"main": database}
            file.note("taken", (*place, "image"), f"checks can query its database {next(iter(database.values()))}")
        ready.append({"exec": program})
    exposed = [str(each).partition("/")[0] for each in file.entries((*place, "expose"), service.get("expose"))]
    port = published[0][0] if published else int(exposed[0]) if exposed and exposed[0].isdecimal() else PORTS.get(kind)
    if port:
        docker["port"] = port
    ready += _health(file, place, service, app)
    if not ready:
        ready = ["port"] if port else [{"exec": ["true"]}]
        if not port:
            text = "it counts as ready when it runs, since it has neither a health check nor a port"
            file.note("changed", place, text)
    app["ready"] = ready


def _health(file: ComposeFile, place: Place, service: Mapping[str, Any], app: dict[str, Any]) -> list[Any]:
    at = (*place, "healthcheck")
    check = file.table(at, service.get("healthcheck"))
    test = check.get("test")
    if not test or check.get("disable") or test == ["NONE"]:
        return []
    if isinstance(test, str):
        run = ["sh", "-c", test]
    elif test[0] == "CMD-SHELL":
        run = ["sh", "-c", " ".join(map(str, test[1:]))]
    elif test[0] == "CMD" and test[1:]:
        run = [str(each) for each in test[1:]]
    else:
        file.note("refused", (*at, "test"), f"expected CMD, CMD-SHELL or NONE, found {test[0]!r}")
        return []
    attempts = int(check["retries"]) if str(check.get("retries", "")).isdecimal() else _ATTEMPTS
    most = seconds(check.get("start_period"), 0) + attempts * seconds(check.get("interval"), _STEP)
    if most > _START_SECONDS:
        app["start_timeout"] = most
    file.note("taken", at, f"the app is ready when this ends with 0: {shlex.join(run)}")
    return [{"exec": run}]


def _needs(file: ComposeFile, place: Place, service: Mapping[str, Any]) -> list[str]:
    at = (*place, "depends_on")
    given = service.get("depends_on")
    services: Mapping[str, Any] = file.data["services"]
    if isinstance(given, Mapping):
        entries = {str(name): entry if isinstance(entry, Mapping) else {} for name, entry in given.items()}
    else:
        entries = {str(name): {} for name in file.entries(at, given)}
    found = []
    for name, entry in entries.items():
        if name not in services and entry.get("required") is False:
            continue
        if why := _unmet(services, name, entry.get("condition") or "service_started"):
            file.note("refused", (*at, name) if isinstance(given, Mapping) else at, why)
        else:
            found.append(name)
    if found:
        file.note("taken", at, f"ready before it starts: {', '.join(found)}")
    return found


def _unmet(services: Mapping[str, Any], name: str, condition: str) -> str:
    """Returns why a service can't be waited for; empty if it can."""
    other = services.get(name)
    if name not in services:
        return f"the file has no service {name!r}; {closest(name, services)}"
    other = other if isinstance(other, Mapping) else {}
    if other.get("profiles"):
        return f"{name} is left out because of its 'profiles'; remove one of the two lines"
    if condition == "service_completed_successfully":
        return (
            f"services of a unit go on running, but {name} ends before this one starts. Put its command in front of "
            "this one's, as in [sh, -c, 'JOB && exec SERVER']"
        )
    if condition == "service_healthy" and not other.get("healthcheck"):
        return f"expected a 'healthcheck' in the service {name}, found none; that of an image is not used"
    if condition not in ("service_started", "service_healthy"):
        return f"expected service_started or service_healthy, found {condition!r}"
    return ""
