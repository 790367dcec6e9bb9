"""Finds, loads or pulls the image of an app, and verifies that it is the pinned one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docker import DockerClient
from docker.errors import ImageNotFound

from pytest_webarena.errors import SiteError, SiteMissing
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, explain
from pytest_webarena.sites.backends.docker.pulling import pull
from pytest_webarena.sites.catalogues.manifest import DockerManifest
from pytest_webarena.sites.catalogues.running import Pulls

__all__ = ["Pulls", "find_image", "in_words", "is_pulled", "is_small", "obtain_image", "require_pinned"]

Note = Callable[[str], None]

_CHUNK = 1 << 20
_EVERY = 5.0
"""Seconds between two progress messages."""
_LOCAL = "localhost/"
_PULL = "docker pull"
_SMALL = 10**9
"""Maximum size in bytes of a download without asking."""


def obtain_image(
    client: DockerClient, manifest: DockerManifest, note: Note, *, pulls: Pulls = "small", sites: str = ""
) -> str:
    """Returns the id of the manifest's image after making it available on the engine. ``note`` receives progress
    messages.

    ``pulls`` limits what may be pulled; ``sites`` are arguments of ``webarena sites images pull`` for a message. Raises
    `SiteMissing`, with what to do, when the image is not available; `SiteError` when it is not the pinned one.
    """
    reference = manifest.image
    found = find_image(client, reference)
    if found is None and manifest.tar and Path(manifest.tar).is_file():
        loaded = _load(client, Path(manifest.tar), note)
        found = find_image(client, reference)
        if found is None:
            raise SiteMissing(f"expected the image {reference} in {manifest.tar}, found {loaded or 'none'}")
    if found is None and is_pulled(manifest):
        if pulls == "never" or (pulls == "small" and not is_small(manifest)):
            raise _pull_not_allowed(manifest, sites)
        _pull(client, manifest, note)
        found = find_image(client, reference)
    if found is None:
        raise _missing(manifest, "")
    require_pinned(client, manifest)
    return found


def find_image(client: DockerClient, reference: str) -> str | None:
    """Returns the id of an image on the engine; None when it does not exist."""
    try:
        return str(client.images.get(reference).id)
    except ImageNotFound:
        return None


def require_pinned(client: DockerClient, manifest: DockerManifest) -> None:
    """Raise `SiteError` if the manifest has a ``digest`` and the image on the engine has another one."""
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
    finding = f"found none{f': {why}' if why else ''}"
    if manifest.tar:
        finding += f", and no file {manifest.tar}"
    lines = [f"expected the image {manifest.image} on the Docker engine, {finding}.", "Get it with:"]
    return SiteMissing("\n".join([*lines, *(f"  {line}" for line in commands.splitlines())]))


# --- from a file


def _load(client: DockerClient, file: Path, note: Note) -> str:
    """Load a ``docker save`` file, and return the image names that the engine reports."""
    note(f"loading {file} ({in_words(file.stat().st_size)})")
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
    total, done, noted_at = file.stat().st_size, 0, time.monotonic()
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            yield chunk
            done += len(chunk)
            if time.monotonic() - noted_at >= _EVERY:
                noted_at = time.monotonic()
                note(f"loading {file}: {in_words(done)} of {in_words(total)} ({done / total:.0%})")


# --- from a registry


def is_pulled(manifest: DockerManifest) -> bool:
    """Whether the image comes from a registry."""
    return not manifest.image.startswith(_LOCAL) and manifest.get.strip()[: len(_PULL)] in ("", _PULL)


def is_small(manifest: DockerManifest) -> bool:
    """Whether a pull is known to be small enough to need no permission."""
    size = manifest.pull_bytes
    return size is not None and size <= _SMALL


def _pull(client: DockerClient, manifest: DockerManifest, note: Note) -> None:
    note(f"pulling {manifest.image}")
    noted_at = time.monotonic()
    try:
        for pulled in pull(client, manifest.image):
            if time.monotonic() - noted_at >= _EVERY:
                noted_at = time.monotonic()
                total = max(pulled.total, manifest.pull_bytes or 0) if pulled.unknown else pulled.total
                note(f"pulling {manifest.image}: {in_words(pulled.done)} of {in_words(total)}")
    except SiteError as error:
        raise _missing(manifest, str(error)) from None


def _pull_not_allowed(manifest: DockerManifest, sites: str) -> SiteMissing:
    size = f"takes about {manifest.pull_size}" if manifest.pull_size else "has no size in its manifest"
    commands = manifest.get.strip().splitlines() or [f"docker pull {manifest.image}"]
    if sites:
        commands[0] = f"webarena sites images pull {sites}"
    lines = [
        f"expected the image {manifest.image} on the Docker engine, found none.",
        f"It {size}, and no test run pulls that unasked. Get it with:",
        *(f"  {command}" for command in commands),
        "or have the run pull all it needs: pytest --pull=all",
    ]
    return SiteMissing("\n".join(lines))


def in_words(count: float) -> str:
    """Returns a number of bytes as text for people."""
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
