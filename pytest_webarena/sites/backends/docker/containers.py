"""What is asked of the engine about one container: make, look, run something inside, pause, remove. All calls block."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from docker import DockerClient
from docker.errors import APIError, NotFound
from docker.types import IPAMConfig, IPAMPool, LogConfig, Mount

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, explain
from pytest_webarena.sites.catalogues.manifest import DockerManifest

__all__ = [
    "Executed",
    "NoSuchProgram",
    "Order",
    "Place",
    "Pod",
    "Running",
    "SubnetTaken",
    "create_network",
    "end_of",
    "execute",
    "last_lines",
    "launch",
    "log_of",
    "remove",
    "set_paused",
]

_LOG_LINES = 20
_NANO = 1_000_000_000
_UNFROZEN = "unable to freeze"
_FREEZES = 20
"""Attempts to freeze a container."""
_FREEZE_PAUSE = 0.1


class NoSuchProgram(SiteError):
    """The image lacks the program that was to be its container's first."""


class SubnetTaken(SiteError):
    """The addresses that a network was to have belong to another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One network namespace, and the container that keeps it open (`pods.Pods`)."""

    app: str
    """Whose containers run there: their host names belong to it."""
    keeper: str
    """Id of that container."""
    ip: str
    """Its address on its network."""
    tenancy: int = 0
    """Which of the containers that have run there, one after the other, it was taken for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A unit's network (`places.DockerNetworks`)."""

    network: str
    """Its name."""
    unit: str
    """Whose: the app that stands for it."""
    tenancy: int = 0
    """Which of the replicas that have run there, one after the other, it was taken for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A container to be made."""

    image: str
    """Reference or id."""
    manifest: DockerManifest
    name: str
    labels: Mapping[str, str]
    network: str
    """The run's, or that of ``place``."""
    place: Place | None = None
    pod: Pod | None = None
    """Where it is to run; None: with an address of its own on ``network``, and the names below."""
    entrypoint: Sequence[str] = ()
    """Empty: the image's."""
    command: Sequence[str] = ()
    """Empty: the image's."""
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: Sequence[Mount] = ()
    tmpfs: Sequence[str] = ()
    """Paths of empty file systems in memory."""
    volumes: Sequence[str] = ()
    """Names of the volumes among ``mounts`` that go with the container."""
    own_hosts: Sequence[str] = ()
    """Host names under which the app reaches itself."""
    aliases: Sequence[str] = ()
    """What others on ``network`` call it."""
    joint: str = ""
    """A second network, on which apps meet those that all share; empty: none."""
    joint_aliases: Sequence[str] = ()
    """What the container is called there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A container that has been started."""

    id: str
    name: str
    ip: str
    """Its address on its network."""
    volumes: tuple[str, ...] = ()
    """Volumes made for it alone."""
    pod: Pod | None = None
    """Where it runs, if not on the network itself."""
    place: Place | None = None
    """Of a container of a unit: where all of them are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """What a program inside a container did."""

    code: int
    stdout: str
    stderr: str


def create_network(
    client: DockerClient, name: str, labels: Mapping[str, str], *, joint: bool = False, subnet: str = ""
) -> None:
    """A network without a way out, on which containers see each other only if ``joint``. The host reaches them all.

    `SubnetTaken` when ``subnet`` (empty: one of the engine's own) is another network's.
    """
    try:
        client.networks.create(
            name, driver="bridge", internal=True, labels=dict(labels),
            ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=subnet)]) if subnet else None,
            options={"com.docker.network.bridge.enable_icc": str(joint).lower()},
        )  # fmt: skip
    except APIError as error:
        if subnet and ("overlaps" in explain(error) or "already in use" in explain(error)):
            raise SubnetTaken(f"can't make the network {name}: {explain(error)}") from None
        hint = "\nToo many networks? docker network prune" if "address pool" in explain(error) else ""
        raise SiteError(f"can't make the network {name}: {explain(error)}{hint}") from None


def launch(client: DockerClient, order: Order) -> Running:
    """Make and start a container. Whatever fails, none is left behind. `SiteError` with its last log lines."""
    name = f"{order.name}-{uuid.uuid4().hex[:6]}"
    container = None
    try:
        container = client.containers.create(
            order.image, list(order.command) or None, name=name, labels=dict(order.labels),
            environment=dict(order.environment), entrypoint=list(order.entrypoint) or None,
            tmpfs=dict.fromkeys(order.tmpfs, ""),
            # Process 1 of most images ignores TERM and reaps no children.
            init=order.manifest.init,
            mounts=list(order.mounts),
            # Whatever the engine's default: error messages need logs, and disks have an end.
            log_config=LogConfig(type=LogConfig.types.JSON, config={"max-size": "10m", "max-file": "2"}),
            **_networking(client, order),
            **_limits(order.manifest),
        )  # fmt: skip
        if order.joint and order.pod is None:
            client.api.connect_container_to_network(str(container.id), order.joint, aliases=list(order.joint_aliases))
        container.start()
        container.reload()
        if why := end_of(client, str(container.id)):
            raise SiteError(why)
        if order.pod is not None:
            ip = order.pod.ip
        else:
            ip = container.attrs["NetworkSettings"]["Networks"][order.network]["IPAddress"]
        if not ip:
            raise SiteError(f"the container {name} got no address on {order.network}")
        return Running(
            id=str(container.id), name=name, ip=ip, volumes=tuple(order.volumes), pod=order.pod, place=order.place
        )
    except BaseException as error:
        if container is not None:
            with suppress(*ENGINE_ERRORS):
                container.remove(force=True, v=True)
        if isinstance(error, APIError) and order.entrypoint and "executable file not found" in str(error):
            raise NoSuchProgram(f"{order.image} has no {order.entrypoint[0]}") from None
        if isinstance(error, ENGINE_ERRORS):
            raise SiteError(f"can't start a container of {order.image}: {explain(error)}") from None
        raise


def _networking(client: DockerClient, order: Order) -> dict[str, Any]:
    if order.pod is not None:  # its names and its resolver are the pod's
        return {"network_mode": f"container:{order.pod.keeper}"}
    endpoint = client.api.create_endpoint_config(aliases=list(order.aliases)) if order.aliases else None
    return {
        "network": order.network,
        "networking_config": {order.network: endpoint} if endpoint is not None else None,
        "extra_hosts": dict.fromkeys(order.own_hosts, "127.0.0.1"),
        # Names other than the container's own can't be found. Without this every attempt would take ten seconds,
        # because the network drops the questions.
        "dns": ["127.0.0.1"],
        "dns_opt": ["timeout:1", "attempts:1"],
    }


def _limits(manifest: DockerManifest) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if manifest.memory:
        # The same with swap: a site that needs more is stopped, instead of slowing everything down.
        limits["mem_limit"] = limits["memswap_limit"] = manifest.memory
    if manifest.cpus is not None:
        limits["nano_cpus"] = round(manifest.cpus * _NANO)
    if manifest.shm_size:
        limits["shm_size"] = manifest.shm_size
    return limits


def end_of(client: DockerClient, container: str, *, paused: bool = False) -> str:
    """Empty while the container runs, or is paused and ``paused`` says that it should be.

    Otherwise why it does not run: exit code, memory, last log lines.
    """
    try:
        state = client.api.inspect_container(container)["State"]
    except NotFound:
        return f"the container {container[:12]} is gone; somebody else removed it"
    if state.get("Running") and (paused or not state.get("Paused")):
        return ""
    if state.get("Paused"):
        return f"the container {container[:12]} is paused; somebody else paused it"
    if state.get("OOMKilled"):
        why = f"it was killed for using more memory than it may (exit code {state.get('ExitCode')})"
    else:
        why = f"it ended with exit code {state.get('ExitCode')}"
    if state.get("Error"):
        why += f": {state['Error']}"
    return "\n".join([f"the container {container[:12]} does not run: {why}", *last_lines(client, container)])


def log_of(client: DockerClient, container: str, lines: int) -> str:
    """The last ``lines`` lines of a container's log; empty when there is no container any more."""
    try:
        text: str = client.api.logs(container, stdout=True, stderr=True, tail=lines).decode("utf-8", "replace")
    except ENGINE_ERRORS:
        return ""
    return text


def last_lines(client: DockerClient, container: str) -> list[str]:
    """The end of a container's log under a heading."""
    lines = log_of(client, container, _LOG_LINES).rstrip().splitlines()
    return ["last lines of its log:", *(f"  {line}" for line in lines)] if lines else ["its log is empty"]


def execute(client: DockerClient, container: str, arguments: Sequence[str]) -> Executed:
    """Run a program inside. `SiteError` when the container can't."""
    try:
        created = client.api.exec_create(container, list(arguments))
        stdout, stderr = client.api.exec_start(created["Id"], demux=True)
        code = client.api.exec_inspect(created["Id"])["ExitCode"]
    except ENGINE_ERRORS as error:
        why = end_of(client, container) or explain(error)
        raise SiteError(f"can't run {arguments[0]} inside: {why}") from None
    decoded = [(part or b"").decode("utf-8", "replace") for part in (stdout, stderr)]
    return Executed(code=-1 if code is None else int(code), stdout=decoded[0], stderr=decoded[1])


def set_paused(client: DockerClient, container: str, paused: bool) -> None:
    """Freeze all its processes, or let them go on. `SiteError` when the engine refuses."""
    for attempt in range(1, _FREEZES + 1):
        try:
            (client.api.pause if paused else client.api.unpause)(container)
        except ENGINE_ERRORS as error:
            # On a busy machine the kernel may take longer than the engine waits for it, which then lets all go on.
            if _UNFROZEN in explain(error) and attempt < _FREEZES:
                time.sleep(_FREEZE_PAUSE)
                continue
            why = end_of(client, container, paused=True) or explain(error)
            raise SiteError(f"can't {'pause' if paused else 'resume'} the container {container[:12]}: {why}") from None
        return


def remove(client: DockerClient, container: str) -> None:
    """End a container at once and remove it with its anonymous volumes; it is gone then. Fine when it was before."""
    try:
        client.api.remove_container(container, force=True, v=True)
    except NotFound:
        pass
    except APIError as error:
        if error.status_code != 409:
            raise SiteError(f"can't remove the container {container[:12]}: {explain(error)}") from None
        # Somebody else is removing it right now. Its programs may still run, where the next container is to be.
        with suppress(NotFound):
            client.api.wait(container, condition="removed")
