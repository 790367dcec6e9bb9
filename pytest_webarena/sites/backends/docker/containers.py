"""What is asked of the engine about one container: make, look, run something inside, remove. All calls block."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from docker import DockerClient
from docker.errors import APIError, ImageNotFound, NotFound
from docker.types import LogConfig

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, explain
from pytest_webarena.sites.manifest import DockerManifest

__all__ = ["Executed", "Running", "create_network", "end_of", "execute", "find_image", "last_lines", "launch", "remove"]

_LOG_LINES = 20
_NANO = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A container that has been started."""

    id: str
    name: str
    ip: str
    """Its address on the run's network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """What a program inside a container did."""

    code: int
    stdout: str
    stderr: str


def find_image(client: DockerClient, reference: str) -> str:
    """The id of an image that is on the engine. `SiteError` with what to do when it is not."""
    try:
        return str(client.images.get(reference).id)
    except ImageNotFound:
        raise SiteError(
            f"expected the image {reference} on the Docker engine, found none.\n"
            f"Get it with: docker pull {reference}   (or, from a file: docker load -i <image.tar>)"
        ) from None


def create_network(client: DockerClient, name: str, labels: Mapping[str, str]) -> None:
    """A network without a way out, on which containers don't see each other. The host reaches them by address."""
    try:
        client.networks.create(
            name, driver="bridge", internal=True, labels=dict(labels),
            options={"com.docker.network.bridge.enable_icc": "false"},
        )  # fmt: skip
    except APIError as error:
        hint = "\nToo many networks? docker network prune" if "address pool" in explain(error) else ""
        raise SiteError(f"can't make the network {name}: {explain(error)}{hint}") from None


def launch(
    client: DockerClient, image: str, manifest: DockerManifest, *, name: str, network: str, labels: Mapping[str, str]
) -> Running:
    """Make and start a container. Whatever fails, none is left behind. `SiteError` with its last log lines."""
    name = f"{name}-{uuid.uuid4().hex[:6]}"
    container = None
    try:
        container = client.containers.create(
            image, list(manifest.command) or None, name=name, labels=dict(labels), network=network,
            environment=dict(manifest.env),
            # Process 1 of most images ignores TERM and reaps no children.
            init=True,
            # Names other than the container's own can't be found. Without this every attempt would take ten
            # seconds, because the network drops the questions.
            dns=["127.0.0.1"], dns_opt=["timeout:1", "attempts:1"],
            # Whatever the engine's default: error messages need logs, and disks have an end.
            log_config=LogConfig(type=LogConfig.types.JSON, config={"max-size": "10m", "max-file": "2"}),
            **_limits(manifest),
        )  # fmt: skip
        container.start()
        container.reload()
        if why := end_of(client, str(container.id)):
            raise SiteError(why)
        ip = container.attrs["NetworkSettings"]["Networks"][network]["IPAddress"]
        if not ip:
            raise SiteError(f"the container {name} got no address on {network}")
        return Running(id=str(container.id), name=name, ip=ip)
    except BaseException as error:
        if container is not None:
            with suppress(*ENGINE_ERRORS):
                container.remove(force=True, v=True)
        if isinstance(error, ENGINE_ERRORS):
            raise SiteError(f"can't start a container of {image}: {explain(error)}") from None
        raise


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


def end_of(client: DockerClient, container: str) -> str:
    """Empty while the container runs; otherwise why it does not: exit code, memory, last log lines."""
    try:
        state = client.api.inspect_container(container)["State"]
    except NotFound:
        return f"the container {container[:12]} is gone; somebody else removed it"
    if state.get("Running") and not state.get("Paused"):
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


def last_lines(client: DockerClient, container: str) -> list[str]:
    """The end of a container's log under a heading; empty when there is no container any more."""
    try:
        text = client.api.logs(container, stdout=True, stderr=True, tail=_LOG_LINES).decode("utf-8", "replace")
    except ENGINE_ERRORS:
        return []
    lines = text.rstrip().splitlines()
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


def remove(client: DockerClient, container: str) -> None:
    """End a container at once and remove it with its anonymous volumes. Fine when it is gone already."""
    try:
        client.api.remove_container(container, force=True, v=True)
    except NotFound:
        pass
    except APIError as error:
        if error.status_code != 409:  # 409: somebody else is removing it right now
            raise SiteError(f"can't remove the container {container[:12]}: {explain(error)}") from None
