"""Engine calls about one container: create, inspect, run something inside, pause, remove. All calls block."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from docker import DockerClient
from docker.errors import APIError, ImageNotFound, NotFound
from docker.types import IPAMConfig, IPAMPool, LogConfig, Mount

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker.bridge_routes import unrouted
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, explain, unreachable_containers
from pytest_webarena.sites.backends.processes import is_signal
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
    "signalled",
]

_LOG_LINES = 20
_ANONYMOUS = re.compile("[0-9a-f]{64}")
"""Name that the engine gives to a volume without one."""
_NANO = 1_000_000_000
_UNFROZEN = "unable to freeze"
_FREEZES = 20
"""Maximum number of attempts to pause a container."""
_FREEZE_PAUSE = 0.1


class NoSuchProgram(SiteError):
    """The image lacks the program that the container should start with."""


class SubnetTaken(SiteError):
    """The subnet for a network belongs to another network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A network namespace, and the container that keeps it open (`pods.Pods`)."""

    app: str
    """App whose containers run in the pod; their host names belong to it."""
    keeper: str
    """Id of the container that keeps the namespace open."""
    ip: str
    """Its address on its network."""
    tenancy: int = 0
    """Number of the use for which it was taken; containers use it one after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The network of a unit (`networks.DockerNetworks`)."""

    network: str
    """Name of the network."""
    unit: str
    """The unit, by its leading app."""
    tenancy: int = 0
    """Number of the use for which it was taken; replicas use it one after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Parameters of a container to create."""

    image: str
    """Reference or id."""
    manifest: DockerManifest
    name: str
    labels: Mapping[str, str]
    network: str
    """The run's network, or that of ``place``."""
    place: Place | None = None
    pod: Pod | None = None
    """Pod in which it runs; None: it gets an address of its own on ``network``, and the names below."""
    entrypoint: Sequence[str] = ()
    """Empty: the image's own."""
    command: Sequence[str] = ()
    """Empty: the image's own."""
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: Sequence[Mount] = ()
    tmpfs: Sequence[str] = ()
    """Paths of empty file systems in memory."""
    volumes: Sequence[str] = ()
    """Names of the volumes among ``mounts`` that are removed with the container."""
    own_hosts: Sequence[str] = ()
    """Host names under which the app reaches itself."""
    aliases: Sequence[str] = ()
    """Names of the container for others on ``network``."""
    joint: str = ""
    """A second network, on which apps meet those that all share; empty: none."""
    joint_aliases: Sequence[str] = ()
    """Names of the container on the second network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A container that has been started."""

    id: str
    name: str
    ip: str
    """Its address on its network."""
    volumes: tuple[str, ...] = ()
    """Volumes made for it alone, by us or by the engine."""
    pod: Pod | None = None
    """Pod in which it runs; None if it is on the network itself."""
    place: Place | None = None
    """Network of its unit, if it belongs to one with others."""
    process: int = 0
    """Id of its first process on the engine's machine; 0: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """The result of a program inside a container."""

    code: int
    stdout: str
    stderr: str


def create_network(
    client: DockerClient, name: str, labels: Mapping[str, str], *, joint: bool = False, subnet: str = ""
) -> None:
    """Create a network without access to the outside. Its containers reach each other only if ``joint``; the host
    reaches all.

    Raises `SubnetTaken` when ``subnet`` (empty: one of the engine's choice) is another network's.
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
    """Create and start a container. Raises `SiteError` with its last log lines; no container is left behind then."""
    name = f"{order.name}-{uuid.uuid4().hex[:6]}"
    container = None
    try:
        container = client.containers.create(
            order.image, list(order.command) or None, name=name, labels=dict(order.labels),
            environment=dict(order.environment), entrypoint=list(order.entrypoint) or None,
            tmpfs=dict.fromkeys(order.tmpfs, ""), user=order.manifest.user or None,
            working_dir=order.manifest.workdir or None,
            # Process 1 of most images ignores TERM and reaps no children.
            init=order.manifest.init,
            mounts=list(order.mounts),
            # Independent of the engine's default: error messages need logs, and disk space is limited.
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
        if order.pod is None and (where := unrouted(ip)):
            raise unreachable_containers(f"packets to {ip} go {where}, and not to a bridge of the engine")
        return Running(
            id=str(container.id),
            name=name,
            ip=ip,
            volumes=(*order.volumes, *_anonymous_volumes(container.attrs, order.manifest)),
            pod=order.pod,
            place=order.place,
            process=int(container.attrs["State"].get("Pid") or 0),
        )
    except BaseException as error:
        if container is not None:
            with suppress(*ENGINE_ERRORS):
                container.remove(force=True, v=True)
        if isinstance(error, APIError) and order.entrypoint and "executable file not found" in str(error):
            raise NoSuchProgram(f"{order.image} has no {order.entrypoint[0]}") from None
        if isinstance(error, ImageNotFound):
            raise SiteError(
                f"expected the image {order.image}, with which the run began, found none: another program removed it.\n"
                "Get it again, and keep it until the run has ended"
            ) from None
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
        # Names of others can't be resolved. Without this, every attempt would take ten seconds, because the network
        # drops the queries.
        "dns": ["127.0.0.1"],
        "dns_opt": ["timeout:1", "attempts:1"],
    }


def _limits(manifest: DockerManifest) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if manifest.memory:
        # The limit includes swap: a site that needs more memory is stopped instead of slowing everything down.
        limits["mem_limit"] = limits["memswap_limit"] = manifest.memory
    if manifest.cpus is not None:
        limits["nano_cpus"] = round(manifest.cpus * _NANO)
    if manifest.shm_size:
        limits["shm_size"] = manifest.shm_size
    return limits


def _anonymous_volumes(container: Mapping[str, Any], manifest: DockerManifest) -> list[str]:
    """Returns the volumes that the engine made for a container. They remain if another program removes it."""
    known = {volume.source for volume in manifest.volumes}
    names = [str(mount.get("Name", "")) for mount in container.get("Mounts") or () if mount.get("Type") == "volume"]
    return [name for name in names if _ANONYMOUS.fullmatch(name) and name not in known]


def end_of(client: DockerClient, container: str, *, paused: bool = False) -> str:
    """Returns an empty text while the container runs, or is paused as ``paused`` expects.

    Otherwise returns why it does not run: exit code, out of memory, last log lines.
    """
    try:
        state = client.api.inspect_container(container)["State"]
    except NotFound:
        return f"the container {container[:12]} is gone; another program removed it"
    if state.get("Running") and (paused or not state.get("Paused")):
        return ""
    if state.get("Paused"):
        return f"the container {container[:12]} is paused; another program paused it"
    if state.get("OOMKilled"):
        why = f"it was killed for using more memory than it may (exit code {state.get('ExitCode')})"
    else:
        why = f"it ended with exit code {state.get('ExitCode')}"
    if state.get("Error"):
        why += f": {state['Error']}"
    return "\n".join([f"the container {container[:12]} does not run: {why}", *last_lines(client, container)])


def signalled(client: DockerClient, container: str, *, paused: bool = False) -> bool:
    """Returns whether another program removed or paused the container, or a signal ended it, other than for its memory
    limit. ``paused`` is as for `end_of`."""
    try:
        state = client.api.inspect_container(container)["State"]
    except NotFound:
        return True
    if state.get("Running"):
        return bool(state.get("Paused")) and not paused
    return is_signal(state.get("ExitCode")) and not state.get("OOMKilled")


def log_of(client: DockerClient, container: str, lines: int) -> str:
    """Returns the last ``lines`` lines of a container's log; empty when the container does not exist any more."""
    try:
        text: str = client.api.logs(container, stdout=True, stderr=True, tail=lines).decode("utf-8", "replace")
    except ENGINE_ERRORS:
        return ""
    return text


def last_lines(client: DockerClient, container: str) -> list[str]:
    """Returns the end of a container's log with a heading."""
    lines = log_of(client, container, _LOG_LINES).rstrip().splitlines()
    return ["last lines of its log:", *(f"  {line}" for line in lines)] if lines else ["its log is empty"]


def execute(client: DockerClient, container: str, arguments: Sequence[str]) -> Executed:
    """Run a program inside. Raises `SiteError` when the container can't."""
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
    """Pause or unpause all processes of a container. Raises `SiteError` when the engine refuses."""
    for attempt in range(1, _FREEZES + 1):
        try:
            (client.api.pause if paused else client.api.unpause)(container)
        except ENGINE_ERRORS as error:
            # On a busy machine freezing may take longer than the engine waits, which then unfreezes everything.
            if _UNFROZEN in explain(error) and attempt < _FREEZES:
                time.sleep(_FREEZE_PAUSE)
                continue
            why = end_of(client, container, paused=True) or explain(error)
            raise SiteError(f"can't {'pause' if paused else 'resume'} the container {container[:12]}: {why}") from None
        return


def remove(client: DockerClient, container: str) -> None:
    """Kill a container and remove it with its anonymous volumes; it is gone on return. Does nothing if it did not
    exist."""
    try:
        client.api.remove_container(container, force=True, v=True)
    except NotFound:
        pass
    except APIError as error:
        if error.status_code != 409:
            raise SiteError(f"can't remove the container {container[:12]}: {explain(error)}") from None
        # Another process is removing it right now. Its programs may still run where the next container will be.
        with suppress(NotFound):
            client.api.wait(container, condition="removed")
