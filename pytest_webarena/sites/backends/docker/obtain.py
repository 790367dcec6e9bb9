"""How an app's image comes to be on the engine: it is there, is loaded from a file, or is pulled; and whether it is the
right one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import ImageNotFound
from docker.utils import parse_repository_tag

from pytest_webarena.errors import SiteError, SiteMissing
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, explain
from pytest_webarena.sites.manifest import DockerManifest

__all__ = ["find_image", "obtain_image", "require_pinned"]

Note = Callable[[str], None]

_CHUNK = 1 << 20
_EVERY = 5.0
"""Seconds between two words on progress."""
_LOCAL = "localhost/"
_PULL = "docker pull"


def obtain_image(client: DockerClient, manifest: DockerManifest, note: Note) -> str:
    """The id of the manifest's image, which is on the engine now. ``note`` hears how loading or pulling goes on.

    `SiteMissing`, with what to do, when it can't be had; `SiteError` when another image than the pinned one is there.
    """
    reference = manifest.image
    found = find_image(client, reference)
    if found is None and manifest.tar and Path(manifest.tar).is_file():
        loaded = _load(client, Path(manifest.tar), note)
        found = find_image(client, reference)
        if found is None:
            raise SiteMissing(f"expected the image {reference} in {manifest.tar}, found {loaded or 'none'}")
    if found is None and not reference.startswith(_LOCAL) and manifest.get.strip()[: len(_PULL)] in ("", _PULL):
        _pull(client, manifest, note)
        found = find_image(client, reference)
    if found is None:
        raise _missing(manifest, "")
    require_pinned(client, manifest)
    return found


def find_image(client: DockerClient, reference: str) -> str | None:
    """The id of an image that is on the engine; None when it is not."""
    try:
        return str(client.images.get(reference).id)
    except ImageNotFound:
        return None


def require_pinned(client: DockerClient, manifest: DockerManifest) -> None:
    """`SiteError` unless the image on the engine is the one that the manifest's ``digest`` names, if it names one."""
    if not manifest.digest:
        return
    attributes = client.images.get(manifest.image).attrs
    digests = [name.partition("@")[2] for name in attributes.get("RepoDigests") or ()]
    known = [str(attributes["Id"]), *digests]
    if manifest.digest not in known:
        raise SiteError(
            f"expected the image {manifest.image} with the digest {manifest.digest}, found {' and '.join(known)}.\n"
            f"Another image behaves differently. Remove it (docker image rm {manifest.image}) and get the right one, "
            "or change 'digest' in the manifest; results are comparable within one image only."
        )


def _missing(manifest: DockerManifest, why: str) -> SiteMissing:
    commands = manifest.get.strip() or f"docker pull {manifest.image}   (or, from a file: docker load -i <image.tar>)"
    seen = f"found none{f': {why}' if why else ''}"
    if manifest.tar:
        seen += f", and no file {manifest.tar}"
    lines = [f"expected the image {manifest.image} on the Docker engine, {seen}.", "Get it with:"]
    return SiteMissing("\n".join([*lines, *(f"  {line}" for line in commands.splitlines())]))


# --- from a file


def _load(client: DockerClient, file: Path, note: Note) -> str:
    """Load a ``docker save`` file; the names that the engine tells."""
    note(f"loading {file} ({_size(file.stat().st_size)})")
    names = []
    try:
        lines: Iterator[dict[str, Any]] = client.api.load_image(_read(file, note))  # type: ignore[no-untyped-call]
        for line in lines:
            if text := str(line.get("stream", "")).strip():
                names.append(text.removeprefix("Loaded image: "))
            if "error" in line:
                raise SiteError(f"the engine can't load {file}: {line['error']}")
    except (OSError, *ENGINE_ERRORS) as error:
        why = explain(error) if isinstance(error, ENGINE_ERRORS) else str(error)
        raise SiteError(f"can't load {file} into the Docker engine: {why}") from None
    return ", ".join(names)


def _read(file: Path, note: Note) -> Iterator[bytes]:
    total, done, told = file.stat().st_size, 0, time.monotonic()
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            yield chunk
            done += len(chunk)
            if time.monotonic() - told >= _EVERY:
                told = time.monotonic()
                note(f"loading {file}: {_size(done)} of {_size(total)} ({done / total:.0%})")


# --- from a registry


def _pull(client: DockerClient, manifest: DockerManifest, note: Note) -> None:
    repository, tag = parse_repository_tag(manifest.image)
    note(f"pulling {manifest.image}")
    told = time.monotonic()
    layers: dict[str, tuple[int, int]] = {}
    try:
        for line in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
            if "error" in line:
                raise _missing(manifest, str(line["error"]))
            _count(layers, line)
            if layers and time.monotonic() - told >= _EVERY:
                told = time.monotonic()
                note(f"pulling {manifest.image}: {_progress(layers)}")
    except ENGINE_ERRORS as error:
        raise _missing(manifest, explain(error)) from None


def _count(layers: dict[str, tuple[int, int]], line: dict[str, Any]) -> None:
    detail = line.get("progressDetail") or {}
    if line.get("status") == "Downloading" and detail.get("total"):
        layers[str(line.get("id"))] = int(detail.get("current", 0)), int(detail["total"])
    elif line.get("status") in ("Download complete", "Pull complete") and line.get("id") in layers:
        total = layers[str(line["id"])][1]
        layers[str(line["id"])] = total, total


def _progress(layers: dict[str, tuple[int, int]]) -> str:
    """Of the layers begun so far: what all of them weigh, nobody knows before they are begun."""
    done, total = (sum(values) for values in zip(*layers.values(), strict=True))
    return f"{_size(done)} of {_size(total)} of {len(layers)} layers"


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
