"""Images that include the data of a container's own volumes, which a commit leaves out.

Such an image declares no volumes, so the data are in the layers that its containers share.
"""

from __future__ import annotations

import copy
import json
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from docker import DockerClient

from pytest_webarena.sites.catalogues.manifest import DockerManifest

__all__ = ["commit_with_volumes", "own_volumes"]

_SPOOL = 16 << 20
"""Bytes of a stream that are kept in memory."""


def own_volumes(client: DockerClient, container: str, manifest: DockerManifest) -> list[str]:
    """Returns the paths of volumes that the engine made for this container alone: those that its image declares, and
    those of the manifest without a source."""
    mounts: Sequence[Mapping[str, Any]] = client.api.inspect_container(container)["Mounts"]
    given = {volume.target for volume in manifest.volumes if volume.source}
    return sorted(
        mount["Destination"] for mount in mounts if mount["Type"] == "volume" and mount["Destination"] not in given
    )


def commit_with_volumes(
    client: DockerClient,
    container: str,
    paths: Sequence[str],
    *,
    repository: str,
    tag: str,
    labels: Mapping[str, str],
) -> str:
    """Make an image of a stopped container that includes its data at ``paths``. Returns the image's id.

    The image has one layer, and the container's configuration without the volumes.
    """
    with tempfile.TemporaryFile() as content:
        with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as target:
            for member, data in _members(client.api.export(container)):
                if not any(_is_below(member.name, path) for path in paths):
                    target.addfile(member, data)
            for path in paths:
                stream, _ = client.api.get_archive(container, path)
                for member, data in _members(stream):
                    target.addfile(_moved(member, path), data)
        content.seek(0)
        answer = client.api.import_image(src=content)
    bare = _id_of(answer)
    config: dict[str, Any] = client.api.inspect_container(container)["Config"]
    config = {key: value for key, value in config.items() if key not in ("Volumes", "Hostname")}
    config |= {"Image": bare, "Labels": {**(config.get("Labels") or {}), **labels}}
    made = client.api.create_container_from_config(config)["Id"]  # type: ignore[no-untyped-call]
    try:
        return str(client.api.commit(made, repository=repository, tag=tag)["Id"])
    finally:
        client.api.remove_container(made, force=True)


def _members(stream: Iterable[bytes]) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Yields the members of an archive, each with its content, which must be read before the next one."""
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL) as file:
        for chunk in stream:
            file.write(chunk)
        file.seek(0)
        with tarfile.open(fileobj=file, mode="r:") as archive:
            for member in archive:
                yield member, archive.extractfile(member) if member.isreg() else None


def _is_below(name: str, path: str) -> bool:
    """Returns whether a member is the folder ``path`` or in it.

    >>> _is_below("var/lib/db/x", "/var/lib/db"), _is_below("var/lib/db2", "/var/lib/db/")
    (True, False)
    """
    return f"{name.strip('/')}/".startswith(f"{path.strip('/')}/")


def _moved(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
    """Returns a member of the archive of ``path``, whose names begin with the last part of it, with its full name."""
    parent = path.strip("/").rpartition("/")[0]
    prefix = f"{parent}/" if parent else ""
    moved = copy.copy(member)
    moved.name = prefix + member.name
    moved.linkname = prefix + member.linkname if member.islnk() else member.linkname
    # These headers would win over the attributes.
    moved.pax_headers = {key: value for key, value in member.pax_headers.items() if key not in ("path", "linkpath")}
    return moved


def _id_of(answer: Any) -> str:
    """Returns the image's id from the engine's answer to an import."""
    lines = answer.decode() if isinstance(answer, bytes) else str(answer)
    return str(json.loads(lines.strip().splitlines()[-1])["status"])
