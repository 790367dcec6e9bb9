"""Pulls an image and reports progress."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docker import DockerClient
from docker.utils import parse_repository_tag

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, explain

__all__ = ["Pulled", "pull"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """Progress of a pull."""

    done: int
    """Bytes downloaded."""
    total: int
    """Bytes of the layers whose size is known; the registry reports each layer's size when its download begins."""
    unknown: int
    """Number of layers whose size is not known yet."""
    unpacking: bool
    """Whether everything is downloaded and is being unpacked."""


def pull(client: DockerClient, reference: str) -> Iterator[Pulled]:
    """Pull an image, and yield progress whenever the engine reports it. Raises `SiteError` with the reason of a
    failure.

    A cancelled pull leaves only complete layers, which the next one does not download again.
    """
    repository, tag = parse_repository_tag(reference)
    layers: dict[str, tuple[int, int] | None] = {}
    try:
        for line in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
            if "error" in line:
                raise SiteError(str(line["error"]))
            if _count(layers, line):
                known = [size for size in layers.values() if size is not None]
                done, total = sum(size[0] for size in known), sum(size[1] for size in known)
                unknown = len(layers) - len(known)
                yield Pulled(done=done, total=total, unknown=unknown, unpacking=not unknown and done == total)
    except ENGINE_ERRORS as error:
        raise SiteError(explain(error)) from None


def _count(layers: dict[str, tuple[int, int] | None], line: dict[str, Any]) -> bool:
    """Record what a line of the engine reports about a layer. Returns whether it is about one."""
    status, layer, detail = line.get("status"), str(line.get("id")), line.get("progressDetail") or {}
    if status in ("Pulling fs layer", "Waiting"):
        layers.setdefault(layer, None)
    elif status == "Downloading" and detail.get("total"):
        layers[layer] = int(detail.get("current", 0)), int(detail["total"])
    elif layer not in layers:
        return False  # the image's own name, or a layer that already exists
    elif status in ("Verifying Checksum", "Download complete", "Extracting", "Pull complete"):
        known = layers[layer]
        total = known[1] if known is not None else 0
        layers[layer] = total, total
    return True
