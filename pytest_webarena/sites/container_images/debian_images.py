"""Builds images of real applications from Debian packages, filled with the invented world of the embedded sites."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import TYPE_CHECKING

from docker.errors import APIError, ImageNotFound
from requests.exceptions import RequestException

from pytest_webarena.errors import SiteError

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["DEBIAN_RECIPES", "DebianRecipe", "debian_reference", "ensure_debian_image"]

_RELEASE = "bookworm"
_REGISTRY = "debian:12"
_BOOTSTRAP = (
    "mmdebstrap", "--variant=minbase", "--format=tar", "--quiet", "--include=ca-certificates",
    "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
    '--aptopt=Acquire::Languages "none"', '--aptopt=APT::Install-Recommends "false"',
)  # fmt: skip
_SOURCES = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
"""Files with the mirrors of this machine's apt; the first existing one is used."""
_FILES = Path(__file__).parent / "debian"
_LABEL = "pytest-webarena.image"
_PACKAGES = "pytest-webarena.packages"
"""Label of every image built here: the file inside that lists its packages with their versions."""
_LISTING = "/opt/webarena/packages.txt"
_LOG_LINES = 20
_STEP = re.compile(r"Step (\d+)/(\d+) : (.*)")
"""A step in the engine's build output."""
_STEP_LENGTH = 80
_KEPT = 3
"""Number of images of one recipe that stay on the engine."""

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DebianRecipe:
    """The contents of an image."""

    folder: str
    """Subfolder of ``debian`` with a Dockerfile and the files it copies."""
    about: str
    """A short description of the application."""
    content: str
    """``module:function`` that returns the other files: content by name. It is imported on demand, as the apps of
    manifests are, because the invented world belongs to the embedded sites."""
    shared: tuple[str, ...] = ()
    """Files next to the recipes' folders that several recipes use."""


_PHP = ("visitor.php",)

DEBIAN_RECIPES: Mapping[str, DebianRecipe] = MappingProxyType(
    {
        "debian-mediawiki": DebianRecipe(
            folder="mediawiki",
            about="wiki: MediaWiki",
            content="pytest_webarena.embedded.handbook:content",
            shared=_PHP,
        ),
        "debian-redmine": DebianRecipe(
            folder="redmine", about="tracker: Redmine", content="pytest_webarena.embedded.works:content"
        ),
        "debian-wordpress": DebianRecipe(
            folder="wordpress",
            about="courier: WordPress",
            content="pytest_webarena.embedded.courier:content",
            shared=_PHP,
        ),
    }
)


def ensure_debian_image(client: DockerClient, recipe: str, *, base: str | None = None, note: Note) -> str:
    """Build an image, which takes minutes, unless it exists in its current form. Returns its reference.

    ``base`` is an image of Debian 12. None: ``debian:12`` if it exists or can be pulled, else one that mmdebstrap
    creates with this machine's apt sources. Raises `SiteError` with the end of the build log.
    """
    files = _files(DEBIAN_RECIPES[recipe])
    reference = _reference(recipe, files, base)
    if not _present(client, reference):
        note(f"building {reference}; that takes a few minutes")
        _build(client, reference, recipe, base or _base(client, note), files, note)
        _forget_older(client, reference.rpartition(":")[0])
    return reference


def debian_reference(recipe: str) -> str:
    """Returns name and tag of the image that runs use, whether or not it exists."""
    return _reference(recipe, _files(DEBIAN_RECIPES[recipe]), None)


def _reference(recipe: str, files: Mapping[str, bytes], base: str | None) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name} {len(content)}\n".encode() + content)
    digest.update((base or "").encode())
    return f"localhost/pytest-webarena-{recipe}:{digest.hexdigest()[:12]}"


def _files(recipe: DebianRecipe) -> dict[str, bytes]:
    own = _FILES / recipe.folder
    module, _, function = recipe.content.partition(":")
    made: Mapping[str, bytes] = getattr(import_module(module), function)()
    paths = [*own.iterdir(), *(_FILES / name for name in recipe.shared)]
    return {path.name: path.read_bytes() for path in paths if path.is_file()} | dict(made)


