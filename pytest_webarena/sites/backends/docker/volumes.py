"""Data of apps outside their images: shared read-only, or copied for every replica."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from docker import DockerClient
from docker.errors import NotFound
from docker.types import Mount

from pytest_webarena.errors import SiteError, SiteMissing
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, explain
from pytest_webarena.sites.catalogues.manifest import DockerManifest, VolumeManifest

__all__ = ["copy_volume", "missing_volumes", "mounts", "remove_volumes", "require_volumes"]

_FROM, _TO = "/webarena-from", "/webarena-to"
_LOG_LINES = 5


def missing_volumes(client: DockerClient, manifest: DockerManifest) -> list[VolumeManifest]:
    """Returns the volumes that do not exist."""
    missing = []
    for volume in manifest.volumes:
        if not volume.source:
            continue
        if volume.source.startswith("/"):
            exists = Path(volume.source).exists()
        else:
            try:
                client.volumes.get(volume.source)
                exists = True
            except NotFound:
                exists = False
        if not exists:
            missing.append(volume)
    return missing


def require_volumes(client: DockerClient, manifest: DockerManifest) -> None:
    """Raise `SiteMissing` unless every volume exists. The engine itself would silently create an empty one."""
    for volume in missing_volumes(client, manifest):
        what = "directory" if volume.source.startswith("/") else "volume on the Docker engine"
        commands = [f"  {line}" for line in manifest.get.strip().splitlines()]
        text = f"expected the {what} {volume.source}, found none; it must have the site's data for {volume.target}."
        raise SiteMissing("\n".join([text, *(["Get it with:", *commands] if commands else [])]))


def mounts(manifest: DockerManifest, copies: Mapping[str, str]) -> list[Mount]:
    """Returns the mounts of a container. ``copies`` maps targets to the volumes made for this container alone."""
    found = []
    for volume in manifest.volumes:
        if not volume.source:
            found.append(Mount(volume.target, None, type="volume"))  # the engine fills it, and removes it at the end
            continue
        source = copies.get(volume.target, volume.source)
        # no_copy: an empty named volume would be filled from the image.
        no_copy = not source.startswith("/")
        found.append(Mount(volume.target, source, type=_type(source), read_only=not volume.mutable, no_copy=no_copy))
    return found


def _type(source: str) -> Literal["bind", "volume"]:
    return "bind" if source.startswith("/") else "volume"


def copy_volume(client: DockerClient, volume: VolumeManifest, image: str, labels: Mapping[str, str]) -> str:
    """Create a volume with the same content, copied by the image's own ``cp``. Raises `SiteError` when that fails.

    Blocks as long as the copy takes. There is no time limit, because it depends only on the amount of data.
    """
    name = f"webarena-{uuid.uuid4().hex[:12]}"
    container = None
    try:
        client.volumes.create(name, labels=dict(labels))
        container = client.containers.create(
            image, ["-a", f"{_FROM}/.", _TO], entrypoint="cp", user="0", network_mode="none", labels=dict(labels),
            mounts=[
                Mount(_FROM, volume.source, type=_type(volume.source), read_only=True),
                Mount(_TO, name, type="volume", no_copy=True),
            ],
        )  # fmt: skip
        container.start()
        code = client.api.wait(str(container.id), timeout=None)["StatusCode"]
        if code != 0:
            log = container.logs(tail=_LOG_LINES).decode("utf-8", "replace").strip()
            raise SiteError(f"can't copy {volume.source} for a replica: cp ended with {code}: {log}")
    except BaseException as error:
        if container is not None:
            with suppress(*ENGINE_ERRORS):
                container.remove(force=True)
        remove_volumes(client, [name])
        if isinstance(error, ENGINE_ERRORS):
            raise SiteError(f"can't copy {volume.source} for a replica: {explain(error)}") from None
        raise
    container.remove(force=True)
    return name


def remove_volumes(client: DockerClient, names: list[str]) -> None:
    """Remove copies. One that can't be removed now has the run's label, and is removed with the run."""
    for name in names:
        with suppress(*ENGINE_ERRORS):
            client.api.remove_volume(name, force=True)