def _build(
    client: DockerClient, reference: str, recipe: str, base: str, files: Mapping[str, bytes], note: Note
) -> None:
    listing = f"\nRUN dpkg-query --show > {_LISTING}\nLABEL {_PACKAGES}={_LISTING}\n".encode()
    log: deque[str] = deque(maxlen=_LOG_LINES)
    try:
        for entry in client.api.build(
            fileobj=_tar({**files, "Dockerfile": files["Dockerfile"] + listing}), custom_context=True, decode=True,
            tag=reference, buildargs={"BASE": base}, labels={_LABEL: recipe}, rm=True, forcerm=True,
        ):  # fmt: skip
            log += str(entry.get("stream", "")).splitlines()
            if step := _STEP.match(str(entry.get("stream", ""))):
                note(f"{recipe}, step {step[1]} of {step[2]}: {shorten(step[3], _STEP_LENGTH, placeholder='…')}")
            if "error" in entry:
                raise SiteError("\n".join([f"building {reference} failed: {entry['error']}", *log]))
    except (APIError, RequestException) as error:
        detail = getattr(error, "explanation", "") or error
        raise SiteError(f"building {reference} on {base} failed: {detail}") from None


def _tar(files: Mapping[str, bytes]) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o755 if content.startswith(b"#!") else 0o644
            archive.addfile(info, io.BytesIO(content))
    buffer.seek(0)
    return buffer


def _base(client: DockerClient, note: Note) -> str:
    """Returns an image of Debian 12 that exists on the engine now."""
    if _present(client, _REGISTRY):
        return _REGISTRY
    sources = next((Path(name) for name in _SOURCES if Path(name).is_file()), None)
    words = " ".join(_BOOTSTRAP) + (sources.read_text() if sources else "")
    own = f"localhost/pytest-webarena-debian-base:{hashlib.sha256(words.encode()).hexdigest()[:12]}"
    if _present(client, own):
        return own
    try:
        note(f"pulling {_REGISTRY}")
        client.images.pull(_REGISTRY)
    except (APIError, RequestException) as error:
        note(f"{_REGISTRY} can't be pulled ({str(error).splitlines()[0]}); making a base image with mmdebstrap instead")
        _bootstrap(client, own, sources)
        return own
    return _REGISTRY


def _bootstrap(client: DockerClient, reference: str, sources: Path | None) -> None:
    if shutil.which("mmdebstrap") is None or sources is None:
        missing = "the program mmdebstrap" if sources else "Debian's apt sources on this machine"
        raise SiteError(
            f"expected {_REGISTRY} from a registry, or {missing} to make a base image with, found neither. "
            "On Debian: apt-get install mmdebstrap; elsewhere: docker pull debian:12, or --base IMAGE"
        )
    with tempfile.TemporaryDirectory(prefix="pytest-webarena-base-") as folder:
        archive = Path(folder, "base.tar")
        done = subprocess.run(
            [*_BOOTSTRAP, _RELEASE, str(archive), str(sources)], capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode != 0:
            lines = done.stderr.splitlines()[-_LOG_LINES:]
            raise SiteError("\n".join([f"mmdebstrap ended with exit code {done.returncode}:", *lines]))
        repository, _, tag = reference.rpartition(":")
        try:
            client.api.import_image_from_file(str(archive), repository=repository, tag=tag)
        except (APIError, RequestException) as error:
            raise SiteError(f"what mmdebstrap made can't be imported as {reference}: {error}") from None


def _present(client: DockerClient, reference: str) -> bool:
    try:
        client.images.get(reference)
    except ImageNotFound:
        return False
    return True


def _forget_older(client: DockerClient, repository: str) -> None:
    """Remove older images. Without force, so that used ones stay."""
    images = sorted(client.images.list(name=repository), key=lambda image: str(image.attrs["Created"]), reverse=True)
    for image in images[_KEPT:]:
        for tag in image.tags:
            try:
                client.images.remove(tag)
            except APIError:
                continue
